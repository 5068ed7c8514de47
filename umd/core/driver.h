// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/handle.h"

namespace vze {

class Context;

/// The driver: all devices of the process. Made by the first zeInit that finds a device and never
/// destroyed: applications and layers call into it until the process is gone.
class Driver : public Handle<Driver, ze_driver_handle_t, HandleKind::Driver> {
public:
    /// The driver, or null before a successful init.
    static Driver* instance() noexcept;

    /// Opens the devices. UNINITIALIZED when there is none.
    static ze_result_t init();

    std::span<const std::unique_ptr<Device>> devices() const noexcept { return m_devices; }
    Device* findDevice(ze_device_handle_t handle) const noexcept;

    /// The context of zeDriverGetDefaultContext, with every device; made at the first call.
    ze_result_t defaultContext(Context*& out);

    /// VZE_STRICT_OVERLAP=1: an import that overlaps a live one is refused.
    bool strictOverlap() const noexcept { return m_strictOverlap; }

private:
    explicit Driver(bool strictOverlap) : m_strictOverlap(strictOverlap) {}

    std::vector<std::unique_ptr<Device>> m_devices;
    std::mutex m_mutex;
    Context* m_defaultContext = nullptr;
    const bool m_strictOverlap;
};

} // namespace vze
