// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "gpu.h"
#include "sha256.h"

namespace vze::demo {

/** What the second process found. */
struct ShareAnswer {
    Sha256::Digest digest;
    double seconds;
};

/**
 * Starts this program anew, hands it the 64 bytes of the IPC handle over a socket, and gives what
 * it computed from the memory behind the handle.
 */
ShareAnswer askSecondProcess(const ze_ipc_mem_handle_t& handle, size_t size);

/** The second process: reads the request from the socket, opens, sums, answers. Its exit status. */
int secondProcess(int socket);

inline constexpr char kSecondProcessOption[] = "--second-process=";

} // namespace vze::demo
