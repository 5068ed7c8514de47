// SPDX-License-Identifier: MIT
#pragma once

#include <time.h>

#include <cstdint>

namespace vgpu {

/** The device clock: nanoseconds since some time before the process started. */
inline uint64_t device_clock() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace vgpu
