// SPDX-License-Identifier: MIT
#pragma once

#include "batch.h"
#include "device.h"
#include "page_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace vgpu::test {

inline constexpr uint64_t kRamSize = 96ULL << 20;
inline constexpr uint64_t kVramSize = 64ULL << 20;
inline constexpr uint64_t kTablesAt = 1ULL
                                      << 20; ///< page tables, rings and batches are taken from here
inline constexpr uint64_t kDataAt = 32ULL << 20;    ///< tests use RAM from here on as they like
inline constexpr uint64_t kDataVa = 0x10000000;     ///< where map_data() maps it
inline constexpr uint64_t kVramVa = 0x7f0000000000; ///< where map_data() maps VRAM

/** A running device with a fake guest, driven the way a kernel driver does it. */
class TestDevice : public ::testing::Test {
protected:
    explicit TestDevice(DeviceOptions options = {.vram_size = kVramSize,
                                                 .num_queues = 320,
                                                 .pool_engines = 3,
                                                 .strict = true});
    ~TestDevice() override;

    /** One queue's ring and what has been put into it. */
    struct DriverQueue {
        uint32_t id = 0;
        uint32_t asid = 0;
        uint32_t entries = 0;
        uint64_t ring_gpa = 0;
        uint32_t tail = 0;
    };

    // Control ring.
    struct ControlResult {
        uint32_t result = VZE_HW_RESULT_PENDING;
        uint64_t out = 0;
    };
    /** Puts one entry into the control ring and waits for its interrupt. */
    ControlResult control(uint32_t opcode, uint32_t id = 0, std::array<uint64_t, 4> args = {});
    ControlResult control(const vze_hw_ctrl_entry& entry);

    // Address spaces.
    /** Makes address space @p asid with empty tables. */
    PageTables& create_space(uint32_t asid);
    PageTables& space(uint32_t asid) { return *spaces_.at(asid); }
    /** Maps the data part of RAM at kDataVa and VRAM at kVramVa, writable, in 4 KiB and 2 MiB
     * leaves. */
    void map_data(uint32_t asid);
    uint32_t open_window(uint32_t asid, uint64_t start, uint64_t end);
    void close_window(uint32_t slot);
    /** Changes entries as the manual prescribes. */
    void change(uint32_t asid, uint64_t start, uint64_t end, const std::function<void()>& edit);

    // Queues.
    DriverQueue& create_queue(uint32_t id, uint32_t asid, uint32_t entries = 64,
                              uint32_t priority = VZE_HW_PRIORITY_NORMAL);
    /** Puts a ring entry, without the doorbell. */
    void put(DriverQueue& queue, const vze_hw_ring_entry& entry);
    void ring(DriverQueue& queue);
    void ring_doorbell(uint32_t vector);
    /** Places the commands in fresh memory, mapped in the queue's space, and returns their address.
     */
    uint64_t place(uint32_t asid, const Batch& batch);
    /** Submits and returns the seqno. */
    uint64_t submit(DriverQueue& queue, const Batch& batch);
    /** Submits and waits until it is done; fails the test when it does not end. */
    void run(DriverQueue& queue, const Batch& batch);
    [[nodiscard]] bool wait_done(const DriverQueue& queue, uint64_t seqno);
    [[nodiscard]] bool wait_state(const DriverQueue& queue, uint32_t state);
    uint32_t state(uint32_t queue) { return load_acquire(device->bar().queue(queue).state); }

    /** Takes the next fault record, waiting for it; fails the test when none comes. */
    vze_hw_fault next_fault();
    /** Number of fault records that wait to be taken. */
    uint32_t pending_faults();

    std::byte* ram(uint64_t gpa) { return ram_.data() + gpa; }
    std::byte* data(uint64_t offset = 0) { return ram(kDataAt + offset); }
    std::byte* vram(uint64_t offset = 0) { return device->bar().vram().data() + offset; }
    uint64_t& word(uint64_t data_offset) { return *reinterpret_cast<uint64_t*>(data(data_offset)); }
    uint64_t counter(vze_hw_counter counter) { return device->counters()[counter]; }

    /** Waits until @p condition holds; false after a minute. */
    [[nodiscard]] static bool eventually(const std::function<bool()>& condition);

    FileDescriptor ram_file_;
    Mapping ram_;
    std::unique_ptr<PageAllocator> pages;
    std::unique_ptr<Device> device;

private:
    std::map<uint32_t, std::unique_ptr<PageTables>> spaces_;
    std::map<uint32_t, uint64_t> next_batch_va_;
    std::map<uint32_t, DriverQueue> queues_;
    uint32_t ctrl_tail_ = 0;
    uint32_t fault_tail_ = 0;
    uint64_t seqno_ = 0;
    uint64_t next_ring_va_ = 0x100000;
};

/** Fills with bytes that differ from place to place, repeatably. */
void scramble(std::span<std::byte> bytes, uint64_t seed);

} // namespace vgpu::test
