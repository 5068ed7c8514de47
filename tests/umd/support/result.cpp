// SPDX-License-Identifier: MIT
#include "result.h"

#include <ostream>

#include "gpu.h"

namespace vze::test {

const char* resultName(ze_result_t result) {
    switch (result) {
    case ZE_RESULT_SUCCESS:
        return "SUCCESS";
    case ZE_RESULT_NOT_READY:
        return "NOT_READY";
    case ZE_RESULT_ERROR_DEVICE_LOST:
        return "DEVICE_LOST";
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
        return "OUT_OF_HOST_MEMORY";
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
        return "OUT_OF_DEVICE_MEMORY";
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
        return "INSUFFICIENT_PERMISSIONS";
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
        return "NOT_AVAILABLE";
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
        return "DEPENDENCY_UNAVAILABLE";
    case ZE_RESULT_ERROR_UNINITIALIZED:
        return "UNINITIALIZED";
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
        return "UNSUPPORTED_VERSION";
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
        return "UNSUPPORTED_FEATURE";
    case ZE_RESULT_ERROR_INVALID_ARGUMENT:
        return "INVALID_ARGUMENT";
    case ZE_RESULT_ERROR_INVALID_NULL_HANDLE:
        return "INVALID_NULL_HANDLE";
    case ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE:
        return "HANDLE_OBJECT_IN_USE";
    case ZE_RESULT_ERROR_INVALID_NULL_POINTER:
        return "INVALID_NULL_POINTER";
    case ZE_RESULT_ERROR_INVALID_SIZE:
        return "INVALID_SIZE";
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:
        return "UNSUPPORTED_SIZE";
    case ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT:
        return "UNSUPPORTED_ALIGNMENT";
    case ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT:
        return "INVALID_SYNCHRONIZATION_OBJECT";
    case ZE_RESULT_ERROR_INVALID_ENUMERATION:
        return "INVALID_ENUMERATION";
    case ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION:
        return "UNSUPPORTED_ENUMERATION";
    case ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT:
        return "UNSUPPORTED_IMAGE_FORMAT";
    case ZE_RESULT_ERROR_OVERLAPPING_REGIONS:
        return "OVERLAPPING_REGIONS";
    case ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE:
        return "INVALID_COMMAND_LIST_TYPE";
    case ZE_RESULT_ERROR_ADDRESS_NOT_FOUND:
        return "ADDRESS_NOT_FOUND";
    case ZE_RESULT_ERROR_UNKNOWN:
        return "UNKNOWN";
    default:
        return nullptr;
    }
}

std::ostream& operator<<(std::ostream& out, const Result& result) {
    if (const char* name = resultName(result.value))
        return out << name;
    return out << "result 0x" << std::hex << static_cast<unsigned>(result.value) << std::dec;
}

const char* lastError() {
    const char* text = nullptr;
    if (!driver() || zeDriverGetLastErrorDescription(driver(), &text) != ZE_RESULT_SUCCESS || !text)
        return "";
    return text;
}

} // namespace vze::test
