// SPDX-License-Identifier: MIT
// IPC memory handles between processes: whole allocations and physical objects.
#include <cstring>

#include <unistd.h>

#include "fixture.h"
#include "physical.h"

using namespace vze::test;

namespace {

/* What an importing process is told to do with the handle. */
struct Order {
    ze_ipc_mem_handle_t handle;
    uint64_t size;
    uint32_t seed;      // pattern that must be there
    uint32_t writeSeed; // pattern to leave there
    uint32_t cpu;       // read with the CPU too
    uint32_t hold;      // keep it open until a byte comes, then look again (for writeSeed)
    uint32_t expected;  // ze_result_t of the open
    uint32_t user;      // become this user first, 0: stay
};

int importer(int channel, const std::vector<std::string>&) {
    Order order{};
    if (!receiveAll(channel, &order, sizeof order))
        return 1;
    if (order.user && (setresgid(order.user, order.user, order.user) ||
                       setresuid(order.user, order.user, order.user)))
        return 2;
    if (!initDriver())
        return 3;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 4;
    ze_device_handle_t device = devices().front();
    void* shared = nullptr;
    const ze_result_t result = zeMemOpenIpcHandle(context, device, order.handle, 0, &shared);
    if (result != static_cast<ze_result_t>(order.expected)) {
        std::fprintf(stderr, "importer: the open gave %s: %s\n",
                     resultName(result) ? resultName(result) : "?", lastError());
        return 5;
    }
    if (result != ZE_RESULT_SUCCESS)
        return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 6;
    {
        ImmediateList list(context, device);
        std::vector<uint8_t> bytes(order.size);
        if (list.copy(bytes.data(), shared, order.size) != ZE_RESULT_SUCCESS)
            return 7;
        if (firstMismatch(bytes.data(), order.size, order.seed) != -1)
            return 8;
        if (order.cpu && firstMismatch(shared, order.size, order.seed) != -1)
            return 9;
        writePattern(bytes.data(), order.size, order.writeSeed);
        if (list.copy(shared, bytes.data(), order.size) != ZE_RESULT_SUCCESS)
            return 10;
        void* base = nullptr;
        size_t size = 0;
        if (zeMemGetAddressRange(context, static_cast<uint8_t*>(shared) + order.size / 2, &base,
                                 &size) != ZE_RESULT_SUCCESS ||
            base != shared || size < order.size)
            return 11;
        if (order.hold) {
            char byte = 'h';
            if (!sendAll(channel, &byte, 1) || !receiveAll(channel, &byte, 1))
                return 12;
            std::memset(bytes.data(), 0, bytes.size());
            if (list.copy(bytes.data(), shared, order.size) != ZE_RESULT_SUCCESS ||
                firstMismatch(bytes.data(), order.size, order.writeSeed) != -1)
                return 13;
        }
    }
    if (zeMemFree(context, shared) != ZE_RESULT_ERROR_INVALID_ARGUMENT)
        return 14;
    if (zeMemCloseIpcHandle(context, shared) != ZE_RESULT_SUCCESS)
        return 15;
    if (zeMemCloseIpcHandle(context, shared) != ZE_RESULT_ERROR_INVALID_ARGUMENT)
        return 16;
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 17;
}

ChildRegistration importerChild("ipc_importer", importer);

/* Exports an allocation, sends the handle, and lives until it is killed. */
int exporter(int channel, const std::vector<std::string>&) {
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    auto onDevice = deviceDesc();
    void* pointer = nullptr;
    if (zeMemAllocDevice(context, &onDevice, 4 * kPage, 0, devices().front(), &pointer) !=
        ZE_RESULT_SUCCESS)
        return 3;
    ImmediateList list(context, devices().front());
    std::vector<uint8_t> bytes(4 * kPage);
    writePattern(bytes.data(), bytes.size(), 91);
    if (list.copy(pointer, bytes.data(), bytes.size()) != ZE_RESULT_SUCCESS)
        return 4;
    ze_ipc_mem_handle_t handle{};
    if (zeMemGetIpcHandle(context, pointer, &handle) != ZE_RESULT_SUCCESS)
        return 5;
    if (!sendAll(channel, &handle, sizeof handle))
        return 6;
    pause();
    return 7;
}

ChildRegistration exporterChild("ipc_exporter", exporter);

class Ipc : public GpuTest {
protected:
    static constexpr size_t kSize = 9 * kPage;

    ze_ipc_mem_handle_t handleOf(const void* pointer) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &handle));
        return handle;
    }

    void importInChild(Order order) {
        Child child("ipc_importer");
        EXPECT_TRUE(child.send(&order, sizeof order));
        EXPECT_EQ(0, child.wait());
    }
};

TEST_F(Ipc, DeviceMemory) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 5);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    importInChild({handle, kSize, 5, 6, 0, 0, ZE_RESULT_SUCCESS, 0});
    std::vector<uint8_t> seen = readBack(buffer.get(), kSize);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 6));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

TEST_F(Ipc, HostAndSharedMemory) {
    for (int kind = 0; kind < 2; kind++) {
        Buffer buffer =
            kind ? Buffer::host(context_, kSize) : Buffer::shared(context_, device_, kSize);
        writePattern(buffer.get(), kSize, 5);
        const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
        importInChild({handle, kSize, 5, 6, 1, 0, ZE_RESULT_SUCCESS, 0});
        EXPECT_EQ(-1, firstMismatch(buffer.get(), kSize, 6));
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    }
}

TEST_F(Ipc, PhysicalObjectByAddressAndByHandle) {
    PhysicalMemory object(context_, device_, 2 * kMiB);
    Reservation reservation(context_, 4 * kMiB);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 2 * kMiB, 2 * kMiB, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    writeByDevice(reservation.bytes() + 2 * kMiB, 2 * kMiB, 15);
    ze_ipc_mem_handle_t handle = handleOf(reservation.bytes() + 2 * kMiB);
    importInChild({handle, 2 * kMiB, 15, 16, 0, 0, ZE_RESULT_SUCCESS, 0});
    ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, object.get(), nullptr, &handle));
    importInChild({handle, 2 * kMiB, 16, 17, 0, 0, ZE_RESULT_SUCCESS, 0});
    std::vector<uint8_t> seen = readBack(reservation.bytes() + 2 * kMiB, 2 * kMiB);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 17));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + 2 * kMiB, 2 * kMiB));
}

TEST_F(Ipc, OpenedTwiceInOneProcess) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 3);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &first));
    ASSERT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &second));
    EXPECT_NE(first, second);
    EXPECT_NE(first, buffer.get());
    EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, first).type);
    EXPECT_OK(zeMemCloseIpcHandle(context_, first));
    std::vector<uint8_t> seen = readBack(second, kSize);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 3));
    EXPECT_OK(zeMemCloseIpcHandle(context_, second));
    EXPECT_OK(list().fill(buffer.get(), 1, kSize));
}

TEST_F(Ipc, HandleEndsWithPutAndWithFree) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 2);
    // Gets are counted: the last Put ends the handle, further ones do nothing.
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    const ze_ipc_mem_handle_t again = handleOf(buffer.get());
    EXPECT_OK(zeMemPutIpcHandle(context_, again));
    void* opened = nullptr;
    EXPECT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &opened));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    void* late = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, handle, 0, &late));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    // What is open stays, also after the exporter's free; a new handle ends with that free.
    const ze_ipc_mem_handle_t third = handleOf(buffer.get());
    buffer.reset();
    std::vector<uint8_t> seen = readBack(opened, kSize);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 2));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, third, 0, &late));
    Buffer sameSize = Buffer::device(context_, device_, kSize);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, third, 0, &late));
    EXPECT_OK(zeMemPutIpcHandle(context_, third));
    EXPECT_OK(zeMemCloseIpcHandle(context_, opened));
}

TEST_F(Ipc, ImporterKeepsTheMemoryWhenTheExporterFreesIt) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 40);
    const Order order{handleOf(buffer.get()), kSize, 40, 41, 0, 1, ZE_RESULT_SUCCESS, 0};
    Child child("ipc_importer");
    EXPECT_TRUE(child.send(&order, sizeof order));
    char byte = 0;
    ASSERT_TRUE(child.receive(&byte, 1));
    buffer.reset();
    Buffer storm = Buffer::device(context_, device_, 8 * kMiB);
    EXPECT_OK(list().fill(storm.get(), 0xca, 8 * kMiB));
    EXPECT_TRUE(child.send("g", 1));
    EXPECT_EQ(0, child.wait());
}

TEST_F(Ipc, KilledImporterLeavesNothing) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 40);
    const Order order{handleOf(buffer.get()), kSize, 40, 41, 0, 1, ZE_RESULT_SUCCESS, 0};
    Child child("ipc_importer");
    EXPECT_TRUE(child.send(&order, sizeof order));
    char byte = 0;
    ASSERT_TRUE(child.receive(&byte, 1));
    child.signal(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, child.wait());
    std::vector<uint8_t> seen = readBack(buffer.get(), kSize);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 41));
}

TEST_F(Ipc, KilledExporterLeavesWhatIsOpen) {
    Child child("ipc_exporter");
    ze_ipc_mem_handle_t handle{};
    ASSERT_TRUE(child.receive(&handle, sizeof handle));
    void* opened = nullptr;
    ASSERT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &opened));
    child.signal(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, child.wait());
    std::vector<uint8_t> seen = readBack(opened, 4 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 91));
    void* late = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, handle, 0, &late));
    EXPECT_OK(zeMemCloseIpcHandle(context_, opened));
}

TEST_F(Ipc, AnotherUserIsRefused) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 40);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    importInChild({handle, kSize, 40, 40, 0, 0, ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, 12345});
    importInChild({handle, kSize, 40, 40, 0, 0, ZE_RESULT_SUCCESS, 0});
}

TEST_F(Ipc, ForgedHandlesAreInvalid) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    void* opened = nullptr;
    for (size_t byte = 4; byte < sizeof handle.data; byte++) {
        ze_ipc_mem_handle_t forged = handle;
        forged.data[byte] = static_cast<char>(forged.data[byte] ^ 0x10);
        ze_result_t result = zeMemOpenIpcHandle(context_, device_, forged, 0, &opened);
        // Bytes that carry nothing may change; whatever opens then is the right memory.
        if (result == ZE_RESULT_SUCCESS) {
            size_t size = 0;
            EXPECT_OK(zeMemGetAddressRange(context_, opened, nullptr, &size));
            EXPECT_EQ(kSize, size) << "byte " << byte;
            EXPECT_OK(zeMemCloseIpcHandle(context_, opened));
        } else {
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, result) << "byte " << byte;
        }
    }
    ze_ipc_mem_handle_t random{};
    for (size_t i = 0; i < sizeof random.data; i++)
        random.data[i] = static_cast<char>(patternByte(i, 99));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, random, 0, &opened));
}

TEST_F(Ipc, OpeningCostsNoDescriptors) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    const size_t before = openDescriptors();
    for (int i = 0; i < 300; i++) {
        void* opened = nullptr;
        ASSERT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &opened));
        EXPECT_EQ(before, openDescriptors());
        ASSERT_OK(zeMemCloseIpcHandle(context_, opened));
    }
    EXPECT_EQ(before, openDescriptors());
}

TEST_F(Ipc, Errors) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemGetIpcHandle(context_, nullptr, &handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemGetIpcHandle(context_, buffer.get(), nullptr));
    int onStack = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemGetIpcHandle(context_, &onStack, &handle));
    handle = handleOf(buffer.get());
    void* opened = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemOpenIpcHandle(context_, device_, handle, 0, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeMemOpenIpcHandle(context_, device_, handle, 4, &opened));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemCloseIpcHandle(context_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemCloseIpcHandle(context_, buffer.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemCloseIpcHandle(context_, &onStack));
}

TEST_F(Ipc, HandleTypes) {
    if (!hasExtension(ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME))
        GTEST_SKIP() << "the driver does not list handle types";
    Buffer buffer = Buffer::device(context_, device_, kSize);
    ze_ipc_mem_handle_type_ext_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC;
    ze_ipc_mem_handle_t handle{};
    for (uint32_t flags : {0u, uint32_t{ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT}}) {
        type.typeFlags = flags;
        EXPECT_OK(zeMemGetIpcHandleWithProperties(context_, buffer.get(), &type, &handle));
    }
    type.typeFlags = ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeMemGetIpcHandleWithProperties(context_, buffer.get(), &type, &handle));
    type.typeFlags = 4;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeMemGetIpcHandleWithProperties(context_, buffer.get(), &type, &handle));
}

} // namespace
