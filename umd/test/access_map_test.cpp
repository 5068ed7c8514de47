// SPDX-License-Identifier: MIT
#include "core/access_map.h"

#include <array>

#include <gtest/gtest.h>

using namespace vze;

namespace {

constexpr auto kNone = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
constexpr auto kRead = ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY;
constexpr auto kWrite = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;

TEST(AccessMap, WholeUntilChanged) {
    AccessMap map(kRead);
    uint64_t until = 0;
    EXPECT_EQ(kRead, map.at(0, 10, until));
    EXPECT_EQ(10u, until);
    EXPECT_EQ(kRead, map.at(9, 10, until));
    EXPECT_EQ(10u, until);
}

TEST(AccessMap, NeighboursWithEqualAccessAreOne) {
    AccessMap map;
    map.set(2, 4, kRead);
    map.set(4, 6, kRead);
    uint64_t until = 0;
    EXPECT_EQ(kWrite, map.at(0, 10, until));
    EXPECT_EQ(2u, until);
    EXPECT_EQ(kRead, map.at(2, 10, until));
    EXPECT_EQ(6u, until);
    EXPECT_EQ(kRead, map.at(3, 5, until));
    EXPECT_EQ(5u, until);
    EXPECT_EQ(kWrite, map.at(6, 10, until));
    EXPECT_EQ(10u, until);
}

// Against one attribute a cell, through every pair of bounds.
TEST(AccessMap, LikeAnArray) {
    constexpr uint64_t kCells = 9;
    const std::array accesses = {kNone, kRead, kWrite};
    std::array<ze_memory_access_attribute_t, kCells> cells;
    cells.fill(kWrite);
    AccessMap map;
    unsigned step = 0;
    for (uint64_t begin = 0; begin < kCells; ++begin) {
        for (uint64_t end = begin + 1; end <= kCells; ++end) {
            const auto access = accesses[(step++ * 7 + begin) % accesses.size()];
            map.set(begin, end, access);
            for (uint64_t cell = begin; cell < end; ++cell)
                cells[cell] = access;
            for (uint64_t cell = 0; cell < kCells; ++cell) {
                uint64_t same = cell;
                while (same < kCells && cells[same] == cells[cell])
                    ++same;
                uint64_t until = 0;
                ASSERT_EQ(cells[cell], map.at(cell, kCells, until)) << begin << ".." << end;
                ASSERT_EQ(same, until) << begin << ".." << end << " cell " << cell;
            }
        }
    }
}

} // namespace
