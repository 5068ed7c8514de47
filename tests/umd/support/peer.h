// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu.h"
#include "process.h"

namespace vze::test {

/** How a peer is put apart from the others before it loads the driver. */
struct PeerSetup {
    bool pidNamespace = false;      // is process 1 of a PID namespace of its own
    bool denyProcessAccess = false; // pidfd, ptrace and process memory calls answer EPERM
    bool hideProc = false;          // finds an empty /proc
    bool userNamespace = false;     // has all capabilities, in a user namespace of its own only
    bool notDumpable = false;
    uint32_t user = 0;        // 0: stays what it is
    uint32_t descriptors = 0; // limit of open files, 0: stays
};

/** What zeMemAlloc* the peer calls. */
enum class PeerMemory : uint32_t { Device, Host, Shared };

/**
 * Another process with a loader and driver of its own, which does what it is told, one step after
 * the other, and keeps its memory in numbered slots. Killed with the object if it still runs.
 */
class Peer {
public:
    explicit Peer(const PeerSetup& setup = {});

    pid_t pid() const { return child_->pid(); }
    void signal(int number) { child_->signal(number); }
    /** Kills it and waits until it is gone. */
    void kill();
    /** Lets it destroy its context and end; its exit status. */
    int finish();

    ze_result_t open(const ze_ipc_mem_handle_t& handle, uint32_t* slot, uint64_t* size = nullptr);
    ze_result_t close(uint32_t slot);
    /** Allocates; the device fills it with the pattern of this seed. */
    ze_result_t allocate(PeerMemory kind, uint64_t size, uint32_t seed, uint32_t* slot);
    ze_result_t free(uint32_t slot);
    ze_result_t get(uint32_t slot, ze_ipc_mem_handle_t* handle);
    ze_result_t getRange(uint32_t slot, uint64_t offset, uint64_t size,
                         ze_ipc_mem_handle_t* handle);
    ze_result_t put(const ze_ipc_mem_handle_t& handle);
    /** Offset of the first byte that differs from the pattern (-1: none), as its device reads it.
     */
    int64_t mismatch(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed);
    /** The same as its CPU reads it. */
    int64_t cpuMismatch(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed);
    ze_result_t write(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed);
    /** What a device access there comes to, on a queue of its own. */
    ze_result_t touch(uint32_t slot, uint64_t offset);
    /** The signal that a CPU read there ends in, 0: none. */
    int cpuTouch(uint32_t slot, uint64_t offset);
    uint64_t descriptors();
    /** Passes a descriptor to it; its number there. */
    int give(int fd);
    /** errno of pidfd_open on a process, 0: it works. */
    int pidfdOpen(pid_t pid);

private:
    struct Request;
    struct Reply;
    Reply call(const Request& request, int fd = -1);
    static int serve(int channel, const std::vector<std::string>& arguments);
    friend struct PeerRegistration;

    std::unique_ptr<Child> child_;
};

} // namespace vze::test
