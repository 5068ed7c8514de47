// SPDX-License-Identifier: MIT
#pragma once

#include "address_space.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace vgpu {

struct Queue;

/** Whether (@p word op @p operand) holds; @p op is one of VZE_HW_WAIT_*. */
bool wait_fulfilled(uint32_t op, uint64_t word, uint64_t operand);

/** A semaphore wait of a parked queue. */
struct Wait {
    Queue* queue = nullptr;
    uint64_t park = 0; ///< Queue::park when it was added: a later wait of the queue is another one
    uint32_t asid = 0;
    uint32_t op = 0;
    uint64_t address = 0;
    uint64_t operand = 0;
    const std::byte* host = nullptr; ///< where the semaphore lay when last looked at
};

/** A wait that left the list. */
struct Woken {
    Queue* queue = nullptr;
    uint64_t park = 0;
    bool fulfilled = false; ///< false: its memory went away, executing the wait again will fault
};

/**
 * The waits of all parked queues.
 *
 * A thread that evaluates takes the list's mutex before it opens a section and never the other way
 * round; nobody may call in while inside a section or with the scheduler's mutex held.
 */
class WaitList {
public:
    /** @p wake is called, without any lock, with the waits that have left the list. */
    using Wake = std::function<void(std::span<const Woken>)>;

    explicit WaitList(AddressSpaces& spaces) : spaces_(spaces) {}
    void set_wake(Wake wake) { wake_ = std::move(wake); }

    /**
     * Adds a wait and evaluates it once more, because the semaphore may have changed since the
     * caller looked; when that fulfils it, it is woken through the callback like any other.
     */
    void add(const Wait& wait, Engine& engine);
    /** Removes the wait of @p queue if it is there. */
    void remove(const Queue* queue);

    /** The device wrote to the semaphore at @p host. */
    void signalled(const std::byte* host, Engine& engine);
    /** Evaluates every wait. */
    void evaluate_all(Engine& engine);
    /** Evaluates the waits of one address space. */
    void evaluate(uint32_t asid, Engine& engine);

private:
    template <typename Select>
    void evaluate_if(Select&& select, Engine& engine);

    AddressSpaces& spaces_;
    Wake wake_;
    std::mutex mutex_;
    std::vector<Wait> waits_;
    /** Size of waits_. seq_cst, so that a signaller either sees a wait or its waiter the value. */
    std::atomic<size_t> size_{0};
};

} // namespace vgpu
