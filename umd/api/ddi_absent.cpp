// SPDX-License-Identifier: MIT
//
// DDI tables of what the device does not have: images, samplers, modules and kernels. The entries
// answer with the code that says so, because a driver whose tables lack them reads as
// uninitialised when there are several.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_image_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetProperties, zeImageGetProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCreate, zeImageCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeImageDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetAllocPropertiesExt, zeImageGetAllocPropertiesExt, version,
             ZE_API_VERSION_1_3);
    setEntry(table.pfnViewCreateExt, zeImageViewCreateExt, version, ZE_API_VERSION_1_5);
}

void fillTable(ze_image_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetMemoryPropertiesExp, zeImageGetMemoryPropertiesExp, version,
             ZE_API_VERSION_1_2);
    setEntry(table.pfnViewCreateExp, zeImageViewCreateExp, version, ZE_API_VERSION_1_2);
    setEntry(table.pfnGetDeviceOffsetExp, zeImageGetDeviceOffsetExp, version, ZE_API_VERSION_1_9);
}

void fillTable(ze_module_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeModuleCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeModuleDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDynamicLink, zeModuleDynamicLink, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetNativeBinary, zeModuleGetNativeBinary, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetGlobalPointer, zeModuleGetGlobalPointer, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetKernelNames, zeModuleGetKernelNames, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetProperties, zeModuleGetProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetFunctionPointer, zeModuleGetFunctionPointer, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnInspectLinkageExt, zeModuleInspectLinkageExt, version, ZE_API_VERSION_1_3);
}

void fillTable(ze_module_build_log_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnDestroy, zeModuleBuildLogDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetString, zeModuleBuildLogGetString, version, ZE_API_VERSION_1_0);
}

void fillTable(ze_kernel_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeKernelCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeKernelDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSetCacheConfig, zeKernelSetCacheConfig, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSetGroupSize, zeKernelSetGroupSize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSuggestGroupSize, zeKernelSuggestGroupSize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSuggestMaxCooperativeGroupCount, zeKernelSuggestMaxCooperativeGroupCount,
             version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSetArgumentValue, zeKernelSetArgumentValue, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnSetIndirectAccess, zeKernelSetIndirectAccess, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetIndirectAccess, zeKernelGetIndirectAccess, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetSourceAttributes, zeKernelGetSourceAttributes, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnGetProperties, zeKernelGetProperties, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetName, zeKernelGetName, version, ZE_API_VERSION_1_0);
}

void fillTable(ze_kernel_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnSetGlobalOffsetExp, zeKernelSetGlobalOffsetExp, version, ZE_API_VERSION_1_1);
    setEntry(table.pfnSchedulingHintExp, zeKernelSchedulingHintExp, version, ZE_API_VERSION_1_2);
    setEntry(table.pfnGetBinaryExp, zeKernelGetBinaryExp, version, ZE_API_VERSION_1_11);
    setEntry(table.pfnGetAllocationPropertiesExp, zeKernelGetAllocationPropertiesExp, version,
             ZE_API_VERSION_1_14);
}

void fillTable(ze_sampler_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeSamplerCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeSamplerDestroy, version, ZE_API_VERSION_1_0);
}

} // namespace vze

extern "C" {

VZE_TABLE_GETTER(zeGetImageProcAddrTable, ze_image_dditable_t)
VZE_TABLE_GETTER(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t)
VZE_TABLE_GETTER(zeGetModuleProcAddrTable, ze_module_dditable_t)
VZE_TABLE_GETTER(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
VZE_TABLE_GETTER(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
VZE_TABLE_GETTER(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t)
VZE_TABLE_GETTER(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)

} // extern "C"
