// SPDX-License-Identifier: MIT
// Events and event pools: host and device signals, waits, resets, timestamps.
#include <cstring>
#include <thread>

#include <time.h>

#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

class Event : public GpuTest {};

TEST_F(Event, HostSignalAndReset) {
    Events events(context_, 2);
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[0]));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventHostSynchronize(events[0], 0));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventHostSynchronize(events[0], 1'000'000));
    EXPECT_OK(zeEventHostSignal(events[0]));
    EXPECT_OK(zeEventQueryStatus(events[0]));
    EXPECT_OK(zeEventHostSynchronize(events[0], 0));
    EXPECT_OK(zeEventHostSynchronize(events[0], UINT64_MAX));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[1])) << "the neighbour";
    EXPECT_OK(zeEventHostReset(events[0]));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[0]));
}

TEST_F(Event, DeviceSignal) {
    Events events(context_, 3);
    Buffer host = Buffer::host(context_, kPage);
    const uint8_t value = 8;
    EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), host.get(), &value, 1, kPage, events[0],
                                            0, nullptr));
    EXPECT_OK(zeEventHostSynchronize(events[0], kLongWait));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 8));
    EXPECT_OK(zeCommandListAppendSignalEvent(list().get(), events[1]));
    EXPECT_OK(zeEventHostSynchronize(events[1], kLongWait));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[2]));
}

TEST_F(Event, DeviceReset) {
    Events events(context_, 1);
    EXPECT_OK(zeEventHostSignal(events[0]));
    EXPECT_OK(zeCommandListAppendEventReset(list().get(), events[0]));
    EXPECT_OK(list().wait());
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[0]));
}

TEST_F(Event, DeviceWaitsForTheHost) {
    Events events(context_, 2);
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 0, kPage);
    ze_event_handle_t go = events[0];
    EXPECT_OK(zeCommandListAppendWaitOnEvents(list().get(), 1, &go));
    EXPECT_OK(list().fillAsync(host.get(), 3, kPage));
    EXPECT_ZE(ZE_RESULT_NOT_READY, list().wait(50'000'000));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 0));
    EXPECT_OK(zeEventHostSignal(go));
    EXPECT_OK(list().wait());
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 3));
}

TEST_F(Event, WaitForSeveral) {
    Events events(context_, 4);
    ze_event_handle_t all[] = {events[0], events[1], events[2]};
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 0, kPage);
    const uint8_t value = 5;
    EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), host.get(), &value, 1, kPage, events[3],
                                            3, all));
    for (int i = 2; i >= 0; i--) {
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventHostSynchronize(events[3], 10'000'000));
        EXPECT_EQ(0, host.bytes()[0]);
        EXPECT_OK(zeEventHostSignal(all[i]));
    }
    EXPECT_OK(zeEventHostSynchronize(events[3], kLongWait));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 5));
    for (ze_event_handle_t event : all)
        EXPECT_OK(zeEventQueryStatus(event)) << "waiting does not reset";
}

TEST_F(Event, ChainThroughQueuesAndHost) {
    constexpr uint32_t kLinks = 12;
    Events events(context_, kLinks + 1);
    Buffer device = Buffer::device(context_, device_, kPage);
    std::vector<std::unique_ptr<ImmediateList>> lists;
    for (uint32_t i = 0; i < kLinks; i++) {
        lists.push_back(std::make_unique<ImmediateList>(context_, device_));
        ze_event_handle_t before = events[i];
        const uint8_t value = static_cast<uint8_t>(i + 1);
        EXPECT_OK(zeCommandListAppendMemoryFill(lists.back()->get(), device.bytes() + i, &value, 1,
                                                kPage - i, events[i + 1], 1, &before));
    }
    EXPECT_OK(zeEventHostSignal(events[0]));
    EXPECT_OK(zeEventHostSynchronize(events[kLinks], kLongWait));
    std::vector<uint8_t> seen = readBack(device.get(), kPage);
    for (uint32_t i = 0; i + 1 < kLinks; i++)
        EXPECT_EQ(i + 1, seen[i]);
    EXPECT_EQ(-1, firstDifferent(seen.data() + kLinks - 1, kPage - kLinks + 1, kLinks));
}

TEST_F(Event, HostSleepsUntilTheSignalOfAnotherThread) {
    Events events(context_, 1);
    std::thread other([&] {
        timespec pause{0, 100'000'000};
        nanosleep(&pause, nullptr);
        zeEventHostSignal(events[0]);
    });
    EXPECT_OK(zeEventHostSynchronize(events[0], UINT64_MAX));
    other.join();
}

TEST_F(Event, SlotUsedAgainIsReset) {
    ze_event_pool_desc_t poolDesc{};
    poolDesc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    poolDesc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    poolDesc.count = 1;
    ze_event_pool_handle_t pool = nullptr;
    ASSERT_OK(zeEventPoolCreate(context_, &poolDesc, 0, nullptr, &pool));
    ze_event_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    for (int round = 0; round < 2; round++) {
        ze_event_handle_t event = nullptr;
        ASSERT_OK(zeEventCreate(pool, &desc, &event));
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
        EXPECT_OK(zeEventHostSignal(event));
        EXPECT_OK(zeEventDestroy(event));
    }
    EXPECT_OK(zeEventPoolDestroy(pool));
}

TEST_F(Event, WhatTheySayAboutThemselves) {
    Events events(context_, 1);
    ze_event_pool_handle_t pool = nullptr;
    EXPECT_OK(zeEventGetEventPool(events[0], &pool));
    EXPECT_EQ(events.pool(), pool);
    ze_event_scope_flags_t scope = 0;
    EXPECT_OK(zeEventGetSignalScope(events[0], &scope));
    EXPECT_EQ(uint32_t{ZE_EVENT_SCOPE_FLAG_HOST}, scope);
    scope = 0;
    EXPECT_OK(zeEventGetWaitScope(events[0], &scope));
    EXPECT_EQ(uint32_t{ZE_EVENT_SCOPE_FLAG_HOST}, scope);
    ze_context_handle_t context = nullptr;
    EXPECT_OK(zeEventPoolGetContextHandle(pool, &context));
    EXPECT_EQ(context_, context);
    ze_event_pool_flags_t flags = 0;
    EXPECT_OK(zeEventPoolGetFlags(pool, &flags));
    EXPECT_EQ(uint32_t{ZE_EVENT_POOL_FLAG_HOST_VISIBLE}, flags);
}

TEST_F(Event, KernelTimestamps) {
    Events events(context_, 2, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    Buffer device = Buffer::device(context_, device_, 4 * kMiB);
    const uint8_t value = 8;
    for (int i = 0; i < 2; i++)
        EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), device.get(), &value, 1, 4 * kMiB,
                                                events[i], 0, nullptr));
    EXPECT_OK(list().wait());
    ze_kernel_timestamp_result_t first{}, second{};
    ASSERT_OK(zeEventQueryKernelTimestamp(events[0], &first));
    ASSERT_OK(zeEventQueryKernelTimestamp(events[1], &second));
    EXPECT_LT(first.global.kernelStart, first.global.kernelEnd);
    EXPECT_LE(first.context.kernelStart, first.context.kernelEnd);
    EXPECT_LE(first.global.kernelEnd, second.global.kernelStart);
    EXPECT_LT(second.global.kernelStart, second.global.kernelEnd);

    // The same written by the device into memory.
    Buffer host = Buffer::host(context_, kPage);
    ze_event_handle_t both[] = {events[0], events[1]};
    const size_t offsets[] = {64, 512};
    EXPECT_OK(zeCommandListAppendQueryKernelTimestamps(list().get(), 2, both, host.get(), offsets,
                                                       nullptr, 0, nullptr));
    EXPECT_OK(list().wait());
    ze_kernel_timestamp_result_t written{};
    std::memcpy(&written, host.bytes() + 64, sizeof written);
    EXPECT_EQ(first.global.kernelStart, written.global.kernelStart);
    EXPECT_EQ(first.global.kernelEnd, written.global.kernelEnd);
    std::memcpy(&written, host.bytes() + 512, sizeof written);
    EXPECT_EQ(second.global.kernelEnd, written.global.kernelEnd);
}

/* Of each kind of copy: in order, and between what the device's clock says before and after. */
TEST_F(Event, TimestampsOfCopies) {
    constexpr size_t kSize = kMiB;
    Buffer device = Buffer::device(context_, device_, kSize);
    Buffer host = Buffer::host(context_, kSize);
    std::vector<uint8_t> heap(kSize, 5);
    ze_context_handle_t other = makeContext();
    Buffer elsewhere = Buffer::device(other, device_, kSize);
    const ze_copy_region_t region{0, 0, 0, 512, 512, 2};
    const uint32_t pattern = 0x01020304;
    constexpr uint32_t kCopies = 6;
    for (const bool immediate : {true, false}) {
        SCOPED_TRACE(immediate);
        Events events(context_, kCopies, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
        CommandList recorded(context_, device_, ZE_COMMAND_LIST_FLAG_IN_ORDER);
        ze_command_list_handle_t commands = immediate ? list().get() : recorded.get();
        uint64_t hostBefore = 0, before = 0, hostAfter = 0, after = 0;
        ASSERT_OK(zeDeviceGetGlobalTimestamps(device_, &hostBefore, &before));
        EXPECT_OK(zeCommandListAppendMemoryCopy(commands, device.get(), host.get(), kSize,
                                                events[0], 0, nullptr));
        EXPECT_OK(zeCommandListAppendMemoryCopy(commands, heap.data(), device.get(), kSize,
                                                events[1], 0, nullptr));
        EXPECT_OK(zeCommandListAppendMemoryCopyRegion(commands, host.get(), &region, 512, 512 * 512,
                                                      device.get(), &region, 512, 512 * 512,
                                                      events[2], 0, nullptr));
        EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(
            commands, host.get(), other, elsewhere.get(), kSize, events[3], 0, nullptr));
        EXPECT_OK(zeCommandListAppendMemoryFill(commands, device.get(), &pattern, sizeof pattern,
                                                kSize, events[4], 0, nullptr));
        EXPECT_OK(zeCommandListAppendBarrier(commands, events[5], 0, nullptr));
        if (immediate) {
            EXPECT_OK(list().wait());
        } else {
            Queue queue(context_, device_);
            EXPECT_OK(zeCommandListClose(recorded.get()));
            EXPECT_OK(queue.execute(recorded));
            EXPECT_OK(queue.wait());
        }
        ASSERT_OK(zeDeviceGetGlobalTimestamps(device_, &hostAfter, &after));
        EXPECT_LT(hostBefore, hostAfter);
        uint64_t last = before;
        for (uint32_t i = 0; i < kCopies; i++) {
            SCOPED_TRACE(i);
            ze_kernel_timestamp_result_t time{};
            ASSERT_OK(zeEventQueryKernelTimestamp(events[i], &time));
            EXPECT_LE(last, time.global.kernelStart);
            EXPECT_LE(time.global.kernelStart, time.global.kernelEnd);
            EXPECT_LE(time.context.kernelStart, time.context.kernelEnd);
            last = time.global.kernelEnd;
        }
        EXPECT_LE(last, after);
    }
    elsewhere.reset();
    EXPECT_OK(zeContextDestroy(other));
}

TEST_F(Event, TimestampOfAnEventThatIsNotSignalled) {
    Events events(context_, 1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_kernel_timestamp_result_t result{};
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryKernelTimestamp(events[0], &result));
}

TEST_F(Event, PoolErrors) {
    ze_event_pool_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    desc.count = 1;
    ze_event_pool_handle_t pool = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeEventPoolCreate(context_, nullptr, 0, nullptr, &pool));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeEventPoolCreate(context_, &desc, 0, nullptr, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE, zeEventPoolCreate(context_, &desc, 1, nullptr, &pool));
    desc.count = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE, zeEventPoolCreate(context_, &desc, 0, nullptr, &pool));
    desc.count = 1;
    desc.flags = 0x10;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeEventPoolCreate(context_, &desc, 0, nullptr, &pool));
}

TEST_F(Event, EventErrors) {
    Events events(context_, 1);
    ze_event_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    ze_event_handle_t event = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeEventCreate(events.pool(), nullptr, &event));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeEventCreate(events.pool(), &desc, nullptr));
    desc.index = 1;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventCreate(events.pool(), &desc, &event));
    desc.index = 0;
    desc.signal = 8;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeEventCreate(events.pool(), &desc, &event));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeCommandListAppendBarrier(list().get(), nullptr, 1, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListAppendWaitOnEvents(list().get(), 1, nullptr));
}

TEST_F(Event, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    EXPECT_ZE(null, zeEventHostSignal(nullptr));
    EXPECT_ZE(null, zeEventHostReset(nullptr));
    EXPECT_ZE(null, zeEventQueryStatus(nullptr));
    EXPECT_ZE(null, zeEventHostSynchronize(nullptr, 0));
    EXPECT_ZE(null, zeEventDestroy(nullptr));
    EXPECT_ZE(null, zeEventPoolDestroy(nullptr));
    EXPECT_ZE(null, zeCommandListAppendSignalEvent(list().get(), nullptr));
}

} // namespace
