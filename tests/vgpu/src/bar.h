// SPDX-License-Identifier: MIT
#pragma once

#include "file_descriptor.h"

#include <drm/vze_hw.h>

#include <cstdint>
#include <span>
#include <string>

namespace vgpu {

/** What the identity page of a new device says. */
struct BarLayout {
    uint64_t vram_size = 256ULL << 20; ///< bytes, a multiple of 2 MiB
    uint32_t num_queues = VZE_HW_MAX_QUEUES;
    uint32_t num_engines = 2;
    uint64_t features = 0; ///< VZE_HW_FEATURE_*
    uint32_t version_major = VZE_HW_VERSION_MAJOR;
    uint32_t version_minor = VZE_HW_VERSION_MINOR;
    std::string name = "vze virtual GPU";
};

/**
 * The memory behind BAR2: identity page, registers, rings and VRAM in one memfd.
 *
 * The driver can write every byte of it at any time. Code that reads from it copies the words that
 * it needs once and validates the copy; words that the device writes are never read back.
 */
class Bar {
public:
    /**
     * Makes the memory and fills the identity page.
     * @throws std::system_error when the memory cannot be had.
     */
    explicit Bar(const BarLayout& layout);

    int fd() const { return fd_.get(); }
    uint64_t size() const { return memory_.size(); }
    uint64_t max_transfer() const { return max_transfer_; }
    std::span<std::byte> vram() const { return vram_; }

    const vze_hw_ident& ident() const { return *at<vze_hw_ident>(VZE_HW_IDENT_OFFSET); }
    vze_hw_regs& regs() const { return *at<vze_hw_regs>(VZE_HW_REGS_OFFSET); }
    std::span<vze_hw_ctrl_entry> control() const {
        return {at<vze_hw_ctrl_entry>(VZE_HW_CTRL_OFFSET), VZE_HW_CTRL_ENTRIES};
    }
    std::span<vze_hw_fault> faults() const {
        return {at<vze_hw_fault>(VZE_HW_FAULT_OFFSET), VZE_HW_FAULT_ENTRIES};
    }
    std::span<vze_hw_window> windows() const {
        return {at<vze_hw_window>(VZE_HW_WINDOW_OFFSET), VZE_HW_WINDOWS};
    }
    std::span<__u64> counters() const {
        return {at<__u64>(VZE_HW_COUNTERS_OFFSET), VZE_HW_COUNTER_COUNT};
    }
    vze_hw_queue& queue(uint32_t id) const { return at<vze_hw_queue>(VZE_HW_QUEUE_OFFSET)[id]; }

private:
    template <typename T>
    T* at(uint64_t offset) const {
        return reinterpret_cast<T*>(memory_.data() + offset);
    }

    FileDescriptor fd_;
    Mapping memory_;
    std::span<std::byte> vram_;
    uint64_t max_transfer_ = 0;
};

} // namespace vgpu
