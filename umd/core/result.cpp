// SPDX-License-Identifier: MIT
#include "core/result.h"

#include <cerrno>
#include <cstring>

namespace vze {

ze_result_t resultFromErrno(int error) noexcept {
    switch (error) {
    case 0:
        return ZE_RESULT_SUCCESS;
    case ETIME:
        return ZE_RESULT_NOT_READY;
    // Memory: VRAM is ENOSPC; the locked-memory limit and the bound on bookkeeping are the host's.
    case ENOSPC:
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case ENOMEM:
    case EDQUOT:
    case E2BIG:
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    // Out of descriptors: never "out of memory".
    case EMFILE:
    case ENFILE:
        return ZE_RESULT_ERROR_NOT_AVAILABLE;
    case EPERM:
    case EACCES:
        return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
    case ENODEV:
    case EIO:
    case ECANCELED:
        return ZE_RESULT_ERROR_DEVICE_LOST;
    case EOPNOTSUPP:
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    case EINVAL:
    case EFAULT:
    case ENOENT:
    case EBADF:
    case EXDEV:
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    default:
        return ZE_RESULT_ERROR_UNKNOWN;
    }
}

ze_result_t failErrno(int error, const char* what) noexcept {
    if (error == 0)
        return ZE_RESULT_SUCCESS;
    const ze_result_t result = resultFromErrno(error);
    if (result == ZE_RESULT_NOT_READY)
        return result;
    return fail(result, "%s: %s", what, strerror(error));
}

} // namespace vze
