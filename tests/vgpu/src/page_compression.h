// SPDX-License-Identifier: MIT
#pragma once

#include "device_counters.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace vgpu {

/** What a compressed page holds: byte i of the page is pattern[i % size]. */
struct PagePattern {
    static constexpr size_t kMax = 128;

    uint32_t size = 0; ///< 1..kMax; 0 means that the page is plain
    std::array<std::byte, kMax> bytes;

    /** The pattern of a page whose byte 0 is byte @p phase of @p pattern repeated. */
    static PagePattern rotated(std::span<const std::byte> pattern, uint64_t phase);
    /** Writes bytes [@p offset, @p offset + @p size) of such a page. */
    void expand(std::byte* to, size_t offset, size_t count) const;
};

/**
 * The compression of VRAM pages.
 *
 * Every 4 KiB page has a state byte: 0 is plain, n means that only the first n bytes of the page
 * are in memory and repeat over the page. Only accesses through compressible leaves look at the
 * state; anybody else sees the bytes as they stand, which is why a driver resolves a range before
 * it shows it to others.
 *
 * Queues may use different parts of one page at the same time, so that a page changes its state,
 * and a pattern is read, only under the page's lock. Plain pages need no lock: nobody makes a page
 * compressed but who overwrites all of it.
 */
class PageCompression {
public:
    explicit PageCompression(std::span<std::byte> vram);

    /** Whether @p at, in VRAM, lies in a compressed page. */
    bool compressed(const std::byte* at) const {
        return states_[page_of(at)].load(std::memory_order_acquire) != 0;
    }
    /** The pattern of the page of @p at; size 0 when it is plain. */
    PagePattern pattern(const std::byte* at);
    /** Makes the page that starts at @p page hold @p pattern and nothing else. */
    void store(std::byte* page, const PagePattern& pattern, CounterBlock& counters);
    /** Marks the page at @p page plain without writing it: the caller overwrites all of it. */
    void discard(std::byte* page);
    /** Makes the bytes of every page that [@p at, @p at + @p size) touches plain. */
    void resolve(std::byte* at, uint64_t size, CounterBlock& counters);

private:
    static constexpr size_t kLocks = 64;

    size_t page_of(const std::byte* at) const {
        return static_cast<size_t>(at - vram_.data()) / kPageSize;
    }
    std::mutex& lock_of(size_t page) { return locks_[page % kLocks]; }
    PagePattern load(size_t page) const;

    static constexpr size_t kPageSize = 4096;

    std::span<std::byte> vram_;
    std::unique_ptr<std::atomic<uint8_t>[]> states_;
    std::array<std::mutex, kLocks> locks_;
};

} // namespace vgpu
