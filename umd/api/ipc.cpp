// SPDX-License-Identifier: MIT
#include <cstring>
#include <fcntl.h>

#include "api/alloc_options.h"
#include "core/context.h"
#include "core/descriptor_chain.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"
#include "level_zero/ze_ipc_phys_mem_handle_range_ext.h"

using namespace vze;

extern "C" {

ze_result_t ZE_APICALL zeMemGetIpcHandle(ze_context_handle_t hContext, const void* ptr,
                                         ze_ipc_mem_handle_t* pIpcHandle) {
    ApiCall call("zeMemGetIpcHandle");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(ptr);
        VZE_CHECK_POINTER(pIpcHandle);
        return context->getIpcHandle(ptr, {}, *pIpcHandle);
    });
}

ze_result_t ZE_APICALL zeMemGetIpcHandleWithProperties(ze_context_handle_t hContext,
                                                       const void* ptr, void* pNext,
                                                       ze_ipc_mem_handle_t* pIpcHandle) {
    ApiCall call("zeMemGetIpcHandleWithProperties");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(ptr);
        VZE_CHECK_POINTER(pIpcHandle);
        const void* type = nullptr;
        const void* range = nullptr;
        ze_result_t result =
            parseChain(pNext, {{ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, &type},
                               {ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC, &range}});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (type != nullptr) {
            result =
                checkIpcHandleType(*static_cast<const ze_ipc_mem_handle_type_ext_desc_t*>(type));
            if (result != ZE_RESULT_SUCCESS)
                return result;
        }
        IpcOptions options;
        if (range != nullptr) {
            options.range = true;
            options.rangeSize =
                static_cast<const ze_ipc_phys_mem_handle_range_ext_desc_t*>(range)->size;
            if (options.rangeSize == 0)
                return fail(ZE_RESULT_ERROR_INVALID_SIZE, "size of the range is 0");
        }
        return context->getIpcHandle(ptr, options, *pIpcHandle);
    });
}

ze_result_t ZE_APICALL zeMemPutIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle) {
    ApiCall call("zeMemPutIpcHandle");
    return guarded([&] {
        const Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        IpcHandle content;
        switch (decodeIpcHandle(handle, content)) {
        case IpcForm::Whole:
            ExportTable::instance().put(content.token.id);
            break;
        case IpcForm::Descriptor: // of the caller's own: there is nothing to put back
            break;
        case IpcForm::Invalid:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "handle: these are not the bytes of a handle");
        }
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeMemOpenIpcHandle(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                          ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags,
                                          void** pptr) {
    ApiCall call("zeMemOpenIpcHandle");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        Device* device = Device::from(hDevice);
        VZE_CHECK_HANDLE(device, hDevice);
        VZE_CHECK_POINTER(pptr);
        constexpr uint32_t kKnown =
            ZE_IPC_MEMORY_FLAG_BIAS_CACHED | ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED;
        if ((flags & ~kKnown) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "flags: unknown bits in 0x%x", flags);
        if (!context->contains(*device))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "hDevice: device %u is not in the context", device->index());
        return context->openIpcHandle(*device, handle, *pptr);
    });
}

ze_result_t ZE_APICALL zeMemCloseIpcHandle(ze_context_handle_t hContext, const void* ptr) {
    ApiCall call("zeMemCloseIpcHandle");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(ptr);
        return context->closeIpcHandle(ptr);
    });
}

ze_result_t ZE_APICALL zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t hContext,
                                                              uint64_t handle,
                                                              ze_ipc_mem_handle_t* pIpcHandle) {
    ApiCall call("zeMemGetIpcHandleFromFileDescriptorExp");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(pIpcHandle);
    if (handle > INT32_MAX || fcntl(static_cast<int>(handle), F_GETFD) == -1)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "handle: %llu is not an open descriptor",
                    static_cast<unsigned long long>(handle));
    const auto fd = static_cast<int32_t>(handle);
    *pIpcHandle = {};
    memcpy(pIpcHandle->data, &fd, sizeof(fd));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t hContext,
                                                              ze_ipc_mem_handle_t ipcHandle,
                                                              uint64_t* pHandle) {
    ApiCall call("zeMemGetFileDescriptorFromIpcHandleExp");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(pHandle);
    IpcHandle content;
    if (decodeIpcHandle(ipcHandle, content) == IpcForm::Invalid)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "ipcHandle: these are not the bytes of a handle");
    if (content.fd < 0)
        return fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "ipcHandle: it carries no descriptor");
    *pHandle = static_cast<uint64_t>(content.fd);
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
