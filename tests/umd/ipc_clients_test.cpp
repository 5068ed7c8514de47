// SPDX-License-Identifier: MIT
// What the communication libraries of today do with a handle: each of their ways, by the system
// calls that they make. All of them read a descriptor number in bytes 0-3.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "seams.h"

using namespace vze::test;

namespace {

/* How the importing process gets at the memory. */
enum Way : uint32_t {
    kDescriptorOnly, // libfabric: the number and the process; opens {descriptor, zeros}
    kPatchedHandle,  // MPICH, UMF: the whole handle with the own descriptor in front, closed after
                     // it
    kPassedByUnix,   // libfabric's older way, MPICH's other: the descriptor itself in a message
    kMapped,         // MPICH: the descriptor mapped by the CPU, without the driver
};

struct Order {
    Way way;
    int32_t fd; // in the exporter
    pid_t pid;  // of the exporter
    uint32_t seed;
    uint32_t writeSeed;
    uint64_t size;
    ze_ipc_mem_handle_t handle; // only where the whole of it travels
};

/* Takes another process's descriptor. */
int takeDescriptor(pid_t pid, int number) {
    const long process = syscall(SYS_pidfd_open, pid, 0);
    if (process < 0)
        return -1;
    const long fd = syscall(SYS_pidfd_getfd, static_cast<int>(process), number, 0);
    const int error = errno;
    close(static_cast<int>(process));
    errno = error;
    return static_cast<int>(fd);
}

int importer(int channel, const std::vector<std::string>&) {
    Order order{};
    if (!receiveAll(channel, &order, sizeof order))
        return 1;
    const int fd = order.way == kPassedByUnix ? receiveDescriptor(channel)
                                              : takeDescriptor(order.pid, order.fd);
    if (fd < 0) {
        std::perror("the exporter's descriptor");
        return 2;
    }
    if (order.way == kMapped) {
        auto* bytes = static_cast<uint8_t*>(
            mmap(nullptr, order.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        close(fd);
        if (bytes == MAP_FAILED)
            return 3;
        if (firstMismatch(bytes, order.size, order.seed) != -1)
            return 4;
        writePattern(bytes, order.size, order.writeSeed);
        return munmap(bytes, order.size) == 0 ? 0 : 5;
    }
    if (!initDriver())
        return 6;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 7;
    const size_t descriptors = openDescriptors();
    struct stat before, after;
    fstat(fd, &before);
    ze_ipc_mem_handle_t handle{};
    if (order.way == kPatchedHandle)
        handle = order.handle;
    setDescriptor(handle, fd);
    void* shared = nullptr;
    if (zeMemOpenIpcHandle(context, devices().front(), handle, 0, &shared) != ZE_RESULT_SUCCESS) {
        std::fprintf(stderr, "the open: %s\n", lastError());
        return 8;
    }
    // The descriptor is still the caller's, open and the same file, and can go before the memory.
    if (openDescriptors() != descriptors || fstat(fd, &after) || before.st_ino != after.st_ino)
        return 9;
    if (order.way == kPatchedHandle)
        close(fd);
    size_t size = 0;
    if (zeMemGetAddressRange(context, shared, nullptr, &size) != ZE_RESULT_SUCCESS ||
        size != order.size)
        return 10;
    {
        ImmediateList list(context, devices().front());
        std::vector<uint8_t> bytes(order.size);
        if (list.copy(bytes.data(), shared, order.size) != ZE_RESULT_SUCCESS ||
            firstMismatch(bytes.data(), order.size, order.seed) != -1)
            return 11;
        writePattern(bytes.data(), order.size, order.writeSeed);
        if (list.copy(shared, bytes.data(), order.size) != ZE_RESULT_SUCCESS)
            return 12;
    }
    if (zeMemCloseIpcHandle(context, shared) != ZE_RESULT_SUCCESS)
        return 13;
    if (order.way != kPatchedHandle && close(fd))
        return 14;
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 15;
}

ChildRegistration importerChild("ipc_client", importer);

class IpcClients : public GpuTest {
protected:
    static constexpr size_t kSize = 6 * kPage + 512;

    void run(Way way, const ze_ipc_mem_handle_t& handle, uint64_t size, uint32_t seed) {
        ASSERT_NE(-1, descriptorIn(handle));
        const Order order{way,
                          descriptorIn(handle),
                          getpid(),
                          seed,
                          seed + 1,
                          size,
                          way == kPatchedHandle ? handle : ze_ipc_mem_handle_t{}};
        Child child("ipc_client");
        ASSERT_TRUE(child.send(&order, sizeof order));
        if (way == kPassedByUnix) {
            ASSERT_TRUE(sendDescriptor(child.channel(), order.fd));
        }
        EXPECT_EQ(0, child.wait()) << "way " << way;
    }

    void runAll(void* memory, const ze_ipc_mem_handle_t& handle, uint64_t size, bool mappable) {
        uint32_t seed = 50;
        writeByDevice(memory, size, seed);
        for (const Way way : {kDescriptorOnly, kPatchedHandle, kPassedByUnix, kMapped}) {
            if (way == kMapped && !mappable)
                continue;
            run(way, handle, size, seed++);
            std::vector<uint8_t> seen = readBack(memory, size);
            EXPECT_EQ(-1, firstMismatch(seen.data(), size, seed)) << "way " << way;
        }
    }
};

TEST_F(IpcClients, Allocations) {
    for (int kind = 0; kind < 3; kind++) {
        SCOPED_TRACE(kind);
        Buffer buffer = kind == 0   ? Buffer::device(context_, device_, 7 * kPage)
                        : kind == 1 ? Buffer::host(context_, 7 * kPage)
                                    : Buffer::shared(context_, device_, 7 * kPage);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
        runAll(buffer.get(), handle, 7 * kPage, true);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    }
}

TEST_F(IpcClients, PhysicalObjects) {
    Seams range(context_, device_, list(), {false, true, false, true});
    for (size_t i = 0; i < 2; i++) {
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(
            zeMemGetIpcHandleWithProperties(context_, range.object(i).get(), nullptr, &handle));
        Reservation reservation(context_, 8 * kPage);
        ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 8 * kPage, range.object(i).get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        runAll(reservation.get(), handle, 8 * kPage, true);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    }
}

/* The descriptor of a range is one of its share, which opens and cannot be mapped. */
TEST_F(IpcClients, Ranges) {
    Seams range(context_, device_, list(), {false, true, true, false});
    ze_ipc_mem_handle_t handle{};
    const size_t offset = kPage + 256;
    ASSERT_OK(getRange(context_, range.bytes() + offset, kSize, &handle));
    runAll(range.bytes() + offset, handle, kSize, false);
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

/* The same in one process, as intra-node paths do it: dup(2), patch, open, close. */
TEST_F(IpcClients, DuplicatedInOneProcess) {
    Seams range(context_, device_, list(), {false, true, true, false});
    Buffer buffer = Buffer::device(context_, device_, kSize);
    ze_ipc_mem_handle_t handles[2] = {};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handles[0]));
    ASSERT_OK(getRange(context_, range.bytes(), kSize, &handles[1]));
    const uint8_t* memory[2] = {buffer.bytes(), range.bytes()};
    for (int i = 0; i < 2; i++) {
        const size_t before = openDescriptors();
        const int fd = dup(descriptorIn(handles[i]));
        ASSERT_GE(fd, 0);
        ze_ipc_mem_handle_t patched = handles[i];
        setDescriptor(patched, fd);
        Opened whole(context_, device_, patched);
        Opened only(context_, device_, handleOfDescriptor(fd));
        EXPECT_EQ(0, close(fd));
        ASSERT_OK(whole.result());
        ASSERT_OK(only.result());
        EXPECT_EQ(before, openDescriptors());
        writeByDevice(const_cast<uint8_t*>(memory[i]), kSize, 70);
        for (const Opened* opened : {&whole, &only}) {
            std::vector<uint8_t> seen = readBack(opened->get(), kSize);
            EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 70));
        }
        // Whatever stands there, a whole handle opens by its token.
        setDescriptor(patched, 0);
        EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, patched).result());
        setDescriptor(patched, 9999);
        EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, patched).result());
        EXPECT_OK(zeMemPutIpcHandle(context_, patched));
    }
}

/* The number is that of ze_external_memory_export_fd_t: one descriptor for an allocation. */
TEST_F(IpcClients, OneDescriptorForAnAllocation) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    ze_ipc_mem_handle_t handle{}, second{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &second));
    EXPECT_EQ(0, std::memcmp(&handle, &second, sizeof handle));
    int fd = -7;
    ASSERT_OK(exportDescriptor(context_, buffer.get(), fd));
    EXPECT_EQ(descriptorIn(handle), fd);
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_OK(zeMemPutIpcHandle(context_, second));
    struct stat status;
    EXPECT_EQ(0, fstat(fd, &status)) << "who asked for the descriptor itself still has it";
    buffer.reset();
    EXPECT_NE(0, fstat(fd, &status)) << "the free closes it";
}

/* Put and free close the descriptor only while it is still the driver's. */
TEST_F(IpcClients, TheApplicationReusesTheNumber) {
    Seams range(context_, device_, list(), {false, true, true, false});
    for (int kind = 0; kind < 3; kind++) {
        SCOPED_TRACE(kind);
        Buffer buffer = Buffer::device(context_, device_, kSize);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(kind == 2 ? getRange(context_, range.bytes(), kSize, &handle)
                            : zeMemGetIpcHandle(context_, buffer.get(), &handle));
        const int number = descriptorIn(handle);
        Fd other(memfd_create("other", MFD_CLOEXEC));
        ASSERT_EQ(number, dup2(other.get(), number));
        Fd reused(number);
        if (kind == 0)
            buffer.reset();
        else
            EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        struct stat mine, there;
        ASSERT_EQ(0, fstat(other.get(), &mine));
        ASSERT_EQ(0, fstat(number, &there)) << "the application's file was closed";
        EXPECT_EQ(mine.st_ino, there.st_ino);
    }
}

TEST_F(IpcClients, DescriptorsThatAreNoMemory) {
    Fd file(memfd_create("file", MFD_CLOEXEC));
    int pair[2];
    ASSERT_EQ(0, pipe(pair));
    Fd reader(pair[0]), writer(pair[1]);
    for (int fd : {file.get(), reader.get(), 0, 9999, INT32_MAX, -1, INT32_MIN}) {
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  Opened(context_, device_, handleOfDescriptor(fd)).result())
            << fd;
    }
    EXPECT_OK(zeMemPutIpcHandle(context_, handleOfDescriptor(file.get())))
        << "there is nothing to be put back of a caller's own descriptor";
    struct stat status;
    EXPECT_EQ(0, fstat(file.get(), &status));
}

/* Case 33: an import takes its own reference; the descriptor stays the caller's, also on failure.
 */
TEST_F(IpcClients, WhoOwnsTheDescriptorOfAnImport) {
    Buffer buffer = Buffer::host(context_, kSize);
    writePattern(buffer.get(), kSize, 90);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    Fd own(fcntl(descriptorIn(handle), F_DUPFD_CLOEXEC, 0));
    Fd file(memfd_create("file", MFD_CLOEXEC));
    const size_t before = openDescriptors();
    for (int round = 0; round < 2; round++) {
        ze_external_memory_import_fd_t import{};
        import.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
        import.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
        import.fd = file.get();
        auto desc = hostDesc(&import);
        void* pointer = nullptr;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeMemAllocHost(context_, &desc, kSize, 0, &pointer));
        EXPECT_EQ(before, openDescriptors());
        import.fd = own.get();
        ASSERT_OK(zeMemAllocHost(context_, &desc, kSize, 0, &pointer));
        Buffer imported(context_, pointer);
        EXPECT_EQ(before, openDescriptors());
        EXPECT_EQ(-1, firstMismatch(imported.get(), kSize, 90));
    }
    struct stat status;
    EXPECT_EQ(0, fstat(own.get(), &status));
    EXPECT_EQ(0, fstat(file.get(), &status));
    // The memory outlives its allocation by the descriptor, and the descriptor by an import.
    buffer.reset();
    Opened opened(context_, device_, handleOfDescriptor(own.get()));
    own.reset();
    ASSERT_OK(opened.result());
    EXPECT_EQ(-1, firstMismatch(opened.get(), kSize, 90));
}

} // namespace
