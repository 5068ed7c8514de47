// SPDX-License-Identifier: MIT
#include "page_walker.h"

#include "shared_word.h"

namespace vgpu {
namespace {

constexpr uint64_t kTableBits = VZE_HW_PTE_PRESENT | VZE_HW_PTE_ADDR_MASK;
constexpr uint64_t kLeafBits = VZE_HW_PTE_PRESENT | VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM |
                               VZE_HW_PTE_COMPRESSIBLE | VZE_HW_PTE_ADDR_MASK;

constexpr Walk bad_pte() {
    return {VZE_HW_FAULT_BAD_PTE, {}};
}

} // namespace

bool PageWalker::valid_root(uint64_t root) const {
    return (root & ~VZE_HW_PTE_ADDR_MASK) == 0 && memory_.ram(root, VZE_HW_PAGE_SIZE) != nullptr;
}

Walk PageWalker::leaf(uint64_t pte, uint32_t level) const {
    const uint64_t allowed = level == 0 ? kLeafBits : kLeafBits | VZE_HW_PTE_LEAF;
    const uint64_t size = 1ULL << VZE_HW_LEVEL_SHIFT(level);
    const uint64_t address = pte & VZE_HW_PTE_ADDR_MASK;
    const bool vram = (pte & VZE_HW_PTE_VRAM) != 0;

    if ((pte & ~allowed) != 0 || (address & (size - 1)) != 0)
        return bad_pte();
    if ((pte & VZE_HW_PTE_COMPRESSIBLE) != 0 && !(vram && compression_))
        return bad_pte();
    std::byte* host = vram ? memory_.vram(address, size) : memory_.ram(address, size);
    if (host == nullptr)
        return bad_pte();
    return {0, {pte, host, level}};
}

Walk PageWalker::walk(uint64_t root, uint64_t va) const {
    uint64_t table = root;

    for (uint32_t level = VZE_HW_LEVELS - 1;; level--) {
        std::byte* page = memory_.ram(table, VZE_HW_PAGE_SIZE);
        if (page == nullptr)
            return bad_pte();
        const uint64_t index = (va >> VZE_HW_LEVEL_SHIFT(level)) & (VZE_HW_ENTRIES - 1);
        const uint64_t pte = load_acquire(reinterpret_cast<uint64_t*>(page)[index]);

        if ((pte & VZE_HW_PTE_PRESENT) == 0)
            return {VZE_HW_FAULT_NOT_PRESENT, {}};
        if (level == 0)
            return leaf(pte, level);
        if ((pte & VZE_HW_PTE_LEAF) != 0)
            return level == VZE_HW_LEVELS - 1 ? bad_pte() : leaf(pte, level);
        if ((pte & ~kTableBits) != 0)
            return bad_pte();
        table = pte & VZE_HW_PTE_ADDR_MASK;
    }
}

} // namespace vgpu
