// SPDX-License-Identifier: MIT
//
// DDI tables of extensions that no device has: ray tracing structures, fabrics and graphs.
#include "api/ddi.h"

namespace vze {

void fillTable(ze_rtas_builder_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateExt, zeRTASBuilderCreateExt, version, ZE_API_VERSION_1_13);
    setEntry(table.pfnGetBuildPropertiesExt, zeRTASBuilderGetBuildPropertiesExt, version,
             ZE_API_VERSION_1_13);
    setEntry(table.pfnBuildExt, zeRTASBuilderBuildExt, version, ZE_API_VERSION_1_13);
    setEntry(table.pfnCommandListAppendCopyExt, zeRTASBuilderCommandListAppendCopyExt, version,
             ZE_API_VERSION_1_13);
    setEntry(table.pfnDestroyExt, zeRTASBuilderDestroyExt, version, ZE_API_VERSION_1_13);
}

void fillTable(ze_rtas_builder_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateExp, zeRTASBuilderCreateExp, version, ZE_API_VERSION_1_7);
    setEntry(table.pfnGetBuildPropertiesExp, zeRTASBuilderGetBuildPropertiesExp, version,
             ZE_API_VERSION_1_7);
    setEntry(table.pfnBuildExp, zeRTASBuilderBuildExp, version, ZE_API_VERSION_1_7);
    setEntry(table.pfnDestroyExp, zeRTASBuilderDestroyExp, version, ZE_API_VERSION_1_7);
}

void fillTable(ze_rtas_parallel_operation_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateExt, zeRTASParallelOperationCreateExt, version, ZE_API_VERSION_1_13);
    setEntry(table.pfnGetPropertiesExt, zeRTASParallelOperationGetPropertiesExt, version,
             ZE_API_VERSION_1_13);
    setEntry(table.pfnJoinExt, zeRTASParallelOperationJoinExt, version, ZE_API_VERSION_1_13);
    setEntry(table.pfnDestroyExt, zeRTASParallelOperationDestroyExt, version, ZE_API_VERSION_1_13);
}

void fillTable(ze_rtas_parallel_operation_exp_dditable_t& table,
               ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateExp, zeRTASParallelOperationCreateExp, version, ZE_API_VERSION_1_7);
    setEntry(table.pfnGetPropertiesExp, zeRTASParallelOperationGetPropertiesExp, version,
             ZE_API_VERSION_1_7);
    setEntry(table.pfnJoinExp, zeRTASParallelOperationJoinExp, version, ZE_API_VERSION_1_7);
    setEntry(table.pfnDestroyExp, zeRTASParallelOperationDestroyExp, version, ZE_API_VERSION_1_7);
}

void fillTable(ze_driver_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnRTASFormatCompatibilityCheckExp, zeDriverRTASFormatCompatibilityCheckExp,
             version, ZE_API_VERSION_1_7);
}

void fillTable(ze_device_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetFabricVertexExp, zeDeviceGetFabricVertexExp, version, ZE_API_VERSION_1_4);
}

void fillTable(ze_fabric_vertex_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetExp, zeFabricVertexGetExp, version, ZE_API_VERSION_1_4);
    setEntry(table.pfnGetSubVerticesExp, zeFabricVertexGetSubVerticesExp, version,
             ZE_API_VERSION_1_4);
    setEntry(table.pfnGetPropertiesExp, zeFabricVertexGetPropertiesExp, version,
             ZE_API_VERSION_1_4);
    setEntry(table.pfnGetDeviceExp, zeFabricVertexGetDeviceExp, version, ZE_API_VERSION_1_4);
}

void fillTable(ze_fabric_edge_exp_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetExp, zeFabricEdgeGetExp, version, ZE_API_VERSION_1_4);
    setEntry(table.pfnGetVerticesExp, zeFabricEdgeGetVerticesExp, version, ZE_API_VERSION_1_4);
    setEntry(table.pfnGetPropertiesExp, zeFabricEdgeGetPropertiesExp, version, ZE_API_VERSION_1_4);
}

void fillTable(ze_graph_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnCreateExt, zeGraphCreateExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnGetPrimaryCommandListExt, zeGraphGetPrimaryCommandListExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnSetDestructionCallbackExt, zeGraphSetDestructionCallbackExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnInstantiateExt, zeGraphInstantiateExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnIsEmptyExt, zeGraphIsEmptyExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnDumpContentsExt, zeGraphDumpContentsExt, version, ZE_API_VERSION_1_17);
    setEntry(table.pfnDestroyExt, zeGraphDestroyExt, version, ZE_API_VERSION_1_17);
}

void fillTable(ze_executable_graph_dditable_t& table, ze_api_version_t version) noexcept {
    setEntry(table.pfnGetSourceGraphExt, zeExecutableGraphGetSourceGraphExt, version,
             ZE_API_VERSION_1_17);
    setEntry(table.pfnDestroyExt, zeExecutableGraphDestroyExt, version, ZE_API_VERSION_1_17);
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
