// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/descriptor_chain.h"
#include "core/device.h"
#include "core/driver.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Fills a list of one entry by the rules of counted queries: 0 or no array asks for the number.
template <typename Entry, typename Fill>
ze_result_t oneEntry(uint32_t* pCount, Entry* entries, Fill&& fill) {
    VZE_CHECK_POINTER(pCount);
    if (*pCount != 0 && entries != nullptr)
        fill(entries[0]);
    *pCount = 1;
    return ZE_RESULT_SUCCESS;
}

/// Every property 0; the chain stays.
template <typename Properties>
void zeroProperties(Properties& properties) {
    const auto stype = properties.stype;
    void* const next = properties.pNext;
    properties = {};
    properties.stype = stype;
    properties.pNext = next;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeDeviceGet(ze_driver_handle_t hDriver, uint32_t* pCount,
                                   ze_device_handle_t* phDevices) {
    ApiCall call("zeDeviceGet");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(pCount);
    const auto devices = driver->devices();
    const auto available = static_cast<uint32_t>(devices.size());
    if (*pCount == 0 || *pCount > available)
        *pCount = available;
    if (phDevices != nullptr)
        for (uint32_t i = 0; i < *pCount; ++i)
            phDevices[i] = devices[i]->handle();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t hDevice,
                                             ze_device_handle_t* phRootDevice) {
    ApiCall call("zeDeviceGetRootDevice");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(phRootDevice);
    *phRootDevice = nullptr; // every device is a root device
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetSubDevices(ze_device_handle_t hDevice, uint32_t* pCount,
                                             ze_device_handle_t*) {
    ApiCall call("zeDeviceGetSubDevices");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pCount);
    *pCount = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetProperties(ze_device_handle_t hDevice,
                                             ze_device_properties_t* pDeviceProperties) {
    ApiCall call("zeDeviceGetProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pDeviceProperties);
    const drm_vze_query_device& info = device->info();
    ze_device_properties_t& out = *pDeviceProperties;
    out.type = ZE_DEVICE_TYPE_GPU;
    out.vendorId = info.pci_vendor_id;
    out.deviceId = info.pci_device_id;
    out.flags = 0;
    out.subdeviceId = 0;
    out.coreClockRate = 0; // no clock of its own
    out.maxMemAllocSize = device->maxTransfer();
    out.maxHardwareContexts = info.num_queues;
    out.maxCommandQueuePriority = DRM_VZE_PRIORITY_HIGH;
    // Engines stand for the units of a shader array: there is none.
    out.numThreadsPerEU = 1;
    out.physicalEUSimdWidth = 1;
    out.numEUsPerSubslice = 1;
    out.numSubslicesPerSlice = 1;
    out.numSlices = std::max(info.num_engines, 1u);
    const bool perSecond = out.stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    out.timerResolution =
        perSecond ? info.timestamp_hz
                  : std::max<uint64_t>(kNsPerSecond / std::max<uint64_t>(info.timestamp_hz, 1), 1);
    out.timestampValidBits = 64;
    out.kernelTimestampValidBits = 64;
    static_assert(sizeof(info.uuid) == sizeof(out.uuid.id));
    memcpy(out.uuid.id, info.uuid, sizeof(out.uuid.id));
    memset(out.name, 0, sizeof(out.name));
    strncpy(out.name, device->name(), sizeof(out.name) - 1);

    return forEachProperty(out.pNext, [device](PropertyHeader& header) -> ze_result_t {
        if (header.stype == ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES) {
            drm_vze_query_memory memory{};
            if (int error = device->file().queryMemory(memory))
                return failErrno(error, "memory query");
            // What is yet to be cleared can be allocated; what a deferred free waits with cannot.
            reinterpret_cast<ze_device_usablemem_size_ext_properties_t&>(header).currUsableMemSize =
                memory.vram_free;
        } else if (header.stype == ZE_STRUCTURE_TYPE_DEVICE_READONLY_MEMORY_EXT_PROPERTIES) {
            reinterpret_cast<ze_device_readonly_memory_ext_properties_t&>(header)
                .readonlyCapability = ZE_DEVICE_READONLY_MEMORY_CAPABILITY_ENFORCED;
        } else if (header.stype == ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_PROPERTIES) {
            reinterpret_cast<ze_event_query_kernel_timestamps_ext_properties_t&>(header).flags =
                ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_KERNEL |
                ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_SYNCHRONIZED;
        }
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeDeviceGetComputeProperties(
    ze_device_handle_t hDevice, ze_device_compute_properties_t* pComputeProperties) {
    ApiCall call("zeDeviceGetComputeProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pComputeProperties);
    // The device runs no kernels: no group fits.
    zeroProperties(*pComputeProperties);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetModuleProperties(
    ze_device_handle_t hDevice, ze_device_module_properties_t* pModuleProperties) {
    ApiCall call("zeDeviceGetModuleProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pModuleProperties);
    zeroProperties(*pModuleProperties);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetCommandQueueGroupProperties(
    ze_device_handle_t hDevice, uint32_t* pCount,
    ze_command_queue_group_properties_t* pCommandQueueGroupProperties) {
    ApiCall call("zeDeviceGetCommandQueueGroupProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    static_assert(Device::kQueueGroups == 1);
    return oneEntry(pCount, pCommandQueueGroupProperties,
                    [device](ze_command_queue_group_properties_t& group) {
                        group.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
                        group.maxMemoryFillPatternSize = Device::kMaxFillPattern;
                        group.numQueues = device->queuesInGroup();
                    });
}

ze_result_t ZE_APICALL zeDeviceGetMemoryProperties(ze_device_handle_t hDevice, uint32_t* pCount,
                                                   ze_device_memory_properties_t* pMemProperties) {
    ApiCall call("zeDeviceGetMemoryProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    return oneEntry(pCount, pMemProperties, [device](ze_device_memory_properties_t& memory) {
        memory.flags = 0;
        memory.maxClockRate = 0; // memory of a process: no clock of its own
        memory.maxBusWidth = 64; // bits that an atomic access of the device moves
        memory.totalSize = device->info().vram_size;
        memset(memory.name, 0, sizeof(memory.name));
        strncpy(memory.name, "VRAM", sizeof(memory.name) - 1);
        forEachProperty(memory.pNext, [device](PropertyHeader& header) {
            if (header.stype == ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES) {
                auto& extended = reinterpret_cast<ze_device_memory_ext_properties_t&>(header);
                extended.type = ZE_DEVICE_MEMORY_EXT_TYPE_DDR;
                extended.physicalSize = device->info().vram_size;
                extended.readBandwidth = 0; // not known
                extended.writeBandwidth = 0;
                extended.bandwidthUnit = ZE_BANDWIDTH_UNIT_UNKNOWN;
            }
            return ZE_RESULT_SUCCESS;
        });
    });
}

ze_result_t ZE_APICALL zeDeviceGetMemoryAccessProperties(
    ze_device_handle_t hDevice, ze_device_memory_access_properties_t* pMemAccessProperties) {
    ApiCall call("zeDeviceGetMemoryAccessProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pMemAccessProperties);
    // System memory is coherent: CPU and devices may use it at the same time.
    const ze_memory_access_cap_flags_t coherent =
        ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT;
    pMemAccessProperties->hostAllocCapabilities = coherent;
    pMemAccessProperties->deviceAllocCapabilities = coherent;
    pMemAccessProperties->sharedSingleDeviceAllocCapabilities = coherent;
    pMemAccessProperties->sharedCrossDeviceAllocCapabilities = coherent;
    // Memory that was not allocated here has to be imported (copies do that by themselves).
    pMemAccessProperties->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetCacheProperties(ze_device_handle_t hDevice, uint32_t* pCount,
                                                  ze_device_cache_properties_t*) {
    ApiCall call("zeDeviceGetCacheProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pCount);
    *pCount = 0; // the device caches translations, no data
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetImageProperties(ze_device_handle_t hDevice,
                                                  ze_device_image_properties_t* pImageProperties) {
    ApiCall call("zeDeviceGetImageProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pImageProperties);
    // A limit of 0 says that this kind of image is not supported.
    zeroProperties(*pImageProperties);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetExternalMemoryProperties(
    ze_device_handle_t hDevice, ze_device_external_memory_properties_t* pExternalMemoryProperties) {
    ApiCall call("zeDeviceGetExternalMemoryProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pExternalMemoryProperties);
    pExternalMemoryProperties->memoryAllocationImportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    pExternalMemoryProperties->memoryAllocationExportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    pExternalMemoryProperties->imageImportTypes = 0;
    pExternalMemoryProperties->imageExportTypes = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetP2PProperties(ze_device_handle_t hDevice,
                                                ze_device_handle_t hPeerDevice,
                                                ze_device_p2p_properties_t* pP2PProperties) {
    ApiCall call("zeDeviceGetP2PProperties");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    const Device* peer = Device::from(hPeerDevice);
    VZE_CHECK_HANDLE(peer, hPeerDevice);
    VZE_CHECK_POINTER(pP2PProperties);
    pP2PProperties->flags = device == peer ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceCanAccessPeer(ze_device_handle_t hDevice,
                                             ze_device_handle_t hPeerDevice, ze_bool_t* value) {
    ApiCall call("zeDeviceCanAccessPeer");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    const Device* peer = Device::from(hPeerDevice);
    VZE_CHECK_HANDLE(peer, hPeerDevice);
    VZE_CHECK_POINTER(value);
    *value = device == peer;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetStatus(ze_device_handle_t hDevice) {
    ApiCall call("zeDeviceGetStatus");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    drm_vze_query_clock clock{};
    return failErrno(device->file().queryClock(clock), "asking the device");
}

ze_result_t ZE_APICALL zeDeviceGetGlobalTimestamps(ze_device_handle_t hDevice,
                                                   uint64_t* hostTimestamp,
                                                   uint64_t* deviceTimestamp) {
    ApiCall call("zeDeviceGetGlobalTimestamps");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(hostTimestamp);
    VZE_CHECK_POINTER(deviceTimestamp);
    drm_vze_query_clock clock{};
    if (int error = device->file().queryClock(clock))
        return failErrno(error, "clock query");
    *hostTimestamp = clock.cpu;
    *deviceTimestamp = clock.device;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceSynchronize(ze_device_handle_t hDevice) {
    ApiCall call("zeDeviceSynchronize");
    return guarded([&] {
        Device* device = Device::from(hDevice);
        VZE_CHECK_HANDLE(device, hDevice);
        return device->driver().synchronize(*device);
    });
}

ze_result_t ZE_APICALL zeDevicePciGetPropertiesExt(ze_device_handle_t hDevice,
                                                   ze_pci_ext_properties_t* pPciProperties) {
    ApiCall call("zeDevicePciGetPropertiesExt");
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pPciProperties);
    const drm_vze_query_device& info = device->info();
    pPciProperties->address.domain = info.pci_domain;
    pPciProperties->address.bus = info.pci_bus;
    pPciProperties->address.device = info.pci_device;
    pPciProperties->address.function = info.pci_function;
    // A virtual function has no link: -1 is "not known".
    pPciProperties->maxSpeed.genVersion = -1;
    pPciProperties->maxSpeed.width = -1;
    pPciProperties->maxSpeed.maxBandwidth = -1;
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
