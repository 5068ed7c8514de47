// SPDX-License-Identifier: MIT
//
// Appends that order, signal and measure, and hints.
#include <vector>

#include "api/event_arguments.h"
#include "api/queue_arguments.h"
#include "core/application_memory.h"
#include "core/command_list.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

ze_result_t appendLists(ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists,
                        ze_command_list_handle_t* phCommandLists, ze_event_handle_t hSignalEvent,
                        uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    CommandList* list = CommandList::from(hCommandListImmediate);
    VZE_CHECK_HANDLE(list, hCommandListImmediate);
    VZE_CHECK_POINTER(phCommandLists);
    if (!list->immediate())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hCommandListImmediate is not an immediate command list");
    EventArguments events;
    ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    std::vector<CommandList*> lists;
    result = checkLists({phCommandLists, numCommandLists}, *list->queue(), lists);
    return result == ZE_RESULT_SUCCESS ? list->appendLists(lists, events.links()) : result;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeCommandListAppendBarrier(ze_command_list_handle_t hCommandList,
                                                  ze_event_handle_t hSignalEvent,
                                                  uint32_t numWaitEvents,
                                                  ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendBarrier");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        EventArguments events;
        const ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
        return result == ZE_RESULT_SUCCESS ? list->appendBarrier(events.links()) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendMemoryRangesBarrier(
    ze_command_list_handle_t hCommandList, uint32_t numRanges, const size_t* pRangeSizes,
    const void** pRanges, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
    ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendMemoryRangesBarrier");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(pRangeSizes);
        VZE_CHECK_POINTER(pRanges);
        for (uint32_t i = 0; i < numRanges; i++) {
            if (pRanges[i] == nullptr)
                return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pRanges[%u] is null", i);
        }
        EventArguments events;
        const ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
        // The device's barrier covers all memory.
        return result == ZE_RESULT_SUCCESS ? list->appendBarrier(events.links()) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendSignalEvent(ze_command_list_handle_t hCommandList,
                                                      ze_event_handle_t hEvent) {
    const ApiCall call("zeCommandListAppendSignalEvent");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        Event* event = nullptr;
        const ze_result_t result = checkEvent(*list, "hEvent", hEvent, event);
        return result == ZE_RESULT_SUCCESS ? list->appendSignal(*event) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendWaitOnEvents(ze_command_list_handle_t hCommandList,
                                                       uint32_t numEvents,
                                                       ze_event_handle_t* phEvents) {
    const ApiCall call("zeCommandListAppendWaitOnEvents");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(phEvents);
        EventArguments events;
        const ze_result_t result = events.parse(*list, nullptr, numEvents, phEvents);
        return result == ZE_RESULT_SUCCESS ? list->appendWait(events.links().waits) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendEventReset(ze_command_list_handle_t hCommandList,
                                                     ze_event_handle_t hEvent) {
    const ApiCall call("zeCommandListAppendEventReset");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        Event* event = nullptr;
        const ze_result_t result = checkEvent(*list, "hEvent", hEvent, event);
        return result == ZE_RESULT_SUCCESS ? list->appendEventReset(*event) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendWriteGlobalTimestamp(
    ze_command_list_handle_t hCommandList, uint64_t* dstptr, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendWriteGlobalTimestamp");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(dstptr);
        if (reinterpret_cast<uintptr_t>(dstptr) % sizeof(uint64_t) != 0)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                        "dstptr %p is not aligned to 8 bytes", static_cast<void*>(dstptr));
        EventArguments events;
        const ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
        return result == ZE_RESULT_SUCCESS ? list->appendTimestamp(dstptr, events.links()) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListAppendQueryKernelTimestamps(
    ze_command_list_handle_t hCommandList, uint32_t numEvents, ze_event_handle_t* phEvents,
    void* dstptr, const size_t* pOffsets, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
    ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListAppendQueryKernelTimestamps");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(phEvents);
        VZE_CHECK_POINTER(dstptr);
        EventArguments events;
        ze_result_t result = events.parse(*list, hSignalEvent, numWaitEvents, phWaitEvents);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        std::vector<Event*> queried(numEvents);
        for (uint32_t i = 0; i < numEvents; i++) {
            result = checkEvent(*list, "phEvents", phEvents[i], queried[i]);
            if (result != ZE_RESULT_SUCCESS)
                return result;
            if (!queried[i]->hasTimestamps())
                return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                            "phEvents[%u]: its pool was created without a timestamp flag", i);
        }
        // The offsets may be device memory for a device that computes; here they are read at the
        // append, which asks for memory that the CPU can read.
        std::vector<size_t> offsets(pOffsets != nullptr ? numEvents : 0);
        if (!offsets.empty() &&
            !readApplication(offsets.data(), pOffsets, offsets.size() * sizeof(size_t)))
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                        "pOffsets %p cannot be read by the CPU",
                        static_cast<const void*>(pOffsets));
        return list->appendQueryTimestamps(
            queried, dstptr, pOffsets != nullptr ? offsets.data() : nullptr, events.links());
    });
}

ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsExp(
    ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists,
    ze_command_list_handle_t* phCommandLists, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListImmediateAppendCommandListsExp");
    return guarded([&]() -> ze_result_t {
        return appendLists(hCommandListImmediate, numCommandLists, phCommandLists, hSignalEvent,
                           numWaitEvents, phWaitEvents);
    });
}

ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists,
    ze_command_list_handle_t* phCommandLists, const void* pNext, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents) {
    const ApiCall call("zeCommandListImmediateAppendCommandListsWithParameters");
    return guarded([&]() -> ze_result_t {
        if (pNext != nullptr)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "pNext: no extension is supported");
        return appendLists(hCommandListImmediate, numCommandLists, phCommandLists, hSignalEvent,
                           numWaitEvents, phWaitEvents);
    });
}

// Memory does not move between the host and the device, so that the hints are checked and do
// nothing.

ze_result_t ZE_APICALL zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t hCommandList,
                                                         const void* ptr, size_t /*size*/) {
    const ApiCall call("zeCommandListAppendMemoryPrefetch");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(ptr);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListAppendMemAdvise(ze_command_list_handle_t hCommandList,
                                                    ze_device_handle_t hDevice, const void* ptr,
                                                    size_t /*size*/, ze_memory_advice_t advice) {
    const ApiCall call("zeCommandListAppendMemAdvise");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    Device* device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    VZE_CHECK_POINTER(ptr);
    if (static_cast<uint32_t>(advice) > ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "advice: %u is unknown",
                    static_cast<uint32_t>(advice));
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
