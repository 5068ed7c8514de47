// SPDX-License-Identifier: MIT
// ze_memory_compression_hints_ext_desc_t: what it saves, and that nobody can tell otherwise.
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "fixture.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 4 * kMiB;
constexpr uint32_t kCompressed = ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED;
constexpr uint32_t kUncompressed = ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED;

ze_memory_compression_hints_ext_desc_t hintOf(uint32_t flags) {
    ze_memory_compression_hints_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC;
    desc.flags = flags;
    return desc;
}

int64_t movedBytes() {
    return deviceCounter("bytes_read") + deviceCounter("bytes_written");
}

/* -1 when the bytes repeat the pattern, else the offset of the first that does not. */
int64_t firstOffPattern(const void* bytes, size_t size, const std::vector<uint8_t>& pattern) {
    const auto* seen = static_cast<const uint8_t*>(bytes);
    const size_t period = pattern.size();
    // What begins with the pattern and equals itself one period later repeats it.
    if (std::memcmp(seen, pattern.data(), period) == 0 &&
        std::memcmp(seen, seen + period, size - period) == 0)
        return -1;
    size_t i = 0;
    while (seen[i] == pattern[i % period])
        i++;
    return static_cast<int64_t>(i);
}

struct ImportOrder {
    ze_ipc_mem_handle_t handle;
    uint64_t size;
    uint32_t pattern; // of four bytes
    uint32_t writes;  // fill with its complement before leaving
};

std::vector<uint8_t> bytesOf(uint32_t pattern) {
    std::vector<uint8_t> bytes(sizeof(pattern));
    std::memcpy(bytes.data(), &pattern, sizeof(pattern));
    return bytes;
}

/* Opens, tells that it has, and for each order that comes says what its device finds there. */
int importer(int channel, const std::vector<std::string>&) {
    ImportOrder order{};
    if (!receiveAll(channel, &order, sizeof order))
        return 1;
    if (!initDriver())
        return 2;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 3;
    void* pointer = nullptr;
    if (zeMemOpenIpcHandle(context, devices().front(), order.handle, 0, &pointer) !=
        ZE_RESULT_SUCCESS)
        return 4;
    {
        Buffer host = Buffer::host(context, order.size);
        ImmediateList list(context, devices().front());
        uint8_t ready = 1;
        if (!sendAll(channel, &ready, 1))
            return 5;
        while (receiveAll(channel, &order, sizeof order)) {
            std::memset(host.get(), 0x66, order.size);
            if (list.copy(host.get(), pointer, order.size) != ZE_RESULT_SUCCESS)
                return 6;
            uint8_t same = firstOffPattern(host.get(), order.size, bytesOf(order.pattern)) == -1;
            const uint32_t complement = ~order.pattern;
            if (order.writes != 0 && (zeCommandListAppendMemoryFill(
                                          list.get(), pointer, &complement, sizeof(complement),
                                          order.size, nullptr, 0, nullptr) != ZE_RESULT_SUCCESS ||
                                      list.wait() != ZE_RESULT_SUCCESS))
                return 7;
            if (!sendAll(channel, &same, 1))
                return 8;
        }
    }
    if (zeMemCloseIpcHandle(context, pointer) != ZE_RESULT_SUCCESS ||
        zeContextDestroy(context) != ZE_RESULT_SUCCESS)
        return 9;
    return 0;
}
ChildRegistration importerChild("compression_importer", importer);

class Compression : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !hasExtension(ZE_MEMORY_COMPRESSION_HINTS_EXT_NAME))
            GTEST_SKIP() << "no device compresses";
    }

    /* With the hint, or without any when flags are 0. */
    Buffer allocate(uint32_t flags, size_t size = kSize) {
        auto hint = hintOf(flags);
        auto desc = deviceDesc(flags != 0 ? &hint : nullptr);
        void* pointer = nullptr;
        EXPECT_OK(zeMemAllocDevice(context_, &desc, size, 0, device_, &pointer));
        return {context_, pointer};
    }

    void fill(void* pointer, const std::vector<uint8_t>& pattern, size_t size = kSize) {
        ASSERT_OK(zeCommandListAppendMemoryFill(list().get(), pointer, pattern.data(),
                                                pattern.size(), size, nullptr, 0, nullptr));
        ASSERT_OK(list().wait());
    }

    /* Whether the device, by way of a host allocation, finds the pattern. */
    bool reads(const void* pointer, const std::vector<uint8_t>& pattern) {
        const std::vector<uint8_t> bytes = readBack(pointer, kSize);
        return firstOffPattern(bytes.data(), kSize, pattern) == -1;
    }

    /* The memory as the CPU sees it by its dma-buf. */
    Mapping cpuView(const void* pointer) {
        int fd = -1;
        EXPECT_OK(exportDescriptor(context_, pointer, fd));
        return Mapping::ofFile(fd, kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
    }
};

TEST_F(Compression, ResultsOfAllCalls) {
    for (uint32_t flags = 0; flags < 8; flags++) {
        SCOPED_TRACE(flags);
        const ze_result_t expected = flags == kCompressed || flags == kUncompressed
                                         ? ZE_RESULT_SUCCESS
                                         : ZE_RESULT_ERROR_INVALID_ENUMERATION;
        auto hint = hintOf(flags);
        auto onDevice = deviceDesc(&hint);
        auto onHost = hostDesc(&hint);
        auto plainDevice = deviceDesc();
        auto plainHost = hostDesc();
        ze_physical_mem_desc_t physical{};
        physical.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        physical.pNext = &hint;
        physical.size = 2 * kMiB;
        void* pointer = nullptr;
        ze_physical_mem_handle_t object = nullptr;

        EXPECT_ZE(expected, zeMemAllocDevice(context_, &onDevice, kPage, 0, device_, &pointer));
        if (expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        EXPECT_ZE(expected, zeMemAllocHost(context_, &onHost, kPage, 0, &pointer));
        if (expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        EXPECT_ZE(expected,
                  zeMemAllocShared(context_, &onDevice, &plainHost, kPage, 0, device_, &pointer));
        if (expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        EXPECT_ZE(expected,
                  zeMemAllocShared(context_, &plainDevice, &onHost, kPage, 0, device_, &pointer));
        if (expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        EXPECT_ZE(expected, zePhysicalMemCreate(context_, device_, &physical, &object));
        if (expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zePhysicalMemDestroy(context_, object));
        }
    }
}

/* The claim of the hint, by the device's own counters. */
TEST_F(Compression, FillsAndCopiesMoveAlmostNothing) {
    constexpr size_t kLarge = 64 * kMiB;
    const std::vector<uint8_t> pattern = {0xde, 0xad, 0xbe, 0xef};
    int64_t moved[3];
    for (uint32_t flags : {uint32_t{0}, kCompressed, kUncompressed}) {
        Buffer first = allocate(flags, kLarge);
        Buffer second = allocate(flags, kLarge);
        ASSERT_TRUE(first && second);
        const int64_t before = movedBytes();
        fill(first.get(), pattern, kLarge);
        ASSERT_OK(list().copy(second.get(), first.get(), kLarge));
        moved[flags] = movedBytes() - before;
        EXPECT_TRUE(reads(second.bytes() + kLarge - kSize, pattern));
    }
    EXPECT_LT(moved[kCompressed] * 100, moved[kUncompressed]);
    EXPECT_GE(moved[kUncompressed], static_cast<int64_t>(3 * kLarge));
    EXPECT_GE(moved[0], static_cast<int64_t>(3 * kLarge)) << "the default is uncompressed";
}

TEST_F(Compression, PhysicalMemoryInTwoMappings) {
    const std::vector<uint8_t> pattern = {1, 2, 3, 4, 5, 6, 7, 8};
    auto hint = hintOf(kCompressed);
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    desc.pNext = &hint;
    desc.size = kSize;
    ze_physical_mem_handle_t object = nullptr;
    void* range = nullptr;
    ASSERT_OK(zePhysicalMemCreate(context_, device_, &desc, &object));
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 2 * kSize, &range));
    auto* first = static_cast<uint8_t*>(range);
    for (uint8_t* at : {first, first + kSize})
        ASSERT_OK(
            zeVirtualMemMap(context_, at, kSize, object, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    const int64_t before = deviceCounter("pages_compressed");
    fill(first, pattern);
    EXPECT_EQ(static_cast<int64_t>(kSize / kPage), deviceCounter("pages_compressed") - before);
    EXPECT_TRUE(reads(first + kSize, pattern));
    EXPECT_TRUE(reads(first, pattern));
    ASSERT_OK(zeVirtualMemUnmap(context_, range, 2 * kSize));
    ASSERT_OK(zeVirtualMemFree(context_, range, 2 * kSize));
    ASSERT_OK(zePhysicalMemDestroy(context_, object));
}

/* Case 42: CPU by dma-buf, importer and device agree, whatever came first. */
TEST_F(Compression, EveryReaderFindsTheSame) {
    const std::vector<uint8_t> pattern = bytesOf(0x0badcafe);
    const std::vector<uint8_t> complement = bytesOf(~uint32_t{0x0badcafe});
    for (const bool sharedFirst : {false, true}) {
        for (const bool cpuFirst : {false, true}) {
            SCOPED_TRACE(std::string(sharedFirst ? "shared" : "written") + " first, " +
                         (cpuFirst ? "CPU" : "importer") + " first");
            Buffer buffer = allocate(kCompressed);
            ASSERT_TRUE(buffer);
            ze_ipc_mem_handle_t handle{};
            Mapping cpu;
            Child child("compression_importer");
            uint8_t answer = 0;
            ImportOrder order{{}, kSize, 0x0badcafe, 0};
            const auto share = [&] {
                ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
                order.handle = handle;
                ASSERT_TRUE(child.send(&order, sizeof order));
                ASSERT_TRUE(child.receive(&answer, 1));
                cpu = cpuView(buffer.get());
                ASSERT_TRUE(cpu);
            };
            const auto importerFinds = [&] {
                answer = 0;
                EXPECT_TRUE(child.send(&order, sizeof order));
                EXPECT_TRUE(child.receive(&answer, 1));
                return answer == 1;
            };

            if (sharedFirst)
                share();
            fill(buffer.get(), pattern);
            if (!sharedFirst)
                share();
            if (cpuFirst) {
                EXPECT_EQ(-1, firstOffPattern(cpu.get(), kSize, pattern));
                EXPECT_TRUE(importerFinds());
            } else {
                EXPECT_TRUE(importerFinds());
                EXPECT_EQ(-1, firstOffPattern(cpu.get(), kSize, pattern));
            }
            EXPECT_TRUE(reads(buffer.get(), pattern));
            // What the importer's device writes all others see, and what the CPU writes, too.
            order.writes = 1;
            EXPECT_TRUE(importerFinds());
            EXPECT_EQ(-1, firstOffPattern(cpu.get(), kSize, complement));
            EXPECT_TRUE(reads(buffer.get(), complement));
            std::memset(cpu.get(), 0x33, kSize);
            order.pattern = 0x33333333;
            order.writes = 0;
            EXPECT_TRUE(importerFinds());
            EXPECT_TRUE(reads(buffer.get(), bytesOf(0x33333333)));
            EXPECT_EQ(0, shutdown(child.channel(), SHUT_WR));
            EXPECT_EQ(0, child.wait());
            EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        }
    }
}

/* A copy from a compressed allocation is one like any other, wherever it goes. */
TEST_F(Compression, CopiesBetweenKindsAtAnyAlignment) {
    const std::vector<uint8_t> pattern = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16};
    Buffer compressed = allocate(kCompressed);
    Buffer other = allocate(kCompressed);
    Buffer plain = allocate(kUncompressed);
    Buffer host = Buffer::host(context_, kSize);
    ASSERT_TRUE(compressed && other && plain && host);
    fill(compressed.get(), pattern);
    for (size_t shift : {size_t{0}, size_t{16}, kPage, kPage + 48}) {
        for (Buffer* to : {&other, &plain, &host}) {
            SCOPED_TRACE(shift);
            // A page at the end stays as it was.
            const std::vector<uint8_t> old = {0x55};
            fill(to->get(), old);
            ASSERT_OK(list().copy(to->bytes() + shift, compressed.bytes(), kSize - 2 * kPage));
            const std::vector<uint8_t> seen = readBack(to->get(), kSize);
            EXPECT_EQ(-1, firstDifferent(seen.data(), shift, 0x55));
            EXPECT_EQ(-1, firstOffPattern(seen.data() + shift, kSize - 2 * kPage, pattern));
            EXPECT_EQ(-1, firstDifferent(seen.data() + shift + kSize - 2 * kPage, 2 * kPage - shift,
                                         0x55));
        }
    }
}

} // namespace
