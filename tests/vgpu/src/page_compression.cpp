// SPDX-License-Identifier: MIT
#include "page_compression.h"

#include <algorithm>
#include <cstring>

namespace vgpu {

PagePattern PagePattern::rotated(std::span<const std::byte> pattern, uint64_t phase) {
    PagePattern out;

    out.size = static_cast<uint32_t>(pattern.size());
    const auto middle = pattern.begin() + static_cast<std::ptrdiff_t>(phase % pattern.size());
    std::rotate_copy(pattern.begin(), middle, pattern.end(), out.bytes.begin());
    return out;
}

void PagePattern::expand(std::byte* to, size_t offset, size_t count) const {
    size_t at = offset % size;
    size_t filled = 0;

    // One whole repetition from the right phase, then doubling.
    for (; filled < count && filled < size; filled++) {
        to[filled] = bytes[at];
        at = at + 1 == size ? 0 : at + 1;
    }
    while (filled < count) {
        const size_t piece = std::min(filled, count - filled);
        std::memcpy(to + filled, to, piece);
        filled += piece;
    }
}

PageCompression::PageCompression(std::span<std::byte> vram)
    : vram_(vram), states_(std::make_unique<std::atomic<uint8_t>[]>(vram.size() / kPageSize)) {}

/** With the page's lock held. */
PagePattern PageCompression::load(size_t page) const {
    PagePattern out;

    out.size = states_[page].load(std::memory_order_relaxed);
    std::memcpy(out.bytes.data(), vram_.data() + page * kPageSize, out.size);
    return out;
}

PagePattern PageCompression::pattern(const std::byte* at) {
    if (!compressed(at))
        return {};
    const size_t page = page_of(at);
    const std::lock_guard lock(lock_of(page));
    return load(page);
}

void PageCompression::store(std::byte* page, const PagePattern& pattern, CounterBlock& counters) {
    const size_t index = page_of(page);
    const std::lock_guard lock(lock_of(index));

    std::memcpy(page, pattern.bytes.data(), pattern.size);
    states_[index].store(static_cast<uint8_t>(pattern.size), std::memory_order_release);
    counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, pattern.size);
    counters.add(VZE_HW_COUNTER_PAGES_COMPRESSED, 1);
}

void PageCompression::discard(std::byte* page) {
    if (!compressed(page))
        return;
    const size_t index = page_of(page);
    const std::lock_guard lock(lock_of(index));
    states_[index].store(0, std::memory_order_release);
}

void PageCompression::resolve(std::byte* at, uint64_t size, CounterBlock& counters) {
    const size_t last = page_of(at + size - 1);

    for (size_t page = page_of(at); page <= last; page++) {
        if (states_[page].load(std::memory_order_acquire) == 0)
            continue;
        const std::lock_guard lock(lock_of(page));
        const PagePattern pattern = load(page);
        if (pattern.size == 0)
            continue;
        // The first repetition stands there already and stays as it is: a reader of another part of
        // the page never sees anything but the pattern.
        pattern.expand(vram_.data() + page * kPageSize + pattern.size, 0, kPageSize - pattern.size);
        states_[page].store(0, std::memory_order_release);
        counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, kPageSize - pattern.size);
        counters.add(VZE_HW_COUNTER_RESOLVES, 1);
    }
}

} // namespace vgpu
