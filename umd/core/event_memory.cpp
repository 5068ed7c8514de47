// SPDX-License-Identifier: MIT
#include "core/event_memory.h"

#include "core/log.h"

namespace vze {

void EventMemory::makeSignallers() {
    m_signallers = std::make_unique<std::atomic<uint64_t>[]>(m_count);
}

ze_result_t EventMemory::create(Context& context, uint32_t count, bool shareable,
                                std::shared_ptr<EventMemory>& out) {
    std::shared_ptr<EventMemory> memory(new EventMemory(context, count));
    memory->makeSignallers();
    const ze_result_t result =
        context.allocInternal(size_t{count} * sizeof(EventWords), memory->m_block, shareable);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    out = std::move(memory);
    return ZE_RESULT_SUCCESS;
}

ze_result_t EventMemory::open(Context& context, SharedBlock shared, uint32_t count,
                              std::shared_ptr<EventMemory>& out) {
    std::shared_ptr<EventMemory> memory(new EventMemory(context, count));
    shared.size = size_t{count} * sizeof(EventWords);
    const ze_result_t result = context.openInternal(shared, memory->m_block);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    // The count is whoever made the handle's word, until the share has proved it.
    memory->makeSignallers();
    out = std::move(memory);
    return ZE_RESULT_SUCCESS;
}

EventMemory::~EventMemory() {
    if (m_block)
        m_context.freeInternal(m_block);
}

} // namespace vze
