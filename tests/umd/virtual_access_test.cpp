// SPDX-License-Identifier: MIT
// Access attributes and unmaps over the pieces of a reservation (case 38): what is said of each
// piece, what a call on a part does, and that a change never leaves a gap for work that runs.
#include <atomic>
#include <thread>

#include "fixture.h"
#include "physical.h"
#include "statistics.h"

using namespace vze::test;

namespace {

constexpr auto kNone = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
constexpr auto kReadOnly = ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY;
constexpr auto kReadWrite = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
constexpr size_t kLarge = 2 * kMiB;

class VirtualAccess : public GpuTest {
protected:
    ze_result_t map(const PhysicalMemory& object, void* at, size_t size, size_t offset = 0,
                    ze_memory_access_attribute_t access = kReadWrite) {
        return zeVirtualMemMap(context_, at, size, object.get(), offset, access);
    }
    ze_result_t set(const void* at, size_t size, ze_memory_access_attribute_t access) {
        return zeVirtualMemSetAccessAttribute(context_, at, size, access);
    }
    void expectAccess(ze_memory_access_attribute_t access, size_t sameFor, const void* at,
                      size_t size) {
        ze_memory_access_attribute_t seen = ZE_MEMORY_ACCESS_ATTRIBUTE_FORCE_UINT32;
        size_t same = 0;
        EXPECT_OK(zeVirtualMemGetAccessAttribute(context_, at, size, &seen, &same));
        EXPECT_EQ(access, seen);
        EXPECT_EQ(sameFor, same);
    }
    void expectWriteFaults(void* at) {
        ImmediateList other(context_, device_);
        EXPECT_OK(other.fillAsync(at, 1, 8));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, other.wait());
    }
};

TEST_F(VirtualAccess, OfEachPiece) {
    PhysicalMemory first(context_, device_, 4 * kPage), second(context_, device_, 4 * kPage);
    Reservation reservation(context_, 16 * kPage);
    uint8_t* at = reservation.bytes();
    ASSERT_OK(map(first, at, 2 * kPage, kPage));
    ASSERT_OK(map(second, at + 2 * kPage, 4 * kPage, 0, kReadOnly));
    ASSERT_OK(map(first, at + 6 * kPage, kPage, 0, kReadOnly));
    ASSERT_OK(map(first, at + 8 * kPage, kPage, 3 * kPage));

    // Neighbours of equal access are one answer, whatever is behind them; holes are not accessible.
    expectAccess(kReadWrite, 2 * kPage, at, 16 * kPage);
    expectAccess(kReadOnly, 5 * kPage, at + 2 * kPage, 14 * kPage);
    expectAccess(kReadOnly, 2 * kPage, at + 5 * kPage, 11 * kPage);
    expectAccess(kNone, kPage, at + 7 * kPage, 9 * kPage);
    expectAccess(kReadWrite, kPage, at + 8 * kPage, 8 * kPage);
    expectAccess(kNone, 7 * kPage, at + 9 * kPage, 7 * kPage);
    // Never more than was asked about.
    expectAccess(kReadOnly, kPage, at + 3 * kPage, kPage);

    // One call over the ends of several pieces changes exactly its range.
    EXPECT_OK(set(at + kPage, 3 * kPage, kNone));
    expectAccess(kReadWrite, kPage, at, 16 * kPage);
    expectAccess(kNone, 3 * kPage, at + kPage, 15 * kPage);
    expectAccess(kReadOnly, 3 * kPage, at + 4 * kPage, 12 * kPage);
    EXPECT_OK(list().fill(at, 0x41, kPage));
    expectWriteFaults(at + kPage);
    expectWriteFaults(at + 4 * kPage);

    // With a hole in the range nothing changes.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, set(at, 9 * kPage, kReadWrite));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, set(at + 7 * kPage, 2 * kPage, kReadOnly));
    expectAccess(kReadWrite, kPage, at, 16 * kPage);
    expectAccess(kNone, 3 * kPage, at + kPage, 15 * kPage);
    expectAccess(kReadWrite, kPage, at + 8 * kPage, 8 * kPage);
    // Nor is a piece two of them afterwards.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, set(at + 5 * kPage, 3 * kPage, kReadWrite));
    void* base = nullptr;
    size_t length = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, at + 4 * kPage, &base, &length));
    EXPECT_EQ(at + 4 * kPage, base);
    EXPECT_EQ(2 * kPage, length);

    EXPECT_OK(set(at, 7 * kPage, kReadWrite));
    expectAccess(kReadWrite, 7 * kPage, at, 16 * kPage);
    EXPECT_OK(list().fill(at, 0x42, 7 * kPage));
    EXPECT_EQ(0x42, readBack(at + 7 * kPage - 1, 1)[0]);
    EXPECT_OK(zeVirtualMemUnmap(context_, at, 16 * kPage));
}

TEST_F(VirtualAccess, UnmapOverSeveralPieces) {
    PhysicalMemory object(context_, device_, 4 * kPage);
    Reservation reservation(context_, 16 * kPage);
    uint8_t* at = reservation.bytes();
    list(); // has mappings of its own
    const auto before = contextStatistics(context_, device_);

    // A range without any mapping stays one.
    EXPECT_OK(zeVirtualMemUnmap(context_, at, 16 * kPage));
    for (size_t i = 0; i < 4; i++)
        ASSERT_OK(map(object, at + 4 * i * kPage, 2 * kPage, i % 2 * 2 * kPage));
    EXPECT_OK(list().fill(at + 12 * kPage, 0x51, 2 * kPage));
    EXPECT_OK(zeVirtualMemUnmap(context_, at + 2 * kPage, 2 * kPage));
    expectAccess(kReadWrite, 2 * kPage, at, 16 * kPage);
    // From the middle of one piece to the middle of another, across holes.
    EXPECT_OK(zeVirtualMemUnmap(context_, at + kPage, 12 * kPage));
    expectAccess(kReadWrite, kPage, at, 16 * kPage);
    expectAccess(kNone, 12 * kPage, at + kPage, 15 * kPage);
    expectAccess(kReadWrite, kPage, at + 13 * kPage, 3 * kPage);
    EXPECT_EQ(0x51, readBack(at + 13 * kPage, 1)[0]);
    expectWriteFaults(at + kPage);
    expectWriteFaults(at + 12 * kPage);
    // The room can be mapped again at once.
    EXPECT_OK(map(object, at + kPage, 4 * kPage));
    EXPECT_OK(list().fill(at, 0x52, 5 * kPage));
    EXPECT_OK(zeVirtualMemUnmap(context_, at, 16 * kPage));
    EXPECT_EQ(before.mappings, contextStatistics(context_, device_).mappings);
}

TEST_F(VirtualAccess, ThousandsOfPieces) {
    constexpr size_t kPieces = 3000;
    PhysicalMemory object(context_, device_, 2 * kPage);
    Reservation reservation(context_, kPieces * kPage);
    for (size_t i = 0; i < kPieces; i++)
        ASSERT_OK(map(object, reservation.bytes() + i * kPage, kPage, i % 2 * kPage,
                      i % 2 ? kReadWrite : kReadOnly));
    expectAccess(kReadOnly, kPage, reservation.get(), kPieces * kPage);
    EXPECT_OK(set(reservation.get(), kPieces * kPage, kReadWrite));
    expectAccess(kReadWrite, kPieces * kPage, reservation.get(), kPieces * kPage);
    EXPECT_OK(list().fill(reservation.get(), 0x61, kPieces * kPage));
    EXPECT_OK(set(reservation.get(), kPieces * kPage, kReadOnly));
    expectWriteFaults(reservation.bytes() + (kPieces - 1) * kPage);
    EXPECT_EQ(0x61, readBack(reservation.bytes() + (kPieces / 2) * kPage, 1)[0]);
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), kPieces * kPage));
}

/* What may read or write all the time, while others change what they are not hindered by. */
TEST_F(VirtualAccess, ChangesLeaveNoGapForRunningWork) {
    constexpr size_t kSize = 2 * kLarge;
    PhysicalMemory object(context_, device_, kSize);
    Reservation reservation(context_, kSize);
    uint8_t* at = reservation.bytes();
    ASSERT_OK(map(object, at, kSize));
    writeByDevice(at, kSize, 71);
    Buffer sink = Buffer::device(context_, device_, kSize);

    std::atomic<bool> stop = false;
    unsigned rounds = 0;
    std::thread worker([&] {
        ImmediateList reads(context_, device_), writes(context_, device_);
        // At least some of it is behind the last change.
        for (bool last = false; !last; rounds++) {
            last = stop;
            EXPECT_OK(reads.copyAsync(sink.get(), at, kSize));
            EXPECT_OK(writes.fillAsync(at + kLarge + 64 * kPage, 0x72, 16 * kPage));
            EXPECT_OK(reads.wait());
            EXPECT_OK(writes.wait());
            if (HasFailure())
                break;
        }
    });
    for (size_t i = 0; i < 300 && !HasFailure(); i++) {
        // The first large leaf is split, and made whole again; its neighbour changes in one page.
        EXPECT_OK(set(at + i % 512 * kPage, kPage, kReadOnly));
        EXPECT_OK(set(at, kLarge, i % 2 ? kReadOnly : kReadWrite));
        EXPECT_OK(set(at + kLarge + 63 * kPage, kPage, i % 2 ? kReadWrite : kReadOnly));
        EXPECT_OK(set(at + kLarge, kLarge, kReadWrite));
    }
    stop = true;
    worker.join();
    EXPECT_GT(rounds, 1u);

    std::vector<uint8_t> seen = readBack(sink.get(), kSize);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kLarge + 64 * kPage, 71));
    EXPECT_EQ(-1, firstDifferent(seen.data() + kLarge + 64 * kPage, 16 * kPage, 0x72));
    EXPECT_OK(zeVirtualMemUnmap(context_, at, kSize));
}

/* Host memory has one address for the CPU and the device, in whatever order and form it is mapped.
 */
TEST_F(VirtualAccess, HostObjectsAtSeveralAddresses) {
    PhysicalMemory object(context_, deviceOfHostObjects(), 4 * kPage,
                          ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    Reservation reservation(context_, 16 * kPage);
    uint8_t* at = reservation.bytes();
    ASSERT_OK(map(object, at + kPage, 4 * kPage));
    ASSERT_OK(map(object, at + 8 * kPage, 2 * kPage, 2 * kPage, kReadOnly));
    writePattern(at + kPage, 4 * kPage, 81);
    EXPECT_EQ(-1, firstMismatch(at + 8 * kPage, 2 * kPage, 81, 2 * kPage));
    std::vector<uint8_t> seen = readBack(at + 8 * kPage, 2 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 81, 2 * kPage));
    EXPECT_OK(list().fill(at + 3 * kPage, 0x82, kPage));
    EXPECT_EQ(-1, firstDifferent(at + 8 * kPage, kPage, 0x82));
    // One view goes, the other stays; then the memory comes back elsewhere with its bytes.
    EXPECT_OK(zeVirtualMemUnmap(context_, at + kPage, 4 * kPage));
    EXPECT_EQ(-1, firstDifferent(at + 8 * kPage, kPage, 0x82));
    ASSERT_OK(map(object, at + 12 * kPage, kPage, 2 * kPage));
    EXPECT_EQ(-1, firstDifferent(at + 12 * kPage, kPage, 0x82));
    at[12 * kPage] = 0x83;
    EXPECT_EQ(0x83, at[8 * kPage]);
    EXPECT_OK(zeVirtualMemUnmap(context_, at, 16 * kPage));
}

} // namespace
