// SPDX-License-Identifier: MIT
#pragma once

#include "engine.h"
#include "file_descriptor.h"

#include <drm/vze_hw.h>

#include <array>
#include <cstdint>

namespace vgpu {

/** The eventfds behind doorbells and MSI-X vectors, made here and handed to QEMU. */
class EventLines {
public:
    /** @throws std::system_error when an eventfd cannot be made. */
    EventLines();

    int doorbell(uint32_t vector) const { return doorbells_[vector].get(); }
    int interrupt(uint32_t vector) const { return interrupts_[vector].get(); }

    /** Raises MSI-X @p vector. Whatever it announces must be visible before. */
    void raise(uint32_t vector, Engine& engine) const;

    /** Takes what has been written to an eventfd; never blocks. False when there was nothing. */
    static bool clear(int fd);

private:
    std::array<FileDescriptor, VZE_HW_VECTORS> doorbells_;
    std::array<FileDescriptor, VZE_HW_VECTORS> interrupts_;
};

} // namespace vgpu
