// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <random>

namespace vgpu::test {
namespace {

class Control : public TestDevice {
protected:
    uint32_t result(uint32_t opcode, uint32_t id = 0, std::array<uint64_t, 4> args = {}) {
        return control(opcode, id, args).result;
    }
};

TEST_F(Control, NopAndClock) {
    EXPECT_EQ(result(VZE_HW_CTRL_NOP), VZE_HW_RESULT_OK);
    const ControlResult first = control(VZE_HW_CTRL_READ_CLOCK);
    const ControlResult second = control(VZE_HW_CTRL_READ_CLOCK);
    EXPECT_EQ(first.result, static_cast<uint32_t>(VZE_HW_RESULT_OK));
    EXPECT_GT(first.out, 0u);
    EXPECT_GT(second.out, first.out);
}

TEST_F(Control, UnknownOpcodes) {
    for (const uint32_t opcode : {11u, 12u, 0x80000000u, ~0u})
        EXPECT_EQ(result(opcode), VZE_HW_RESULT_BAD_OPCODE) << opcode;
}

TEST_F(Control, UnusedFieldsMustBeZero) {
    vze_hw_ctrl_entry entry = {};
    entry.arg[3] = 1;
    EXPECT_EQ(control(entry).result, VZE_HW_RESULT_BAD_ARGUMENT);
    entry = {};
    entry.id = 1;
    EXPECT_EQ(control(entry).result, VZE_HW_RESULT_BAD_ARGUMENT);
    entry = {};
    entry.pad = 1;
    EXPECT_EQ(control(entry).result, VZE_HW_RESULT_BAD_ARGUMENT);
    entry = {};
    entry.pad2 = 1;
    EXPECT_EQ(control(entry).result, VZE_HW_RESULT_BAD_ARGUMENT);
}

TEST_F(Control, AddressSpaces) {
    const uint64_t root = pages->take();
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, VZE_HW_MAX_ADDRESS_SPACES, {root}),
              VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, 5, {root + 8}), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, 5, {kRamSize}), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 5), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, 5, {root}), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, 5, {root}), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_CREATE, VZE_HW_MAX_ADDRESS_SPACES - 1, {root}),
              VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 5), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 5), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, ~0u), VZE_HW_RESULT_BAD_ARGUMENT);
}

TEST_F(Control, AnAddressSpaceWithQueuesCannotGo) {
    create_space(1);
    create_queue(0, 1);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 1), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 0), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_DESTROY, 0), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 1), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 0), VZE_HW_RESULT_OK);
}

TEST_F(Control, Invalidations) {
    const auto invalidate = [this](uint32_t asid, uint64_t start, uint64_t end, uint64_t slot) {
        return result(VZE_HW_CTRL_TLB_INVALIDATE, asid, {start, end, slot});
    };
    EXPECT_EQ(invalidate(0, 0, 4096, 0), VZE_HW_RESULT_OK);
    EXPECT_EQ(invalidate(0, 0, 1ULL << 48, VZE_HW_WINDOWS - 1), VZE_HW_RESULT_OK);
    EXPECT_EQ(invalidate(0, 1, 4096, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(0, 0, 4097, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(0, 4096, 4096, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(0, 8192, 4096, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(0, 0, (1ULL << 48) + 4096, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(0, 0, 4096, VZE_HW_WINDOWS), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(invalidate(3, 0, 4096, 0), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(invalidate(VZE_HW_MAX_ADDRESS_SPACES, 0, 4096, 0), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(counter(VZE_HW_COUNTER_TLB_INVALIDATIONS), 2u);
}

TEST_F(Control, QueueCreation) {
    const auto create = [this](uint32_t id, uint64_t asid, uint64_t ring, uint64_t entries) {
        return result(VZE_HW_CTRL_QUEUE_CREATE, id, {asid, ring, entries});
    };
    create_space(1);
    for (const uint64_t entries : {0u, 1u, 3u, 63u, 8192u})
        EXPECT_EQ(create(0, 1, 0x1000, entries), VZE_HW_RESULT_BAD_ARGUMENT) << entries;
    EXPECT_EQ(create(0, 1, 0x1004, 2), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(create(0, 1, 1ULL << 48, 2), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(create(0, 1, (1ULL << 48) - 64, 2), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(create(0, 1ULL << 32, 0x1000, 2), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(create(320, 1, 0x1000, 2), VZE_HW_RESULT_BAD_ARGUMENT);
    for (const uint64_t priority : {3ULL, 1ULL << 32})
        EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_CREATE, 0, {1, 0x1000, 2, priority}),
                  VZE_HW_RESULT_BAD_ARGUMENT)
            << priority;
    EXPECT_EQ(create(0, 2, 0x1000, 2), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(create(0, 1, 0x1000, 4096), VZE_HW_RESULT_OK);
    EXPECT_EQ(create(0, 1, 0x1000, 2), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(create(319, 0, 0x1000, 2), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_RESET, 5), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_DESTROY, 5), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_RESET, 320), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_DESTROY, ~0u), VZE_HW_RESULT_BAD_ARGUMENT);
    EXPECT_EQ(result(VZE_HW_CTRL_QUEUE_DESTROY, 0), VZE_HW_RESULT_OK);
}

TEST_F(Control, ResolveAndClearTakeRangesOfVram) {
    for (const uint32_t opcode : {VZE_HW_CTRL_RESOLVE, VZE_HW_CTRL_CLEAR}) {
        EXPECT_EQ(result(opcode, 0, {0, kVramSize}), VZE_HW_RESULT_OK);
        EXPECT_EQ(result(opcode, 0, {kVramSize - 4096, 4096}), VZE_HW_RESULT_OK);
        EXPECT_EQ(result(opcode, 0, {0, 0}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {kVramSize, 4096}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {4096, kVramSize}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {0, 100}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {100, 4096}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {UINT64_MAX - 4095, 4096}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {4096, UINT64_MAX - 4095}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 1, {0, 4096}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {0, 4096, 2}), VZE_HW_RESULT_BAD_ARGUMENT);
        EXPECT_EQ(result(opcode, 0, {0, 4096, 0, 1}), VZE_HW_RESULT_BAD_ARGUMENT);
    }
    EXPECT_EQ(result(VZE_HW_CTRL_RESOLVE, 0, {0, 4096, VZE_HW_RESOLVE_KEEP}), VZE_HW_RESULT_OK);
    EXPECT_EQ(result(VZE_HW_CTRL_CLEAR, 0, {0, 4096, 1}), VZE_HW_RESULT_BAD_ARGUMENT);
}

TEST_F(Control, DeviceResetDestroysEverythingAndKeepsVram) {
    create_space(1);
    map_data(1);
    submit(create_queue(0, 1), Batch().hang());
    submit(create_queue(1, 1), Batch().wait(kDataVa, VZE_HW_WAIT_EQ, 1));
    submit(create_queue(2, 1), Batch().copy(kVramVa, kDataVa, 16 << 20));
    std::memset(vram(48 << 20), 0x5a, 4096);
    EXPECT_EQ(result(VZE_HW_CTRL_DEVICE_RESET), VZE_HW_RESULT_OK);
    for (uint32_t id = 0; id < 3; id++)
        EXPECT_EQ(state(id), static_cast<uint32_t>(VZE_HW_QUEUE_ABSENT));
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 1), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(result(VZE_HW_CTRL_AS_DESTROY, 0), VZE_HW_RESULT_BAD_STATE);
    EXPECT_EQ(vram(48 << 20)[4095], std::byte{0x5a});
    // And all can be made again.
    create_space(0);
    create_space(1);
    map_data(1);
    run(create_queue(0, 1), Batch().signal(kDataVa + 8, 4));
    EXPECT_EQ(word(8), 4u);
}

TEST_F(Control, ManyEntriesAtOneDoorbellInOrder) {
    vze_hw_regs& regs = device->bar().regs();
    const uint32_t head = load_acquire(regs.ctrl_head);
    for (uint32_t i = 0; i < VZE_HW_CTRL_ENTRIES; i++) {
        vze_hw_ctrl_entry entry = {};
        entry.opcode = VZE_HW_CTRL_READ_CLOCK;
        device->bar().control()[(head + i) % VZE_HW_CTRL_ENTRIES] = entry;
    }
    store_release(regs.ctrl_tail, head + VZE_HW_CTRL_ENTRIES);
    ring_doorbell(VZE_HW_DB_CTRL);
    ASSERT_TRUE(
        eventually([&] { return load_acquire(regs.ctrl_head) == head + VZE_HW_CTRL_ENTRIES; }));
    uint64_t last = 0;
    for (uint32_t i = 0; i < VZE_HW_CTRL_ENTRIES; i++) {
        const uint64_t out = device->bar().control()[(head + i) % VZE_HW_CTRL_ENTRIES].out;
        EXPECT_GE(out, last);
        last = out;
    }
}

TEST_F(Control, ATailOutOfOrderIsReportedOnceAndExecutesNothing) {
    vze_hw_regs& regs = device->bar().regs();
    const uint32_t head = load_acquire(regs.ctrl_head);
    store_release(regs.ctrl_tail, head + VZE_HW_CTRL_ENTRIES + 1);
    ring_doorbell(VZE_HW_DB_CTRL);
    const vze_hw_fault record = next_fault();
    EXPECT_EQ(record.reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));
    EXPECT_EQ(record.queue, ~0u);
    ring_doorbell(VZE_HW_DB_CTRL);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(pending_faults(), 0u);
    EXPECT_EQ(load_acquire(regs.ctrl_head), head);
    store_release(regs.ctrl_tail, head);
    EXPECT_EQ(result(VZE_HW_CTRL_NOP), VZE_HW_RESULT_OK);
}

TEST_F(Control, CountersAreInTheBarBeforeACompletion) {
    const auto in_bar = [this](vze_hw_counter counter) {
        return load_acquire(device->bar().counters()[counter]);
    };
    create_space(1);
    map_data(1);
    run(create_queue(0, 1), Batch().copy(kDataVa, kDataVa + 65536, 1000).nop());
    EXPECT_EQ(result(VZE_HW_CTRL_NOP), VZE_HW_RESULT_OK);
    EXPECT_EQ(in_bar(VZE_HW_COUNTER_BYTES_READ), 1000u);
    EXPECT_EQ(in_bar(VZE_HW_COUNTER_BYTES_WRITTEN), 1000u);
    EXPECT_EQ(in_bar(VZE_HW_COUNTER_COMMANDS), 2u);
    EXPECT_EQ(in_bar(VZE_HW_COUNTER_JOBS), 1u);
    EXPECT_GT(in_bar(VZE_HW_COUNTER_TLB_MISSES), 0u);
    EXPECT_GT(in_bar(VZE_HW_COUNTER_INTERRUPTS), 0u);
}

TEST_F(Control, TheDeviceTrustsNoWordOfItsOwn) {
    // The driver scribbles over everything that the device wrote; the device goes on from its
    // copies.
    create_space(1);
    map_data(1);
    DriverQueue& queue = create_queue(0, 1);
    run(queue, Batch().nop());
    vze_hw_queue& regs = device->bar().queue(0);
    store_release(regs.ring_head, 0xdeadu);
    store_release(regs.state, 0xdeadu);
    store_release(regs.progress, 0xdeadu);
    store_release(device->bar().regs().fault_head, 0xdeadu);
    std::memset(reinterpret_cast<std::byte*>(const_cast<vze_hw_ident*>(&device->bar().ident())),
                0xff, sizeof(vze_hw_ident));
    run(queue, Batch().signal(kDataVa, 1));
    EXPECT_EQ(load_acquire(regs.ring_head), 2u);
    EXPECT_EQ(word(0), 1u);
    EXPECT_LT(load_acquire(regs.progress), 0xdeadu);
}

TEST_F(Control, RandomEntriesNeverBreakTheDevice) {
    std::mt19937_64 random(17);
    for (int round = 0; round < 3000; round++) {
        const auto number = [&]() -> uint64_t {
            switch (random() % 5) {
            case 0:
                return random();
            case 1:
                return 0;
            case 2:
                return (random() % 64) * 4096;
            case 3:
                return 1ULL << (random() % 64);
            default:
                return random() % 16;
            }
        };
        vze_hw_ctrl_entry entry = {};
        entry.opcode = static_cast<uint32_t>(random() % 13);
        entry.id = static_cast<uint32_t>(number());
        for (int i = static_cast<int>(random() % 5); i > 0; i--)
            entry.arg[i - 1] = number();
        if (random() % 3 == 0 && entry.opcode != VZE_HW_CTRL_AS_CREATE)
            entry.id = 0;
        const uint32_t got = control(entry).result;
        ASSERT_GE(got, static_cast<uint32_t>(VZE_HW_RESULT_OK));
        ASSERT_LE(got, static_cast<uint32_t>(VZE_HW_RESULT_BAD_STATE));
    }
    EXPECT_EQ(result(VZE_HW_CTRL_DEVICE_RESET), VZE_HW_RESULT_OK);
    create_space(0);
    create_space(1);
    map_data(1);
    run(create_queue(0, 1), Batch().signal(kDataVa, 3));
    EXPECT_EQ(word(0), 3u);
}

} // namespace
} // namespace vgpu::test
