// SPDX-License-Identifier: MIT
#include "process.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu.h"

namespace vze::test {

namespace {

constexpr char kChildOption[] = "--vze-child=";
constexpr char kChannelOption[] = "--vze-channel=";

std::map<std::string, ChildFunction>& registry() {
    static std::map<std::string, ChildFunction> functions;
    return functions;
}

/* The same device directory appears under several names (minor numbers, PCI address). */
std::set<std::string> deviceDirectories() {
    std::set<std::string> found;
    DIR* dri = opendir("/sys/kernel/debug/dri");
    if (!dri)
        return found;
    while (const dirent* entry = readdir(dri)) {
        if (entry->d_name[0] == '.')
            continue;
        std::string path = std::string("/sys/kernel/debug/dri/") + entry->d_name;
        char* real = realpath(path.c_str(), nullptr);
        if (!real)
            continue;
        if (access((std::string(real) + "/vze_counts").c_str(), R_OK) == 0)
            found.insert(real);
        std::free(real);
    }
    closedir(dri);
    return found;
}

void addCounts(const std::string& path, std::map<std::string, int64_t>& sums) {
    std::ifstream file(path);
    std::string key;
    int64_t value;
    while (file >> key >> value) {
        if (!key.empty() && key.back() == ':')
            key.pop_back();
        sums[key] += value;
    }
}

/* -1 without one. */
int64_t heartbeat(const std::string& directory) {
    std::ifstream file(directory + "/vze_state");
    std::string key;
    std::string value;
    while (file >> key >> value) {
        if (key == "heartbeat")
            return std::strtoll(value.c_str(), nullptr, 10);
    }
    return -1;
}

/*
 * The device writes its counters after each heartbeat: once it has moved twice, they count all
 * that had ended at the call. A machine may stand still for seconds.
 */
bool waitForCounters(const std::string& directory) {
    const int64_t first = heartbeat(directory);
    for (int round = 0; first >= 0 && round < 3000; round++) {
        if (heartbeat(directory) >= first + 2)
            return true;
        usleep(20000);
    }
    return false;
}

} // namespace

uint64_t statusKilobytes(const char* key) {
    std::ifstream status("/proc/self/status");
    const std::string wanted = std::string(key) + ":";
    std::string line;
    while (std::getline(status, line)) {
        if (line.compare(0, wanted.size(), wanted) == 0)
            return std::strtoull(line.c_str() + wanted.size(), nullptr, 10);
    }
    return 0;
}

size_t roundsHere(size_t rounds) {
    const bool checked = access("/sys/kernel/debug/kmemleak", F_OK) == 0;
    const bool fewer = checked || loaderInterceptsHandles() || parameterValidationActive();
    return fewer ? (rounds + 7) / 8 : rounds;
}

size_t openDescriptors() {
    size_t count = 0;
    DIR* fds = opendir("/proc/self/fd");
    if (!fds)
        return 0;
    while (const dirent* entry = readdir(fds)) {
        if (entry->d_name[0] != '.')
            count++;
    }
    closedir(fds);
    return count - 1; // that of the directory itself
}

std::map<std::string, int64_t> deviceCounts() {
    std::map<std::string, int64_t> sums;
    for (const std::string& directory : deviceDirectories())
        addCounts(directory + "/vze_counts", sums);
    return sums;
}

int64_t deviceCounter(const std::string& name) {
    std::map<std::string, int64_t> sums;
    for (const std::string& directory : deviceDirectories()) {
        EXPECT_TRUE(waitForCounters(directory)) << directory << " has no heartbeat";
        addCounts(directory + "/vze_hw_counters", sums);
    }
    auto found = sums.find(name);
    EXPECT_NE(found, sums.end()) << "the device has no counter " << name;
    return found == sums.end() ? -1 : found->second;
}

ChildRegistration::ChildRegistration(const char* name, ChildFunction function) {
    registry()[name] = std::move(function);
}

int runChildIfAsked(int argc, char** argv) {
    if (argc < 3 || std::strncmp(argv[1], kChildOption, sizeof kChildOption - 1) != 0 ||
        std::strncmp(argv[2], kChannelOption, sizeof kChannelOption - 1) != 0)
        return -1;
    const std::string name = argv[1] + sizeof kChildOption - 1;
    const int channel = std::atoi(argv[2] + sizeof kChannelOption - 1);
    auto found = registry().find(name);
    if (found == registry().end()) {
        std::fprintf(stderr, "this binary has no child function '%s'\n", name.c_str());
        return 99;
    }
    // A parent that fails an assertion must not leave its children behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = found->second(channel, std::vector<std::string>(argv + 3, argv + argc));
    std::fflush(nullptr);
    return status;
}

Child::Child(const std::string& name, const std::vector<std::string>& arguments) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
        ADD_FAILURE() << "socketpair: " << std::strerror(errno);
        return;
    }
    std::vector<std::string> words = {"/proc/self/exe", kChildOption + name,
                                      kChannelOption + std::to_string(pair[1])};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
        close(pair[0]);
        execv("/proc/self/exe", argv.data());
        _exit(98);
    }
    close(pair[1]);
    channel_ = pair[0];
    if (pid_ < 0)
        ADD_FAILURE() << "fork: " << std::strerror(errno);
}

Child::~Child() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (channel_ >= 0)
        close(channel_);
}

bool Child::send(const void* bytes, size_t size) {
    return sendAll(channel_, bytes, size);
}

bool Child::receive(void* bytes, size_t size) {
    return receiveAll(channel_, bytes, size);
}

void Child::signal(int number) {
    if (pid_ > 0)
        kill(pid_, number);
}

int Child::wait() {
    if (pid_ <= 0)
        return -1;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool sendAll(int fd, const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size) {
        ssize_t n = ::send(fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool receiveAll(int fd, void* data, size_t size) {
    char* bytes = static_cast<char*>(data);
    while (size) {
        ssize_t n = ::recv(fd, bytes, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool sendDescriptor(int channel, int fd) {
    char byte = 'f';
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
}

int receiveDescriptor(int channel) {
    char byte = 0;
    iovec data{&byte, 1};
    int fd = -1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_RIGHTS)
        return -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

} // namespace vze::test
