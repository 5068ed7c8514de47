// SPDX-License-Identifier: MIT
#include "fault_ring.h"

#include "shared_word.h"

namespace vgpu {

void FaultRing::report(const vze_hw_fault& record, Engine& engine) {
    {
        const std::lock_guard lock(mutex_);
        vze_hw_regs& regs = bar_.regs();
        const uint32_t tail = load_acquire(regs.fault_tail);

        // A tail that the driver moved past the head makes the difference huge: full as well.
        if (head_ - tail >= VZE_HW_FAULT_ENTRIES) {
            store_release(regs.faults_dropped, ++dropped_);
        } else {
            bar_.faults()[head_ % VZE_HW_FAULT_ENTRIES] = record;
            store_release(regs.fault_head, ++head_);
        }
    }
    engine.counters.add(VZE_HW_COUNTER_FAULTS, 1);
    lines_.raise(VZE_HW_IRQ_FAULT, engine);
}

} // namespace vgpu
