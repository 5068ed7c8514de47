// SPDX-License-Identifier: MIT
#include "tlb.h"

namespace vgpu {
namespace {

// 128 MiB of 4 KiB pages, 8 GiB of 2 MiB pages: more than the working set of any test.
constexpr std::array<uint32_t, 3> kSets = {8192, 1024, 64};
constexpr unsigned kPageBits = VZE_HW_VA_BITS - VZE_HW_PAGE_SHIFT;
constexpr unsigned kAsidBits = 16;

} // namespace

Tlb::Tlb() {
    for (uint32_t level = 0; level < kLeafLevels; level++) {
        tables_[level].sets.resize(kSets[level]);
        tables_[level].live = std::vector<std::atomic<uint32_t>>(VZE_HW_MAX_ADDRESS_SPACES);
    }
}

uint64_t Tlb::tag(uint32_t asid, uint64_t page) {
    return (1ULL << (kPageBits + kAsidBits - 1)) | (uint64_t{asid} << kPageBits) | page;
}

uint32_t Tlb::Table::set_index(uint32_t asid, uint64_t page) const {
    // Neighbouring pages go to neighbouring sets; address spaces start at scattered places.
    return static_cast<uint32_t>(page + uint64_t{asid} * 0x9e3779b1u) &
           static_cast<uint32_t>(sets.size() - 1);
}

std::optional<Leaf> Tlb::lookup(uint32_t asid, uint64_t va) {
    for (uint32_t level = 0; level < kLeafLevels; level++) {
        Table& table = tables_[level];
        if (table.live[asid].load(std::memory_order_relaxed) == 0)
            continue;
        const uint64_t page = va >> VZE_HW_LEVEL_SHIFT(level);
        const uint64_t wanted = tag(asid, page);
        const uint32_t index = table.set_index(asid, page);
        const std::lock_guard lock(table.lock_of(index));

        for (const Entry& entry : table.sets[index].ways) {
            if (entry.tag == wanted)
                return Leaf{entry.pte, entry.host, level};
        }
    }
    return std::nullopt;
}

void Tlb::insert(uint32_t asid, uint64_t va, const Leaf& leaf,
                 const std::atomic<uint64_t>& generation, uint64_t expected) {
    Table& table = tables_[leaf.level];
    const uint64_t page = va >> VZE_HW_LEVEL_SHIFT(leaf.level);
    const uint64_t wanted = tag(asid, page);
    const uint32_t index = table.set_index(asid, page);
    Set& set = table.sets[index];
    const std::lock_guard lock(table.lock_of(index));

    if (generation.load(std::memory_order_seq_cst) != expected)
        return;
    Entry* place = nullptr;
    for (Entry& entry : set.ways) {
        if (entry.tag == wanted) {
            place = &entry;
            break;
        }
        if (entry.tag == kFree && place == nullptr)
            place = &entry;
    }
    if (place == nullptr) {
        place = &set.ways[set.victim];
        set.victim = (set.victim + 1) % kWays;
        table.live[(place->tag >> kPageBits) & (VZE_HW_MAX_ADDRESS_SPACES - 1)].fetch_sub(
            1, std::memory_order_relaxed);
        place->tag = kFree;
    }
    if (place->tag == kFree)
        table.live[asid].fetch_add(1, std::memory_order_relaxed);
    *place = {wanted, leaf.pte, leaf.host};
}

/** Calls @p visit(table, entry) with the lock held for every entry that overlaps the range. */
template <typename Visit>
void Tlb::for_each(uint32_t asid, uint64_t start, uint64_t end, Visit&& visit) {
    for (uint32_t level = 0; level < kLeafLevels; level++) {
        Table& table = tables_[level];
        const uint64_t first = start >> VZE_HW_LEVEL_SHIFT(level);
        const uint64_t last = (end - 1) >> VZE_HW_LEVEL_SHIFT(level);
        const uint64_t lowest = tag(asid, first);
        const uint64_t highest = tag(asid, last);

        if (last - first < table.sets.size()) {
            for (uint64_t page = first; page <= last; page++) {
                const uint32_t index = table.set_index(asid, page);
                const uint64_t wanted = tag(asid, page);
                const std::lock_guard lock(table.lock_of(index));
                for (Entry& entry : table.sets[index].ways) {
                    if (entry.tag == wanted)
                        visit(table, entry);
                }
            }
            continue;
        }
        for (uint32_t index = 0; index < table.sets.size(); index++) {
            const std::lock_guard lock(table.lock_of(index));
            for (Entry& entry : table.sets[index].ways) {
                if (entry.tag >= lowest && entry.tag <= highest)
                    visit(table, entry);
            }
        }
    }
}

void Tlb::invalidate(uint32_t asid, uint64_t start, uint64_t end,
                     std::atomic<uint64_t>& generation) {
    generation.fetch_add(1, std::memory_order_seq_cst);
    for_each(asid, start, end, [asid](Table& table, Entry& entry) {
        entry.tag = kFree;
        table.live[asid].fetch_sub(1, std::memory_order_relaxed);
    });
    generation.fetch_add(1, std::memory_order_seq_cst);
}

std::vector<Tlb::Cached> Tlb::cached(uint32_t asid, uint64_t start, uint64_t end) {
    std::vector<Cached> found;

    for_each(asid, start, end, [&](Table& table, Entry& entry) {
        const uint32_t level = static_cast<uint32_t>(&table - tables_.data());
        const uint64_t page = entry.tag & ((1ULL << kPageBits) - 1);
        found.push_back({page << VZE_HW_LEVEL_SHIFT(level), {entry.pte, entry.host, level}});
    });
    return found;
}

} // namespace vgpu
