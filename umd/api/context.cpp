// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <vector>

#include "core/context.h"
#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

ze_result_t findMember(ze_context_handle_t hContext, ze_device_handle_t hDevice, Context*& context,
                       Device*& device) noexcept {
    context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    if (!context->contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hDevice: device %u is not in the context",
                    device->index());
    return ZE_RESULT_SUCCESS;
}

// Memory never moves here, so residency needs no work: the call must only name memory of the
// context.
ze_result_t checkResidency(ze_context_handle_t hContext, ze_device_handle_t hDevice, void* ptr,
                           size_t size) noexcept {
    Context* context = nullptr;
    Device* device = nullptr;
    const ze_result_t result = findMember(hContext, hDevice, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    VZE_CHECK_POINTER(ptr);
    if (size == 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "size is 0");
    AllocationView view;
    if (!context->lookup(ptr, view))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not memory of the context", ptr);
    if (!view.contains(reinterpret_cast<uintptr_t>(ptr), size))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "size: [%p, +0x%zx) is not inside one allocation", ptr, size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t imagesAbsent(ze_context_handle_t hContext, ze_device_handle_t hDevice) noexcept {
    Context* context = nullptr;
    Device* device = nullptr;
    const ze_result_t result = findMember(hContext, hDevice, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no images");
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeContextCreateEx(ze_driver_handle_t hDriver, const ze_context_desc_t* desc,
                                         uint32_t numDevices, ze_device_handle_t* phDevices,
                                         ze_context_handle_t* phContext) {
    ApiCall call("zeContextCreateEx");
    return guarded([&] {
        Driver* driver = Driver::from(hDriver);
        VZE_CHECK_HANDLE(driver, hDriver);
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phContext);
        if (numDevices != 0 && phDevices == nullptr)
            return fail(ZE_RESULT_ERROR_INVALID_SIZE, "numDevices is %u, and phDevices is null",
                        numDevices);
        if ((desc->flags & ~static_cast<uint32_t>(ZE_CONTEXT_FLAG_TBD)) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags: unknown bits in 0x%x",
                        desc->flags);
        ze_result_t result = parseChain(desc->pNext, {});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        std::vector<Device*> devices;
        for (uint32_t i = 0; i < numDevices; ++i) {
            Device* device = driver->findDevice(phDevices[i]);
            if (device == nullptr)
                return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                            "phDevices[%u]: %p is not a device of the driver", i,
                            static_cast<void*>(phDevices[i]));
            if (std::find(devices.begin(), devices.end(), device) == devices.end())
                devices.push_back(device);
        }
        if (numDevices == 0)
            for (const auto& device : driver->devices())
                devices.push_back(device.get());
        Context* context = nullptr;
        result = Context::create(*driver, devices, context);
        if (result == ZE_RESULT_SUCCESS)
            *phContext = context->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeContextCreate(ze_driver_handle_t hDriver, const ze_context_desc_t* desc,
                                       ze_context_handle_t* phContext) {
    ApiCall call("zeContextCreate");
    return zeContextCreateEx(hDriver, desc, 0, nullptr, phContext);
}

ze_result_t ZE_APICALL zeContextDestroy(ze_context_handle_t hContext) {
    ApiCall call("zeContextDestroy");
    return guarded([&] {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        if (context->driver().isDefaultContext(*context))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "hContext: the default context belongs to the driver");
        if (context->work().unfinished())
            return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                        "hContext: a command queue or immediate list in it has unfinished work");
        context->destroy();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeContextGetStatus(ze_context_handle_t hContext) {
    ApiCall call("zeContextGetStatus");
    const Context* context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    for (const Device* device : context->devices()) {
        const ze_result_t result = zeDeviceGetStatus(const_cast<Device*>(device)->handle());
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeContextSystemBarrier(ze_context_handle_t hContext,
                                              ze_device_handle_t hDevice) {
    ApiCall call("zeContextSystemBarrier");
    Context* context = nullptr;
    Device* device = nullptr;
    const ze_result_t result = findMember(hContext, hDevice, context, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    // All memory is coherent: what the CPU wrote before this point is what the device reads.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeContextMakeMemoryResident(ze_context_handle_t hContext,
                                                   ze_device_handle_t hDevice, void* ptr,
                                                   size_t size) {
    ApiCall call("zeContextMakeMemoryResident");
    return checkResidency(hContext, hDevice, ptr, size);
}

ze_result_t ZE_APICALL zeContextEvictMemory(ze_context_handle_t hContext,
                                            ze_device_handle_t hDevice, void* ptr, size_t size) {
    ApiCall call("zeContextEvictMemory");
    return checkResidency(hContext, hDevice, ptr, size);
}

ze_result_t ZE_APICALL zeContextMakeImageResident(ze_context_handle_t hContext,
                                                  ze_device_handle_t hDevice, ze_image_handle_t) {
    ApiCall call("zeContextMakeImageResident");
    return imagesAbsent(hContext, hDevice);
}

ze_result_t ZE_APICALL zeContextEvictImage(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                           ze_image_handle_t) {
    ApiCall call("zeContextEvictImage");
    return imagesAbsent(hContext, hDevice);
}

} // extern "C"
