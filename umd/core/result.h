// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <new>

#include <level_zero/ze_api.h>

#include "core/log.h"
#include "kmd/fork.h"

namespace vze {

/// The one mapping from a kernel error (positive errno) to an API result, where the call has no
/// reading of its own. 0 is success.
ze_result_t resultFromErrno(int error) noexcept;

/// resultFromErrno() with a log line "zeCall: what: strerror". @p what names the step, e.g.
/// "VM_BIND".
ze_result_t failErrno(int error, const char* what) noexcept;

/// Runs the body of an entry point. Exceptions do not cross the API: memory that runs out in the
/// standard library is OUT_OF_HOST_MEMORY.
template <typename Body>
ze_result_t guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the driver ran out of host memory");
    } catch (...) {
        return fail(ZE_RESULT_ERROR_UNKNOWN, "unexpected error in the driver");
    }
}

} // namespace vze

/// Argument checks that nearly every entry point begins with. In a child that was forked after the
/// driver was opened no call gets further: the memory that objects look at is not mapped there, and
/// locks may be held by threads that it does not have.
#define VZE_CHECK_HANDLE(object, name)                                                             \
    do {                                                                                           \
        if ((name) == nullptr)                                                                     \
            return ::vze::fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, #name " is null");             \
        if ((object) == nullptr)                                                                   \
            return ::vze::fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,                                   \
                               #name " %p is not a live handle of the right kind",                 \
                               static_cast<const void*>(name));                                    \
        if (::vze::kmd::openedBeforeFork())                                                        \
            return ::vze::failErrno(EPERM, "the process was forked after the driver was opened");  \
    } while (0)

#define VZE_CHECK_POINTER(name)                                                                    \
    do {                                                                                           \
        if ((name) == nullptr)                                                                     \
            return ::vze::fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, #name " is null");            \
    } while (0)
