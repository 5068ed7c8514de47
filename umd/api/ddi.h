// SPDX-License-Identifier: MIT
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <level_zero/zer_ddi.h>

namespace vze {

/// The version of the specification that the driver implements: the newest that its headers
/// declare.
inline constexpr ze_api_version_t kApiVersion = ZE_API_VERSION_CURRENT;

/// Stores the entries that one version brought, if the version that was asked for has them. A
/// loader of an older version passes a shorter table: what lies beyond must not be written.
class EntriesSince {
public:
    EntriesSince(ze_api_version_t asked, ze_api_version_t since) noexcept : m_has(asked >= since) {}
    template <typename Pointer>
    void operator()(Pointer& entry, Pointer function) const noexcept {
        if (m_has)
            entry = function;
    }

private:
    const bool m_has;
};

void fillTable(ze_global_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_driver_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_device_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_context_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_mem_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_mem_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_physical_mem_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_virtual_mem_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_command_queue_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_command_list_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_command_list_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_fence_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_event_pool_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_event_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_event_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_rtas_builder_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_rtas_builder_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_rtas_parallel_operation_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_rtas_parallel_operation_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_driver_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_device_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_fabric_vertex_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_fabric_edge_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_graph_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_executable_graph_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_image_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_image_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_module_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_module_build_log_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_kernel_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_kernel_exp_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(ze_sampler_dditable_t& table, ze_api_version_t version) noexcept;
void fillTable(zer_global_dditable_t& table, ze_api_version_t version) noexcept;

/// What every getter does: another major version is refused, a newer minor one gets what there is.
template <typename Table>
ze_result_t getTable(ze_api_version_t version, Table* table) noexcept {
    if (table == nullptr)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (ZE_MAJOR_VERSION(version) != ZE_MAJOR_VERSION(kApiVersion))
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    fillTable(*table, version);
    return ZE_RESULT_SUCCESS;
}

} // namespace vze

#define VZE_TABLE_GETTER(name, table_type)                                                         \
    ZE_DLLEXPORT ze_result_t ZE_APICALL name(ze_api_version_t version, table_type* table) {        \
        return ::vze::getTable(version, table);                                                    \
    }
