// SPDX-License-Identifier: MIT
//
// DDI tables of the driver, its devices, contexts and memory.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_global_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnInit, zeInit, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnInitDrivers, zeInitDrivers, version, ZE_API_VERSION_1_10);
}

void fillTable(ze_driver_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGet, zeDriverGet, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetApiVersion, zeDriverGetApiVersion, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetProperties, zeDriverGetProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetIpcProperties, zeDriverGetIpcProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetExtensionProperties, zeDriverGetExtensionProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetExtensionFunctionAddress, zeDriverGetExtensionFunctionAddress, version,
             ZE_API_VERSION_1_1);
    setEntry(table.pfnGetLastErrorDescription, zeDriverGetLastErrorDescription, version,
             ZE_API_VERSION_1_6);
    setEntry(table.pfnRTASFormatCompatibilityCheckExt, zeDriverRTASFormatCompatibilityCheckExt,
             version, ZE_API_VERSION_1_13);
    setEntry(table.pfnGetDefaultContext, zeDriverGetDefaultContext, version, ZE_API_VERSION_1_14);
}

void fillTable(ze_device_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGet, zeDeviceGet, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetSubDevices, zeDeviceGetSubDevices, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetProperties, zeDeviceGetProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetComputeProperties, zeDeviceGetComputeProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetModuleProperties, zeDeviceGetModuleProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetCommandQueueGroupProperties, zeDeviceGetCommandQueueGroupProperties,
             version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetMemoryProperties, zeDeviceGetMemoryProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetMemoryAccessProperties, zeDeviceGetMemoryAccessProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetCacheProperties, zeDeviceGetCacheProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetImageProperties, zeDeviceGetImageProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetExternalMemoryProperties, zeDeviceGetExternalMemoryProperties, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetP2PProperties, zeDeviceGetP2PProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCanAccessPeer, zeDeviceCanAccessPeer, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetStatus, zeDeviceGetStatus, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetGlobalTimestamps, zeDeviceGetGlobalTimestamps, version,
             ZE_API_VERSION_1_1);
    setEntry(table.pfnReserveCacheExt, zeDeviceReserveCacheExt, version, ZE_API_VERSION_1_2);
    setEntry(table.pfnSetCacheAdviceExt, zeDeviceSetCacheAdviceExt, version, ZE_API_VERSION_1_2);
    setEntry(table.pfnPciGetPropertiesExt, zeDevicePciGetPropertiesExt, version,
             ZE_API_VERSION_1_3);
    setEntry(table.pfnGetRootDevice, zeDeviceGetRootDevice, version, ZE_API_VERSION_1_7);
    setEntry(table.pfnImportExternalSemaphoreExt, zeDeviceImportExternalSemaphoreExt, version,
             ZE_API_VERSION_1_12);
    setEntry(table.pfnReleaseExternalSemaphoreExt, zeDeviceReleaseExternalSemaphoreExt, version,
             ZE_API_VERSION_1_12);
    setEntry(table.pfnGetVectorWidthPropertiesExt, zeDeviceGetVectorWidthPropertiesExt, version,
             ZE_API_VERSION_1_13);
    setEntry(table.pfnSynchronize, zeDeviceSynchronize, version, ZE_API_VERSION_1_14);
    setEntry(table.pfnGetAggregatedCopyOffloadIncrementValue,
             zeDeviceGetAggregatedCopyOffloadIncrementValue, version, ZE_API_VERSION_1_15);
    setEntry(table.pfnGetRuntimeRequirements, zeDeviceGetRuntimeRequirements, version,
             ZE_API_VERSION_1_16);
    setEntry(table.pfnGetRuntimeRequirementsKey, zeDeviceGetRuntimeRequirementsKey, version,
             ZE_API_VERSION_1_16);
    setEntry(table.pfnValidateRuntimeRequirements, zeDeviceValidateRuntimeRequirements, version,
             ZE_API_VERSION_1_16);
    setEntry(table.pfnGetCounterBasedEventMaxValue, zeDeviceGetCounterBasedEventMaxValue, version,
             ZE_API_VERSION_1_17);
}

void fillTable(ze_context_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeContextCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeContextDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetStatus, zeContextGetStatus, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSystemBarrier, zeContextSystemBarrier, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnMakeMemoryResident, zeContextMakeMemoryResident, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnEvictMemory, zeContextEvictMemory, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnMakeImageResident, zeContextMakeImageResident, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnEvictImage, zeContextEvictImage, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCreateEx, zeContextCreateEx, version, ZE_API_VERSION_1_1);
}

void fillTable(ze_mem_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnAllocShared, zeMemAllocShared, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAllocDevice, zeMemAllocDevice, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAllocHost, zeMemAllocHost, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnFree, zeMemFree, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetAllocProperties, zeMemGetAllocProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetAddressRange, zeMemGetAddressRange, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetIpcHandle, zeMemGetIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnOpenIpcHandle, zeMemOpenIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCloseIpcHandle, zeMemCloseIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnFreeExt, zeMemFreeExt, version, ZE_API_VERSION_1_3);
    setEntry(table.pfnPutIpcHandle, zeMemPutIpcHandle, version, ZE_API_VERSION_1_6);
    setEntry(table.pfnGetPitchFor2dImage, zeMemGetPitchFor2dImage, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetIpcHandleWithProperties, zeMemGetIpcHandleWithProperties, version,
             ZE_API_VERSION_1_15);
}

void fillTable(ze_mem_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetIpcHandleFromFileDescriptorExp, zeMemGetIpcHandleFromFileDescriptorExp,
             version, ZE_API_VERSION_1_6);
    setEntry(table.pfnGetFileDescriptorFromIpcHandleExp, zeMemGetFileDescriptorFromIpcHandleExp,
             version, ZE_API_VERSION_1_6);
    setEntry(table.pfnSetAtomicAccessAttributeExp, zeMemSetAtomicAccessAttributeExp, version,
             ZE_API_VERSION_1_7);
    setEntry(table.pfnGetAtomicAccessAttributeExp, zeMemGetAtomicAccessAttributeExp, version,
             ZE_API_VERSION_1_7);
}

void fillTable(ze_physical_mem_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zePhysicalMemCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zePhysicalMemDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetProperties, zePhysicalMemGetProperties, version, ZE_API_VERSION_1_15);
}

void fillTable(ze_virtual_mem_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnReserve, zeVirtualMemReserve, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnFree, zeVirtualMemFree, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnQueryPageSize, zeVirtualMemQueryPageSize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnMap, zeVirtualMemMap, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnUnmap, zeVirtualMemUnmap, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSetAccessAttribute, zeVirtualMemSetAccessAttribute, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetAccessAttribute, zeVirtualMemGetAccessAttribute, version,
             ZE_API_VERSION_1_0);
}

} // namespace vze

extern "C" {

VZE_TABLE_GETTER(zeGetGlobalProcAddrTable, ze_global_dditable_t)
VZE_TABLE_GETTER(zeGetDriverProcAddrTable, ze_driver_dditable_t)
VZE_TABLE_GETTER(zeGetDeviceProcAddrTable, ze_device_dditable_t)
VZE_TABLE_GETTER(zeGetContextProcAddrTable, ze_context_dditable_t)
VZE_TABLE_GETTER(zeGetMemProcAddrTable, ze_mem_dditable_t)
VZE_TABLE_GETTER(zeGetMemExpProcAddrTable, ze_mem_exp_dditable_t)
VZE_TABLE_GETTER(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
VZE_TABLE_GETTER(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)

} // extern "C"
