// SPDX-License-Identifier: MIT
#pragma once

#include "transfer.h"

#include <drm/vze_hw.h>

#include <atomic>
#include <cstdint>

namespace vgpu {

/** Where a queue stands for the scheduler. */
enum class Phase : uint8_t {
    kAbsent,
    kIdle,    ///< the ring was empty when last looked at
    kReady,   ///< in the run queue
    kRunning, ///< at least one engine works on it
    kParked,  ///< in the wait list
    kHung,    ///< executes HANG: no engine, no progress
    kFaulted,
};

/** The job that a queue executes: its private copy of the ring entry, and how far it is. */
struct Job {
    bool active = false;
    uint64_t batch = 0;
    uint32_t size = 0;   ///< bytes of commands
    uint32_t offset = 0; ///< of the current command
    uint32_t index = 0;  ///< of the current command
    uint64_t seqno = 0;
};

/**
 * One hardware queue.
 *
 * Three groups of members, each with one rule. Configuration changes only while the queue is absent
 * or stopped. What belongs to the owner is touched by the one engine that runs the queue, or by the
 * control ring when none does; ownership passes from thread to thread under the scheduler's mutex.
 * While a transfer is shared there is no owner: the engines that move its chunks only read @ref
 * transfer. The rest is guarded by the scheduler's mutex.
 */
struct Queue {
    // Configuration.
    uint32_t id = 0;
    uint32_t asid = 0;
    uint64_t ring = 0;
    uint32_t entries = 0;
    uint32_t priority = VZE_HW_PRIORITY_NORMAL;
    vze_hw_queue* regs = nullptr;

    // The owner's.
    uint32_t head = 0;
    Job job;
    Command command;
    bool command_pending = false; ///< @ref command is decoded and not yet done
    bool wait_done = false;       ///< the pending SEM_WAIT was fulfilled while parked
    Transfer transfer;
    uint64_t progress = 0;
    uint64_t notifies = 0;
    uint64_t busy_ns = 0;
    uint64_t running_since = 0;

    // The scheduler's.
    Phase phase = Phase::kAbsent;
    uint32_t shown_state = VZE_HW_QUEUE_ABSENT; ///< what regs->state says
    bool queued = false;                        ///< in the run queue
    bool woken = false;                         ///< its wait was fulfilled while it was parking
    bool woken_done = false;                    ///< ... and need not be evaluated again
    uint32_t engines = 0;                       ///< that work on it
    uint64_t park = 0;                          ///< names the current wait, see WaitList
    bool sharing = false;                       ///< @ref transfer is being moved in chunks
    uint64_t next_chunk = 0;
    TransferFault transfer_fault; ///< the first in the order of bytes

    /** Set by the control ring: whoever works on the queue leaves it at the next chunk or command.
     */
    std::atomic<bool> stop{false};
};

} // namespace vgpu
