// SPDX-License-Identifier: MIT
#include <bit>

#include "api/alloc_options.h"
#include "api/export_properties.h"
#include "core/context.h"
#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr uint64_t kPage = 4096;

constexpr uint32_t kDeviceFlags = ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED |
                                  ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED |
                                  ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT;
constexpr uint32_t kHostFlags =
    ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED | ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED |
    ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED | ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT |
    ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;

ze_result_t checkDeviceFlags(const ze_device_mem_alloc_desc_t& desc) noexcept {
    if ((desc.flags & ~kDeviceFlags) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "device_desc->flags: unknown bits in 0x%x",
                    desc.flags);
    return ZE_RESULT_SUCCESS;
}

ze_result_t checkHostFlags(const ze_host_mem_alloc_desc_t& desc) noexcept {
    if ((desc.flags & ~kHostFlags) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "host_desc->flags: unknown bits in 0x%x",
                    desc.flags);
    constexpr uint32_t kExclusive =
        ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
    if ((desc.flags & kExclusive) == kExclusive)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "host_desc->flags: MEM_READ_ONLY and BIAS_WRITE_COMBINED exclude each other");
    return ZE_RESULT_SUCCESS;
}

ze_result_t findMember(Context& context, ze_device_handle_t hDevice, Device*& device) noexcept {
    device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    if (!context.contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hDevice: device %u is not in the context",
                    device->index());
    return ZE_RESULT_SUCCESS;
}

// The next power of two: an alignment that is none is expected to work.
ze_result_t roundAlignment(size_t& alignment) noexcept {
    constexpr size_t kMost = size_t{1} << 46;
    if (alignment > kMost)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "alignment: 0x%zx is beyond user memory",
                    alignment);
    alignment = alignment == 0 ? 1 : std::bit_ceil(alignment);
    return ZE_RESULT_SUCCESS;
}

ze_result_t checkSize(size_t size) noexcept {
    if (size == 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "size is 0");
    return ZE_RESULT_SUCCESS;
}

// ze_external_memmap_sysmem_ext_desc_t with the arguments of its call.
ze_result_t importSysmem(Context& context, const AllocOptions& options, size_t size,
                         size_t alignment, void** pptr) {
    const auto base = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(options.sysmem));
    if (options.sysmem == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pSystemMemory is null");
    if (base % kPage != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "pSystemMemory: %p is not page-aligned",
                    options.sysmem);
    if (options.sysmemSize == 0 || options.sysmemSize % kPage != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                    "size of the system memory: 0x%llx is not a positive multiple of the page size",
                    static_cast<unsigned long long>(options.sysmemSize));
    if (size == 0 || size > options.sysmemSize)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                    "size: 0x%zx is not in 1..0x%llx, the size of the system memory", size,
                    static_cast<unsigned long long>(options.sysmemSize));
    if (alignment != 0 && (!std::has_single_bit(alignment) || base % alignment != 0))
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                    "alignment: %p does not have an alignment of 0x%zx", options.sysmem, alignment);
    if (options.importFd)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "pNext: two kinds of memory to import in one chain");
    if (options.exportable)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "pNext: imported system memory cannot be exported");
    return context.importHost(options.sysmem, options.sysmemSize, options.readOnly, *pptr);
}

ze_memory_type_t memoryType(AllocationType type) noexcept {
    switch (type) {
    case AllocationType::Device:
    case AllocationType::IpcDevice:
        return ZE_MEMORY_TYPE_DEVICE;
    case AllocationType::Host:
    case AllocationType::IpcHost:
        return ZE_MEMORY_TYPE_HOST;
    case AllocationType::Shared:
        return ZE_MEMORY_TYPE_SHARED;
    case AllocationType::HostImported:
        return ZE_MEMORY_TYPE_HOST_IMPORTED;
    }
    return ZE_MEMORY_TYPE_UNKNOWN;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeMemAllocDevice(ze_context_handle_t hContext,
                                        const ze_device_mem_alloc_desc_t* device_desc, size_t size,
                                        size_t alignment, ze_device_handle_t hDevice, void** pptr) {
    ApiCall call("zeMemAllocDevice");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        Device* device = nullptr;
        ze_result_t result = findMember(*context, hDevice, device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        VZE_CHECK_POINTER(device_desc);
        VZE_CHECK_POINTER(pptr);
        AllocOptions options;
        if ((result = checkDeviceFlags(*device_desc)) != ZE_RESULT_SUCCESS ||
            (result = parseAllocChain(*context, AllocCall::Device, device_desc->pNext, options)) !=
                ZE_RESULT_SUCCESS ||
            (result = checkSize(size)) != ZE_RESULT_SUCCESS ||
            (result = roundAlignment(alignment)) != ZE_RESULT_SUCCESS)
            return result;
        if (device_desc->ordinal != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "device_desc->ordinal: the device has no memory %u", device_desc->ordinal);
        return context->allocDevice(*device, size, alignment, options, *pptr);
    });
}

ze_result_t ZE_APICALL zeMemAllocHost(ze_context_handle_t hContext,
                                      const ze_host_mem_alloc_desc_t* host_desc, size_t size,
                                      size_t alignment, void** pptr) {
    ApiCall call("zeMemAllocHost");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(host_desc);
        VZE_CHECK_POINTER(pptr);
        AllocOptions options;
        ze_result_t result = checkHostFlags(*host_desc);
        if (result == ZE_RESULT_SUCCESS)
            result = parseAllocChain(*context, AllocCall::Host, host_desc->pNext, options);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        options.readOnly = (host_desc->flags & ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY) != 0;
        if (options.importSysmem)
            return importSysmem(*context, options, size, alignment, pptr);
        if ((result = checkSize(size)) != ZE_RESULT_SUCCESS ||
            (result = roundAlignment(alignment)) != ZE_RESULT_SUCCESS)
            return result;
        return context->allocHost(nullptr, size, alignment, AllocationType::Host, options, *pptr);
    });
}

ze_result_t ZE_APICALL zeMemAllocShared(ze_context_handle_t hContext,
                                        const ze_device_mem_alloc_desc_t* device_desc,
                                        const ze_host_mem_alloc_desc_t* host_desc, size_t size,
                                        size_t alignment, ze_device_handle_t hDevice, void** pptr) {
    ApiCall call("zeMemAllocShared");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(device_desc);
        VZE_CHECK_POINTER(host_desc);
        VZE_CHECK_POINTER(pptr);
        Device* device = nullptr;
        ze_result_t result = ZE_RESULT_SUCCESS;
        if (hDevice != nullptr &&
            (result = findMember(*context, hDevice, device)) != ZE_RESULT_SUCCESS)
            return result;
        AllocOptions options;
        if ((result = checkDeviceFlags(*device_desc)) != ZE_RESULT_SUCCESS ||
            (result = checkHostFlags(*host_desc)) != ZE_RESULT_SUCCESS ||
            (result = parseAllocChain(*context, AllocCall::Shared, device_desc->pNext, options)) !=
                ZE_RESULT_SUCCESS ||
            (result = parseAllocChain(*context, AllocCall::Shared, host_desc->pNext, options)) !=
                ZE_RESULT_SUCCESS ||
            (result = checkSize(size)) != ZE_RESULT_SUCCESS ||
            (result = roundAlignment(alignment)) != ZE_RESULT_SUCCESS)
            return result;
        if ((host_desc->flags & ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY) != 0)
            options.readOnly = true;
        return context->allocHost(device, size, alignment, AllocationType::Shared, options, *pptr);
    });
}

ze_result_t ZE_APICALL zeMemFree(ze_context_handle_t hContext, void* ptr) {
    ApiCall call("zeMemFree");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(ptr);
        return context->free(ptr, FreePolicy::Now);
    });
}

ze_result_t ZE_APICALL zeMemFreeExt(ze_context_handle_t hContext,
                                    const ze_memory_free_ext_desc_t* pMemFreeDesc, void* ptr) {
    ApiCall call("zeMemFreeExt");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(pMemFreeDesc);
        VZE_CHECK_POINTER(ptr);
        constexpr uint32_t kBlocking = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
        constexpr uint32_t kDefer = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
        const uint32_t policy = pMemFreeDesc->freePolicy;
        if ((policy & ~(kBlocking | kDefer)) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "freePolicy: unknown bits in 0x%x",
                        policy);
        if (policy == (kBlocking | kDefer))
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                        "freePolicy: BLOCKING_FREE and DEFER_FREE exclude each other");
        const ze_result_t result = parseChain(pMemFreeDesc->pNext, {});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        return context->free(ptr, policy == kBlocking ? FreePolicy::Blocking
                                  : policy == kDefer  ? FreePolicy::Deferred
                                                      : FreePolicy::Now);
    });
}

ze_result_t ZE_APICALL zeMemGetAllocProperties(
    ze_context_handle_t hContext, const void* ptr,
    ze_memory_allocation_properties_t* pMemAllocProperties, ze_device_handle_t* phDevice) {
    ApiCall call("zeMemGetAllocProperties");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(ptr);
        VZE_CHECK_POINTER(pMemAllocProperties);
        AllocationView view;
        ze_device_handle_t device = nullptr;
        if (context->lookup(ptr, view)) {
            pMemAllocProperties->type = memoryType(view.type);
            pMemAllocProperties->id = view.id;
            pMemAllocProperties->pageSize = kPage;
            if (view.device != AllocationView::kNoDevice)
                device = context->driver().devices()[view.device]->handle();
        } else {
            pMemAllocProperties->type = ZE_MEMORY_TYPE_UNKNOWN;
            pMemAllocProperties->id = 0;
            pMemAllocProperties->pageSize = 0;
        }
        if (phDevice != nullptr)
            *phDevice = device;
        return exportProperties(*context, ptr, pMemAllocProperties->pNext);
    });
}

ze_result_t ZE_APICALL zeMemGetAddressRange(ze_context_handle_t hContext, const void* ptr,
                                            void** pBase, size_t* pSize) {
    ApiCall call("zeMemGetAddressRange");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    VZE_CHECK_POINTER(ptr);
    uint64_t base = 0;
    uint64_t size = 0;
    if (!context->addressRange(ptr, base, size))
        return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "ptr: %p is not memory of the context", ptr);
    if (pBase != nullptr)
        *pBase = reinterpret_cast<void*>(base);
    if (pSize != nullptr)
        *pSize = size;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemGetPitchFor2dImage(ze_context_handle_t hContext,
                                               ze_device_handle_t hDevice, size_t, size_t,
                                               unsigned int, size_t*) {
    ApiCall call("zeMemGetPitchFor2dImage");
    Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    Device* device = nullptr;
    const ze_result_t result = findMember(*context, hDevice, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no images");
}

ze_result_t ZE_APICALL zeMemSetAtomicAccessAttributeExp(ze_context_handle_t hContext,
                                                        ze_device_handle_t hDevice, const void*,
                                                        size_t, ze_memory_atomic_attr_exp_flags_t) {
    ApiCall call("zeMemSetAtomicAccessAttributeExp");
    Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    Device* device = nullptr;
    const ze_result_t result = findMember(*context, hDevice, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "atomic access cannot be chosen");
}

ze_result_t ZE_APICALL zeMemGetAtomicAccessAttributeExp(ze_context_handle_t hContext,
                                                        ze_device_handle_t hDevice, const void*,
                                                        size_t,
                                                        ze_memory_atomic_attr_exp_flags_t*) {
    ApiCall call("zeMemGetAtomicAccessAttributeExp");
    Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    Device* device = nullptr;
    const ze_result_t result = findMember(*context, hDevice, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "atomic access cannot be chosen");
}

} // extern "C"
