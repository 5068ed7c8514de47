// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include <drm/vze_drm.h>
#include <drm/vze_hw.h>

#include "core/handle.h"
#include "kmd/device_file.h"

namespace vze {

class Driver;

/// A virtual GPU: one open render node and what does not change about it. Lives as long as the
/// process.
class Device : public Handle<Device, ze_device_handle_t, HandleKind::Device> {
public:
    Device(Driver& driver, uint32_t index, std::unique_ptr<kmd::DeviceFile> file,
           const drm_vze_query_device& info);

    Driver& driver() const noexcept { return m_driver; }
    /// Position in the driver's list of devices.
    uint32_t index() const noexcept { return m_index; }
    kmd::DeviceFile& file() const noexcept { return *m_file; }
    const drm_vze_query_device& info() const noexcept { return m_info; }

    /// Most bytes that one command moves; also maxMemAllocSize.
    uint64_t maxTransfer() const noexcept { return m_info.max_transfer; }
    bool hasFeature(uint64_t feature) const noexcept { return (m_info.features & feature) != 0; }

    /// The only queue group: ordinal 0, copy engines without compute.
    static constexpr uint32_t kQueueGroups = 1;
    /// Queues of the group that index may name; each command queue gets a hardware queue of its
    /// own.
    uint32_t queuesInGroup() const noexcept;
    /// Name of the model, NUL-terminated.
    const char* name() const noexcept { return reinterpret_cast<const char*>(m_info.name); }
    /// Pattern size limit of memory fills.
    static constexpr uint64_t kMaxFillPattern = VZE_HW_MAX_PATTERN;

private:
    Driver& m_driver;
    const uint32_t m_index;
    const std::unique_ptr<kmd::DeviceFile> m_file;
    const drm_vze_query_device m_info;
};

} // namespace vze
