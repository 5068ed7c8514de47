// SPDX-License-Identifier: MIT
//
// The runtime API (zer*): what works without a driver handle.
#include <level_zero/zer_api.h>

#include "api/ddi.h"
#include "core/context.h"
#include "core/driver.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace vze {

void fillTable(zer_global_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_14(version, ZE_API_VERSION_1_14);
    since1_14(table.pfnGetLastErrorDescription, zerGetLastErrorDescription);
    since1_14(table.pfnTranslateDeviceHandleToIdentifier, zerTranslateDeviceHandleToIdentifier);
    since1_14(table.pfnTranslateIdentifierToDeviceHandle, zerTranslateIdentifierToDeviceHandle);
    since1_14(table.pfnGetDefaultContext, zerGetDefaultContext);
}

} // namespace vze

extern "C" {

VZE_TABLE_GETTER(zerGetGlobalProcAddrTable, zer_global_dditable_t)

ZE_APIEXPORT ze_result_t ZE_APICALL zerGetLastErrorDescription(const char** ppString) {
    if (ppString == nullptr)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *ppString = lastErrorText();
    return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT uint32_t ZE_APICALL zerTranslateDeviceHandleToIdentifier(ze_device_handle_t hDevice) {
    ApiCall call("zerTranslateDeviceHandleToIdentifier");
    const Device* device = Device::from(hDevice);
    if (device == nullptr) {
        fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "hDevice %p is not a device",
             static_cast<const void*>(hDevice));
        return UINT32_MAX;
    }
    return device->index();
}

ZE_APIEXPORT ze_device_handle_t ZE_APICALL
zerTranslateIdentifierToDeviceHandle(uint32_t identifier) {
    ApiCall call("zerTranslateIdentifierToDeviceHandle");
    Driver* driver = Driver::instance();
    if (driver == nullptr || identifier >= driver->devices().size()) {
        fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "identifier: there is no device %u", identifier);
        return nullptr;
    }
    return driver->devices()[identifier]->handle();
}

ZE_APIEXPORT ze_context_handle_t ZE_APICALL zerGetDefaultContext(void) {
    ApiCall call("zerGetDefaultContext");
    Driver* driver = Driver::instance();
    return driver != nullptr ? zeDriverGetDefaultContext(driver->handle()) : nullptr;
}

} // extern "C"
