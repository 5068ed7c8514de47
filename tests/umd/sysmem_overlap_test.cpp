// SPDX-License-Identifier: MIT
// Imports that overlap: what works, what a release takes away, and the strict mode.
#include <cstdlib>
#include <cstring>

#include "fixture.h"

using namespace vze::test;

namespace {

class SysmemOverlap : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        memory_ = Mapping::anonymous(8 * kPage);
        ASSERT_TRUE(memory_);
        std::memset(memory_.get(), 0x20, memory_.size());
    }

    uint8_t* page(size_t index) { return memory_.bytes() + index * kPage; }

    void expectDeviceWrites(size_t index) {
        value_++;
        EXPECT_OK(list().fill(page(index) + 8, value_, 8)) << "page " << index;
        EXPECT_EQ(-1, firstDifferent(page(index) + 8, 8, value_)) << "page " << index;
    }

    /* A device access there faults, and only its own queue stops. */
    void expectDeviceFaults(size_t index) {
        std::vector<uint8_t> before(page(index), page(index) + kPage);
        ImmediateList other(context_, device_);
        EXPECT_OK(other.fillAsync(page(index) + 8, 0xbb, 8)) << "page " << index;
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, other.wait()) << "page " << index;
        EXPECT_EQ(0, std::memcmp(before.data(), page(index), kPage)) << "page " << index;
    }

    void expectRange(size_t at, size_t first, size_t count) {
        void* base = nullptr;
        size_t size = 0;
        EXPECT_OK(zeMemGetAddressRange(context_, page(at), &base, &size)) << "page " << at;
        EXPECT_EQ(page(first), base) << "page " << at;
        EXPECT_EQ(count * kPage, size) << "page " << at;
    }

    Mapping memory_;
    uint8_t value_ = 0x30;
};

struct Overlap {
    const char* name;
    size_t first;
    size_t count;
};

/* The first import is always pages 2..5; these are second ones, with the pages they share with it.
 */
const Overlap kOverlaps[] = {
    {"equal", 2, 4}, {"inside", 3, 2},     {"containing", 1, 6},        {"left", 0, 4},
    {"right", 4, 4}, {"same_start", 2, 2}, {"same_start_longer", 2, 6}, {"same_end", 4, 2}};

TEST_F(SysmemOverlap, BothWorkUntilTheFirstIsReleased) {
    for (const Overlap& second : kOverlaps) {
        for (bool releaseFirst : {true, false}) {
            SCOPED_TRACE(std::string(second.name) +
                         (releaseFirst ? ", the older is released" : ", the newer is released"));
            const uint64_t pinned = pinnedBytes();
            Buffer a = Buffer::import(context_, page(2), 4 * kPage);
            Buffer b = Buffer::import(context_, page(second.first), second.count * kPage);
            ASSERT_TRUE(a);
            ASSERT_TRUE(b);
            for (size_t i = 0; i < 8; i++) {
                const bool inA = i >= 2 && i < 6;
                const bool inB = i >= second.first && i < second.first + second.count;
                if (inA || inB)
                    expectDeviceWrites(i);
                if (inB)
                    expectRange(i, second.first, second.count);
            }
            // With equal bases a free by pointer takes the newest: then there is no choice.
            const bool sameBase = second.first == 2;
            const bool aGoes = releaseFirst && !sameBase;
            (aGoes ? a : b).reset();
            for (size_t i = 0; i < 8; i++) {
                const bool inA = i >= 2 && i < 6;
                const bool inB = i >= second.first && i < second.first + second.count;
                const bool released = aGoes ? inA : inB;
                const bool kept = aGoes ? inB : inA;
                if (kept && !released)
                    expectDeviceWrites(i);
                if (kept && released)
                    expectDeviceFaults(i);
            }
            a.reset();
            b.reset();
            EXPECT_EQ(pinned, pinnedBytes());
            dropList();
        }
    }
}

TEST_F(SysmemOverlap, TouchingRangesAreIndependent) {
    Buffer left = Buffer::import(context_, page(0), 4 * kPage);
    Buffer right = Buffer::import(context_, page(4), 4 * kPage);
    expectDeviceWrites(3);
    expectDeviceWrites(4);
    expectRange(3, 0, 4);
    expectRange(4, 4, 4);
    left.reset();
    expectDeviceWrites(4);
    expectDeviceWrites(7);
    expectRange(4, 4, 4);
}

TEST_F(SysmemOverlap, TheSameRangeTwiceThreeFrees) {
    const uint64_t pinned = pinnedBytes();
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_OK(importMemory(context_, page(0), 4 * kPage, &first));
    const uint64_t firstId = allocInfo(context_, first).id;
    ASSERT_OK(importMemory(context_, page(0), 4 * kPage, &second));
    EXPECT_EQ(first, second);
    EXPECT_NE(firstId, allocInfo(context_, second).id) << "the newest answers queries";
    expectDeviceWrites(0);
    EXPECT_OK(zeMemFree(context_, page(0)));
    EXPECT_EQ(firstId, allocInfo(context_, first).id);
    expectDeviceFaults(0);
    EXPECT_OK(zeMemFree(context_, page(0)));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, page(0)));
    EXPECT_EQ(pinned, pinnedBytes());
    // Imported anew it works again.
    Buffer again = Buffer::import(context_, page(0), 4 * kPage);
    dropList();
    expectDeviceWrites(0);
}

TEST_F(SysmemOverlap, OfAnotherContextIsIndependent) {
    ze_context_handle_t other = makeContext();
    ASSERT_NE(nullptr, other);
    {
        Buffer here = Buffer::import(context_, page(0), 4 * kPage);
        Buffer there = Buffer::import(other, page(1), 4 * kPage);
        expectDeviceWrites(2);
        ImmediateList otherList(other, device_);
        EXPECT_OK(otherList.fill(page(2), 0x66, kPage));
        EXPECT_EQ(-1, firstDifferent(page(2), kPage, 0x66));
        here.reset();
        EXPECT_OK(otherList.fill(page(2), 0x67, kPage));
        EXPECT_EQ(-1, firstDifferent(page(2), kPage, 0x67));
    }
    EXPECT_OK(zeContextDestroy(other));
}

int strictMode(int, const std::vector<std::string>&) {
    setenv("VZE_STRICT_OVERLAP", "1", 1);
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    Mapping memory = Mapping::anonymous(8 * kPage);
    std::memset(memory.get(), 1, memory.size());
    void* pointer = nullptr;
    if (importMemory(context, memory.bytes() + 2 * kPage, 4 * kPage, &pointer) != ZE_RESULT_SUCCESS)
        return 3;
    const uint64_t pinned = pinnedBytes();
    for (const Overlap& second : kOverlaps) {
        if (importMemory(context, memory.bytes() + second.first * kPage, second.count * kPage,
                         &pointer) != ZE_RESULT_ERROR_INVALID_ARGUMENT) {
            std::fprintf(stderr, "strict mode accepted %s\n", second.name);
            return 4;
        }
        if (pinnedBytes() != pinned)
            return 5;
    }
    // Ranges that only touch do not overlap.
    if (importMemory(context, memory.bytes(), 2 * kPage, &pointer) != ZE_RESULT_SUCCESS ||
        importMemory(context, memory.bytes() + 6 * kPage, 2 * kPage, &pointer) != ZE_RESULT_SUCCESS)
        return 6;
    // Once it is released the range is free again.
    if (zeMemFree(context, memory.bytes() + 2 * kPage) != ZE_RESULT_SUCCESS ||
        importMemory(context, memory.bytes() + 3 * kPage, kPage, &pointer) != ZE_RESULT_SUCCESS)
        return 7;
    for (size_t first : {0, 3, 6}) {
        if (zeMemFree(context, memory.bytes() + first * kPage) != ZE_RESULT_SUCCESS)
            return 8;
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS && pinnedBytes() == 0 ? 0 : 9;
}

ChildRegistration strictModeChild("strict_overlap", strictMode);

TEST_F(SysmemOverlap, StrictModeRefusesTheSecond) {
    Child child("strict_overlap");
    EXPECT_EQ(0, child.wait());
}

} // namespace
