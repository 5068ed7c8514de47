// SPDX-License-Identifier: MIT
//
// Optional kinds of command lists and events that the driver does not have.
#include <level_zero/ze_api.h>

#include "core/log.h"

namespace {

constexpr const char* kHostFunctions = "host functions in command lists";
constexpr const char* kMutable = "mutable command lists";
constexpr const char* kGraphs = "graphs";
constexpr const char* kSemaphores = "external semaphores";
constexpr const char* kCounterEvents = "counter-based events";

/// The answer of every entry of a feature that the device lacks. No handle of it exists, so that
/// there is nothing to check first.
ze_result_t unsupported(const char* name, const char* feature) noexcept {
    const vze::ApiCall call(name);
    return vze::fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no %s", feature);
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeCommandListAppendHostFunction(ze_command_list_handle_t,
                                                       ze_host_function_callback_t, void*,
                                                       const void*, ze_event_handle_t, uint32_t,
                                                       ze_event_handle_t*) {
    return unsupported("zeCommandListAppendHostFunction", kHostFunctions);
}

ze_result_t ZE_APICALL zeCommandListGetNextCommandIdExp(ze_command_list_handle_t,
                                                        const ze_mutable_command_id_exp_desc_t*,
                                                        uint64_t*) {
    return unsupported("zeCommandListGetNextCommandIdExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListGetNextCommandIdWithKernelsExp(
    ze_command_list_handle_t, const ze_mutable_command_id_exp_desc_t*, uint32_t,
    ze_kernel_handle_t*, uint64_t*) {
    return unsupported("zeCommandListGetNextCommandIdWithKernelsExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListUpdateMutableCommandsExp(
    ze_command_list_handle_t, const ze_mutable_commands_exp_desc_t*) {
    return unsupported("zeCommandListUpdateMutableCommandsExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListIsMutableExp(ze_command_list_handle_t, ze_bool_t*) {
    return unsupported("zeCommandListIsMutableExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListUpdateMutableCommandSignalEventExp(ze_command_list_handle_t,
                                                                       uint64_t,
                                                                       ze_event_handle_t) {
    return unsupported("zeCommandListUpdateMutableCommandSignalEventExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListUpdateMutableCommandWaitEventsExp(ze_command_list_handle_t,
                                                                      uint64_t, uint32_t,
                                                                      ze_event_handle_t*) {
    return unsupported("zeCommandListUpdateMutableCommandWaitEventsExp", kMutable);
}
ze_result_t ZE_APICALL zeCommandListUpdateMutableCommandKernelsExp(ze_command_list_handle_t,
                                                                   uint32_t, uint64_t*,
                                                                   ze_kernel_handle_t*) {
    return unsupported("zeCommandListUpdateMutableCommandKernelsExp", kMutable);
}

ze_result_t ZE_APICALL zeGraphCreateExt(ze_context_handle_t, const void*, ze_graph_handle_t*) {
    return unsupported("zeGraphCreateExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListBeginGraphCaptureExt(ze_command_list_handle_t, const void*) {
    return unsupported("zeCommandListBeginGraphCaptureExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListBeginCaptureIntoGraphExt(ze_command_list_handle_t,
                                                             ze_graph_handle_t, const void*) {
    return unsupported("zeCommandListBeginCaptureIntoGraphExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListIsGraphCaptureEnabledExt(ze_command_list_handle_t) {
    return unsupported("zeCommandListIsGraphCaptureEnabledExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListEndGraphCaptureExt(ze_command_list_handle_t, const void*,
                                                       ze_graph_handle_t*) {
    return unsupported("zeCommandListEndGraphCaptureExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListGetGraphExt(ze_command_list_handle_t, ze_graph_handle_t*) {
    return unsupported("zeCommandListGetGraphExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphGetPrimaryCommandListExt(ze_graph_handle_t,
                                                       ze_command_list_handle_t*) {
    return unsupported("zeGraphGetPrimaryCommandListExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphSetDestructionCallbackExt(ze_graph_handle_t,
                                                        zex_mem_graph_free_callback_fn_t, void*,
                                                        const void*) {
    return unsupported("zeGraphSetDestructionCallbackExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphInstantiateExt(ze_graph_handle_t, const void*,
                                             ze_executable_graph_handle_t*) {
    return unsupported("zeGraphInstantiateExt", kGraphs);
}
ze_result_t ZE_APICALL zeCommandListAppendGraphExt(ze_command_list_handle_t,
                                                   ze_executable_graph_handle_t, const void*,
                                                   ze_event_handle_t, uint32_t,
                                                   ze_event_handle_t*) {
    return unsupported("zeCommandListAppendGraphExt", kGraphs);
}
ze_result_t ZE_APICALL zeExecutableGraphGetSourceGraphExt(ze_executable_graph_handle_t,
                                                          ze_graph_handle_t*) {
    return unsupported("zeExecutableGraphGetSourceGraphExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphIsEmptyExt(ze_graph_handle_t) {
    return unsupported("zeGraphIsEmptyExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphDumpContentsExt(ze_graph_handle_t, const char*, const void*) {
    return unsupported("zeGraphDumpContentsExt", kGraphs);
}
ze_result_t ZE_APICALL zeExecutableGraphDestroyExt(ze_executable_graph_handle_t) {
    return unsupported("zeExecutableGraphDestroyExt", kGraphs);
}
ze_result_t ZE_APICALL zeGraphDestroyExt(ze_graph_handle_t) {
    return unsupported("zeGraphDestroyExt", kGraphs);
}

ze_result_t ZE_APICALL zeCommandListAppendSignalExternalSemaphoreExt(
    ze_command_list_handle_t, uint32_t, ze_external_semaphore_ext_handle_t*,
    ze_external_semaphore_signal_params_ext_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendSignalExternalSemaphoreExt", kSemaphores);
}
ze_result_t ZE_APICALL zeCommandListAppendWaitExternalSemaphoreExt(
    ze_command_list_handle_t, uint32_t, ze_external_semaphore_ext_handle_t*,
    ze_external_semaphore_wait_params_ext_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
    return unsupported("zeCommandListAppendWaitExternalSemaphoreExt", kSemaphores);
}

ze_result_t ZE_APICALL zeEventCounterBasedCreate(ze_context_handle_t, ze_device_handle_t,
                                                 const ze_event_counter_based_desc_t*,
                                                 ze_event_handle_t*) {
    return unsupported("zeEventCounterBasedCreate", kCounterEvents);
}
ze_result_t ZE_APICALL zeEventCounterBasedGetIpcHandle(ze_event_handle_t,
                                                       ze_ipc_event_counter_based_handle_t*) {
    return unsupported("zeEventCounterBasedGetIpcHandle", kCounterEvents);
}
ze_result_t ZE_APICALL zeEventCounterBasedOpenIpcHandle(ze_context_handle_t,
                                                        ze_ipc_event_counter_based_handle_t,
                                                        ze_event_handle_t*) {
    return unsupported("zeEventCounterBasedOpenIpcHandle", kCounterEvents);
}
ze_result_t ZE_APICALL zeEventCounterBasedCloseIpcHandle(ze_event_handle_t) {
    return unsupported("zeEventCounterBasedCloseIpcHandle", kCounterEvents);
}
ze_result_t ZE_APICALL zeEventCounterBasedGetDeviceAddress(ze_event_handle_t, uint64_t*,
                                                           uint64_t*) {
    return unsupported("zeEventCounterBasedGetDeviceAddress", kCounterEvents);
}

} // extern "C"
