// SPDX-License-Identifier: MIT
#include "in_flight.h"

#include <sched.h>
#include <time.h>

namespace vgpu {

void InFlight::drain(uint32_t asid) {
    constexpr unsigned kYields = 16;
    const uint64_t now = epoch_.fetch_add(1, std::memory_order_seq_cst) + 1;

    for (const Slot& slot : slots_) {
        for (unsigned round = 0;; round++) {
            const uint64_t word = slot.word_.load(std::memory_order_seq_cst);
            const bool ours = (word & ((1U << kAsidBits) - 1)) == asid + 1;
            if (!ours || (word >> kAsidBits) >= now)
                break;
            // A section is over in well below a millisecond unless its thread lost the CPU, and
            // then giving ours away is what helps.
            if (round < kYields) {
                sched_yield();
            } else {
                const timespec pause{0, 20000};
                nanosleep(&pause, nullptr);
            }
        }
    }
}

} // namespace vgpu
