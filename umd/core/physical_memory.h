// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/allocation.h"
#include "core/handle.h"

namespace vze {

class Context;
class Device;

/// zePhysicalMemCreate: an object that can be mapped into reservations of its context, on a device or,
/// without one, in system memory that every device and the CPU reach.
class PhysicalMemory
    : public Handle<PhysicalMemory, ze_physical_mem_handle_t, HandleKind::PhysicalMemory> {
public:
    PhysicalMemory(Context& owner, Device* where, uint64_t bytes)
        : context(owner), device(where), size(bytes) {}

    Context& context;
    Device* const device; ///< null: host memory
    const uint64_t size;
    uint64_t id = 0;
    GemHandles gem;
    bool external = false; ///< imported dma-buf
    uint32_t mappings = 0; ///< pieces of reservations that map it
    ExportState exported;
};

} // namespace vze
