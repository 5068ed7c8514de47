// SPDX-License-Identifier: MIT
#include "bar.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace vgpu {
namespace {

constexpr uint64_t kMinTransfer = 16ULL << 20;
constexpr uint64_t kMaxTransfer = 2ULL << 30;

static_assert(sizeof(vze_hw_ident) <= VZE_HW_REGS_OFFSET - VZE_HW_IDENT_OFFSET);
static_assert(sizeof(vze_hw_regs) <= VZE_HW_CTRL_OFFSET - VZE_HW_REGS_OFFSET);
static_assert(sizeof(vze_hw_ctrl_entry) == 64);
static_assert(sizeof(vze_hw_ctrl_entry) * VZE_HW_CTRL_ENTRIES <=
              VZE_HW_FAULT_OFFSET - VZE_HW_CTRL_OFFSET);
static_assert(sizeof(vze_hw_fault) == 64);
static_assert(sizeof(vze_hw_fault) * VZE_HW_FAULT_ENTRIES <=
              VZE_HW_WINDOW_OFFSET - VZE_HW_FAULT_OFFSET);
static_assert(sizeof(vze_hw_window) == 64);
static_assert(sizeof(vze_hw_window) * VZE_HW_WINDOWS <=
              VZE_HW_COUNTERS_OFFSET - VZE_HW_WINDOW_OFFSET);
static_assert(sizeof(vze_hw_queue) == 128);
static_assert(VZE_HW_QUEUE_OFFSET + sizeof(vze_hw_queue) * VZE_HW_MAX_QUEUES <=
              VZE_HW_VRAM_MIN_OFFSET);

void random_bytes(void* to, size_t size) {
    if (getrandom(to, size, 0) != static_cast<ssize_t>(size))
        throw std::system_error(errno, std::generic_category(), "getrandom");
}

} // namespace

Bar::Bar(const BarLayout& layout) {
    const uint64_t size = std::bit_ceil(VZE_HW_VRAM_MIN_OFFSET + layout.vram_size);

    fd_ = FileDescriptor(memfd_create("vze-vgpu-bar2", MFD_CLOEXEC));
    if (!fd_.valid())
        throw std::system_error(errno, std::generic_category(), "memfd_create for BAR2");
    if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
        throw std::system_error(errno, std::generic_category(), "ftruncate of BAR2");
    memory_ = Mapping(fd_.get(), size);
    vram_ = memory_.bytes().subspan(VZE_HW_VRAM_MIN_OFFSET, layout.vram_size);
    max_transfer_ = std::clamp(std::bit_floor(layout.vram_size / 4), kMinTransfer, kMaxTransfer);

    vze_hw_ident& ident = *at<vze_hw_ident>(VZE_HW_IDENT_OFFSET);
    ident.version_major = layout.version_major;
    ident.version_minor = layout.version_minor;
    ident.features = layout.features;
    ident.bar_size = size;
    ident.vram_offset = VZE_HW_VRAM_MIN_OFFSET;
    ident.vram_size = layout.vram_size;
    ident.max_transfer = max_transfer_;
    ident.page_sizes = (1ULL << VZE_HW_LEVEL_SHIFT(0)) | (1ULL << VZE_HW_LEVEL_SHIFT(1)) |
                       (1ULL << VZE_HW_LEVEL_SHIFT(2));
    ident.timestamp_hz = 1000000000;
    random_bytes(&ident.epoch, sizeof(ident.epoch));
    ident.num_queues = layout.num_queues;
    ident.num_address_spaces = VZE_HW_MAX_ADDRESS_SPACES;
    ident.va_bits = VZE_HW_VA_BITS;
    ident.num_engines = layout.num_engines;
    random_bytes(ident.uuid, sizeof(ident.uuid));
    // The two fixed fields of a random UUID (RFC 9562, version 4).
    ident.uuid[6] = static_cast<__u8>((ident.uuid[6] & 0x0f) | 0x40);
    ident.uuid[8] = static_cast<__u8>((ident.uuid[8] & 0x3f) | 0x80);
    layout.name.copy(ident.name, sizeof(ident.name) - 1);
    // The magic is what a driver looks at first.
    std::atomic_ref<__u64>(ident.magic).store(VZE_HW_MAGIC, std::memory_order_release);
}

} // namespace vgpu
