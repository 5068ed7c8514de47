// SPDX-License-Identifier: MIT
#include "address_space.h"

#include "windows.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace vgpu {
namespace {

constexpr uint64_t kVaEnd = 1ULL << VZE_HW_VA_BITS;
constexpr uint32_t kMaxStaleReports = 32;

bool permits(const Leaf& leaf, Access access) {
    return access != Access::kWrite || leaf.writable();
}

} // namespace

AddressSpaces::AddressSpaces(const PhysicalMemory& memory, PageCompression& compression,
                             std::span<const vze_hw_window> windows, uint64_t features)
    : walker_(memory, features), compression_(compression), windows_(windows),
      strict_((features & VZE_HW_FEATURE_STRICT) != 0),
      spaces_(std::make_unique<Space[]>(VZE_HW_MAX_ADDRESS_SPACES)) {}

bool AddressSpaces::create(uint32_t asid, uint64_t root) {
    Space& space = spaces_[asid];

    if (!walker_.valid_root(root))
        return false;
    space.root.store(root, std::memory_order_relaxed);
    space.live.store(true, std::memory_order_release);
    return true;
}

void AddressSpaces::destroy(uint32_t asid, Engine& engine) {
    spaces_[asid].live.store(false, std::memory_order_seq_cst);
    invalidate(asid, 0, kVaEnd, kNoWindow, engine);
}

void AddressSpaces::invalidate(uint32_t asid, uint64_t start, uint64_t end, uint32_t window,
                               Engine& engine) {
    const Space& space = spaces_[asid];

    tlb_.invalidate(asid, start, end, spaces_[asid].generation);
    in_flight_.drain(asid);
    if (!strict_)
        return;
    // Table pages stay where they are meanwhile: the driver gives none back before a completion,
    // and the caller is who completes.
    for (const Tlb::Cached& cached : tlb_.cached(asid, start, end)) {
        const uint64_t from = std::max(start, cached.va);
        const uint64_t to = std::min(end, cached.va + cached.leaf.size());
        if (space.live.load(std::memory_order_relaxed))
            verify(asid, space.root.load(std::memory_order_relaxed), from, to - from, cached.leaf,
                   window, engine);
        else
            engine.counters.add(VZE_HW_COUNTER_STALE_USES, 1); // nothing may be left of it
    }
}

void AddressSpaces::report_stale(uint32_t asid, uint64_t va, const Leaf& cached,
                                 const Walk& found) const {
    if (reports_.fetch_add(1, std::memory_order_relaxed) >= kMaxStaleReports)
        return;
    std::fprintf(stderr,
                 "vze-vgpu: stale TLB use: address space %" PRIu32 ", va 0x%" PRIx64
                 ": cached level %" PRIu32 " pte 0x%" PRIx64 ", tables say %s 0x%" PRIx64 "\n",
                 asid, va, cached.level, cached.pte,
                 found.fault == 0                          ? "pte"
                 : found.fault == VZE_HW_FAULT_NOT_PRESENT ? "not present,"
                                                           : "bad pte,",
                 found.leaf.pte);
}

/**
 * Strict mode: compares a cached leaf with the tables for the bytes that are about to be used.
 *
 * It runs inside the caller's section. An invalidation waits for that section, so a driver that
 * follows the manual still holds its window open when a changed entry is seen here: the check
 * cannot blame it wrongly.
 */
void AddressSpaces::verify(uint32_t asid, uint64_t root, uint64_t va, uint64_t size,
                           const Leaf& cached, uint32_t except, Engine& engine) const {
    const uint64_t leaf_start = va & ~(cached.size() - 1);
    const uint64_t end = va + size;

    while (va < end) {
        const Walk found = walker_.walk(root, va);
        const uint64_t step = found.fault == 0 ? found.leaf.size() : VZE_HW_PAGE_SIZE;
        const uint64_t next = std::min(end, (va & ~(step - 1)) + step);
        const bool same_memory =
            found.fault == 0 && found.leaf.attributes() == cached.attributes() &&
            found.leaf.host + (va & (found.leaf.size() - 1)) == cached.host + (va - leaf_start);

        if (same_memory && found.leaf.level == cached.level)
            return;
        // Leaves that were split or joined without changing what this address means may have been
        // changed by a window anywhere in either of them.
        const uint64_t around = std::max(cached.size(), step);
        const bool legal =
            same_memory ? window_covers(windows_, asid, va & ~(around - 1),
                                        (va & ~(around - 1)) + around, except)
                        : window_covers(windows_, asid, va & ~(VZE_HW_PAGE_SIZE - 1), next, except);
        if (!legal) {
            engine.counters.add(VZE_HW_COUNTER_STALE_USES, 1);
            report_stale(asid, va, cached, found);
            return;
        }
        va = next;
    }
}

Section::Section(AddressSpaces& spaces, Engine& engine, uint32_t asid)
    : spaces_(spaces), engine_(engine), asid_(asid) {
    engine.slot.enter(spaces.in_flight_.epoch(), asid);
    const AddressSpaces::Space& space = spaces.spaces_[asid];
    // Read after the announcement, in the order of all seq_cst operations: an invalidation that did
    // not see the announcement has changed the generation before this load.
    generation_ = space.generation.load(std::memory_order_seq_cst);
    live_ = space.live.load(std::memory_order_seq_cst);
    root_ = space.root.load(std::memory_order_relaxed);
}

Run Section::translate(uint64_t va, uint64_t size, Access access) {
    if (va >= kVaEnd)
        return {.fault = {VZE_HW_FAULT_NON_CANONICAL, access, va}};
    if (!live_)
        return {.fault = {VZE_HW_FAULT_NOT_PRESENT, access, va}};

    const auto run = [&](const Leaf& leaf) {
        const uint64_t offset = va & (leaf.size() - 1);
        return Run{leaf.host + offset, std::min(size, leaf.size() - offset), leaf.pte, {}};
    };

    std::optional<Leaf> cached = engine_.tlb.lookup(asid_, va, generation_);
    if (!cached) {
        cached = spaces_.tlb_.lookup(asid_, va);
        if (cached)
            engine_.tlb.insert(asid_, va, generation_, *cached);
    }
    if (cached) {
        const Run hit = run(*cached);
        engine_.counters.add(VZE_HW_COUNTER_TLB_HITS, 1);
        if (spaces_.strict_)
            spaces_.verify(asid_, root_, va, hit.size, *cached, kNoWindow, engine_);
        if (permits(*cached, access))
            return hit;
        // Like every MMU, ask the tables before refusing: the entry may have been made writable.
    }

    const Walk found = spaces_.walker_.walk(root_, va);
    engine_.counters.add(VZE_HW_COUNTER_TLB_MISSES, 1);
    if (found.fault != 0)
        return {.fault = {found.fault, access, va}};
    spaces_.tlb_.insert(asid_, va, found.leaf, spaces_.spaces_[asid_].generation, generation_);
    engine_.tlb.insert(asid_, va, generation_, found.leaf);
    if (!permits(found.leaf, access))
        return {.fault = {VZE_HW_FAULT_READ_ONLY, access, va}};
    return run(found.leaf);
}

} // namespace vgpu
