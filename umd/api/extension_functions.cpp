// SPDX-License-Identifier: MIT
#include "api/extension_functions.h"

#include <cstring>
#include <drm/vze_hw.h>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

ze_result_t ZE_APICALL getContextStatistics(ze_context_handle_t hContext,
                                            ze_device_handle_t hDevice,
                                            vze_context_statistics_t* pStatistics) {
    ApiCall call("zexVzeContextGetStatistics");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pStatistics);
    if (!context->contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hDevice: device %u is not in the context",
                    device->index());
    drm_vze_vm_info vm{};
    if (int error = device->file().vmInfo(context->vmId(*device), vm))
        return failErrno(error, "VM_INFO");
    uint64_t counters[VZE_HW_COUNTER_COUNT];
    if (int error = device->file().queryCounters(counters))
        return failErrno(error, "counter query");
    pStatistics->pte_4k = vm.pte_4k;
    pStatistics->pte_2m = vm.pte_2m;
    pStatistics->pte_1g = vm.pte_1g;
    pStatistics->pt_pages = vm.pt_pages;
    pStatistics->mappings = vm.mappings;
    pStatistics->tlb_invalidations = vm.tlb_invalidations;
    pStatistics->stale_uses = counters[VZE_HW_COUNTER_STALE_USES];
    pStatistics->faults = counters[VZE_HW_COUNTER_FAULTS];
    return ZE_RESULT_SUCCESS;
}

void* findExtensionFunction(const char* name) noexcept {
    // Pointers of the public header's types first: a table of void pointers could hold anything.
    const zex_pfnDriverImportExternalPointer_t import = importExternalPointer;
    const zex_pfnDriverReleaseImportedPointer_t release = releaseImportedPointer;
    const zex_pfnDriverGetHostPointerBaseAddress_t base = getHostPointerBaseAddress;
    const zexVzeContextGetStatistics_fn statistics = getContextStatistics;
    const zexVzeMemGetIpcIdentity_fn ipcIdentity = getIpcIdentity;
    const zexVzeMemGetIpcShareFd_fn ipcShareFd = getIpcShareFd;
    const zexVzeMemGetIpcShareFdOfPointer_fn ipcShareFdOfPointer = getIpcShareFdOfPointer;
    const zexVzeMemGetIpcShareInfo_fn ipcShareInfo = getIpcShareInfo;
    const zexVzeMemGetIpcImporters_fn ipcImporters = getIpcImporters;
    const zexVzeMemRevokeIpcHandle_fn ipcRevoke = revokeIpcHandle;
    const struct {
        const char* name;
        void* address;
    } functions[] = {
        {"zexDriverImportExternalPointer", reinterpret_cast<void*>(import)},
        {"zexDriverReleaseImportedPointer", reinterpret_cast<void*>(release)},
        {"zexDriverGetHostPointerBaseAddress", reinterpret_cast<void*>(base)},
        {"zexVzeContextGetStatistics", reinterpret_cast<void*>(statistics)},
        {"zexVzeMemGetIpcIdentity", reinterpret_cast<void*>(ipcIdentity)},
        {"zexVzeMemGetIpcShareFd", reinterpret_cast<void*>(ipcShareFd)},
        {"zexVzeMemGetIpcShareFdOfPointer", reinterpret_cast<void*>(ipcShareFdOfPointer)},
        {"zexVzeMemGetIpcShareInfo", reinterpret_cast<void*>(ipcShareInfo)},
        {"zexVzeMemGetIpcImporters", reinterpret_cast<void*>(ipcImporters)},
        {"zexVzeMemRevokeIpcHandle", reinterpret_cast<void*>(ipcRevoke)},
    };
    for (const auto& function : functions)
        if (strcmp(function.name, name) == 0)
            return function.address;
    return nullptr;
}

} // namespace vze
