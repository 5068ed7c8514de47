// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "core/event_memory.h"
#include "core/handle.h"

namespace vze {

/// zeEvent: one slot of a pool. Its state is in memory that devices and CPUs share.
class Event : public Handle<Event, ze_event_handle_t, HandleKind::Event> {
public:
    /// @p poolFlags: of its pool, which may be destroyed first.
    Event(ze_event_pool_handle_t pool, ze_event_pool_flags_t poolFlags, EventSlot slot,
          const ze_event_desc_t& desc) noexcept
        : m_pool(pool), m_poolFlags(poolFlags), m_slot(std::move(slot)), m_signalScope(desc.signal),
          m_waitScope(desc.wait) {}

    ze_event_pool_handle_t pool() const noexcept { return m_pool; }
    Context& context() const noexcept { return m_slot.memory->context(); }
    const EventSlot& slot() const noexcept { return m_slot; }
    ze_event_scope_flags_t signalScope() const noexcept { return m_signalScope; }
    ze_event_scope_flags_t waitScope() const noexcept { return m_waitScope; }
    /// Commands that signal it store when they began and ended.
    bool hasTimestamps() const noexcept {
        return (m_poolFlags & (ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP |
                               ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP)) != 0;
    }
    /// They can be asked for in the host's time.
    bool hasMappedTimestamps() const noexcept {
        return (m_poolFlags & ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP) != 0;
    }

    bool signalled() const noexcept;
    /// Signals from the host and wakes devices and threads that wait.
    ze_result_t hostSignal();
    void hostReset() noexcept;
    /// SUCCESS, NOT_READY, DEVICE_LOST (the queue that was to signal it has stopped). @p timeout in
    /// ns as the API has it.
    ze_result_t hostWait(uint64_t timeout);

    /// Device clock at begin and end of what signalled it. NOT_READY and @p out unchanged when it
    /// is not signalled; INVALID_ARGUMENT when its pool has no timestamps.
    ze_result_t timestamps(ze_kernel_timestamp_data_t& out) const;

private:
    const ze_event_pool_handle_t m_pool;
    const ze_event_pool_flags_t m_poolFlags;
    const EventSlot m_slot;
    const ze_event_scope_flags_t m_signalScope;
    const ze_event_scope_flags_t m_waitScope;
};

/// Converts device clock readings to nanoseconds of the host's CLOCK_MONOTONIC.
ze_result_t toHostTime(Device& device, const ze_kernel_timestamp_data_t& ticks,
                       ze_synchronized_timestamp_data_ext_t& out);

} // namespace vze
