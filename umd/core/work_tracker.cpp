// SPDX-License-Identifier: MIT
#include "core/work_tracker.h"

#include <algorithm>
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

void WorkTracker::jobsTouching(uint64_t base, uint64_t size, std::vector<Job>& out) {
    for (const std::shared_ptr<Queue>& queue : snapshot()) {
        uint64_t seqno = 0;
        if (queue->lastTouching(base, size, seqno))
            out.push_back({&queue->device(), queue->id(), seqno});
    }
}

bool WorkTracker::unfinished() {
    const std::vector<std::shared_ptr<Queue>> queues = snapshot();
    return std::any_of(queues.begin(), queues.end(), [](const std::shared_ptr<Queue>& queue) {
        return queue->wait(queue->lastSubmitted(), 0) == ZE_RESULT_NOT_READY;
    });
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
