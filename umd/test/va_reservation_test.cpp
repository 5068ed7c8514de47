// SPDX-License-Identifier: MIT
#include "core/va_reservation.h"

#include <cerrno>
#include <map>
#include <random>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

using namespace vze;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMiB = 1 << 20;

TEST(Reserve, AlignedAndKnownUntilGivenBack) {
    uint64_t address = 0;
    ASSERT_EQ(reserveAddresses(3 * kPage, 2 * kMiB, address), 0);
    EXPECT_EQ(address % (2 * kMiB), 0u);
    EXPECT_TRUE(isDriverAddress(address, 1));
    EXPECT_TRUE(isDriverAddress(address + 3 * kPage - 1, 1));
    EXPECT_TRUE(isDriverAddress(address - kPage, 2 * kPage));
    EXPECT_FALSE(isDriverAddress(address + 3 * kPage, kPage));
    EXPECT_FALSE(isDriverAddress(address - kPage, kPage));
    unreserveAddresses(address, 3 * kPage);
    EXPECT_FALSE(isDriverAddress(address, 3 * kPage));
}

TEST(Reserve, NotWhereSomethingIsImported) {
    // The room is there, but a device has the memory that was: whole, a part, several parts.
    uint64_t room = 0;
    ASSERT_EQ(reserveAddresses(16 * kPage, kPage, room), 0);
    unreserveAddresses(room, 16 * kPage);
    auto at = [&](uint64_t hint, uint64_t size) {
        uint64_t address = 0;
        EXPECT_EQ(reserveAddressesAt(hint, size, kPage, address), 0);
        unreserveAddresses(address, size);
        return address;
    };
    {
        ImportedRange large(room, 12 * kPage);
        ImportedRange small(room + 10 * kPage, kPage);
        ImportedRange moved(std::move(small));
        EXPECT_EQ(at(room + 12 * kPage, 4 * kPage), room + 12 * kPage);
        large = ImportedRange(room + 4 * kPage, 2 * kPage);
        EXPECT_EQ(at(room, 4 * kPage), room);
        EXPECT_EQ(at(room + 6 * kPage, 4 * kPage), room + 6 * kPage);
        for (const uint64_t pages : {5u, 6u, 7u, 11u, 16u}) {
            const uint64_t address = at(room, pages * kPage);
            EXPECT_TRUE(address + pages * kPage <= room + 4 * kPage || address >= room + 11 * kPage)
                << pages;
        }
        EXPECT_NE(at(room + 10 * kPage, kPage), room + 10 * kPage);
    }
    EXPECT_EQ(at(room, 16 * kPage), room);
}

TEST(Reserve, HintIsTakenWhenItIsFree) {
    uint64_t first = 0;
    ASSERT_EQ(reserveAddresses(16 * kPage, kPage, first), 0);
    unreserveAddresses(first, 16 * kPage);
    uint64_t second = 0;
    ASSERT_EQ(reserveAddressesAt(first, 16 * kPage, kPage, second), 0);
    EXPECT_EQ(second, first);
    uint64_t third = 0;
    ASSERT_EQ(reserveAddressesAt(first, 16 * kPage, kPage, third), 0);
    EXPECT_NE(third, first);
    unreserveAddresses(second, 16 * kPage);
    unreserveAddresses(third, 16 * kPage);
}

TEST(Reserve, Impossible) {
    uint64_t address = 0;
    EXPECT_EQ(reserveAddresses(0, kPage, address), ENOMEM);
    EXPECT_EQ(reserveAddresses(1ULL << 47, kPage, address), ENOMEM);
    EXPECT_EQ(reserveAddresses(UINT64_MAX & ~(kPage - 1), kPage, address), ENOMEM);
}

TEST(VaArena, RangesAreDisjointAlignedAndReused) {
    VaArena arena;
    std::mt19937 random(1);
    std::map<uint64_t, uint64_t> live;
    for (int round = 0; round < 20000; ++round) {
        if (live.size() < 200 && random() % 3 != 0) {
            const uint64_t size = kPage * (1 + random() % 600);
            const uint64_t alignment = kPage << (random() % 10);
            uint64_t address = 0;
            ASSERT_EQ(arena.allocate(size, alignment, address), 0);
            EXPECT_EQ(address % alignment, 0u);
            EXPECT_TRUE(arena.meets(address, size));
            auto next = live.lower_bound(address);
            if (next != live.end()) {
                EXPECT_LE(address + size, next->first);
            }
            if (next != live.begin()) {
                EXPECT_LE(std::prev(next)->first + std::prev(next)->second, address);
            }
            live.emplace(address, size);
        } else if (!live.empty()) {
            auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
            arena.release(it->first, it->second);
            live.erase(it);
        }
    }
    for (auto [address, size] : live)
        arena.release(address, size);
    // Everything has grown together again: a whole chunk fits where the pieces were.
    uint64_t whole = 0;
    ASSERT_EQ(arena.allocate(VaArena::kChunk, kPage, whole), 0);
    uint64_t other = 0;
    ASSERT_EQ(arena.allocate(kPage, kPage, other), 0);
    EXPECT_TRUE(other < whole || other >= whole + VaArena::kChunk);
}

TEST(VaArena, PrepareSeesEachChunkAndItsErrorEndsTheCall) {
    std::vector<uint64_t> chunks;
    int error = 0;
    VaArena arena([&](uint64_t, uint64_t size) {
        chunks.push_back(size);
        return error;
    });
    uint64_t address = 0;
    ASSERT_EQ(arena.allocate(kPage, kPage, address), 0);
    ASSERT_EQ(arena.allocate(kPage, kPage, address), 0);
    EXPECT_EQ(chunks.size(), 1u);
    ASSERT_EQ(arena.allocate(3 * VaArena::kChunk, kPage, address), 0);
    ASSERT_EQ(chunks.size(), 2u);
    EXPECT_EQ(chunks[1], 3 * VaArena::kChunk);
    error = EACCES;
    uint64_t none = 0;
    EXPECT_EQ(arena.allocate(2 * VaArena::kChunk, kPage, none), EACCES);
    // A large chunk goes back to the process with its range.
    arena.release(address, 3 * VaArena::kChunk);
    EXPECT_FALSE(isDriverAddress(address, 1));
}

TEST(ReservationTable, ContainingAndMeeting) {
    ReservationTable table;
    table.map()[0x10000].size = 0x4000;
    table.map()[0x14000].size = 0x1000; // touches
    EXPECT_NE(table.containing(0x10000, 0x4000), table.map().end());
    EXPECT_NE(table.containing(0x13fff, 1), table.map().end());
    EXPECT_EQ(table.containing(0x13000, 0x1001), table.map().end());
    EXPECT_EQ(table.containing(0xffff, 1), table.map().end());
    EXPECT_EQ(table.containing(0x15000, 1), table.map().end());
    EXPECT_TRUE(table.meets(0x0, 0x10001));
    EXPECT_FALSE(table.meets(0x0, 0x10000));
    EXPECT_TRUE(table.meets(0x14fff, 1));
    EXPECT_FALSE(table.meets(0x15000, 0x1000));
}

} // namespace
