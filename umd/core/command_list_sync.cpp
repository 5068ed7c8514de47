// SPDX-License-Identifier: MIT
//
// Appends that order, signal and measure.
#include <cstddef>
#include <vector>

#include "core/append.h"
#include "core/event.h"

namespace vze {

ze_result_t CommandList::appendBarrier(const EventLinks& events) {
    Append append(*this, events);
    if (const ze_result_t result = append.begin(); result != ZE_RESULT_SUCCESS)
        return result;
    if (!append.encoder().barrier())
        return Append::outOfMemory();
    return append.finish();
}

ze_result_t CommandList::appendSignal(Event& event) {
    Append append(*this, {.signal = &event, .waits = {}});
    if (const ze_result_t result = append.begin(); result != ZE_RESULT_SUCCESS)
        return result;
    return append.finish();
}

ze_result_t CommandList::appendWait(std::span<Event* const> events) {
    Append append(*this, {.signal = nullptr, .waits = events});
    if (const ze_result_t result = append.begin(); result != ZE_RESULT_SUCCESS)
        return result;
    return append.finish();
}

ze_result_t CommandList::appendEventReset(Event& event) {
    Append append(*this, {});
    if (const ze_result_t result = append.begin(); result != ZE_RESULT_SUCCESS)
        return result;
    append.recording().keepEvent(event.slot(), EventEffect::Reset);
    if (!append.encoder().signal(event.slot().address(), kEventReset, false))
        return Append::outOfMemory();
    return append.finish();
}

ze_result_t CommandList::appendTimestamp(uint64_t* dst, const EventLinks& events) {
    Append append(*this, events);
    uint64_t address = 0;
    ze_result_t result = append.begin();
    if (result == ZE_RESULT_SUCCESS)
        result = append.operand("dstptr", dst, sizeof(*dst), Append::Access::Write, address);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!append.encoder().timestamp(address))
        return Append::outOfMemory();
    return append.finish();
}

ze_result_t CommandList::appendQueryTimestamps(std::span<Event* const> queried, void* dst,
                                               const size_t* offsets, const EventLinks& events) {
    static_assert(sizeof(ze_kernel_timestamp_result_t) == 2 * sizeof(ze_kernel_timestamp_data_t));
    static_assert(offsetof(EventWords, end) == offsetof(EventWords, start) + sizeof(uint64_t));
    Append append(*this, events);
    ze_result_t result = append.begin();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    for (size_t i = 0; i < queried.size(); i++) {
        const size_t offset =
            offsets != nullptr ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
        uint64_t address = 0;
        result =
            append.operand("dstptr", static_cast<std::byte*>(dst) + offset,
                           sizeof(ze_kernel_timestamp_result_t), Append::Access::Write, address);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        const uint64_t words = queried[i]->slot().address() + offsetof(EventWords, start);
        append.recording().keepEvent(queried[i]->slot(), EventEffect::Wait);
        // The device has one clock and runs a command without pause: the time of the context is the
        // time of the device.
        constexpr size_t kHalf = sizeof(ze_kernel_timestamp_data_t);
        if (!append.encoder().copy(address + offsetof(ze_kernel_timestamp_result_t, global), words,
                                   kHalf) ||
            !append.encoder().copy(address + offsetof(ze_kernel_timestamp_result_t, context), words,
                                   kHalf))
            return Append::outOfMemory();
    }
    return append.finish();
}

ze_result_t CommandList::appendLists(std::span<CommandList* const> lists,
                                     const EventLinks& events) {
    Append append(*this, events);
    if (const ze_result_t result = append.begin(); result != ZE_RESULT_SUCCESS)
        return result;
    std::vector<std::shared_ptr<Recording>> recordings;
    recordings.reserve(lists.size());
    for (const CommandList* list : lists)
        recordings.push_back(list->recording());
    return append.finishWith(recordings);
}

} // namespace vze
