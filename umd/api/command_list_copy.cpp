// SPDX-License-Identifier: MIT
//
// Appends that move bytes.
#include <bit>
#include <span>

#include "api/event_arguments.h"
#include "core/command_list.h"
#include "core/copy_geometry.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

ze_result_t appendCopy(ze_command_list_handle_t hCommandList, void* dstptr, Context* source,
                       const void* srcptr, size_t size, ze_event_handle_t hSignalEvent,
                       uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(dstptr);
    VZE_CHECK_POINTER(srcptr);
    EventArguments events;
    const ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
    return result == ZE_RESULT_SUCCESS
               ? list->appendCopy(dstptr, srcptr, size, source, events.links())
               : result;
}

ze_result_t appendFill(ze_command_list_handle_t hCommandList, void* ptr, const void* pattern,
                       size_t pattern_size, size_t size, ze_event_handle_t hSignalEvent,
                       uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(ptr);
    VZE_CHECK_POINTER(pattern);
    if (!std::has_single_bit(pattern_size) || pattern_size > Device::kMaxFillPattern)
        return fail(ZE_RESULT_ERROR_INVALID_SIZE,
                    "pattern_size: %zu is not a power of two up to %u", pattern_size,
                    static_cast<unsigned>(Device::kMaxFillPattern));
    if (size % pattern_size != 0)
        return fail(ZE_RESULT_ERROR_INVALID_SIZE, "size: %zu is not a multiple of pattern_size %zu",
                    size, pattern_size);
    if (reinterpret_cast<uintptr_t>(ptr) % pattern_size != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                    "ptr %p is not aligned to pattern_size %zu", ptr, pattern_size);
    EventArguments events;
    const ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
    return result == ZE_RESULT_SUCCESS
               ? list->appendFill(ptr, {static_cast<const std::byte*>(pattern), pattern_size}, size,
                                  events.links())
               : result;
}

struct Side {
    const char* name;
    uint64_t pointer;
    const ze_copy_region_t& region;
    uint64_t pitch;
    uint64_t slicePitch;
};

/// Where the box of one side begins, and its strides. A pitch of 0 means rows (or slices) without a
/// gap.
ze_result_t placeBox(const Side& side, uint64_t& corner, uint64_t& pitch, uint64_t& slice) {
    const ze_copy_region_t& region = side.region;
    const uint64_t depth = region.depth == 0 ? 1 : region.depth;
    pitch = side.pitch != 0 ? side.pitch : region.width;
    slice = side.slicePitch != 0 ? side.slicePitch : pitch * region.height;
    if (region.height > 1 && pitch < region.width)
        return fail(ZE_RESULT_ERROR_INVALID_SIZE,
                    "%sPitch: %llu is less than the region's width of %u", side.name,
                    static_cast<unsigned long long>(pitch), region.width);
    if (depth > 1 && region.height != 0 && slice < (region.height - 1) * pitch + region.width)
        return fail(ZE_RESULT_ERROR_INVALID_SIZE,
                    "%sSlicePitch: %llu is less than a slice of the region", side.name,
                    static_cast<unsigned long long>(slice));
    uint64_t rows = 0;
    uint64_t slices = 0;
    if (__builtin_mul_overflow(uint64_t{region.originY}, pitch, &rows) ||
        __builtin_mul_overflow(uint64_t{region.originZ}, slice, &slices) ||
        __builtin_add_overflow(side.pointer, rows, &corner) ||
        __builtin_add_overflow(corner, slices, &corner) ||
        __builtin_add_overflow(corner, region.originX, &corner))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%sRegion lies beyond the address space",
                    side.name);
    return ZE_RESULT_SUCCESS;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopy(ze_command_list_handle_t hCommandList,
                                                     void* dstptr, const void* srcptr, size_t size,
                                                     ze_event_handle_t hSignalEvent,
                                                     uint32_t numWaitEvents,
                                                     ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryCopy");
    return guarded([&]() -> ze_result_t {
        return appendCopy(hCommandList, dstptr, nullptr, srcptr, size, hSignalEvent, numWaitEvents,
                          phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyWithParameters(
    ze_command_list_handle_t hCommandList, void* dstptr, const void* srcptr, size_t size,
    const void* pNext, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
    ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryCopyWithParameters");
    return guarded([&]() -> ze_result_t {
        if (pNext != nullptr)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "pNext: no extension is supported");
        return appendCopy(hCommandList, dstptr, nullptr, srcptr, size, hSignalEvent, numWaitEvents,
                          phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyFromContext(
    ze_command_list_handle_t hCommandList, void* dstptr, ze_context_handle_t hContextSrc,
    const void* srcptr, size_t size, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
    ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryCopyFromContext");
    return guarded([&]() -> ze_result_t {
        Context* source = Context::from(hContextSrc);
        VZE_CHECK_HANDLE(source, hContextSrc);
        return appendCopy(hCommandList, dstptr, source, srcptr, size, hSignalEvent, numWaitEvents,
                          phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryFill(ze_command_list_handle_t hCommandList,
                                                     void* ptr, const void* pattern,
                                                     size_t pattern_size, size_t size,
                                                     ze_event_handle_t hSignalEvent,
                                                     uint32_t numWaitEvents,
                                                     ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryFill");
    return guarded([&]() -> ze_result_t {
        return appendFill(hCommandList, ptr, pattern, pattern_size, size, hSignalEvent,
                          numWaitEvents, phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryFillWithParameters(
    ze_command_list_handle_t hCommandList, void* ptr, const void* pattern, size_t pattern_size,
    size_t size, const void* pNext, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
    ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryFillWithParameters");
    return guarded([&]() -> ze_result_t {
        if (pNext != nullptr)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "pNext: no extension is supported");
        return appendFill(hCommandList, ptr, pattern, pattern_size, size, hSignalEvent,
                          numWaitEvents, phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t hCommandList, void* dstptr, const ze_copy_region_t* dstRegion,
    uint32_t dstPitch, uint32_t dstSlicePitch, const void* srcptr,
    const ze_copy_region_t* srcRegion, uint32_t srcPitch, uint32_t srcSlicePitch,
    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryCopyRegion");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(dstptr);
        VZE_CHECK_POINTER(dstRegion);
        VZE_CHECK_POINTER(srcptr);
        VZE_CHECK_POINTER(srcRegion);
        if (dstRegion->width != srcRegion->width || dstRegion->height != srcRegion->height ||
            dstRegion->depth != srcRegion->depth)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "dstRegion and srcRegion differ in size: %ux%ux%u and %ux%ux%u",
                        dstRegion->width, dstRegion->height, dstRegion->depth, srcRegion->width,
                        srcRegion->height, srcRegion->depth);
        RegionCopy region;
        region.width = dstRegion->width;
        region.height = dstRegion->height;
        region.depth = dstRegion->depth == 0 ? 1 : dstRegion->depth; // 0 says 2D
        ze_result_t result = placeBox(
            {"dst", reinterpret_cast<uint64_t>(dstptr), *dstRegion, dstPitch, dstSlicePitch},
            region.dst, region.dstPitch, region.dstSlice);
        if (result == ZE_RESULT_SUCCESS)
            result = placeBox(
                {"src", reinterpret_cast<uint64_t>(srcptr), *srcRegion, srcPitch, srcSlicePitch},
                region.src, region.srcPitch, region.srcSlice);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        Extent extent;
        if (!destinationExtent(region, extent) || !sourceExtent(region, extent))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "the regions reach beyond the address space");
        EventArguments events;
        result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
        return result == ZE_RESULT_SUCCESS ? list->appendCopyRegion(region, events.links())
                                           : result;
    });
}

} // extern "C"
