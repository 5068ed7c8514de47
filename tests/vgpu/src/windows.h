// SPDX-License-Identifier: MIT
#pragma once

#include <drm/vze_hw.h>

#include <cstdint>
#include <span>

namespace vgpu {

/** A slot number that no window has. */
inline constexpr uint32_t kNoWindow = VZE_HW_WINDOWS;

/**
 * Whether an open window of @p asid, other than the one in slot @p except, overlaps
 * [@p start, @p end).
 *
 * The caller has read a page-table entry with acquire order before: a driver that follows the
 * manual opened the window before it changed the entry, so that whoever sees the change sees the
 * window.
 */
bool window_covers(std::span<const vze_hw_window> windows, uint32_t asid, uint64_t start,
                   uint64_t end, uint32_t except = kNoWindow);

} // namespace vgpu
