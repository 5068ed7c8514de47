// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vgpu {

/**
 * The two memories that the device reaches: guest RAM by guest-physical address, VRAM by offset.
 *
 * Immutable once the device runs; every thread may use it.
 */
class PhysicalMemory {
public:
    explicit PhysicalMemory(std::span<std::byte> vram) : vram_(vram) {}

    /**
     * Gives the device its guest RAM. @p ram is the whole backing file. QEMU's q35 places it flat
     * below 2.75 GiB; from that size on, 2 GiB stay low and the rest stands at 4 GiB.
     */
    void attach_ram(std::span<std::byte> ram);

    /** Where @p size bytes at guest-physical @p address lie, or null when any of them is not RAM.
     */
    std::byte* ram(uint64_t address, uint64_t size) const;

    /** Where @p size bytes at @p offset of VRAM lie, or null when any of them is outside. */
    std::byte* vram(uint64_t offset, uint64_t size) const;

    std::span<std::byte> vram() const { return vram_; }

private:
    std::span<std::byte> vram_;
    std::span<std::byte> low_;
    std::span<std::byte> high_;
};

} // namespace vgpu
