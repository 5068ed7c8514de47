// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <random>

namespace vgpu::test {
namespace {

constexpr uint64_t kNowhere = 0x3000'0000'0000;
constexpr uint64_t kReadOnlyVa = 0x3100'0000'0000;

class Faults : public TestDevice {
protected:
    Faults() {
        create_space(1);
        map_data(1);
        space(1).map(kReadOnlyVa, kDataAt, 16 * VZE_HW_PAGE_SIZE, 0);
        queue = &create_queue(3, 1);
        other = &create_queue(4, 1);
    }

    /** Runs @p batch, which must fault, checks what every fault has in common, and resets. */
    vze_hw_fault fault_of(const Batch& batch) {
        const uint64_t seqno = submit(*queue, batch);
        const vze_hw_fault record = next_fault();
        EXPECT_EQ(record.queue, 3u);
        EXPECT_EQ(record.asid, 1u);
        EXPECT_EQ(record.seqno, seqno);
        EXPECT_EQ(state(3), static_cast<uint32_t>(VZE_HW_QUEUE_FAULTED));
        EXPECT_TRUE(eventually(
            [this] { return (load_acquire(device->bar().regs().queue_irq[0]) & 8) != 0; }));
        EXPECT_EQ(load_acquire(device->bar().queue(3).ring_head), queue->tail - 1);
        run(*other, Batch().nop());
        EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 3).result, VZE_HW_RESULT_OK);
        EXPECT_EQ(state(3), static_cast<uint32_t>(VZE_HW_QUEUE_IDLE));
        run(*queue, Batch().nop());
        return record;
    }
    void expect(const Batch& batch, uint32_t reason, uint32_t access, uint64_t va,
                uint32_t command = 0) {
        const vze_hw_fault record = fault_of(batch);
        EXPECT_EQ(record.reason, reason);
        EXPECT_EQ(record.access, access);
        EXPECT_EQ(record.va, va);
        EXPECT_EQ(record.command, command);
        EXPECT_EQ(record.opcode, batch.words().empty() ? 0u : opcode(batch, command));
    }
    /** Opcode of command @p index. */
    static uint32_t opcode(const Batch& batch, uint32_t index) {
        size_t at = 0;
        for (; index > 0; index--)
            at += (batch.words()[at] >> 16) & 0xffff;
        return static_cast<uint32_t>(batch.words()[at] & 0xffff);
    }

    DriverQueue* queue = nullptr;
    DriverQueue* other = nullptr;
};

TEST_F(Faults, NotPresent) {
    expect(Batch().nop().copy(kDataVa, kNowhere + 5, 10), VZE_HW_FAULT_NOT_PRESENT,
           VZE_HW_ACCESS_READ, kNowhere + 5, 1);
    expect(Batch().copy(kNowhere + 5, kDataVa, 10), VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE,
           kNowhere + 5);
    expect(Batch().signal(kNowhere + 8, 1), VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE,
           kNowhere + 8);
    expect(Batch().wait(kNowhere + 8, VZE_HW_WAIT_EQ, 1), VZE_HW_FAULT_NOT_PRESENT,
           VZE_HW_ACCESS_READ, kNowhere + 8);
}

TEST_F(Faults, ReadOnly) {
    const std::vector<uint8_t> pattern = {1};
    word(0) = 7;
    expect(Batch().copy(kReadOnlyVa + 1, kDataVa + 8192, 10), VZE_HW_FAULT_READ_ONLY,
           VZE_HW_ACCESS_WRITE, kReadOnlyVa + 1);
    expect(Batch().fill(kReadOnlyVa, 10, pattern), VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE,
           kReadOnlyVa);
    expect(Batch().signal(kReadOnlyVa, 1), VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE,
           kReadOnlyVa);
    expect(Batch().add(kReadOnlyVa, 1), VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, kReadOnlyVa);
    expect(Batch().timestamp(kReadOnlyVa), VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE,
           kReadOnlyVa);
    EXPECT_EQ(word(0), 7u);
    run(*queue, Batch().copy(kDataVa + 4096, kReadOnlyVa, 8));
    EXPECT_EQ(word(4096), 7u);
}

TEST_F(Faults, BecomingWritableNeedsNoRetry) {
    run(*queue, Batch().copy(kDataVa + 4096, kReadOnlyVa, 8));
    change(1, kReadOnlyVa, kReadOnlyVa + VZE_HW_PAGE_SIZE, [this] {
        space(1).map(kReadOnlyVa, kDataAt, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
        // Inside the window the old, read-only translation is cached, and yet not trusted to
        // refuse.
        run(*queue, Batch().signal(kReadOnlyVa, 9));
    });
    EXPECT_EQ(word(0), 9u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
}

TEST_F(Faults, BadEntries) {
    space(1).set(kNowhere, VZE_HW_PTE_PRESENT | (1ULL << 63), 0);
    expect(Batch().copy(kDataVa, kNowhere, 1), VZE_HW_FAULT_BAD_PTE, VZE_HW_ACCESS_READ, kNowhere);
    space(1).set(kNowhere, VZE_HW_PTE_PRESENT | (1ULL << 40), 0);
    expect(Batch().copy(kNowhere, kDataVa, 1), VZE_HW_FAULT_BAD_PTE, VZE_HW_ACCESS_WRITE, kNowhere);
    space(1).set(kNowhere, VZE_HW_PTE_PRESENT | VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM | kVramSize,
                 0);
    expect(Batch().copy(kNowhere, kDataVa, 1), VZE_HW_FAULT_BAD_PTE, VZE_HW_ACCESS_WRITE, kNowhere);
}

TEST_F(Faults, NonCanonical) {
    constexpr uint64_t kEnd = 1ULL << 48;
    const std::vector<uint8_t> pattern = {1};
    expect(Batch().copy(kDataVa, kEnd, 1), VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_READ, kEnd);
    expect(Batch().copy(kDataVa, kEnd - 8, 9), VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_READ,
           kEnd);
    expect(Batch().copy(UINT64_MAX, kDataVa, 8), VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_WRITE,
           UINT64_MAX);
    expect(Batch().fill(UINT64_MAX - 7, 8, pattern), VZE_HW_FAULT_NON_CANONICAL,
           VZE_HW_ACCESS_WRITE, UINT64_MAX - 7);
    expect(Batch().signal(kEnd + 8, 1), VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_WRITE, kEnd + 8);
    vze_hw_cmd_copy_region region = {};
    region.width = 8;
    region.height = 2;
    region.depth = 1;
    region.src = kDataVa;
    region.dst = kDataVa + 4096;
    region.dst_pitch = 1ULL << 63;
    expect(Batch().region(region), VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_WRITE,
           region.dst + region.dst_pitch);
}

TEST_F(Faults, PitchesWrapAround) {
    // A negative pitch is a large one: rows from the last to the first.
    vze_hw_cmd_copy_region region = {};
    region.width = 8;
    region.height = 4;
    region.depth = 1;
    region.src = kDataVa + 3 * 8;
    region.src_pitch = static_cast<uint64_t>(-8);
    region.dst = kDataVa + 4096;
    region.dst_pitch = 8;
    for (uint64_t i = 0; i < 4; i++)
        word(i * 8) = i;
    run(*queue, Batch().region(region));
    for (uint64_t i = 0; i < 4; i++)
        EXPECT_EQ(word(4096 + i * 8), 3 - i);
}

TEST_F(Faults, MalformedTellsTheAddressOfTheCommand) {
    Batch batch;
    batch.nop().nop().header(99, 1);
    const vze_hw_fault record = fault_of(batch);
    EXPECT_EQ(record.reason, static_cast<uint32_t>(VZE_HW_FAULT_MALFORMED));
    EXPECT_EQ(record.va, record.batch + 16);
    EXPECT_EQ(record.command, 2u);
    EXPECT_EQ(record.opcode, 99u);

    Batch cut;
    cut.nop().header(VZE_HW_CMD_COPY, 4).word(0).word(0);
    const vze_hw_fault second = fault_of(cut);
    EXPECT_EQ(second.reason, static_cast<uint32_t>(VZE_HW_FAULT_MALFORMED));
    EXPECT_EQ(second.va, second.batch + 8);
}

TEST_F(Faults, TooLargeAndUnaligned) {
    const uint64_t max = device->bar().ident().max_transfer;
    EXPECT_EQ(max, kVramSize / 4);
    EXPECT_EQ(fault_of(Batch().copy(kDataVa, kDataVa, max + 1)).reason,
              static_cast<uint32_t>(VZE_HW_FAULT_TOO_LARGE));
    expect(Batch().signal(kDataVa + 4, 1), VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_WRITE,
           kDataVa + 4);
    expect(Batch().wait(kDataVa + 1, VZE_HW_WAIT_EQ, 1), VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_READ,
           kDataVa + 1);
}

TEST_F(Faults, ACopyMovesEverythingBeforeTheFirstBadByte) {
    // The source ends in the middle of the range; the byte behind its last page is the fault.
    space(1).map(kNowhere, kDataAt, 3 * VZE_HW_PAGE_SIZE, 0);
    scramble({data(0), 3 * VZE_HW_PAGE_SIZE}, 3);
    expect(Batch().copy(kDataVa + (1 << 20), kNowhere + 100, 4 * VZE_HW_PAGE_SIZE),
           VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_READ, kNowhere + 3 * VZE_HW_PAGE_SIZE);
    EXPECT_EQ(std::memcmp(data(1 << 20), data(100), 3 * VZE_HW_PAGE_SIZE - 100), 0);
}

TEST_F(Faults, ASplitTransferReportsItsFirstBadByte) {
    // Two holes in a range that is moved in many chunks at once: always the first one is told.
    constexpr uint64_t kSize = 12 << 20;
    space(1).map(kNowhere, kDataAt, kSize, VZE_HW_PTE_WRITABLE);
    const uint64_t first = kNowhere + (5 << 20) + 3 * VZE_HW_PAGE_SIZE;
    change(1, kNowhere, kNowhere + kSize, [&] {
        space(1).unmap(first, VZE_HW_PAGE_SIZE);
        space(1).unmap(kNowhere + (7 << 20), VZE_HW_PAGE_SIZE);
    });
    for (int round = 0; round < 10; round++) {
        expect(Batch().copy(kVramVa, kNowhere + 7, kSize - 7), VZE_HW_FAULT_NOT_PRESENT,
               VZE_HW_ACCESS_READ, first);
        expect(Batch().copy(kNowhere + 7, kVramVa, kSize - 7), VZE_HW_FAULT_NOT_PRESENT,
               VZE_HW_ACCESS_WRITE, first);
    }
}

TEST_F(Faults, ABatchThatCannotBeFetched) {
    vze_hw_ring_entry entry = {};
    const auto fault = [&](uint64_t batch, uint32_t size) {
        entry.batch = batch;
        entry.size = size;
        entry.seqno = 12345;
        put(*queue, entry);
        ring(*queue);
        const vze_hw_fault record = next_fault();
        EXPECT_EQ(record.access, static_cast<uint32_t>(VZE_HW_ACCESS_FETCH));
        EXPECT_EQ(record.batch, batch);
        EXPECT_EQ(record.seqno, 12345u);
        control(VZE_HW_CTRL_QUEUE_RESET, queue->id);
        return record;
    };
    EXPECT_EQ(fault(kNowhere, 8).reason, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
    EXPECT_EQ(fault(kDataVa + 4, 8).reason, static_cast<uint32_t>(VZE_HW_FAULT_UNALIGNED));
    EXPECT_EQ(fault(kDataVa, 12).reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));
    EXPECT_EQ(fault((1ULL << 48) - 8, 16).reason,
              static_cast<uint32_t>(VZE_HW_FAULT_NON_CANONICAL));
    EXPECT_EQ(fault(UINT64_MAX - 7, 16).reason, static_cast<uint32_t>(VZE_HW_FAULT_NON_CANONICAL));
    entry.flags = 1;
    EXPECT_EQ(fault(kDataVa, 8).reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));
    entry.flags = 0;
    entry.pad[4] = 1;
    EXPECT_EQ(fault(kDataVa, 8).reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));

    // A command that crosses into a page that is not there: the first missing byte.
    entry = {};
    space(1).map(kNowhere, kDataAt, VZE_HW_PAGE_SIZE, 0);
    Batch copy;
    copy.copy(kDataVa + 8192, kDataVa + 16384, 8);
    std::memcpy(data(4096 - 16), copy.words().data(), 16);
    const vze_hw_fault crossing = fault(kNowhere + 4096 - 16, 32);
    EXPECT_EQ(crossing.reason, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
    EXPECT_EQ(crossing.va, kNowhere + 4096);
    EXPECT_EQ(crossing.opcode, static_cast<uint32_t>(VZE_HW_CMD_COPY));
}

TEST_F(Faults, ATailOutOfOrder) {
    for (const uint32_t beyond : {65u, 1000u, 0x80000000u, 0xffffffffu}) {
        const uint32_t tail = queue->tail;
        store_release(device->bar().queue(3).ring_tail, tail + beyond);
        ring(*queue);
        const vze_hw_fault record = next_fault();
        EXPECT_EQ(record.reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));
        EXPECT_EQ(record.queue, 3u);
        store_release(device->bar().queue(3).ring_tail, tail);
        control(VZE_HW_CTRL_QUEUE_RESET, 3);
        run(*queue, Batch().nop());
    }
}

TEST_F(Faults, ARingThatIsNotMapped) {
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_CREATE, 20, {1, kNowhere, 4}).result, VZE_HW_RESULT_OK);
    store_release(device->bar().queue(20).ring_tail, 1);
    DriverQueue bad{20, 1, 4, 0, 1};
    ring(bad);
    const vze_hw_fault record = next_fault();
    EXPECT_EQ(record.queue, 20u);
    EXPECT_EQ(record.va, kNowhere);
    EXPECT_EQ(record.access, static_cast<uint32_t>(VZE_HW_ACCESS_FETCH));
    run(*queue, Batch().nop());
}

TEST_F(Faults, AFullRingCountsWhatItDrops) {
    vze_hw_regs& regs = device->bar().regs();
    for (uint32_t i = 0; i < VZE_HW_FAULT_ENTRIES + 5; i++) {
        submit(*queue, Batch().signal(kNowhere, 1));
        ASSERT_TRUE(wait_state(*queue, VZE_HW_QUEUE_FAULTED));
        ASSERT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 3).result, VZE_HW_RESULT_OK);
    }
    EXPECT_EQ(load_acquire(regs.fault_head), static_cast<uint32_t>(VZE_HW_FAULT_ENTRIES));
    EXPECT_EQ(load_acquire(regs.faults_dropped), 5u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_FAULTS), VZE_HW_FAULT_ENTRIES + 5u);
    next_fault();
    submit(*queue, Batch().signal(kNowhere + 64, 1));
    for (uint32_t i = 1; i < VZE_HW_FAULT_ENTRIES; i++)
        EXPECT_EQ(next_fault().va, kNowhere);
    EXPECT_EQ(next_fault().va, kNowhere + 64);
}

TEST_F(Faults, AFaultTailFromNowhereDropsAndDoesNotHurt) {
    store_release(device->bar().regs().fault_tail, 0x12345678u);
    submit(*queue, Batch().signal(kNowhere, 1));
    EXPECT_TRUE(wait_state(*queue, VZE_HW_QUEUE_FAULTED));
    EXPECT_TRUE(
        eventually([this] { return load_acquire(device->bar().regs().faults_dropped) == 1; }));
}

/** Random batches and entries with addresses at every edge: only writable pages may change. */
TEST_F(Faults, HostileBatchesStayInsideTheirPages) {
    std::mt19937_64 random(11);
    create_space(2);
    // Of 64 pages every fourth is writable, every fourth read-only, the rest absent.
    constexpr uint64_t kVa = 0x1000'0000;
    constexpr uint64_t kPages = 64;
    for (uint64_t i = 0; i < kPages; i += 2)
        space(2).map(kVa + i * 4096, kDataAt + i * 4096, 4096,
                     i % 4 == 0 ? VZE_HW_PTE_WRITABLE : 0);
    queue = &create_queue(10, 2);
    scramble({data(0), kPages * 4096}, 1);
    const std::vector<std::byte> before(data(0), data(kPages * 4096));

    const auto address = [&]() -> uint64_t {
        switch (random() % 8) {
        case 0:
            return random();
        case 1:
            return (1ULL << 48) - random() % 8192;
        default:
            return kVa + (random() % kPages) * 4096 + (random() % 3) * 4094 - (random() % 2) * 8;
        }
    };
    const auto size = [&] {
        return random() % 4 == 0 ? random() >> (random() % 64) : random() % 5000;
    };
    uint64_t completed = 0;
    for (int round = 0; round < 400; round++) {
        Batch batch;
        for (uint64_t i = random() % 8; i > 0; i--) {
            const std::vector<uint8_t> pattern(1 + random() % 128, static_cast<uint8_t>(round));
            vze_hw_cmd_copy_region region = {};
            switch (random() % 8) {
            case 0:
            case 1:
                batch.copy(address(), address(), size());
                break;
            case 2:
                batch.fill(address(), size(), pattern);
                break;
            case 3:
                region.dst = address();
                region.src = address();
                region.width = 1 + random() % 100;
                region.height = static_cast<uint32_t>(1 + random() % 100);
                region.depth = static_cast<uint32_t>(1 + random() % 4);
                region.dst_pitch = random() >> (random() % 64);
                region.dst_slice = random() >> (random() % 64);
                region.src_pitch = random() % 300;
                region.src_slice = random() % 3000;
                batch.region(region);
                break;
            case 4:
                batch.add(address() & ~7ULL, random());
                break;
            case 5:
                batch.timestamp(address());
                break;
            case 6:
                batch.word(random() >> (random() % 64));
                break;
            default:
                batch.nop();
                break;
            }
        }
        const uint64_t seqno = submit(*queue, batch);
        ASSERT_TRUE(eventually([&] {
            return load_acquire(device->bar().queue(10).seqno) == seqno ||
                   state(10) == VZE_HW_QUEUE_FAULTED;
        }));
        if (state(10) == VZE_HW_QUEUE_FAULTED) {
            const vze_hw_fault record = next_fault();
            EXPECT_GE(record.reason, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
            EXPECT_LE(record.reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_RING));
            ASSERT_EQ(control(VZE_HW_CTRL_QUEUE_RESET, 10).result, VZE_HW_RESULT_OK);
        } else {
            completed++;
        }
    }
    EXPECT_GT(completed, 20u);
    for (uint64_t i = 0; i < kPages; i++) {
        const bool same = std::memcmp(data(i * 4096), &before[i * 4096], 4096) == 0;
        ASSERT_TRUE(same || i % 4 == 0) << "page " << i;
    }
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
}

} // namespace
} // namespace vgpu::test
