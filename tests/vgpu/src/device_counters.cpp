// SPDX-License-Identifier: MIT
#include "device_counters.h"

#include "shared_word.h"

namespace vgpu {

Counters::Values Counters::sum() const {
    Values sums{};

    for (const CounterBlock& block : blocks_) {
        for (size_t i = 0; i < sums.size(); i++)
            sums[i] += block.get(i);
    }
    return sums;
}

void Counters::publish(std::span<__u64> words) {
    const std::lock_guard lock(publishing_);
    const Values sums = sum();

    for (size_t i = 0; i < sums.size(); i++)
        store_relaxed(words[i], sums[i]);
}

std::string_view Counters::name(size_t counter) {
    static constexpr std::array<std::string_view, VZE_HW_COUNTER_COUNT> names = {
        "bytes_read",
        "bytes_written",
        "commands",
        "jobs",
        "tlb_hits",
        "tlb_misses",
        "tlb_invalidations",
        "stale_uses",
        "faults",
        "resolves",
        "parks",
        "resets",
        "interrupts",
        "pages_compressed",
        "pages_cleared"};
    return names.at(counter);
}

} // namespace vgpu
