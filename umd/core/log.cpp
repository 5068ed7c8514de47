// SPDX-License-Identifier: MIT
#include "core/log.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace vze {

namespace {

constexpr size_t kMaxLine = 1024;

thread_local const char* currentCall = nullptr;
thread_local char lastError[kMaxLine] = "";

LogLevel levelFromEnvironment() noexcept {
    const char* value = getenv("VZE_LOG");
    if (value == nullptr || *value == '\0' || strcmp(value, "0") == 0)
        return LogLevel::Off;
    if (strcmp(value, "trace") == 0 || strcmp(value, "2") == 0)
        return LogLevel::Trace;
    if (strcmp(value, "info") == 0)
        return LogLevel::Info;
    return LogLevel::Error;
}

// One write per line, so that lines of several threads and processes do not mix.
void writeLine(const char* text) noexcept {
    char line[kMaxLine + 32];
    int length = snprintf(line, sizeof(line), "vze[%d]: %s\n", static_cast<int>(getpid()), text);
    if (length < 0)
        return;
    auto size = static_cast<size_t>(length);
    if (size >= sizeof(line)) {
        size = sizeof(line) - 1;
        line[size - 1] = '\n';
    }
    ssize_t written = write(STDERR_FILENO, line, size);
    static_cast<void>(written); // nowhere to report it
}

} // namespace

LogLevel logLevel() noexcept {
    static const LogLevel level = levelFromEnvironment();
    return level;
}

void log(LogLevel level, const char* format, ...) noexcept {
    if (level > logLevel())
        return;
    char text[kMaxLine];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    writeLine(text);
}

ApiCall::ApiCall(const char* name) noexcept : m_previous(currentCall) {
    if (m_previous != nullptr)
        return;
    currentCall = name;
    if (logLevel() >= LogLevel::Trace)
        log(LogLevel::Trace, "%s", name);
}

ApiCall::~ApiCall() {
    currentCall = m_previous;
}

const char* ApiCall::current() noexcept {
    return currentCall != nullptr ? currentCall : "vze";
}

ze_result_t fail(ze_result_t result, const char* format, ...) noexcept {
    char reason[kMaxLine - 128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    snprintf(lastError, sizeof(lastError), "%s: %s (%s)", ApiCall::current(), reason,
             resultName(result));
    if (logLevel() >= LogLevel::Error)
        writeLine(lastError);
    return result;
}

const char* lastErrorText() noexcept {
    return lastError;
}

const char* resultName(ze_result_t result) noexcept {
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
    case ZE_RESULT_ERROR_ADDRESS_NOT_FOUND:
        return "ADDRESS_NOT_FOUND";
    case ZE_RESULT_ERROR_UNKNOWN:
        return "UNKNOWN";
    default:
        return "another result";
    }
}

} // namespace vze
