// SPDX-License-Identifier: MIT
#include "core/copy_geometry.h"

#include <algorithm>

namespace vze {

namespace {

bool extentOf(uint64_t start, const RegionCopy& region, uint64_t pitch, uint64_t slice,
              Extent& out) noexcept {
    out = {.start = start, .size = 0};
    if (region.width == 0 || region.height == 0 || region.depth == 0)
        return true;
    uint64_t rows = 0;
    uint64_t slices = 0;
    uint64_t size = 0;
    uint64_t end = 0;
    if (__builtin_mul_overflow(region.height - 1, pitch, &rows) ||
        __builtin_mul_overflow(region.depth - 1, slice, &slices) ||
        __builtin_add_overflow(rows, slices, &size) ||
        __builtin_add_overflow(size, region.width, &size) ||
        __builtin_add_overflow(start, size, &end))
        return false;
    out.size = size;
    return true;
}

/// Is every slice at an address behind all bytes of the one before it?
bool slicesAreApart(const RegionCopy& region, uint64_t pitch, uint64_t slice) noexcept {
    return region.depth == 1 || slice >= (region.height - 1) * pitch + region.width;
}

/// Does the row [row, row + width) share a byte with a row of the destination?
bool rowMeetsDestination(const RegionCopy& region, uint64_t row) noexcept {
    uint64_t first = 0;
    uint64_t last = region.depth;
    // Then the slice that the row begins in and the one after it decide.
    if (region.depth > 1 && slicesAreApart(region, region.dstPitch, region.dstSlice)) {
        first = row < region.dst ? 0 : (row - region.dst) / region.dstSlice;
        last = std::min(region.depth, first + 2);
    }
    for (uint64_t z = first; z < last; z++) {
        const uint64_t slice = region.dst + z * region.dstSlice;
        if (region.dstPitch == 0 || region.height == 1) {
            if (rangesOverlap(slice, region.width, row, region.width))
                return true;
            continue;
        }
        // Only the last destination row that starts at or before the row, and the one after it,
        // can.
        const uint64_t y = row < slice ? 0 : (row - slice) / region.dstPitch;
        for (uint64_t candidate = y; candidate <= y + 1 && candidate < region.height; candidate++) {
            if (rangesOverlap(slice + candidate * region.dstPitch, region.width, row, region.width))
                return true;
        }
        // A row longer than the pitch reaches into later ones: the last row then decides.
        if (region.width > region.dstPitch && y >= region.height &&
            rangesOverlap(slice + (region.height - 1) * region.dstPitch, region.width, row,
                          region.width))
            return true;
    }
    return false;
}

// With equal strides the boxes meet when their distance is a sum of less than depth slices, height
// rows and width bytes, each in either direction.
bool equalStridesOverlap(const RegionCopy& region) noexcept {
    __extension__ using Wide = __int128;
    const Wide distance = static_cast<Wide>(region.src) - static_cast<Wide>(region.dst);
    const Wide pitch = region.dstPitch;
    const Wide slice = region.dstSlice;
    const Wide depth = region.depth;
    const auto meets = [&](Wide bytes, Wide y) {
        const Wide x = bytes - y * pitch;
        return y < static_cast<Wide>(region.height) && -y < static_cast<Wide>(region.height) &&
               x < static_cast<Wide>(region.width) && -x < static_cast<Wide>(region.width);
    };
    Wide first = 1 - depth;
    Wide last = depth;
    // Then only the nearest distances of slices can bring two rows together.
    if (depth > 1 && slicesAreApart(region, region.dstPitch, region.dstSlice)) {
        first = std::max(first, distance / slice - 1);
        last = std::min(last, distance / slice + 2);
    }
    for (Wide z = first; z < last; z++) {
        const Wide bytes = distance - z * slice;
        if (region.height == 1 || pitch == 0) {
            if (meets(bytes, 0))
                return true;
            continue;
        }
        // Rows are at least as long as their content, so that only the two nearest ones can.
        const Wide y = bytes / pitch;
        if (meets(bytes, y - 1) || meets(bytes, y) || meets(bytes, y + 1))
            return true;
    }
    return false;
}

} // namespace

bool destinationExtent(const RegionCopy& region, Extent& out) noexcept {
    return extentOf(region.dst, region, region.dstPitch, region.dstSlice, out);
}

bool sourceExtent(const RegionCopy& region, Extent& out) noexcept {
    return extentOf(region.src, region, region.srcPitch, region.srcSlice, out);
}

bool regionOverlaps(const RegionCopy& region) noexcept {
    Extent dst;
    Extent src;
    if (!destinationExtent(region, dst) || !sourceExtent(region, src) ||
        !rangesOverlap(dst.start, dst.size, src.start, src.size))
        return false;
    if (region.dstPitch == region.srcPitch && region.dstSlice == region.srcSlice &&
        (region.height == 1 || region.dstPitch >= region.width))
        return equalStridesOverlap(region);
    for (uint64_t z = 0; z < region.depth; z++) {
        for (uint64_t y = 0; y < region.height; y++) {
            if (rowMeetsDestination(region, region.src + z * region.srcSlice + y * region.srcPitch))
                return true;
        }
    }
    return false;
}

} // namespace vze
