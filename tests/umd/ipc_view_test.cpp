// SPDX-License-Identifier: MIT
// What is open is a full citizen (case 37): queries, access attributes, copies, the CPU, re-export;
// and ranges of many objects (cases 32, 36).
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "seams.h"

using namespace vze::test;

namespace {

class IpcView : public GpuTest {
protected:
    ze_memory_access_attribute_t accessOf(const void* pointer, size_t size, size_t* same) {
        ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_FORCE_UINT32;
        EXPECT_OK(zeVirtualMemGetAccessAttribute(context_, pointer, size, &access, same));
        return access;
    }

    ze_result_t deviceWrites(void* pointer) {
        ImmediateList other(context_, device_);
        return other.fill(pointer, 1, 8);
    }
    ze_result_t deviceReads(void* pointer) {
        ImmediateList other(context_, device_);
        Buffer host = Buffer::host(context_, kPage);
        return other.copy(host.get(), pointer, 8);
    }

    ze_ipc_mem_handle_t rangeOf(const void* pointer, size_t size) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(getRange(context_, pointer, size, &handle));
        return handle;
    }
    ze_ipc_mem_handle_t handleOf(const void* pointer) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &handle));
        return handle;
    }
};

TEST_F(IpcView, Queries) {
    Buffer onDevice = Buffer::device(context_, device_, 3 * kPage);
    Buffer onHost = Buffer::host(context_, 3 * kPage);
    Buffer shared = Buffer::shared(context_, device_, 3 * kPage);
    const struct {
        Buffer* buffer;
        ze_memory_type_t type;
    } kinds[] = {{&onDevice, ZE_MEMORY_TYPE_DEVICE},
                 {&onHost, ZE_MEMORY_TYPE_HOST},
                 {&shared, ZE_MEMORY_TYPE_HOST}};
    for (const auto& kind : kinds) {
        Opened opened(context_, device_, handleOf(kind.buffer->get()));
        ASSERT_OK(opened.result());
        const AllocInfo first = allocInfo(context_, opened.get());
        const AllocInfo last = allocInfo(context_, opened.bytes() + 3 * kPage - 1);
        EXPECT_EQ(kind.type, first.type);
        EXPECT_EQ(kPage, first.pageSize);
        EXPECT_EQ(device_, first.device);
        EXPECT_EQ(first.id, last.id);
        EXPECT_NE(first.id, allocInfo(context_, kind.buffer->get()).id);
        void* base = nullptr;
        size_t size = 0;
        EXPECT_OK(zeMemGetAddressRange(context_, opened.bytes() + 5000, &base, &size));
        EXPECT_EQ(opened.get(), base);
        EXPECT_EQ(3 * kPage, size);
        void* pointer = opened.get();
        opened.close();
        EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
                  zeMemGetAddressRange(context_, pointer, &base, &size));
        EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(context_, pointer).type);
    }
}

TEST_F(IpcView, AccessAttributes) {
    Seams range(context_, device_, list(), {false, true, false, true});
    Opened opened(context_, device_, rangeOf(range.bytes(), range.size()));
    ASSERT_OK(opened.result());
    size_t same = 0;
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE, accessOf(opened.get(), range.size(), &same));
    EXPECT_EQ(range.size(), same);
    // Pages 2..5, across a seam.
    uint8_t* middle = opened.bytes() + 2 * kPage;
    ASSERT_OK(zeVirtualMemSetAccessAttribute(context_, middle, 4 * kPage,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE, accessOf(opened.get(), range.size(), &same));
    EXPECT_EQ(2 * kPage, same);
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY,
              accessOf(middle, range.size() - 2 * kPage, &same));
    EXPECT_EQ(4 * kPage, same);
    EXPECT_OK(deviceReads(middle));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, deviceWrites(middle));
    EXPECT_OK(deviceWrites(middle - 8));
    EXPECT_OK(deviceWrites(middle + 4 * kPage));
    EXPECT_OK(deviceWrites(range.bytes() + 2 * kPage)) << "the exporter's own access is its own";
    ASSERT_OK(
        zeVirtualMemSetAccessAttribute(context_, middle, kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, deviceReads(middle));
    EXPECT_OK(deviceReads(middle + kPage));
    ASSERT_OK(zeVirtualMemSetAccessAttribute(context_, opened.get(), range.size(),
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE, accessOf(opened.get(), range.size(), &same));
    EXPECT_EQ(range.size(), same);
    EXPECT_OK(deviceWrites(middle));
    // Beyond it, and what cannot be.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeVirtualMemSetAccessAttribute(context_, middle, range.size(),
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeVirtualMemUnmap(context_, middle, kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeVirtualMemFree(context_, opened.get(), range.size()));
}

TEST_F(IpcView, MemoryForReadingStaysSo) {
    auto desc = hostDesc(nullptr, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    void* pointer = nullptr;
    ASSERT_OK(zeMemAllocHost(context_, &desc, 2 * kPage, 0, &pointer));
    Buffer buffer(context_, pointer);
    writePattern(buffer.get(), 2 * kPage, 11);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());
    EXPECT_EQ(-1, firstMismatch(opened.get(), 2 * kPage, 11));
    size_t same = 0;
    EXPECT_EQ(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY, accessOf(opened.get(), 2 * kPage, &same));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeVirtualMemSetAccessAttribute(context_, opened.get(), 2 * kPage,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, deviceWrites(opened.get()));
    // Neither handed on nor by its descriptor.
    Opened again(context_, device_, handleOf(opened.get()));
    ASSERT_OK(again.result());
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, deviceWrites(again.get()));
    ASSERT_NE(-1, descriptorIn(handle));
    Opened byDescriptor(context_, device_, handleOfDescriptor(descriptorIn(handle)));
    ASSERT_OK(byDescriptor.result());
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, deviceWrites(byDescriptor.get()));
    int fd = -7;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, exportDescriptor(context_, buffer.get(), fd))
        << "who has a dma-buf may write";
    EXPECT_EQ(-7, fd);
    Peer peer;
    uint32_t slot = 0;
    ASSERT_OK(peer.open(handle, &slot));
    EXPECT_EQ(-1, peer.cpuMismatch(slot, 0, 2 * kPage, 11));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, peer.touch(slot, 0));
    EXPECT_EQ(-1, firstMismatch(buffer.get(), 2 * kPage, 11)) << "no byte was written";
}

TEST_F(IpcView, ReExportOfAllocations) {
    for (const PeerMemory kind : {PeerMemory::Device, PeerMemory::Host, PeerMemory::Shared}) {
        Peer owner;
        uint32_t owned = 0;
        ASSERT_OK(owner.allocate(kind, 5 * kPage, 1, &owned));
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(owner.get(owned, &handle));
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        const ze_ipc_mem_handle_t second = handleOf(opened.get());
        EXPECT_NE(identityOf(context_, handle), identityOf(context_, second));
        Peer third;
        uint32_t slot = 0;
        uint64_t size = 0;
        ASSERT_OK(third.open(second, &slot, &size));
        EXPECT_EQ(5 * kPage, size);
        EXPECT_EQ(-1, third.mismatch(slot, 0, 5 * kPage, 1));
        if (kind != PeerMemory::Device) {
            EXPECT_EQ(-1, third.cpuMismatch(slot, 0, 5 * kPage, 1));
        }
        EXPECT_OK(third.write(slot, 0, 5 * kPage, 2));
        EXPECT_EQ(-1, owner.mismatch(owned, 0, 5 * kPage, 2));
        // The middle one goes: its handle with it, not what is open.
        opened.close();
        EXPECT_OK(third.close(slot));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, third.open(second, &slot));
        EXPECT_OK(owner.free(owned));
        EXPECT_EQ(0, third.finish());
        EXPECT_EQ(0, owner.finish());
    }
}

TEST_F(IpcView, ReExportOfRanges) {
    Seams range(context_, device_, list(), {true, true, true, true});
    writePattern(range.bytes(), range.size(), 5);
    const size_t offset = kPage + 100, size = range.size() - 2 * kPage;
    Opened opened(context_, device_, rangeOf(range.bytes() + offset, size));
    ASSERT_OK(opened.result());
    // All of it, with its offset in the page; and a part of it, again as a range.
    Peer peer;
    uint32_t whole = 0, part = 0;
    uint64_t seen = 0;
    ASSERT_OK(peer.open(handleOf(opened.get()), &whole, &seen));
    EXPECT_EQ(size, seen);
    ASSERT_OK(peer.open(rangeOf(opened.bytes() + 3 * kPage, 4 * kPage + 1), &part, &seen));
    EXPECT_EQ(4 * kPage + 1, seen);
    std::vector<uint8_t> bytes(4 * kPage + 1);
    writePattern(bytes.data(), bytes.size(), 6);
    ASSERT_OK(list().copy(opened.bytes() + 3 * kPage, bytes.data(), bytes.size()));
    EXPECT_EQ(-1, peer.mismatch(part, 0, 4 * kPage + 1, 6));
    EXPECT_EQ(-1, peer.cpuMismatch(part, 0, 4 * kPage + 1, 6));
    EXPECT_EQ(-1, peer.mismatch(whole, 3 * kPage, 4 * kPage + 1, 6));
    EXPECT_EQ(-1, firstMismatch(range.bytes() + offset + 3 * kPage, 4 * kPage + 1, 6));
    // A range may join mapped objects and opened ones: here there is a hole between them.
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
              getRange(context_, opened.get(), range.size() + 64 * kMiB, &handle));
    EXPECT_EQ(0, peer.finish());
}

/* Copies between what is open, allocations and application memory, all ways. */
TEST_F(IpcView, Copies) {
    Seams range(context_, device_, list(), {false, true, false, true});
    Opened opened(context_, device_, rangeOf(range.bytes(), range.size()));
    ASSERT_OK(opened.result());
    Buffer host = Buffer::host(context_, range.size());
    Buffer vram = Buffer::device(context_, device_, range.size());
    std::vector<uint8_t> heap(range.size());
    writePattern(heap.data(), heap.size(), 60);
    ASSERT_OK(list().copy(opened.get(), heap.data(), heap.size()));
    ASSERT_OK(list().copy(vram.get(), opened.get(), heap.size()));
    ASSERT_OK(list().copy(host.get(), vram.get(), heap.size()));
    EXPECT_EQ(-1, firstMismatch(host.get(), heap.size(), 60));
    ASSERT_OK(list().fill(opened.bytes() + 100, 0x3c, range.size() - 200));
    std::vector<uint8_t> seen = readBack(range.bytes(), range.size());
    EXPECT_EQ(-1, firstMismatch(seen.data(), 100, 60));
    EXPECT_EQ(-1, firstDifferent(seen.data() + 100, range.size() - 200, 0x3c));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              list().copyAsync(opened.get(), heap.data(), range.size() + 1))
        << "past the end";
}

/* Case 36. */
TEST_F(IpcView, RangeOfThousandsOfObjectsWithFewDescriptors) {
    ze_context_handle_t own = nullptr;
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ASSERT_OK(zeContextCreateEx(driver_, &desc, 1, &device_, &own));
    constexpr size_t kObjects = 4096;
    const size_t before = openDescriptors();
    rlimit old{};
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
    const rlimit limit{64, old.rlim_max};
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    {
        std::vector<ze_physical_mem_handle_t> objects(kObjects);
        ze_physical_mem_desc_t physical{};
        physical.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        physical.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
        physical.size = kPage;
        Reservation reservation(own, kObjects * kPage);
        for (size_t i = 0; i < kObjects; i++) {
            ASSERT_OK(zePhysicalMemCreate(own, deviceOfHostObjects(), &physical, &objects[i]));
            ASSERT_OK(zeVirtualMemMap(own, reservation.bytes() + (kObjects - 1 - i) * kPage, kPage,
                                      objects[i], 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        }
        for (size_t i = 0; i < kObjects; i++)
            std::memcpy(reservation.bytes() + i * kPage, &i, sizeof i);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(getRange(own, reservation.get(), reservation.size(), &handle));
        Opened opened(own, device_, handle);
        ASSERT_OK(opened.result());
        EXPECT_LT(openDescriptors(), before + 8);
        for (size_t i = 0; i < kObjects; i++)
            ASSERT_EQ(0, std::memcmp(opened.bytes() + i * kPage, &i, sizeof i)) << i;
        {
            Peer peer({.descriptors = 64});
            uint32_t slot = 0;
            const uint64_t peerBefore = peer.descriptors();
            ASSERT_OK(peer.open(handle, &slot));
            EXPECT_LT(peer.descriptors(), peerBefore + 8);
            EXPECT_OK(peer.close(slot));
            EXPECT_EQ(0, peer.finish());
        }
        opened.close();
        EXPECT_OK(zeMemPutIpcHandle(own, handle));
        EXPECT_EQ(before, openDescriptors());
        EXPECT_OK(zeVirtualMemUnmap(own, reservation.get(), reservation.size()));
        for (ze_physical_mem_handle_t object : objects)
            EXPECT_OK(zePhysicalMemDestroy(own, object));
    }
    EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
    EXPECT_OK(zeContextDestroy(own));
}

/* Every descriptor is taken: the handle is good all the same. */
TEST_F(IpcView, WithoutAnyDescriptor) {
    Seams range(context_, device_, list(), {true, false, true});
    Buffer buffer = Buffer::device(context_, device_, 2 * kPage);
    writeByDevice(buffer.get(), 2 * kPage, 8);
    rlimit old{};
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
    const rlimit limit{openDescriptors(), old.rlim_max};
    std::vector<Fd> taken;
    for (;;) { // whatever holes there are
        const int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);
        if (fd < 0 || static_cast<rlim_t>(fd) >= limit.rlim_cur) {
            taken.emplace_back(fd);
            break;
        }
        taken.emplace_back(fd);
    }
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
    const ze_ipc_mem_handle_t ofRange = rangeOf(range.bytes(), range.size());
    const ze_ipc_mem_handle_t ofBuffer = handleOf(buffer.get());
    EXPECT_EQ(-1, descriptorIn(ofRange));
    EXPECT_EQ(-1, descriptorIn(ofBuffer));
    Opened first(context_, device_, ofRange);
    Opened second(context_, device_, ofBuffer);
    EXPECT_OK(first.result());
    EXPECT_OK(second.result());
    int fd = -1;
    EXPECT_ZE(ZE_RESULT_ERROR_NOT_AVAILABLE, exportDescriptor(context_, buffer.get(), fd))
        << "running out of descriptors is never out of memory";
    EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
    taken.clear();
    if (second.result() == ZE_RESULT_SUCCESS) {
        std::vector<uint8_t> seen = readBack(second.get(), 2 * kPage);
        EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 8));
    }
    // With descriptors again, the same identity has one.
    const ze_ipc_mem_handle_t again = rangeOf(range.bytes(), range.size());
    EXPECT_EQ(identityOf(context_, ofRange), identityOf(context_, again));
    EXPECT_NE(-1, descriptorIn(again));
    for (const auto& each : {ofRange, again, ofBuffer})
        EXPECT_OK(zeMemPutIpcHandle(context_, each));
}

} // namespace
