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

/** What a page that is not plain holds: byte i of the page is pattern[i % size]. */
struct PagePattern {
    static constexpr size_t kMax = 128;

    uint32_t size = 0;   ///< 1..kMax; 0 means that the page is plain
    uint32_t stored = 0; ///< bytes of it that stand in memory: none when they are zeros
    std::array<std::byte, kMax> bytes;

    /** The pattern of a page whose byte 0 is byte @p phase of @p pattern repeated. */
    static PagePattern rotated(std::span<const std::byte> pattern, uint64_t phase);
    /** The pattern of a cleared page. */
    static PagePattern zeros();
    /** Writes bytes [@p offset, @p offset + @p size) of such a page. */
    void expand(std::byte* to, size_t offset, size_t count) const;
};

/**
 * The states of VRAM pages, as the manual describes them.
 *
 * Whoever reads or writes VRAM by its address in memory asks here first, whatever leaf led there.
 *
 * Queues may use different parts of one page at the same time, and the driver may have it resolved
 * meanwhile, so that a page leaves or enters a state in which memory does not say what it holds
 * only under the page's lock, and together with its bytes: what is in memory below such a state may
 * be another client's, and nobody ever sees it. Plain pages need no lock: nobody gives one another
 * state but who overwrites all of it.
 */
class PageCompression {
public:
    explicit PageCompression(std::span<std::byte> vram);

    /** Whether the bytes of the page of @p at, in VRAM, are in memory. */
    bool plain(const std::byte* at) const {
        return is_plain(states_[page_of(at)].load(std::memory_order_acquire));
    }
    /** The pattern of the page of @p at; size 0 when it is plain. */
    PagePattern pattern(const std::byte* at);
    /**
     * Makes the page that starts at @p page hold @p pattern and nothing else.
     * @return false when the page is kept plain: nothing is done.
     */
    bool store(std::byte* page, const PagePattern& pattern, CounterBlock& counters);
    /**
     * Makes the page at @p page plain by @p write, which writes all of it and asks for no other
     * page's state.
     */
    template <typename Write>
    void overwrite(std::byte* page, Write&& write) {
        const size_t index = page_of(page);
        const std::lock_guard lock(lock_of(index));

        write();
        if (!is_plain(states_[index].load(std::memory_order_relaxed)))
            states_[index].store(kPlain, std::memory_order_release);
    }
    /** Makes every page that [@p at, @p at + @p size) touches plain. */
    void resolve(std::byte* at, uint64_t size, CounterBlock& counters) {
        settle(at, size, kPlain, counters);
    }
    /** The same, until clear(). */
    void keep_plain(std::byte* at, uint64_t size, CounterBlock& counters) {
        settle(at, size, kKeptPlain, counters);
    }
    /** Makes whole pages, which nobody uses, read as zeros. */
    void clear(std::byte* at, uint64_t size, CounterBlock& counters);

private:
    /** A page's state: one of these, or the size of the pattern that stands in its first bytes. */
    static constexpr uint8_t kPlain = 0;
    static constexpr uint8_t kCleared = 254;
    static constexpr uint8_t kKeptPlain = 255;
    static_assert(PagePattern::kMax < kCleared);
    static constexpr size_t kLocks = 64;

    static bool is_plain(uint8_t state) { return state == kPlain || state == kKeptPlain; }
    size_t page_of(const std::byte* at) const {
        return static_cast<size_t>(at - vram_.data()) / kPageSize;
    }
    std::mutex& lock_of(size_t page) { return locks_[page % kLocks]; }
    PagePattern load(size_t page) const;
    void settle(std::byte* at, uint64_t size, uint8_t to, CounterBlock& counters);

    static constexpr size_t kPageSize = 4096;

    std::span<std::byte> vram_;
    std::unique_ptr<std::atomic<uint8_t>[]> states_;
    std::array<std::mutex, kLocks> locks_;
};

} // namespace vgpu
