// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <random>

namespace vgpu::test {
namespace {

class Commands : public TestDevice {
protected:
    Commands() {
        create_space(1);
        map_data(1);
        queue = &create_queue(5, 1);
    }

    DriverQueue* queue = nullptr;
};

TEST_F(Commands, EmptyJobCompletesWithItsSeqno) {
    run(*queue, Batch());
    EXPECT_EQ(load_acquire(device->bar().queue(5).ring_head), 1u);
    EXPECT_TRUE(wait_state(*queue, VZE_HW_QUEUE_IDLE));
}

TEST_F(Commands, NopAndBarrierOnlyMakeProgress) {
    run(*queue, Batch().nop().barrier().nop());
    EXPECT_EQ(counter(VZE_HW_COUNTER_COMMANDS), 3u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_JOBS), 1u);
    EXPECT_GE(load_acquire(device->bar().queue(5).progress), 3u);
}

TEST_F(Commands, CopiesOfAnySizeAndAlignment) {
    constexpr uint64_t kArea = 64 << 10;
    std::mt19937_64 random(1);
    std::vector<std::byte> expected(kArea);

    scramble({data(0), kArea}, 7);
    for (int round = 0; round < 200; round++) {
        const uint64_t size = 1 + random() % 9000;
        const uint64_t from = random() % (kArea - size);
        const uint64_t to = random() % (kArea - size);
        scramble({data(1 << 20), kArea}, round);
        std::memcpy(expected.data(), data(1 << 20), kArea);
        std::memcpy(expected.data() + to, data(from), size);
        run(*queue, Batch().copy(kDataVa + (1 << 20) + to, kDataVa + from, size));
        ASSERT_EQ(std::memcmp(expected.data(), data(1 << 20), kArea), 0)
            << "size " << size << " from " << from << " to " << to;
    }
}

TEST_F(Commands, LargeCopiesAreSplitAndComplete) {
    constexpr uint64_t kSize = (10 << 20) + 12345;

    scramble({data(3), kSize}, 3);
    run(*queue, Batch()
                    .copy(kVramVa + 77, kDataVa + 3, kSize)
                    .copy(kDataVa + (16 << 20) + 1, kVramVa + 77, kSize));
    EXPECT_EQ(std::memcmp(vram(77), data(3), kSize), 0);
    EXPECT_EQ(std::memcmp(data((16 << 20) + 1), data(3), kSize), 0);
    EXPECT_EQ(counter(VZE_HW_COUNTER_BYTES_READ), 2 * kSize);
    EXPECT_EQ(counter(VZE_HW_COUNTER_BYTES_WRITTEN), 2 * kSize);
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
}

TEST_F(Commands, FillsWithEveryPatternSize) {
    std::mt19937_64 random(2);
    std::vector<std::byte> expected(24 << 10);

    for (size_t pattern_size = 1; pattern_size <= VZE_HW_MAX_PATTERN; pattern_size++) {
        std::vector<uint8_t> pattern(pattern_size);
        for (uint8_t& byte : pattern)
            byte = static_cast<uint8_t>(random());
        const uint64_t size = 1 + random() % 20000;
        const uint64_t to = random() % (expected.size() - size);
        std::memset(data(0), 0xee, expected.size());
        std::memset(expected.data(), 0xee, expected.size());
        for (uint64_t i = 0; i < size; i++)
            expected[to + i] = std::byte{pattern[i % pattern_size]};
        run(*queue, Batch().fill(kDataVa + to, size, pattern));
        ASSERT_EQ(std::memcmp(expected.data(), data(0), expected.size()), 0)
            << "pattern " << pattern_size << " size " << size << " to " << to;
    }
}

TEST_F(Commands, LargeFillKeepsThePhaseAcrossChunks) {
    const std::vector<uint8_t> pattern = {1, 2, 3, 4, 5, 6, 7};
    constexpr uint64_t kSize = (9 << 20) + 5;

    run(*queue, Batch().fill(kVramVa + 3, kSize, pattern));
    for (uint64_t i = 0; i < kSize; i++)
        ASSERT_EQ(vram(3)[i], std::byte{pattern[i % 7]}) << i;
    EXPECT_EQ(vram(2)[0], std::byte{0});
    EXPECT_EQ(vram(3)[kSize], std::byte{0});
}

TEST_F(Commands, RegionsWithPitches) {
    std::mt19937_64 random(3);
    constexpr uint64_t kArea = 1 << 20;
    std::vector<std::byte> expected(kArea);

    scramble({data(0), kArea}, 9);
    for (int round = 0; round < 60; round++) {
        vze_hw_cmd_copy_region region = {};
        region.width = 1 + random() % 700;
        region.height = static_cast<uint32_t>(1 + random() % 20);
        region.depth = static_cast<uint32_t>(1 + random() % 5);
        region.src_pitch = region.width + random() % 100;
        region.dst_pitch = region.width + random() % 100;
        region.src_slice = region.src_pitch * region.height + random() % 1000;
        region.dst_slice = region.dst_pitch * region.height + random() % 1000;
        const uint64_t from = random() % 1000;
        const uint64_t to = random() % 1000;
        region.src = kDataVa + from;
        region.dst = kDataVa + kArea + to;
        std::memset(data(kArea), 0x11, kArea);
        std::memset(expected.data(), 0x11, kArea);
        for (uint64_t z = 0; z < region.depth; z++) {
            for (uint64_t y = 0; y < region.height; y++)
                std::memcpy(&expected[to + z * region.dst_slice + y * region.dst_pitch],
                            data(from + z * region.src_slice + y * region.src_pitch), region.width);
        }
        run(*queue, Batch().region(region));
        ASSERT_EQ(std::memcmp(expected.data(), data(kArea), kArea), 0) << "round " << round;
    }
}

TEST_F(Commands, RegionsOfManyShortAndOfLongRows) {
    vze_hw_cmd_copy_region thin = {};
    thin.width = 1;
    thin.height = 5000;
    thin.depth = 2;
    thin.src = kDataVa;
    thin.src_pitch = 16;
    thin.src_slice = 5000 * 16;
    thin.dst = kDataVa + (1 << 20);
    thin.dst_pitch = 1;
    thin.dst_slice = 5000;
    vze_hw_cmd_copy_region wide = {};
    wide.width = (5 << 20) + 3;
    wide.height = 2;
    wide.depth = 1;
    wide.src = kDataVa + 5;
    wide.src_pitch = 6 << 20;
    wide.dst = kVramVa;
    wide.dst_pitch = (5 << 20) + 3;

    scramble({data(0), 12 << 20}, 4);
    run(*queue, Batch().region(wide).region(thin));
    for (uint64_t i = 0; i < 10000; i++)
        ASSERT_EQ(data(1 << 20)[i], data(i * 16)[0]) << i;
    // The thin copy wrote into the source of the wide one, after it.
    scramble({data(0), 12 << 20}, 4);
    EXPECT_EQ(std::memcmp(vram(0), data(5), wide.width), 0);
    EXPECT_EQ(std::memcmp(vram(wide.width), data(5 + (6 << 20)), wide.width), 0);
}

TEST_F(Commands, PitchesOfZeroRepeatARow) {
    vze_hw_cmd_copy_region region = {};
    region.width = 64;
    region.height = 100;
    region.depth = 1;
    region.src = kDataVa;
    region.dst = kDataVa + 8192;
    region.dst_pitch = 64;

    scramble({data(0), 64}, 5);
    run(*queue, Batch().region(region));
    for (uint64_t y = 0; y < 100; y++)
        ASSERT_EQ(std::memcmp(data(8192 + y * 64), data(0), 64), 0) << y;
}

TEST_F(Commands, CopyAcrossLeavesOfDifferentSizes) {
    // 4 KiB leaves in both memories before and after a leaf of 2 MiB.
    constexpr uint64_t kVa = 0x40000000 - VZE_HW_PAGE_SIZE;
    PageTables& tables = space(1);
    tables.map(kVa, kDataAt + (20 << 20), VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
    tables.map(kVa + VZE_HW_PAGE_SIZE, 4 << 20, 2 << 20, VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM, 1);
    tables.map(kVa + VZE_HW_PAGE_SIZE + (2 << 20), 0, VZE_HW_PAGE_SIZE,
               VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM);
    constexpr uint64_t kSize = (2 << 20) + 2 * VZE_HW_PAGE_SIZE - 20;

    scramble({data(0), kSize}, 6);
    run(*queue, Batch().copy(kVa + 10, kDataVa, kSize));
    EXPECT_EQ(std::memcmp(data((20 << 20) + 10), data(0), 4086), 0);
    EXPECT_EQ(std::memcmp(vram(4 << 20), data(4086), 2 << 20), 0);
    EXPECT_EQ(std::memcmp(vram(0), data(4086 + (2 << 20)), 4086), 0);
}

TEST_F(Commands, SignalAddAndTimestampWriteTheirWords) {
    const uint64_t before = control(VZE_HW_CTRL_READ_CLOCK).out;

    word(16) = 40;
    run(*queue, Batch()
                    .signal(kDataVa + 8, 0x1122334455667788)
                    .add(kDataVa + 16, 2)
                    .timestamp(kDataVa + 24));
    EXPECT_EQ(word(8), 0x1122334455667788u);
    EXPECT_EQ(word(16), 42u);
    const uint64_t after = control(VZE_HW_CTRL_READ_CLOCK).out;
    EXPECT_GE(word(24), before);
    EXPECT_LE(word(24), after);
}

TEST_F(Commands, NotifyCountsAndSetsTheQueuesBit) {
    run(*queue, Batch()
                    .signal(kDataVa + 8, 1, VZE_HW_CMD_NOTIFY)
                    .add(kDataVa + 16, 1, VZE_HW_CMD_NOTIFY)
                    .timestamp(kDataVa + 24, VZE_HW_CMD_NOTIFY)
                    .signal(kDataVa + 8, 2));
    EXPECT_EQ(load_acquire(device->bar().queue(5).notifies), 3u);
    EXPECT_NE(load_acquire(device->bar().regs().queue_irq[0]) & (1 << 5), 0u);
}

TEST_F(Commands, ACommandSeesTheEffectOfTheOneBeforeEvenOnTheBatchItself) {
    // The first command overwrites the second one, a NOP, with another NOP of the same length
    // replaced by a SIGNAL: three words.
    Batch patch;
    patch.signal(kDataVa + 64, 99);
    std::memcpy(data(4096), patch.words().data(), patch.bytes());
    Batch batch;
    batch.copy(kDataVa + 8192 + 32, kDataVa + 4096, 24).nop().nop().nop();
    std::memcpy(data(8192), batch.words().data(), batch.bytes());
    vze_hw_ring_entry entry = {};
    entry.batch = kDataVa + 8192;
    entry.size = batch.bytes();
    entry.seqno = 1000;
    put(*queue, entry);
    ring(*queue);
    ASSERT_TRUE(wait_done(*queue, 1000));
    EXPECT_EQ(word(64), 99u);
}

TEST_F(Commands, RingWrapsAround) {
    DriverQueue& small = create_queue(6, 1, 2);

    for (uint64_t i = 1; i <= 50; i++) {
        run(small, Batch().signal(kDataVa + 8, i));
        ASSERT_EQ(word(8), i);
    }
    EXPECT_EQ(load_acquire(device->bar().queue(6).ring_head), 50u);
}

TEST_F(Commands, OverlappingCopyLeavesTheRestAlone) {
    // Below the size from which chunks of it would run on several threads.
    constexpr uint64_t kSize = 256 << 10;
    scramble({data(0), 3 << 20}, 8);
    std::vector<std::byte> before(data(0), data(3 << 20));

    run(*queue, Batch().copy(kDataVa + 8192 + 1, kDataVa + 8192, kSize));
    EXPECT_EQ(std::memcmp(before.data(), data(0), 8193), 0);
    EXPECT_EQ(std::memcmp(&before[8193 + kSize], data(8193 + kSize), 4096), 0);
}

} // namespace
} // namespace vgpu::test
