// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace vze::test {

/** A figure in kB of /proc/self/status ("VmPin"), 0 when the line is missing. */
uint64_t statusKilobytes(const char* key);

/** Bytes that are pinned for this process. */
inline uint64_t pinnedBytes() {
    return statusKilobytes("VmPin") * 1024;
}

/** Number of open file descriptors of this process. */
size_t openDescriptors();

/** How often to repeat what is wanted @p rounds times: an eighth of it on a kernel that checks each
 * of its memory accesses (scripts/sanitize), which is ten times slower, and in other modes of the
 * loader, where the calls are what counts. */
size_t roundsHere(size_t rounds);

/** Sum of debugfs vze_counts over all vze devices; empty when debugfs has none. */
std::map<std::string, int64_t> deviceCounts();

/** Value of a counter of the device itself (debugfs vze_hw_counters), summed over the devices. */
int64_t deviceCounter(const std::string& name);

using ChildFunction = std::function<int(int channel, const std::vector<std::string>& arguments)>;

/** Registers what a child process of this binary does; the channel is a socket to the parent. */
class ChildRegistration {
public:
    ChildRegistration(const char* name, ChildFunction function);
};

/** Runs a registered child when the command line asks for one; its exit status, or -1. */
int runChildIfAsked(int argc, char** argv);

/**
 * A new process that executes this binary anew and runs a registered function: a fresh address
 * space with its own loader and driver. Killed and reaped with the object if it still runs.
 */
class Child {
public:
    Child(const std::string& name, const std::vector<std::string>& arguments = {});
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }
    /** The parent's end of the channel. */
    int channel() const { return channel_; }
    bool send(const void* bytes, size_t size);
    bool receive(void* bytes, size_t size);
    void signal(int number);
    /** Exit status, or 128 + signal. */
    int wait();

private:
    pid_t pid_ = -1;
    int channel_ = -1;
};

/** Whole messages on a stream socket; false on error or end. */
bool sendAll(int fd, const void* bytes, size_t size);
bool receiveAll(int fd, void* bytes, size_t size);

/** Passes a descriptor along with one byte (SCM_RIGHTS). */
bool sendDescriptor(int channel, int fd);
/** What sendDescriptor() passed; -1 on error. */
int receiveDescriptor(int channel);

} // namespace vze::test
