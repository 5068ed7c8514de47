// SPDX-License-Identifier: MIT
#pragma once

#include "bar.h"
#include "queue.h"
#include "queue_runner.h"
#include "run_queue.h"
#include "wait_list.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace vgpu {

/**
 * Shares the engines among the queues.
 *
 * Queues that can run stand in the run queue; one that has used up its budget goes to the end of
 * its priority there. A transfer of several chunks is run the same way: whoever takes the queue
 * takes one chunk and puts the queue back while there are more, so that a long transfer uses every
 * engine that has nothing else to do and delays no other queue by more than a chunk.
 *
 * Lock order: WaitList's mutex is never taken with this class's mutex held.
 */
class QueueScheduler {
public:
    QueueScheduler(Bar& bar, WaitList& waits, QueueRunner& runner, uint32_t num_queues);

    // The engines' side.
    /** Runs queues until shut_down(). */
    void work(Engine& engine);
    /**
     * Takes the doorbell words and starts the queues they name. When it is a single queue and
     * nothing else is to do, the caller runs its first short commands itself.
     */
    void doorbell(Engine& engine);
    /** Makes work() return in every thread. */
    void shut_down();

    // The control ring's side; one thread.
    /** Makes queue @p id. The caller has checked everything. */
    void create(uint32_t id, uint32_t asid, uint64_t ring, uint32_t entries, uint32_t priority);
    /** Stops queue @p id, forgets what is in its ring and makes it idle. */
    void reset(uint32_t id);
    /** Stops queue @p id and removes it. */
    void destroy(uint32_t id);
    bool exists(uint32_t id) const { return existing_[id]; }
    uint32_t asid(uint32_t id) const { return queues_[id].asid; }
    uint32_t num_queues() const { return num_queues_; }

private:
    using Lock = std::unique_lock<std::mutex>;

    void step(Queue& queue, Engine& engine, const Budget& budget, Lock& lock);
    bool take_chunk(Queue& queue, Engine& engine, Lock& lock);
    void settle(Queue& queue, Outcome outcome);
    void make_ready(Queue& queue);
    void start_if_filled(Queue& queue);
    void show_state(Queue& queue, uint32_t state);
    void wake(std::span<const Woken> woken);
    void stop(Queue& queue, Lock& lock);

    Bar& bar_;
    WaitList& waits_;
    QueueRunner& runner_;
    const uint32_t num_queues_;
    std::unique_ptr<Queue[]> queues_;
    std::unique_ptr<bool[]> existing_; ///< the control ring's own knowledge

    std::mutex mutex_;
    std::condition_variable ready_;   ///< run_queue_ is not empty, or shut down
    std::condition_variable stopped_; ///< an engine left a queue with Queue::stop set
    RunQueue run_queue_;
    uint32_t idle_ = 0; ///< engines that wait for ready_
    bool shut_down_ = false;
};

} // namespace vgpu
