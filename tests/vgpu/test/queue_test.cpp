// SPDX-License-Identifier: MIT
#include "test_device.h"

namespace vgpu::test {
namespace {

class Queues : public TestDevice {
protected:
    Queues() { make_space(); }
    explicit Queues(DeviceOptions options) : TestDevice(std::move(options)) { make_space(); }

    void make_space() {
        create_space(1);
        map_data(1);
    }

    void cpu_store(uint64_t offset, uint64_t value, bool wake = true) {
        store_release(word(offset), value);
        std::atomic_ref<uint64_t>(word(offset)).fetch_add(0); // full barrier before the doorbell
        if (wake)
            ring_doorbell(VZE_HW_DB_WAKE);
    }
};

TEST_F(Queues, EveryComparisonParksAndWakes) {
    struct Case {
        uint32_t op;
        uint64_t holds;
        uint64_t fails;
    };
    const std::vector<Case> cases = {
        {VZE_HW_WAIT_EQ, 10, 11}, {VZE_HW_WAIT_NE, 11, 10},
        {VZE_HW_WAIT_GE, 10, 9},  {VZE_HW_WAIT_GE, UINT64_MAX, 9}, // unsigned
        {VZE_HW_WAIT_GT, 11, 10}, {VZE_HW_WAIT_LE, 10, 11},
        {VZE_HW_WAIT_LT, 9, 10},  {VZE_HW_WAIT_LT, 0, UINT64_MAX}};
    DriverQueue& queue = create_queue(0, 1);

    for (const Case& one : cases) {
        cpu_store(0, one.holds, false);
        run(queue, Batch().wait(kDataVa, one.op, 10).signal(kDataVa + 64, 1));

        cpu_store(0, one.fails, false);
        const uint64_t parks = counter(VZE_HW_COUNTER_PARKS);
        const uint64_t seqno =
            submit(queue, Batch().wait(kDataVa, one.op, 10).signal(kDataVa + 64, 2));
        ASSERT_TRUE(wait_state(queue, VZE_HW_QUEUE_PARKED)) << one.op;
        EXPECT_EQ(counter(VZE_HW_COUNTER_PARKS), parks + 1);
        EXPECT_EQ(load_acquire(word(64)), 1u);
        cpu_store(0, one.holds);
        ASSERT_TRUE(wait_done(queue, seqno)) << one.op;
        EXPECT_EQ(word(64), 2u);
    }
}

TEST_F(Queues, AStoreWithoutADoorbellIsSeenSoon) {
    DriverQueue& queue = create_queue(0, 1);
    const uint64_t seqno = submit(queue, Batch().wait(kDataVa, VZE_HW_WAIT_EQ, 1));

    ASSERT_TRUE(wait_state(queue, VZE_HW_QUEUE_PARKED));
    cpu_store(0, 1, false);
    EXPECT_TRUE(wait_done(queue, seqno));
}

TEST_F(Queues, SignalsOfOtherQueuesWakeThroughAnyAlias) {
    // The same word at two addresses, in two address spaces.
    create_space(2);
    space(2).map(0x1000, kDataAt, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
    DriverQueue& waiter = create_queue(0, 1);
    DriverQueue& signaller = create_queue(1, 2);
    const uint64_t seqno = submit(waiter, Batch().wait(kDataVa + 8, VZE_HW_WAIT_GE, 3));

    ASSERT_TRUE(wait_state(waiter, VZE_HW_QUEUE_PARKED));
    run(signaller, Batch().signal(0x1008, 1).add(0x1008, 2));
    EXPECT_TRUE(wait_done(waiter, seqno));
}

TEST_F(Queues, QueuesHandTheBatonToEachOther) {
    // Two queues in lock step, 200 turns: every wake-up must arrive.
    DriverQueue& ping = create_queue(0, 1);
    DriverQueue& pong = create_queue(1, 1);
    Batch a;
    Batch b;
    for (uint64_t turn = 0; turn < 200; turn++) {
        a.wait(kDataVa, VZE_HW_WAIT_EQ, 2 * turn).signal(kDataVa, 2 * turn + 1);
        b.wait(kDataVa, VZE_HW_WAIT_EQ, 2 * turn + 1).signal(kDataVa, 2 * turn + 2);
    }
    const uint64_t first = submit(ping, a);
    const uint64_t second = submit(pong, b);
    EXPECT_TRUE(wait_done(ping, first));
    EXPECT_TRUE(wait_done(pong, second));
    EXPECT_EQ(word(0), 400u);
}

TEST_F(Queues, ParkedQueuesKeepTheirProgressStillAndBusyTimeLow) {
    DriverQueue& queue = create_queue(0, 1);
    const uint64_t seqno = submit(queue, Batch().nop().wait(kDataVa, VZE_HW_WAIT_EQ, 1));
    ASSERT_TRUE(wait_state(queue, VZE_HW_QUEUE_PARKED));
    const vze_hw_queue& regs = device->bar().queue(0);
    const uint64_t busy = load_acquire(regs.busy_ns);
    const uint64_t progress = load_acquire(regs.progress);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(load_acquire(regs.busy_ns), busy);
    EXPECT_EQ(load_acquire(regs.progress), progress);
    cpu_store(0, 1);
    EXPECT_TRUE(wait_done(queue, seqno));
    EXPECT_GE(load_acquire(regs.busy_ns), busy);
}

TEST_F(Queues, TwoHundredAndFiftySixParkedAtOnce) {
    std::vector<DriverQueue*> queues;
    std::vector<uint64_t> seqnos;

    for (uint32_t id = 0; id < 256; id++) {
        queues.push_back(&create_queue(id, 1, 2));
        seqnos.push_back(submit(*queues.back(),
                                Batch().wait(kDataVa, VZE_HW_WAIT_GE, id + 1).add(kDataVa + 8, 1)));
    }
    for (const DriverQueue* queue : queues)
        ASSERT_TRUE(wait_state(*queue, VZE_HW_QUEUE_PARKED));
    // Another queue is not held up by them.
    DriverQueue& other = create_queue(300, 1);
    run(other, Batch().copy(kDataVa + 4096, kDataVa + 8192, 100000));
    cpu_store(0, 100);
    for (uint32_t id = 0; id < 100; id++)
        ASSERT_TRUE(wait_done(*queues[id], seqnos[id])) << id;
    for (uint32_t id = 100; id < 256; id++)
        ASSERT_EQ(state(id), static_cast<uint32_t>(VZE_HW_QUEUE_PARKED)) << id;
    run(other, Batch().signal(kDataVa, 256));
    for (uint32_t id = 100; id < 256; id++)
        ASSERT_TRUE(wait_done(*queues[id], seqnos[id])) << id;
    EXPECT_EQ(word(8), 256u);
}

TEST_F(Queues, ALongTransferDoesNotHoldUpManyShortOnes) {
    // One queue has far more to do than the others together; when they are done it is not yet.
    DriverQueue& large = create_queue(0, 1);
    Batch batch;
    for (int i = 0; i < 40; i++)
        batch.copy(kVramVa, kDataVa, 16 << 20);
    const uint64_t last = submit(large, batch);
    std::vector<DriverQueue*> queues;
    std::vector<uint64_t> seqnos;
    for (uint32_t id = 1; id < 65; id++)
        queues.push_back(&create_queue(id, 1, 2));
    for (DriverQueue* queue : queues) {
        const uint64_t to = kDataVa + (40 << 20) + queue->id * 64;
        seqnos.push_back(submit(*queue, Batch().copy(to, kDataVa + (41 << 20), 64)));
    }
    for (size_t i = 0; i < queues.size(); i++)
        ASSERT_TRUE(wait_done(*queues[i], seqnos[i]));
    EXPECT_LT(load_acquire(device->bar().queue(0).seqno), last);
    EXPECT_TRUE(wait_done(large, last));
}

class QueuesOfOneEngine : public Queues {
protected:
    QueuesOfOneEngine()
        : Queues({.vram_size = kVramSize, .num_queues = 16, .pool_engines = 1, .strict = true}) {}
};

TEST_F(QueuesOfOneEngine, OfThoseWokenTogetherTheHighestPriorityGoesFirst) {
    constexpr std::array kPriorities = {VZE_HW_PRIORITY_LOW,    VZE_HW_PRIORITY_LOW,
                                        VZE_HW_PRIORITY_NORMAL, VZE_HW_PRIORITY_HIGH,
                                        VZE_HW_PRIORITY_NORMAL, VZE_HW_PRIORITY_HIGH};
    constexpr std::array<uint64_t, 6> kTurns = {4, 5, 2, 0, 3, 1};
    constexpr uint64_t kCount = 64; // offset of the number of queues that had their turn
    constexpr uint64_t kSlots = 128;
    std::vector<DriverQueue*> queues;
    std::vector<uint64_t> seqnos;

    for (uint32_t id = 0; id < kPriorities.size(); id++) {
        queues.push_back(&create_queue(id, 1, 64, kPriorities[id]));
        const uint64_t slot = kDataVa + kSlots + id * sizeof(uint64_t);
        seqnos.push_back(submit(*queues.back(), Batch()
                                                    .wait(kDataVa, VZE_HW_WAIT_EQ, 1)
                                                    .copy(slot, kDataVa + kCount, sizeof(uint64_t))
                                                    .add(kDataVa + kCount, 1)));
        ASSERT_TRUE(wait_state(*queues.back(), VZE_HW_QUEUE_PARKED)) << id;
    }
    cpu_store(0, 1);
    for (uint32_t id = 0; id < kPriorities.size(); id++) {
        ASSERT_TRUE(wait_done(*queues[id], seqnos[id])) << id;
        EXPECT_EQ(word(kSlots + id * sizeof(uint64_t)), kTurns[id]) << id;
    }
}

TEST_F(Queues, JobsOfAQueueRunInOrder) {
    DriverQueue& queue = create_queue(0, 1, 64);
    uint64_t last = 0;

    for (uint64_t i = 1; i <= 60; i++)
        last = submit(queue, Batch().wait(kDataVa, VZE_HW_WAIT_EQ, i - 1).signal(kDataVa, i));
    EXPECT_TRUE(wait_done(queue, last));
    EXPECT_EQ(word(0), 60u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_PARKS), 0u);
}

TEST_F(Queues, AHangLastsUntilTheReset) {
    DriverQueue& queue = create_queue(0, 1);
    DriverQueue& other = create_queue(1, 1);
    submit(queue, Batch().signal(kDataVa, 1).hang().signal(kDataVa, 2));
    ASSERT_TRUE(eventually([this] { return load_acquire(word(0)) == 1; }));
    const uint64_t progress = load_acquire(device->bar().queue(0).progress);
    run(other, Batch().nop());
    EXPECT_EQ(state(0), static_cast<uint32_t>(VZE_HW_QUEUE_RUNNING));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(load_acquire(device->bar().queue(0).progress), progress + 1);
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 0).result, VZE_HW_RESULT_OK);
    EXPECT_EQ(state(0), static_cast<uint32_t>(VZE_HW_QUEUE_IDLE));
    EXPECT_EQ(load_acquire(word(0)), 1u);
    EXPECT_EQ(load_acquire(device->bar().queue(0).ring_head), queue.tail);
    run(queue, Batch().signal(kDataVa, 3));
    EXPECT_EQ(word(0), 3u);
}

TEST_F(Queues, ResetForgetsWhatIsInTheRing) {
    DriverQueue& queue = create_queue(0, 1);
    submit(queue, Batch().wait(kDataVa, VZE_HW_WAIT_EQ, 1).signal(kDataVa + 8, 1));
    for (int i = 0; i < 10; i++)
        submit(queue, Batch().signal(kDataVa + 16, 1));
    ASSERT_TRUE(wait_state(queue, VZE_HW_QUEUE_PARKED));
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 0).result, VZE_HW_RESULT_OK);
    EXPECT_EQ(load_acquire(device->bar().queue(0).ring_head), 11u);
    cpu_store(0, 1);
    run(queue, Batch().nop());
    EXPECT_EQ(word(8), 0u);
    EXPECT_EQ(word(16), 0u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_RESETS), 1u);
}

TEST_F(Queues, ResetStopsARunningTransferForGood) {
    DriverQueue& queue = create_queue(0, 1);
    Batch batch;
    for (int i = 0; i < 200; i++)
        batch.copy(kVramVa, kDataVa, 16 << 20);

    for (int round = 0; round < 20; round++) {
        submit(queue, batch);
        std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
        ASSERT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 0).result, VZE_HW_RESULT_OK);
        // From here on the device may not write there: the test does, and looks.
        std::memset(vram(0), round, 16 << 20);
        std::memset(data(0), 0xff, 16 << 20);
        run(queue, Batch().nop());
        for (uint64_t at = 0; at < (16 << 20); at += 4096)
            ASSERT_EQ(vram(at)[0], static_cast<std::byte>(round));
    }
}

TEST_F(Queues, ResetInTheMiddleOfParkingAndWaking) {
    DriverQueue& queue = create_queue(0, 1);

    for (uint64_t round = 1; round <= 300; round++) {
        const uint64_t seqno = submit(queue, Batch().wait(kDataVa, VZE_HW_WAIT_EQ, round));
        if (round % 3 == 0)
            cpu_store(0, round);
        ASSERT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 0).result, VZE_HW_RESULT_OK);
        EXPECT_EQ(state(0), static_cast<uint32_t>(VZE_HW_QUEUE_IDLE));
        EXPECT_LE(load_acquire(device->bar().queue(0).seqno), seqno);
    }
    run(queue, Batch().signal(kDataVa, 5));
}

TEST_F(Queues, DestroyedQueuesAreGoneAndCanBeMadeAnew) {
    DriverQueue* queue = &create_queue(7, 1);
    submit(*queue, Batch().wait(kDataVa, VZE_HW_WAIT_EQ, 1).signal(kDataVa + 8, 1));
    ASSERT_TRUE(wait_state(*queue, VZE_HW_QUEUE_PARKED));
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_DESTROY, 7).result, VZE_HW_RESULT_OK);
    EXPECT_EQ(state(7), static_cast<uint32_t>(VZE_HW_QUEUE_ABSENT));
    ring(*queue); // nobody is there
    cpu_store(0, 1);
    queue = &create_queue(7, 1);
    EXPECT_EQ(load_acquire(device->bar().queue(7).ring_head), 0u);
    run(*queue, Batch().signal(kDataVa + 16, 1));
    EXPECT_EQ(word(8), 0u);
    EXPECT_EQ(word(16), 1u);
}

TEST_F(Queues, EntriesWrittenBeforeTheQueueExistsAreExecuted) {
    const uint64_t ring = pages->take();
    vze_hw_ring_entry entry = {};
    entry.seqno = 77;
    std::memcpy(ram(ring), &entry, sizeof(entry));
    space(0).map(0xabc000, ring, VZE_HW_PAGE_SIZE, 0);
    store_release(device->bar().queue(9).ring_tail, 1);
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_CREATE, 9, {1, 0xabc000, 2}).result, VZE_HW_RESULT_OK);
    EXPECT_TRUE(eventually([this] { return load_acquire(device->bar().queue(9).seqno) == 77; }));
}

TEST_F(Queues, DoorbellBitsBeyondTheQueuesAreHarmless) {
    DriverQueue& queue = create_queue(0, 1);
    for (auto& bits : device->bar().regs().queue_doorbell)
        store_release(bits, ~0ULL);
    run(queue, Batch().signal(kDataVa, 9));
    EXPECT_EQ(word(0), 9u);
    EXPECT_TRUE(
        eventually([this] { return load_acquire(device->bar().regs().queue_doorbell[15]) == 0; }));
}

TEST_F(Queues, UnmappingASemaphoreFaultsItsParkedWaiters) {
    constexpr uint64_t kVa = 0x9000'0000;
    space(1).map(kVa, kDataAt, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
    DriverQueue& queue = create_queue(0, 1);
    DriverQueue& other = create_queue(1, 1);
    submit(queue, Batch().nop().wait(kVa + 8, VZE_HW_WAIT_EQ, 1));
    const uint64_t seqno = submit(other, Batch().wait(kDataVa + 8, VZE_HW_WAIT_EQ, 1));
    ASSERT_TRUE(wait_state(queue, VZE_HW_QUEUE_PARKED));
    ASSERT_TRUE(wait_state(other, VZE_HW_QUEUE_PARKED));
    change(1, kVa, kVa + VZE_HW_PAGE_SIZE, [&] { space(1).unmap(kVa, VZE_HW_PAGE_SIZE); });
    const vze_hw_fault fault = next_fault();
    EXPECT_EQ(fault.queue, 0u);
    EXPECT_EQ(fault.va, kVa + 8);
    EXPECT_EQ(fault.command, 1u);
    EXPECT_EQ(fault.opcode, static_cast<uint32_t>(VZE_HW_CMD_SEM_WAIT));
    EXPECT_EQ(fault.reason, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
    EXPECT_EQ(state(1), static_cast<uint32_t>(VZE_HW_QUEUE_PARKED));
    cpu_store(8, 1);
    EXPECT_TRUE(wait_done(other, seqno));
}

TEST_F(Queues, HeartbeatAndStatesTellThatTheDeviceLives) {
    vze_hw_regs& regs = device->bar().regs();
    EXPECT_EQ(load_acquire(regs.device_state), static_cast<uint32_t>(VZE_HW_STATE_RUNNING));
    const uint64_t beat = load_acquire(regs.heartbeat);
    EXPECT_TRUE(eventually([&] { return load_acquire(regs.heartbeat) > beat + 2; }));
    create_queue(0, 1);
    submit(create_queue(1, 1), Batch().hang());
    submit(create_queue(2, 1), Batch().wait(kDataVa, VZE_HW_WAIT_EQ, 1));
    device->stop();
    EXPECT_EQ(load_acquire(regs.device_state), static_cast<uint32_t>(VZE_HW_STATE_STOPPED));
    for (uint32_t id = 0; id < 3; id++)
        EXPECT_EQ(state(id), static_cast<uint32_t>(VZE_HW_QUEUE_ABSENT));
}

} // namespace
} // namespace vgpu::test
