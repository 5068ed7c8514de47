// SPDX-License-Identifier: MIT
#pragma once

#include "event_lines.h"
#include "file_descriptor.h"

#include <string>

namespace vgpu {

/**
 * The ivshmem server's side of QEMU's ivshmem-doorbell device, for one client.
 *
 * The protocol: the server sends 8-byte little-endian numbers, some with a descriptor. A version,
 * the client's id, -1 with the shared memory, then per peer and vector the peer's id with an
 * eventfd. Here the client (QEMU) is peer 0 and the device is peer 1; peer 1's eventfds are the
 * doorbells and peer 0's are the interrupts.
 */
class IvshmemServer {
public:
    /**
     * Listens at @p path. A socket left there by a process that is gone is replaced.
     * @throws std::system_error when that does not work.
     */
    explicit IvshmemServer(std::string path);
    ~IvshmemServer();
    IvshmemServer(const IvshmemServer&) = delete;
    IvshmemServer& operator=(const IvshmemServer&) = delete;

    int fd() const { return listening_.get(); }

    /** Accepts the client. Not valid when that failed. */
    FileDescriptor accept_client();

    /** Sends the whole handshake to @p client. False when it went away meanwhile. */
    static bool greet(int client, int memory, const EventLines& lines);

private:
    std::string path_;
    FileDescriptor listening_;
};

} // namespace vgpu
