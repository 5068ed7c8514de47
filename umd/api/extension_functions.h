// SPDX-License-Identifier: MIT
#pragma once

#include "vze/vze_ext.h"

namespace vze {

/// The function that zeDriverGetExtensionFunctionAddress gives for a name, or null.
void* findExtensionFunction(const char* name) noexcept;

// See vze/vze_ext.h.
ze_result_t ZE_APICALL importExternalPointer(ze_driver_handle_t hDriver, void* ptr, size_t size);
ze_result_t ZE_APICALL releaseImportedPointer(ze_driver_handle_t hDriver, void* ptr);
ze_result_t ZE_APICALL getHostPointerBaseAddress(ze_driver_handle_t hDriver, void* ptr,
                                                 void** baseAddress);
ze_result_t ZE_APICALL getContextStatistics(ze_context_handle_t hContext,
                                            ze_device_handle_t hDevice,
                                            vze_context_statistics_t* pStatistics);

} // namespace vze
