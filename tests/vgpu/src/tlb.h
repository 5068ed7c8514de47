// SPDX-License-Identifier: MIT
#pragma once

#include "page_walker.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace vgpu {

/**
 * The translation cache that all threads of the device share.
 *
 * It holds leaves by (address space, page) and forgets one only when it is told to or when a set is
 * full. Set-associative, one table per leaf size; groups of sets have a lock each, so that lookups
 * hardly ever meet.
 */
class Tlb {
public:
    Tlb();

    /** The cached leaf that covers @p va, if any. */
    std::optional<Leaf> lookup(uint32_t asid, uint64_t va);

    /**
     * Caches @p leaf for @p va, unless @p generation is no longer @p expected. The check and the
     * insertion are one step towards invalidate(): a translation that was read from the tables
     * before an invalidation changed the generation cannot come in behind it.
     */
    void insert(uint32_t asid, uint64_t va, const Leaf& leaf,
                const std::atomic<uint64_t>& generation, uint64_t expected);

    /**
     * Drops every leaf of @p asid that overlaps [@p start, @p end). Changes @p generation before
     * and after: before, so that insert() refuses what was walked earlier; after, so that copies
     * which threads took from here meanwhile are no longer valid either.
     */
    void invalidate(uint32_t asid, uint64_t start, uint64_t end, std::atomic<uint64_t>& generation);

    /** A cached leaf and the first address that it covers. */
    struct Cached {
        uint64_t va = 0;
        Leaf leaf;
    };
    /** The cached leaves of @p asid that overlap [@p start, @p end). */
    std::vector<Cached> cached(uint32_t asid, uint64_t start, uint64_t end);

private:
    static constexpr uint32_t kLeafLevels = 3;
    static constexpr uint32_t kWays = 4;
    static constexpr uint32_t kLocks = 64;
    static constexpr uint64_t kFree = 0;

    struct Entry {
        uint64_t tag = kFree; ///< page number, address space and a set bit; kFree is an empty entry
        uint64_t pte = 0;
        std::byte* host = nullptr;
    };
    struct Set {
        std::array<Entry, kWays> ways;
        uint32_t victim = 0; ///< the way that is replaced next
    };
    struct Table {
        std::vector<Set> sets;
        std::array<std::mutex, kLocks> locks;
        /** Entries per address space: an empty one need not be searched. */
        std::vector<std::atomic<uint32_t>> live;

        uint32_t set_index(uint32_t asid, uint64_t page) const;
        std::mutex& lock_of(uint32_t set) { return locks[(set >> 4) % kLocks]; }
    };

    static uint64_t tag(uint32_t asid, uint64_t page);
    template <typename Visit>
    void for_each(uint32_t asid, uint64_t start, uint64_t end, Visit&& visit);

    std::array<Table, kLeafLevels> tables_;
};

} // namespace vgpu
