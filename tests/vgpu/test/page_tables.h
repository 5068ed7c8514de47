// SPDX-License-Identifier: MIT
#pragma once

#include "shared_word.h"

#include <drm/vze_hw.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

namespace vgpu::test {

/** Hands out pages of the fake guest's RAM, as guest-physical addresses. */
class PageAllocator {
public:
    PageAllocator(std::span<std::byte> ram, uint64_t first) : ram_(ram), next_(first) {}

    /** A zeroed, naturally aligned block. It is never given back. */
    uint64_t take(uint64_t size = VZE_HW_PAGE_SIZE) {
        const uint64_t at = (next_ + size - 1) & ~(size - 1);
        next_ = at + size;
        std::memset(ram_.data() + at, 0, size);
        return at;
    }
    std::byte* host(uint64_t gpa) const { return ram_.data() + gpa; }

private:
    std::span<std::byte> ram_;
    uint64_t next_;
};

/** The page tables of one address space, written like a kernel driver writes them. */
class PageTables {
public:
    explicit PageTables(PageAllocator& pages) : pages_(pages), root_(pages.take()) {}

    uint64_t root() const { return root_; }

    /** The entry of @p va at @p level; the tables above it are made when they are missing. */
    uint64_t& entry(uint64_t va, uint32_t level) {
        uint64_t table = root_;
        for (uint32_t at = VZE_HW_LEVELS - 1;; at--) {
            uint64_t& pte = reinterpret_cast<uint64_t*>(
                pages_.host(table))[(va >> VZE_HW_LEVEL_SHIFT(at)) & (VZE_HW_ENTRIES - 1)];
            if (at == level)
                return pte;
            if ((load_acquire(pte) & VZE_HW_PTE_PRESENT) == 0)
                store_release(pte, pages_.take() | VZE_HW_PTE_PRESENT);
            table = load_acquire(pte) & VZE_HW_PTE_ADDR_MASK;
        }
    }

    /** Maps [va, va + size) to consecutive addresses with leaves of @p level. */
    void map(uint64_t va, uint64_t address, uint64_t size, uint64_t flags, uint32_t level = 0) {
        const uint64_t leaf = level == 0 ? 0 : VZE_HW_PTE_LEAF;
        for (uint64_t at = 0; at < size; at += 1ULL << VZE_HW_LEVEL_SHIFT(level))
            set(va + at, (address + at) | flags | leaf | VZE_HW_PTE_PRESENT, level);
    }
    void unmap(uint64_t va, uint64_t size, uint32_t level = 0) {
        for (uint64_t at = 0; at < size; at += 1ULL << VZE_HW_LEVEL_SHIFT(level))
            set(va + at, 0, level);
    }
    void set(uint64_t va, uint64_t pte, uint32_t level) { store_release(entry(va, level), pte); }

private:
    PageAllocator& pages_;
    uint64_t root_;
};

} // namespace vgpu::test
