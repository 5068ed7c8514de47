// SPDX-License-Identifier: MIT
// Sizes around 2 and 4 GiB (case 32), and a range of 65,536 objects.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "physical.h"

using namespace vze::test;

namespace {

constexpr uint64_t kGiB = 1ULL << 30;
constexpr uint64_t kSizes[] = {2 * kGiB - kPage, 2 * kGiB, 4 * kGiB};

uint64_t availableMemory() {
    std::ifstream info("/proc/meminfo");
    std::string key, unit;
    uint64_t value = 0;
    while (info >> key >> value >> unit) {
        if (key == "MemAvailable:")
            return value * 1024;
    }
    return 0;
}

class IpcLarge : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        ze_context_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
        ASSERT_OK(zeContextCreateEx(driver_, &desc, 1, &device_, &one_));
    }
    void TearDown() override {
        EXPECT_OK(zeContextDestroy(one_));
        GpuTest::TearDown();
    }

    uint64_t deviceMemory() {
        uint32_t count = 1;
        ze_device_memory_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
        EXPECT_OK(zeDeviceGetMemoryProperties(device_, &count, &properties));
        return properties.totalSize;
    }

    /* The last word, and the words on both sides of 2 GiB, are the ones that were written. */
    void expectWords(const uint8_t* exported, const uint8_t* opened, uint64_t size) {
        ImmediateList list(one_, device_);
        for (const uint64_t at :
             {uint64_t{0}, 2 * kGiB - kPage - 8, 2 * kGiB - 8, 2 * kGiB, 4 * kGiB - 8, size - 8}) {
            if (at + 8 > size)
                continue;
            uint64_t word = 0xfeed0000'00000000 | at, seen = 0;
            ASSERT_OK(list.copy(const_cast<uint8_t*>(exported) + at, &word, 8));
            ASSERT_OK(list.copy(&seen, opened + at, 8));
            EXPECT_EQ(word, seen) << "at " << at;
            word = ~word;
            ASSERT_OK(list.copy(const_cast<uint8_t*>(opened) + at, &word, 8));
            ASSERT_OK(list.copy(&seen, exported + at, 8));
            EXPECT_EQ(word, seen) << "at " << at;
        }
    }

    ze_context_handle_t one_ = nullptr; // with the first device only
};

/* Of these sizes, with the memory of small ones: one object many times, and others at the ends. */
TEST_F(IpcLarge, Ranges) {
    constexpr uint64_t kPiece = 16 * kMiB;
    PhysicalMemory body(one_, deviceOfHostObjects(), kPiece, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    PhysicalMemory middle(one_, deviceOfHostObjects(), 2 * kPage,
                          ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    PhysicalMemory tail(one_, deviceOfHostObjects(), kPage, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    for (const uint64_t size : kSizes) {
        SCOPED_TRACE(size);
        Reservation reservation(one_, size);
        auto map = [&](uint64_t from, uint64_t bytes, PhysicalMemory& object) {
            ASSERT_OK(zeVirtualMemMap(one_, reservation.bytes() + from, bytes, object.get(), 0,
                                      ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        };
        auto fill = [&](uint64_t from, uint64_t to) {
            for (uint64_t at = from; at < to; at += kPiece)
                map(at, std::min(kPiece, to - at), body);
        };
        if (size > 2 * kGiB) {
            fill(0, 2 * kGiB - kPage);
            map(2 * kGiB - kPage, 2 * kPage, middle);
            fill(2 * kGiB + kPage, size - kPage);
        } else {
            fill(0, size - kPage);
        }
        map(size - kPage, kPage, tail);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(getRange(one_, reservation.get(), size, &handle));
        {
            Opened opened(one_, device_, handle);
            ASSERT_OK(opened.result());
            size_t seen = 0;
            void* base = nullptr;
            EXPECT_OK(zeMemGetAddressRange(one_, opened.bytes() + size - 1, &base, &seen));
            EXPECT_EQ(size, seen);
            EXPECT_EQ(opened.get(), base);
            expectWords(reservation.bytes(), opened.bytes(), size);
            opened.bytes()[size - 1] = 0x99; // the CPU's last byte
            EXPECT_EQ(0x99, reservation.bytes()[size - 1]);
        }
        Peer peer;
        uint32_t slot = 0;
        ASSERT_OK(peer.open(handle, &slot));
        writePattern(reservation.bytes() + size - kPage, kPage, 5);
        EXPECT_EQ(-1, peer.mismatch(slot, size - kPage, kPage, 5));
        EXPECT_EQ(-1, peer.cpuMismatch(slot, size - kPage, kPage, 5));
        EXPECT_EQ(0, peer.finish());
        EXPECT_OK(zeMemPutIpcHandle(one_, handle));
    }
}

/* Objects of these sizes, as far as there is memory for them (scripts/vm run --vram 5G). */
TEST_F(IpcLarge, Objects) {
    std::string skipped;
    unsigned done = 0;
    for (const uint64_t size : kSizes) {
        SCOPED_TRACE(size);
        const bool onDevice = deviceMemory() >= size + 64 * kMiB;
        if (!onDevice && availableMemory() < size + kGiB) {
            skipped += " " + std::to_string(size);
            continue;
        }
        PhysicalMemory object(one_, onDevice ? device_ : nullptr, size,
                              onDevice ? ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
                                       : ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
        if (!object.get())
            continue;
        Reservation reservation(one_, size);
        ASSERT_OK(zeVirtualMemMap(one_, reservation.get(), size, object.get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandleWithProperties(one_, object.get(), nullptr, &handle));
        Opened opened(one_, device_, handle);
        ASSERT_OK(opened.result());
        size_t seen = 0;
        EXPECT_OK(zeMemGetAddressRange(one_, opened.get(), nullptr, &seen));
        EXPECT_EQ(size, seen);
        expectWords(reservation.bytes(), opened.bytes(), size);
        opened.close();
        EXPECT_OK(zeMemPutIpcHandle(one_, handle));
        done++;
    }
    if (!skipped.empty())
        std::printf("no memory for objects of%s bytes\n", skipped.c_str());
    if (!done)
        GTEST_SKIP() << "neither device nor system memory has room for 2 GiB (--vram 5G)";
}

/* As many objects as a process can have mappings, in system memory: the VRAM need not hold them. */
TEST_F(IpcLarge, RangeOf65536Objects) {
    const size_t kObjects = roundsHere(65536);
    const uint64_t objectSize = kPage;
    if (availableMemory() < 2 * kObjects * objectSize + kGiB / 2)
        GTEST_SKIP() << "the machine has not enough memory for 65,536 pages and their tables";
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    desc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
    desc.size = objectSize;
    std::vector<ze_physical_mem_handle_t> objects(kObjects);
    const size_t descriptors = openDescriptors();
    {
        Reservation reservation(one_, kObjects * objectSize);
        for (size_t i = 0; i < kObjects; i++) {
            ASSERT_OK(zePhysicalMemCreate(one_, deviceOfHostObjects(), &desc, &objects[i]));
            // In an order in which no two neighbours follow each other.
            const size_t at = i * 32771 % kObjects; // a power of two
            ASSERT_OK(zeVirtualMemMap(one_, reservation.bytes() + at * objectSize, objectSize,
                                      objects[i], 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
            std::memcpy(reservation.bytes() + at * objectSize, &at, sizeof at);
        }
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(getRange(one_, reservation.get(), reservation.size(), &handle));
        Opened opened(one_, device_, handle);
        ASSERT_OK(opened.result());
        EXPECT_LT(openDescriptors(), descriptors + 8);
        ImmediateList list(one_, device_);
        std::vector<uint8_t> seen(kMiB);
        for (size_t at = 0; at < reservation.size(); at += seen.size()) {
            ASSERT_OK(list.copy(seen.data(), opened.bytes() + at, seen.size()));
            for (size_t i = 0; i < seen.size() / objectSize; i++) {
                const size_t expected = at / objectSize + i;
                ASSERT_EQ(0, std::memcmp(seen.data() + i * objectSize, &expected, sizeof expected));
            }
        }
        for (size_t at = 0; at < kObjects; at++)
            ASSERT_EQ(0, std::memcmp(opened.bytes() + at * objectSize, &at, sizeof at));
        // Unchanged: the same identity. One object less: another.
        ze_ipc_mem_handle_t again{};
        ASSERT_OK(getRange(one_, reservation.get(), reservation.size(), &again));
        EXPECT_EQ(identityOf(one_, handle), identityOf(one_, again));
        EXPECT_OK(zeMemPutIpcHandle(one_, again));
        ASSERT_OK(getRange(one_, reservation.get(), reservation.size() - objectSize, &again));
        EXPECT_NE(identityOf(one_, handle), identityOf(one_, again));
        EXPECT_OK(zeMemPutIpcHandle(one_, again));
        opened.close();
        EXPECT_OK(zeMemPutIpcHandle(one_, handle));
    }
    for (ze_physical_mem_handle_t object : objects)
        EXPECT_OK(zePhysicalMemDestroy(one_, object));
}

} // namespace
