// SPDX-License-Identifier: MIT
//
// Life and properties of command lists.
#include "core/command_list.h"

#include "api/queue_arguments.h"
#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

using namespace vze;

namespace {

constexpr ze_command_list_flags_t kListFlags =
    ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING | ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT |
    ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY | ZE_COMMAND_LIST_FLAG_IN_ORDER |
    ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE | ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT;

ze_result_t checkImmediate(ze_command_list_handle_t hCommandList, CommandList*& list) {
    list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    if (!list->immediate())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hCommandList is not an immediate command list");
    return ZE_RESULT_SUCCESS;
}

/// Without the value that marks the end of the enumeration. It names no property, but it is one of
/// the header's enumerators, and programs that go through these pass it.
ze_command_list_flags_t withoutEndMark(ze_command_list_flags_t flags) {
    return flags == ZE_COMMAND_LIST_FLAG_FORCE_UINT32 ? 0 : flags;
}

/// A member of the descriptor that an immediate list was made with. @p argument names @p value.
template <typename Value>
ze_result_t getMadeWith(ze_command_list_handle_t hCommandList,
                        Value ze_command_queue_desc_t::*member, const char* argument,
                        Value* value) {
    CommandList* list = nullptr;
    const ze_result_t result = checkImmediate(hCommandList, list);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (value == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s is null", argument);
    *value = list->queueDesc().*member;
    return ZE_RESULT_SUCCESS;
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeCommandListCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                           const ze_command_list_desc_t* desc,
                                           ze_command_list_handle_t* phCommandList) {
    const ApiCall call("zeCommandListCreate");
    return guarded([&]() -> ze_result_t {
        Context* context = nullptr;
        Device* device = nullptr;
        ze_result_t result = checkContextDevice(hContext, hDevice, context, device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        VZE_CHECK_POINTER(desc);
        VZE_CHECK_POINTER(phCommandList);
        const ze_command_list_flags_t flags = withoutEndMark(desc->flags);
        if ((flags & ~kListFlags) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "desc->flags: 0x%x has unknown bits",
                        flags);
        if ((flags & ZE_COMMAND_LIST_FLAG_IN_ORDER) != 0 &&
            (flags & ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING) != 0)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "desc->flags: IN_ORDER cannot be combined with RELAXED_ORDERING");
        if (desc->commandQueueGroupOrdinal >= Device::kQueueGroups)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "desc->commandQueueGroupOrdinal: %u, the device has %u group(s)",
                        desc->commandQueueGroupOrdinal, Device::kQueueGroups);
        const void* mutableList = nullptr;
        result = parseChain(desc->pNext,
                            {{ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC, &mutableList}});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (mutableList != nullptr)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                        "desc->pNext: mutable command lists are not supported");
        CommandList* list = nullptr;
        result = CommandList::createRegular(*context, *device, desc->commandQueueGroupOrdinal,
                                            flags, list);
        if (result == ZE_RESULT_SUCCESS)
            *phCommandList = list->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeCommandListCreateImmediate(ze_context_handle_t hContext,
                                                    ze_device_handle_t hDevice,
                                                    const ze_command_queue_desc_t* altdesc,
                                                    ze_command_list_handle_t* phCommandList) {
    const ApiCall call("zeCommandListCreateImmediate");
    return guarded([&]() -> ze_result_t {
        Context* context = nullptr;
        Device* device = nullptr;
        ze_result_t result = checkContextDevice(hContext, hDevice, context, device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        VZE_CHECK_POINTER(altdesc);
        VZE_CHECK_POINTER(phCommandList);
        result = checkQueueDesc(*device, "altdesc", *altdesc);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        CommandList* list = nullptr;
        result = CommandList::createImmediate(*context, *device, *altdesc, list);
        if (result == ZE_RESULT_SUCCESS)
            *phCommandList = list->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeCommandListDestroy(ze_command_list_handle_t hCommandList) {
    const ApiCall call("zeCommandListDestroy");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    delete list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListClose(ze_command_list_handle_t hCommandList) {
    const ApiCall call("zeCommandListClose");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    list->close();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListReset(ze_command_list_handle_t hCommandList) {
    const ApiCall call("zeCommandListReset");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        list->reset();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t ZE_APICALL zeCommandListCreateCloneExp(ze_command_list_handle_t hCommandList,
                                                   ze_command_list_handle_t* phClonedCommandList) {
    const ApiCall call("zeCommandListCreateCloneExp");
    return guarded([&]() -> ze_result_t {
        CommandList* list = CommandList::from(hCommandList);
        VZE_CHECK_HANDLE(list, hCommandList);
        VZE_CHECK_POINTER(phClonedCommandList);
        if (list->immediate() || (list->flags() & ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE) == 0)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "hCommandList was not created with ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE");
        if (!list->closed())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hCommandList is not closed");
        CommandList* copy = nullptr;
        const ze_result_t result = list->clone(copy);
        if (result == ZE_RESULT_SUCCESS)
            *phClonedCommandList = copy->handle();
        return result;
    });
}

ze_result_t ZE_APICALL zeCommandListHostSynchronize(ze_command_list_handle_t hCommandList,
                                                    uint64_t timeout) {
    const ApiCall call("zeCommandListHostSynchronize");
    return guarded([&]() -> ze_result_t {
        CommandList* list = nullptr;
        const ze_result_t result = checkImmediate(hCommandList, list);
        return result == ZE_RESULT_SUCCESS ? list->hostSynchronize(timeout) : result;
    });
}

ze_result_t ZE_APICALL zeCommandListGetDeviceHandle(ze_command_list_handle_t hCommandList,
                                                    ze_device_handle_t* phDevice) {
    const ApiCall call("zeCommandListGetDeviceHandle");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(phDevice);
    *phDevice = list->device().handle();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListGetContextHandle(ze_command_list_handle_t hCommandList,
                                                     ze_context_handle_t* phContext) {
    const ApiCall call("zeCommandListGetContextHandle");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(phContext);
    *phContext = list->context().handle();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListGetOrdinal(ze_command_list_handle_t hCommandList,
                                               uint32_t* pOrdinal) {
    const ApiCall call("zeCommandListGetOrdinal");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(pOrdinal);
    *pOrdinal = list->ordinal();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListGetFlags(ze_command_list_handle_t hCommandList,
                                             ze_command_list_flags_t* pFlags) {
    const ApiCall call("zeCommandListGetFlags");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(pFlags);
    *pFlags = list->flags();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeCommandListIsImmediate(ze_command_list_handle_t hCommandList,
                                                ze_bool_t* pIsImmediate) {
    const ApiCall call("zeCommandListIsImmediate");
    CommandList* list = CommandList::from(hCommandList);
    VZE_CHECK_HANDLE(list, hCommandList);
    VZE_CHECK_POINTER(pIsImmediate);
    *pIsImmediate = list->immediate();
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL
zeCommandListImmediateGetIndex(ze_command_list_handle_t hCommandListImmediate, uint32_t* pIndex) {
    const ApiCall call("zeCommandListImmediateGetIndex");
    return getMadeWith(hCommandListImmediate, &ze_command_queue_desc_t::index, "pIndex", pIndex);
}

ze_result_t ZE_APICALL zeCommandListImmediateGetFlags(ze_command_list_handle_t hCommandList,
                                                      ze_command_queue_flags_t* pFlags) {
    const ApiCall call("zeCommandListImmediateGetFlags");
    return getMadeWith(hCommandList, &ze_command_queue_desc_t::flags, "pFlags", pFlags);
}

ze_result_t ZE_APICALL zeCommandListImmediateGetMode(ze_command_list_handle_t hCommandList,
                                                     ze_command_queue_mode_t* pMode) {
    const ApiCall call("zeCommandListImmediateGetMode");
    return getMadeWith(hCommandList, &ze_command_queue_desc_t::mode, "pMode", pMode);
}

ze_result_t ZE_APICALL zeCommandListImmediateGetPriority(ze_command_list_handle_t hCommandList,
                                                         ze_command_queue_priority_t* pPriority) {
    const ApiCall call("zeCommandListImmediateGetPriority");
    return getMadeWith(hCommandList, &ze_command_queue_desc_t::priority, "pPriority", pPriority);
}

} // extern "C"
