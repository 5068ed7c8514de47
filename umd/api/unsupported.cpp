// SPDX-License-Identifier: MIT
//
// Images, samplers, modules and kernels: the device moves data and executes no code.
#include <level_zero/ze_api.h>

#include "core/log.h"

namespace {

constexpr const char* kImages = "images";
constexpr const char* kSamplers = "samplers";
constexpr const char* kModules = "modules";
constexpr const char* kKernels = "kernels";

/// The answer of every entry of a feature that the device lacks. No handle of it exists, so that
/// there is nothing to check first.
ze_result_t unsupported(const char* name, const char* feature) noexcept {
    const vze::ApiCall call(name);
    return vze::fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no %s", feature);
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeCommandListAppendImageCopy(ze_command_list_handle_t, ze_image_handle_t,
                                                    ze_image_handle_t, ze_event_handle_t, uint32_t,
                                                    ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopy", kImages);
}
ze_result_t ZE_APICALL zeCommandListAppendImageCopyRegion(
    ze_command_list_handle_t, ze_image_handle_t, ze_image_handle_t, const ze_image_region_t*,
    const ze_image_region_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopyRegion", kImages);
}
ze_result_t ZE_APICALL zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t, void*,
                                                            ze_image_handle_t,
                                                            const ze_image_region_t*,
                                                            ze_event_handle_t, uint32_t,
                                                            ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopyToMemory", kImages);
}
ze_result_t ZE_APICALL zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t,
                                                              ze_image_handle_t, const void*,
                                                              const ze_image_region_t*,
                                                              ze_event_handle_t, uint32_t,
                                                              ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopyFromMemory", kImages);
}
ze_result_t ZE_APICALL zeImageGetProperties(ze_device_handle_t, const ze_image_desc_t*,
                                            ze_image_properties_t*) {
    return unsupported("zeImageGetProperties", kImages);
}
ze_result_t ZE_APICALL zeImageCreate(ze_context_handle_t, ze_device_handle_t,
                                     const ze_image_desc_t*, ze_image_handle_t*) {
    return unsupported("zeImageCreate", kImages);
}
ze_result_t ZE_APICALL zeImageDestroy(ze_image_handle_t) {
    return unsupported("zeImageDestroy", kImages);
}
ze_result_t ZE_APICALL zeImageGetMemoryPropertiesExp(ze_image_handle_t,
                                                     ze_image_memory_properties_exp_t*) {
    return unsupported("zeImageGetMemoryPropertiesExp", kImages);
}
ze_result_t ZE_APICALL zeImageViewCreateExt(ze_context_handle_t, ze_device_handle_t,
                                            const ze_image_desc_t*, ze_image_handle_t,
                                            ze_image_handle_t*) {
    return unsupported("zeImageViewCreateExt", kImages);
}
ze_result_t ZE_APICALL zeImageViewCreateExp(ze_context_handle_t, ze_device_handle_t,
                                            const ze_image_desc_t*, ze_image_handle_t,
                                            ze_image_handle_t*) {
    return unsupported("zeImageViewCreateExp", kImages);
}
ze_result_t ZE_APICALL zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t, void*,
                                                               ze_image_handle_t,
                                                               const ze_image_region_t*, uint32_t,
                                                               uint32_t, ze_event_handle_t,
                                                               uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopyToMemoryExt", kImages);
}
ze_result_t ZE_APICALL zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t,
                                                                 ze_image_handle_t, const void*,
                                                                 const ze_image_region_t*, uint32_t,
                                                                 uint32_t, ze_event_handle_t,
                                                                 uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendImageCopyFromMemoryExt", kImages);
}
ze_result_t ZE_APICALL zeImageGetAllocPropertiesExt(ze_context_handle_t, ze_image_handle_t,
                                                    ze_image_allocation_ext_properties_t*) {
    return unsupported("zeImageGetAllocPropertiesExt", kImages);
}
ze_result_t ZE_APICALL zeImageGetDeviceOffsetExp(ze_image_handle_t, uint64_t*) {
    return unsupported("zeImageGetDeviceOffsetExp", kImages);
}

ze_result_t ZE_APICALL zeSamplerCreate(ze_context_handle_t, ze_device_handle_t,
                                       const ze_sampler_desc_t*, ze_sampler_handle_t*) {
    return unsupported("zeSamplerCreate", kSamplers);
}
ze_result_t ZE_APICALL zeSamplerDestroy(ze_sampler_handle_t) {
    return unsupported("zeSamplerDestroy", kSamplers);
}

// No module can be built for the device: the version of what the module holds is what does not fit.
ze_result_t ZE_APICALL zeModuleCreate(ze_context_handle_t, ze_device_handle_t,
                                      const ze_module_desc_t*, ze_module_handle_t*,
                                      ze_module_build_log_handle_t*) {
    const vze::ApiCall call("zeModuleCreate");
    return vze::fail(ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
                     "desc->format: the device executes no code, whatever its format");
}
ze_result_t ZE_APICALL zeModuleDestroy(ze_module_handle_t) {
    return unsupported("zeModuleDestroy", kModules);
}
ze_result_t ZE_APICALL zeModuleDynamicLink(uint32_t, ze_module_handle_t*,
                                           ze_module_build_log_handle_t*) {
    return unsupported("zeModuleDynamicLink", kModules);
}
ze_result_t ZE_APICALL zeModuleBuildLogDestroy(ze_module_build_log_handle_t) {
    return unsupported("zeModuleBuildLogDestroy", kModules);
}
ze_result_t ZE_APICALL zeModuleBuildLogGetString(ze_module_build_log_handle_t, size_t*, char*) {
    return unsupported("zeModuleBuildLogGetString", kModules);
}
ze_result_t ZE_APICALL zeModuleGetNativeBinary(ze_module_handle_t, size_t*, uint8_t*) {
    return unsupported("zeModuleGetNativeBinary", kModules);
}
ze_result_t ZE_APICALL zeModuleGetGlobalPointer(ze_module_handle_t, const char*, size_t*, void**) {
    return unsupported("zeModuleGetGlobalPointer", kModules);
}
ze_result_t ZE_APICALL zeModuleGetKernelNames(ze_module_handle_t, uint32_t*, const char**) {
    return unsupported("zeModuleGetKernelNames", kModules);
}
ze_result_t ZE_APICALL zeModuleGetProperties(ze_module_handle_t, ze_module_properties_t*) {
    return unsupported("zeModuleGetProperties", kModules);
}
ze_result_t ZE_APICALL zeModuleGetFunctionPointer(ze_module_handle_t, const char*, void**) {
    return unsupported("zeModuleGetFunctionPointer", kModules);
}
ze_result_t ZE_APICALL zeModuleInspectLinkageExt(ze_linkage_inspection_ext_desc_t*, uint32_t,
                                                 ze_module_handle_t*,
                                                 ze_module_build_log_handle_t*) {
    return unsupported("zeModuleInspectLinkageExt", kModules);
}

ze_result_t ZE_APICALL zeKernelCreate(ze_module_handle_t, const ze_kernel_desc_t*,
                                      ze_kernel_handle_t*) {
    return unsupported("zeKernelCreate", kKernels);
}
ze_result_t ZE_APICALL zeKernelDestroy(ze_kernel_handle_t) {
    return unsupported("zeKernelDestroy", kKernels);
}
ze_result_t ZE_APICALL zeKernelSetGroupSize(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t) {
    return unsupported("zeKernelSetGroupSize", kKernels);
}
ze_result_t ZE_APICALL zeKernelSuggestGroupSize(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t,
                                                uint32_t*, uint32_t*, uint32_t*) {
    return unsupported("zeKernelSuggestGroupSize", kKernels);
}
ze_result_t ZE_APICALL zeKernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t, uint32_t*) {
    return unsupported("zeKernelSuggestMaxCooperativeGroupCount", kKernels);
}
ze_result_t ZE_APICALL zeKernelSetArgumentValue(ze_kernel_handle_t, uint32_t, size_t, const void*) {
    return unsupported("zeKernelSetArgumentValue", kKernels);
}
ze_result_t ZE_APICALL zeKernelSetIndirectAccess(ze_kernel_handle_t,
                                                 ze_kernel_indirect_access_flags_t) {
    return unsupported("zeKernelSetIndirectAccess", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetIndirectAccess(ze_kernel_handle_t,
                                                 ze_kernel_indirect_access_flags_t*) {
    return unsupported("zeKernelGetIndirectAccess", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetSourceAttributes(ze_kernel_handle_t, uint32_t*, char**) {
    return unsupported("zeKernelGetSourceAttributes", kKernels);
}
ze_result_t ZE_APICALL zeKernelSetCacheConfig(ze_kernel_handle_t, ze_cache_config_flags_t) {
    return unsupported("zeKernelSetCacheConfig", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetProperties(ze_kernel_handle_t, ze_kernel_properties_t*) {
    return unsupported("zeKernelGetProperties", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetName(ze_kernel_handle_t, size_t*, char*) {
    return unsupported("zeKernelGetName", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernel(ze_command_list_handle_t, ze_kernel_handle_t,
                                                       const ze_group_count_t*, ze_event_handle_t,
                                                       uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchKernel", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t,
                                                                     ze_kernel_handle_t,
                                                                     const ze_group_count_t*,
                                                                     const void*, ze_event_handle_t,
                                                                     uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchKernelWithParameters", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelWithArguments(
    ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t, const ze_group_size_t,
    void**, const void*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchKernelWithArguments", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t,
                                                                  ze_kernel_handle_t,
                                                                  const ze_group_count_t*,
                                                                  ze_event_handle_t, uint32_t,
                                                                  ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchCooperativeKernel", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t,
                                                               ze_kernel_handle_t,
                                                               const ze_group_count_t*,
                                                               ze_event_handle_t, uint32_t,
                                                               ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchKernelIndirect", kKernels);
}
ze_result_t ZE_APICALL zeCommandListAppendLaunchMultipleKernelsIndirect(
    ze_command_list_handle_t, uint32_t, ze_kernel_handle_t*, const uint32_t*,
    const ze_group_count_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendLaunchMultipleKernelsIndirect", kKernels);
}
ze_result_t ZE_APICALL zeKernelSetGlobalOffsetExp(ze_kernel_handle_t, uint32_t, uint32_t,
                                                  uint32_t) {
    return unsupported("zeKernelSetGlobalOffsetExp", kKernels);
}
ze_result_t ZE_APICALL zeKernelSchedulingHintExp(ze_kernel_handle_t,
                                                 ze_scheduling_hint_exp_desc_t*) {
    return unsupported("zeKernelSchedulingHintExp", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetBinaryExp(ze_kernel_handle_t, size_t*, uint8_t*) {
    return unsupported("zeKernelGetBinaryExp", kKernels);
}
ze_result_t ZE_APICALL zeKernelGetAllocationPropertiesExp(ze_kernel_handle_t, uint32_t*,
                                                          ze_kernel_allocation_exp_properties_t*) {
    return unsupported("zeKernelGetAllocationPropertiesExp", kKernels);
}

} // extern "C"
