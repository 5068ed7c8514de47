// SPDX-License-Identifier: MIT
//
// Ray tracing structures, fabrics and external semaphores: extensions that the driver does not
// list. Loaders and layers that look functions up by handle need an answer all the same.
#include <level_zero/ze_api.h>

#include "core/log.h"

namespace {

constexpr const char* kRayTracing = "ray tracing";
constexpr const char* kFabric = "fabric";
constexpr const char* kSemaphores = "external semaphores";

ze_result_t unsupported(const char* name, const char* feature) noexcept {
    const vze::ApiCall call(name);
    return vze::fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no %s", feature);
}

} // namespace

extern "C" {

ze_result_t ZE_APICALL zeDeviceGetFabricVertexExp(ze_device_handle_t, ze_fabric_vertex_handle_t*) {
    return unsupported("zeDeviceGetFabricVertexExp", kFabric);
}

ze_result_t ZE_APICALL zeDeviceImportExternalSemaphoreExt(ze_device_handle_t,
                                                          const ze_external_semaphore_ext_desc_t*,
                                                          ze_external_semaphore_ext_handle_t*) {
    return unsupported("zeDeviceImportExternalSemaphoreExt", kSemaphores);
}

ze_result_t ZE_APICALL zeDeviceReleaseExternalSemaphoreExt(ze_external_semaphore_ext_handle_t) {
    return unsupported("zeDeviceReleaseExternalSemaphoreExt", kSemaphores);
}

ze_result_t ZE_APICALL zeDriverRTASFormatCompatibilityCheckExp(ze_driver_handle_t,
                                                               ze_rtas_format_exp_t,
                                                               ze_rtas_format_exp_t) {
    return unsupported("zeDriverRTASFormatCompatibilityCheckExp", kRayTracing);
}

ze_result_t ZE_APICALL zeDriverRTASFormatCompatibilityCheckExt(ze_driver_handle_t,
                                                               ze_rtas_format_ext_t,
                                                               ze_rtas_format_ext_t) {
    return unsupported("zeDriverRTASFormatCompatibilityCheckExt", kRayTracing);
}

ze_result_t ZE_APICALL zeFabricEdgeGetExp(ze_fabric_vertex_handle_t, ze_fabric_vertex_handle_t,
                                          uint32_t*, ze_fabric_edge_handle_t*) {
    return unsupported("zeFabricEdgeGetExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricEdgeGetPropertiesExp(ze_fabric_edge_handle_t,
                                                    ze_fabric_edge_exp_properties_t*) {
    return unsupported("zeFabricEdgeGetPropertiesExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricEdgeGetVerticesExp(ze_fabric_edge_handle_t,
                                                  ze_fabric_vertex_handle_t*,
                                                  ze_fabric_vertex_handle_t*) {
    return unsupported("zeFabricEdgeGetVerticesExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricVertexGetDeviceExp(ze_fabric_vertex_handle_t, ze_device_handle_t*) {
    return unsupported("zeFabricVertexGetDeviceExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricVertexGetExp(ze_driver_handle_t, uint32_t*,
                                            ze_fabric_vertex_handle_t*) {
    return unsupported("zeFabricVertexGetExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricVertexGetPropertiesExp(ze_fabric_vertex_handle_t,
                                                      ze_fabric_vertex_exp_properties_t*) {
    return unsupported("zeFabricVertexGetPropertiesExp", kFabric);
}

ze_result_t ZE_APICALL zeFabricVertexGetSubVerticesExp(ze_fabric_vertex_handle_t, uint32_t*,
                                                       ze_fabric_vertex_handle_t*) {
    return unsupported("zeFabricVertexGetSubVerticesExp", kFabric);
}

ze_result_t ZE_APICALL zeRTASBuilderBuildExp(ze_rtas_builder_exp_handle_t,
                                             const ze_rtas_builder_build_op_exp_desc_t*, void*,
                                             size_t, void*, size_t,
                                             ze_rtas_parallel_operation_exp_handle_t, void*,
                                             ze_rtas_aabb_exp_t*, size_t*) {
    return unsupported("zeRTASBuilderBuildExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderBuildExt(ze_rtas_builder_ext_handle_t,
                                             const ze_rtas_builder_build_op_ext_desc_t*, void*,
                                             size_t, void*, size_t,
                                             ze_rtas_parallel_operation_ext_handle_t, void*,
                                             ze_rtas_aabb_ext_t*, size_t*) {
    return unsupported("zeRTASBuilderBuildExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderCommandListAppendCopyExt(ze_command_list_handle_t, void*,
                                                             const void*, size_t, ze_event_handle_t,
                                                             uint32_t, ze_event_handle_t*) {
    return unsupported("zeRTASBuilderCommandListAppendCopyExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderCreateExp(ze_driver_handle_t, const ze_rtas_builder_exp_desc_t*,
                                              ze_rtas_builder_exp_handle_t*) {
    return unsupported("zeRTASBuilderCreateExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderCreateExt(ze_driver_handle_t, const ze_rtas_builder_ext_desc_t*,
                                              ze_rtas_builder_ext_handle_t*) {
    return unsupported("zeRTASBuilderCreateExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderDestroyExp(ze_rtas_builder_exp_handle_t) {
    return unsupported("zeRTASBuilderDestroyExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderDestroyExt(ze_rtas_builder_ext_handle_t) {
    return unsupported("zeRTASBuilderDestroyExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderGetBuildPropertiesExp(
    ze_rtas_builder_exp_handle_t, const ze_rtas_builder_build_op_exp_desc_t*,
    ze_rtas_builder_exp_properties_t*) {
    return unsupported("zeRTASBuilderGetBuildPropertiesExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASBuilderGetBuildPropertiesExt(
    ze_rtas_builder_ext_handle_t, const ze_rtas_builder_build_op_ext_desc_t*,
    ze_rtas_builder_ext_properties_t*) {
    return unsupported("zeRTASBuilderGetBuildPropertiesExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationCreateExp(ze_driver_handle_t,
                                                        ze_rtas_parallel_operation_exp_handle_t*) {
    return unsupported("zeRTASParallelOperationCreateExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationCreateExt(ze_driver_handle_t,
                                                        ze_rtas_parallel_operation_ext_handle_t*) {
    return unsupported("zeRTASParallelOperationCreateExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationDestroyExp(ze_rtas_parallel_operation_exp_handle_t) {
    return unsupported("zeRTASParallelOperationDestroyExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationDestroyExt(ze_rtas_parallel_operation_ext_handle_t) {
    return unsupported("zeRTASParallelOperationDestroyExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationGetPropertiesExp(
    ze_rtas_parallel_operation_exp_handle_t, ze_rtas_parallel_operation_exp_properties_t*) {
    return unsupported("zeRTASParallelOperationGetPropertiesExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationGetPropertiesExt(
    ze_rtas_parallel_operation_ext_handle_t, ze_rtas_parallel_operation_ext_properties_t*) {
    return unsupported("zeRTASParallelOperationGetPropertiesExt", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationJoinExp(ze_rtas_parallel_operation_exp_handle_t) {
    return unsupported("zeRTASParallelOperationJoinExp", kRayTracing);
}

ze_result_t ZE_APICALL zeRTASParallelOperationJoinExt(ze_rtas_parallel_operation_ext_handle_t) {
    return unsupported("zeRTASParallelOperationJoinExt", kRayTracing);
}

} // extern "C"
