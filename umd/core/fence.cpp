// SPDX-License-Identifier: MIT
#include "core/fence.h"

#include <algorithm>
#include <chrono>

namespace vze {

void Fence::attach(uint64_t number) {
    {
        const std::lock_guard lock(m_mutex);
        m_number = number;
    }
    m_attached.notify_all();
}

void Fence::reset() {
    const std::lock_guard lock(m_mutex);
    m_number = kUnsubmitted;
}

ze_result_t Fence::wait(uint64_t timeout) {
    uint64_t number = 0;
    {
        std::unique_lock lock(m_mutex);
        const auto submitted = [this] { return m_number != kUnsubmitted; };
        if (!submitted()) {
            if (timeout == 0)
                return ZE_RESULT_NOT_READY;
            const int64_t deadline = kmd::monotonicDeadline(timeout);
            if (deadline < 0) {
                m_attached.wait(lock, submitted);
            } else {
                // steady_clock is CLOCK_MONOTONIC.
                const std::chrono::steady_clock::time_point until{
                    std::chrono::nanoseconds(deadline)};
                if (!m_attached.wait_until(lock, until, submitted))
                    return ZE_RESULT_NOT_READY;
                timeout =
                    static_cast<uint64_t>(std::max<int64_t>(deadline - kmd::monotonicNow(), 0));
            }
        }
        number = m_number;
    }
    return m_queue->wait(number, timeout);
}

} // namespace vze
