// SPDX-License-Identifier: MIT
//
// DDI tables of extensions that no device has: ray tracing structures, fabrics and graphs.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_rtas_builder_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_13(version, ZE_API_VERSION_1_13);
    since1_13(table.pfnCreateExt, zeRTASBuilderCreateExt);
    since1_13(table.pfnGetBuildPropertiesExt, zeRTASBuilderGetBuildPropertiesExt);
    since1_13(table.pfnBuildExt, zeRTASBuilderBuildExt);
    since1_13(table.pfnCommandListAppendCopyExt, zeRTASBuilderCommandListAppendCopyExt);
    since1_13(table.pfnDestroyExt, zeRTASBuilderDestroyExt);
}

void fillTable(ze_rtas_builder_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_7(version, ZE_API_VERSION_1_7);
    since1_7(table.pfnCreateExp, zeRTASBuilderCreateExp);
    since1_7(table.pfnGetBuildPropertiesExp, zeRTASBuilderGetBuildPropertiesExp);
    since1_7(table.pfnBuildExp, zeRTASBuilderBuildExp);
    since1_7(table.pfnDestroyExp, zeRTASBuilderDestroyExp);
}

void fillTable(ze_rtas_parallel_operation_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_13(version, ZE_API_VERSION_1_13);
    since1_13(table.pfnCreateExt, zeRTASParallelOperationCreateExt);
    since1_13(table.pfnGetPropertiesExt, zeRTASParallelOperationGetPropertiesExt);
    since1_13(table.pfnJoinExt, zeRTASParallelOperationJoinExt);
    since1_13(table.pfnDestroyExt, zeRTASParallelOperationDestroyExt);
}

void fillTable(ze_rtas_parallel_operation_exp_dditable_t& table,
               ze_api_version_t version) noexcept {
    const EntriesSince since1_7(version, ZE_API_VERSION_1_7);
    since1_7(table.pfnCreateExp, zeRTASParallelOperationCreateExp);
    since1_7(table.pfnGetPropertiesExp, zeRTASParallelOperationGetPropertiesExp);
    since1_7(table.pfnJoinExp, zeRTASParallelOperationJoinExp);
    since1_7(table.pfnDestroyExp, zeRTASParallelOperationDestroyExp);
}

void fillTable(ze_driver_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_7(version, ZE_API_VERSION_1_7);
    since1_7(table.pfnRTASFormatCompatibilityCheckExp, zeDriverRTASFormatCompatibilityCheckExp);
}

void fillTable(ze_device_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_4(version, ZE_API_VERSION_1_4);
    since1_4(table.pfnGetFabricVertexExp, zeDeviceGetFabricVertexExp);
}

void fillTable(ze_fabric_vertex_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_4(version, ZE_API_VERSION_1_4);
    since1_4(table.pfnGetExp, zeFabricVertexGetExp);
    since1_4(table.pfnGetSubVerticesExp, zeFabricVertexGetSubVerticesExp);
    since1_4(table.pfnGetPropertiesExp, zeFabricVertexGetPropertiesExp);
    since1_4(table.pfnGetDeviceExp, zeFabricVertexGetDeviceExp);
}

void fillTable(ze_fabric_edge_exp_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_4(version, ZE_API_VERSION_1_4);
    since1_4(table.pfnGetExp, zeFabricEdgeGetExp);
    since1_4(table.pfnGetVerticesExp, zeFabricEdgeGetVerticesExp);
    since1_4(table.pfnGetPropertiesExp, zeFabricEdgeGetPropertiesExp);
}

void fillTable(ze_graph_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_17(table.pfnCreateExt, zeGraphCreateExt);
    since1_17(table.pfnGetPrimaryCommandListExt, zeGraphGetPrimaryCommandListExt);
    since1_17(table.pfnSetDestructionCallbackExt, zeGraphSetDestructionCallbackExt);
    since1_17(table.pfnInstantiateExt, zeGraphInstantiateExt);
    since1_17(table.pfnIsEmptyExt, zeGraphIsEmptyExt);
    since1_17(table.pfnDumpContentsExt, zeGraphDumpContentsExt);
    since1_17(table.pfnDestroyExt, zeGraphDestroyExt);
}

void fillTable(ze_executable_graph_dditable_t& table, ze_api_version_t version) noexcept {
    const EntriesSince since1_17(version, ZE_API_VERSION_1_17);
    since1_17(table.pfnGetSourceGraphExt, zeExecutableGraphGetSourceGraphExt);
    since1_17(table.pfnDestroyExt, zeExecutableGraphDestroyExt);
}

} // namespace vze

extern "C" {

VZE_TABLE_GETTER(zeGetRTASBuilderProcAddrTable, ze_rtas_builder_dditable_t)
VZE_TABLE_GETTER(zeGetRTASBuilderExpProcAddrTable, ze_rtas_builder_exp_dditable_t)
VZE_TABLE_GETTER(zeGetRTASParallelOperationProcAddrTable, ze_rtas_parallel_operation_dditable_t)
VZE_TABLE_GETTER(zeGetRTASParallelOperationExpProcAddrTable,
                 ze_rtas_parallel_operation_exp_dditable_t)
VZE_TABLE_GETTER(zeGetDriverExpProcAddrTable, ze_driver_exp_dditable_t)
VZE_TABLE_GETTER(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t)
VZE_TABLE_GETTER(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t)
VZE_TABLE_GETTER(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t)
VZE_TABLE_GETTER(zeGetGraphProcAddrTable, ze_graph_dditable_t)
VZE_TABLE_GETTER(zeGetExecutableGraphProcAddrTable, ze_executable_graph_dditable_t)

} // extern "C"
