// SPDX-License-Identifier: MIT
#pragma once

#include <drm/vze_hw.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string_view>

namespace vgpu {

/** The counters of one thread: it alone adds, anybody reads. */
class alignas(64) CounterBlock {
public:
    void add(vze_hw_counter counter, uint64_t amount) {
        std::atomic<uint64_t>& word = words_[counter];
        word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    uint64_t get(size_t counter) const { return words_[counter].load(std::memory_order_relaxed); }

private:
    std::array<std::atomic<uint64_t>, VZE_HW_COUNTER_COUNT> words_{};
};

/** All counters of the device: the sum over its threads. */
class Counters {
public:
    using Values = std::array<uint64_t, VZE_HW_COUNTER_COUNT>;

    /** A block for one more thread. Not to be called while another thread reads. */
    CounterBlock& new_block() { return blocks_.emplace_back(); }

    Values sum() const;
    /** Writes the sums into the counter words of BAR2. Any thread may call it at any time. */
    void publish(std::span<__u64> words);

    /** Lower case name of a counter, as debugfs and the counters file spell it. */
    static std::string_view name(size_t counter);

private:
    std::deque<CounterBlock> blocks_;
    std::mutex publishing_; ///< keeps an older sum from replacing a newer one
};

} // namespace vgpu
