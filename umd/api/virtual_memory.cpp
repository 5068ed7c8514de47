// SPDX-License-Identifier: MIT
#include "api/alloc_options.h"
#include "api/export_properties.h"
#include "core/context.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLargePage = size_t{2} << 20;

// The range of a call on reservations: whole pages.
ze_result_t checkRange(const void* ptr, size_t size) noexcept {
    VZE_CHECK_POINTER(ptr);
    if (reinterpret_cast<uintptr_t>(ptr) % kPage != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "ptr: %p is not page-aligned", ptr);
    if (size == 0 || size % kPage != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                    "size: 0x%zx is not a positive multiple of the page size", size);
    if (size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(ptr))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "[%p, +0x%zx) wraps", ptr, size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t checkAccess(ze_memory_access_attribute_t access) noexcept {
    switch (access) {
    case ZE_MEMORY_ACCESS_ATTRIBUTE_NONE:
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE:
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY:
        return ZE_RESULT_SUCCESS;
    default:
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "access: %d is not an attribute",
                    static_cast<int>(access));
    }
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeVirtualMemReserve(ze_context_handle_t hContext, const void* pStart,
                                           size_t size, void** pptr) {
    ApiCall call("zeVirtualMemReserve");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(pptr);
        if (size == 0 || size % kPage != 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                        "size: 0x%zx is not a positive multiple of the page size", size);
        if (reinterpret_cast<uintptr_t>(pStart) % kPage != 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "pStart: %p is not page-aligned",
                        pStart);
        return context->reserve(pStart, size, *pptr);
    });
}

ze_result_t ZE_APICALL zeVirtualMemFree(ze_context_handle_t hContext, const void* ptr,
                                        size_t size) {
    ApiCall call("zeVirtualMemFree");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        const ze_result_t result = checkRange(ptr, size);
        return result == ZE_RESULT_SUCCESS ? context->unreserve(ptr, size) : result;
    });
}

ze_result_t ZE_APICALL zeVirtualMemQueryPageSize(ze_context_handle_t hContext,
                                                 ze_device_handle_t hDevice, size_t size,
                                                 size_t* pagesize) {
    ApiCall call("zeVirtualMemQueryPageSize");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    const Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pagesize);
    if (!context->contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hDevice: device %u is not in the context",
                    device->index());
    // Every multiple of 4 KiB works; large objects translate faster by large leaves.
    const bool large = size >= kLargePage && (device->info().page_sizes & kLargePage) != 0;
    *pagesize = large ? kLargePage : kPage;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zePhysicalMemCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                           ze_physical_mem_desc_t* desc,
                                           ze_physical_mem_handle_t* phPhysicalMemory) {
    ApiCall call("zePhysicalMemCreate");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phPhysicalMemory);
        constexpr uint32_t kOnDevice = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
        constexpr uint32_t kOnHost = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
        if ((desc->flags & ~(kOnDevice | kOnHost)) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags: unknown bits in 0x%x",
                        desc->flags);
        if (desc->flags == (kOnDevice | kOnHost))
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                        "desc->flags: on the device and on the host exclude each other");
        const bool onHost = desc->flags == kOnHost;
        Device* device = nullptr;
        if (hDevice != nullptr) {
            device = Device::from(hDevice);
            VZE_CHECK_HANDLE(device, hDevice);
            if (!context->contains(*device))
                return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                            "hDevice: device %u is not in the context", device->index());
        } else if (!onHost) {
            return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "hDevice is null for device memory");
        }
        AllocOptions options;
        const ze_result_t result =
            parseAllocChain(*context, AllocCall::Physical, desc->pNext, options);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (desc->size == 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "desc->size is 0");
        if (desc->size % kPage != 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                        "desc->size: 0x%zx is not a multiple of the page size", desc->size);
        PhysicalMemory* memory = nullptr;
        const ze_result_t created =
            context->createPhysical(onHost ? nullptr : device, desc->size, options, memory);
        if (created == ZE_RESULT_SUCCESS)
            *phPhysicalMemory = memory->handle();
        return created;
    });
}

ze_result_t ZE_APICALL zePhysicalMemGetProperties(ze_context_handle_t hContext,
                                                  ze_physical_mem_handle_t hPhysicalMem,
                                                  ze_physical_mem_properties_t* pMemProperties) {
    ApiCall call("zePhysicalMemGetProperties");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        const std::shared_ptr<PhysicalMemory> memory = context->findPhysical(hPhysicalMem);
        VZE_CHECK_HANDLE(memory, hPhysicalMem);
        VZE_CHECK_POINTER(pMemProperties);
        pMemProperties->id = memory->id();
        pMemProperties->size = memory->size();
        return exportProperties(*context, hPhysicalMem, pMemProperties->pNext);
    });
}

ze_result_t ZE_APICALL zePhysicalMemDestroy(ze_context_handle_t hContext,
                                            ze_physical_mem_handle_t hPhysicalMemory) {
    ApiCall call("zePhysicalMemDestroy");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        if (hPhysicalMemory == nullptr)
            return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "hPhysicalMemory is null");
        return context->destroyPhysical(hPhysicalMemory);
    });
}

ze_result_t ZE_APICALL zeVirtualMemMap(ze_context_handle_t hContext, const void* ptr, size_t size,
                                       ze_physical_mem_handle_t hPhysicalMemory, size_t offset,
                                       ze_memory_access_attribute_t access) {
    ApiCall call("zeVirtualMemMap");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        const std::shared_ptr<PhysicalMemory> memory = context->findPhysical(hPhysicalMemory);
        VZE_CHECK_HANDLE(memory, hPhysicalMemory);
        ze_result_t result = checkRange(ptr, size);
        if (result == ZE_RESULT_SUCCESS)
            result = checkAccess(access);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (offset % kPage != 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "offset: 0x%zx is not page-aligned",
                        offset);
        return context->map(ptr, size, memory, offset, access);
    });
}

ze_result_t ZE_APICALL zeVirtualMemUnmap(ze_context_handle_t hContext, const void* ptr,
                                         size_t size) {
    ApiCall call("zeVirtualMemUnmap");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        const ze_result_t result = checkRange(ptr, size);
        return result == ZE_RESULT_SUCCESS ? context->unmap(ptr, size) : result;
    });
}

ze_result_t ZE_APICALL zeVirtualMemSetAccessAttribute(ze_context_handle_t hContext, const void* ptr,
                                                      size_t size,
                                                      ze_memory_access_attribute_t access) {
    ApiCall call("zeVirtualMemSetAccessAttribute");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        ze_result_t result = checkRange(ptr, size);
        if (result == ZE_RESULT_SUCCESS)
            result = checkAccess(access);
        return result == ZE_RESULT_SUCCESS ? context->setAccess(ptr, size, access) : result;
    });
}

ze_result_t ZE_APICALL zeVirtualMemGetAccessAttribute(ze_context_handle_t hContext, const void* ptr,
                                                      size_t size,
                                                      ze_memory_access_attribute_t* access,
                                                      size_t* outSize) {
    ApiCall call("zeVirtualMemGetAccessAttribute");
    return guarded([&] {
        const Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        const ze_result_t result = checkRange(ptr, size);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        VZE_CHECK_POINTER(access);
        VZE_CHECK_POINTER(outSize);
        return context->getAccess(ptr, size, *access, *outSize);
    });
}

} // extern "C"
