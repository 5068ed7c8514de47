// SPDX-License-Identifier: MIT
//
// DDI tables of command queues and lists, fences and events.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_command_queue_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_0(table.pfnCreate, zeCommandQueueCreate);
    since1_0(table.pfnDestroy, zeCommandQueueDestroy);
    since1_0(table.pfnExecuteCommandLists, zeCommandQueueExecuteCommandLists);
    since1_0(table.pfnSynchronize, zeCommandQueueSynchronize);
    since1_9(table.pfnGetOrdinal, zeCommandQueueGetOrdinal);
    since1_9(table.pfnGetIndex, zeCommandQueueGetIndex);
    since1_17(table.pfnGetFlags, zeCommandQueueGetFlags);
    since1_17(table.pfnGetMode, zeCommandQueueGetMode);
    since1_17(table.pfnGetPriority, zeCommandQueueGetPriority);
}

void fillTable(ze_command_list_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_3(version, ZE_API_VERSION_1_3);
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    const EntriesSince since1_12(version, ZE_API_VERSION_1_12);
    const EntriesSince since1_14(version, ZE_API_VERSION_1_14);
    const EntriesSince since1_16(version, ZE_API_VERSION_1_16);
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_0(table.pfnCreate, zeCommandListCreate);
    since1_0(table.pfnCreateImmediate, zeCommandListCreateImmediate);
    since1_0(table.pfnDestroy, zeCommandListDestroy);
    since1_0(table.pfnClose, zeCommandListClose);
    since1_0(table.pfnReset, zeCommandListReset);
    since1_0(table.pfnAppendWriteGlobalTimestamp, zeCommandListAppendWriteGlobalTimestamp);
    since1_0(table.pfnAppendBarrier, zeCommandListAppendBarrier);
    since1_0(table.pfnAppendMemoryRangesBarrier, zeCommandListAppendMemoryRangesBarrier);
    since1_0(table.pfnAppendMemoryCopy, zeCommandListAppendMemoryCopy);
    since1_0(table.pfnAppendMemoryFill, zeCommandListAppendMemoryFill);
    since1_0(table.pfnAppendMemoryCopyRegion, zeCommandListAppendMemoryCopyRegion);
    since1_0(table.pfnAppendMemoryCopyFromContext, zeCommandListAppendMemoryCopyFromContext);
    since1_0(table.pfnAppendImageCopy, zeCommandListAppendImageCopy);
    since1_0(table.pfnAppendImageCopyRegion, zeCommandListAppendImageCopyRegion);
    since1_0(table.pfnAppendImageCopyToMemory, zeCommandListAppendImageCopyToMemory);
    since1_0(table.pfnAppendImageCopyFromMemory, zeCommandListAppendImageCopyFromMemory);
    since1_0(table.pfnAppendMemoryPrefetch, zeCommandListAppendMemoryPrefetch);
    since1_0(table.pfnAppendMemAdvise, zeCommandListAppendMemAdvise);
    since1_0(table.pfnAppendSignalEvent, zeCommandListAppendSignalEvent);
    since1_0(table.pfnAppendWaitOnEvents, zeCommandListAppendWaitOnEvents);
    since1_0(table.pfnAppendEventReset, zeCommandListAppendEventReset);
    since1_0(table.pfnAppendQueryKernelTimestamps, zeCommandListAppendQueryKernelTimestamps);
    since1_0(table.pfnAppendLaunchKernel, zeCommandListAppendLaunchKernel);
    since1_0(table.pfnAppendLaunchCooperativeKernel, zeCommandListAppendLaunchCooperativeKernel);
    since1_0(table.pfnAppendLaunchKernelIndirect, zeCommandListAppendLaunchKernelIndirect);
    since1_0(table.pfnAppendLaunchMultipleKernelsIndirect,
             zeCommandListAppendLaunchMultipleKernelsIndirect);
    since1_3(table.pfnAppendImageCopyToMemoryExt, zeCommandListAppendImageCopyToMemoryExt);
    since1_3(table.pfnAppendImageCopyFromMemoryExt, zeCommandListAppendImageCopyFromMemoryExt);
    since1_6(table.pfnHostSynchronize, zeCommandListHostSynchronize);
    since1_9(table.pfnGetDeviceHandle, zeCommandListGetDeviceHandle);
    since1_9(table.pfnGetContextHandle, zeCommandListGetContextHandle);
    since1_9(table.pfnGetOrdinal, zeCommandListGetOrdinal);
    since1_9(table.pfnImmediateGetIndex, zeCommandListImmediateGetIndex);
    since1_9(table.pfnIsImmediate, zeCommandListIsImmediate);
    since1_12(table.pfnAppendSignalExternalSemaphoreExt,
              zeCommandListAppendSignalExternalSemaphoreExt);
    since1_12(table.pfnAppendWaitExternalSemaphoreExt, zeCommandListAppendWaitExternalSemaphoreExt);
    since1_14(table.pfnAppendLaunchKernelWithParameters,
              zeCommandListAppendLaunchKernelWithParameters);
    since1_14(table.pfnAppendLaunchKernelWithArguments,
              zeCommandListAppendLaunchKernelWithArguments);
    since1_16(table.pfnAppendMemoryCopyWithParameters, zeCommandListAppendMemoryCopyWithParameters);
    since1_16(table.pfnAppendMemoryFillWithParameters, zeCommandListAppendMemoryFillWithParameters);
    since1_16(table.pfnImmediateAppendCommandListsWithParameters,
              zeCommandListImmediateAppendCommandListsWithParameters);
    since1_17(table.pfnGetFlags, zeCommandListGetFlags);
    since1_17(table.pfnImmediateGetFlags, zeCommandListImmediateGetFlags);
    since1_17(table.pfnImmediateGetMode, zeCommandListImmediateGetMode);
    since1_17(table.pfnImmediateGetPriority, zeCommandListImmediateGetPriority);
    since1_17(table.pfnBeginGraphCaptureExt, zeCommandListBeginGraphCaptureExt);
    since1_17(table.pfnBeginCaptureIntoGraphExt, zeCommandListBeginCaptureIntoGraphExt);
    since1_17(table.pfnIsGraphCaptureEnabledExt, zeCommandListIsGraphCaptureEnabledExt);
    since1_17(table.pfnEndGraphCaptureExt, zeCommandListEndGraphCaptureExt);
    since1_17(table.pfnGetGraphExt, zeCommandListGetGraphExt);
    since1_17(table.pfnAppendGraphExt, zeCommandListAppendGraphExt);
    since1_17(table.pfnAppendHostFunction, zeCommandListAppendHostFunction);
}

void fillTable(ze_command_list_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    const EntriesSince since1_10(version, ZE_API_VERSION_1_10);
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_9(table.pfnCreateCloneExp, zeCommandListCreateCloneExp);
    since1_9(table.pfnImmediateAppendCommandListsExp, zeCommandListImmediateAppendCommandListsExp);
    since1_9(table.pfnGetNextCommandIdExp, zeCommandListGetNextCommandIdExp);
    since1_9(table.pfnUpdateMutableCommandsExp, zeCommandListUpdateMutableCommandsExp);
    since1_9(table.pfnUpdateMutableCommandSignalEventExp,
             zeCommandListUpdateMutableCommandSignalEventExp);
    since1_9(table.pfnUpdateMutableCommandWaitEventsExp,
             zeCommandListUpdateMutableCommandWaitEventsExp);
    since1_10(table.pfnGetNextCommandIdWithKernelsExp, zeCommandListGetNextCommandIdWithKernelsExp);
    since1_10(table.pfnUpdateMutableCommandKernelsExp, zeCommandListUpdateMutableCommandKernelsExp);
    since1_17(table.pfnIsMutableExp, zeCommandListIsMutableExp);
}

void fillTable(ze_fence_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    since1_0(table.pfnCreate, zeFenceCreate);
    since1_0(table.pfnDestroy, zeFenceDestroy);
    since1_0(table.pfnHostSynchronize, zeFenceHostSynchronize);
    since1_0(table.pfnQueryStatus, zeFenceQueryStatus);
    since1_0(table.pfnReset, zeFenceReset);
}

void fillTable(ze_event_pool_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    since1_0(table.pfnCreate, zeEventPoolCreate);
    since1_0(table.pfnDestroy, zeEventPoolDestroy);
    since1_0(table.pfnGetIpcHandle, zeEventPoolGetIpcHandle);
    since1_0(table.pfnOpenIpcHandle, zeEventPoolOpenIpcHandle);
    since1_0(table.pfnCloseIpcHandle, zeEventPoolCloseIpcHandle);
    since1_6(table.pfnPutIpcHandle, zeEventPoolPutIpcHandle);
    since1_9(table.pfnGetContextHandle, zeEventPoolGetContextHandle);
    since1_9(table.pfnGetFlags, zeEventPoolGetFlags);
}

void fillTable(ze_event_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_0(version, ZE_API_VERSION_1_0);
    const EntriesSince since1_6(version, ZE_API_VERSION_1_6);
    const EntriesSince since1_9(version, ZE_API_VERSION_1_9);
    const EntriesSince since1_15(version, ZE_API_VERSION_1_15);
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_0(table.pfnCreate, zeEventCreate);
    since1_0(table.pfnDestroy, zeEventDestroy);
    since1_0(table.pfnHostSignal, zeEventHostSignal);
    since1_0(table.pfnHostSynchronize, zeEventHostSynchronize);
    since1_0(table.pfnQueryStatus, zeEventQueryStatus);
    since1_0(table.pfnHostReset, zeEventHostReset);
    since1_0(table.pfnQueryKernelTimestamp, zeEventQueryKernelTimestamp);
    since1_6(table.pfnQueryKernelTimestampsExt, zeEventQueryKernelTimestampsExt);
    since1_9(table.pfnGetEventPool, zeEventGetEventPool);
    since1_9(table.pfnGetSignalScope, zeEventGetSignalScope);
    since1_9(table.pfnGetWaitScope, zeEventGetWaitScope);
    since1_15(table.pfnCounterBasedCreate, zeEventCounterBasedCreate);
    since1_15(table.pfnCounterBasedGetIpcHandle, zeEventCounterBasedGetIpcHandle);
    since1_15(table.pfnCounterBasedOpenIpcHandle, zeEventCounterBasedOpenIpcHandle);
    since1_15(table.pfnCounterBasedCloseIpcHandle, zeEventCounterBasedCloseIpcHandle);
    since1_15(table.pfnCounterBasedGetDeviceAddress, zeEventCounterBasedGetDeviceAddress);
    since1_17(table.pfnGetCounterBasedFlags, zeEventGetCounterBasedFlags);
}

void fillTable(ze_event_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_2(version, ZE_API_VERSION_1_2);
    since1_2(table.pfnQueryTimestampsExp, zeEventQueryTimestampsExp);
}

} // namespace vze

extern "C" {

VZE_TABLE_GETTER(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t)
VZE_TABLE_GETTER(zeGetCommandListProcAddrTable, ze_command_list_dditable_t)
VZE_TABLE_GETTER(zeGetCommandListExpProcAddrTable, ze_command_list_exp_dditable_t)
VZE_TABLE_GETTER(zeGetFenceProcAddrTable, ze_fence_dditable_t)
VZE_TABLE_GETTER(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
VZE_TABLE_GETTER(zeGetEventProcAddrTable, ze_event_dditable_t)
VZE_TABLE_GETTER(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t)

} // extern "C"
