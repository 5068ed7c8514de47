// SPDX-License-Identifier: MIT
#include "run_queue.h"

#include <algorithm>

namespace vgpu {

void RunQueue::push(Queue& queue) {
    levels_[queue.priority].queues.push_back(&queue);
    size_.fetch_add(1, std::memory_order_relaxed);
}

/** The level that is served next: the lowest that has waited too long, else the highest. */
RunQueue::Level& RunQueue::next_level() {
    Level* chosen = nullptr;

    for (Level& level : levels_) {
        if (level.queues.empty())
            continue;
        chosen = &level;
        if (level.passed_over >= VZE_HW_PRIORITY_PATIENCE)
            break;
    }
    return *chosen;
}

Queue& RunQueue::take() {
    Level& served = next_level();
    Queue& queue = *served.queues.front();

    served.queues.pop_front();
    size_.fetch_sub(1, std::memory_order_relaxed);
    served.passed_over = 0;
    for (uint32_t below = 0; below < queue.priority; below++) {
        // Who has nothing to run is not kept waiting.
        if (levels_[below].queues.empty())
            levels_[below].passed_over = 0;
        else
            levels_[below].passed_over++;
    }
    return queue;
}

void RunQueue::remove(const Queue& queue) {
    std::erase(levels_[queue.priority].queues, &queue);
    size_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace vgpu
