// SPDX-License-Identifier: MIT
#include "gpu.h"

#include <chrono>
#include <vector>

#include "failure.h"

namespace vze::demo {

namespace {

// A queue that gives no sign of life for this long is a failure of the stack, however slow the
// machine.
constexpr uint64_t kWaitNs = 300'000'000'000ULL;

} // namespace

Gpu::Gpu() {
    ze_init_driver_type_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC;
    type.flags = ZE_INIT_DRIVER_TYPE_FLAG_GPU;
    uint32_t count = 0;
    check(zeInitDrivers(&count, nullptr, &type), "zeInitDrivers");
    std::vector<ze_driver_handle_t> drivers(count);
    check(zeInitDrivers(&count, drivers.data(), &type), "zeInitDrivers");
    for (ze_driver_handle_t candidate : drivers) {
        void* function = nullptr;
        if (zeDriverGetExtensionFunctionAddress(candidate, "zexVzeContextGetStatistics",
                                                &function) == ZE_RESULT_SUCCESS &&
            function) {
            driver_ = candidate;
            getStatistics_ = reinterpret_cast<zexVzeContextGetStatistics_fn>(function);
            break;
        }
    }
    if (!driver_)
        throw Failure(textOf("none of the loader's %u drivers is vze", count));
    count = 1;
    check(zeDeviceGet(driver_, &count, &device_), "zeDeviceGet");
    if (!device_)
        throw Failure("the driver has no device");
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    check(zeContextCreate(driver_, &desc, &context_), "zeContextCreate");
}

Gpu::~Gpu() {
    if (context_)
        zeContextDestroy(context_);
}

std::string Gpu::description() const {
    ze_device_properties_t device{};
    device.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    check(zeDeviceGetProperties(device_, &device), "zeDeviceGetProperties");
    ze_driver_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    check(zeDriverGetProperties(driver_, &properties), "zeDriverGetProperties");
    uint32_t count = 1;
    ze_device_memory_properties_t memory{};
    memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    check(zeDeviceGetMemoryProperties(device_, &count, &memory), "zeDeviceGetMemoryProperties");
    return textOf("%s, %zu MiB of device memory, driver version 0x%x", device.name,
                  static_cast<size_t>(memory.totalSize >> 20), properties.driverVersion);
}

std::string Gpu::lastError() const {
    const char* text = nullptr;
    if (!driver_ || zeDriverGetLastErrorDescription(driver_, &text) != ZE_RESULT_SUCCESS || !text)
        return "";
    return text;
}

void Gpu::check(ze_result_t result, const char* what) const {
    if (result == ZE_RESULT_SUCCESS)
        return;
    const std::string words = lastError();
    throw Failure(textOf("%s gave 0x%x%s%s", what, static_cast<unsigned>(result),
                         words.empty() ? "" : ": ", words.c_str()));
}

vze_context_statistics_t Gpu::statistics() const {
    vze_context_statistics_t statistics{};
    check(getStatistics_(context_, device_, &statistics), "zexVzeContextGetStatistics");
    return statistics;
}

CopyQueue::CopyQueue(const Gpu& gpu) : gpu_(gpu) {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    gpu.check(zeCommandListCreateImmediate(gpu.context(), gpu.device(), &desc, &list_),
              "zeCommandListCreateImmediate");
}

CopyQueue::~CopyQueue() {
    if (list_)
        zeCommandListDestroy(list_);
}

ze_result_t CopyQueue::wait() {
    return zeCommandListHostSynchronize(list_, kWaitNs);
}

double CopyQueue::copy(void* dst, const void* src, size_t size) {
    const auto start = std::chrono::steady_clock::now();
    gpu_.check(zeCommandListAppendMemoryCopy(list_, dst, src, size, nullptr, 0, nullptr),
               "zeCommandListAppendMemoryCopy");
    gpu_.check(wait(), "waiting for the copy");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ze_result_t CopyQueue::tryCopy(void* dst, const void* src, size_t size) {
    ze_result_t result = zeCommandListAppendMemoryCopy(list_, dst, src, size, nullptr, 0, nullptr);
    return result == ZE_RESULT_SUCCESS ? wait() : result;
}

ze_result_t CopyQueue::tryFill(void* dst, uint8_t value, size_t size) {
    ze_result_t result =
        zeCommandListAppendMemoryFill(list_, dst, &value, 1, size, nullptr, 0, nullptr);
    return result == ZE_RESULT_SUCCESS ? wait() : result;
}

} // namespace vze::demo
