// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <algorithm>
#include <random>
#include <thread>

namespace vgpu::test {
namespace {

constexpr uint64_t kPage = VZE_HW_PAGE_SIZE;
constexpr uint64_t kVa = 0x6800'0000'0000; // VRAM again, through compressible leaves
constexpr uint64_t kArea = 4ULL << 20;

class Compression : public TestDevice {
protected:
    Compression() {
        create_space(1);
        map_data(1);
        space(1).map(kVa, 0, kVramSize,
                     VZE_HW_PTE_WRITABLE | VZE_HW_PTE_VRAM | VZE_HW_PTE_COMPRESSIBLE, 1);
        queue = &create_queue(0, 1);
        // What stands in memory before must never show.
        std::memset(vram(0), 0xcc, 2 * kArea);
    }

    uint64_t written() { return counter(VZE_HW_COUNTER_BYTES_WRITTEN); }
    uint64_t compressed() { return counter(VZE_HW_COUNTER_PAGES_COMPRESSED); }
    uint64_t resolves() { return counter(VZE_HW_COUNTER_RESOLVES); }
    /** Copies [offset, offset + size) of VRAM through the compressible leaves to the start of data.
     */
    const std::byte* seen(uint64_t offset, uint64_t size) {
        run(*queue, Batch().copy(kDataVa, kVa + offset, size));
        return data(0);
    }
    void resolve(uint64_t offset, uint64_t size, uint64_t flags = 0) {
        EXPECT_EQ(control(VZE_HW_CTRL_RESOLVE, 0, {offset, size, flags}).result, VZE_HW_RESULT_OK);
    }
    void clear(uint64_t offset, uint64_t size) {
        EXPECT_EQ(control(VZE_HW_CTRL_CLEAR, 0, {offset, size}).result, VZE_HW_RESULT_OK);
    }
    bool memory_is(uint64_t offset, uint64_t size, uint8_t byte) {
        const std::byte* const first = vram(offset);
        return std::all_of(first, first + size,
                           [byte](std::byte each) { return each == std::byte{byte}; });
    }
    static std::vector<std::byte> repeated(const std::vector<uint8_t>& pattern, uint64_t size) {
        std::vector<std::byte> bytes(size);
        for (uint64_t i = 0; i < size; i++)
            bytes[i] = std::byte{pattern[i % pattern.size()]};
        return bytes;
    }

    DriverQueue* queue = nullptr;
};

TEST_F(Compression, TheFeatureIsAnnounced) {
    EXPECT_NE(device->bar().ident().features & VZE_HW_FEATURE_COMPRESSION, 0u);
}

TEST_F(Compression, AFillMovesThePatternsOnlyAndAResolveTheRest) {
    const std::vector<uint8_t> pattern = {1, 2, 3, 4};
    run(*queue, Batch().fill(kVa, kArea, pattern));
    EXPECT_EQ(written(), kArea / kPage * 4);
    EXPECT_EQ(compressed(), kArea / kPage);
    EXPECT_EQ(vram(4)[0], std::byte{0xcc}) << "BAR2 shows what is in memory";

    const std::vector<std::byte> expected = repeated(pattern, kArea);
    EXPECT_EQ(std::memcmp(seen(0, kArea), expected.data(), kArea), 0);
    EXPECT_EQ(resolves(), 0u) << "reading resolves nothing";
    EXPECT_EQ(counter(VZE_HW_COUNTER_BYTES_READ), kArea / kPage * 4);

    resolve(0, kArea);
    EXPECT_EQ(std::memcmp(vram(0), expected.data(), kArea), 0);
    EXPECT_EQ(vram(kArea)[0], std::byte{0xcc});
    EXPECT_EQ(resolves(), kArea / kPage);
    resolve(0, kArea);
    EXPECT_EQ(resolves(), kArea / kPage) << "plain pages stay as they are";
}

TEST_F(Compression, AResolveTakesTheRangeOnly) {
    const std::vector<uint8_t> pattern = {7};
    run(*queue, Batch().fill(kVa, 4 * kPage, pattern));
    resolve(kPage, 2 * kPage);
    EXPECT_EQ(vram(100)[0], std::byte{0xcc});
    EXPECT_EQ(vram(kPage + 100)[0], std::byte{7});
    EXPECT_EQ(vram(3 * kPage - 1)[0], std::byte{7});
    EXPECT_EQ(vram(3 * kPage + 100)[0], std::byte{0xcc});
}

TEST_F(Compression, EveryPatternSizeAtAnyAlignment) {
    std::mt19937_64 random(1);
    for (size_t size = 1; size <= VZE_HW_MAX_PATTERN; size++) {
        std::vector<uint8_t> pattern(size);
        for (uint8_t& byte : pattern)
            byte = static_cast<uint8_t>(random());
        const uint64_t to = random() % kPage;
        const uint64_t length = 1 + random() % (6 * kPage);
        std::memset(vram(0), 0x11, 8 * kPage);
        resolve(0, 8 * kPage);
        std::memset(vram(0), 0x11, 8 * kPage);
        std::vector<std::byte> expected(8 * kPage, std::byte{0x11});
        const std::vector<std::byte> filled = repeated(pattern, length);
        std::copy(filled.begin(), filled.end(), expected.begin() + static_cast<long>(to));
        run(*queue, Batch().fill(kVa + to, length, pattern));
        ASSERT_EQ(std::memcmp(seen(0, 8 * kPage), expected.data(), 8 * kPage), 0)
            << "pattern " << size << " at " << to << " length " << length;
        resolve(0, 8 * kPage);
        ASSERT_EQ(std::memcmp(vram(0), expected.data(), 8 * kPage), 0);
    }
}

TEST_F(Compression, CopiesOfCompressedPagesMoveAlmostNothing) {
    const std::vector<uint8_t> pattern = {9, 8, 7};
    run(*queue, Batch().fill(kVa, kArea, pattern));
    const uint64_t before = written();
    run(*queue, Batch().copy(kVa + kArea, kVa, kArea));
    EXPECT_EQ(written() - before, kArea / kPage * 3);
    const std::vector<std::byte> expected = repeated(pattern, kArea);
    EXPECT_EQ(std::memcmp(seen(kArea, kArea), expected.data(), kArea), 0);
    // At another alignment the bytes have to move.
    run(*queue, Batch().copy(kVa + kArea + 5, kVa, 10 * kPage));
    EXPECT_EQ(std::memcmp(seen(kArea + 5, 10 * kPage), expected.data(), 10 * kPage), 0);
}

TEST_F(Compression, APartialWriteResolvesItsPageFirst) {
    const std::vector<uint8_t> pattern = {1, 2};
    std::vector<std::byte> expected = repeated(pattern, 3 * kPage);
    scramble({data(kArea), 200}, 2);
    std::memcpy(&expected[kPage + 100], data(kArea), 200);
    run(*queue,
        Batch().fill(kVa, 3 * kPage, pattern).copy(kVa + kPage + 100, kDataVa + kArea, 200));
    EXPECT_EQ(resolves(), 1u);
    EXPECT_EQ(std::memcmp(vram(kPage), &expected[kPage], kPage), 0);
    EXPECT_EQ(std::memcmp(seen(0, 3 * kPage), expected.data(), 3 * kPage), 0);
}

TEST_F(Compression, AWholePageOfOtherBytesMakesItPlain) {
    const std::vector<uint8_t> pattern = {5};
    scramble({data(kArea), 2 * kPage}, 3);
    run(*queue, Batch().fill(kVa, 2 * kPage, pattern).copy(kVa, kDataVa + kArea, 2 * kPage));
    EXPECT_EQ(std::memcmp(vram(0), data(kArea), 2 * kPage), 0);
    EXPECT_EQ(resolves(), 0u);
}

TEST_F(Compression, SemaphoresWorkInCompressedPages) {
    const std::vector<uint8_t> pattern = {0};
    DriverQueue& other = create_queue(1, 1);
    run(*queue, Batch().fill(kVa, 4 * kPage, pattern).add(kVa + 8, 5).signal(kVa + kPage, 7));
    EXPECT_EQ(reinterpret_cast<uint64_t*>(vram(0))[1], 5u);
    EXPECT_EQ(reinterpret_cast<uint64_t*>(vram(kPage))[0], 7u);
    run(*queue, Batch().wait(kVa + 2 * kPage, VZE_HW_WAIT_EQ, 0));
    const uint64_t seqno = submit(*queue, Batch().wait(kVa + 3 * kPage + 16, VZE_HW_WAIT_EQ, 1));
    ASSERT_TRUE(wait_state(*queue, VZE_HW_QUEUE_PARKED));
    run(other, Batch().signal(kVa + 3 * kPage + 16, 1));
    EXPECT_TRUE(wait_done(*queue, seqno));
}

TEST_F(Compression, CommandsAreFetchedFromCompressedPages) {
    const std::vector<uint8_t> nops = {VZE_HW_CMD_NOP, 0, 1, 0, 0, 0, 0, 0};
    run(*queue, Batch().fill(kVa, kPage, nops));
    vze_hw_ring_entry entry = {};
    entry.batch = kVa;
    entry.size = kPage;
    entry.seqno = 1000;
    const uint64_t commands = counter(VZE_HW_COUNTER_COMMANDS);
    put(*queue, entry);
    ring(*queue);
    ASSERT_TRUE(wait_done(*queue, 1000));
    EXPECT_EQ(counter(VZE_HW_COUNTER_COMMANDS) - commands, kPage / 8);
}

TEST_F(Compression, RandomWorkLooksLikePlainMemory) {
    std::mt19937_64 random(4);
    constexpr uint64_t kSize = 32 * kPage;
    std::vector<std::byte> model(kSize, std::byte{0xcc});
    scramble({data(kArea), kSize}, 5);

    for (int round = 0; round < 300; round++) {
        // Half of all positions and sizes are whole pages.
        const auto place = [&](uint64_t limit) {
            const uint64_t at = random() % limit;
            return random() % 2 == 0 ? at & ~(kPage - 1) : at;
        };
        const uint64_t to = place(kSize - kPage);
        const uint64_t from = place(kSize - kPage);
        const uint64_t size =
            std::max<uint64_t>(1, place(std::min({kSize - to, kSize - from, 6 * kPage})));
        std::vector<uint8_t> pattern(1 + random() % 16);
        for (uint8_t& byte : pattern)
            byte = static_cast<uint8_t>(random());
        switch (random() % 4) {
        case 0:
        case 1: {
            run(*queue, Batch().fill(kVa + to, size, pattern));
            const std::vector<std::byte> filled = repeated(pattern, size);
            std::copy(filled.begin(), filled.end(), &model[to]);
            break;
        }
        case 2: {
            if (to < from + size && from < to + size)
                break; // overlapping copies have no defined contents
            run(*queue, Batch().copy(kVa + to, kVa + from, size));
            std::memcpy(&model[to], &model[from], size);
            break;
        }
        default:
            run(*queue, Batch().copy(kVa + to, kDataVa + kArea + from, size));
            std::memcpy(&model[to], data(kArea + from), size);
            break;
        }
        if (round % 10 == 0) {
            ASSERT_EQ(std::memcmp(seen(0, kSize), model.data(), kSize), 0) << round;
        }
    }
    EXPECT_GT(compressed(), 50u);
    resolve(0, kSize);
    EXPECT_EQ(std::memcmp(vram(0), model.data(), kSize), 0);
}

TEST_F(Compression, QueuesMayShareAPage) {
    // Two queues write to the halves of a compressed page, a third one reads the middle, which
    // keeps the pattern, all at the same time.
    const std::vector<uint8_t> pattern = {3, 4, 5};
    std::array<DriverQueue*, 3> users = {&create_queue(1, 1), &create_queue(2, 1),
                                         &create_queue(3, 1)};
    const std::vector<std::byte> expected = repeated(pattern, kPage);
    scramble({data(kArea), kPage}, 6);
    for (int round = 0; round < 300; round++) {
        run(*queue, Batch().fill(kVa, kPage, pattern));
        std::array<uint64_t, 3> seqnos = {
            submit(*users[0], Batch().copy(kVa, kDataVa + kArea, 1000)),
            submit(*users[1], Batch().copy(kVa + 3000, kDataVa + kArea + 3000, 1096)),
            submit(*users[2], Batch().copy(kDataVa, kVa + 1000, 2000))};
        for (size_t i = 0; i < users.size(); i++)
            ASSERT_TRUE(wait_done(*users[i], seqnos[i]));
        ASSERT_EQ(std::memcmp(data(0), &expected[1000], 2000), 0) << round;
        ASSERT_EQ(std::memcmp(vram(0), data(kArea), 1000), 0) << round;
        ASSERT_EQ(std::memcmp(vram(1000), &expected[1000], 2000), 0) << round;
        ASSERT_EQ(std::memcmp(vram(3000), data(kArea + 3000), 1096), 0) << round;
    }
}

TEST_F(Compression, EveryLeafSeesCompressedPages) {
    const std::vector<uint8_t> pattern = {1, 2, 3};
    const std::vector<std::byte> expected = repeated(pattern, 2 * kPage);
    run(*queue, Batch().fill(kVa, 2 * kPage, pattern).copy(kDataVa, kVramVa, 2 * kPage));
    EXPECT_EQ(std::memcmp(data(0), expected.data(), 2 * kPage), 0);
    EXPECT_EQ(resolves(), 0u);
    // A copy from one plain leaf to another has to move the bytes.
    const uint64_t before = written();
    run(*queue, Batch().copy(kVramVa + kArea, kVramVa, 2 * kPage));
    EXPECT_EQ(written() - before, 2 * kPage);
    EXPECT_EQ(std::memcmp(vram(kArea), expected.data(), 2 * kPage), 0);
}

TEST_F(Compression, PlainLeavesCompressNothing) {
    const std::vector<uint8_t> pattern = {1, 2, 3};
    clear(0, kArea);
    run(*queue, Batch().fill(kVramVa, kArea, pattern));
    EXPECT_EQ(compressed(), 0u);
    EXPECT_EQ(written(), kArea);
    const std::vector<std::byte> expected = repeated(pattern, kArea);
    EXPECT_EQ(std::memcmp(vram(0), expected.data(), kArea), 0);
}

TEST_F(Compression, ClearedPagesAreZerosAndMoveNoBytes) {
    clear(kPage, kArea - kPage);
    EXPECT_EQ(counter(VZE_HW_COUNTER_PAGES_CLEARED), kArea / kPage - 1);
    EXPECT_EQ(written(), 0u);
    EXPECT_TRUE(memory_is(0, kArea, 0xcc)) << "BAR2 shows what is in memory";
    const std::vector<std::byte> zeros(kArea - kPage);
    for (const uint64_t view : {kVa, kVramVa}) {
        std::memset(data(0), 0x77, kArea);
        run(*queue, Batch().copy(kDataVa, view + kPage, kArea - kPage));
        EXPECT_EQ(std::memcmp(data(0), zeros.data(), kArea - kPage), 0);
    }
    EXPECT_EQ(counter(VZE_HW_COUNTER_BYTES_READ), 0u);
    EXPECT_EQ(resolves(), 0u);
    // To a compressible page a cleared one is copied as such.
    const uint64_t before = written();
    run(*queue, Batch().copy(kVa + kArea + kPage, kVa + kPage, kArea - kPage));
    EXPECT_EQ(written() - before, 0u);
    EXPECT_EQ(compressed(), kArea / kPage - 1);
    EXPECT_EQ(std::memcmp(seen(kArea + kPage, kArea - kPage), zeros.data(), kArea - kPage), 0);

    resolve(kPage, kArea - kPage);
    EXPECT_TRUE(memory_is(kPage, kArea - kPage, 0));
    EXPECT_TRUE(memory_is(0, kPage, 0xcc));
    EXPECT_EQ(resolves(), kArea / kPage - 1);
}

TEST_F(Compression, WhatWasInMemoryBelowAClearedPageNeverShows) {
    const std::vector<uint8_t> pattern = {1, 2, 3};
    scramble({data(kArea), kArea}, 11);
    for (const uint64_t view : {kVa, kVramVa}) {
        std::memset(vram(0), 0xcc, 8 * kPage);
        clear(0, 8 * kPage);
        run(*queue, Batch()
                        .fill(view + 100, 50, pattern)                // within a page
                        .copy(view + kPage + 10, kDataVa + kArea, 20) // within a page
                        .copy(view + 2 * kPage, kDataVa + kArea, kPage)
                        .fill(view + 3 * kPage - 4, kPage + 8, pattern) // three pages
                        .signal(view + 5 * kPage + 8, 0x1122334455667788)
                        .add(view + 6 * kPage, 3));
        std::vector<std::byte> expected(8 * kPage);
        const std::vector<std::byte> filled = repeated(pattern, kPage + 8);
        std::memcpy(&expected[100], filled.data(), 50);
        std::memcpy(&expected[kPage + 10], data(kArea), 20);
        std::memcpy(&expected[2 * kPage], data(kArea), kPage);
        std::memcpy(&expected[3 * kPage - 4], filled.data(), kPage + 8);
        const uint64_t value = 0x1122334455667788;
        std::memcpy(&expected[5 * kPage + 8], &value, sizeof(value));
        expected[6 * kPage] = std::byte{3};
        EXPECT_EQ(std::memcmp(seen(0, 8 * kPage), expected.data(), 8 * kPage), 0);
        resolve(0, 8 * kPage);
        EXPECT_EQ(std::memcmp(vram(0), expected.data(), 8 * kPage), 0);
    }
}

TEST_F(Compression, WritersAndReadersMeetOnClearedPages) {
    // Two queues write to the ends of cleared pages, a third one reads the middle, all at the same
    // time: it sees zeros and never what was in memory, and no byte of a writer is lost.
    constexpr uint64_t kPages = 16;
    std::array<DriverQueue*, 3> users = {&create_queue(1, 1), &create_queue(2, 1),
                                         &create_queue(3, 1)};
    const std::vector<uint8_t> one = {1};
    std::memset(data(kArea), 2, kPages * kPage);
    for (int round = 0; round < 100; round++) {
        const uint64_t view = round % 2 == 0 ? kVa : kVramVa;
        std::memset(vram(0), 0xcc, kPages * kPage);
        clear(0, kPages * kPage);
        std::array<Batch, 3> batches;
        for (uint64_t page = 0; page < kPages; page++) {
            batches[0].fill(view + page * kPage, 1000, one);
            batches[1].copy(view + page * kPage + 3000, kDataVa + kArea, 1096);
            batches[2].copy(kDataVa + page * 2000, view + page * kPage + 1000, 2000);
        }
        std::array<uint64_t, 3> seqnos;
        for (size_t i = 0; i < users.size(); i++)
            seqnos[i] = submit(*users[i], batches[i]);
        for (size_t i = 0; i < users.size(); i++)
            ASSERT_TRUE(wait_done(*users[i], seqnos[i]));
        ASSERT_TRUE(std::all_of(data(0), data(kPages * 2000), [](std::byte each) {
            return each == std::byte{0};
        })) << round;
        for (uint64_t page = 0; page < kPages; page++) {
            ASSERT_TRUE(memory_is(page * kPage, 1000, 1)) << round;
            ASSERT_TRUE(memory_is(page * kPage + 1000, 2000, 0)) << round;
            ASSERT_TRUE(memory_is(page * kPage + 3000, 1096, 2)) << round;
        }
    }
}

TEST_F(Compression, AReaderSeesWholePagesBeforeOrAfter) {
    constexpr uint64_t kPages = 32;
    DriverQueue& reader = create_queue(1, 1);
    const std::vector<uint8_t> two = {2};
    std::memset(data(kArea), 2, kPages * kPage);
    for (int round = 0; round < 100; round++) {
        const uint64_t view = round % 2 == 0 ? kVa : kVramVa;
        std::memset(vram(0), 0xcc, kPages * kPage);
        clear(0, kPages * kPage);
        const std::array<uint64_t, 2> seqnos = {
            submit(*queue,
                   Batch()
                       .fill(view, kPages / 2 * kPage, two)
                       .copy(view + kPages / 2 * kPage, kDataVa + kArea, kPages / 2 * kPage)),
            submit(reader, Batch().copy(kDataVa, view, kPages * kPage))};
        ASSERT_TRUE(wait_done(*queue, seqnos[0]));
        ASSERT_TRUE(wait_done(reader, seqnos[1]));
        for (uint64_t page = 0; page < kPages; page++) {
            const std::byte first = data(page * kPage)[0];
            ASSERT_TRUE(first == std::byte{0} || first == std::byte{2}) << round;
            ASSERT_TRUE(std::all_of(data(page * kPage), data((page + 1) * kPage),
                                    [first](std::byte each) { return each == first; }))
                << round;
        }
    }
}

TEST_F(Compression, PagesThatAreKeptPlainStaySo) {
    const std::vector<uint8_t> first = {1, 2, 3, 4};
    const std::vector<uint8_t> second = {7, 8, 9};
    run(*queue, Batch().fill(kVa, 4 * kPage, first));
    resolve(kPage, 2 * kPage, VZE_HW_RESOLVE_KEEP);
    EXPECT_EQ(resolves(), 2u);
    const std::vector<std::byte> before = repeated(first, 2 * kPage);
    EXPECT_EQ(std::memcmp(vram(kPage), before.data(), 2 * kPage), 0);

    const uint64_t earlier = compressed();
    run(*queue, Batch().fill(kVa, 4 * kPage, second));
    EXPECT_EQ(compressed() - earlier, 2u) << "of the four";
    const std::vector<std::byte> expected = repeated(second, 4 * kPage);
    EXPECT_EQ(std::memcmp(vram(kPage), &expected[kPage], 2 * kPage), 0);
    EXPECT_EQ(std::memcmp(seen(0, 4 * kPage), expected.data(), 4 * kPage), 0);

    // Nor does a copy from a compressed page compress one, nor anything else change its state.
    run(*queue, Batch().fill(kVa + kArea, kPage, first).copy(kVa + kPage, kVa + kArea, kPage));
    EXPECT_EQ(std::memcmp(vram(kPage), before.data(), kPage), 0);
    resolve(0, 4 * kPage);
    run(*queue, Batch().fill(kVa + kPage, kPage, second));
    EXPECT_EQ(std::memcmp(vram(kPage), expected.data(), kPage), 0);
    // What the CPU writes there is what the device reads.
    std::memset(vram(2 * kPage), 0x42, kPage);
    EXPECT_EQ(seen(2 * kPage, kPage)[17], std::byte{0x42});

    clear(kPage, 2 * kPage);
    run(*queue, Batch().fill(kVa, 4 * kPage, first));
    EXPECT_EQ(std::memcmp(seen(kPage, 2 * kPage), before.data(), 2 * kPage), 0);
    EXPECT_EQ(vram(2 * kPage)[kPage - 1], std::byte{0x42}) << "compressed again";
}

TEST_F(Compression, AResolveForGoodHoldsAgainstRunningWork) {
    constexpr uint64_t kPages = 64;
    for (int round = 0; round < 50; round++) {
        const std::vector<uint8_t> pattern = {static_cast<uint8_t>(round), 5, 6};
        const std::vector<std::byte> expected = repeated(pattern, kPages * kPage);
        clear(0, 2 * kPages * kPage);
        Batch batch;
        for (int i = 0; i < 8; i++)
            batch.fill(kVa, kPages * kPage, pattern)
                .copy(kVa + kPages * kPage, kVa, kPages * kPage);
        const uint64_t seqno = submit(*queue, batch);
        resolve(0, 2 * kPages * kPage, VZE_HW_RESOLVE_KEEP);
        ASSERT_TRUE(wait_done(*queue, seqno));
        ASSERT_EQ(std::memcmp(vram(0), expected.data(), expected.size()), 0) << round;
        ASSERT_EQ(std::memcmp(vram(expected.size()), expected.data(), expected.size()), 0) << round;
    }
}

class NoCompression : public TestDevice {
protected:
    NoCompression()
        : TestDevice(
              {.vram_size = kVramSize, .num_queues = 4, .pool_engines = 2, .compression = false}) {}
};

TEST_F(NoCompression, CompressibleLeavesAreBadEntries) {
    create_space(1);
    map_data(1);
    space(1).map(kVa, 0, 2 << 20, VZE_HW_PTE_VRAM | VZE_HW_PTE_COMPRESSIBLE, 1);
    EXPECT_EQ(device->bar().ident().features & VZE_HW_FEATURE_COMPRESSION, 0u);
    submit(create_queue(0, 1), Batch().copy(kDataVa, kVa, 8));
    EXPECT_EQ(next_fault().reason, static_cast<uint32_t>(VZE_HW_FAULT_BAD_PTE));
}

TEST_F(NoCompression, PagesAreClearedAllTheSame) {
    create_space(1);
    map_data(1);
    std::memset(vram(0), 0xcc, 2 * kPage);
    EXPECT_EQ(control(VZE_HW_CTRL_CLEAR, 0, {0, 2 * kPage}).result, VZE_HW_RESULT_OK);
    run(create_queue(0, 1), Batch().copy(kDataVa, kVramVa, 2 * kPage));
    const std::vector<std::byte> zeros(2 * kPage);
    EXPECT_EQ(std::memcmp(data(0), zeros.data(), 2 * kPage), 0);
}

} // namespace
} // namespace vgpu::test
