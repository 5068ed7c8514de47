// SPDX-License-Identifier: MIT
#include <cstring>

#include "api/ddi.h"
#include "api/extension_functions.h"
#include "core/context.h"
#include "core/descriptor_chain.h"
#include "core/driver.h"
#include "core/log.h"
#include "core/result.h"
#include "level_zero/ze_ipc_phys_mem_handle_range_ext.h"

using namespace vze;

namespace {

// 0.1.0, as CMakeLists.txt has it: major << 24 | minor << 16 | patch.
constexpr uint32_t kDriverVersion = 0u << 24 | 1u << 16 | 0u;

constexpr uint8_t kDriverUuid[ZE_MAX_DRIVER_UUID_SIZE] = {
    0x76, 0x7a, 0x65, 0x00, 0x4c, 0x5a, 0x47, 0x50, 0x55, 0x00, 0x76, 0x69, 0x72, 0x74, 0x00, 0x01};

constexpr uint32_t kVersion10 = ZE_MAKE_VERSION(1, 0);

struct Extension {
    const char* name;
    uint32_t version;
    uint64_t deviceFeature; ///< listed when a device has it; 0: always
};

constexpr Extension kExtensions[] = {
    {ZE_MEMORY_FREE_POLICIES_EXT_NAME, kVersion10, 0},
    {ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME, kVersion10, 0},
    {ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME, kVersion10, 0},
    {ZE_MEMORY_COMPRESSION_HINTS_EXT_NAME, kVersion10, VZE_HW_FEATURE_COMPRESSION},
    {ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME, kVersion10, 0},
    {ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME, kVersion10, 0},
    {ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_NAME, kVersion10, 0},
    {ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_NAME, kVersion10, 0},
    {ZE_PCI_PROPERTIES_EXT_NAME, kVersion10, 0},
    {ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME, kVersion10, 0},
    {ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_NAME, kVersion10, 0},
    {ZE_DRIVER_DDI_HANDLES_EXT_NAME, ZE_DRIVER_DDI_HANDLES_EXT_VERSION_CURRENT, 0},
};

bool anyDeviceHas(const Driver& driver, uint64_t feature) noexcept {
    if (feature == 0)
        return true;
    for (const auto& device : driver.devices())
        if (device->hasFeature(feature))
            return true;
    return false;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags) {
    ApiCall call("zeInit");
    return guarded([&] {
        if ((flags & ~static_cast<uint32_t>(ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY)) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "flags: unknown bits in 0x%x", flags);
        if (flags == ZE_INIT_FLAG_VPU_ONLY)
            return fail(ZE_RESULT_ERROR_UNINITIALIZED, "flags: there are only GPUs here");
        return Driver::init();
    });
}

ze_result_t ZE_APICALL zeInitDrivers(uint32_t* pCount, ze_driver_handle_t* phDrivers,
                                     ze_init_driver_type_desc_t* desc) {
    ApiCall call("zeInitDrivers");
    return guarded([&] {
        VZE_CHECK_POINTER(pCount);
        VZE_CHECK_POINTER(desc);
        if (desc->flags == 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags is 0");
        if ((desc->flags & ZE_INIT_DRIVER_TYPE_FLAG_GPU) == 0) {
            *pCount = 0;
            return fail(ZE_RESULT_ERROR_UNINITIALIZED, "desc->flags: there are only GPUs here");
        }
        const ze_result_t result = Driver::init();
        if (result != ZE_RESULT_SUCCESS) {
            *pCount = 0;
            return result;
        }
        return zeDriverGet(pCount, phDrivers);
    });
}

ze_result_t ZE_APICALL zeDriverGet(uint32_t* pCount, ze_driver_handle_t* phDrivers) {
    ApiCall call("zeDriverGet");
    VZE_CHECK_POINTER(pCount);
    Driver* driver = Driver::instance();
    if (driver == nullptr)
        return fail(ZE_RESULT_ERROR_UNINITIALIZED, "zeInit has not succeeded");
    if (*pCount != 0 && phDrivers != nullptr)
        phDrivers[0] = driver->handle();
    *pCount = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetApiVersion(ze_driver_handle_t hDriver,
                                             ze_api_version_t* version) {
    ApiCall call("zeDriverGetApiVersion");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(version);
    *version = kApiVersion;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetProperties(ze_driver_handle_t hDriver,
                                             ze_driver_properties_t* pDriverProperties) {
    ApiCall call("zeDriverGetProperties");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(pDriverProperties);
    memcpy(pDriverProperties->uuid.id, kDriverUuid, sizeof(kDriverUuid));
    pDriverProperties->driverVersion = kDriverVersion;
    return forEachProperty(pDriverProperties->pNext, [](PropertyHeader& header) {
        if (header.stype == ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES)
            reinterpret_cast<ze_driver_memory_free_ext_properties_t&>(header).freePolicies =
                ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
        else if (header.stype == ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES)
            reinterpret_cast<ze_driver_ddi_handles_ext_properties_t&>(header).flags =
                ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED;
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeDriverGetIpcProperties(ze_driver_handle_t hDriver,
                                                ze_driver_ipc_properties_t* pIpcProperties) {
    ApiCall call("zeDriverGetIpcProperties");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(pIpcProperties);
    pIpcProperties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL
zeDriverGetExtensionProperties(ze_driver_handle_t hDriver, uint32_t* pCount,
                               ze_driver_extension_properties_t* pExtensionProperties) {
    ApiCall call("zeDriverGetExtensionProperties");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(pCount);
    const uint32_t room = pExtensionProperties != nullptr ? *pCount : 0;
    uint32_t count = 0;
    for (const Extension& extension : kExtensions) {
        if (!anyDeviceHas(*driver, extension.deviceFeature))
            continue;
        if (count < room) {
            ze_driver_extension_properties_t& entry = pExtensionProperties[count];
            memset(entry.name, 0, sizeof(entry.name));
            strncpy(entry.name, extension.name, sizeof(entry.name) - 1);
            entry.version = extension.version;
        }
        count++;
    }
    *pCount = room != 0 && room < count ? room : count;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetExtensionFunctionAddress(ze_driver_handle_t hDriver,
                                                           const char* name,
                                                           void** ppFunctionAddress) {
    ApiCall call("zeDriverGetExtensionFunctionAddress");
    const Driver* driver = Driver::from(hDriver);
    VZE_CHECK_HANDLE(driver, hDriver);
    VZE_CHECK_POINTER(name);
    VZE_CHECK_POINTER(ppFunctionAddress);
    *ppFunctionAddress = findExtensionFunction(name);
    if (*ppFunctionAddress == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "name: there is no function %s", name);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver,
                                                       const char** ppString) {
    // Reports nothing itself: that would replace the text that is asked for.
    if (hDriver == nullptr)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (Driver::from(hDriver) == nullptr)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (ppString == nullptr)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *ppString = lastErrorText();
    return ZE_RESULT_SUCCESS;
}

ze_context_handle_t ZE_APICALL zeDriverGetDefaultContext(ze_driver_handle_t hDriver) {
    ApiCall call("zeDriverGetDefaultContext");
    Context* context = nullptr;
    guarded([&] {
        Driver* driver = Driver::from(hDriver);
        VZE_CHECK_HANDLE(driver, hDriver);
        return driver->defaultContext(context);
    });
    return context != nullptr ? context->handle() : nullptr;
}

} // extern "C"
