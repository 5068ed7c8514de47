// SPDX-License-Identifier: MIT
#include "core/work_tracker.h"

#include <new>

#include "core/queue.h"

namespace vze {

void WorkTracker::add(const std::shared_ptr<Queue>& queue) {
    const std::lock_guard lock(m_mutex);
    m_queues.push_back({queue.get(), queue});
}

void WorkTracker::remove(const Queue& queue) noexcept {
    const std::lock_guard lock(m_mutex);
    // Taking a reference here could make it the last one, whose end comes back to this function.
    std::erase_if(m_queues, [&](const Entry& entry) { return entry.queue == &queue; });
}

std::vector<std::shared_ptr<Queue>> WorkTracker::snapshot() {
    std::vector<std::shared_ptr<Queue>> queues;
    const std::lock_guard lock(m_mutex);
    queues.reserve(m_queues.size());
    for (const Entry& entry : m_queues) {
        if (std::shared_ptr<Queue> queue = entry.live.lock())
            queues.push_back(std::move(queue));
    }
    return queues;
}

ze_result_t WorkTracker::waitTouching(uint64_t base, uint64_t size) {
    struct Wait {
        std::shared_ptr<Queue> queue;
        uint64_t number;
    };
    // All numbers first: work submitted during the first wait is not waited for.
    std::vector<Wait> waits;
    for (std::shared_ptr<Queue>& queue : snapshot()) {
        if (const uint64_t number = queue->lastTouching(base, size); number != 0)
            waits.push_back({std::move(queue), number});
    }
    for (const Wait& wait : waits) {
        const ze_result_t result = wait.queue->wait(wait.number, UINT64_MAX);
        // A queue that was stopped does not use the memory any more, which is all that was asked.
        if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_ERROR_DEVICE_LOST)
            return result;
    }
    return ZE_RESULT_SUCCESS;
}

std::vector<WorkTracker::BusyQueue> WorkTracker::queuesTouching(uint64_t base, uint64_t size) {
    std::vector<BusyQueue> busy;
    for (const std::shared_ptr<Queue>& queue : snapshot()) {
        if (queue->lastTouching(base, size) != 0)
            busy.push_back({&queue->device(), queue->id()});
    }
    return busy;
}

std::shared_ptr<Queue> WorkTracker::find(const Device& device, uint32_t id) {
    if (id == 0)
        return nullptr;
    for (std::shared_ptr<Queue>& queue : snapshot()) {
        if (&queue->device() == &device && queue->id() == id)
            return std::move(queue);
    }
    return nullptr;
}

std::vector<std::shared_ptr<Queue>> WorkTracker::queuesOf(const Device& device) {
    std::vector<std::shared_ptr<Queue>> queues = snapshot();
    std::erase_if(queues, [&](const std::shared_ptr<Queue>& q) { return &q->device() != &device; });
    return queues;
}

void WorkTracker::reap() noexcept {
    try {
        for (const std::shared_ptr<Queue>& queue : snapshot())
            queue->reap();
    } catch (const std::bad_alloc&) {
        // The next call does it.
    }
}

} // namespace vze
