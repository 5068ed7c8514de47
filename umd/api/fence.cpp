// SPDX-License-Identifier: MIT
#include "core/fence.h"

#include "core/command_queue.h"
#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

extern "C" {

ze_result_t ZE_APICALL zeFenceCreate(ze_command_queue_handle_t hCommandQueue,
                                     const ze_fence_desc_t* desc, ze_fence_handle_t* phFence) {
    const ApiCall call("zeFenceCreate");
    return guarded([&]() -> ze_result_t {
        CommandQueue* queue = CommandQueue::from(hCommandQueue);
        VZE_CHECK_HANDLE(queue, hCommandQueue);
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phFence);
        if ((desc->flags & ~ze_fence_flags_t{ZE_FENCE_FLAG_SIGNALED}) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags: 0x%x has unknown bits",
                        desc->flags);
        const ze_result_t result = parseChain(desc->pNext, {});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        *phFence =
            (new Fence(queue->queue(), (desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0))->handle();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeFenceDestroy(ze_fence_handle_t hFence) {
    const ApiCall call("zeFenceDestroy");
    Fence* fence = Fence::from(hFence);
    VZE_CHECK_HANDLE(fence, hFence);
    delete fence;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeFenceHostSynchronize(ze_fence_handle_t hFence, uint64_t timeout) {
    const ApiCall call("zeFenceHostSynchronize");
    return guarded([&]() -> ze_result_t {
        Fence* fence = Fence::from(hFence);
        VZE_CHECK_HANDLE(fence, hFence);
        return fence->wait(timeout);
    });
}

ze_result_t ZE_APICALL zeFenceQueryStatus(ze_fence_handle_t hFence) {
    const ApiCall call("zeFenceQueryStatus");
    return guarded([&]() -> ze_result_t {
        Fence* fence = Fence::from(hFence);
        VZE_CHECK_HANDLE(fence, hFence);
        return fence->wait(0);
    });
}

ze_result_t ZE_APICALL zeFenceReset(ze_fence_handle_t hFence) {
    const ApiCall call("zeFenceReset");
    return guarded([&]() -> ze_result_t {
        Fence* fence = Fence::from(hFence);
        VZE_CHECK_HANDLE(fence, hFence);
        fence->reset();
        return ZE_RESULT_SUCCESS;
    });
}

} // extern "C"
