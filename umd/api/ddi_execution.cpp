// SPDX-License-Identifier: MIT
//
// DDI tables of command queues and lists, fences and events.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_command_queue_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeCommandQueueCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeCommandQueueDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnExecuteCommandLists, zeCommandQueueExecuteCommandLists, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnSynchronize, zeCommandQueueSynchronize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetOrdinal, zeCommandQueueGetOrdinal, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetIndex, zeCommandQueueGetIndex, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetFlags, zeCommandQueueGetFlags, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnGetMode, zeCommandQueueGetMode, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnGetPriority, zeCommandQueueGetPriority, version, ZE_API_VERSION_1_17);
}

void fillTable(ze_command_list_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeCommandListCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCreateImmediate, zeCommandListCreateImmediate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeCommandListDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnClose, zeCommandListClose, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnReset, zeCommandListReset, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendWriteGlobalTimestamp, zeCommandListAppendWriteGlobalTimestamp, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendBarrier, zeCommandListAppendBarrier, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryRangesBarrier, zeCommandListAppendMemoryRangesBarrier, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryCopy, zeCommandListAppendMemoryCopy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryFill, zeCommandListAppendMemoryFill, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryCopyRegion, zeCommandListAppendMemoryCopyRegion, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryCopyFromContext, zeCommandListAppendMemoryCopyFromContext,
             version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendImageCopy, zeCommandListAppendImageCopy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendImageCopyRegion, zeCommandListAppendImageCopyRegion, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendImageCopyToMemory, zeCommandListAppendImageCopyToMemory, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendImageCopyFromMemory, zeCommandListAppendImageCopyFromMemory, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemoryPrefetch, zeCommandListAppendMemoryPrefetch, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendMemAdvise, zeCommandListAppendMemAdvise, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendSignalEvent, zeCommandListAppendSignalEvent, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendWaitOnEvents, zeCommandListAppendWaitOnEvents, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendEventReset, zeCommandListAppendEventReset, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendQueryKernelTimestamps, zeCommandListAppendQueryKernelTimestamps,
             version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendLaunchKernel, zeCommandListAppendLaunchKernel, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendLaunchCooperativeKernel, zeCommandListAppendLaunchCooperativeKernel,
             version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendLaunchKernelIndirect, zeCommandListAppendLaunchKernelIndirect, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendLaunchMultipleKernelsIndirect,
             zeCommandListAppendLaunchMultipleKernelsIndirect, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnAppendImageCopyToMemoryExt, zeCommandListAppendImageCopyToMemoryExt, version,
             ZE_API_VERSION_1_3);
    setEntry(table.pfnAppendImageCopyFromMemoryExt, zeCommandListAppendImageCopyFromMemoryExt,
             version, ZE_API_VERSION_1_3);
    setEntry(table.pfnHostSynchronize, zeCommandListHostSynchronize, version, ZE_API_VERSION_1_6);
    setEntry(table.pfnGetDeviceHandle, zeCommandListGetDeviceHandle, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetContextHandle, zeCommandListGetContextHandle, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetOrdinal, zeCommandListGetOrdinal, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnImmediateGetIndex, zeCommandListImmediateGetIndex, version,
             ZE_API_VERSION_1_9);
    setEntry(table.pfnIsImmediate, zeCommandListIsImmediate, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnAppendSignalExternalSemaphoreExt,
             zeCommandListAppendSignalExternalSemaphoreExt, version, ZE_API_VERSION_1_12);
    setEntry(table.pfnAppendWaitExternalSemaphoreExt, zeCommandListAppendWaitExternalSemaphoreExt,
             version, ZE_API_VERSION_1_12);
    setEntry(table.pfnAppendLaunchKernelWithParameters,
             zeCommandListAppendLaunchKernelWithParameters, version, ZE_API_VERSION_1_14);
    setEntry(table.pfnAppendLaunchKernelWithArguments, zeCommandListAppendLaunchKernelWithArguments,
             version, ZE_API_VERSION_1_14);
    setEntry(table.pfnAppendMemoryCopyWithParameters, zeCommandListAppendMemoryCopyWithParameters,
             version, ZE_API_VERSION_1_16);
    setEntry(table.pfnAppendMemoryFillWithParameters, zeCommandListAppendMemoryFillWithParameters,
             version, ZE_API_VERSION_1_16);
    setEntry(table.pfnImmediateAppendCommandListsWithParameters,
             zeCommandListImmediateAppendCommandListsWithParameters, version, ZE_API_VERSION_1_16);
    setEntry(table.pfnGetFlags, zeCommandListGetFlags, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnImmediateGetFlags, zeCommandListImmediateGetFlags, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnImmediateGetMode, zeCommandListImmediateGetMode, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnImmediateGetPriority, zeCommandListImmediateGetPriority, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnBeginGraphCaptureExt, zeCommandListBeginGraphCaptureExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnBeginCaptureIntoGraphExt, zeCommandListBeginCaptureIntoGraphExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnIsGraphCaptureEnabledExt, zeCommandListIsGraphCaptureEnabledExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnEndGraphCaptureExt, zeCommandListEndGraphCaptureExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnGetGraphExt, zeCommandListGetGraphExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnAppendGraphExt, zeCommandListAppendGraphExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnAppendHostFunction, zeCommandListAppendHostFunction, version,
             ZE_API_VERSION_1_17);
}

void fillTable(ze_command_list_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateCloneExp, zeCommandListCreateCloneExp, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnImmediateAppendCommandListsExp, zeCommandListImmediateAppendCommandListsExp,
             version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetNextCommandIdExp, zeCommandListGetNextCommandIdExp, version,
             ZE_API_VERSION_1_9);
    setEntry(table.pfnUpdateMutableCommandsExp, zeCommandListUpdateMutableCommandsExp, version,
             ZE_API_VERSION_1_9);
    setEntry(table.pfnUpdateMutableCommandSignalEventExp,
             zeCommandListUpdateMutableCommandSignalEventExp, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnUpdateMutableCommandWaitEventsExp,
             zeCommandListUpdateMutableCommandWaitEventsExp, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetNextCommandIdWithKernelsExp, zeCommandListGetNextCommandIdWithKernelsExp,
             version, ZE_API_VERSION_1_10);
    setEntry(table.pfnUpdateMutableCommandKernelsExp, zeCommandListUpdateMutableCommandKernelsExp,
             version, ZE_API_VERSION_1_10);
    setEntry(table.pfnIsMutableExp, zeCommandListIsMutableExp, version, ZE_API_VERSION_1_17);
}

void fillTable(ze_fence_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeFenceCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeFenceDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnHostSynchronize, zeFenceHostSynchronize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnQueryStatus, zeFenceQueryStatus, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnReset, zeFenceReset, version, ZE_API_VERSION_1_0);
}

void fillTable(ze_event_pool_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeEventPoolCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeEventPoolDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnGetIpcHandle, zeEventPoolGetIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnOpenIpcHandle, zeEventPoolOpenIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnCloseIpcHandle, zeEventPoolCloseIpcHandle, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnPutIpcHandle, zeEventPoolPutIpcHandle, version, ZE_API_VERSION_1_6);
    setEntry(table.pfnGetContextHandle, zeEventPoolGetContextHandle, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetFlags, zeEventPoolGetFlags, version, ZE_API_VERSION_1_9);
}

void fillTable(ze_event_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreate, zeEventCreate, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnDestroy, zeEventDestroy, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnHostSignal, zeEventHostSignal, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnHostSynchronize, zeEventHostSynchronize, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnQueryStatus, zeEventQueryStatus, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnHostReset, zeEventHostReset, version, ZE_API_VERSION_1_0);
    setEntry(table.pfnQueryKernelTimestamp, zeEventQueryKernelTimestamp, version,
             ZE_API_VERSION_1_0);
    setEntry(table.pfnQueryKernelTimestampsExt, zeEventQueryKernelTimestampsExt, version,
             ZE_API_VERSION_1_6);
    setEntry(table.pfnGetEventPool, zeEventGetEventPool, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetSignalScope, zeEventGetSignalScope, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnGetWaitScope, zeEventGetWaitScope, version, ZE_API_VERSION_1_9);
    setEntry(table.pfnCounterBasedCreate, zeEventCounterBasedCreate, version, ZE_API_VERSION_1_15);
    setEntry(table.pfnCounterBasedGetIpcHandle, zeEventCounterBasedGetIpcHandle, version,
             ZE_API_VERSION_1_15);
    setEntry(table.pfnCounterBasedOpenIpcHandle, zeEventCounterBasedOpenIpcHandle, version,
             ZE_API_VERSION_1_15);
    setEntry(table.pfnCounterBasedCloseIpcHandle, zeEventCounterBasedCloseIpcHandle, version,
             ZE_API_VERSION_1_15);
    setEntry(table.pfnCounterBasedGetDeviceAddress, zeEventCounterBasedGetDeviceAddress, version,
             ZE_API_VERSION_1_15);
    setEntry(table.pfnGetCounterBasedFlags, zeEventGetCounterBasedFlags, version,
             ZE_API_VERSION_1_17);
}

void fillTable(ze_event_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnQueryTimestampsExp, zeEventQueryTimestampsExp, version, ZE_API_VERSION_1_2);
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
