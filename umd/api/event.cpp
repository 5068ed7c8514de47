// SPDX-License-Identifier: MIT
#include "core/event.h"

#include "core/descriptor_chain.h"
#include "core/event_pool.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr ze_event_scope_flags_t kScopes =
    ZE_EVENT_SCOPE_FLAG_SUBDEVICE | ZE_EVENT_SCOPE_FLAG_DEVICE | ZE_EVENT_SCOPE_FLAG_HOST;

/// The time of the context is the time of the device: it runs one command of a queue without pause.
ze_kernel_timestamp_result_t resultOf(const ze_kernel_timestamp_data_t& data) noexcept {
    return {.global = data, .context = data};
}

/// The queries by device have the same rules: count 0 asks for the number, which is 1.
ze_result_t checkTimestampQuery(ze_event_handle_t hEvent, ze_device_handle_t hDevice,
                                const uint32_t* pCount, Event*& event, Device*& device) {
    event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(pCount);
    if (!event->context().contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hDevice is not a device of the event's context");
    return ZE_RESULT_SUCCESS;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeEventCreate(ze_event_pool_handle_t hEventPool, const ze_event_desc_t* desc,
                                     ze_event_handle_t* phEvent) {
    const ApiCall call("zeEventCreate");
    return guarded([&]() -> ze_result_t {
        EventPool* pool = EventPool::from(hEventPool);
        VZE_CHECK_HANDLE(pool, hEventPool);
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phEvent);
        if ((desc->signal & ~kScopes) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->signal: 0x%x has unknown bits",
                        desc->signal);
        if ((desc->wait & ~kScopes) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->wait: 0x%x has unknown bits",
                        desc->wait);
        // A hint how to wait on the host; waiting here polls briefly and then sleeps, whatever it
        // says.
        const void* syncMode = nullptr;
        ze_result_t result =
            parseChain(desc->pNext, {{ZE_STRUCTURE_TYPE_EVENT_SYNC_MODE_DESC, &syncMode}});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        Event* event = nullptr;
        result = pool->createEvent(*desc, event);
        if (result == ZE_RESULT_SUCCESS)
            *phEvent = event->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeEventDestroy(ze_event_handle_t hEvent) {
    const ApiCall call("zeEventDestroy");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    delete event;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventHostSignal(ze_event_handle_t hEvent) {
    const ApiCall call("zeEventHostSignal");
    return guarded([&]() -> ze_result_t {
        Event* event = Event::from(hEvent);
        VZE_CHECK_HANDLE(event, hEvent);
        return event->hostSignal();
    });
}

ze_result_t ZE_APICALL zeEventHostSynchronize(ze_event_handle_t hEvent, uint64_t timeout) {
    const ApiCall call("zeEventHostSynchronize");
    return guarded([&]() -> ze_result_t {
        Event* event = Event::from(hEvent);
        VZE_CHECK_HANDLE(event, hEvent);
        return event->hostWait(timeout);
    });
}

ze_result_t ZE_APICALL zeEventQueryStatus(ze_event_handle_t hEvent) {
    const ApiCall call("zeEventQueryStatus");
    return guarded([&]() -> ze_result_t {
        Event* event = Event::from(hEvent);
        VZE_CHECK_HANDLE(event, hEvent);
        return event->hostWait(0);
    });
}

ze_result_t ZE_APICALL zeEventHostReset(ze_event_handle_t hEvent) {
    const ApiCall call("zeEventHostReset");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    event->hostReset();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventQueryKernelTimestamp(ze_event_handle_t hEvent,
                                                   ze_kernel_timestamp_result_t* dstptr) {
    const ApiCall call("zeEventQueryKernelTimestamp");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    VZE_CHECK_POINTER(dstptr);
    ze_kernel_timestamp_data_t data = {};
    const ze_result_t result = event->timestamps(data);
    if (result == ZE_RESULT_SUCCESS)
        *dstptr = resultOf(data);
    return result;
}

ze_result_t ZE_APICALL zeEventQueryTimestampsExp(ze_event_handle_t hEvent,
                                                 ze_device_handle_t hDevice, uint32_t* pCount,
                                                 ze_kernel_timestamp_result_t* pTimestamps) {
    const ApiCall call("zeEventQueryTimestampsExp");
    Event* event = nullptr;
    Device* device = nullptr;
    ze_result_t result = checkTimestampQuery(hEvent, hDevice, pCount, event, device);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ze_kernel_timestamp_data_t data = {};
    if (*pCount != 0 && pTimestamps != nullptr) {
        result = event->timestamps(data);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        pTimestamps[0] = resultOf(data);
    }
    *pCount = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventQueryKernelTimestampsExt(
    ze_event_handle_t hEvent, ze_device_handle_t hDevice, uint32_t* pCount,
    ze_event_query_kernel_timestamps_results_ext_properties_t* pResults) {
    const ApiCall call("zeEventQueryKernelTimestampsExt");
    return guarded([&]() -> ze_result_t {
        Event* event = nullptr;
        Device* device = nullptr;
        ze_result_t result = checkTimestampQuery(hEvent, hDevice, pCount, event, device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (*pCount != 0 && pResults != nullptr) {
            ze_kernel_timestamp_data_t data = {};
            result = event->timestamps(data);
            if (result != ZE_RESULT_SUCCESS)
                return result;
            if (pResults->pSynchronizedTimestampsBuffer != nullptr &&
                event->hasMappedTimestamps()) {
                ze_synchronized_timestamp_data_ext_t host = {};
                result = toHostTime(*device, data, host);
                if (result != ZE_RESULT_SUCCESS)
                    return result;
                pResults->pSynchronizedTimestampsBuffer[0] = {.global = host, .context = host};
            }
            if (pResults->pKernelTimestampsBuffer != nullptr)
                pResults->pKernelTimestampsBuffer[0] = resultOf(data);
        }
        *pCount = 1;
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeEventGetEventPool(ze_event_handle_t hEvent,
                                           ze_event_pool_handle_t* phEventPool) {
    const ApiCall call("zeEventGetEventPool");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    VZE_CHECK_POINTER(phEventPool);
    *phEventPool = event->pool();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventGetSignalScope(ze_event_handle_t hEvent,
                                             ze_event_scope_flags_t* pSignalScope) {
    const ApiCall call("zeEventGetSignalScope");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    VZE_CHECK_POINTER(pSignalScope);
    *pSignalScope = event->signalScope();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventGetWaitScope(ze_event_handle_t hEvent,
                                           ze_event_scope_flags_t* pWaitScope) {
    const ApiCall call("zeEventGetWaitScope");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    VZE_CHECK_POINTER(pWaitScope);
    *pWaitScope = event->waitScope();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventGetCounterBasedFlags(ze_event_handle_t hEvent,
                                                   ze_event_counter_based_flags_t* pFlags) {
    const ApiCall call("zeEventGetCounterBasedFlags");
    Event* event = Event::from(hEvent);
    VZE_CHECK_HANDLE(event, hEvent);
    VZE_CHECK_POINTER(pFlags);
    *pFlags = 0; // every event comes from a pool
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
