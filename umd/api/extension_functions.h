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

ze_result_t ZE_APICALL getIpcIdentity(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                      uint64_t* pIdentity);
ze_result_t ZE_APICALL getIpcShareFd(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                     int* pFd);
ze_result_t ZE_APICALL getIpcShareFdOfPointer(ze_context_handle_t hContext, const void* ptr,
                                              int* pFd);
ze_result_t ZE_APICALL getIpcShareInfo(ze_context_handle_t hContext, int fd,
                                       vze_ipc_share_info_t* pInfo);
ze_result_t ZE_APICALL getIpcImporters(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                       uint32_t* pCount, vze_ipc_importer_t* pImporters);
ze_result_t ZE_APICALL revokeIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                       uint32_t flags, vze_ipc_revoke_result_t* pResult);

} // namespace vze
