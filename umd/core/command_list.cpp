// SPDX-License-Identifier: MIT
#include "core/command_list.h"

#include "core/command_queue.h"
#include "core/log.h"

namespace vze {

ze_result_t CommandList::createRegular(Context& context, Device& device, uint32_t ordinal,
                                       ze_command_list_flags_t flags, CommandList*& out) {
    std::unique_ptr<CommandList> list(new CommandList(context, device));
    list->m_ordinal = ordinal;
    list->m_flags = flags;
    list->m_recording = std::make_shared<Recording>(context);
    out = list.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::createImmediate(Context& context, Device& device,
                                         const ze_command_queue_desc_t& desc, CommandList*& out) {
    std::unique_ptr<CommandList> list(new CommandList(context, device));
    list->m_ordinal = desc.ordinal;
    if ((desc.flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER) != 0)
        list->m_flags |= ZE_COMMAND_LIST_FLAG_IN_ORDER;
    if ((desc.flags & ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY) != 0)
        list->m_flags |= ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY;
    if ((desc.flags & ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT) != 0)
        list->m_flags |= ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT;
    list->m_queueDesc = desc;
    list->m_queueDesc.pNext = nullptr;
    const ze_result_t result =
        Queue::create(context, device, kernelPriority(desc.priority), list->m_queue);
    if (result == ZE_RESULT_SUCCESS)
        out = list.release();
    return result;
}

CommandList::~CommandList() {
    if (m_queue != nullptr)
        m_queue->stop();
}

void CommandList::reset() {
    if (immediate())
        return;
    // A queue that still runs the old commands, or a clone, keeps them.
    if (m_recording.use_count() == 1)
        m_recording->recycle();
    else
        m_recording = std::make_shared<Recording>(m_context);
    m_closed = false;
}

ze_result_t CommandList::clone(CommandList*& out) const {
    std::unique_ptr<CommandList> list(new CommandList(m_context, m_device));
    list->m_ordinal = m_ordinal;
    list->m_flags = m_flags;
    list->m_recording = m_recording;
    list->m_closed = true;
    out = list.release();
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
