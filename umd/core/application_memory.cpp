// SPDX-License-Identifier: MIT
#include "core/application_memory.h"

#include <sys/uio.h>
#include <unistd.h>

namespace vze {

bool readApplication(void* to, const void* from, size_t size) noexcept {
    const iovec local = {.iov_base = to, .iov_len = size};
    const iovec remote = {.iov_base = const_cast<void*>(from), .iov_len = size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool writeApplication(void* to, const void* from, size_t size) noexcept {
    const iovec local = {.iov_base = const_cast<void*>(from), .iov_len = size};
    const iovec remote = {.iov_base = to, .iov_len = size};
    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool canReachApplication() noexcept {
    static const bool possible = [] {
        const char from = 1;
        char to = 0;
        return readApplication(&to, &from, 1) && to == 1 && writeApplication(&to, &from, 1);
    }();
    return possible;
}

} // namespace vze
