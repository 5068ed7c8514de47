// SPDX-License-Identifier: MIT
#include "ivshmem_server.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace vgpu {
namespace {

constexpr int64_t kProtocolVersion = 0;
constexpr int64_t kGuestPeer = 0;
constexpr int64_t kDevicePeer = 1;
constexpr int64_t kSharedMemory = -1;

bool send_number(int client, int64_t number, int fd = -1) {
    // The protocol is little endian; so is every machine that QEMU's ivshmem works on.
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    iovec data{&number, sizeof(number)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    ssize_t sent = 0;

    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    do {
        sent = sendmsg(client, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == sizeof(number);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address = {};

    if (path.empty() || path.size() >= sizeof(address.sun_path))
        throw std::system_error(ENAMETOOLONG, std::generic_category(),
                                "socket path '" + path + "'");
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    return address;
}

/** Whether a socket file stands at the address that nobody listens at. */
bool abandoned(const sockaddr_un& address) {
    const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

    return probe.valid() &&
           connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
               0 &&
           errno == ECONNREFUSED;
}

} // namespace

IvshmemServer::IvshmemServer(std::string path)
    : path_(std::move(path)), listening_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (!listening_.valid())
        throw std::system_error(errno, std::generic_category(), "socket");

    const sockaddr_un address = address_of(path_);
    const auto bind_it = [&] {
        return bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof(address)) == 0;
    };
    if (!bind_it()) {
        int error = errno;
        if (error == EADDRINUSE && abandoned(address)) {
            unlink(path_.c_str());
            error = bind_it() ? 0 : errno;
        }
        if (error != 0)
            throw std::system_error(error, std::generic_category(), "bind to '" + path_ + "'");
    }
    if (listen(listening_.get(), 1) != 0) {
        const int error = errno;
        unlink(path_.c_str());
        throw std::system_error(error, std::generic_category(), "listen at '" + path_ + "'");
    }
}

IvshmemServer::~IvshmemServer() {
    unlink(path_.c_str());
}

FileDescriptor IvshmemServer::accept_client() {
    return FileDescriptor(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

bool IvshmemServer::greet(int client, int memory, const EventLines& lines) {
    if (!send_number(client, kProtocolVersion) || !send_number(client, kGuestPeer) ||
        !send_number(client, kSharedMemory, memory))
        return false;
    for (uint32_t vector = 0; vector < VZE_HW_VECTORS; vector++) {
        if (!send_number(client, kDevicePeer, lines.doorbell(vector)))
            return false;
    }
    for (uint32_t vector = 0; vector < VZE_HW_VECTORS; vector++) {
        if (!send_number(client, kGuestPeer, lines.interrupt(vector)))
            return false;
    }
    return true;
}

} // namespace vgpu
