// SPDX-License-Identifier: MIT
#pragma once

#include "bar.h"
#include "event_lines.h"
#include "fault_ring.h"
#include "queue.h"
#include "wait_list.h"

#include <cstdint>

namespace vgpu {

/** How much an engine does for a queue before it looks for others. */
struct Budget {
    uint32_t commands; ///< after so many another queue gets its turn
    uint64_t bytes;    ///< ... or after so many bytes
    uint64_t
        largest; ///< a transfer of more bytes, or of several chunks, is left to the engines' pool
    bool always; ///< stop at the budget even when no other queue waits
};

/** Why an engine stopped running a queue. */
enum class Outcome {
    kIdle,    ///< the ring is empty
    kMore,    ///< the budget is used up
    kShare,   ///< Queue::transfer is to be moved in chunks by whoever has time
    kPark,    ///< it is in the wait list
    kHang,    ///< it executes HANG
    kFault,   ///< stopped; the record is written
    kStopped, ///< Queue::stop was set
};

/**
 * Executes the jobs of a queue, command by command, for the engine that owns the queue. What it
 * needs of other queues is only whether some wait for their turn.
 */
class QueueRunner {
public:
    QueueRunner(Bar& bar, AddressSpaces& spaces, const EventLines& lines, FaultRing& faults,
                WaitList& waits, unsigned engines)
        : bar_(bar), spaces_(spaces), lines_(lines), faults_(faults), waits_(waits),
          num_engines_(engines) {}

    /** Runs @p queue until something stops it. @p others_ready counts the queues that wait. */
    Outcome run(Queue& queue, Engine& engine, const Budget& budget,
                const std::atomic<uint32_t>& others_ready);

    /** Moves a chunk of the shared transfer of @p queue. Several engines may do so at once. */
    TransferFault run_chunk(const Queue& queue, uint64_t chunk, Engine& engine) {
        return queue.transfer.run_chunk(chunk, spaces_, engine, queue.asid);
    }

    /** Ends the shared transfer of @p queue; false when it faulted, and the record is written. */
    bool finish_transfer(Queue& queue, Engine& engine);

    /** One more step of work is done: the watchdog's word moves. */
    static void show_progress(Queue& queue);

private:
    enum class Step { kDone, kWaits, kHangs, kFaulted, kShared };

    Step next_job(Queue& queue, Engine& engine, bool& empty);
    bool fetch(Queue& queue, Engine& engine);
    Step execute(Queue& queue, Engine& engine, const Budget& budget);
    Step execute_transfer(Queue& queue, Engine& engine, const Budget& budget);
    Step execute_semaphore(Queue& queue, Engine& engine);
    Step execute_wait(Queue& queue, Engine& engine);
    void finish_command(Queue& queue, Engine& engine);
    void finish_job(Queue& queue, Engine& engine);
    void show_busy(Queue& queue);
    void raise_queue(Queue& queue, Engine& engine);
    Step fail(Queue& queue, Engine& engine, const Fault& fault, uint32_t opcode);

    Bar& bar_;
    AddressSpaces& spaces_;
    const EventLines& lines_;
    FaultRing& faults_;
    WaitList& waits_;
    unsigned num_engines_;
};

} // namespace vgpu
