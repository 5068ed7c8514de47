// SPDX-License-Identifier: MIT
//
// What vze adds to IPC memory handles; see vze/vze_ext.h.
#include <algorithm>
#include <vector>

#include "api/extension_functions.h"
#include "core/context.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

ze_result_t ZE_APICALL getIpcIdentity(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                      uint64_t* pIdentity) {
    ApiCall call("zexVzeMemGetIpcIdentity");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(pIdentity);
    IpcHandle content;
    if (decodeIpcHandle(handle, content) != IpcForm::Whole)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "handle: these are not the bytes of a whole handle");
    *pIdentity = content.token.id;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL getIpcShareFd(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                     int* pFd) {
    ApiCall call("zexVzeMemGetIpcShareFd");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(pFd);
    return context->ipcShareFd(handle, *pFd);
}

ze_result_t ZE_APICALL getIpcShareFdOfPointer(ze_context_handle_t hContext, const void* ptr,
                                              int* pFd) {
    ApiCall call("zexVzeMemGetIpcShareFdOfPointer");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(ptr);
    VZE_CHECK_POINTER(pFd);
    return context->ipcShareFdOf(ptr, *pFd);
}

ze_result_t ZE_APICALL getIpcShareInfo(ze_context_handle_t hContext, int fd,
                                       vze_ipc_share_info_t* pInfo) {
    ApiCall call("zexVzeMemGetIpcShareInfo");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(pInfo);
    drm_vze_share_info info{};
    if (context->devices().front()->file().shareInfo(fd, info) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "fd: %d is not a share descriptor", fd);
    static_assert(VZE_IPC_SHARE_STATE_PUT == DRM_VZE_SHARE_STATE_PUT &&
                  VZE_IPC_SHARE_STATE_REVOKED == DRM_VZE_SHARE_STATE_REVOKED &&
                  VZE_IPC_SHARE_STATE_DEAD == DRM_VZE_SHARE_STATE_DEAD &&
                  VZE_IPC_SHARE_FLAG_READ_ONLY == DRM_VZE_SHARE_INFO_READONLY &&
                  VZE_IPC_SHARE_FLAG_UNMAPPED == DRM_VZE_SHARE_INFO_UNMAPPED);
    pInfo->identity = info.id;
    pInfo->size = info.size;
    pInfo->state = info.state;
    pInfo->flags = info.flags;
    pInfo->segments = info.segments;
    pInfo->reserved = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL getIpcImporters(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                       uint32_t* pCount, vze_ipc_importer_t* pImporters) {
    ApiCall call("zexVzeMemGetIpcImporters");
    return guarded([&] {
        const Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(pCount);
        // The number is the caller's: room is made for what there is, not for what was asked.
        uint32_t num = 0;
        ze_result_t result = context->ipcImporters(handle, {}, num);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (*pCount == 0 || pImporters == nullptr) {
            *pCount = num;
            return result;
        }
        std::vector<drm_vze_share_importer> importers(std::min(*pCount, num));
        if (!importers.empty())
            result = context->ipcImporters(handle, importers, num);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        *pCount = std::min(num, static_cast<uint32_t>(importers.size()));
        for (uint32_t i = 0; i < *pCount; ++i)
            pImporters[i] = {importers[i].pid, importers[i].views, importers[i].bytes};
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL revokeIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle,
                                       uint32_t flags, vze_ipc_revoke_result_t* pResult) {
    ApiCall call("zexVzeMemRevokeIpcHandle");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    if ((flags & ~VZE_IPC_REVOKE_FLAG_UNMAP) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "flags: unknown bits in 0x%x", flags);
    drm_vze_share_revoke revoked{};
    const ze_result_t result =
        context->revokeIpcHandle(handle, (flags & VZE_IPC_REVOKE_FLAG_UNMAP) != 0, revoked);
    if (result == ZE_RESULT_SUCCESS && pResult != nullptr) {
        pResult->views = revoked.views;
        pResult->exported = revoked.exported;
    }
    return result;
}

} // namespace vze
