// SPDX-License-Identifier: MIT
#include "command_line.h"
#include "device.h"
#include "ivshmem_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

namespace {

using namespace vgpu;

/** QEMU makes the file of the guest's RAM while it starts; it may do so after it has connected
 * here. */
constexpr int kRamTries = 3000;
constexpr int kRamPauseMs = 10;

/** SIGTERM and SIGINT as a descriptor. Before the first thread, so that all of them block the
 * signals. */
FileDescriptor block_signals() {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    FileDescriptor fd(signalfd(-1, &set, SFD_CLOEXEC));
    if (!fd.valid())
        throw std::system_error(errno, std::generic_category(), "signalfd");
    return fd;
}

/** Waits until @p fd has something or hung up; false when a signal came instead. */
bool wait_or_signal(int fd, int signals, int timeout_ms, bool& timed_out) {
    pollfd fds[] = {{signals, POLLIN, 0}, {fd, POLLIN, 0}};
    int ready = 0;

    while ((ready = poll(fds, 2, timeout_ms)) < 0 && errno == EINTR) {
    }
    timed_out = ready == 0;
    return fds[0].revents == 0;
}

/** Whether the other side closed the connection. QEMU never sends anything. */
bool disconnected(int client) {
    char byte = 0;
    const ssize_t got = recv(client, &byte, 1, MSG_DONTWAIT);

    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/** Maps the RAM file when it is there with its full size. */
std::optional<Mapping> map_ram(const Options& options) {
    const FileDescriptor fd(open(options.ram_file.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status = {};

    if (!fd.valid() || fstat(fd.get(), &status) != 0 ||
        static_cast<uint64_t>(status.st_size) < options.ram_size)
        return std::nullopt;
    return Mapping(fd.get(), options.ram_size);
}

bool write_counters(const std::string& path, const Counters::Values& values) {
    FILE* file = std::fopen(path.c_str(), "we");

    if (file == nullptr)
        return false;
    for (size_t i = 0; i < values.size(); i++) {
        const std::string_view name = Counters::name(i);
        std::fprintf(file, "%.*s %llu\n", static_cast<int>(name.size()), name.data(),
                     static_cast<unsigned long long>(values[i]));
    }
    const bool good = std::ferror(file) == 0;
    return std::fclose(file) == 0 && good;
}

/** Serves one QEMU from its connection to its end. Returns the exit status. */
int serve(const Options& options, int signals) {
    Device device(options.device);
    IvshmemServer server(options.socket);
    bool timed_out = false;

    std::puts("ready");
    std::fflush(stdout);
    if (!wait_or_signal(server.fd(), signals, -1, timed_out))
        return 0;
    const FileDescriptor client = server.accept_client();
    if (!client.valid() || !IvshmemServer::greet(client.get(), device.bar().fd(), device.lines())) {
        std::fprintf(stderr, "vze-vgpu: QEMU went away during the handshake\n");
        return 1;
    }

    std::optional<Mapping> ram = map_ram(options);
    for (int tries = 0; !ram && tries < kRamTries; tries++) {
        if (!wait_or_signal(client.get(), signals, kRamPauseMs, timed_out))
            return 0;
        if (!timed_out && disconnected(client.get()))
            return 0;
        ram = map_ram(options);
    }
    if (!ram) {
        std::fprintf(stderr, "vze-vgpu: no file of %llu bytes at %s\n",
                     static_cast<unsigned long long>(options.ram_size), options.ram_file.c_str());
        return 1;
    }

    device.start(ram->bytes());
    while (wait_or_signal(client.get(), signals, -1, timed_out) && !disconnected(client.get())) {
    }
    device.stop();
    if (!options.counters_file.empty() &&
        !write_counters(options.counters_file, device.counters())) {
        std::fprintf(stderr, "vze-vgpu: cannot write %s: %s\n", options.counters_file.c_str(),
                     std::strerror(errno));
        return 1;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    std::string error;
    const std::optional<Options> options = parse_options(argc, argv, error);

    if (!options) {
        if (error.empty()) {
            std::fputs(usage().data(), stdout);
            return 0;
        }
        std::fprintf(stderr, "vze-vgpu: %s\n%s", error.c_str(), usage().data());
        return 2;
    }
    try {
        const FileDescriptor signals = block_signals();
        return serve(*options, signals.get());
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "vze-vgpu: %s\n", failure.what());
        return 1;
    }
}
