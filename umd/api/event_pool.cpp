// SPDX-License-Identifier: MIT
#include "core/event_pool.h"

#include "core/descriptor_chain.h"
#include "core/device.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr ze_event_pool_flags_t kPoolFlags =
    ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP |
    ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;
constexpr ze_event_pool_flags_t kBothTimestamps =
    ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;

// 256 MiB of event words: beyond it a count is a mistake, and the memory is needed elsewhere.
constexpr uint32_t kMaxEvents = 1u << 22;

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeEventPoolCreate(ze_context_handle_t hContext,
                                         const ze_event_pool_desc_t* desc, uint32_t numDevices,
                                         ze_device_handle_t* phDevices,
                                         ze_event_pool_handle_t* phEventPool) {
    const ApiCall call("zeEventPoolCreate");
    return guarded([&]() -> ze_result_t {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phEventPool);
        if ((desc->flags & ~kPoolFlags) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags: 0x%x has unknown bits",
                        desc->flags);
        if ((desc->flags & kBothTimestamps) == kBothTimestamps)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "desc->flags: the two timestamp flags cannot be combined");
        if (desc->count == 0)
            return fail(ZE_RESULT_ERROR_INVALID_SIZE, "desc->count is 0");
        if (phDevices == nullptr && numDevices != 0)
            return fail(ZE_RESULT_ERROR_INVALID_SIZE, "numDevices is %u and phDevices is null",
                        numDevices);
        for (uint32_t i = 0; i < numDevices; i++) {
            if (phDevices[i] == nullptr)
                return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "phDevices[%u] is null", i);
            const Device* device = Device::from(phDevices[i]);
            if (device == nullptr || !context->contains(*device))
                return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                            "phDevices[%u] is not a device of the context", i);
        }
        if (desc->count > kMaxEvents)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                        "desc->count: %u events, a pool has at most %u", desc->count, kMaxEvents);
        const void* counterBased = nullptr;
        ze_result_t result = parseChain(
            desc->pNext, {{ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC, &counterBased}});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (counterBased != nullptr)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                        "desc->pNext: counter-based events are not supported");
        EventPool* pool = nullptr;
        result = EventPool::create(*context, desc->flags, desc->count, pool);
        if (result == ZE_RESULT_SUCCESS)
            *phEventPool = pool->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeEventPoolDestroy(ze_event_pool_handle_t hEventPool) {
    const ApiCall call("zeEventPoolDestroy");
    return guarded([&]() -> ze_result_t {
        EventPool* pool = EventPool::from(hEventPool);
        VZE_CHECK_HANDLE(pool, hEventPool);
        if (pool->opened())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "hEventPool was opened by zeEventPoolOpenIpcHandle and is closed with "
                        "zeEventPoolCloseIpcHandle");
        delete pool;
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeEventPoolGetIpcHandle(ze_event_pool_handle_t hEventPool,
                                               ze_ipc_event_pool_handle_t* phIpc) {
    const ApiCall call("zeEventPoolGetIpcHandle");
    return guarded([&]() -> ze_result_t {
        EventPool* pool = EventPool::from(hEventPool);
        VZE_CHECK_HANDLE(pool, hEventPool);
        VZE_CHECK_POINTER(phIpc);
        return pool->getIpcHandle(*phIpc);
    });
}

ze_result_t ZE_APICALL zeEventPoolPutIpcHandle(ze_context_handle_t hContext,
                                               ze_ipc_event_pool_handle_t hIpc) {
    const ApiCall call("zeEventPoolPutIpcHandle");
    return guarded([&]() -> ze_result_t {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        return EventPool::putIpcHandle(hIpc);
    });
}

ze_result_t ZE_APICALL zeEventPoolOpenIpcHandle(ze_context_handle_t hContext,
                                                ze_ipc_event_pool_handle_t hIpc,
                                                ze_event_pool_handle_t* phEventPool) {
    const ApiCall call("zeEventPoolOpenIpcHandle");
    return guarded([&]() -> ze_result_t {
        Context* context = Context::from(hContext);
        VZE_CHECK_HANDLE(context, hContext);
        VZE_CHECK_POINTER(phEventPool);
        EventPool* pool = nullptr;
        const ze_result_t result = EventPool::open(*context, hIpc, pool);
        if (result == ZE_RESULT_SUCCESS)
            *phEventPool = pool->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeEventPoolCloseIpcHandle(ze_event_pool_handle_t hEventPool) {
    const ApiCall call("zeEventPoolCloseIpcHandle");
    return guarded([&]() -> ze_result_t {
        EventPool* pool = EventPool::from(hEventPool);
        VZE_CHECK_HANDLE(pool, hEventPool);
        if (!pool->opened())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "hEventPool was created by zeEventPoolCreate and is destroyed with "
                        "zeEventPoolDestroy");
        delete pool;
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeEventPoolGetContextHandle(ze_event_pool_handle_t hEventPool,
                                                   ze_context_handle_t* phContext) {
    const ApiCall call("zeEventPoolGetContextHandle");
    EventPool* pool = EventPool::from(hEventPool);
    VZE_CHECK_HANDLE(pool, hEventPool);
    VZE_CHECK_POINTER(phContext);
    *phContext = pool->context().handle();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeEventPoolGetFlags(ze_event_pool_handle_t hEventPool,
                                           ze_event_pool_flags_t* pFlags) {
    const ApiCall call("zeEventPoolGetFlags");
    EventPool* pool = EventPool::from(hEventPool);
    VZE_CHECK_HANDLE(pool, hEventPool);
    VZE_CHECK_POINTER(pFlags);
    *pFlags = pool->flags();
    return ZE_RESULT_SUCCESS;
}

} // extern "C"
