// SPDX-License-Identifier: MIT
#include "windows.h"

#include "shared_word.h"

namespace vgpu {

bool window_covers(std::span<const vze_hw_window> windows, uint32_t asid, uint64_t start,
                   uint64_t end, uint32_t except) {
    for (const vze_hw_window& window : windows) {
        if (&window != windows.data() + except &&
            load_acquire(window.state) == VZE_HW_WINDOW_OPEN && load_relaxed(window.asid) == asid &&
            load_relaxed(window.start) < end && load_relaxed(window.end) > start)
            return true;
    }
    return false;
}

} // namespace vgpu
