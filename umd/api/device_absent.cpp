// SPDX-License-Identifier: MIT
//
// Questions about features that no device has. Their arguments are checked first, like everywhere.
#include "core/device.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

ze_result_t absent(ze_device_handle_t hDevice, const char* feature) noexcept {
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no %s", feature);
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeDeviceReserveCacheExt(ze_device_handle_t hDevice, size_t, size_t) {
    ApiCall call("zeDeviceReserveCacheExt");
    return absent(hDevice, "cache");
}

ze_result_t ZE_APICALL zeDeviceSetCacheAdviceExt(ze_device_handle_t hDevice, void*, size_t,
                                                 ze_cache_ext_region_t) {
    ApiCall call("zeDeviceSetCacheAdviceExt");
    return absent(hDevice, "cache");
}

ze_result_t ZE_APICALL zeDeviceGetVectorWidthPropertiesExt(
    ze_device_handle_t hDevice, uint32_t*, ze_device_vector_width_properties_ext_t*) {
    ApiCall call("zeDeviceGetVectorWidthPropertiesExt");
    return absent(hDevice, "vector units");
}

ze_result_t ZE_APICALL zeDeviceGetAggregatedCopyOffloadIncrementValue(ze_device_handle_t hDevice,
                                                                      uint32_t*) {
    ApiCall call("zeDeviceGetAggregatedCopyOffloadIncrementValue");
    return absent(hDevice, "counter-based events");
}

ze_result_t ZE_APICALL zeDeviceGetCounterBasedEventMaxValue(ze_device_handle_t hDevice, uint64_t*) {
    ApiCall call("zeDeviceGetCounterBasedEventMaxValue");
    return absent(hDevice, "counter-based events");
}

ze_result_t ZE_APICALL zeDeviceGetRuntimeRequirements(ze_device_handle_t hDevice, const void*,
                                                      size_t*, char*) {
    ApiCall call("zeDeviceGetRuntimeRequirements");
    return absent(hDevice, "modules");
}

ze_result_t ZE_APICALL zeDeviceGetRuntimeRequirementsKey(ze_device_handle_t hDevice, const char**) {
    ApiCall call("zeDeviceGetRuntimeRequirementsKey");
    return absent(hDevice, "modules");
}

ze_result_t ZE_APICALL zeDeviceValidateRuntimeRequirements(
    ze_device_handle_t hDevice, const char*, ze_validate_runtime_requirements_output_t*) {
    ApiCall call("zeDeviceValidateRuntimeRequirements");
    return absent(hDevice, "modules");
}

} // extern "C"
