// SPDX-License-Identifier: MIT
#include "test_device.h"

#include <algorithm>
#include <random>
#include <thread>

namespace vgpu::test {
namespace {

constexpr uint64_t kSlotVa = 0x5000'0000'0000;
constexpr uint64_t kSlots = 6;
constexpr uint64_t kLarge = 2ULL << 20;
constexpr uint32_t kQueues = 6;
constexpr int kRounds = 150;

/**
 * A driver thread keeps replacing what stands behind a set of addresses, by the protocol of the
 * manual, while queues read and write through them. A page that the driver got back is poisoned at
 * once: a use after the acknowledgement shows as poison in a copy, as a change of the poison, as a
 * stale use, or to ThreadSanitizer as a race.
 */
class InvalidationStress : public TestDevice {
protected:
    InvalidationStress() {
        create_space(1);
        map_data(1);
    }

    /** Bytes of every page behind slot @p slot. */
    static std::byte content(uint64_t slot) { return static_cast<std::byte>(slot + 1); }
    static constexpr std::byte kPoison{0xdd};

    bool only(const std::byte* at, uint64_t size, std::byte value) {
        return std::all_of(at, at + size, [value](std::byte byte) { return byte == value; });
    }

    /** Submits the same batch again and again until told to stop. */
    void keep_running(DriverQueue& queue, uint64_t batch, uint32_t size,
                      const std::function<void()>& check) {
        uint64_t seqno = 0;
        do {
            vze_hw_ring_entry entry = {};
            entry.batch = batch;
            entry.size = size;
            entry.seqno = ++seqno;
            put(queue, entry);
            ring(queue);
            const vze_hw_queue& regs = device->bar().queue(queue.id);
            if (!eventually([&] { return load_acquire(regs.seqno) == seqno; })) {
                ADD_FAILURE() << "queue " << queue.id << " stands, state " << state(queue.id);
                return;
            }
            check();
        } while (!end.load());
    }

    std::atomic<bool> end{false};
};

TEST_F(InvalidationStress, ReadersNeverSeeAPageThatWentBack) {
    // Two pages for each slot and one to spare; every slot shows its own bytes, whatever page it
    // has.
    std::vector<uint64_t> free_pages;
    std::array<uint64_t, kSlots> behind{};
    for (uint64_t i = 0; i < 2 * kSlots; i++)
        free_pages.push_back(kDataAt + (8 << 20) + i * VZE_HW_PAGE_SIZE);
    const auto take_page = [&](uint64_t slot) {
        const uint64_t page = free_pages.front();
        free_pages.erase(free_pages.begin());
        std::memset(ram(page), static_cast<int>(content(slot)), VZE_HW_PAGE_SIZE);
        return page;
    };
    for (uint64_t slot = 0; slot < kSlots; slot++) {
        behind[slot] = take_page(slot);
        space(1).map(kSlotVa + slot * VZE_HW_PAGE_SIZE, behind[slot], VZE_HW_PAGE_SIZE, 0);
    }

    std::vector<std::thread> users;
    for (uint32_t id = 0; id < kQueues; id++) {
        DriverQueue& queue = create_queue(id, 1);
        const uint64_t to = id * kSlots * VZE_HW_PAGE_SIZE;
        Batch batch;
        batch.copy(kDataVa + to, kSlotVa, kSlots * VZE_HW_PAGE_SIZE);
        const uint64_t va = place(1, batch);
        users.emplace_back([this, &queue, to, va, size = batch.bytes()] {
            keep_running(queue, va, size, [this, to] {
                for (uint64_t slot = 0; slot < kSlots; slot++)
                    EXPECT_TRUE(
                        only(data(to + slot * VZE_HW_PAGE_SIZE), VZE_HW_PAGE_SIZE, content(slot)))
                        << slot;
            });
        });
    }
    std::mt19937_64 random(5);
    for (int round = 0; round < kRounds; round++) {
        const uint64_t slot = random() % kSlots;
        const uint64_t va = kSlotVa + slot * VZE_HW_PAGE_SIZE;
        const uint64_t page = take_page(slot);
        change(1, va, va + VZE_HW_PAGE_SIZE, [&] { space(1).map(va, page, VZE_HW_PAGE_SIZE, 0); });
        const uint64_t old = std::exchange(behind[slot], page);
        std::memset(ram(old), static_cast<int>(kPoison), VZE_HW_PAGE_SIZE);
        free_pages.push_back(old);
    }
    end.store(true);
    for (std::thread& user : users)
        user.join();
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_FAULTS), 0u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_TLB_INVALIDATIONS), static_cast<uint64_t>(kRounds));
}

TEST_F(InvalidationStress, WritersNeverTouchAPageThatWentBack) {
    std::vector<uint64_t> free_pages;
    for (uint64_t i = 0; i < 4; i++)
        free_pages.push_back(kDataAt + (8 << 20) + i * VZE_HW_PAGE_SIZE);
    uint64_t behind = free_pages.back();
    free_pages.pop_back();
    for (const uint64_t page : free_pages)
        std::memset(ram(page), static_cast<int>(kPoison), VZE_HW_PAGE_SIZE);
    space(1).map(kSlotVa, behind, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);

    const std::vector<uint8_t> pattern = {0x5a};
    std::vector<std::thread> users;
    for (uint32_t id = 0; id < kQueues; id++) {
        DriverQueue& queue = create_queue(id, 1);
        Batch batch;
        // Each queue has its own part of the page, so that they do not race with each other.
        batch.fill(kSlotVa + id * 512, 512, pattern);
        const uint64_t va = place(1, batch);
        users.emplace_back(
            [this, &queue, va, size = batch.bytes()] { keep_running(queue, va, size, [] {}); });
    }
    for (int round = 0; round < kRounds; round++) {
        const uint64_t page = free_pages.front();
        free_pages.erase(free_pages.begin());
        ASSERT_TRUE(only(ram(page), VZE_HW_PAGE_SIZE, kPoison)) << "round " << round;
        change(1, kSlotVa, kSlotVa + VZE_HW_PAGE_SIZE,
               [&] { space(1).map(kSlotVa, page, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE); });
        const uint64_t old = std::exchange(behind, page);
        std::memset(ram(old), static_cast<int>(kPoison), VZE_HW_PAGE_SIZE);
        free_pages.push_back(old);
    }
    end.store(true);
    for (std::thread& user : users)
        user.join();
    for (const uint64_t page : free_pages)
        EXPECT_TRUE(only(ram(page), VZE_HW_PAGE_SIZE, kPoison));
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
}

TEST_F(InvalidationStress, SplittingAndJoiningWhileLargeCopiesRun) {
    // 4 MiB in VRAM behind two leaves of 2 MiB; the driver turns them into tables and back, and
    // gives the table page another meaning as soon as it may.
    const uint64_t table = pages->take();
    constexpr uint64_t kSize = 2 * kLarge;
    scramble({vram(0), kSize}, 6);
    space(1).map(kSlotVa, 0, kSize, VZE_HW_PTE_VRAM, 1);
    const uint64_t leaf = VZE_HW_PTE_VRAM | VZE_HW_PTE_PRESENT;

    std::vector<std::thread> users;
    for (uint32_t id = 0; id < 2; id++) {
        DriverQueue& queue = create_queue(id, 1);
        Batch batch;
        batch.copy(kDataVa + id * kSize, kSlotVa, kSize);
        const uint64_t va = place(1, batch);
        users.emplace_back([this, &queue, id, va, size = batch.bytes()] {
            keep_running(queue, va, size, [this, id] {
                EXPECT_EQ(std::memcmp(data(id * kSize), vram(0), kSize), 0);
            });
        });
    }
    for (int round = 0; round < kRounds / 2; round++) {
        const uint64_t va = kSlotVa + kLarge * (round % 2);
        const uint64_t memory = kLarge * (round % 2);
        for (uint64_t i = 0; i < VZE_HW_ENTRIES; i++)
            store_release(reinterpret_cast<uint64_t*>(ram(table))[i],
                          (memory + i * VZE_HW_PAGE_SIZE) | leaf);
        change(1, va, va + kLarge, [&] { space(1).set(va, table | VZE_HW_PTE_PRESENT, 1); });
        change(1, va, va + kLarge, [&] { space(1).set(va, memory | leaf | VZE_HW_PTE_LEAF, 1); });
        for (uint64_t i = 0; i < VZE_HW_ENTRIES; i++)
            store_release(reinterpret_cast<uint64_t*>(ram(table))[i], ~0ULL);
    }
    end.store(true);
    for (std::thread& user : users)
        user.join();
    EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_FAULTS), 0u);
}

} // namespace
} // namespace vgpu::test
