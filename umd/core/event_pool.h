// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "core/event_memory.h"
#include "core/handle.h"

namespace vze {

class Event;

/// zeEventPool: created here, or opened from another process's handle.
class EventPool : public Handle<EventPool, ze_event_pool_handle_t, HandleKind::EventPool> {
public:
    static ze_result_t create(Context& context, ze_event_pool_flags_t flags, uint32_t count,
                              EventPool*& out);
    static ze_result_t open(Context& context, const ze_ipc_event_pool_handle_t& handle,
                            EventPool*& out);

    Context& context() const noexcept { return m_memory->context(); }
    ze_event_pool_flags_t flags() const noexcept { return m_flags; }
    bool opened() const noexcept { return m_opened; }

    /// The event at desc.index. A slot of a pool that was created here starts unsignalled; in an
    /// opened pool the state is the other process's and stays.
    ze_result_t createEvent(const ze_event_desc_t& desc, Event*& out);

    ze_result_t getIpcHandle(ze_ipc_event_pool_handle_t& out);
    /// Counts against getIpcHandle(); the last one ends the handle. Puts of a handle that is not
    /// (any more) one of this process succeed and do nothing.
    static ze_result_t putIpcHandle(const ze_ipc_event_pool_handle_t& handle);

    ~EventPool();

private:
    EventPool(std::shared_ptr<EventMemory> memory, ze_event_pool_flags_t flags,
              bool opened) noexcept
        : m_memory(std::move(memory)), m_flags(flags), m_opened(opened) {}

    const std::shared_ptr<EventMemory> m_memory;
    const ze_event_pool_flags_t m_flags;
    const bool m_opened;
};

} // namespace vze
