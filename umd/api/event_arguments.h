// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "core/command_list.h"
#include "core/event.h"

namespace vze {

/// Validates the event arguments that every append has. Keep it until the append is done.
class EventArguments {
public:
    /// INVALID_SIZE for a count without an array; INVALID_NULL_HANDLE for a null in it;
    /// INVALID_SYNCHRONIZATION_OBJECT for what is not an event of the list's context.
    ze_result_t parse(const CommandList& list, ze_event_handle_t hSignalEvent,
                      uint32_t numWaitEvents, const ze_event_handle_t* phWaitEvents);

    EventLinks links() const noexcept { return {.signal = m_signal, .waits = m_waits}; }

private:
    Event* m_signal = nullptr;
    std::vector<Event*> m_waits;
};

/// The event behind a handle if commands of the list may use it; see EventArguments::parse().
ze_result_t checkEvent(const CommandList& list, const char* argument, ze_event_handle_t handle,
                       Event*& out);

} // namespace vze
