// SPDX-License-Identifier: MIT
#include "core/physical_memory.h"

#include <utility>

#include "core/device.h"

namespace vze {

PhysicalMemory::PhysicalMemory(std::vector<Device*> devices, Device* device, uint64_t size,
                               GemHandles objects)
    : m_devices(std::move(devices)), m_device(device), m_size(size), m_id(nextAllocationId()),
      m_gem(std::move(objects)) {}

// The kernel ends the shares with the handles; then there is nothing left to be done for them.
PhysicalMemory::~PhysicalMemory() {
    for (size_t i = 0; i < m_gem.size(); ++i)
        m_devices[i]->file().closeGem(m_gem[i]);
    ExportTable::instance().forget(m_exported);
    if (m_inRange)
        ExportTable::instance().dropEnded();
}

} // namespace vze
