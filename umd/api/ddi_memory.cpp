// SPDX-License-Identifier: MIT
//
// DDI tables of the driver, its devices, contexts and memory.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_global_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_10(version, ZE_API_VERSION_1_10);
    since1_0(table.pfnInit, zeInit);
    since1_10(table.pfnInitDrivers, zeInitDrivers);
}

void fillTable(ze_driver_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_1(version, ZE_API_VERSION_1_1);
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_13(version, ZE_API_VERSION_1_13);
    const EntriesSince since1_14(version, ZE_API_VERSION_1_14);
    since1_0(table.pfnGet, zeDriverGet);
    since1_0(table.pfnGetApiVersion, zeDriverGetApiVersion);
    since1_0(table.pfnGetProperties, zeDriverGetProperties);
    since1_0(table.pfnGetIpcProperties, zeDriverGetIpcProperties);
    since1_0(table.pfnGetExtensionProperties, zeDriverGetExtensionProperties);
    since1_1(table.pfnGetExtensionFunctionAddress, zeDriverGetExtensionFunctionAddress);
    since1_6(table.pfnGetLastErrorDescription, zeDriverGetLastErrorDescription);
    since1_13(table.pfnRTASFormatCompatibilityCheckExt, zeDriverRTASFormatCompatibilityCheckExt);
    since1_14(table.pfnGetDefaultContext, zeDriverGetDefaultContext);
}

void fillTable(ze_device_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_1(version, ZE_API_VERSION_1_1);
    const EntriesSince since1_2(version, ZE_API_VERSION_1_2);
    const EntriesSince since1_3(version, ZE_API_VERSION_1_3);
    const EntriesSince since1_7(version, ZE_API_VERSION_1_7);
    const EntriesSince since1_12(version, ZE_API_VERSION_1_12);
    const EntriesSince since1_13(version, ZE_API_VERSION_1_13);
    const EntriesSince since1_14(version, ZE_API_VERSION_1_14);
    const EntriesSince since1_15(version, ZE_API_VERSION_1_15);
    const EntriesSince since1_16(version, ZE_API_VERSION_1_16);
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_0(table.pfnGet, zeDeviceGet);
    since1_0(table.pfnGetSubDevices, zeDeviceGetSubDevices);
    since1_0(table.pfnGetProperties, zeDeviceGetProperties);
    since1_0(table.pfnGetComputeProperties, zeDeviceGetComputeProperties);
    since1_0(table.pfnGetModuleProperties, zeDeviceGetModuleProperties);
    since1_0(table.pfnGetCommandQueueGroupProperties, zeDeviceGetCommandQueueGroupProperties);
    since1_0(table.pfnGetMemoryProperties, zeDeviceGetMemoryProperties);
    since1_0(table.pfnGetMemoryAccessProperties, zeDeviceGetMemoryAccessProperties);
    since1_0(table.pfnGetCacheProperties, zeDeviceGetCacheProperties);
    since1_0(table.pfnGetImageProperties, zeDeviceGetImageProperties);
    since1_0(table.pfnGetExternalMemoryProperties, zeDeviceGetExternalMemoryProperties);
    since1_0(table.pfnGetP2PProperties, zeDeviceGetP2PProperties);
    since1_0(table.pfnCanAccessPeer, zeDeviceCanAccessPeer);
    since1_0(table.pfnGetStatus, zeDeviceGetStatus);
    since1_1(table.pfnGetGlobalTimestamps, zeDeviceGetGlobalTimestamps);
    since1_2(table.pfnReserveCacheExt, zeDeviceReserveCacheExt);
    since1_2(table.pfnSetCacheAdviceExt, zeDeviceSetCacheAdviceExt);
    since1_3(table.pfnPciGetPropertiesExt, zeDevicePciGetPropertiesExt);
    since1_7(table.pfnGetRootDevice, zeDeviceGetRootDevice);
    since1_12(table.pfnImportExternalSemaphoreExt, zeDeviceImportExternalSemaphoreExt);
    since1_12(table.pfnReleaseExternalSemaphoreExt, zeDeviceReleaseExternalSemaphoreExt);
    since1_13(table.pfnGetVectorWidthPropertiesExt, zeDeviceGetVectorWidthPropertiesExt);
    since1_14(table.pfnSynchronize, zeDeviceSynchronize);
    since1_15(table.pfnGetAggregatedCopyOffloadIncrementValue,
              zeDeviceGetAggregatedCopyOffloadIncrementValue);
    since1_16(table.pfnGetRuntimeRequirements, zeDeviceGetRuntimeRequirements);
    since1_16(table.pfnGetRuntimeRequirementsKey, zeDeviceGetRuntimeRequirementsKey);
    since1_16(table.pfnValidateRuntimeRequirements, zeDeviceValidateRuntimeRequirements);
    since1_17(table.pfnGetCounterBasedEventMaxValue, zeDeviceGetCounterBasedEventMaxValue);
}

void fillTable(ze_context_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_1(version, ZE_API_VERSION_1_1);
    since1_0(table.pfnCreate, zeContextCreate);
    since1_0(table.pfnDestroy, zeContextDestroy);
    since1_0(table.pfnGetStatus, zeContextGetStatus);
    since1_0(table.pfnSystemBarrier, zeContextSystemBarrier);
    since1_0(table.pfnMakeMemoryResident, zeContextMakeMemoryResident);
    since1_0(table.pfnEvictMemory, zeContextEvictMemory);
    since1_0(table.pfnMakeImageResident, zeContextMakeImageResident);
    since1_0(table.pfnEvictImage, zeContextEvictImage);
    since1_1(table.pfnCreateEx, zeContextCreateEx);
}

void fillTable(ze_mem_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_3(version, ZE_API_VERSION_1_3);
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    const EntriesSince since1_15(version, ZE_API_VERSION_1_15);
    since1_0(table.pfnAllocShared, zeMemAllocShared);
    since1_0(table.pfnAllocDevice, zeMemAllocDevice);
    since1_0(table.pfnAllocHost, zeMemAllocHost);
    since1_0(table.pfnFree, zeMemFree);
    since1_0(table.pfnGetAllocProperties, zeMemGetAllocProperties);
    since1_0(table.pfnGetAddressRange, zeMemGetAddressRange);
    since1_0(table.pfnGetIpcHandle, zeMemGetIpcHandle);
    since1_0(table.pfnOpenIpcHandle, zeMemOpenIpcHandle);
    since1_0(table.pfnCloseIpcHandle, zeMemCloseIpcHandle);
    since1_3(table.pfnFreeExt, zeMemFreeExt);
    since1_6(table.pfnPutIpcHandle, zeMemPutIpcHandle);
    since1_9(table.pfnGetPitchFor2dImage, zeMemGetPitchFor2dImage);
    since1_15(table.pfnGetIpcHandleWithProperties, zeMemGetIpcHandleWithProperties);
}

void fillTable(ze_mem_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_7(version, ZE_API_VERSION_1_7);
    since1_6(table.pfnGetIpcHandleFromFileDescriptorExp, zeMemGetIpcHandleFromFileDescriptorExp);
    since1_6(table.pfnGetFileDescriptorFromIpcHandleExp, zeMemGetFileDescriptorFromIpcHandleExp);
    since1_7(table.pfnSetAtomicAccessAttributeExp, zeMemSetAtomicAccessAttributeExp);
    since1_7(table.pfnGetAtomicAccessAttributeExp, zeMemGetAtomicAccessAttributeExp);
}

void fillTable(ze_physical_mem_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_15(version, ZE_API_VERSION_1_15);
    since1_0(table.pfnCreate, zePhysicalMemCreate);
    since1_0(table.pfnDestroy, zePhysicalMemDestroy);
    since1_15(table.pfnGetProperties, zePhysicalMemGetProperties);
}

void fillTable(ze_virtual_mem_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    since1_0(table.pfnReserve, zeVirtualMemReserve);
    since1_0(table.pfnFree, zeVirtualMemFree);
    since1_0(table.pfnQueryPageSize, zeVirtualMemQueryPageSize);
    since1_0(table.pfnMap, zeVirtualMemMap);
    since1_0(table.pfnUnmap, zeVirtualMemUnmap);
    since1_0(table.pfnSetAccessAttribute, zeVirtualMemSetAccessAttribute);
    since1_0(table.pfnGetAccessAttribute, zeVirtualMemGetAccessAttribute);
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
