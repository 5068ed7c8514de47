// SPDX-License-Identifier: MIT
// zeVirtualMem*: reservations, mappings of physical objects, access attributes.
#include <cstring>

#include <csetjmp>
#include <csignal>

#include "fixture.h"
#include "physical.h"
#include "statistics.h"

using namespace vze::test;

namespace {

class VirtualMemory : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        ASSERT_OK(zeVirtualMemQueryPageSize(context_, device_, kMiB, &page_));
        ASSERT_GE(page_, kPage);
    }

    void expectDeviceFaults(void* pointer, bool write) {
        ImmediateList other(context_, device_);
        Buffer host = Buffer::host(context_, kPage);
        EXPECT_OK(write ? other.fillAsync(pointer, 1, 8) : other.copyAsync(host.get(), pointer, 8));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, other.wait());
    }

    ze_memory_access_attribute_t accessOf(const void* pointer, size_t size, size_t* same) {
        ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_FORCE_UINT32;
        EXPECT_OK(zeVirtualMemGetAccessAttribute(context_, pointer, size, &access, same));
        return access;
    }

    size_t page_ = 0;
};

/* What is said is right: of a size that is rounded up to it, everything can be had. */
TEST_F(VirtualMemory, PageSizes) {
    size_t last = 0;
    for (size_t size : {size_t{1}, kPage, kPage + 1, 16 * kPage, 2 * kMiB - 1, 2 * kMiB,
                        2 * kMiB + 1, 5 * kMiB, size_t{1} << 30, size_t{1} << 32, SIZE_MAX}) {
        SCOPED_TRACE(size);
        size_t page = 0;
        ASSERT_OK(zeVirtualMemQueryPageSize(context_, device_, size, &page));
        EXPECT_GE(page, kPage);
        EXPECT_EQ(0u, page & (page - 1));
        EXPECT_LE(page, 2 * kMiB);
        EXPECT_GE(page, last);
        last = page;
        if (size > size_t{1} << 32)
            continue;
        const size_t rounded = (size + page - 1) & ~(page - 1);
        Reservation reservation(context_, rounded);
        ASSERT_NE(nullptr, reservation.get());
        EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(reservation.get()) % page);
        if (rounded > 8 * kMiB)
            continue;
        PhysicalMemory object(context_, device_, rounded);
        ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), rounded, object.get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        EXPECT_OK(list().fill(reservation.bytes() + rounded - 1, 0x17, 1));
    }
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemQueryPageSize(context_, device_, kPage, nullptr));
}

/* The header has UNSUPPORTED_SIZE for it; programs ask before they know a size. */
TEST_F(VirtualMemory, PageSizeOfNothing) {
    size_t page = 0;
    ASSERT_OK(zeVirtualMemQueryPageSize(context_, device_, 0, &page));
    EXPECT_EQ(kPage, page);
}

TEST_F(VirtualMemory, ReserveAndFree) {
    for (size_t size :
         {page_, 17 * page_, size_t{1} << 30, size_t{1} << 40, size_t{1} << 44, size_t{1} << 46}) {
        SCOPED_TRACE(size);
        Reservation reservation(context_, size);
        ASSERT_NE(nullptr, reservation.get());
        EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(reservation.get()) % page_);
        // Nobody else can get these addresses.
        void* other = mmap(reservation.get(), page_, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        EXPECT_EQ(MAP_FAILED, other);
        // It is as large as was asked for: neither more nor less of it can be freed or asked about.
        for (size_t wrong : {size + page_, size - page_, 2 * size}) {
            if (wrong != 0) {
                EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                          zeVirtualMemFree(context_, reservation.get(), wrong));
            }
        }
        ze_memory_access_attribute_t access{};
        size_t same = 0;
        EXPECT_OK(
            zeVirtualMemGetAccessAttribute(context_, reservation.get(), size, &access, &same));
        EXPECT_EQ(size, same);
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeVirtualMemGetAccessAttribute(context_, reservation.get(), size + page_, &access,
                                                 &same));
    }
}

/* Neighbours stay two: no call takes them for one. */
TEST_F(VirtualMemory, ReservationsSideBySide) {
    void* both = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 4 * page_, &both));
    EXPECT_OK(zeVirtualMemFree(context_, both, 4 * page_));
    auto* base = static_cast<uint8_t*>(both);
    void* left = nullptr;
    void* right = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, base, 2 * page_, &left));
    ASSERT_OK(zeVirtualMemReserve(context_, base + 2 * page_, 2 * page_, &right));
    if (left == base && right == base + 2 * page_) {
        PhysicalMemory object(context_, device_, 4 * page_);
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeVirtualMemMap(context_, base, 4 * page_, object.get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeVirtualMemUnmap(context_, base + page_, 2 * page_));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeVirtualMemFree(context_, base, 4 * page_));
    } else {
        ADD_FAILURE() << "no neighbouring reservations were to be had";
    }
    EXPECT_OK(zeVirtualMemFree(context_, left, 2 * page_));
    EXPECT_OK(zeVirtualMemFree(context_, right, 2 * page_));
}

TEST_F(VirtualMemory, ReserveAtAHint) {
    void* first = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 4 * kMiB, &first));
    // Taken: another place must be found.
    void* second = nullptr;
    EXPECT_OK(zeVirtualMemReserve(context_, first, 4 * kMiB, &second));
    EXPECT_NE(first, second);
    EXPECT_NE(nullptr, second);
    EXPECT_OK(zeVirtualMemFree(context_, first, 4 * kMiB));
    // Free again: the wish is granted.
    void* third = nullptr;
    EXPECT_OK(zeVirtualMemReserve(context_, first, 4 * kMiB, &third));
    EXPECT_EQ(first, third);
    EXPECT_OK(zeVirtualMemFree(context_, third, 4 * kMiB));
    EXPECT_OK(zeVirtualMemFree(context_, second, 4 * kMiB));
}

TEST_F(VirtualMemory, ReserveErrors) {
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zeVirtualMemReserve(context_, nullptr, 0, &pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zeVirtualMemReserve(context_, nullptr, kPage + 1, &pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemReserve(context_, nullptr, page_, nullptr));
    for (size_t size : {size_t{1} << 47, size_t{1} << 60, ~size_t{0} & ~(kPage - 1)})
        EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                  zeVirtualMemReserve(context_, nullptr, size, &pointer))
            << size;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
              zeVirtualMemReserve(context_, reinterpret_cast<void*>(kPage + 1), page_, &pointer));
}

TEST_F(VirtualMemory, FreeErrors) {
    Reservation reservation(context_, 4 * page_);
    int onStack = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeVirtualMemFree(context_, nullptr, page_));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, zeVirtualMemFree(context_, reservation.get(), 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
              zeVirtualMemFree(context_, reservation.bytes() + 1, page_));
    auto* unreserved =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(&onStack) & ~uintptr_t{page_ - 1});
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeVirtualMemFree(context_, unreserved, page_));
}

TEST_F(VirtualMemory, FreedTwice) {
    void* pointer = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, page_, &pointer));
    EXPECT_OK(zeVirtualMemFree(context_, pointer, page_));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeVirtualMemFree(context_, pointer, page_));
}

TEST_F(VirtualMemory, MapWriteReadUnmap) {
    PhysicalMemory object(context_, device_, 4 * page_);
    Reservation reservation(context_, 4 * page_);
    expectDeviceFaults(reservation.get(), false);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 4 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    writeByDevice(reservation.get(), 4 * page_, 31);
    std::vector<uint8_t> seen = readBack(reservation.get(), 4 * page_);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 31));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 4 * page_));
    expectDeviceFaults(reservation.get(), false);
    // The object keeps its bytes, wherever it is mapped.
    Reservation elsewhere(context_, 8 * page_);
    ASSERT_OK(zeVirtualMemMap(context_, elsewhere.bytes() + 3 * page_, 4 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    dropList();
    seen = readBack(elsewhere.bytes() + 3 * page_, 4 * page_);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 31));
    EXPECT_OK(zeVirtualMemUnmap(context_, elsewhere.bytes() + 3 * page_, 4 * page_));
}

TEST_F(VirtualMemory, SeveralObjectsAtOffsetsMakeOneBuffer) {
    // Shuffled objects, each mapped from another offset; every page carries its place.
    constexpr size_t kPieces = 8;
    Reservation reservation(context_, kPieces * 2 * page_);
    std::vector<std::unique_ptr<PhysicalMemory>> objects;
    for (size_t i = 0; i < kPieces; i++)
        objects.push_back(std::make_unique<PhysicalMemory>(context_, device_, 5 * page_));
    for (size_t i = 0; i < kPieces; i++) {
        const size_t object = (i * 5 + 3) % kPieces;
        ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + i * 2 * page_, 2 * page_,
                                  objects[object]->get(), (object % 4) * page_,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    }
    const size_t total = kPieces * 2 * page_;
    writeByDevice(reservation.get(), total, 8);
    std::vector<uint8_t> seen = readBack(reservation.get(), total);
    EXPECT_EQ(-1, firstMismatch(seen.data(), total, 8));
    // Copies across each seam, at odd addresses.
    Buffer device = Buffer::device(context_, device_, total);
    for (size_t i = 1; i < kPieces; i++) {
        const size_t at = i * 2 * page_ - 13;
        EXPECT_OK(list().copy(device.bytes() + 5, reservation.bytes() + at, 31));
        seen = readBack(device.bytes() + 5, 31);
        EXPECT_EQ(-1, firstMismatch(seen.data(), 31, 8, at));
    }
    // Each object has exactly its piece, at its offset.
    Reservation single(context_, 5 * page_);
    for (size_t i = 0; i < kPieces; i++) {
        const size_t object = (i * 5 + 3) % kPieces;
        ASSERT_OK(zeVirtualMemMap(context_, single.get(), 5 * page_, objects[object]->get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
        seen = readBack(single.get(), 5 * page_);
        const size_t offset = (object % 4) * page_;
        EXPECT_EQ(-1, firstMismatch(seen.data() + offset, 2 * page_, 8, i * 2 * page_));
        EXPECT_EQ(-1, firstDifferent(seen.data(), offset, 0));
        EXPECT_EQ(-1, firstDifferent(seen.data() + offset + 2 * page_, 3 * page_ - offset, 0));
        EXPECT_OK(zeVirtualMemUnmap(context_, single.get(), 5 * page_));
    }
    // All maps are undone by one unmap, and then the reservation can go.
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), total));
    expectDeviceFaults(reservation.bytes() + total / 2, false);
}

TEST_F(VirtualMemory, OneObjectMappedTwiceIsOneMemory) {
    PhysicalMemory object(context_, device_, 2 * page_);
    Reservation reservation(context_, 4 * page_);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 2 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 2 * page_, 2 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    writeByDevice(reservation.bytes() + 77, page_, 2);
    std::vector<uint8_t> seen = readBack(reservation.bytes() + 2 * page_ + 77, page_);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 2));
    expectDeviceFaults(reservation.bytes() + 2 * page_, true);
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 4 * page_));
}

TEST_F(VirtualMemory, AccessAttributes) {
    PhysicalMemory object(context_, device_, 4 * page_);
    Reservation reservation(context_, 8 * page_);
    size_t same = 0;
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, accessOf(reservation.get(), 8 * page_, &same));
    EXPECT_EQ(8 * page_, same);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 4 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE, accessOf(reservation.get(), 8 * page_, &same));
    EXPECT_EQ(4 * page_, same);
    EXPECT_OK(list().fill(reservation.get(), 0x21, 4 * page_));

    // The middle becomes read-only, without a gap for its neighbours.
    EXPECT_OK(zeVirtualMemSetAccessAttribute(context_, reservation.bytes() + page_, 2 * page_,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE, accessOf(reservation.get(), 4 * page_, &same));
    EXPECT_EQ(page_, same);
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY,
              accessOf(reservation.bytes() + page_, 3 * page_, &same));
    EXPECT_EQ(2 * page_, same);
    EXPECT_OK(list().fill(reservation.get(), 0x22, page_));
    EXPECT_OK(list().fill(reservation.bytes() + 3 * page_, 0x22, page_));
    EXPECT_EQ(0x21, readBack(reservation.bytes() + page_, 1)[0]);
    expectDeviceFaults(reservation.bytes() + page_, true);
    expectDeviceFaults(reservation.bytes() + 3 * page_ - 8, true);

    EXPECT_OK(zeVirtualMemSetAccessAttribute(context_, reservation.get(), 4 * page_,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_NONE));
    expectDeviceFaults(reservation.get(), false);
    EXPECT_OK(zeVirtualMemSetAccessAttribute(context_, reservation.get(), 4 * page_,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_OK(list().fill(reservation.get(), 0x23, 4 * page_));
    EXPECT_EQ(0x23, readBack(reservation.bytes() + 4 * page_ - 1, 1)[0]);

    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 4 * page_));
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, accessOf(reservation.get(), 8 * page_, &same));
}

TEST_F(VirtualMemory, AccessErrors) {
    PhysicalMemory object(context_, device_, page_);
    Reservation reservation(context_, 2 * page_);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    const auto readWrite = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemSetAccessAttribute(context_, nullptr, page_, readWrite));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zeVirtualMemSetAccessAttribute(context_, reservation.get(), 0, readWrite));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zeVirtualMemSetAccessAttribute(context_, reservation.get(), 100, readWrite));
    EXPECT_ZE(
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
        zeVirtualMemSetAccessAttribute(context_, reservation.bytes() + 100, page_, readWrite));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeVirtualMemSetAccessAttribute(context_, reservation.get(), page_,
                                             static_cast<ze_memory_access_attribute_t>(3)));
    ze_memory_access_attribute_t access{};
    size_t same = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemGetAccessAttribute(context_, nullptr, page_, &access, &same));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemGetAccessAttribute(context_, reservation.get(), page_, nullptr, &same));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeVirtualMemGetAccessAttribute(context_, reservation.get(), page_, &access, nullptr));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), page_));
}

TEST_F(VirtualMemory, MapErrors) {
    PhysicalMemory object(context_, device_, 2 * page_);
    Reservation reservation(context_, 4 * page_);
    const auto readWrite = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    auto map = [&](void* at, size_t size, size_t offset,
                   ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) {
        return zeVirtualMemMap(context_, at, size, object.get(), offset, access);
    };
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, map(nullptr, page_, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, map(reservation.get(), 0, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, map(reservation.get(), page_ + 1, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, map(reservation.bytes() + 1, page_, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, map(reservation.get(), page_, 1));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              map(reservation.get(), page_, 0, static_cast<ze_memory_access_attribute_t>(3)));
    // Beyond the object.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, map(reservation.get(), 3 * page_, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, map(reservation.get(), 2 * page_, page_));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              map(reservation.get(), page_, ~size_t{0} & ~(page_ - 1)));
    // Beyond the reservation, and without one.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, map(reservation.bytes() + 3 * page_, 2 * page_, 0));
    Mapping memory = Mapping::anonymous(2 * kMiB);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, map(memory.get(), page_, 0));
    Buffer device = Buffer::device(context_, device_, 2 * kMiB, 2 * kMiB);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, map(device.get(), page_, 0));
    // After all that a good one works.
    EXPECT_OK(map(reservation.get(), 2 * page_, 0, readWrite));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 2 * page_));
}

TEST_F(VirtualMemory, UnmapErrors) {
    Reservation reservation(context_, 2 * page_);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeVirtualMemUnmap(context_, nullptr, page_));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, zeVirtualMemUnmap(context_, reservation.get(), 0));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zeVirtualMemUnmap(context_, reservation.get(), page_ + 1));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
              zeVirtualMemUnmap(context_, reservation.bytes() + 1, page_));
    Mapping memory = Mapping::anonymous(2 * kMiB);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeVirtualMemUnmap(context_, memory.get(), page_));
}

TEST_F(VirtualMemory, UnmapOfAPart) {
    PhysicalMemory object(context_, device_, 4 * page_);
    Reservation reservation(context_, 4 * page_);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 4 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_OK(list().fill(reservation.get(), 0x31, 4 * page_));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + page_, 2 * page_));
    EXPECT_EQ(0x31, readBack(reservation.bytes() + page_ - 1, 1)[0]);
    EXPECT_EQ(0x31, readBack(reservation.bytes() + 3 * page_, 1)[0]);
    expectDeviceFaults(reservation.bytes() + page_, false);
    expectDeviceFaults(reservation.bytes() + 3 * page_ - 8, false);
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 4 * page_));
}

TEST_F(VirtualMemory, UnmapOfAHoleHasNoEffect) {
    PhysicalMemory object(context_, device_, page_);
    Reservation reservation(context_, 3 * page_);
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 3 * page_));
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + page_, page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_OK(list().fill(reservation.bytes() + page_, 0x32, page_));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), page_));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + 2 * page_, page_));
    EXPECT_EQ(0x32, readBack(reservation.bytes() + page_, 1)[0]);
    EXPECT_EQ(0x32, readBack(reservation.bytes() + 2 * page_ - 1, 1)[0]);
    for (int times = 0; times < 2; times++)
        EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + page_, page_));
    expectDeviceFaults(reservation.bytes() + page_, false);
    // A range that no reservation holds is another matter.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeVirtualMemUnmap(context_, reservation.bytes() + 2 * page_, 2 * page_));
}

TEST_F(VirtualMemory, FreeingAReservationUnmapsIt) {
    PhysicalMemory object(context_, device_, 2 * page_);
    void* pointer = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 4 * page_, &pointer));
    ASSERT_OK(zeVirtualMemMap(context_, pointer, 2 * page_, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    const auto before = contextStatistics(context_, device_);
    EXPECT_OK(zeVirtualMemFree(context_, pointer, 4 * page_));
    EXPECT_EQ(before.mappings - 1, contextStatistics(context_, device_).mappings);
}

} // namespace
