// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "kmd/device_file.h"

namespace vze {

/// Reads a word that a device or another CPU writes; what was written before it is visible
/// afterwards.
inline uint64_t loadWord(const uint64_t* word) noexcept {
    return std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(word)).load(std::memory_order_acquire);
}

/// Makes everything before visible to devices, then writes the word.
inline void storeWord(uint64_t* word, uint64_t value) noexcept {
    std::atomic_ref<uint64_t>(*word).store(value, std::memory_order_seq_cst);
}

/// Waits until (*word @p op value): a short time by looking, then asleep in the kernel.
///
/// @p op: VZE_HW_WAIT_*. @p queueId: give up when that queue stops; 0: none. @p deadline: absolute
/// CLOCK_MONOTONIC in ns, negative for ever, 0 only looks. Returns 0, ETIME, ECANCELED (the queue
/// was stopped), ENOENT (no such queue any more), ENODEV (device lost) or another errno of
/// FENCE_WAIT.
int waitForWord(kmd::DeviceFile& file, const uint64_t* word, uint32_t op, uint64_t value,
                uint32_t queueId, int64_t deadline) noexcept;

} // namespace vze
