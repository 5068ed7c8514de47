// SPDX-License-Identifier: MIT
#include "core/device.h"

#include <algorithm>

namespace vze {

namespace {

// The name is the device's: do not rely on its terminator.
drm_vze_query_device terminated(drm_vze_query_device info) noexcept {
    info.name[sizeof(info.name) - 1] = 0;
    return info;
}

} // namespace

Device::Device(Driver& driver, uint32_t index, std::unique_ptr<kmd::DeviceFile> file,
               const drm_vze_query_device& info)
    : m_driver(driver), m_index(index), m_file(std::move(file)), m_info(terminated(info)) {}

uint32_t Device::queuesInGroup() const noexcept {
    // A figure to spread work over: hardware queues are shared by all processes, and each command
    // queue takes one whatever its index is. No more than run in parallel would help.
    constexpr uint32_t kFewest = 1;
    constexpr uint32_t kMost = 16;
    return std::clamp(m_info.num_queues, kFewest, kMost);
}

} // namespace vze
