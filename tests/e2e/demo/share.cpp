// SPDX-License-Identifier: MIT
#include "share.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <csignal>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.h"
#include "memory.h"

namespace vze::demo {

namespace {

struct Request {
    ze_ipc_mem_handle_t handle;
    uint64_t size;
};

bool sendAll(int socket, const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size) {
        const ssize_t n = send(socket, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool receiveAll(int socket, void* data, size_t size) {
    char* bytes = static_cast<char*>(data);
    while (size) {
        const ssize_t n = recv(socket, bytes, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

} // namespace

ShareAnswer askSecondProcess(const ze_ipc_mem_handle_t& handle, size_t size) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        throw Failure(std::string("socketpair: ") + std::strerror(errno));
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::string option = kSecondProcessOption + std::to_string(pair[1]);
        char program[] = "/proc/self/exe";
        char* argv[] = {program, option.data(), nullptr};
        execv(program, argv);
        _exit(127);
    }
    close(pair[1]);
    const Request request{handle, size};
    ShareAnswer answer{};
    const bool spoke = pid > 0 && sendAll(pair[0], &request, sizeof request) &&
                       receiveAll(pair[0], &answer, sizeof answer);
    close(pair[0]);
    if (pid < 0)
        throw Failure(std::string("fork: ") + std::strerror(errno));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!spoke || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw Failure(textOf("the second process failed (wait status 0x%x)", status));
    return answer;
}

int secondProcess(int socket) {
    Request request{};
    if (!receiveAll(socket, &request, sizeof request))
        throw Failure("second process: no request came over the socket");
    Gpu gpu;
    void* shared = nullptr;
    gpu.check(zeMemOpenIpcHandle(gpu.context(), gpu.device(), request.handle, 0, &shared),
              "second process: zeMemOpenIpcHandle");
    ShareAnswer answer{};
    {
        CopyQueue queue(gpu);
        Allocation bounce = Allocation::host(gpu, request.size);
        answer.seconds = queue.copy(bounce.get(), shared, request.size);
        answer.digest = Sha256::of(bounce.get(), request.size);
        bounce.free();
    }
    gpu.check(zeMemCloseIpcHandle(gpu.context(), shared), "second process: zeMemCloseIpcHandle");
    if (!sendAll(socket, &answer, sizeof answer))
        throw Failure("second process: the answer could not be sent");
    return 0;
}

} // namespace vze::demo
