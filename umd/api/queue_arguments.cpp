// SPDX-License-Identifier: MIT
#include "api/queue_arguments.h"

#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr ze_command_queue_flags_t kQueueFlags = ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY |
                                                 ZE_COMMAND_QUEUE_FLAG_IN_ORDER |
                                                 ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT;

} // namespace

ze_result_t checkContextDevice(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               Context*& context, Device*& device) {
    context = Context::from(hContext);
    VZE_CHECK_HANDLE(context, hContext);
    device = Device::from(hDevice);
    VZE_CHECK_HANDLE(device, hDevice);
    if (!context->contains(*device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hDevice is not a device of the context");
    return ZE_RESULT_SUCCESS;
}

ze_result_t checkQueueDesc(const Device& device, const char* argument,
                           const ze_command_queue_desc_t& desc) {
    if ((desc.flags & ~kQueueFlags) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s->flags: 0x%x has unknown bits",
                    argument, desc.flags);
    if (static_cast<uint32_t>(desc.mode) > ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s->mode: %u is unknown", argument,
                    static_cast<uint32_t>(desc.mode));
    if (static_cast<uint32_t>(desc.priority) > ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s->priority: %u is unknown", argument,
                    static_cast<uint32_t>(desc.priority));
    if (desc.ordinal >= Device::kQueueGroups)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s->ordinal: %u, the device has %u group(s)",
                    argument, desc.ordinal, Device::kQueueGroups);
    if (desc.index >= device.queuesInGroup())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s->index: %u, the group has %u queues",
                    argument, desc.index, device.queuesInGroup());
    return parseChain(desc.pNext, {});
}

ze_result_t checkLists(std::span<const ze_command_list_handle_t> handles, const Queue& queue,
                       std::vector<CommandList*>& out) {
    out.reserve(handles.size());
    for (size_t i = 0; i < handles.size(); i++) {
        if (handles[i] == nullptr)
            return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "phCommandLists[%zu] is null", i);
        CommandList* list = CommandList::from(handles[i]);
        if (list == nullptr)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "phCommandLists[%zu] %p is not a live command list", i,
                        static_cast<const void*>(handles[i]));
        if (list->immediate())
            return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                        "phCommandLists[%zu] is an immediate command list", i);
        if (!list->closed())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phCommandLists[%zu] is not closed", i);
        if (&list->context() != &queue.context() || &list->device() != &queue.device())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "phCommandLists[%zu] belongs to another context or device", i);
        out.push_back(list);
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
