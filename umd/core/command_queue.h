// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "core/handle.h"
#include "core/queue.h"

namespace vze {

class CommandList;
class Fence;

/// DRM_VZE_PRIORITY_* of an API priority.
uint32_t kernelPriority(ze_command_queue_priority_t priority) noexcept;

/// zeCommandQueue: a hardware queue that runs regular command lists.
class CommandQueue
    : public Handle<CommandQueue, ze_command_queue_handle_t, HandleKind::CommandQueue> {
public:
    /// @p desc has been validated.
    static ze_result_t create(Context& context, Device& device, const ze_command_queue_desc_t& desc,
                              CommandQueue*& out);
    ~CommandQueue() { m_queue->stop(); }

    const ze_command_queue_desc_t& desc() const noexcept { return m_desc; }
    const std::shared_ptr<Queue>& queue() const noexcept { return m_queue; }

    /// Submits closed regular lists in order; @p fence may be null. Waits in synchronous mode.
    ze_result_t execute(std::span<CommandList* const> lists, Fence* fence);
    ze_result_t synchronize(uint64_t timeout) {
        return m_queue->wait(m_queue->lastSubmitted(), timeout);
    }

private:
    CommandQueue(std::shared_ptr<Queue> queue, const ze_command_queue_desc_t& desc) noexcept
        : m_queue(std::move(queue)), m_desc(desc) {}

    const std::shared_ptr<Queue> m_queue;
    const ze_command_queue_desc_t m_desc; // pNext is not kept valid
};

} // namespace vze
