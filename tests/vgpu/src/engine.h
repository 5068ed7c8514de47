// SPDX-License-Identifier: MIT
#pragma once

#include "device_counters.h"
#include "in_flight.h"
#include "page_walker.h"

#include <array>
#include <cstdint>
#include <optional>

namespace vgpu {

/**
 * A thread's own small translation cache in front of the Tlb. Its entries carry the generation of
 * their address space at the start of the section that took them from there and are valid only as
 * long as it is still the same, which every invalidation of the address space ends.
 */
class FirstLevelTlb {
public:
    std::optional<Leaf> lookup(uint32_t asid, uint64_t va, uint64_t generation) const {
        for (uint32_t level = 0; level < 3; level++) {
            const Entry& entry = entries_[index(level, va)];
            if (entry.generation == generation && entry.asid == asid &&
                entry.page == va >> VZE_HW_LEVEL_SHIFT(level))
                return entry.leaf;
        }
        return std::nullopt;
    }
    void insert(uint32_t asid, uint64_t va, uint64_t generation, const Leaf& leaf) {
        entries_[index(leaf.level, va)] = {generation, va >> VZE_HW_LEVEL_SHIFT(leaf.level), asid,
                                           leaf};
    }

private:
    struct Entry {
        uint64_t generation = 0; ///< no address space has generation 0
        uint64_t page = 0;
        uint32_t asid = 0;
        Leaf leaf;
    };
    static constexpr std::array<uint32_t, 3> kEntries = {256, 64, 8};
    static constexpr std::array<uint32_t, 3> kFirst = {0, 256, 320};

    static size_t index(uint32_t level, uint64_t va) {
        return kFirst[level] + ((va >> VZE_HW_LEVEL_SHIFT(level)) & (kEntries[level] - 1));
    }

    std::array<Entry, 328> entries_;
};

/** What one thread of the device works with. Never shared between threads. */
struct Engine {
    Engine(InFlight::Slot& own_slot, CounterBlock& own_counters)
        : slot(own_slot), counters(own_counters) {}

    InFlight::Slot& slot;
    CounterBlock& counters;
    FirstLevelTlb tlb;
    alignas(64) std::array<std::byte, 16384> scratch; ///< a repeated fill pattern
};

} // namespace vgpu
