// SPDX-License-Identifier: MIT
#include "api/event_arguments.h"

#include "core/log.h"

namespace vze {

ze_result_t checkEvent(const CommandList& list, const char* argument, ze_event_handle_t handle,
                       Event*& out) {
    if (handle == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s is null", argument);
    out = Event::from(handle);
    if (out == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "%s %p is not a live event",
                    argument, static_cast<const void*>(handle));
    if (&out->context() != &list.context())
        return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                    "%s: the event belongs to another context than the command list", argument);
    return ZE_RESULT_SUCCESS;
}

ze_result_t EventArguments::parse(const CommandList& list, ze_event_handle_t hSignalEvent,
                                  uint32_t numWaitEvents, const ze_event_handle_t* phWaitEvents) {
    if (phWaitEvents == nullptr && numWaitEvents != 0)
        return fail(ZE_RESULT_ERROR_INVALID_SIZE, "numWaitEvents is %u and phWaitEvents is null",
                    numWaitEvents);
    if (hSignalEvent != nullptr) {
        const ze_result_t result = checkEvent(list, "hSignalEvent", hSignalEvent, m_signal);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    m_waits.reserve(numWaitEvents);
    for (uint32_t i = 0; i < numWaitEvents; i++) {
        Event* event = nullptr;
        const ze_result_t result = checkEvent(list, "phWaitEvents", phWaitEvents[i], event);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        m_waits.push_back(event);
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
