// SPDX-License-Identifier: MIT
#include "core/command_queue.h"

#include <vector>

#include "core/command_list.h"
#include "core/fence.h"
#include "core/log.h"

namespace vze {

uint32_t kernelPriority(ze_command_queue_priority_t priority) noexcept {
    switch (priority) {
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW:
        return DRM_VZE_PRIORITY_LOW;
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH:
        return DRM_VZE_PRIORITY_HIGH;
    default:
        return DRM_VZE_PRIORITY_NORMAL;
    }
}

ze_result_t CommandQueue::create(Context& context, Device& device,
                                 const ze_command_queue_desc_t& desc, CommandQueue*& out) {
    std::shared_ptr<Queue> queue;
    const ze_result_t result = Queue::create(context, device, kernelPriority(desc.priority), queue);
    if (result == ZE_RESULT_SUCCESS)
        out = new CommandQueue(std::move(queue), desc);
    return result;
}

ze_result_t CommandQueue::execute(std::span<CommandList* const> lists, Fence* fence) {
    std::vector<std::shared_ptr<Recording>> recordings;
    recordings.reserve(lists.size());
    for (const CommandList* list : lists)
        recordings.push_back(list->recording());
    uint64_t number = 0;
    const ze_result_t result = m_queue->submit(recordings, number);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (fence != nullptr)
        fence->attach(number);
    if (m_desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        return m_queue->wait(number, UINT64_MAX);
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
