// SPDX-License-Identifier: MIT
#pragma once

#include "address_space.h"
#include "bar.h"
#include "device_counters.h"
#include "event_lines.h"
#include "fault_ring.h"
#include "page_compression.h"
#include "queue_scheduler.h"
#include "wait_list.h"

#include <cstdint>

namespace vgpu {

/** Executes the control ring, in order, on one thread. */
class ControlRing {
public:
    ControlRing(Bar& bar, PageCompression& compression, AddressSpaces& spaces,
                QueueScheduler& scheduler, WaitList& waits, Counters& counters,
                const EventLines& lines, FaultRing& faults)
        : bar_(bar), compression_(compression), spaces_(spaces), scheduler_(scheduler),
          waits_(waits), counters_(counters), lines_(lines), faults_(faults) {}

    /**
     * Executes and completes all entries up to the tail. A tail that claims more outstanding
     * entries than the ring has is a BAD_RING fault of queue ~0, reported once until the tail is
     * right again; nothing is executed meanwhile.
     */
    void process(Engine& engine);

    /** Destroys all queues and address spaces, at a DEVICE_RESET and at the end of the process. */
    void reset_device(Engine& engine);

private:
    uint32_t execute(const vze_hw_ctrl_entry& entry, uint64_t& out, Engine& engine);
    uint32_t create_address_space(const vze_hw_ctrl_entry& entry);
    uint32_t destroy_address_space(const vze_hw_ctrl_entry& entry, Engine& engine);
    uint32_t invalidate(const vze_hw_ctrl_entry& entry, Engine& engine);
    bool vram_range(const vze_hw_ctrl_entry& entry) const;
    uint32_t resolve(const vze_hw_ctrl_entry& entry, Engine& engine);
    uint32_t create_queue(const vze_hw_ctrl_entry& entry);

    Bar& bar_;
    PageCompression& compression_;
    AddressSpaces& spaces_;
    QueueScheduler& scheduler_;
    WaitList& waits_;
    Counters& counters_;
    const EventLines& lines_;
    FaultRing& faults_;
    uint32_t head_ = 0;
    bool tail_reported_ = false;
};

} // namespace vgpu
