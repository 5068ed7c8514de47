// SPDX-License-Identifier: MIT
//
// The tables that every handle points to. A loader that holds several drivers, or that layers sit
// on, takes a call's function from the handle it is given.
#include "api/ddi.h"
#include "core/handle.h"

namespace vze {

namespace {

struct CoreTables {
    ze_global_dditable_t global{};
    ze_driver_dditable_t driver{};
    ze_device_dditable_t device{};
    ze_context_dditable_t context{};
    ze_mem_dditable_t mem{};
    ze_mem_exp_dditable_t memExp{};
    ze_physical_mem_dditable_t physicalMem{};
    ze_virtual_mem_dditable_t virtualMem{};
    ze_command_queue_dditable_t commandQueue{};
    ze_command_list_dditable_t commandList{};
    ze_command_list_exp_dditable_t commandListExp{};
    ze_fence_dditable_t fence{};
    ze_event_pool_dditable_t eventPool{};
    ze_event_dditable_t event{};
    ze_event_exp_dditable_t eventExp{};
    ze_rtas_builder_dditable_t rtasBuilder{};
    ze_rtas_builder_exp_dditable_t rtasBuilderExp{};
    ze_rtas_parallel_operation_dditable_t rtasParallelOperation{};
    ze_rtas_parallel_operation_exp_dditable_t rtasParallelOperationExp{};
    ze_driver_exp_dditable_t driverExp{};
    ze_device_exp_dditable_t deviceExp{};
    ze_fabric_vertex_exp_dditable_t fabricVertexExp{};
    ze_fabric_edge_exp_dditable_t fabricEdgeExp{};
    ze_graph_dditable_t graph{};
    ze_executable_graph_dditable_t executableGraph{};
    ze_image_dditable_t image{};
    ze_image_exp_dditable_t imageExp{};
    ze_module_dditable_t module{};
    ze_module_build_log_dditable_t moduleBuildLog{};
    ze_kernel_dditable_t kernel{};
    ze_kernel_exp_dditable_t kernelExp{};
    ze_sampler_dditable_t sampler{};
};

// Tools and system management are valid and empty.
struct HandleTables {
    CoreTables tables;
    ze_dditable_driver_t core{};
    zet_dditable_driver_t tools{};
    zes_dditable_driver_t sysman{};
    zer_global_dditable_t runtimeGlobal{};
    zer_dditable_driver_t runtime{};
    ze_handle_t handle{};

    HandleTables() noexcept {
        core.version = kApiVersion;
        core.isValidFlag = 1;
        fillTable(tables.global, kApiVersion);
        core.Global = &tables.global;
        fillTable(tables.driver, kApiVersion);
        core.Driver = &tables.driver;
        fillTable(tables.device, kApiVersion);
        core.Device = &tables.device;
        fillTable(tables.context, kApiVersion);
        core.Context = &tables.context;
        fillTable(tables.mem, kApiVersion);
        core.Mem = &tables.mem;
        fillTable(tables.memExp, kApiVersion);
        core.MemExp = &tables.memExp;
        fillTable(tables.physicalMem, kApiVersion);
        core.PhysicalMem = &tables.physicalMem;
        fillTable(tables.virtualMem, kApiVersion);
        core.VirtualMem = &tables.virtualMem;
        fillTable(tables.commandQueue, kApiVersion);
        core.CommandQueue = &tables.commandQueue;
        fillTable(tables.commandList, kApiVersion);
        core.CommandList = &tables.commandList;
        fillTable(tables.commandListExp, kApiVersion);
        core.CommandListExp = &tables.commandListExp;
        fillTable(tables.fence, kApiVersion);
        core.Fence = &tables.fence;
        fillTable(tables.eventPool, kApiVersion);
        core.EventPool = &tables.eventPool;
        fillTable(tables.event, kApiVersion);
        core.Event = &tables.event;
        fillTable(tables.eventExp, kApiVersion);
        core.EventExp = &tables.eventExp;
        fillTable(tables.rtasBuilder, kApiVersion);
        core.RTASBuilder = &tables.rtasBuilder;
        fillTable(tables.rtasBuilderExp, kApiVersion);
        core.RTASBuilderExp = &tables.rtasBuilderExp;
        fillTable(tables.rtasParallelOperation, kApiVersion);
        core.RTASParallelOperation = &tables.rtasParallelOperation;
        fillTable(tables.rtasParallelOperationExp, kApiVersion);
        core.RTASParallelOperationExp = &tables.rtasParallelOperationExp;
        fillTable(tables.driverExp, kApiVersion);
        core.DriverExp = &tables.driverExp;
        fillTable(tables.deviceExp, kApiVersion);
        core.DeviceExp = &tables.deviceExp;
        fillTable(tables.fabricVertexExp, kApiVersion);
        core.FabricVertexExp = &tables.fabricVertexExp;
        fillTable(tables.fabricEdgeExp, kApiVersion);
        core.FabricEdgeExp = &tables.fabricEdgeExp;
        fillTable(tables.graph, kApiVersion);
        core.Graph = &tables.graph;
        fillTable(tables.executableGraph, kApiVersion);
        core.ExecutableGraph = &tables.executableGraph;
        fillTable(tables.image, kApiVersion);
        core.Image = &tables.image;
        fillTable(tables.imageExp, kApiVersion);
        core.ImageExp = &tables.imageExp;
        fillTable(tables.module, kApiVersion);
        core.Module = &tables.module;
        fillTable(tables.moduleBuildLog, kApiVersion);
        core.ModuleBuildLog = &tables.moduleBuildLog;
        fillTable(tables.kernel, kApiVersion);
        core.Kernel = &tables.kernel;
        fillTable(tables.kernelExp, kApiVersion);
        core.KernelExp = &tables.kernelExp;
        fillTable(tables.sampler, kApiVersion);
        core.Sampler = &tables.sampler;
        tools.version = kApiVersion;
        tools.isValidFlag = 1;
        sysman.version = kApiVersion;
        sysman.isValidFlag = 1;
        runtime.version = kApiVersion;
        runtime.isValidFlag = 1;
        fillTable(runtimeGlobal, kApiVersion);
        runtime.Global = &runtimeGlobal;
        handle = {&core, &tools, &sysman, &runtime};
    }
};

} // namespace

const ze_handle_t& handleTables() noexcept {
    // Lives until the process ends: handles do, too.
    static const HandleTables* const tables = new HandleTables;
    return tables->handle;
}

} // namespace vze
