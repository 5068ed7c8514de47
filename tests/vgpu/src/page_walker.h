// SPDX-License-Identifier: MIT
#pragma once

#include "physical_memory.h"

#include <drm/vze_hw.h>

#include <cstdint>

namespace vgpu {

/** A leaf entry of the page tables together with where its memory lies. */
struct Leaf {
    uint64_t pte = 0;          ///< the entry as the driver wrote it
    std::byte* host = nullptr; ///< the first byte of the leaf
    uint32_t level = 0;        ///< 0, 1 or 2

    uint64_t size() const { return 1ULL << VZE_HW_LEVEL_SHIFT(level); }
    bool writable() const { return (pte & VZE_HW_PTE_WRITABLE) != 0; }
    /** Everything but the address: what a use of the leaf may depend on. */
    uint64_t attributes() const {
        return pte & (VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM | VZE_HW_PTE_COMPRESSIBLE);
    }
};

/** What a walk found: @ref leaf is valid when @ref fault is zero. */
struct Walk {
    uint32_t fault = 0; ///< 0, VZE_HW_FAULT_NOT_PRESENT or VZE_HW_FAULT_BAD_PTE
    Leaf leaf;
};

/**
 * Walks page tables as the manual describes them. It has no state: the tables are read anew, one
 * entry once, and only present entries are followed.
 */
class PageWalker {
public:
    /** @p features are the device's VZE_HW_FEATURE_*: they decide which PTE bits are reserved. */
    PageWalker(const PhysicalMemory& memory, uint64_t features)
        : memory_(memory), compression_((features & VZE_HW_FEATURE_COMPRESSION) != 0) {}

    /** Whether @p root can be the guest-physical address of a root table. */
    bool valid_root(uint64_t root) const;

    /**
     * Finds the leaf of @p va (below 2^48) below the table at @p root, for which valid_root()
     * holds.
     */
    Walk walk(uint64_t root, uint64_t va) const;

private:
    Walk leaf(uint64_t pte, uint32_t level) const;

    const PhysicalMemory& memory_;
    bool compression_;
};

} // namespace vgpu
