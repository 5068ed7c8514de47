// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "core/allocation.h"
#include "core/handle.h"

namespace vze {

class Device;

/// zePhysicalMemCreate: an object that can be mapped into reservations of its context, on a device
/// or, without one, in system memory that every device and the CPU reach.
///
/// Shared by its handle and by the reservations that map it: destroying the handle leaves mappings
/// alone.
class PhysicalMemory
    : public Handle<PhysicalMemory, ze_physical_mem_handle_t, HandleKind::PhysicalMemory> {
public:
    /// Takes over one reference to each handle in @p objects, which are by position in @p devices.
    PhysicalMemory(std::vector<Device*> devices, Device* device, uint64_t size, GemHandles objects);
    ~PhysicalMemory();

    /// The device that holds it, null for system memory.
    Device* device() const noexcept { return m_device; }
    uint64_t size() const noexcept { return m_size; }
    /// Never used twice in a process.
    uint64_t id() const noexcept { return m_id; }
    const GemHandles& gem() const noexcept { return m_gem; }
    ExportIds& exported() noexcept { return m_exported; }
    /// A range handle was made of it. Under the context's m_virtualMutex.
    void noteInRange() noexcept { m_inRange = true; }

private:
    const std::vector<Device*> m_devices;
    Device* const m_device;
    const uint64_t m_size;
    const uint64_t m_id;
    GemHandles m_gem;
    bool m_inRange = false;
    ExportIds m_exported; // under the context's m_mutex
};

} // namespace vze
