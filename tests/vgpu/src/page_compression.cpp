// SPDX-License-Identifier: MIT
#include "page_compression.h"

#include <algorithm>
#include <cstring>

namespace vgpu {

PagePattern PagePattern::rotated(std::span<const std::byte> pattern, uint64_t phase) {
    PagePattern out;

    out.size = static_cast<uint32_t>(pattern.size());
    out.stored = out.size;
    const auto middle = pattern.begin() + static_cast<std::ptrdiff_t>(phase % pattern.size());
    std::rotate_copy(pattern.begin(), middle, pattern.end(), out.bytes.begin());
    return out;
}

PagePattern PagePattern::zeros() {
    PagePattern out;

    out.size = 1;
    out.bytes[0] = std::byte{0};
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
    const uint8_t state = states_[page].load(std::memory_order_relaxed);
    PagePattern out;

    if (is_plain(state))
        return out;
    if (state == kCleared)
        return PagePattern::zeros();
    out.size = state;
    out.stored = state;
    std::memcpy(out.bytes.data(), vram_.data() + page * kPageSize, out.size);
    return out;
}

PagePattern PageCompression::pattern(const std::byte* at) {
    if (plain(at))
        return {};
    const size_t page = page_of(at);
    const std::lock_guard lock(lock_of(page));
    return load(page);
}

bool PageCompression::store(std::byte* page, const PagePattern& pattern, CounterBlock& counters) {
    const size_t index = page_of(page);
    const std::lock_guard lock(lock_of(index));

    if (states_[index].load(std::memory_order_relaxed) == kKeptPlain)
        return false;
    std::memcpy(page, pattern.bytes.data(), pattern.stored);
    states_[index].store(pattern.stored == 0 ? kCleared : static_cast<uint8_t>(pattern.size),
                         std::memory_order_release);
    counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, pattern.stored);
    counters.add(VZE_HW_COUNTER_PAGES_COMPRESSED, 1);
    return true;
}

void PageCompression::settle(std::byte* at, uint64_t size, uint8_t to, CounterBlock& counters) {
    const size_t last = page_of(at + size - 1);

    for (size_t page = page_of(at); page <= last; page++) {
        const uint8_t state = states_[page].load(std::memory_order_acquire);
        if (state == to || state == kKeptPlain)
            continue;
        const std::lock_guard lock(lock_of(page));
        const PagePattern pattern = load(page);
        if (pattern.size != 0) {
            // What stands there stays as it is: nobody who reads another part of the page now sees
            // anything but the pattern.
            pattern.expand(vram_.data() + page * kPageSize + pattern.stored, pattern.stored,
                           kPageSize - pattern.stored);
            counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, kPageSize - pattern.stored);
            counters.add(VZE_HW_COUNTER_RESOLVES, 1);
        }
        if (states_[page].load(std::memory_order_relaxed) != kKeptPlain)
            states_[page].store(to, std::memory_order_release);
    }
}

void PageCompression::clear(std::byte* at, uint64_t size, CounterBlock& counters) {
    const size_t end = page_of(at) + size / kPageSize;

    for (size_t page = page_of(at); page < end; page++)
        states_[page].store(kCleared, std::memory_order_relaxed);
    counters.add(VZE_HW_COUNTER_PAGES_CLEARED, size / kPageSize);
}

} // namespace vgpu
