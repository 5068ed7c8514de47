// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "core/command_list.h"
#include "core/context.h"
#include "core/device.h"
#include "core/queue.h"

namespace vze {

/// Checks what command queues and immediate lists ask for. @p argument: "desc" or "altdesc".
ze_result_t checkQueueDesc(const Device& device, const char* argument,
                           const ze_command_queue_desc_t& desc);

/// The objects behind hContext and hDevice, the device being one of the context's.
ze_result_t checkContextDevice(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               Context*& context, Device*& device);

/// The lists behind handles, each a closed regular list that the queue can run.
ze_result_t checkLists(std::span<const ze_command_list_handle_t> handles, const Queue& queue,
                       std::vector<CommandList*>& out);

} // namespace vze
