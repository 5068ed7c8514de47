// SPDX-License-Identifier: MIT
#include <cstring>

#include <unistd.h>

#include "fixture.h"

using namespace vze::test;

namespace {

class Device : public GpuTest {
protected:
    ze_device_properties_t properties() {
        ze_device_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
        EXPECT_OK(zeDeviceGetProperties(device_, &properties));
        return properties;
    }
    ze_device_memory_properties_t memory() {
        uint32_t count = 0;
        EXPECT_OK(zeDeviceGetMemoryProperties(device_, &count, nullptr));
        EXPECT_EQ(1u, count);
        ze_device_memory_properties_t memory{};
        memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
        count = 1;
        EXPECT_OK(zeDeviceGetMemoryProperties(device_, &count, &memory));
        return memory;
    }
};

TEST_F(Device, Properties) {
    const auto p = properties();
    EXPECT_EQ(ZE_DEVICE_TYPE_GPU, p.type);
    EXPECT_EQ(0x1af4u, p.vendorId);
    EXPECT_EQ(0x1110u, p.deviceId);
    EXPECT_NE('\0', p.name[0]);
    const ze_device_uuid_t none{};
    EXPECT_NE(0, std::memcmp(&none, &p.uuid, sizeof none));
    EXPECT_GT(p.timerResolution, 0u);
    EXPECT_GT(p.timestampValidBits, 0u);
    EXPECT_LE(p.timestampValidBits, 64u);
    EXPECT_GT(p.kernelTimestampValidBits, 0u);
    EXPECT_FALSE(p.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
    EXPECT_GT(p.maxMemAllocSize, 0u);
    EXPECT_LT(p.maxMemAllocSize, memory().totalSize)
        << "else the relaxed limits would have nothing to relax";
}

TEST_F(Device, PropertiesOfEachExtensionAreFilledIn) {
    ze_event_query_kernel_timestamps_ext_properties_t timestamps{};
    timestamps.stype = ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_PROPERTIES;
    timestamps.flags = 0xf0;
    ze_device_readonly_memory_ext_properties_t readonly{};
    readonly.stype = ZE_STRUCTURE_TYPE_DEVICE_READONLY_MEMORY_EXT_PROPERTIES;
    readonly.pNext = &timestamps;
    readonly.readonlyCapability = ZE_DEVICE_READONLY_MEMORY_CAPABILITY_FORCE_UINT32;
    ze_device_usablemem_size_ext_properties_t usable{};
    usable.stype = ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES;
    usable.pNext = &readonly;
    usable.currUsableMemSize = ~0ull;
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    properties.pNext = &usable;
    ASSERT_OK(zeDeviceGetProperties(device_, &properties));
    EXPECT_EQ(uint32_t{ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_KERNEL |
                       ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_SYNCHRONIZED},
              timestamps.flags);
    EXPECT_EQ(ZE_DEVICE_READONLY_MEMORY_CAPABILITY_ENFORCED, readonly.readonlyCapability);
    EXPECT_LT(0u, usable.currUsableMemSize);
    EXPECT_GT(uint64_t{1} << 40, usable.currUsableMemSize);
}

TEST_F(Device, TimerResolutionIsInTheUnitAskedFor) {
    const auto nanoseconds = properties();
    ze_device_properties_t hertz{};
    hertz.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    ASSERT_OK(zeDeviceGetProperties(device_, &hertz));
    EXPECT_EQ(1'000'000'000u / nanoseconds.timerResolution, hertz.timerResolution);
}

TEST_F(Device, MemoryProperties) {
    const auto m = memory();
    EXPECT_GE(m.totalSize, 16 * kMiB);
    EXPECT_NE(0u, m.maxBusWidth);
    EXPECT_NE('\0', m.name[0]);
}

TEST_F(Device, MemoryAccessProperties) {
    ze_device_memory_access_properties_t access{};
    access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
    ASSERT_OK(zeDeviceGetMemoryAccessProperties(device_, &access));
    EXPECT_TRUE(access.hostAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
    EXPECT_TRUE(access.deviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
    EXPECT_TRUE(access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
    EXPECT_EQ(0u, access.sharedSystemAllocCapabilities)
        << "the device cannot reach memory that was not imported";
}

TEST_F(Device, OneQueueGroupForCopies) {
    uint32_t count = 0;
    ASSERT_OK(zeDeviceGetCommandQueueGroupProperties(device_, &count, nullptr));
    ASSERT_EQ(1u, count);
    ze_command_queue_group_properties_t group{};
    group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    ASSERT_OK(zeDeviceGetCommandQueueGroupProperties(device_, &count, &group));
    EXPECT_EQ(uint32_t{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY}, group.flags);
    EXPECT_EQ(128u, group.maxMemoryFillPatternSize);
    EXPECT_GE(group.numQueues, 16u);
}

TEST_F(Device, HasNoComputeImagesOrCachesToSpeakOf) {
    ze_device_image_properties_t image{};
    image.stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES;
    image.maxImageDims1D = image.maxReadImageArgs = 7;
    ASSERT_OK(zeDeviceGetImageProperties(device_, &image));
    EXPECT_EQ(ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES, image.stype);
    EXPECT_EQ(0u, image.maxImageDims1D);
    EXPECT_EQ(0u, image.maxImageDims2D);
    EXPECT_EQ(0u, image.maxImageDims3D);
    EXPECT_EQ(0u, image.maxImageBufferSize);
    EXPECT_EQ(0u, image.maxReadImageArgs);
    ze_device_module_properties_t module{};
    module.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
    ASSERT_OK(zeDeviceGetModuleProperties(device_, &module));
    EXPECT_EQ(0u, module.spirvVersionSupported);
    uint32_t caches = 0;
    EXPECT_OK(zeDeviceGetCacheProperties(device_, &caches, nullptr));
}

TEST_F(Device, HasNoSubdevices) {
    uint32_t count = 7;
    count = 0;
    EXPECT_OK(zeDeviceGetSubDevices(device_, &count, nullptr));
    EXPECT_EQ(0u, count);
    ze_device_handle_t root = device_;
    EXPECT_OK(zeDeviceGetRootDevice(device_, &root));
    EXPECT_EQ(nullptr, root);
}

TEST_F(Device, CanAccessItself) {
    ze_bool_t can = 0;
    EXPECT_OK(zeDeviceCanAccessPeer(device_, device_, &can));
    EXPECT_TRUE(can);
}

TEST_F(Device, StatusAndSynchronize) {
    EXPECT_OK(zeDeviceGetStatus(device_));
    EXPECT_OK(zeDeviceSynchronize(device_));
}

TEST_F(Device, GlobalTimestampsGoForward) {
    uint64_t host[2], device[2];
    ASSERT_OK(zeDeviceGetGlobalTimestamps(device_, &host[0], &device[0]));
    ASSERT_OK(zeDeviceGetGlobalTimestamps(device_, &host[1], &device[1]));
    EXPECT_GT(host[1], host[0]);
    EXPECT_GT(device[1], device[0]);
}

TEST_F(Device, PciProperties) {
    ze_pci_ext_properties_t pci{};
    pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
    ASSERT_OK(zeDevicePciGetPropertiesExt(device_, &pci));
    char path[128];
    std::snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/vendor",
                  pci.address.domain, pci.address.bus, pci.address.device, pci.address.function);
    EXPECT_EQ(0, access(path, R_OK)) << path;
    EXPECT_NE(0, pci.maxSpeed.genVersion);
    EXPECT_NE(0, pci.maxSpeed.width);
    EXPECT_NE(0, pci.maxSpeed.maxBandwidth);
}

TEST_F(Device, ExternalMemoryProperties) {
    ze_device_external_memory_properties_t external{};
    external.stype = ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES;
    ASSERT_OK(zeDeviceGetExternalMemoryProperties(device_, &external));
    EXPECT_EQ(0u, external.imageImportTypes);
    EXPECT_EQ(0u, external.imageExportTypes);
    const uint32_t known =
        ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF | ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
    EXPECT_EQ(0u, external.memoryAllocationImportTypes & ~known);
    EXPECT_EQ(0u, external.memoryAllocationExportTypes & ~known);
}

TEST_F(Device, NullPointers) {
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDeviceGetProperties(device_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceGetMemoryProperties(device_, nullptr, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceGetCommandQueueGroupProperties(device_, nullptr, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceGetMemoryAccessProperties(device_, nullptr));
    uint64_t value = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceGetGlobalTimestamps(device_, nullptr, &value));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceGetGlobalTimestamps(device_, &value, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDeviceCanAccessPeer(device_, device_, nullptr));
}

TEST_F(Device, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_device_properties_t properties{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDeviceGetProperties(nullptr, &properties));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDeviceGetStatus(nullptr));
    ze_bool_t can = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDeviceCanAccessPeer(device_, nullptr, &can));
}

} // namespace
