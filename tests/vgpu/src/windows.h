// SPDX-License-Identifier: MIT
#pragma once

#include <drm/vze_hw.h>

#include <cstdint>
#include <span>

namespace vgpu {

/**
 * Whether an open window of @p asid overlaps [@p start, @p end).
 *
 * The caller has read a page-table entry with acquire order before: a driver that follows the
 * manual opened the window before it changed the entry, so that whoever sees the change sees the
 * window.
 */
bool window_covers(std::span<const vze_hw_window> windows, uint32_t asid, uint64_t start,
                   uint64_t end);

} // namespace vgpu
