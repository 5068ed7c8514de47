// SPDX-License-Identifier: MIT
#include "control_ring.h"

#include "device_clock.h"
#include "shared_word.h"

#include <bit>

namespace vgpu {
namespace {

constexpr uint64_t kVaEnd = 1ULL << VZE_HW_VA_BITS;
constexpr uint64_t kMaxRingEntries = 4096;
constexpr uint64_t kMinRingEntries = 2;

/** Number of arguments that an opcode has; what follows them must be zero. */
constexpr uint32_t arguments(uint32_t opcode) {
    switch (opcode) {
    case VZE_HW_CTRL_AS_CREATE:
        return 1;
    case VZE_HW_CTRL_CLEAR:
        return 2;
    case VZE_HW_CTRL_RESOLVE:
    case VZE_HW_CTRL_TLB_INVALIDATE:
        return 3;
    case VZE_HW_CTRL_QUEUE_CREATE:
        return 4;
    default:
        return 0;
    }
}

constexpr bool has_id(uint32_t opcode) {
    switch (opcode) {
    case VZE_HW_CTRL_AS_CREATE:
    case VZE_HW_CTRL_AS_DESTROY:
    case VZE_HW_CTRL_TLB_INVALIDATE:
    case VZE_HW_CTRL_QUEUE_CREATE:
    case VZE_HW_CTRL_QUEUE_DESTROY:
    case VZE_HW_CTRL_QUEUE_RESET:
        return true;
    default:
        return false;
    }
}

bool unused_are_zero(const vze_hw_ctrl_entry& entry) {
    for (uint32_t i = arguments(entry.opcode); i < std::size(entry.arg); i++) {
        if (entry.arg[i] != 0)
            return false;
    }
    return (has_id(entry.opcode) || entry.id == 0) && entry.pad == 0 && entry.pad2 == 0;
}

bool page_range(uint64_t start, uint64_t end, uint64_t limit) {
    return ((start | end) & (VZE_HW_PAGE_SIZE - 1)) == 0 && start < end && end <= limit;
}

} // namespace

void ControlRing::process(Engine& engine) {
    vze_hw_regs& regs = bar_.regs();

    for (;;) {
        const uint32_t tail = load_acquire(regs.ctrl_tail);
        if (tail == head_)
            return;
        if (tail - head_ > VZE_HW_CTRL_ENTRIES) {
            if (!tail_reported_) {
                vze_hw_fault record = {};
                record.queue = ~0u;
                record.va = tail;
                record.reason = VZE_HW_FAULT_BAD_RING;
                record.access = VZE_HW_ACCESS_FETCH;
                faults_.report(record, engine);
            }
            tail_reported_ = true;
            return;
        }
        tail_reported_ = false;

        vze_hw_ctrl_entry& shared = bar_.control()[head_ % VZE_HW_CTRL_ENTRIES];
        const vze_hw_ctrl_entry entry = shared;
        uint64_t out = 0;
        const uint32_t result = execute(entry, out, engine);

        shared.out = out;
        store_release(shared.result, result);
        counters_.publish(bar_.counters());
        store_release(regs.ctrl_head, ++head_);
        lines_.raise(VZE_HW_IRQ_CTRL, engine);
    }
}

uint32_t ControlRing::execute(const vze_hw_ctrl_entry& entry, uint64_t& out, Engine& engine) {
    if (entry.opcode > VZE_HW_CTRL_CLEAR)
        return VZE_HW_RESULT_BAD_OPCODE;
    if (!unused_are_zero(entry))
        return VZE_HW_RESULT_BAD_ARGUMENT;

    switch (entry.opcode) {
    case VZE_HW_CTRL_AS_CREATE:
        return create_address_space(entry);
    case VZE_HW_CTRL_AS_DESTROY:
        return destroy_address_space(entry, engine);
    case VZE_HW_CTRL_TLB_INVALIDATE:
        return invalidate(entry, engine);
    case VZE_HW_CTRL_QUEUE_CREATE:
        return create_queue(entry);
    case VZE_HW_CTRL_QUEUE_DESTROY:
    case VZE_HW_CTRL_QUEUE_RESET:
        if (entry.id >= scheduler_.num_queues())
            return VZE_HW_RESULT_BAD_ARGUMENT;
        if (!scheduler_.exists(entry.id))
            return VZE_HW_RESULT_BAD_STATE;
        if (entry.opcode == VZE_HW_CTRL_QUEUE_DESTROY)
            scheduler_.destroy(entry.id);
        else
            scheduler_.reset(entry.id);
        engine.counters.add(VZE_HW_COUNTER_RESETS, entry.opcode == VZE_HW_CTRL_QUEUE_RESET);
        return VZE_HW_RESULT_OK;
    case VZE_HW_CTRL_DEVICE_RESET:
        reset_device(engine);
        engine.counters.add(VZE_HW_COUNTER_RESETS, 1);
        return VZE_HW_RESULT_OK;
    case VZE_HW_CTRL_RESOLVE:
        return resolve(entry, engine);
    case VZE_HW_CTRL_CLEAR:
        if (!vram_range(entry))
            return VZE_HW_RESULT_BAD_ARGUMENT;
        compression_.clear(bar_.vram().data() + entry.arg[0], entry.arg[1], engine.counters);
        return VZE_HW_RESULT_OK;
    case VZE_HW_CTRL_READ_CLOCK:
        out = device_clock();
        return VZE_HW_RESULT_OK;
    default:
        return VZE_HW_RESULT_OK; // NOP
    }
}

uint32_t ControlRing::create_address_space(const vze_hw_ctrl_entry& entry) {
    if (entry.id >= VZE_HW_MAX_ADDRESS_SPACES)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (spaces_.exists(entry.id))
        return VZE_HW_RESULT_BAD_STATE;
    return spaces_.create(entry.id, entry.arg[0]) ? VZE_HW_RESULT_OK : VZE_HW_RESULT_BAD_ARGUMENT;
}

uint32_t ControlRing::destroy_address_space(const vze_hw_ctrl_entry& entry, Engine& engine) {
    if (entry.id >= VZE_HW_MAX_ADDRESS_SPACES)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (!spaces_.exists(entry.id))
        return VZE_HW_RESULT_BAD_STATE;
    for (uint32_t id = 0; id < scheduler_.num_queues(); id++) {
        // Every ring lies in address space 0.
        if (scheduler_.exists(id) && (entry.id == 0 || scheduler_.asid(id) == entry.id))
            return VZE_HW_RESULT_BAD_STATE;
    }
    spaces_.destroy(entry.id, engine);
    return VZE_HW_RESULT_OK;
}

uint32_t ControlRing::invalidate(const vze_hw_ctrl_entry& entry, Engine& engine) {
    if (entry.id >= VZE_HW_MAX_ADDRESS_SPACES || entry.arg[2] >= VZE_HW_WINDOWS ||
        !page_range(entry.arg[0], entry.arg[1], kVaEnd))
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (!spaces_.exists(entry.id))
        return VZE_HW_RESULT_BAD_STATE;
    spaces_.invalidate(entry.id, entry.arg[0], entry.arg[1], static_cast<uint32_t>(entry.arg[2]),
                       engine);
    engine.counters.add(VZE_HW_COUNTER_TLB_INVALIDATIONS, 1);
    waits_.evaluate(entry.id, engine);
    return VZE_HW_RESULT_OK;
}

/** Whether arg[0] and arg[1] name whole pages of VRAM. */
bool ControlRing::vram_range(const vze_hw_ctrl_entry& entry) const {
    const uint64_t size = bar_.vram().size();

    return entry.arg[0] <= size && entry.arg[1] <= size &&
           page_range(entry.arg[0], entry.arg[0] + entry.arg[1], size);
}

uint32_t ControlRing::resolve(const vze_hw_ctrl_entry& entry, Engine& engine) {
    if (!vram_range(entry) || (entry.arg[2] & ~VZE_HW_RESOLVE_KEEP) != 0)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    std::byte* const first = bar_.vram().data() + entry.arg[0];
    if ((entry.arg[2] & VZE_HW_RESOLVE_KEEP) != 0)
        compression_.keep_plain(first, entry.arg[1], engine.counters);
    else
        compression_.resolve(first, entry.arg[1], engine.counters);
    return VZE_HW_RESULT_OK;
}

uint32_t ControlRing::create_queue(const vze_hw_ctrl_entry& entry) {
    const uint64_t asid = entry.arg[0];
    const uint64_t ring = entry.arg[1];
    const uint64_t entries = entry.arg[2];
    const uint64_t priority = entry.arg[3];

    if (entry.id >= scheduler_.num_queues() || asid >= VZE_HW_MAX_ADDRESS_SPACES ||
        priority >= VZE_HW_PRIORITY_COUNT)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (!std::has_single_bit(entries) || entries < kMinRingEntries || entries > kMaxRingEntries)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (ring % 8 != 0 || ring >= kVaEnd || entries * sizeof(vze_hw_ring_entry) > kVaEnd - ring)
        return VZE_HW_RESULT_BAD_ARGUMENT;
    if (scheduler_.exists(entry.id) || !spaces_.exists(0) ||
        !spaces_.exists(static_cast<uint32_t>(asid)))
        return VZE_HW_RESULT_BAD_STATE;
    scheduler_.create(entry.id, static_cast<uint32_t>(asid), ring, static_cast<uint32_t>(entries),
                      static_cast<uint32_t>(priority));
    return VZE_HW_RESULT_OK;
}

void ControlRing::reset_device(Engine& engine) {
    for (uint32_t id = 0; id < scheduler_.num_queues(); id++) {
        if (scheduler_.exists(id))
            scheduler_.destroy(id);
    }
    for (uint32_t asid = 0; asid < VZE_HW_MAX_ADDRESS_SPACES; asid++) {
        if (spaces_.exists(asid))
            spaces_.destroy(asid, engine);
    }
}

} // namespace vgpu
