// SPDX-License-Identifier: MIT
#pragma once

#include "queue.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>

namespace vgpu {

/**
 * The queues that can run, by priority.
 *
 * The highest priority goes first, and within one the queue that has waited longest. A priority
 * that was passed over VZE_HW_PRIORITY_PATIENCE times gets the next turn, the lowest such first.
 * Not thread-safe: QueueScheduler's mutex guards it.
 */
class RunQueue {
public:
    bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
    /** Number of queues in here; may be looked at without the mutex. */
    const std::atomic<uint32_t>& size() const { return size_; }
    /** Puts @p queue at the end of its priority. It may be in here once only. */
    void push(Queue& queue);
    /** Takes the queue whose turn it is. There must be one. */
    Queue& take();
    /** Takes @p queue out, which is in here. */
    void remove(const Queue& queue);

private:
    struct Level {
        std::deque<Queue*> queues;
        uint32_t passed_over = 0; ///< turns of higher priorities since its last one
    };

    Level& next_level();

    std::array<Level, VZE_HW_PRIORITY_COUNT> levels_; ///< by VZE_HW_PRIORITY_*
    std::atomic<uint32_t> size_{0};
};

} // namespace vgpu
