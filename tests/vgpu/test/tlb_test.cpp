// SPDX-License-Identifier: MIT
#include "engine.h"
#include "in_flight.h"
#include "tlb.h"
#include "windows.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace vgpu::test {
namespace {

constexpr uint64_t kVaEnd = 1ULL << VZE_HW_VA_BITS;

class TlbTest : public ::testing::Test {
protected:
    void insert(uint32_t asid, uint64_t va, uint32_t level = 0, uint64_t pte = 1) {
        tlb->insert(asid, va, Leaf{pte, nullptr, level}, generation, generation.load());
    }
    void invalidate(uint32_t asid, uint64_t start, uint64_t end) {
        tlb->invalidate(asid, start, end, generation);
    }

    std::unique_ptr<Tlb> tlb = std::make_unique<Tlb>();
    std::atomic<uint64_t> generation{1};
};

TEST_F(TlbTest, FindsWhatWasInsertedAndNothingElse) {
    insert(3, 0x5000, 0, 0x77);
    ASSERT_TRUE(tlb->lookup(3, 0x5fff));
    EXPECT_EQ(tlb->lookup(3, 0x5000)->pte, 0x77u);
    EXPECT_FALSE(tlb->lookup(3, 0x4fff));
    EXPECT_FALSE(tlb->lookup(3, 0x6000));
    EXPECT_FALSE(tlb->lookup(4, 0x5000));
}

TEST_F(TlbTest, LeavesOfAllSizesCoverTheirRange) {
    insert(1, 2ULL << 20, 1);
    insert(1, 5ULL << 30, 2);
    EXPECT_TRUE(tlb->lookup(1, (4ULL << 20) - 1));
    EXPECT_FALSE(tlb->lookup(1, 4ULL << 20));
    EXPECT_TRUE(tlb->lookup(1, (6ULL << 30) - 1));
    EXPECT_EQ(tlb->lookup(1, 5ULL << 30)->level, 2u);
}

TEST_F(TlbTest, InsertReplacesTheSamePage) {
    insert(1, 0x1000, 0, 0x11);
    insert(1, 0x1000, 0, 0x22);
    EXPECT_EQ(tlb->lookup(1, 0x1000)->pte, 0x22u);
    EXPECT_EQ(tlb->cached(1, 0, kVaEnd).size(), 1u);
}

TEST_F(TlbTest, InvalidateTakesExactlyThePagesOfTheRange) {
    for (uint64_t page = 0; page < 10; page++)
        insert(1, page * 4096);
    invalidate(1, 3 * 4096, 7 * 4096);
    for (uint64_t page = 0; page < 10; page++)
        EXPECT_EQ(tlb->lookup(1, page * 4096).has_value(), page < 3 || page >= 7) << page;
}

TEST_F(TlbTest, InvalidateTakesLargeLeavesThatItTouches) {
    insert(1, 2ULL << 20, 1);
    insert(1, 4ULL << 20, 1);
    insert(1, 6ULL << 20, 1);
    invalidate(1, (6ULL << 20) - 4096, (6ULL << 20));
    EXPECT_TRUE(tlb->lookup(1, 2ULL << 20));
    EXPECT_FALSE(tlb->lookup(1, 4ULL << 20));
    EXPECT_TRUE(tlb->lookup(1, 6ULL << 20));
    insert(1, 1ULL << 30, 2);
    invalidate(1, (1ULL << 30) + 4096, (1ULL << 30) + 8192);
    EXPECT_FALSE(tlb->lookup(1, 1ULL << 30));
}

TEST_F(TlbTest, InvalidateOfAHugeRangeSearchesTheTables) {
    insert(1, 0);
    insert(1, kVaEnd - 4096);
    insert(2, 0x1000);
    insert(1, 0x7000'0000'0000, 1);
    EXPECT_EQ(tlb->cached(1, kVaEnd - 4096, kVaEnd).at(0).va, kVaEnd - 4096);
    EXPECT_EQ(tlb->cached(1, 0x7000'0000'1000, 0x7000'0000'2000).at(0).va, 0x7000'0000'0000u);
    invalidate(1, 0x1000, kVaEnd - 4096);
    EXPECT_EQ(tlb->cached(1, 0, kVaEnd).size(), 2u);
    EXPECT_TRUE(tlb->lookup(2, 0x1000));
    invalidate(1, 0, kVaEnd);
    EXPECT_EQ(tlb->cached(1, 0, kVaEnd).size(), 0u);
    EXPECT_TRUE(tlb->lookup(2, 0x1000));
}

TEST_F(TlbTest, AFullSetForgetsButNeverLies) {
    // Far more pages than one set holds, all in the same set.
    for (uint64_t i = 0; i < 64; i++)
        insert(1, i * 4096 * 8192, 0, i);
    uint64_t left = 0;
    for (uint64_t i = 0; i < 64; i++) {
        const auto leaf = tlb->lookup(1, i * 4096 * 8192);
        if (leaf) {
            EXPECT_EQ(leaf->pte, i);
            left++;
        }
    }
    EXPECT_EQ(left, 4u);
    EXPECT_EQ(tlb->cached(1, 0, kVaEnd).size(), 4u);
    invalidate(1, 0, kVaEnd);
    EXPECT_EQ(tlb->cached(1, 0, kVaEnd).size(), 0u);
}

TEST_F(TlbTest, ATranslationWalkedBeforeAnInvalidationIsNotTaken) {
    const uint64_t before = generation.load();
    invalidate(1, 0x1000, 0x2000);
    tlb->insert(1, 0x1000, Leaf{1, nullptr, 0}, generation, before);
    EXPECT_FALSE(tlb->lookup(1, 0x1000));
}

TEST_F(TlbTest, InvalidateChangesTheGenerationTwice) {
    invalidate(1, 0, 4096);
    EXPECT_EQ(generation.load(), 3u);
}

TEST(FirstLevelTlbTest, IsValidForItsGenerationOnly) {
    FirstLevelTlb tlb;
    tlb.insert(1, 0x5000, 7, Leaf{0x11, nullptr, 0});
    EXPECT_TRUE(tlb.lookup(1, 0x5abc, 7));
    EXPECT_FALSE(tlb.lookup(1, 0x5abc, 8));
    EXPECT_FALSE(tlb.lookup(2, 0x5abc, 7));
    EXPECT_FALSE(tlb.lookup(1, 0x6000, 7));
    EXPECT_FALSE(tlb.lookup(1, 0x5000 + 4096 * 256, 7));
}

TEST(Windows, CoverWhatTheyOverlapWhileOpen) {
    std::array<vze_hw_window, VZE_HW_WINDOWS> windows = {};
    EXPECT_FALSE(window_covers(windows, 0, 0, kVaEnd));
    windows[63] = {VZE_HW_WINDOW_OPEN, 5, 0x2000, 0x4000, {}};
    EXPECT_TRUE(window_covers(windows, 5, 0x3000, 0x5000));
    EXPECT_TRUE(window_covers(windows, 5, 0x1000, 0x2001));
    EXPECT_FALSE(window_covers(windows, 5, 0x1000, 0x2001, 63));
    EXPECT_TRUE(window_covers(windows, 5, 0x1000, 0x2001, 62));
    EXPECT_FALSE(window_covers(windows, 5, 0x1000, 0x2000));
    EXPECT_FALSE(window_covers(windows, 5, 0x4000, 0x5000));
    EXPECT_FALSE(window_covers(windows, 4, 0x3000, 0x4000));
    windows[63].state = VZE_HW_WINDOW_FREE;
    EXPECT_FALSE(window_covers(windows, 5, 0x3000, 0x5000));
}

TEST(InFlightTest, DrainWaitsForTheSectionsOfItsAddressSpace) {
    InFlight in_flight;
    InFlight::Slot& slot = in_flight.new_slot();
    InFlight::Slot& other = in_flight.new_slot();
    std::atomic<bool> drained{false};

    slot.enter(in_flight.epoch(), 7);
    other.enter(in_flight.epoch(), 8);
    in_flight.drain(6); // nobody is there
    std::thread drainer([&] {
        in_flight.drain(7);
        drained.store(true);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(drained.load());
    slot.leave();
    drainer.join();
    EXPECT_TRUE(drained.load());
    other.leave();
}

TEST(InFlightTest, DrainDoesNotWaitForWhatBeginsLater) {
    InFlight in_flight;
    InFlight::Slot& slot = in_flight.new_slot();
    std::atomic<bool> end{false};

    // One thread is in a section practically all the time; draining must get through all the same.
    std::thread busy([&] {
        while (!end.load()) {
            slot.enter(in_flight.epoch(), 1);
            std::this_thread::yield();
            slot.leave();
        }
    });
    for (int i = 0; i < 200; i++)
        in_flight.drain(1);
    end.store(true);
    busy.join();
}

} // namespace
} // namespace vgpu::test
