// SPDX-License-Identifier: MIT
#include "core/command_queue.h"

#include <vector>

#include "api/queue_arguments.h"
#include "core/command_list.h"
#include "core/fence.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

extern "C" {

ze_result_t ZE_APICALL zeCommandQueueCreate(ze_context_handle_t hContext,
                                            ze_device_handle_t hDevice,
                                            const ze_command_queue_desc_t* desc,
                                            ze_command_queue_handle_t* phCommandQueue) {
    const ApiCall call("zeCommandQueueCreate");
    return guarded([&]() -> ze_result_t {
        Context* context = nullptr;
        Device* device = nullptr;
        ze_result_t result = checkContextDevice(hContext, hDevice, context, device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phCommandQueue);
        result = checkQueueDesc(*device, "desc", *desc);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        CommandQueue* queue = nullptr;
        result = CommandQueue::create(*context, *device, *desc, queue);
        if (result == ZE_RESULT_SUCCESS)
            *phCommandQueue = queue->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeCommandQueueDestroy(ze_command_queue_handle_t hCommandQueue) {
    const ApiCall call("zeCommandQueueDestroy");
    CommandQueue* queue = CommandQueue::from(hCommandQueue);
    VZE_CHECK_HANDLE(queue, hCommandQueue);
    delete queue;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t hCommandQueue,
                                                         uint32_t numCommandLists,
                                                         ze_command_list_handle_t* phCommandLists,
                                                         ze_fence_handle_t hFence) {
    const ApiCall call("zeCommandQueueExecuteCommandLists");
    return guarded([&]() -> ze_result_t {
        CommandQueue* queue = CommandQueue::from(hCommandQueue);
        VZE_CHECK_HANDLE(queue, hCommandQueue);
        VZE_CHECK_POINTER(phCommandLists);
        if (numCommandLists == 0)
            return fail(ZE_RESULT_ERROR_INVALID_SIZE, "numCommandLists is 0");
        std::vector<CommandList*> lists;
        const ze_result_t result =
            checkLists({phCommandLists, numCommandLists}, *queue->queue(), lists);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        Fence* fence = nullptr;
        if (hFence != nullptr) {
            fence = Fence::from(hFence);
            if (fence == nullptr)
                return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                            "hFence %p is not a live fence", static_cast<const void*>(hFence));
            if (fence->queue() != queue->queue())
                return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                            "hFence was created for another command queue");
        }
        return queue->execute(lists, fence);
    });
}

ze_result_t ZE_APICALL zeCommandQueueSynchronize(ze_command_queue_handle_t hCommandQueue,
                                                 uint64_t timeout) {
    const ApiCall call("zeCommandQueueSynchronize");
    return guarded([&]() -> ze_result_t {
        CommandQueue* queue = CommandQueue::from(hCommandQueue);
        VZE_CHECK_HANDLE(queue, hCommandQueue);
        return queue->synchronize(timeout);
    });
}

ze_result_t ZE_APICALL zeCommandQueueGetOrdinal(ze_command_queue_handle_t hCommandQueue,
                                                uint32_t* pOrdinal) {
    const ApiCall call("zeCommandQueueGetOrdinal");
    CommandQueue* queue = CommandQueue::from(hCommandQueue);
    VZE_CHECK_HANDLE(queue, hCommandQueue);
    VZE_CHECK_POINTER(pOrdinal);
    *pOrdinal = queue->desc().ordinal;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueGetIndex(ze_command_queue_handle_t hCommandQueue,
                                              uint32_t* pIndex) {
    const ApiCall call("zeCommandQueueGetIndex");
    CommandQueue* queue = CommandQueue::from(hCommandQueue);
    VZE_CHECK_HANDLE(queue, hCommandQueue);
    VZE_CHECK_POINTER(pIndex);
    *pIndex = queue->desc().index;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueGetFlags(ze_command_queue_handle_t hCmdQueue,
                                              ze_command_queue_flags_t* pFlags) {
    const ApiCall call("zeCommandQueueGetFlags");
    CommandQueue* queue = CommandQueue::from(hCmdQueue);
    VZE_CHECK_HANDLE(queue, hCmdQueue);
    VZE_CHECK_POINTER(pFlags);
    *pFlags = queue->desc().flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueGetMode(ze_command_queue_handle_t hCmdQueue,
                                             ze_command_queue_mode_t* pMode) {
    const ApiCall call("zeCommandQueueGetMode");
    CommandQueue* queue = CommandQueue::from(hCmdQueue);
    VZE_CHECK_HANDLE(queue, hCmdQueue);
    VZE_CHECK_POINTER(pMode);
    *pMode = queue->desc().mode;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandQueueGetPriority(ze_command_queue_handle_t hCmdQueue,
                                                 ze_command_queue_priority_t* pPriority) {
    const ApiCall call("zeCommandQueueGetPriority");
    CommandQueue* queue = CommandQueue::from(hCmdQueue);
    VZE_CHECK_HANDLE(queue, hCmdQueue);
    VZE_CHECK_POINTER(pPriority);
    *pPriority = queue->desc().priority;
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
