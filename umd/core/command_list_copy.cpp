// SPDX-License-Identifier: MIT
//
// Appends that move bytes.
#include "core/append.h"
#include "core/copy_geometry.h"
#include "core/log.h"

namespace vze {

ze_result_t CommandList::appendCopy(void* dst, const void* src, size_t size, Context* source,
                                    const EventLinks& events) {
    Append append(*this, events);
    ze_result_t result = append.begin();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const bool foreign = source != nullptr && source != &m_context;
    if (size != 0) {
        const bool same = dst == src && !foreign;
        if (!same && !foreign &&
            rangesOverlap(reinterpret_cast<uint64_t>(dst), size, reinterpret_cast<uint64_t>(src),
                          size))
            return fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
                        "dstptr %p and srcptr %p overlap within %zu bytes", dst, src, size);
        uint64_t from = 0;
        uint64_t to = 0;
        result = foreign
                     ? append.operandOf(*source, "srcptr", src, size, Append::Access::Read, from)
                     : append.source("srcptr", src, size, from);
        // Who names a context for the source deals with several of them.
        if (result == ZE_RESULT_SUCCESS)
            result = source != nullptr ? append.destinationAnywhere("dstptr", dst, size, to)
                                       : append.destination("dstptr", dst, size, to);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (!append.encoder().copy(to, from, size))
            return Append::outOfMemory();
    }
    return append.finish();
}

ze_result_t CommandList::appendFill(void* dst, std::span<const std::byte> pattern, size_t size,
                                    const EventLinks& events) {
    Append append(*this, events);
    ze_result_t result = append.begin();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (size != 0) {
        uint64_t to = 0;
        result = append.destination("ptr", dst, size, to);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (!append.encoder().fill(to, size, pattern))
            return Append::outOfMemory();
    }
    return append.finish();
}

ze_result_t CommandList::appendCopyRegion(const RegionCopy& region, const EventLinks& events) {
    Append append(*this, events);
    ze_result_t result = append.begin();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    Extent dst;
    Extent src;
    destinationExtent(region, dst);
    sourceExtent(region, src);
    if (dst.size != 0) {
        RegionCopy placed = region;
        result = append.operand("srcptr", reinterpret_cast<const void*>(src.start), src.size,
                                Append::Access::Read, placed.src);
        if (result == ZE_RESULT_SUCCESS)
            result = append.operand("dstptr", reinterpret_cast<const void*>(dst.start), dst.size,
                                    Append::Access::Write, placed.dst);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        // Behind the operands: what this takes is bounded by the memory that is really there.
        if (regionOverlaps(region))
            return fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
                        "the source and destination regions overlap");
        if (!append.encoder().copyRegion(placed))
            return Append::outOfMemory();
    }
    return append.finish();
}

} // namespace vze
