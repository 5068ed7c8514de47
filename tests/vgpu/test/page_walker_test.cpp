// SPDX-License-Identifier: MIT
#include "page_tables.h"
#include "page_walker.h"
#include "physical_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace vgpu::test {
namespace {

constexpr uint64_t kRam = 8ULL << 20;
constexpr uint64_t kVram = 4ULL << 20;
constexpr uint64_t kVa = 0x7f12'3456'7000; // different indices at all levels

class Walker : public ::testing::Test {
protected:
    Walker() : ram(kRam), vram(kVram), memory(vram), pages(ram, 0x100000), tables(pages) {
        memory.attach_ram(ram);
    }
    Walk walk(uint64_t va, uint64_t features = 0) {
        return PageWalker(memory, features).walk(tables.root(), va);
    }

    std::vector<std::byte> ram;
    std::vector<std::byte> vram;
    PhysicalMemory memory;
    PageAllocator pages;
    PageTables tables;
};

TEST_F(Walker, FollowsFourLevelsToA4KLeaf) {
    tables.map(kVa, 0x5000, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
    const Walk found = walk(kVa + 0x123);
    EXPECT_EQ(found.fault, 0u);
    EXPECT_EQ(found.leaf.level, 0u);
    EXPECT_EQ(found.leaf.host, ram.data() + 0x5000);
    EXPECT_TRUE(found.leaf.writable());
    EXPECT_EQ(walk(kVa + 0x1000).fault, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
    EXPECT_EQ(walk(kVa - 1).fault, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
}

TEST_F(Walker, FindsLeavesOf2MInBothMemories) {
    const uint64_t va = kVa & ~((2ULL << 20) - 1);
    tables.map(va, 4 << 20, 2 << 20, 0, 1);
    EXPECT_EQ(walk(va + 0x1fffff).leaf.host, ram.data() + (4 << 20));
    EXPECT_EQ(walk(va).leaf.level, 1u);
    EXPECT_FALSE(walk(va).leaf.writable());
    tables.map(va, 2 << 20, 2 << 20, VZE_HW_PTE_VRAM, 1);
    EXPECT_EQ(walk(va).leaf.host, vram.data() + (2 << 20));
}

TEST_F(Walker, ALeafMustLieInMemoryAsAWhole) {
    const uint64_t va = kVa & ~((2ULL << 20) - 1);
    const auto bad = static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE);

    tables.map(va, kRam, 2 << 20, 0, 1);
    EXPECT_EQ(walk(va).fault, bad);
    tables.map(va, kVram, 2 << 20, VZE_HW_PTE_VRAM, 1);
    EXPECT_EQ(walk(va).fault, bad);
    tables.map(kVa + (1ULL << 40), kRam, VZE_HW_PAGE_SIZE, 0);
    EXPECT_EQ(walk(kVa + (1ULL << 40)).fault, bad);
    tables.map(kVa + (1ULL << 40), kRam - VZE_HW_PAGE_SIZE, VZE_HW_PAGE_SIZE, 0);
    EXPECT_EQ(walk(kVa + (1ULL << 40)).fault, 0u);
    // A 1 GiB leaf does not fit into these 8 MiB.
    tables.map(0, 0, 1ULL << 30, 0, 2);
    EXPECT_EQ(walk(5).fault, bad);
}

TEST_F(Walker, FindsLeavesOf1G) {
    // Only the addresses matter here: no byte of the span is touched.
    PhysicalMemory big({reinterpret_cast<std::byte*>(uint64_t{1} << 40), 2ULL << 30});
    big.attach_ram(ram);
    tables.map(3ULL << 30, 1ULL << 30, 1ULL << 30, VZE_HW_PTE_VRAM | VZE_HW_PTE_WRITABLE, 2);
    const Walk found = PageWalker(big, 0).walk(tables.root(), (3ULL << 30) + 12345);
    EXPECT_EQ(found.fault, 0u);
    EXPECT_EQ(found.leaf.level, 2u);
    EXPECT_EQ(found.leaf.host, reinterpret_cast<std::byte*>((uint64_t{1} << 40) + (1ULL << 30)));
}

TEST_F(Walker, RefusesMisalignedLargeLeaves) {
    const uint64_t va = kVa & ~((2ULL << 20) - 1);
    for (uint64_t offset = 0x1000; offset < (2 << 20); offset <<= 1) {
        tables.set(va, offset | VZE_HW_PTE_LEAF | VZE_HW_PTE_PRESENT, 1);
        EXPECT_EQ(walk(va).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE)) << offset;
    }
    tables.set(va, (2ULL << 20) | VZE_HW_PTE_LEAF | VZE_HW_PTE_PRESENT, 2);
    EXPECT_EQ(walk(va).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE));
}

TEST_F(Walker, RefusesEveryReservedBitOfALeaf) {
    const uint64_t va2 = kVa & ~((2ULL << 20) - 1);
    for (unsigned bit = 0; bit < 64; bit++) {
        const uint64_t mask = 1ULL << bit;
        if ((mask & (VZE_HW_PTE_PRESENT | VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM |
                     VZE_HW_PTE_ADDR_MASK)) != 0)
            continue;
        tables.set(kVa, VZE_HW_PTE_PRESENT | mask, 0);
        EXPECT_EQ(walk(kVa).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE)) << bit;
        tables.set(kVa, mask, 0);
        EXPECT_EQ(walk(kVa).fault, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT)) << bit;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        const uint64_t mask = 1ULL << bit;
        if ((mask & (VZE_HW_PTE_PRESENT | VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM | VZE_HW_PTE_LEAF |
                     VZE_HW_PTE_ADDR_MASK)) != 0)
            continue;
        tables.set(va2, VZE_HW_PTE_PRESENT | VZE_HW_PTE_LEAF | mask, 1);
        EXPECT_EQ(walk(va2).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE)) << bit;
    }
}

TEST_F(Walker, RefusesEveryReservedBitOfATableEntry) {
    tables.map(kVa, 0x5000, VZE_HW_PAGE_SIZE, 0);
    for (uint32_t level = 1; level < VZE_HW_LEVELS; level++) {
        const uint64_t good = tables.entry(kVa, level);
        for (unsigned bit = 0; bit < 64; bit++) {
            const uint64_t mask = 1ULL << bit;
            if ((mask & (VZE_HW_PTE_PRESENT | VZE_HW_PTE_ADDR_MASK)) != 0)
                continue;
            if (mask == VZE_HW_PTE_LEAF && level != VZE_HW_LEVELS - 1)
                continue; // makes it a leaf, which is another test
            tables.set(kVa, good | mask, level);
            EXPECT_EQ(walk(kVa).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE))
                << "level " << level << " bit " << bit;
        }
        tables.set(kVa, good, level);
        EXPECT_EQ(walk(kVa).fault, 0u);
    }
}

TEST_F(Walker, RefusesTablesOutsideRam) {
    tables.map(kVa, 0x5000, VZE_HW_PAGE_SIZE, 0);
    for (uint32_t level = 1; level < VZE_HW_LEVELS; level++) {
        const uint64_t good = tables.entry(kVa, level);
        for (const uint64_t address :
             std::array<uint64_t, 3>{kRam, 1ULL << 40, VZE_HW_PTE_ADDR_MASK}) {
            tables.set(kVa, address | VZE_HW_PTE_PRESENT, level);
            EXPECT_EQ(walk(kVa).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE));
        }
        tables.set(kVa, good, level);
    }
}

TEST_F(Walker, CompressibleNeedsTheFeatureAndVram) {
    tables.map(kVa, 0, VZE_HW_PAGE_SIZE, VZE_HW_PTE_VRAM | VZE_HW_PTE_COMPRESSIBLE);
    EXPECT_EQ(walk(kVa).fault, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE));
    EXPECT_EQ(walk(kVa, VZE_HW_FEATURE_COMPRESSION).fault, 0u);
    tables.map(kVa, 0, VZE_HW_PAGE_SIZE, VZE_HW_PTE_COMPRESSIBLE);
    EXPECT_EQ(walk(kVa, VZE_HW_FEATURE_COMPRESSION).fault,
              static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE));
}

TEST_F(Walker, RootsMustBePagesOfRam) {
    const PageWalker walker(memory, 0);
    EXPECT_TRUE(walker.valid_root(0));
    EXPECT_TRUE(walker.valid_root(kRam - VZE_HW_PAGE_SIZE));
    EXPECT_FALSE(walker.valid_root(kRam));
    EXPECT_FALSE(walker.valid_root(0x1008));
    EXPECT_FALSE(walker.valid_root(1ULL << 63));
}

TEST(PhysicalMemory, SmallRamIsFlat) {
    std::byte* const base = reinterpret_cast<std::byte*>(uint64_t{1} << 44);
    const uint64_t size = 0xb0000000 - 4096;
    PhysicalMemory memory({});
    memory.attach_ram({base, size});
    EXPECT_EQ(memory.ram(0, 1), base);
    EXPECT_EQ(memory.ram(size - 1, 1), base + size - 1);
    EXPECT_EQ(memory.ram(size - 1, 2), nullptr);
    EXPECT_EQ(memory.ram(size, 1), nullptr);
    EXPECT_EQ(memory.ram(4ULL << 30, 1), nullptr);
    EXPECT_EQ(memory.ram(UINT64_MAX, 1), nullptr);
    EXPECT_EQ(memory.ram(0, UINT64_MAX), nullptr);
}

TEST(PhysicalMemory, LargeRamIsSplitAt2G) {
    std::byte* const base = reinterpret_cast<std::byte*>(uint64_t{1} << 44);
    PhysicalMemory memory({});
    memory.attach_ram({base, 0xb0000000});
    EXPECT_EQ(memory.ram((2ULL << 30) - 1, 1), base + (2ULL << 30) - 1);
    EXPECT_EQ(memory.ram((2ULL << 30) - 1, 2), nullptr);
    EXPECT_EQ(memory.ram(3ULL << 30, 1), nullptr);
    EXPECT_EQ(memory.ram(4ULL << 30, 1), base + (2ULL << 30));
    EXPECT_EQ(memory.ram((4ULL << 30) + 0x30000000 - 1, 1), base + 0xb0000000 - 1);
    EXPECT_EQ(memory.ram((4ULL << 30) + 0x30000000, 1), nullptr);
}

} // namespace
} // namespace vgpu::test
