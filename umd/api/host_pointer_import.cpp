// SPDX-License-Identifier: MIT
//
// zexDriver*: the import of system memory as clients know it from before the extension. The memory
// goes to the default context; command lists of every context then reach it like any host memory.
#include "api/extension_functions.h"

#include "core/context.h"
#include "core/driver.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;

bool findImport(Context& context, const void* ptr, AllocationView& view) noexcept {
    return context.lookup(ptr, view) && view.type == AllocationType::HostImported;
}

} // namespace

ze_result_t ZE_APICALL importExternalPointer(ze_driver_handle_t hDriver, void* ptr, size_t size) {
    ApiCall call("zexDriverImportExternalPointer");
    return guarded([&] {
        Driver* driver = Driver::from(hDriver);
        VZE_CHECK_HANDLE(driver, hDriver);
        VZE_CHECK_POINTER(ptr);
        if (size == 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "size is 0");
        const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
        if (size > UINT64_MAX - start - kPage)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "[%p, +0x%zx) wraps", ptr, size);
        Context* context = nullptr;
        const ze_result_t result = driver->defaultContext(context);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        const uint64_t base = start & ~(kPage - 1);
        const uint64_t end = (start + size + kPage - 1) & ~(kPage - 1);
        void* mapped = nullptr;
        return context->importHost(reinterpret_cast<void*>(base), end - base, false, mapped);
    });
}

ze_result_t ZE_APICALL releaseImportedPointer(ze_driver_handle_t hDriver, void* ptr) {
    ApiCall call("zexDriverReleaseImportedPointer");
    return guarded([&] {
        Driver* driver = Driver::from(hDriver);
        VZE_CHECK_HANDLE(driver, hDriver);
        VZE_CHECK_POINTER(ptr);
        Context* context = nullptr;
        const ze_result_t result = driver->defaultContext(context);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        AllocationView view;
        if (!findImport(*context, ptr, view))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not imported", ptr);
        return context->free(reinterpret_cast<void*>(view.base), FreePolicy::Now);
    });
}

ze_result_t ZE_APICALL getHostPointerBaseAddress(ze_driver_handle_t hDriver, void* ptr,
                                                 void** baseAddress) {
    ApiCall call("zexDriverGetHostPointerBaseAddress");
    return guarded([&] {
        Driver* driver = Driver::from(hDriver);
        VZE_CHECK_HANDLE(driver, hDriver);
        VZE_CHECK_POINTER(ptr);
        VZE_CHECK_POINTER(baseAddress);
        Context* context = nullptr;
        const ze_result_t result = driver->defaultContext(context);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        AllocationView view;
        if (!findImport(*context, ptr, view))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not imported", ptr);
        *baseAddress = reinterpret_cast<void*>(view.base);
        return ZE_RESULT_SUCCESS;
    });
}

} // namespace vze
