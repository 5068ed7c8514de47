// SPDX-License-Identifier: MIT
// Read-only device access: what the device cannot write stays as it was, and nothing raises the
// access.
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "testfile.h"

using namespace vze::test;

namespace {

class SysmemReadOnly : public GpuTest {
protected:
    /* A device write must stop its own queue with DEVICE_LOST; the bystander goes on. */
    void expectWriteFaults(void* pointer, size_t size) {
        ImmediateList writer(context_, device_);
        EXPECT_OK(writer.fillAsync(pointer, 0xee, size));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, writer.wait());
        EXPECT_OK(list().wait());
    }
};

TEST_F(SysmemReadOnly, FileOpenedForReading) {
    TestFile file(3 * kPage, 7);
    ASSERT_GE(file.fd(), 0);
    Fd readable(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    Mapping mapping = Mapping::ofFile(readable.get(), 3 * kPage, PROT_READ, MAP_SHARED);
    ASSERT_TRUE(mapping);
    const uint64_t pinned = pinnedBytes();
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              importMemory(context_, mapping.get(), 3 * kPage, &pointer));
    EXPECT_EQ(pinned, pinnedBytes());

    Buffer import =
        Buffer::import(context_, mapping.get(), 3 * kPage, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    ASSERT_TRUE(import);
    EXPECT_EQ(ZE_MEMORY_TYPE_HOST_IMPORTED, allocInfo(context_, mapping.get()).type);
    std::vector<uint8_t> read = readBack(mapping.get(), 3 * kPage);
    EXPECT_EQ(-1, firstMismatch(read.data(), read.size(), 7));

    expectWriteFaults(mapping.bytes() + kPage, 16);
    expectWriteFaults(mapping.bytes() + 3 * kPage - 1, 1);
    EXPECT_EQ(-1, firstMismatch(mapping.get(), 3 * kPage, 7));
    std::vector<uint8_t> onDisk(3 * kPage);
    ASSERT_EQ(static_cast<ssize_t>(onDisk.size()),
              pread(readable.get(), onDisk.data(), onDisk.size(), 0));
    EXPECT_EQ(-1, firstMismatch(onDisk.data(), onDisk.size(), 7));

    // Nothing may raise the access later.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeVirtualMemSetAccessAttribute(context_, mapping.get(), 3 * kPage,
                                             ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandle(context_, mapping.get(), &handle));
    expectWriteFaults(mapping.get(), 1);
    EXPECT_EQ(-1, firstMismatch(mapping.get(), 3 * kPage, 7));
}

TEST_F(SysmemReadOnly, WritableMemoryImportedForReading) {
    Mapping memory = Mapping::anonymous(2 * kPage);
    writePattern(memory.get(), 2 * kPage, 3);
    Buffer import =
        Buffer::import(context_, memory.get(), 2 * kPage, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    ASSERT_TRUE(import);
    expectWriteFaults(memory.bytes() + 100, 100);
    EXPECT_EQ(-1, firstMismatch(memory.get(), 2 * kPage, 3));
    // The CPU still writes, and the device sees it.
    memory.bytes()[5] = 0x99;
    EXPECT_EQ(0x99, readBack(memory.bytes() + 5, 1)[0]);
}

TEST_F(SysmemReadOnly, WriteThatBeginsInWritableMemoryStopsAtTheBoundary) {
    Mapping memory = Mapping::anonymous(4 * kPage);
    std::memset(memory.get(), 0x10, 4 * kPage);
    Buffer writable = Buffer::import(context_, memory.get(), 2 * kPage);
    Buffer readOnly = Buffer::import(context_, memory.bytes() + 2 * kPage, 2 * kPage,
                                     ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    // Refused at the append or stopped by the device; either way no byte behind the boundary
    // changes.
    ImmediateList writer(context_, device_);
    ze_result_t result = writer.fill(memory.bytes() + kPage, 0xee, 2 * kPage);
    EXPECT_TRUE(result == ZE_RESULT_ERROR_DEVICE_LOST || result == ZE_RESULT_ERROR_INVALID_ARGUMENT)
        << Result{result};
    EXPECT_EQ(-1, firstDifferent(memory.bytes() + 2 * kPage, 2 * kPage, 0x10));
    EXPECT_EQ(-1, firstDifferent(memory.get(), kPage, 0x10));
}

TEST_F(SysmemReadOnly, OrdinaryHostAllocation) {
    auto desc = hostDesc(nullptr, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    void* pointer = nullptr;
    ASSERT_OK(zeMemAllocHost(context_, &desc, 2 * kPage, 0, &pointer));
    Buffer host(context_, pointer);
    EXPECT_EQ(ZE_MEMORY_TYPE_HOST, allocInfo(context_, pointer).type);
    writePattern(pointer, 2 * kPage, 9);
    std::vector<uint8_t> read = readBack(pointer, 2 * kPage);
    EXPECT_EQ(-1, firstMismatch(read.data(), read.size(), 9));
    expectWriteFaults(host.bytes() + 17, 30);
    EXPECT_EQ(-1, firstMismatch(pointer, 2 * kPage, 9));
}

TEST_F(SysmemReadOnly, OrdinaryHostAllocationExcludesWriteCombined) {
    auto desc = hostDesc(nullptr, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY |
                                      ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED);
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocHost(context_, &desc, kPage, 0, &pointer));
}

} // namespace
