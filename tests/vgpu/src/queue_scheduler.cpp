// SPDX-License-Identifier: MIT
#include "queue_scheduler.h"

#include "device_clock.h"
#include "shared_word.h"

#include <algorithm>
#include <vector>

namespace vgpu {
namespace {

/** An engine of the pool: up to a transfer that is not worth splitting. */
constexpr Budget kPool = {
    .commands = 16, .bytes = 512ULL << 10, .largest = 512ULL << 10, .always = false};
/** The thread that takes doorbells: must be back for the next one soon. */
constexpr Budget kAtDoorbell = {
    .commands = 16, .bytes = 64ULL << 10, .largest = 64ULL << 10, .always = true};

} // namespace

QueueScheduler::QueueScheduler(Bar& bar, WaitList& waits, QueueRunner& runner, uint32_t num_queues)
    : bar_(bar), waits_(waits), runner_(runner), num_queues_(num_queues),
      queues_(std::make_unique<Queue[]>(num_queues)),
      existing_(std::make_unique<bool[]>(num_queues)) {
    for (uint32_t id = 0; id < num_queues; id++) {
        queues_[id].id = id;
        queues_[id].regs = &bar.queue(id);
    }
    waits.set_wake([this](std::span<const Woken> woken) { wake(woken); });
}

void QueueScheduler::work(Engine& engine) {
    Lock lock(mutex_);

    for (;;) {
        while (run_queue_.empty() && !shut_down_) {
            idle_++;
            ready_.wait(lock);
            idle_--;
        }
        if (shut_down_)
            return;
        Queue& queue = run_queue_.take();
        queue.queued = false;
        step(queue, engine, kPool, lock);
    }
}

void QueueScheduler::doorbell(Engine& engine) {
    std::vector<Queue*> rung;

    for (uint32_t word = 0; word < VZE_HW_MAX_QUEUES / 64; word++) {
        std::atomic_ref<__u64> bits(bar_.regs().queue_doorbell[word]);
        // The relaxed look spares the other words' cache lines a write.
        if (bits.load(std::memory_order_relaxed) == 0)
            continue;
        uint64_t taken = bits.exchange(0, std::memory_order_seq_cst);
        for (; taken != 0; taken &= taken - 1) {
            const uint32_t id = word * 64 + static_cast<uint32_t>(__builtin_ctzll(taken));
            if (id < num_queues_)
                rung.push_back(&queues_[id]);
        }
    }

    Lock lock(mutex_);
    if (rung.size() == 1 && rung[0]->phase == Phase::kIdle && run_queue_.empty() && !shut_down_ &&
        load_acquire(rung[0]->regs->ring_tail) != rung[0]->head) {
        step(*rung[0], engine, kAtDoorbell, lock);
        return;
    }
    for (Queue* queue : rung) {
        // Any other phase ends in a look at the ring's tail.
        if (queue->phase == Phase::kIdle)
            start_if_filled(*queue);
    }
}

void QueueScheduler::shut_down() {
    const Lock lock(mutex_);

    shut_down_ = true;
    ready_.notify_all();
}

/** Puts a queue into the run queue. With the mutex held. */
void QueueScheduler::make_ready(Queue& queue) {
    if (queue.engines == 0)
        queue.phase = Phase::kReady;
    queue.queued = true;
    run_queue_.push(queue);
    if (idle_ > 0)
        ready_.notify_one();
}

/** Writes the state word when it is another than what stands there. With the mutex held. */
void QueueScheduler::show_state(Queue& queue, uint32_t state) {
    if (queue.shown_state == state)
        return;
    queue.shown_state = state;
    store_release(queue.regs->state, state);
}

/** One turn of @p queue on @p engine. The mutex is held on entry and return, and not between. */
void QueueScheduler::step(Queue& queue, Engine& engine, const Budget& budget, Lock& lock) {
    queue.engines++;
    queue.phase = Phase::kRunning;
    show_state(queue, VZE_HW_QUEUE_RUNNING);

    Outcome outcome = Outcome::kStopped;
    if (queue.sharing && !take_chunk(queue, engine, lock)) {
        // Other engines still move chunks; the last of them goes on with the queue.
        queue.engines--;
        return;
    }
    if (!queue.stop.load(std::memory_order_relaxed)) {
        const bool transferred = queue.sharing;
        queue.sharing = false;
        lock.unlock();
        if (transferred && !runner_.finish_transfer(queue, engine))
            outcome = Outcome::kFault;
        else
            outcome = runner_.run(queue, engine, budget, run_queue_.size());
        lock.lock();
    }
    queue.engines--;
    settle(queue, outcome);
}

/**
 * Moves one chunk of the shared transfer of @p queue, if one is left. Returns true when that was
 * the end of the transfer: then the caller owns the queue.
 */
bool QueueScheduler::take_chunk(Queue& queue, Engine& engine, Lock& lock) {
    const auto more = [&queue] {
        return queue.next_chunk < queue.transfer.chunks() && !queue.transfer_fault.fault &&
               !queue.stop.load(std::memory_order_relaxed);
    };

    if (more()) {
        const uint64_t chunk = queue.next_chunk++;
        if (more())
            make_ready(queue);
        lock.unlock();
        const TransferFault result = runner_.run_chunk(queue, chunk, engine);
        lock.lock();
        QueueRunner::show_progress(queue);
        // Chunks are handed out in order, so all before this one are done or under way: the least
        // position is the first byte of the whole transfer that could not be moved.
        if (result.fault &&
            (!queue.transfer_fault.fault || result.position < queue.transfer_fault.position))
            queue.transfer_fault = result;
    }
    return queue.engines == 1 && !queue.queued;
}

/**
 * Makes @p queue idle, or ready when its ring has entries. A doorbell that came while the queue was
 * not idle did nothing, but the tail it announced is visible here. With the mutex held.
 */
void QueueScheduler::start_if_filled(Queue& queue) {
    if (load_acquire(queue.regs->ring_tail) != queue.head) {
        make_ready(queue);
        return;
    }
    queue.phase = Phase::kIdle;
    show_state(queue, VZE_HW_QUEUE_IDLE);
}

/** Puts a queue that an engine has left where it belongs. With the mutex held. */
void QueueScheduler::settle(Queue& queue, Outcome outcome) {
    if (queue.stop.load(std::memory_order_relaxed)) {
        stopped_.notify_all();
        return;
    }
    switch (outcome) {
    case Outcome::kIdle:
        start_if_filled(queue);
        break;
    case Outcome::kShare:
        queue.sharing = true;
        queue.next_chunk = 0;
        queue.transfer_fault = {};
        make_ready(queue);
        break;
    case Outcome::kPark:
        if (queue.woken) {
            queue.woken = false;
            queue.wait_done = queue.woken_done;
            make_ready(queue);
        } else {
            queue.phase = Phase::kParked;
            show_state(queue, VZE_HW_QUEUE_PARKED);
        }
        break;
    case Outcome::kHang:
        queue.phase = Phase::kHung;
        break;
    case Outcome::kFault:
        queue.phase = Phase::kFaulted;
        queue.shown_state = VZE_HW_QUEUE_FAULTED; // written before the record
        break;
    case Outcome::kMore:
    case Outcome::kStopped:
        make_ready(queue);
        break;
    }
}

/** Called by WaitList: the waits of these queues are over. */
void QueueScheduler::wake(std::span<const Woken> woken) {
    const Lock lock(mutex_);

    for (const Woken& one : woken) {
        Queue& queue = *one.queue;
        // A queue that was stopped meanwhile has another park number.
        if (queue.park != one.park)
            continue;
        queue.park++;
        if (queue.phase == Phase::kParked) {
            queue.wait_done = one.fulfilled;
            queue.running_since = device_clock();
            make_ready(queue);
        } else {
            // It is on its way to being parked; settle() will see this.
            queue.woken = true;
            queue.woken_done = one.fulfilled;
        }
    }
}

/**
 * Takes @p queue away from every engine, and from the lists. Afterwards only the caller touches it.
 */
void QueueScheduler::stop(Queue& queue, Lock& lock) {
    queue.stop.store(true, std::memory_order_release);
    if (queue.queued) {
        run_queue_.remove(queue);
        queue.queued = false;
    }
    stopped_.wait(lock, [&queue] { return queue.engines == 0; });
    queue.phase = Phase::kFaulted; // neither idle nor parked: nobody starts it
    queue.park++;
    queue.woken = false;
    lock.unlock();
    waits_.remove(&queue);
    lock.lock();
    queue.sharing = false;
    queue.job = {};
    queue.command_pending = false;
    queue.wait_done = false;
}

void QueueScheduler::create(uint32_t id, uint32_t asid, uint64_t ring, uint32_t entries,
                            uint32_t priority) {
    const Lock lock(mutex_);
    Queue& queue = queues_[id];

    queue.asid = asid;
    queue.ring = ring;
    queue.entries = entries;
    queue.priority = priority;
    queue.head = 0;
    queue.progress = queue.notifies = queue.busy_ns = 0;
    queue.stop.store(false, std::memory_order_relaxed);
    store_release(queue.regs->ring_head, 0);
    store_release(queue.regs->seqno, 0);
    store_release(queue.regs->progress, 0);
    store_release(queue.regs->busy_ns, 0);
    store_release(queue.regs->notifies, 0);
    existing_[id] = true;
    // The driver may have written entries before the queue existed.
    start_if_filled(queue);
}

void QueueScheduler::reset(uint32_t id) {
    Lock lock(mutex_);
    Queue& queue = queues_[id];

    stop(queue, lock);
    queue.head = load_acquire(queue.regs->ring_tail);
    store_release(queue.regs->ring_head, queue.head);
    queue.stop.store(false, std::memory_order_relaxed);
    start_if_filled(queue);
}

void QueueScheduler::destroy(uint32_t id) {
    Lock lock(mutex_);
    Queue& queue = queues_[id];

    stop(queue, lock);
    queue.phase = Phase::kAbsent;
    show_state(queue, VZE_HW_QUEUE_ABSENT);
    existing_[id] = false;
}

} // namespace vgpu
