// SPDX-License-Identifier: MIT
#pragma once

#include "address_space.h"
#include "bar.h"
#include "control_ring.h"
#include "device_counters.h"
#include "event_lines.h"
#include "fault_ring.h"
#include "page_compression.h"
#include "physical_memory.h"
#include "queue_runner.h"
#include "queue_scheduler.h"
#include "wait_list.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace vgpu {

/** How a device is made. */
struct DeviceOptions {
    uint64_t vram_size = 256ULL << 20; ///< bytes, a multiple of 2 MiB, not 0
    uint32_t num_queues = VZE_HW_MAX_QUEUES;
    uint32_t pool_engines = 0; ///< 0: one per processor, at least 2
    bool strict = false;       ///< compare every TLB hit with the tables
    bool compression = true;   ///< allow compressible leaves
    std::string name = "vze virtual GPU";
    uint32_t version_major = VZE_HW_VERSION_MAJOR; ///< what the identity page claims
    uint32_t version_minor = VZE_HW_VERSION_MINOR;
};

/**
 * The whole device, without its way into a virtual machine: BAR2, eventfds, and the threads between
 * them. Threads: the control ring's, the one that takes queue doorbells, the engines of the pool,
 * and the heartbeat's.
 */
class Device {
public:
    /** @throws std::system_error when memory or descriptors cannot be had. */
    explicit Device(const DeviceOptions& options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    Bar& bar() { return bar_; }
    const EventLines& lines() const { return lines_; }

    /** Gives the device the guest's RAM, which must outlive it, and starts it. Once. */
    void start(std::span<std::byte> ram);
    /** Stops all work and threads in order; the registers then say STOPPED. */
    void stop();

    Counters::Values counters() const { return counters_.sum(); }

private:
    Engine& new_engine();
    void serve_control(Engine& engine);
    void serve_doorbells(Engine& engine);
    void beat(Engine& engine);
    /** Waits for one of two eventfds or the end; false at the end. */
    bool wait_for(int first, int second) const;

    Bar bar_;
    EventLines lines_;
    FileDescriptor end_; ///< readable when the threads shall end
    PhysicalMemory memory_;
    PageCompression compression_;
    Counters counters_;
    AddressSpaces spaces_;
    WaitList waits_;
    FaultRing faults_;
    QueueRunner runner_;
    QueueScheduler scheduler_;
    ControlRing control_;
    unsigned pool_engines_;
    std::deque<Engine> engines_;
    std::vector<std::thread> threads_;
    std::thread heartbeat_;
    std::atomic<bool> beating_{false};
};

} // namespace vgpu
