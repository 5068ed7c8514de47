// SPDX-License-Identifier: MIT
#include "move_bytes.h"

#include <algorithm>
#include <cstring>

namespace vgpu {

void move_bytes(std::byte* dst, const std::byte* src, size_t size) {
    std::memmove(dst, src, size);
}

FillPattern::FillPattern(std::span<const std::byte> pattern, uint64_t size,
                         std::span<std::byte> scratch)
    : unit_(pattern) {
    const size_t unit = pattern.size();
    const size_t most = scratch.size() / unit - 1;
    const size_t repeats = std::min<uint64_t>(most, (size + unit - 1) / unit);

    stride_ = repeats * unit;
    size_t filled = unit;
    std::memcpy(scratch.data(), pattern.data(), unit);
    // Doubling keeps the copies long.
    while (filled < stride_ + unit) {
        const size_t piece = std::min(filled, stride_ + unit - filled);
        std::memcpy(scratch.data() + filled, scratch.data(), piece);
        filled += piece;
    }
    tile_ = scratch.first(stride_ + unit);
}

void FillPattern::write(std::byte* dst, size_t size, uint64_t phase) const {
    while (size > 0) {
        const size_t piece = std::min(size, stride_);
        std::memcpy(dst, tile_.data() + phase, piece);
        dst += piece;
        size -= piece;
    }
}

} // namespace vgpu
