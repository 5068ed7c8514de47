// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <poll.h>
#include <sys/mman.h>

#include <chrono>
#include <random>
#include <thread>

namespace vgpu::test {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr uint64_t kBatchVa = 0x600000000000;

/** Waits for an interrupt, a short while: conditions are looked at again even when one got lost. */
void wait_interrupt(int fd) {
    pollfd poll_fd{fd, POLLIN, 0};

    poll(&poll_fd, 1, 100);
    EventLines::clear(fd);
}

} // namespace

void scramble(std::span<std::byte> bytes, uint64_t seed) {
    std::mt19937_64 random(seed);

    for (size_t i = 0; i < bytes.size(); i += 8) {
        const uint64_t value = random();
        std::memcpy(&bytes[i], &value, std::min<size_t>(8, bytes.size() - i));
    }
}

TestDevice::TestDevice(DeviceOptions options) : ram_file_(memfd_create("guest-ram", MFD_CLOEXEC)) {
    if (ftruncate(ram_file_.get(), static_cast<off_t>(kRamSize)) != 0)
        throw std::system_error(errno, std::generic_category(), "ftruncate");
    ram_ = Mapping(ram_file_.get(), kRamSize);
    pages = std::make_unique<PageAllocator>(ram_.bytes(), kTablesAt);
    device = std::make_unique<Device>(options);
    device->start(ram_.bytes());
    create_space(0);
}

TestDevice::~TestDevice() {
    device->stop();
}

bool TestDevice::eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;

    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

void TestDevice::ring_doorbell(uint32_t vector) {
    const uint64_t one = 1;
    const int fd = device->lines().doorbell(vector);

    ASSERT_EQ(write(fd, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

TestDevice::ControlResult TestDevice::control(uint32_t opcode, uint32_t id,
                                              std::array<uint64_t, 4> args) {
    vze_hw_ctrl_entry entry = {};

    entry.opcode = opcode;
    entry.id = id;
    for (size_t i = 0; i < args.size(); i++)
        entry.arg[i] = args[i];
    return control(entry);
}

TestDevice::ControlResult TestDevice::control(const vze_hw_ctrl_entry& entry) {
    vze_hw_regs& regs = device->bar().regs();
    vze_hw_ctrl_entry& slot = device->bar().control()[ctrl_tail_ % VZE_HW_CTRL_ENTRIES];

    slot = entry;
    store_release(regs.ctrl_tail, ++ctrl_tail_);
    ring_doorbell(VZE_HW_DB_CTRL);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (load_acquire(regs.ctrl_head) != ctrl_tail_) {
        if (std::chrono::steady_clock::now() > end) {
            ADD_FAILURE() << "no completion of control opcode " << entry.opcode;
            return {};
        }
        wait_interrupt(device->lines().interrupt(VZE_HW_IRQ_CTRL));
    }
    return {load_acquire(slot.result), slot.out};
}

PageTables& TestDevice::create_space(uint32_t asid) {
    spaces_[asid] = std::make_unique<PageTables>(*pages);
    EXPECT_EQ(control(VZE_HW_CTRL_AS_CREATE, asid, {spaces_[asid]->root()}).result,
              VZE_HW_RESULT_OK);
    next_batch_va_[asid] = kBatchVa;
    return *spaces_[asid];
}

void TestDevice::map_data(uint32_t asid) {
    space(asid).map(kDataVa, kDataAt, kRamSize - kDataAt, VZE_HW_PTE_WRITABLE);
    space(asid).map(kVramVa, 0, kVramSize, VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM, 1);
}

uint32_t TestDevice::open_window(uint32_t asid, uint64_t start, uint64_t end) {
    const auto windows = device->bar().windows();

    for (uint32_t slot = 0; slot < windows.size(); slot++) {
        if (load_relaxed(windows[slot].state) != VZE_HW_WINDOW_FREE)
            continue;
        store_relaxed(windows[slot].asid, asid);
        store_relaxed(windows[slot].start, start);
        store_relaxed(windows[slot].end, end);
        std::atomic_ref<__u32>(windows[slot].state)
            .store(VZE_HW_WINDOW_OPEN, std::memory_order_seq_cst);
        return slot;
    }
    ADD_FAILURE() << "no free window";
    return 0;
}

void TestDevice::close_window(uint32_t slot) {
    store_release(device->bar().windows()[slot].state, VZE_HW_WINDOW_FREE);
}

void TestDevice::change(uint32_t asid, uint64_t start, uint64_t end,
                        const std::function<void()>& edit) {
    const uint32_t slot = open_window(asid, start, end);

    edit();
    EXPECT_EQ(control(VZE_HW_CTRL_TLB_INVALIDATE, asid, {start, end, slot}).result,
              VZE_HW_RESULT_OK);
    close_window(slot);
}

TestDevice::DriverQueue& TestDevice::create_queue(uint32_t id, uint32_t asid, uint32_t entries,
                                                  uint32_t priority) {
    DriverQueue& queue = queues_[id];
    const uint64_t bytes =
        std::max<uint64_t>(VZE_HW_PAGE_SIZE, entries * sizeof(vze_hw_ring_entry));

    queue = {id, asid, entries, pages->take(bytes), 0};
    space(0).map(next_ring_va_, queue.ring_gpa, bytes, 0);
    store_release(device->bar().queue(id).ring_tail, 0);
    EXPECT_EQ(
        control(VZE_HW_CTRL_QUEUE_CREATE, id, {asid, next_ring_va_, entries, priority}).result,
        VZE_HW_RESULT_OK);
    next_ring_va_ += bytes;
    return queue;
}

void TestDevice::put(DriverQueue& queue, const vze_hw_ring_entry& entry) {
    std::memcpy(ram(queue.ring_gpa + queue.tail % queue.entries * sizeof(entry)), &entry,
                sizeof(entry));
    store_release(device->bar().queue(queue.id).ring_tail, ++queue.tail);
}

void TestDevice::ring(DriverQueue& queue) {
    std::atomic_ref<__u64>(device->bar().regs().queue_doorbell[queue.id / 64])
        .fetch_or(1ULL << (queue.id % 64), std::memory_order_seq_cst);
    ring_doorbell(VZE_HW_DB_QUEUE);
}

uint64_t TestDevice::place(uint32_t asid, const Batch& batch) {
    const uint64_t size = (batch.bytes() + VZE_HW_PAGE_SIZE - 1) & ~(VZE_HW_PAGE_SIZE - 1);
    const uint64_t va = next_batch_va_.at(asid);

    next_batch_va_.at(asid) += size;
    for (uint64_t at = 0; at < size; at += VZE_HW_PAGE_SIZE) {
        const uint64_t page = pages->take();
        const uint64_t bytes = std::min<uint64_t>(VZE_HW_PAGE_SIZE, batch.bytes() - at);
        std::memcpy(ram(page), reinterpret_cast<const std::byte*>(batch.words().data()) + at,
                    bytes);
        space(asid).map(va + at, page, VZE_HW_PAGE_SIZE, 0);
    }
    return va;
}

uint64_t TestDevice::submit(DriverQueue& queue, const Batch& batch) {
    vze_hw_ring_entry entry = {};

    entry.batch = batch.bytes() == 0 ? 0 : place(queue.asid, batch);
    entry.size = batch.bytes();
    entry.seqno = ++seqno_;
    put(queue, entry);
    ring(queue);
    return entry.seqno;
}

bool TestDevice::wait_done(const DriverQueue& queue, uint64_t seqno) {
    const vze_hw_queue& regs = device->bar().queue(queue.id);

    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (load_acquire(regs.seqno) < seqno) {
        if (std::chrono::steady_clock::now() > end ||
            load_acquire(regs.state) == VZE_HW_QUEUE_FAULTED)
            return false;
        wait_interrupt(device->lines().interrupt(VZE_HW_IRQ_QUEUE));
    }
    return true;
}

void TestDevice::run(DriverQueue& queue, const Batch& batch) {
    ASSERT_TRUE(wait_done(queue, submit(queue, batch)))
        << "queue " << queue.id << " state " << state(queue.id);
}

bool TestDevice::wait_state(const DriverQueue& queue, uint32_t wanted) {
    return eventually([&] { return state(queue.id) == wanted; });
}

uint32_t TestDevice::pending_faults() {
    return load_acquire(device->bar().regs().fault_head) - fault_tail_;
}

vze_hw_fault TestDevice::next_fault() {
    if (!eventually([this] { return pending_faults() != 0; })) {
        ADD_FAILURE() << "no fault record";
        return {};
    }
    const vze_hw_fault record = device->bar().faults()[fault_tail_ % VZE_HW_FAULT_ENTRIES];
    store_release(device->bar().regs().fault_tail, ++fault_tail_);
    return record;
}

} // namespace vgpu::test
