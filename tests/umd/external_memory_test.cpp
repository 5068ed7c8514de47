// SPDX-License-Identifier: MIT
// External memory: dma-buf descriptors of allocations and physical objects, out and in; whose the
// descriptors are (case 33).
#include <cstring>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "physical.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 16 * kPage;

ze_external_memory_import_fd_t
importFd(int fd, ze_external_memory_type_flags_t flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) {
    ze_external_memory_import_fd_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
    desc.flags = flags;
    desc.fd = fd;
    return desc;
}

ze_external_memory_export_fd_t
exportFd(ze_external_memory_type_flags_t flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) {
    ze_external_memory_export_fd_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
    desc.flags = flags;
    desc.fd = -7;
    return desc;
}

bool isOpen(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

class ExternalMemory : public GpuTest {
protected:
    ze_result_t exportOf(const void* pointer, ze_external_memory_export_fd_t& fd) {
        ze_memory_allocation_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
        properties.pNext = &fd;
        return zeMemGetAllocProperties(context_, pointer, &properties, nullptr);
    }
    int exported(const void* pointer) {
        auto fd = exportFd();
        EXPECT_OK(exportOf(pointer, fd));
        return fd.fd;
    }
    ze_result_t allocDevice(const void* next, size_t size, void** out) {
        auto desc = deviceDesc(next);
        return zeMemAllocDevice(context_, &desc, size, 0, device_, out);
    }
    ze_result_t allocHost(const void* next, size_t size, void** out) {
        auto desc = hostDesc(next);
        return zeMemAllocHost(context_, &desc, size, 0, out);
    }
    ze_result_t createPhysical(const void* next, size_t size, bool onHost,
                               ze_physical_mem_handle_t* out) {
        ze_physical_mem_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        desc.pNext = next;
        desc.flags = onHost ? ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
                            : ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
        desc.size = size;
        return zePhysicalMemCreate(context_, onHost ? deviceOfHostObjects() : device_, &desc, out);
    }
};

TEST_F(ExternalMemory, DescriptorOfEachAllocation) {
    ze_external_memory_export_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    desc.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    for (int kind = 0; kind < 3; kind++) {
        SCOPED_TRACE(kind);
        void* pointer = nullptr;
        if (kind == 0) {
            ASSERT_OK(allocDevice(&desc, kSize, &pointer));
        } else if (kind == 1) {
            ASSERT_OK(allocHost(&desc, kSize, &pointer));
        } else {
            auto device = deviceDesc(&desc);
            auto host = hostDesc();
            ASSERT_OK(zeMemAllocShared(context_, &device, &host, kSize, 0, device_, &pointer));
        }
        Buffer buffer(context_, pointer);
        writeByDevice(buffer.get(), kSize, 11 + kind);
        const int fd = exported(buffer.get());
        ASSERT_TRUE(isOpen(fd));
        // Asked again, it is the same: the driver's, until the free.
        EXPECT_EQ(fd, exported(buffer.bytes() + 5));
        // Its size and bytes are those of the allocation, for whoever maps it.
        EXPECT_EQ(static_cast<off_t>(kSize), lseek(fd, 0, SEEK_END));
        Mapping mapping = Mapping::ofFile(fd, kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
        ASSERT_TRUE(mapping);
        EXPECT_EQ(-1, firstMismatch(mapping.get(), kSize, 11 + kind));
        writePattern(mapping.get(), kPage, 21 + kind);
        std::vector<uint8_t> seen = readBack(buffer.get(), kPage);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 21 + kind));
        buffer.reset();
        EXPECT_FALSE(isOpen(fd));
        // Who maps it keeps the memory.
        EXPECT_EQ(-1, firstMismatch(mapping.get(), kPage, 21 + kind));
    }
}

TEST_F(ExternalMemory, DescriptorOfAPhysicalObject) {
    for (bool onHost : {false, true}) {
        ze_external_memory_export_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
        desc.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
        ze_physical_mem_handle_t object = nullptr;
        ASSERT_OK(createPhysical(&desc, kSize, onHost, &object));
        auto fd = exportFd();
        ze_physical_mem_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES;
        properties.pNext = &fd;
        ASSERT_OK(zePhysicalMemGetProperties(context_, object, &properties));
        EXPECT_EQ(kSize, properties.size);
        EXPECT_NE(0u, properties.id);
        ASSERT_TRUE(isOpen(fd.fd));
        Fd kept(fcntl(fd.fd, F_DUPFD_CLOEXEC, 0));
        EXPECT_OK(zePhysicalMemDestroy(context_, object));
        EXPECT_FALSE(isOpen(fd.fd));
        // The descriptor of one's own is an object again.
        auto import = importFd(kept.get());
        ASSERT_OK(createPhysical(&import, kSize, onHost, &object));
        EXPECT_OK(zePhysicalMemDestroy(context_, object));
    }
}

TEST_F(ExternalMemory, ImportIntoEachAllocation) {
    Buffer onDevice = Buffer::device(context_, device_, kSize);
    Buffer onHost = Buffer::host(context_, kSize);
    writeByDevice(onDevice.get(), kSize, 31);
    writePattern(onHost.get(), kSize, 32);
    const auto deviceFd = importFd(exported(onDevice.get()));
    const auto hostFd = importFd(exported(onHost.get()));
    const size_t descriptors = openDescriptors();

    void* pointer = nullptr;
    ASSERT_OK(allocDevice(&deviceFd, kSize, &pointer));
    {
        Buffer imported(context_, pointer);
        EXPECT_NE(onDevice.get(), imported.get());
        std::vector<uint8_t> seen = readBack(imported.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 31));
        writeByDevice(imported.bytes() + kPage, kPage, 33);
        seen = readBack(onDevice.bytes() + kPage, kPage);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 33));
        EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, imported.get()).type);
    }
    ASSERT_OK(allocHost(&hostFd, kSize, &pointer));
    {
        Buffer imported(context_, pointer);
        EXPECT_EQ(-1, firstMismatch(imported.get(), kSize, 32));
        std::memset(imported.get(), 0x34, kPage);
        EXPECT_EQ(-1, firstDifferent(onHost.get(), kPage, 0x34));
        EXPECT_OK(list().fill(imported.get(), 0x35, kPage));
        EXPECT_EQ(-1, firstDifferent(onHost.get(), kPage, 0x35));
        EXPECT_EQ(ZE_MEMORY_TYPE_HOST, allocInfo(context_, imported.get()).type);
    }
    for (const auto* import : {&deviceFd, &hostFd}) {
        const bool host = import == &hostFd;
        ze_physical_mem_handle_t object = nullptr;
        ASSERT_OK(createPhysical(import, kSize, host, &object));
        {
            Reservation reservation(context_, 2 * kSize);
            ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + kPage, 4 * kPage, object,
                                      2 * kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
            std::vector<uint8_t> seen = readBack(reservation.bytes() + kPage, 4 * kPage);
            EXPECT_EQ(-1, firstMismatch(seen.data(), 4 * kPage, host ? 32 : 31, 2 * kPage));
            EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + kPage, 4 * kPage));
        }
        EXPECT_OK(zePhysicalMemDestroy(context_, object));
    }
    // Flags 0 are the default of the header.
    const auto byDefault = importFd(deviceFd.fd, 0);
    ASSERT_OK(allocDevice(&byDefault, kSize, &pointer));
    {
        Buffer imported(context_, pointer);
        std::vector<uint8_t> seen = readBack(imported.get(), kPage);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 31));
    }
    // A part of it is a smaller allocation; more than it has is none.
    ASSERT_OK(allocDevice(&deviceFd, kSize / 2, &pointer));
    void* base = nullptr;
    size_t size = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, pointer, &base, &size));
    EXPECT_EQ(kSize / 2, size);
    EXPECT_OK(zeMemFree(context_, pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocDevice(&deviceFd, kSize + 1, &pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocHost(&hostFd, 2 * kSize, &pointer));
    EXPECT_EQ(descriptors, openDescriptors());
}

TEST_F(ExternalMemory, MemoryOfAnotherDriver) {
    Fd udmabuf(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
    if (udmabuf.get() < 0)
        GTEST_SKIP() << "the kernel has no udmabuf";
    Fd memory(memfd_create("external", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    ASSERT_EQ(0, ftruncate(memory.get(), kSize));
    ASSERT_EQ(0, fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK));
    udmabuf_create create{};
    create.memfd = static_cast<uint32_t>(memory.get());
    create.flags = UDMABUF_FLAGS_CLOEXEC;
    create.size = kSize;
    Fd buffer(ioctl(udmabuf.get(), UDMABUF_CREATE, &create));
    ASSERT_GE(buffer.get(), 0);
    Mapping mapping = Mapping::ofFile(memory.get(), kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
    writePattern(mapping.get(), kSize, 41);

    const auto import = importFd(buffer.get());
    void* pointer = nullptr;
    ASSERT_OK(allocHost(&import, kSize, &pointer));
    {
        Buffer imported(context_, pointer);
        std::vector<uint8_t> seen = readBack(imported.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 41));
        EXPECT_EQ(-1, firstMismatch(imported.get(), kSize, 41)) << "as the CPU sees it";
        EXPECT_OK(list().fill(imported.get(), 0x42, kPage));
        EXPECT_EQ(-1, firstDifferent(mapping.get(), kPage, 0x42));
    }
    EXPECT_TRUE(isOpen(buffer.get()));
}

/* Ownership: an import takes a reference of its own, whatever comes of it; an export is lent. */
TEST_F(ExternalMemory, DescriptorsStayWhoseTheyAre) {
    Buffer onDevice = Buffer::device(context_, device_, kSize);
    Buffer onHost = Buffer::host(context_, kSize);
    writeByDevice(onDevice.get(), kSize, 61);
    writePattern(onHost.get(), kSize, 62);
    Fd deviceFd(fcntl(exported(onDevice.get()), F_DUPFD_CLOEXEC, 0));
    Fd hostFd(fcntl(exported(onHost.get()), F_DUPFD_CLOEXEC, 0));
    for (int kind = 0; kind < 4; kind++) {
        SCOPED_TRACE(kind);
        const bool host = kind % 2 != 0;
        const bool physical = kind >= 2;
        const auto import = importFd(host ? hostFd.get() : deviceFd.get());
        const size_t descriptors = openDescriptors();
        void* pointer = nullptr;
        ze_physical_mem_handle_t object = nullptr;
        auto make = [&](size_t size) {
            return physical ? createPhysical(&import, size, host, &object)
                   : host   ? allocHost(&import, size, &pointer)
                            : allocDevice(&import, size, &pointer);
        };
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, make(2 * kSize));
        EXPECT_TRUE(isOpen(import.fd)) << "after a failure";
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, make(0));
        EXPECT_TRUE(isOpen(import.fd)) << "after a failure";
        ASSERT_OK(make(kSize));
        EXPECT_TRUE(isOpen(import.fd)) << "after the import";
        EXPECT_EQ(descriptors, openDescriptors());
        if (physical) {
            EXPECT_OK(zePhysicalMemDestroy(context_, object));
        } else {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        EXPECT_TRUE(isOpen(import.fd)) << "after the free";
    }
    // Closed behind the import, what was imported stays; it has a descriptor of its own again.
    const auto import = importFd(hostFd.get());
    void* pointer = nullptr;
    ASSERT_OK(allocHost(&import, kSize, &pointer));
    Buffer imported(context_, pointer);
    hostFd.reset();
    onHost.reset();
    EXPECT_EQ(-1, firstMismatch(imported.get(), kSize, 62));
    const int again = exported(imported.get());
    EXPECT_TRUE(isOpen(again));
    imported.reset();
    EXPECT_FALSE(isOpen(again));
}

/* A descriptor maps over its whole size, and takes what brackets a CPU access. */
TEST_F(ExternalMemory, DescriptorForTheCpu) {
    for (const bool host : {false, true}) {
        Buffer buffer =
            host ? Buffer::host(context_, kSize) : Buffer::device(context_, device_, kSize);
        writeByDevice(buffer.get(), kSize, 71);
        const int fd = exported(buffer.get());
        EXPECT_EQ(static_cast<off_t>(kSize), lseek(fd, 0, SEEK_END));
        Mapping mapping = Mapping::ofFile(fd, kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
        ASSERT_TRUE(mapping);
        EXPECT_EQ(MAP_FAILED, mmap(nullptr, kSize + kPage, PROT_READ, MAP_SHARED, fd, 0));
        dma_buf_sync sync{DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW};
        EXPECT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
        EXPECT_EQ(-1, firstMismatch(mapping.get(), kSize, 71));
        writePattern(mapping.get(), kSize, 72);
        sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
        EXPECT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
        const std::vector<uint8_t> seen = readBack(buffer.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 72));
    }
}

TEST_F(ExternalMemory, BadArguments) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    Fd file(memfd_create("file", MFD_CLOEXEC));
    const int fd = exported(buffer.get());
    const size_t descriptors = openDescriptors();
    const struct {
        ze_external_memory_import_fd_t desc;
        ze_result_t result;
    } imports[] = {
        {importFd(file.get()), ZE_RESULT_ERROR_INVALID_ARGUMENT},
        {importFd(-1), ZE_RESULT_ERROR_INVALID_ARGUMENT},
        {importFd(9999), ZE_RESULT_ERROR_INVALID_ARGUMENT},
        {importFd(fd, ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD),
         ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION},
        {importFd(fd, ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP),
         ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION},
        {importFd(fd, 1u << 30), ZE_RESULT_ERROR_INVALID_ENUMERATION},
    };
    for (const auto& import : imports) {
        SCOPED_TRACE(&import - imports);
        void* pointer = nullptr;
        ze_physical_mem_handle_t object = nullptr;
        EXPECT_ZE(import.result, allocDevice(&import.desc, kSize, &pointer));
        EXPECT_ZE(import.result, allocHost(&import.desc, kSize, &pointer));
        EXPECT_ZE(import.result, createPhysical(&import.desc, kSize, false, &object));
        EXPECT_ZE(import.result, createPhysical(&import.desc, kSize, true, &object));
    }
    const ze_external_memory_type_flags_t types[] = {ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
                                                     ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D11_TEXTURE,
                                                     1u << 30};
    for (ze_external_memory_type_flags_t flags : types) {
        ze_external_memory_export_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
        desc.flags = flags;
        void* pointer = nullptr;
        EXPECT_ZE(flags == 1u << 30 ? ZE_RESULT_ERROR_INVALID_ENUMERATION
                                    : ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                  allocDevice(&desc, kSize, &pointer));
    }
    auto opaque = exportFd(ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD);
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, exportOf(buffer.get(), opaque));
    EXPECT_EQ(-7, opaque.fd);
    EXPECT_EQ(descriptors, openDescriptors());
}

TEST_F(ExternalMemory, HandleAndDescriptorFromEachOther) {
    Buffer buffer = Buffer::host(context_, kSize);
    writePattern(buffer.get(), kSize, 51);
    ze_ipc_mem_handle_t handle{}, made{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    uint64_t fd = 0;
    ASSERT_OK(zeMemGetFileDescriptorFromIpcHandleExp(context_, handle, &fd));
    EXPECT_EQ(static_cast<uint64_t>(exported(buffer.get())), fd);
    ASSERT_OK(zeMemGetIpcHandleFromFileDescriptorExp(context_, fd, &made));
    {
        Opened opened(context_, device_, made);
        ASSERT_OK(opened.result());
        EXPECT_EQ(-1, firstMismatch(opened.get(), kSize, 51));
    }
    EXPECT_TRUE(isOpen(static_cast<int>(fd)));
    EXPECT_OK(zeMemPutIpcHandle(context_, made));
    EXPECT_TRUE(isOpen(static_cast<int>(fd)));

    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemGetFileDescriptorFromIpcHandleExp(context_, handle, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemGetIpcHandleFromFileDescriptorExp(context_, fd, nullptr));
    for (uint64_t bad : {uint64_t{9999}, uint64_t{INT32_MAX}, uint64_t{1} << 32 | fd, ~uint64_t{0}})
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeMemGetIpcHandleFromFileDescriptorExp(context_, bad, &made));
    ze_ipc_mem_handle_t noise{};
    std::memset(noise.data, 0x5a, sizeof noise.data);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetFileDescriptorFromIpcHandleExp(context_, noise, &fd));
    setDescriptor(handle, -1);
    EXPECT_ZE(ZE_RESULT_ERROR_NOT_AVAILABLE,
              zeMemGetFileDescriptorFromIpcHandleExp(context_, handle, &fd));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

} // namespace
