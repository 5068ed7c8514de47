// SPDX-License-Identifier: MIT
// zeMemAllocDevice, zeMemAllocHost, zeMemAllocShared: what they give, and what they refuse.
#include <cstring>
#include <set>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fixture.h"
#include "testfile.h"

using namespace vze::test;

namespace {

class MemAlloc : public GpuTest {
protected:
    /* All three kinds by one call: the result and the pointer. */
    enum Kind { Device, Host, Shared, Kinds };

    ze_result_t allocate(int kind, size_t size, size_t alignment, void** pointer,
                         const void* next = nullptr, uint32_t flags = 0) {
        auto onDevice = deviceDesc(kind == Host ? nullptr : next, kind == Host ? 0 : flags);
        auto onHost = hostDesc(kind == Host ? next : nullptr, kind == Host ? flags : 0);
        switch (kind) {
        case Device:
            return zeMemAllocDevice(context_, &onDevice, size, alignment, device_, pointer);
        case Host:
            return zeMemAllocHost(context_, &onHost, size, alignment, pointer);
        default:
            return zeMemAllocShared(context_, &onDevice, &onHost, size, alignment, device_,
                                    pointer);
        }
    }

    static const char* name(int kind) {
        return kind == Device ? "device" : kind == Host ? "host" : "shared";
    }

    uint64_t maxMemAllocSize() {
        ze_device_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
        EXPECT_OK(zeDeviceGetProperties(device_, &properties));
        return properties.maxMemAllocSize;
    }
};

TEST_F(MemAlloc, SizesAndAlignments) {
    for (int kind = 0; kind < Kinds; kind++) {
        for (size_t size : {size_t{1}, size_t{100}, kPage, kPage + 1, 3 * kMiB}) {
            for (size_t alignment :
                 {size_t{0}, size_t{1}, size_t{8}, size_t{64}, kPage, 16 * kPage, 2 * kMiB}) {
                SCOPED_TRACE(std::string(name(kind)) + ", size " + std::to_string(size) +
                             ", alignment " + std::to_string(alignment));
                void* pointer = nullptr;
                ASSERT_OK(allocate(kind, size, alignment, &pointer));
                Buffer buffer(context_, pointer);
                const auto address = reinterpret_cast<uintptr_t>(pointer);
                EXPECT_EQ(0u, address % (alignment ? alignment : 1));
                EXPECT_LT(address, uintptr_t{1} << 47);
            }
        }
    }
}

TEST_F(MemAlloc, AlignmentOfDeviceMemoryThatIsNoPowerOfTwoIsRoundedUp) {
    void* pointer = nullptr;
    ASSERT_OK(allocate(Device, 100, 12, &pointer));
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(pointer) % 16);
    EXPECT_OK(zeMemFree(context_, pointer));
}

TEST_F(MemAlloc, Properties) {
    const ze_memory_type_t types[] = {ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_HOST,
                                      ZE_MEMORY_TYPE_SHARED};
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(name(kind));
        void* pointer = nullptr;
        ASSERT_OK(allocate(kind, 2 * kPage, 0, &pointer));
        Buffer buffer(context_, pointer);
        for (size_t offset : {size_t{0}, size_t{1}, kPage, 2 * kPage - 1}) {
            const AllocInfo info = allocInfo(context_, buffer.bytes() + offset);
            EXPECT_EQ(types[kind], info.type);
            EXPECT_NE(0u, info.id);
            EXPECT_GE(info.pageSize, kPage);
            EXPECT_EQ(0u, info.pageSize & (info.pageSize - 1));
            if (kind == Host)
                EXPECT_EQ(nullptr, info.device);
            else
                EXPECT_EQ(device_, info.device);
        }
    }
}

TEST_F(MemAlloc, IdentitiesAreNeverUsedAgain) {
    std::set<uint64_t> ids;
    for (int round = 0; round < 20; round++) {
        for (int kind = 0; kind < Kinds; kind++) {
            void* pointer = nullptr;
            ASSERT_OK(allocate(kind, kPage, 0, &pointer));
            EXPECT_TRUE(ids.insert(allocInfo(context_, pointer).id).second);
            EXPECT_OK(zeMemFree(context_, pointer));
        }
    }
}

TEST_F(MemAlloc, UnknownPointersHaveTypeUnknown) {
    int onStack = 0;
    EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(context_, &onStack).type);
    std::vector<uint8_t> heap(100);
    EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(context_, heap.data()).type);
    Buffer buffer = Buffer::device(context_, device_, kPage);
    void* pointer = buffer.get();
    buffer.reset();
    EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(context_, pointer).type);
}

TEST_F(MemAlloc, NewMemoryIsZero) {
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(name(kind));
        for (int round = 0; round < 4; round++) {
            void* pointer = nullptr;
            ASSERT_OK(allocate(kind, 2 * kMiB, 0, &pointer));
            Buffer buffer(context_, pointer);
            std::vector<uint8_t> seen = readBack(pointer, 2 * kMiB);
            EXPECT_EQ(-1, firstDifferent(seen.data(), seen.size(), 0));
            EXPECT_OK(list().fill(pointer, 0xd7, 2 * kMiB));
        }
    }
}

TEST_F(MemAlloc, HostAndSharedMemoryIsOneMemoryForCpuAndDevice) {
    for (int kind : {Host, Shared}) {
        SCOPED_TRACE(name(kind));
        void* pointer = nullptr;
        ASSERT_OK(allocate(kind, 5 * kPage, 0, &pointer));
        Buffer buffer(context_, pointer);
        Buffer other = Buffer::device(context_, device_, 5 * kPage);
        writePattern(pointer, 5 * kPage, 4);
        EXPECT_OK(list().copy(other.get(), pointer, 5 * kPage));
        std::memset(pointer, 0, 5 * kPage);
        EXPECT_OK(list().copy(pointer, other.get(), 5 * kPage));
        EXPECT_EQ(-1, firstMismatch(pointer, 5 * kPage, 4));
    }
}

TEST_F(MemAlloc, HostMemoryIsOrdinaryToTheKernel) {
    TestFile file(4 * kPage, 12);
    ASSERT_GE(file.fd(), 0);
    for (int kind : {Host, Shared}) {
        SCOPED_TRACE(name(kind));
        void* pointer = nullptr;
        ASSERT_OK(allocate(kind, 4 * kPage, 0, &pointer));
        Buffer buffer(context_, pointer);
        // system calls read and write it
        EXPECT_EQ(static_cast<ssize_t>(4 * kPage), pread(file.fd(), pointer, 4 * kPage, 0));
        EXPECT_EQ(-1, firstMismatch(pointer, 4 * kPage, 12));
        // so do debuggers
        std::vector<uint8_t> copy(4 * kPage);
        iovec local{copy.data(), copy.size()};
        iovec remote{pointer, copy.size()};
        EXPECT_EQ(static_cast<ssize_t>(copy.size()),
                  process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
        EXPECT_EQ(-1, firstMismatch(copy.data(), copy.size(), 12));
        // and direct I/O, which pins its pages
        Fd direct(open(file.path().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
        if (direct.get() >= 0) {
            std::memset(pointer, 0, 4 * kPage);
            EXPECT_EQ(static_cast<ssize_t>(4 * kPage), pread(direct.get(), pointer, 4 * kPage, 0));
            EXPECT_EQ(-1, firstMismatch(pointer, 4 * kPage, 12));
        }
    }
}

TEST_F(MemAlloc, SharedWithoutDevice) {
    auto onDevice = deviceDesc();
    auto onHost = hostDesc();
    void* pointer = nullptr;
    ASSERT_OK(zeMemAllocShared(context_, &onDevice, &onHost, kPage, 0, nullptr, &pointer));
    Buffer buffer(context_, pointer);
    EXPECT_EQ(ZE_MEMORY_TYPE_SHARED, allocInfo(context_, pointer).type);
    EXPECT_OK(list().fill(pointer, 0x2f, kPage));
    EXPECT_EQ(-1, firstDifferent(pointer, kPage, 0x2f));
}

TEST_F(MemAlloc, SizeZero) {
    for (int kind = 0; kind < Kinds; kind++) {
        void* pointer = nullptr;
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(kind, 0, 0, &pointer)) << name(kind);
    }
}

TEST_F(MemAlloc, LargestSizes) {
    const uint64_t limit = maxMemAllocSize();
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(name(kind));
        void* pointer = nullptr;
        ASSERT_OK(allocate(kind, limit, 0, &pointer));
        EXPECT_OK(list().fill(static_cast<uint8_t*>(pointer) + limit - 1, 1, 1));
        EXPECT_OK(zeMemFree(context_, pointer));
        for (uint64_t size : {limit + 1, uint64_t{1} << 46, ~uint64_t{0}, ~uint64_t{0} - kPage})
            EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(kind, size, 0, &pointer)) << size;
    }
}

TEST_F(MemAlloc, RelaxedLimits) {
    if (!hasExtension(ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME))
        GTEST_SKIP() << "the driver does not list relaxed allocation limits";
    const uint64_t limit = maxMemAllocSize();
    ze_relaxed_allocation_limits_ext_desc_t relaxed{};
    relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(name(kind));
        void* pointer = nullptr;
        ASSERT_OK(allocate(kind, limit + kPage, 0, &pointer, &relaxed));
        // The whole of it works, also where one command cannot move so much at once.
        EXPECT_OK(list().fill(pointer, 0x19, limit + kPage));
        EXPECT_EQ(0x19, readBack(static_cast<uint8_t*>(pointer) + limit + kPage - 1, 1)[0]);
        EXPECT_OK(zeMemFree(context_, pointer));
        EXPECT_ZE(kind == Device ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                                 : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                  allocate(kind, uint64_t{1} << 45, 0, &pointer, &relaxed));
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(kind, 0, 0, &pointer, &relaxed));
        relaxed.flags = 0;
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                  allocate(kind, limit + 1, 0, &pointer, &relaxed));
        relaxed.flags = 2;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                  allocate(kind, kPage, 0, &pointer, &relaxed));
        relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
        // The deprecated descriptor of the same meaning.
        relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
        ASSERT_OK(allocate(kind, limit + kPage, 0, &pointer, &relaxed));
        EXPECT_OK(zeMemFree(context_, pointer));
        relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    }
}

TEST_F(MemAlloc, DeviceMemoryRunsOutAndComesBack) {
    for (int round = 0; round < 2; round++) {
        std::vector<Buffer> buffers;
        ze_result_t result = ZE_RESULT_SUCCESS;
        while (result == ZE_RESULT_SUCCESS && buffers.size() < 65536) {
            void* pointer = nullptr;
            result = allocate(Device, 8 * kMiB, 0, &pointer);
            if (result == ZE_RESULT_SUCCESS)
                buffers.emplace_back(context_, pointer);
        }
        EXPECT_EQ(Result{ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY}, Result{result});
        EXPECT_GE(buffers.size(), 2u);
        // Full device memory must not keep host memory from being had.
        Buffer host = Buffer::host(context_, kMiB);
        EXPECT_TRUE(host);
        if (!buffers.empty()) {
            EXPECT_OK(list().fill(buffers.back().get(), 1, 8 * kMiB));
        }
    }
}

TEST_F(MemAlloc, UnknownFlags) {
    void* pointer = nullptr;
    for (int kind = 0; kind < Kinds; kind++)
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                  allocate(kind, kPage, 0, &pointer, nullptr, 0x40))
            << name(kind);
    for (uint32_t flags : {1u, 2u, 4u, 7u}) {
        for (int kind = 0; kind < Kinds; kind++) {
            ASSERT_OK(allocate(kind, kPage, 0, &pointer, nullptr, flags)) << name(kind);
            EXPECT_OK(zeMemFree(context_, pointer));
        }
    }
}

TEST_F(MemAlloc, NullPointers) {
    auto onDevice = deviceDesc();
    auto onHost = hostDesc();
    void* pointer = nullptr;
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    EXPECT_ZE(null, zeMemAllocDevice(context_, nullptr, kPage, 0, device_, &pointer));
    EXPECT_ZE(null, zeMemAllocDevice(context_, &onDevice, kPage, 0, device_, nullptr));
    EXPECT_ZE(null, zeMemAllocHost(context_, nullptr, kPage, 0, &pointer));
    EXPECT_ZE(null, zeMemAllocHost(context_, &onHost, kPage, 0, nullptr));
    EXPECT_ZE(null, zeMemAllocShared(context_, nullptr, &onHost, kPage, 0, device_, &pointer));
    EXPECT_ZE(null, zeMemAllocShared(context_, &onDevice, nullptr, kPage, 0, device_, &pointer));
    EXPECT_ZE(null, zeMemAllocShared(context_, &onDevice, &onHost, kPage, 0, device_, nullptr));
    ze_memory_allocation_properties_t properties{};
    EXPECT_ZE(null, zeMemGetAllocProperties(context_, nullptr, &properties, nullptr));
    EXPECT_ZE(null, zeMemGetAllocProperties(context_, &properties, nullptr, nullptr));
    EXPECT_ZE(null, zeMemFree(context_, nullptr));
}

TEST_F(MemAlloc, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    auto onDevice = deviceDesc();
    auto onHost = hostDesc();
    void* pointer = nullptr;
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    EXPECT_ZE(null, zeMemAllocDevice(nullptr, &onDevice, kPage, 0, device_, &pointer));
    EXPECT_ZE(null, zeMemAllocDevice(context_, &onDevice, kPage, 0, nullptr, &pointer));
    EXPECT_ZE(null, zeMemAllocHost(nullptr, &onHost, kPage, 0, &pointer));
    EXPECT_ZE(null, zeMemFree(nullptr, &pointer));
}

} // namespace
