// SPDX-License-Identifier: MIT
//
// DDI tables of what the device does not have: images, samplers, modules and kernels. The entries
// answer with the code that says so, because a driver whose tables lack them reads as
// uninitialised when there are several.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_image_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_3(version, ZE_API_VERSION_1_3);
    const EntriesSince since1_5(version, ZE_API_VERSION_1_5);
    since1_0(table.pfnGetProperties, zeImageGetProperties);
    since1_0(table.pfnCreate, zeImageCreate);
    since1_0(table.pfnDestroy, zeImageDestroy);
    since1_3(table.pfnGetAllocPropertiesExt, zeImageGetAllocPropertiesExt);
    since1_5(table.pfnViewCreateExt, zeImageViewCreateExt);
}

void fillTable(ze_image_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_2(version, ZE_API_VERSION_1_2);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    since1_2(table.pfnGetMemoryPropertiesExp, zeImageGetMemoryPropertiesExp);
    since1_2(table.pfnViewCreateExp, zeImageViewCreateExp);
    since1_9(table.pfnGetDeviceOffsetExp, zeImageGetDeviceOffsetExp);
}

void fillTable(ze_module_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_3(version, ZE_API_VERSION_1_3);
    since1_0(table.pfnCreate, zeModuleCreate);
    since1_0(table.pfnDestroy, zeModuleDestroy);
    since1_0(table.pfnDynamicLink, zeModuleDynamicLink);
    since1_0(table.pfnGetNativeBinary, zeModuleGetNativeBinary);
    since1_0(table.pfnGetGlobalPointer, zeModuleGetGlobalPointer);
    since1_0(table.pfnGetKernelNames, zeModuleGetKernelNames);
    since1_0(table.pfnGetProperties, zeModuleGetProperties);
    since1_0(table.pfnGetFunctionPointer, zeModuleGetFunctionPointer);
    since1_3(table.pfnInspectLinkageExt, zeModuleInspectLinkageExt);
}

void fillTable(ze_module_build_log_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    since1_0(table.pfnDestroy, zeModuleBuildLogDestroy);
    since1_0(table.pfnGetString, zeModuleBuildLogGetString);
}

void fillTable(ze_kernel_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    since1_0(table.pfnCreate, zeKernelCreate);
    since1_0(table.pfnDestroy, zeKernelDestroy);
    since1_0(table.pfnSetCacheConfig, zeKernelSetCacheConfig);
    since1_0(table.pfnSetGroupSize, zeKernelSetGroupSize);
    since1_0(table.pfnSuggestGroupSize, zeKernelSuggestGroupSize);
    since1_0(table.pfnSuggestMaxCooperativeGroupCount, zeKernelSuggestMaxCooperativeGroupCount);
    since1_0(table.pfnSetArgumentValue, zeKernelSetArgumentValue);
    since1_0(table.pfnSetIndirectAccess, zeKernelSetIndirectAccess);
    since1_0(table.pfnGetIndirectAccess, zeKernelGetIndirectAccess);
    since1_0(table.pfnGetSourceAttributes, zeKernelGetSourceAttributes);
    since1_0(table.pfnGetProperties, zeKernelGetProperties);
    since1_0(table.pfnGetName, zeKernelGetName);
}

void fillTable(ze_kernel_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_1(version, ZE_API_VERSION_1_1);
    const EntriesSince since1_2(version, ZE_API_VERSION_1_2);
    const EntriesSince since1_11(version, ZE_API_VERSION_1_11);
    const EntriesSince since1_14(version, ZE_API_VERSION_1_14);
    since1_1(table.pfnSetGlobalOffsetExp, zeKernelSetGlobalOffsetExp);
    since1_2(table.pfnSchedulingHintExp, zeKernelSchedulingHintExp);
    since1_11(table.pfnGetBinaryExp, zeKernelGetBinaryExp);
    since1_14(table.pfnGetAllocationPropertiesExp, zeKernelGetAllocationPropertiesExp);
}

void fillTable(ze_sampler_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    since1_0(table.pfnCreate, zeSamplerCreate);
    since1_0(table.pfnDestroy, zeSamplerDestroy);
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
