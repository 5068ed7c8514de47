// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/command_encoder.h"

namespace vze {

/// The bytes that one side of a region copy spans, first to last, gaps included. Nothing when
/// empty.
struct Extent {
    uint64_t start = 0;
    uint64_t size = 0;
};

/// False when the span does not fit into 64 bits.
bool destinationExtent(const RegionCopy& region, Extent& out) noexcept;
bool sourceExtent(const RegionCopy& region, Extent& out) noexcept;

/// Do [a, a + aSize) and [b, b + bSize) share a byte? Neither may wrap.
constexpr bool rangesOverlap(uint64_t a, uint64_t aSize, uint64_t b, uint64_t bSize) noexcept {
    return aSize != 0 && bSize != 0 && (a < b ? b - a < aSize : a - b < bSize);
}

/// Does the source share a byte with the destination? Boxes that interleave without sharing a byte
/// (two columns of one image) do not overlap. Both extents must fit into 64 bits.
bool regionOverlaps(const RegionCopy& region) noexcept;

} // namespace vze
