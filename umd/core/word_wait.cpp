// SPDX-License-Identifier: MIT
#include "core/word_wait.h"

#include <algorithm>
#include <cerrno>

#include <drm/vze_hw.h>

namespace vze {

namespace {

// A small copy ends within this time of its doorbell; going to sleep and being woken costs several
// times as much. Longer would take the processor from the work that is waited for.
constexpr int64_t kPollNs = 40'000;
// Reading the clock is a system call's price on some machines: look at the word more often.
constexpr int kLooksPerClock = 64;

bool fulfilled(uint64_t word, uint32_t op, uint64_t value) noexcept {
    switch (op) {
    case VZE_HW_WAIT_EQ:
        return word == value;
    case VZE_HW_WAIT_NE:
        return word != value;
    case VZE_HW_WAIT_GE:
        return word >= value;
    case VZE_HW_WAIT_GT:
        return word > value;
    case VZE_HW_WAIT_LE:
        return word <= value;
    default:
        return word < value;
    }
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

} // namespace

int waitForWord(kmd::DeviceFile& file, const uint64_t* word, uint32_t op, uint64_t value,
                uint32_t queueId, int64_t deadline) noexcept {
    if (fulfilled(loadWord(word), op, value))
        return 0;
    if (deadline != 0) {
        const int64_t start = kmd::monotonicNow();
        const int64_t pollEnd =
            deadline < 0 ? start + kPollNs : std::min(start + kPollNs, deadline);
        do {
            for (int i = 0; i < kLooksPerClock; i++) {
                if (fulfilled(loadWord(word), op, value))
                    return 0;
                relax();
            }
        } while (kmd::monotonicNow() < pollEnd);
    }
    const int error = file.fenceWait(word, value, op, queueId, deadline);
    // The last store may have come between the kernel's look and its answer.
    return error != 0 && fulfilled(loadWord(word), op, value) ? 0 : error;
}

} // namespace vze
