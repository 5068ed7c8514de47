// SPDX-License-Identifier: MIT
// zePhysicalMem*: objects in device and host memory, and their mappings seen by the CPU.
#include <cstring>
#include <set>

#include "fixture.h"
#include "physical.h"

using namespace vze::test;

namespace {

class PhysicalMem : public GpuTest {};

TEST_F(PhysicalMem, Properties) {
    std::set<uint64_t> ids;
    for (int i = 0; i < 8; i++) {
        PhysicalMemory object(context_, device_, 2 * kMiB);
        ze_physical_mem_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES;
        EXPECT_OK(zePhysicalMemGetProperties(context_, object.get(), &properties));
        EXPECT_EQ(2 * kMiB, properties.size);
        EXPECT_TRUE(ids.insert(properties.id).second) << "an id was used again";
    }
    PhysicalMemory object(context_, device_, 2 * kMiB);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zePhysicalMemGetProperties(context_, object.get(), nullptr));
}

TEST_F(PhysicalMem, CreateErrors) {
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    desc.size = kPage;
    ze_physical_mem_handle_t handle = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zePhysicalMemCreate(context_, device_, nullptr, &handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zePhysicalMemCreate(context_, device_, &desc, nullptr));
    desc.size = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              zePhysicalMemCreate(context_, device_, &desc, &handle));
    desc.size = kPage + 1;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
              zePhysicalMemCreate(context_, device_, &desc, &handle));
    desc.size = kPage;
    desc.flags = 4;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zePhysicalMemCreate(context_, device_, &desc, &handle));
    desc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE | ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zePhysicalMemCreate(context_, device_, &desc, &handle));
    desc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
    desc.size = size_t{1} << 44;
    EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
              zePhysicalMemCreate(context_, device_, &desc, &handle));
}

TEST_F(PhysicalMem, DeviceMemoryNeedsADevice) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    desc.size = kPage;
    ze_physical_mem_handle_t handle = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zePhysicalMemCreate(context_, nullptr, &desc, &handle));
}

/* Host memory is of no device: none has to be named, and one that is makes no difference. */
TEST_F(PhysicalMem, HostMemoryNeedsNoDevice) {
    for (ze_device_handle_t device : {device_, ze_device_handle_t{}}) {
        ze_physical_mem_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        desc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
        desc.size = kPage;
        ze_physical_mem_handle_t handle = nullptr;
        ASSERT_OK(zePhysicalMemCreate(context_, device, &desc, &handle));
        EXPECT_OK(zePhysicalMemDestroy(context_, handle));
    }
}

TEST_F(PhysicalMem, NewObjectsAreZero) {
    for (uint32_t flags : {uint32_t{ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE},
                           uint32_t{ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST}}) {
        for (int round = 0; round < 3; round++) {
            PhysicalMemory object(context_, device_, 2 * kMiB, flags);
            Reservation reservation(context_, 2 * kMiB);
            ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 2 * kMiB, object.get(), 0,
                                      ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
            std::vector<uint8_t> seen = readBack(reservation.get(), 2 * kMiB);
            EXPECT_EQ(-1, firstDifferent(seen.data(), seen.size(), 0));
            EXPECT_OK(list().fill(reservation.get(), 0x4e, 2 * kMiB));
        }
    }
}

TEST_F(PhysicalMem, HostObjectsAreSeenByTheCpu) {
    PhysicalMemory object(context_, deviceOfHostObjects(), 4 * kPage,
                          ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    ASSERT_NE(nullptr, object.get());
    Reservation reservation(context_, 8 * kPage);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + kPage, 3 * kPage, object.get(), kPage,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    uint8_t* mapped = reservation.bytes() + kPage;
    writePattern(mapped, 3 * kPage, 14);
    std::vector<uint8_t> seen = readBack(mapped, 3 * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 14));
    EXPECT_OK(list().fill(mapped + kPage, 0x12, kPage));
    EXPECT_EQ(-1, firstDifferent(mapped + kPage, kPage, 0x12));
    EXPECT_EQ(-1, firstMismatch(mapped, kPage, 14));
    EXPECT_EQ(-1, firstMismatch(mapped + 2 * kPage, kPage, 14, 2 * kPage));
    // Moved within the reservation, the bytes move along.
    EXPECT_OK(zeVirtualMemUnmap(context_, mapped, 3 * kPage));
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 4 * kPage, 4 * kPage, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT_EQ(-1, firstMismatch(reservation.bytes() + 5 * kPage, kPage, 14));
    EXPECT_EQ(-1, firstDifferent(reservation.bytes() + 4 * kPage, kPage, 0));
}

TEST_F(PhysicalMem, ManyHostObjectsInOneReservation) {
    constexpr size_t kCount = 512;
    Reservation reservation(context_, kCount * kPage);
    std::vector<std::unique_ptr<PhysicalMemory>> objects;
    for (size_t i = 0; i < kCount; i++) {
        objects.push_back(std::make_unique<PhysicalMemory>(context_, device_, kPage,
                                                           ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST));
        ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + i * kPage, kPage,
                                  objects.back()->get(), 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    }
    writePattern(reservation.get(), kCount * kPage, 3);
    std::vector<uint8_t> seen = readBack(reservation.get(), kCount * kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 3));
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), kCount * kPage));
}

TEST_F(PhysicalMem, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_physical_mem_properties_t properties{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zePhysicalMemGetProperties(context_, nullptr, &properties));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zePhysicalMemDestroy(context_, nullptr));
}

} // namespace
