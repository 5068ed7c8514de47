// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device.h"

namespace vze {

class Queue;

/// The queues of a context, so that a free can ask which work may still use memory.
///
/// Locking: the own mutex is taken before a queue's and never held while waiting.
class WorkTracker {
public:
    void add(const std::shared_ptr<Queue>& queue);
    void remove(const Queue& queue) noexcept;

    /// Unfinished work, as the kernel knows it.
    struct Job {
        Device* device;
        uint32_t queue;
        uint64_t seqno;
    };
    /// Adds, for each queue, the last unfinished work that can touch [base, base + size): when it
    /// has ended, nothing submitted so far can.
    void jobsTouching(uint64_t base, uint64_t size, std::vector<Job>& out);

    /// Whether a queue has work that has not ended.
    bool unfinished();

    /// The queue with a kernel id, or null.
    std::shared_ptr<Queue> find(const Device& device, uint32_t id);

    /// The queues on a device.
    std::vector<std::shared_ptr<Queue>> queuesOf(const Device& device);

    /// Lets go of what finished work kept alive (temporary imports of the application's memory).
    void reap() noexcept;

private:
    std::vector<std::shared_ptr<Queue>> snapshot();

    std::mutex m_mutex;
    struct Entry {
        const Queue* queue; // to compare with
        std::weak_ptr<Queue> live;
    };
    std::vector<Entry> m_queues;
};

} // namespace vze
