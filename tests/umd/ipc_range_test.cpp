// SPDX-License-Identifier: MIT
// Handles of ranges of physical objects: each row of their table of results, through the loader.
#include <cstring>
#include <fstream>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "physical.h"
#include "seams.h"

using namespace vze::test;

namespace {

class IpcRange : public GpuTest {
protected:
    std::unique_ptr<Seams> seams(const std::vector<bool>& host, size_t pages = 8) {
        return std::make_unique<Seams>(context_, device_, list(), host, pages);
    }

    ze_ipc_mem_handle_t rangeOf(const void* pointer, size_t size) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(getRange(context_, pointer, size, &handle));
        return handle;
    }

    void expectRefused(ze_result_t expected, const void* pointer, size_t size) {
        ze_ipc_mem_handle_t handle;
        std::memset(&handle, 0x77, sizeof handle);
        const ze_ipc_mem_handle_t before = handle;
        EXPECT_ZE(expected, getRange(context_, pointer, size, &handle));
        EXPECT_EQ(0, std::memcmp(&before, &handle, sizeof handle)) << "an error left something";
    }

    /* Pages of what is open carry the signatures from `first` on: by device, page for page. */
    void expectSignatures(const void* opened, size_t pages, uint64_t first) {
        std::vector<uint8_t> seen = readBack(opened, pages * kPage);
        for (size_t page = 0; page < pages; page++) {
            uint64_t word;
            std::memcpy(&word, seen.data() + page * kPage, sizeof word);
            ASSERT_EQ(pageSignature(first + page), word) << "page " << page;
        }
    }
};

const std::vector<bool> kOnDevice(8, false);
const std::vector<bool> kOnHost(8, true);
const std::vector<bool> kMixed = {false, true, true, false, true, false, false, true};

TEST_F(IpcRange, BadArguments) {
    auto range = seams(kOnDevice);
    expectRefused(ZE_RESULT_ERROR_INVALID_SIZE, range->bytes(), 0);
    expectRefused(ZE_RESULT_ERROR_INVALID_NULL_POINTER, nullptr, kPage);
    auto desc = rangeDesc(kPage);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &desc, nullptr));
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zeMemGetIpcHandleWithProperties(nullptr, range->bytes(), &desc, &handle));
}

TEST_F(IpcRange, WhatIsNotMappedIsNotFound) {
    PhysicalMemory object(context_, device_, 4 * kPage);
    Reservation reservation(context_, 16 * kPage);
    // pages 2..5 and 8..9 are mapped
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 2 * kPage, 4 * kPage, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 8 * kPage, 2 * kPage, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    const struct {
        size_t first, size;
    } holes[] = {
        {0, kPage},             // all of it a hole
        {1 * kPage, 2 * kPage}, // begins in one
        {2 * kPage, 4 * kPage + 1},
        {4 * kPage, 5 * kPage}, // has one in the middle
        {8 * kPage, 3 * kPage}, // ends in one
        {8 * kPage, 20 * kPage} // goes beyond the reservation
    };
    for (const auto& hole : holes) {
        SCOPED_TRACE(std::to_string(hole.first / kPage) + " + " + std::to_string(hole.size));
        expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reservation.bytes() + hole.first,
                      hole.size);
    }
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reservation.bytes() + 2 * kPage, SIZE_MAX);
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reservation.bytes() + 2 * kPage,
                  size_t{1} << 47);
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reinterpret_cast<void*>(~uintptr_t{4095}),
                  kPage);
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reinterpret_cast<void*>(kPage), kPage);
    int onStack = 0;
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, &onStack, sizeof onStack);
    // What is whole works.
    ze_ipc_mem_handle_t handle = rangeOf(reservation.bytes() + 2 * kPage, 4 * kPage);
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + 2 * kPage, kPage));
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reservation.bytes() + 2 * kPage, 4 * kPage);
    handle = rangeOf(reservation.bytes() + 3 * kPage, 3 * kPage);
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

TEST_F(IpcRange, AllocationsAndImportsAreNoPhysicalObjects) {
    Buffer onDevice = Buffer::device(context_, device_, 2 * kPage);
    Buffer onHost = Buffer::host(context_, 2 * kPage);
    Buffer shared = Buffer::shared(context_, device_, 2 * kPage);
    Mapping memory = Mapping::anonymous(2 * kPage);
    Buffer import = Buffer::import(context_, memory.get(), 2 * kPage);
    for (const Buffer* buffer : {&onDevice, &onHost, &shared, &import}) {
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, buffer->get(), 2 * kPage);
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, buffer->bytes() + kPage, 1);
        // Such memory that was opened is still no physical object.
        if (buffer == &import)
            continue;
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandle(context_, buffer->get(), &handle));
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, opened.get(), 2 * kPage);
    }
}

/* A mapped part, then at its end an allocation: whatever comes first is the reason. */
TEST_F(IpcRange, RangeThatEndsInAnAllocation) {
    Buffer buffer = Buffer::host(context_, 4 * kPage);
    PhysicalMemory object(context_, device_, kPage);
    void* before = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, buffer.bytes() - kPage, kPage, &before));
    if (before != buffer.bytes() - kPage) {
        EXPECT_OK(zeVirtualMemFree(context_, before, kPage));
        GTEST_SKIP() << "the address before the allocation was taken";
    }
    ASSERT_OK(zeVirtualMemMap(context_, before, kPage, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, before, 2 * kPage);
    EXPECT_OK(zeVirtualMemFree(context_, before, kPage));
}

/* Case 34: a middle part that starts and ends inside objects, in another process, through device
 * copies across each seam. */
TEST_F(IpcRange, EveryPageCarriesItsSignature) {
    for (const auto& kinds : {kOnDevice, kOnHost, kMixed}) {
        SCOPED_TRACE(&kinds == &kMixed ? "mixed" : "");
        auto range = seams(kinds);
        const size_t first = 2, pages = range->size() / kPage - 5;
        const ze_ipc_mem_handle_t handle = rangeOf(range->bytes() + first * kPage, pages * kPage);
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        size_t size = 0;
        void* base = nullptr;
        EXPECT_OK(zeMemGetAddressRange(context_, opened.bytes() + pages * kPage - 1, &base, &size));
        EXPECT_EQ(opened.get(), base);
        EXPECT_EQ(pages * kPage, size);
        expectSignatures(opened.get(), pages, first);
        // A page is read and written across each seam.
        Buffer page = Buffer::host(context_, kPage);
        for (size_t at = 1; at < pages; at++) {
            uint8_t* across = opened.bytes() + at * kPage - kPage / 2;
            ASSERT_OK(list().copy(page.get(), across, kPage));
            uint64_t word;
            std::memcpy(&word, page.bytes() + kPage / 2, sizeof word);
            ASSERT_EQ(pageSignature(first + at), word);
            writePattern(page.bytes(), kPage / 2, static_cast<uint32_t>(at));
            ASSERT_OK(list().copy(across, page.get(), kPage));
        }
        expectSignatures(opened.get(), pages, first);
        // The exporter sees what was written before each seam.
        std::vector<uint8_t> seen = readBack(range->bytes(), range->size());
        for (size_t at = 1; at < pages; at++)
            EXPECT_EQ(-1, firstMismatch(seen.data() + (first + at) * kPage - kPage / 2, kPage / 2,
                                        static_cast<uint32_t>(at)));
        opened.close();
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    }
}

TEST_F(IpcRange, InAnotherProcess) {
    auto range = seams(kMixed, 16);
    std::vector<uint8_t> bytes(range->size());
    writePattern(bytes.data(), bytes.size(), 3);
    ASSERT_OK(list().copy(range->bytes(), bytes.data(), bytes.size()));
    const size_t first = 3 * kPage, size = range->size() - 8 * kPage;
    Peer peer;
    uint32_t slot = 0;
    uint64_t opened = 0;
    ASSERT_OK(peer.open(rangeOf(range->bytes() + first, size), &slot, &opened));
    EXPECT_EQ(size, opened);
    EXPECT_OK(peer.write(slot, 0, size, 4));
    bytes = readBack(range->bytes(), range->size());
    EXPECT_EQ(-1, firstMismatch(bytes.data(), first, 3));
    EXPECT_EQ(-1, firstMismatch(bytes.data() + first, size, 4));
    EXPECT_EQ(-1, firstMismatch(bytes.data() + first + size, bytes.size() - first - size, 3,
                                first + size));
    EXPECT_OK(peer.close(slot));
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcRange, SeveralReservationsSideBySide) {
    void* space = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 6 * kPage, &space));
    auto* base = static_cast<uint8_t*>(space);
    EXPECT_OK(zeVirtualMemFree(context_, space, 6 * kPage));
    PhysicalMemory object(context_, device_, 6 * kPage);
    std::vector<std::pair<void*, size_t>> reservations;
    for (size_t page = 0; page < 6; page += 2) {
        void* got = nullptr;
        ASSERT_OK(zeVirtualMemReserve(context_, base + page * kPage, 2 * kPage, &got));
        reservations.push_back({got, 2 * kPage});
        if (got != base + page * kPage)
            break;
        ASSERT_OK(zeVirtualMemMap(context_, got, 2 * kPage, object.get(), (4 - page) * kPage,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    }
    if (reservations.size() == 3 && reservations.back().first == base + 4 * kPage) {
        writeByDevice(base, 2 * kPage, 1);
        writeByDevice(base + 2 * kPage, 2 * kPage, 2);
        writeByDevice(base + 4 * kPage, 2 * kPage, 3);
        Opened opened(context_, device_, rangeOf(base + kPage, 4 * kPage));
        ASSERT_OK(opened.result());
        std::vector<uint8_t> seen = readBack(opened.get(), 4 * kPage);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 1, kPage));
        EXPECT_EQ(-1, firstMismatch(seen.data() + kPage, 2 * kPage, 2));
        EXPECT_EQ(-1, firstMismatch(seen.data() + 3 * kPage, kPage, 3));
    } else {
        ADD_FAILURE() << "no neighbouring reservations were to be had";
    }
    for (auto [pointer, size] : reservations)
        EXPECT_OK(zeVirtualMemFree(context_, pointer, size));
}

TEST_F(IpcRange, OneObjectTwice) {
    PhysicalMemory object(context_, deviceOfHostObjects(), 2 * kPage,
                          ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    Reservation reservation(context_, 6 * kPage);
    for (size_t page = 0; page < 6; page += 2)
        ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + page * kPage, 2 * kPage,
                                  object.get(), 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    Opened opened(context_, device_, rangeOf(reservation.bytes() + kPage, 4 * kPage));
    ASSERT_OK(opened.result());
    writePattern(reservation.bytes(), 2 * kPage, 9);
    // Pages 1, 0, 1, 0 of the object.
    for (size_t page = 0; page < 4; page++)
        EXPECT_EQ(-1, firstMismatch(opened.bytes() + page * kPage, kPage, 9, page % 2 ? 0 : kPage));
    opened.bytes()[3 * kPage] = 0xab; // the CPU writes through one, reads through the other
    EXPECT_EQ(0xab, opened.bytes()[kPage]);
}

TEST_F(IpcRange, NotAlignedToPages) {
    auto range = seams(kOnHost);
    writePattern(range->bytes(), range->size(), 21);
    const struct {
        size_t offset, size;
    } parts[] = {{0, 1},           {1, 1},           {kPage - 1, 2},    {kPage - 1, kPage + 2},
                 {100, 5 * kPage}, {3 * kPage, 100}, {kPage, kPage - 1}};
    for (const auto& part : parts) {
        SCOPED_TRACE(std::to_string(part.offset) + " + " + std::to_string(part.size));
        const ze_ipc_mem_handle_t handle = rangeOf(range->bytes() + part.offset, part.size);
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        EXPECT_EQ(part.offset % kPage, reinterpret_cast<uintptr_t>(opened.get()) % kPage);
        void* base = nullptr;
        size_t size = 0;
        EXPECT_OK(zeMemGetAddressRange(context_, opened.bytes() + part.size - 1, &base, &size));
        EXPECT_EQ(opened.get(), base);
        EXPECT_EQ(part.size, size);
        EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
                  zeMemGetAddressRange(context_, opened.bytes() + part.size, &base, &size));
        EXPECT_EQ(-1, firstMismatch(opened.get(), part.size, 21, part.offset));
        std::vector<uint8_t> seen = readBack(opened.get(), part.size);
        EXPECT_EQ(-1, firstMismatch(seen.data(), part.size, 21, part.offset));
        // Captured outward to whole pages: the neighbours on the edge pages are visible.
        const size_t before = part.offset % kPage;
        EXPECT_EQ(-1, firstMismatch(opened.bytes() - before, before, 21, part.offset - before));
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    }
}

TEST_F(IpcRange, SnapshotOfItsMoment) {
    PhysicalMemory first(context_, device_, 2 * kPage);
    PhysicalMemory second(context_, device_, 2 * kPage);
    PhysicalMemory third(context_, device_, 2 * kPage);
    Reservation reservation(context_, 6 * kPage);
    auto map = [&](size_t page, PhysicalMemory& object) {
        EXPECT_OK(zeVirtualMemMap(context_, reservation.bytes() + page * kPage, 2 * kPage,
                                  object.get(), 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    };
    auto unmap = [&](size_t page) {
        EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + page * kPage, 2 * kPage));
    };
    map(0, first);
    map(2, second);
    writeByDevice(reservation.bytes(), 4 * kPage, 30);
    const ze_ipc_mem_handle_t handle = rangeOf(reservation.bytes(), 4 * kPage);
    const uint64_t identity = identityOf(context_, handle);
    ze_ipc_mem_handle_t again = rangeOf(reservation.bytes(), 4 * kPage);
    EXPECT_EQ(0, std::memcmp(&handle, &again, sizeof handle)) << "nothing has changed";
    EXPECT_OK(zeMemPutIpcHandle(context_, again));
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());

    // Grown, replaced, unmapped: handle and view are of what was there.
    map(4, third);
    again = rangeOf(reservation.bytes(), 4 * kPage);
    EXPECT_EQ(identity, identityOf(context_, again)) << "the range itself has not changed";
    EXPECT_OK(zeMemPutIpcHandle(context_, again));
    const ze_ipc_mem_handle_t grown = rangeOf(reservation.bytes(), 6 * kPage);
    EXPECT_NE(identity, identityOf(context_, grown));
    unmap(2);
    map(2, third);
    writeByDevice(reservation.bytes() + 2 * kPage, 2 * kPage, 31);
    const ze_ipc_mem_handle_t changed = rangeOf(reservation.bytes(), 4 * kPage);
    EXPECT_NE(identity, identityOf(context_, changed));
    unmap(0);
    unmap(2);
    unmap(4);
    expectRefused(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, reservation.bytes(), 4 * kPage);
    std::vector<uint8_t> seen = readBack(opened.get(), 4 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 30));
    Opened late(context_, device_, handle);
    ASSERT_OK(late.result());
    seen = readBack(late.get(), 4 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 30));
    Opened other(context_, device_, changed);
    ASSERT_OK(other.result());
    seen = readBack(other.get(), 4 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), 2 * kPage, 30));
    EXPECT_EQ(-1, firstMismatch(seen.data() + 2 * kPage, 2 * kPage, 31));

    // The same memory at the same place again is a range that has not changed.
    map(0, first);
    map(2, second);
    again = rangeOf(reservation.bytes(), 4 * kPage);
    EXPECT_EQ(identity, identityOf(context_, again));
    for (const auto& each : {again, handle, grown, changed})
        EXPECT_OK(zeMemPutIpcHandle(context_, each));
    // Put for the last time: the next one is new.
    again = rangeOf(reservation.bytes(), 4 * kPage);
    EXPECT_NE(identity, identityOf(context_, again));
    EXPECT_OK(zeMemPutIpcHandle(context_, again));
}

TEST_F(IpcRange, BothDescriptorsAtAnyPlace) {
    auto range = seams(kOnDevice);
    ze_ipc_mem_handle_type_ext_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC;
    type.typeFlags = ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT;
    ze_ipc_mem_handle_t handle{};
    auto open = [&] {
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        expectSignatures(opened.get(), range->size() / kPage, 0);
        opened.close();
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    };
    auto last = rangeDesc(range->size());
    type.pNext = &last;
    ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, range->bytes(), &type, &handle));
    open();
    type.pNext = nullptr;
    auto first = rangeDesc(range->size(), &type);
    ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, range->bytes(), &first, &handle));
    open();
    // Both apply, also with their errors.
    type.typeFlags = ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &first, &handle));
    type.typeFlags = 1u << 9;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &first, &handle));
    type.typeFlags = 0;
    first.size = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &first, &handle));
    // Twice the same, and one that belongs to another call.
    auto twice = rangeDesc(range->size(), &last);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &twice, &handle));
    ze_memory_compression_hints_ext_desc_t hint{};
    hint.stype = ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC;
    last.pNext = &hint;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandleWithProperties(context_, range->bytes(), &last, &handle));
}

/* Without the range descriptor, an address in a mapped object names that object. */
TEST_F(IpcRange, WithoutTheDescriptorItIsOneObject) {
    auto range = seams(kOnHost);
    writePattern(range->bytes(), range->size(), 77);
    const size_t mapped = range->mappedPages() * kPage;
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, range->bytes() + mapped + kPage, nullptr,
                                              &handle));
    ze_ipc_mem_handle_t byHandle{};
    ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, range->object(range->order(1)).get(),
                                              nullptr, &byHandle));
    EXPECT_EQ(0, std::memcmp(&handle, &byHandle, sizeof handle));
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());
    size_t size = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, opened.get(), nullptr, &size));
    EXPECT_EQ(2 * mapped, size) << "the whole object, also what is not mapped of it";
    EXPECT_EQ(-1, firstMismatch(opened.bytes() + range->offset() * kPage, mapped, 77, mapped));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandleWithProperties(context_, range->bytes() + range->size(), nullptr,
                                              &handle));
}

/* As a user who may have objects in shares only as many as the module allows; root is exempt. */
int exportsBeyondTheLimit(int, const std::vector<std::string>&) {
    if (setresgid(12345, 12345, 12345) || setresuid(12345, 12345, 12345))
        return 1;
    if (!initDriver())
        return 2;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 3;
    {
        ze_device_handle_t device = devices().front();
        ImmediateList list(context, device);
        Seams range(context, device, list, std::vector<bool>(8, false));
        ze_ipc_mem_handle_t handle{};
        if (getRange(context, range.bytes(), range.size(), &handle) !=
            ZE_RESULT_ERROR_UNSUPPORTED_SIZE)
            return 4;
        // What is within the limit works, and works again when it was put back.
        for (int round = 0; round < 3; round++) {
            if (getRange(context, range.bytes(), range.size() / 2, &handle) != ZE_RESULT_SUCCESS)
                return 5;
            if (zeMemPutIpcHandle(context, handle) != ZE_RESULT_SUCCESS)
                return 6;
        }
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 7;
}

const ChildRegistration beyondTheLimit("exports-beyond-the-limit", exportsBeyondTheLimit);

TEST_F(IpcRange, MoreObjectsThanCanBeStored) {
    const char* const parameter = "/sys/module/vze/parameters/max_share_segments";
    std::string before;
    std::ifstream(parameter) >> before;
    ASSERT_FALSE(before.empty());
    std::ofstream(parameter) << 6 << std::flush;
    Child child("exports-beyond-the-limit");
    EXPECT_EQ(0, child.wait());
    std::ofstream(parameter) << before << std::flush;
}

TEST_F(IpcRange, EndsWithTheFirstObjectThatIsFreed) {
    ze_ipc_mem_handle_t handle{};
    const size_t descriptors = openDescriptors();
    {
        auto range = seams(kOnDevice);
        handle = rangeOf(range->bytes(), range->size());
        EXPECT_OK(zeVirtualMemUnmap(context_, range->bytes(), range->size()));
        EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, handle).result())
            << "unmapping frees nothing";
    }
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
    EXPECT_EQ(descriptors, openDescriptors()) << "what was never put has gone, too";
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

} // namespace
