// SPDX-License-Identifier: MIT
#include "queue_runner.h"

#include "command_decoder.h"
#include "device_clock.h"
#include "memory_access.h"
#include "semaphore_word.h"
#include "shared_word.h"

#include <array>

namespace vgpu {
namespace {

constexpr uint64_t kVaEnd = 1ULL << VZE_HW_VA_BITS;

/** Copies device-readable memory into @p to; its first byte that cannot be read is the fault. */
Fault read_memory(Section& section, uint64_t va, void* to, uint64_t size) {
    auto* out = static_cast<std::byte*>(to);

    while (size > 0) {
        const Run run = section.translate(va, size, Access::kFetch);
        if (run.fault)
            return run.fault;
        read_run(section, out, run);
        out += run.size;
        va += run.size;
        size -= run.size;
    }
    return {};
}

/** What SEM_SIGNAL, ATOMIC_ADD and TIMESTAMP do to their word. */
void write_word(const Command& command, std::byte* word) {
    if (command.opcode == VZE_HW_CMD_SEM_SIGNAL)
        store_semaphore(word, command.value);
    else if (command.opcode == VZE_HW_CMD_ATOMIC_ADD)
        add_semaphore(word, command.value);
    else
        store_semaphore(word, device_clock());
}

bool clean(const vze_hw_ring_entry& entry) {
    if (entry.flags != 0 || entry.size % 8 != 0)
        return false;
    for (const auto word : entry.pad) {
        if (word != 0)
            return false;
    }
    return true;
}

} // namespace

Outcome QueueRunner::run(Queue& queue, Engine& engine, const Budget& budget,
                         const std::atomic<uint32_t>& others_ready) {
    uint32_t commands = 0;
    uint64_t bytes = 0;

    for (;;) {
        if (queue.stop.load(std::memory_order_acquire))
            return Outcome::kStopped;
        if ((commands >= budget.commands || bytes >= budget.bytes) &&
            (budget.always || others_ready.load(std::memory_order_relaxed) != 0))
            return Outcome::kMore;
        if (!queue.job.active) {
            bool empty = false;
            if (next_job(queue, engine, empty) == Step::kFaulted)
                return Outcome::kFault;
            if (empty)
                return Outcome::kIdle;
        }
        if (queue.job.offset == queue.job.size) {
            finish_job(queue, engine);
            commands++;
            continue;
        }
        if (!queue.command_pending && !fetch(queue, engine))
            return Outcome::kFault;
        switch (execute(queue, engine, budget)) {
        case Step::kDone:
            commands++;
            bytes += queue.command.size;
            break;
        case Step::kShared:
            return Outcome::kShare;
        case Step::kWaits:
            return Outcome::kPark;
        case Step::kHangs:
            return Outcome::kHang;
        case Step::kFaulted:
            return Outcome::kFault;
        }
    }
}

/** Takes the next ring entry, if there is one, into the queue's job. */
QueueRunner::Step QueueRunner::next_job(Queue& queue, Engine& engine, bool& empty) {
    const uint32_t tail = load_acquire(queue.regs->ring_tail);
    const uint64_t va =
        queue.ring + uint64_t{queue.head & (queue.entries - 1)} * sizeof(vze_hw_ring_entry);

    queue.job = {};
    empty = tail == queue.head;
    if (empty)
        return Step::kDone;
    queue.running_since = device_clock();
    if (tail - queue.head > queue.entries)
        return fail(queue, engine, {VZE_HW_FAULT_BAD_RING, Access::kFetch, va}, 0);

    vze_hw_ring_entry entry;
    Fault fault;
    {
        Section section(spaces_, engine, 0);
        fault = read_memory(section, va, &entry, sizeof(entry));
    }
    if (fault)
        return fail(queue, engine, fault, 0);
    queue.job.batch = entry.batch;
    queue.job.seqno = entry.seqno;
    if (!clean(entry))
        return fail(queue, engine, {VZE_HW_FAULT_BAD_RING, Access::kFetch, va}, 0);
    if (entry.size != 0) {
        if (entry.batch % 8 != 0)
            return fail(queue, engine, {VZE_HW_FAULT_UNALIGNED, Access::kFetch, entry.batch}, 0);
        if (entry.batch >= kVaEnd || entry.size > kVaEnd - entry.batch) {
            const uint64_t beyond = entry.batch >= kVaEnd ? entry.batch : kVaEnd;
            return fail(queue, engine, {VZE_HW_FAULT_NON_CANONICAL, Access::kFetch, beyond}, 0);
        }
    }
    queue.job.size = entry.size;
    queue.job.active = true;
    return Step::kDone;
}

/** Reads the next command of the batch into private memory, once, and decodes it. */
bool QueueRunner::fetch(Queue& queue, Engine& engine) {
    const uint64_t va = queue.job.batch + queue.job.offset;
    std::array<uint64_t, kMaxCommandWords> words;
    Fault fault;
    uint32_t length = 0;

    {
        Section section(spaces_, engine, queue.asid);
        fault = read_memory(section, va, words.data(), sizeof(uint64_t));
        if (!fault) {
            length = command_length(words[0], (queue.job.size - queue.job.offset) / 8);
            if (length > 1)
                fault = read_memory(section, va + 8, &words[1], (length - 1) * sizeof(uint64_t));
        }
    }
    uint32_t opcode = 0;
    if (!fault || length != 0)
        opcode = words[0] & 0xffff;
    if (fault) {
        fail(queue, engine, fault, opcode);
        return false;
    }
    if (length == 0) {
        fail(queue, engine, {VZE_HW_FAULT_MALFORMED, Access::kFetch, va}, opcode);
        return false;
    }
    const Decoded decoded = decode_command(std::span(words).first(length), bar_.max_transfer());
    if (decoded.fault == VZE_HW_FAULT_UNALIGNED) {
        const Access access = decoded.fault_writes ? Access::kWrite : Access::kRead;
        fail(queue, engine, {decoded.fault, access, decoded.fault_va}, opcode);
        return false;
    }
    if (decoded.fault != 0) {
        fail(queue, engine, {decoded.fault, Access::kFetch, va}, opcode);
        return false;
    }
    queue.command = decoded.command;
    queue.command_pending = true;
    queue.wait_done = false;
    return true;
}

QueueRunner::Step QueueRunner::execute(Queue& queue, Engine& engine, const Budget& budget) {
    switch (queue.command.opcode) {
    case VZE_HW_CMD_COPY:
    case VZE_HW_CMD_FILL:
    case VZE_HW_CMD_COPY_REGION:
        return execute_transfer(queue, engine, budget);
    case VZE_HW_CMD_SEM_WAIT:
        return execute_wait(queue, engine);
    case VZE_HW_CMD_SEM_SIGNAL:
    case VZE_HW_CMD_ATOMIC_ADD:
    case VZE_HW_CMD_TIMESTAMP:
        return execute_semaphore(queue, engine);
    case VZE_HW_CMD_HANG:
        return Step::kHangs;
    default:
        // NOP, and BARRIER: every command is complete before the next one starts.
        finish_command(queue, engine);
        return Step::kDone;
    }
}

QueueRunner::Step QueueRunner::execute_transfer(Queue& queue, Engine& engine,
                                                const Budget& budget) {
    queue.transfer = Transfer(queue.command, num_engines_);
    if (Fault fault = queue.transfer.range_fault())
        return fail(queue, engine, fault, queue.command.opcode);
    if (queue.transfer.chunks() > 1 || queue.command.size > budget.largest)
        return Step::kShared;
    const TransferFault result = queue.transfer.run_chunk(0, spaces_, engine, queue.asid);
    if (result.fault)
        return fail(queue, engine, result.fault, queue.command.opcode);
    finish_command(queue, engine);
    return Step::kDone;
}

bool QueueRunner::finish_transfer(Queue& queue, Engine& engine) {
    if (queue.transfer_fault.fault) {
        fail(queue, engine, queue.transfer_fault.fault, queue.command.opcode);
        return false;
    }
    finish_command(queue, engine);
    return true;
}

/** The commands that write one 64-bit word. */
QueueRunner::Step QueueRunner::execute_semaphore(Queue& queue, Engine& engine) {
    const Command& command = queue.command;
    Run word;

    {
        Section section(spaces_, engine, queue.asid);
        word = section.translate(command.address, sizeof(uint64_t), Access::kWrite);
        if (!word.fault) {
            make_plain(section, word);
            write_word(command, word.host);
        }
    }
    if (word.fault)
        return fail(queue, engine, word.fault, command.opcode);
    engine.counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, sizeof(uint64_t));
    // Only the address is used from here on, as the name of the semaphore.
    if (command.opcode != VZE_HW_CMD_TIMESTAMP)
        waits_.signalled(word.host, engine);
    finish_command(queue, engine);
    return Step::kDone;
}

QueueRunner::Step QueueRunner::execute_wait(Queue& queue, Engine& engine) {
    const Command& command = queue.command;
    Wait wait{&queue,          queue.park,    queue.asid, command.wait_op,
              command.address, command.value, nullptr};

    if (!queue.wait_done) {
        Run word;
        {
            Section section(spaces_, engine, queue.asid);
            word = section.translate(command.address, sizeof(uint64_t), Access::kRead);
            if (!word.fault) {
                make_plain(section, word);
                queue.wait_done =
                    wait_fulfilled(command.wait_op, load_semaphore(word.host), command.value);
            }
        }
        if (word.fault)
            return fail(queue, engine, word.fault, command.opcode);
        wait.host = word.host;
    }
    if (queue.wait_done) {
        finish_command(queue, engine);
        return Step::kDone;
    }
    show_busy(queue);
    engine.counters.add(VZE_HW_COUNTER_PARKS, 1);
    waits_.add(wait, engine);
    return Step::kWaits;
}

void QueueRunner::show_progress(Queue& queue) {
    store_release(queue.regs->progress, ++queue.progress);
}

void QueueRunner::show_busy(Queue& queue) {
    const uint64_t now = device_clock();

    queue.busy_ns += now - queue.running_since;
    queue.running_since = now;
    store_release(queue.regs->busy_ns, queue.busy_ns);
}

void QueueRunner::raise_queue(Queue& queue, Engine& engine) {
    std::atomic_ref<__u64>(bar_.regs().queue_irq[queue.id / 64])
        .fetch_or(1ULL << (queue.id % 64), std::memory_order_seq_cst);
    lines_.raise(VZE_HW_IRQ_QUEUE, engine);
}

void QueueRunner::finish_command(Queue& queue, Engine& engine) {
    queue.command_pending = false;
    queue.wait_done = false;
    queue.job.offset += uint32_t{queue.command.words} * 8;
    queue.job.index++;
    engine.counters.add(VZE_HW_COUNTER_COMMANDS, 1);
    show_progress(queue);
    if (queue.command.notify) {
        store_release(queue.regs->notifies, ++queue.notifies);
        raise_queue(queue, engine);
    }
}

void QueueRunner::finish_job(Queue& queue, Engine& engine) {
    show_busy(queue);
    show_progress(queue);
    engine.counters.add(VZE_HW_COUNTER_JOBS, 1);
    queue.job.active = false;
    store_release(queue.regs->seqno, queue.job.seqno);
    store_release(queue.regs->ring_head, ++queue.head);
    raise_queue(queue, engine);
}

/** Stops the queue for @p fault of the current command or of the ring, and tells the driver. */
QueueRunner::Step QueueRunner::fail(Queue& queue, Engine& engine, const Fault& fault,
                                    uint32_t opcode) {
    vze_hw_fault record = {};

    show_busy(queue);
    store_release(queue.regs->state, VZE_HW_QUEUE_FAULTED);
    record.queue = queue.id;
    record.asid = queue.asid;
    record.va = fault.va;
    record.batch = queue.job.batch;
    record.seqno = queue.job.seqno;
    record.command = queue.job.index;
    record.opcode = opcode;
    record.reason = fault.reason;
    record.access = static_cast<uint32_t>(fault.access);
    faults_.report(record, engine);
    raise_queue(queue, engine);
    return Step::kFaulted;
}

} // namespace vgpu
