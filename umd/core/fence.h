// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/handle.h"
#include "core/queue.h"

namespace vze {

/// zeFence: completion of one submission to one command queue.
///
/// Thread-safe; m_mutex protects m_number and is not held while the device is waited for.
class Fence : public Handle<Fence, ze_fence_handle_t, HandleKind::Fence> {
public:
    Fence(std::shared_ptr<Queue> queue, bool signalled) noexcept
        : m_queue(std::move(queue)), m_number(signalled ? kSignalled : kUnsubmitted) {}

    const std::shared_ptr<Queue>& queue() const noexcept { return m_queue; }

    /// From now on the fence stands for submission @p number of its queue.
    void attach(uint64_t number);
    void reset();

    /// SUCCESS, NOT_READY, DEVICE_LOST. @p timeout in ns as the API has it. A fence that was not
    /// submitted yet is waited for likewise: another thread may submit it.
    ze_result_t wait(uint64_t timeout);

private:
    static constexpr uint64_t kSignalled = 0; // every queue has completed submission 0
    static constexpr uint64_t kUnsubmitted = UINT64_MAX;

    const std::shared_ptr<Queue> m_queue;
    std::mutex m_mutex;
    std::condition_variable m_attached;
    uint64_t m_number;
};

} // namespace vze
