// SPDX-License-Identifier: MIT
// Command queues: creation, synchronising, order between queues.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

class Queues : public GpuTest {};

TEST_F(Queues, WhatTheySayAboutThemselves) {
    Queue queue(context_, device_, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
    uint32_t value = 9;
    EXPECT_OK(zeCommandQueueGetOrdinal(queue.get(), &value));
    EXPECT_EQ(0u, value);
    value = 9;
    EXPECT_OK(zeCommandQueueGetIndex(queue.get(), &value));
    EXPECT_EQ(0u, value);
    ze_command_queue_flags_t flags = 9;
    EXPECT_OK(zeCommandQueueGetFlags(queue.get(), &flags));
    EXPECT_EQ(0u, flags);
    ze_command_queue_mode_t mode{};
    EXPECT_OK(zeCommandQueueGetMode(queue.get(), &mode));
    EXPECT_EQ(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, mode);
    ze_command_queue_priority_t priority{};
    EXPECT_OK(zeCommandQueueGetPriority(queue.get(), &priority));
    EXPECT_EQ(ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW, priority);
}

TEST_F(Queues, CreateErrors) {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ze_command_queue_handle_t queue = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandQueueCreate(context_, device_, nullptr, &queue));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandQueueCreate(context_, device_, &desc, nullptr));
    desc.flags = 8;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandQueueCreate(context_, device_, &desc, &queue));
    desc.flags = 0;
    desc.mode = static_cast<ze_command_queue_mode_t>(3);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandQueueCreate(context_, device_, &desc, &queue));
    desc.mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
    desc.priority = static_cast<ze_command_queue_priority_t>(3);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandQueueCreate(context_, device_, &desc, &queue));
    desc.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
    desc.ordinal = 1;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeCommandQueueCreate(context_, device_, &desc, &queue));
}

TEST_F(Queues, DescriptorWithoutType) {
    ze_command_queue_desc_t desc{};
    ze_command_queue_handle_t queue = nullptr;
    ASSERT_OK(zeCommandQueueCreate(context_, device_, &desc, &queue));
    EXPECT_OK(zeCommandQueueDestroy(queue));
}

TEST_F(Queues, AllPriorities) {
    for (auto priority : {ZE_COMMAND_QUEUE_PRIORITY_NORMAL, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
                          ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH}) {
        Queue queue(context_, device_, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, priority);
        CommandList commands(context_, device_);
        Buffer host = Buffer::host(context_, kPage);
        const uint8_t value = 5;
        EXPECT_OK(zeCommandListAppendMemoryFill(commands.get(), host.get(), &value, 1, kPage,
                                                nullptr, 0, nullptr));
        EXPECT_OK(zeCommandListClose(commands.get()));
        EXPECT_OK(queue.execute(commands));
        EXPECT_OK(queue.wait());
        EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 5));
    }
}

TEST_F(Queues, AHighPriorityIsServedBeforeLowOnes) {
    // Eight queues of low priority with a unit of work each, and one of high priority with two. By
    // turns it would end last. With its priority it ends before most of the others; seeing that
    // once is enough, for an engine of the device can lose its processor.
    constexpr uint32_t kLow = 8, kFills = 32, kAttempts = 3;
    constexpr size_t kFill = kMiB / 4;
    Buffer targets = Buffer::device(context_, device_, (kLow + 1) * kFill);
    uint32_t attempts = 0;
    bool before = false;
    for (; attempts < kAttempts && !before; attempts++) {
        Events gate(context_, 1);
        Events arrived(context_, kLow + 1);
        Events ends(context_, kLow + 1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
        ze_event_handle_t go = gate[0];
        std::vector<std::unique_ptr<CommandList>> lists;
        std::vector<std::unique_ptr<Queue>> queues;
        for (uint32_t i = 0; i <= kLow; i++) {
            const bool high = i == kLow;
            lists.push_back(std::make_unique<CommandList>(context_, device_));
            queues.push_back(
                std::make_unique<Queue>(context_, device_, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
                                        high ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
                                             : ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW));
            ze_command_list_handle_t commands = lists[i]->get();
            ASSERT_OK(zeCommandListAppendSignalEvent(commands, arrived[i]));
            ASSERT_OK(zeCommandListAppendWaitOnEvents(commands, 1, &go));
            const uint8_t value = static_cast<uint8_t>(i + 1);
            const uint32_t fills = high ? 2 * kFills : kFills;
            for (uint32_t fill = 1; fill <= fills; fill++)
                ASSERT_OK(zeCommandListAppendMemoryFill(
                    commands, targets.bytes() + i * kFill, &value, 1, kFill,
                    fill == fills ? ends[i] : nullptr, 0, nullptr));
            ASSERT_OK(zeCommandListClose(commands));
            ASSERT_OK(queues[i]->execute(*lists[i]));
        }
        for (uint32_t i = 0; i <= kLow; i++)
            ASSERT_OK(zeEventHostSynchronize(arrived[i], kLongWait));
        ASSERT_OK(zeEventHostSignal(go));
        std::vector<uint64_t> ended;
        for (uint32_t i = 0; i <= kLow; i++) {
            ASSERT_OK(queues[i]->wait());
            ze_kernel_timestamp_result_t time{};
            ASSERT_OK(zeEventQueryKernelTimestamp(ends[i], &time));
            ended.push_back(time.context.kernelEnd);
        }
        const auto later = std::count_if(ended.begin(), ended.end() - 1,
                                         [&](uint64_t low) { return low > ended.back(); });
        before = later > kLow / 2;
    }
    EXPECT_TRUE(before) << attempts << " attempts";
}

TEST_F(Queues, SynchronousSubmissionHasFinishedAtTheReturn) {
    Queue queue(context_, device_, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    CommandList commands(context_, device_);
    Buffer host = Buffer::host(context_, kMiB);
    const uint8_t value = 6;
    EXPECT_OK(zeCommandListAppendMemoryFill(commands.get(), host.get(), &value, 1, kMiB, nullptr, 0,
                                            nullptr));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(queue.execute(commands));
    EXPECT_EQ(-1, firstDifferent(host.get(), kMiB, 6));
}

TEST_F(Queues, SynchronizeTimesOut) {
    Queue queue(context_, device_);
    EXPECT_OK(queue.wait(0)) << "nothing was submitted";
    CommandList commands(context_, device_);
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    EXPECT_OK(zeCommandListAppendBarrier(commands.get(), nullptr, 1, &go));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(queue.execute(commands));
    EXPECT_ZE(ZE_RESULT_NOT_READY, queue.wait(0));
    EXPECT_ZE(ZE_RESULT_NOT_READY, queue.wait(1'000'000));
    EXPECT_OK(zeEventHostSignal(go));
    EXPECT_OK(queue.wait(UINT64_MAX));
}

TEST_F(Queues, RunBesideEachOther) {
    // The first waits for what the second does: in one line they would never end.
    Queue first(context_, device_), second(context_, device_);
    CommandList waits(context_, device_), signals(context_, device_);
    Events events(context_, 2);
    ze_event_handle_t go = events[0];
    Buffer host = Buffer::host(context_, 2 * kPage);
    const uint8_t one = 1, two = 2;
    EXPECT_OK(
        zeCommandListAppendMemoryFill(waits.get(), host.get(), &one, 1, kPage, events[1], 1, &go));
    EXPECT_OK(zeCommandListAppendMemoryFill(signals.get(), host.bytes() + kPage, &two, 1, kPage, go,
                                            0, nullptr));
    EXPECT_OK(zeCommandListClose(waits.get()));
    EXPECT_OK(zeCommandListClose(signals.get()));
    EXPECT_OK(first.execute(waits));
    EXPECT_ZE(ZE_RESULT_NOT_READY, first.wait(0));
    EXPECT_OK(second.execute(signals));
    EXPECT_OK(first.wait());
    EXPECT_OK(second.wait());
    EXPECT_OK(zeEventQueryStatus(events[1]));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 1));
    EXPECT_EQ(-1, firstDifferent(host.bytes() + kPage, kPage, 2));
}

TEST_F(Queues, ManyThatWaitCostNothing) {
    constexpr size_t kCount = 48;
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    Buffer host = Buffer::host(context_, kCount * 64);
    std::memset(host.get(), 0, kCount * 64);
    std::vector<std::unique_ptr<ImmediateList>> lists;
    for (size_t i = 0; i < kCount; i++) {
        lists.push_back(std::make_unique<ImmediateList>(context_, device_));
        const uint8_t value = static_cast<uint8_t>(i + 1);
        ASSERT_OK(zeCommandListAppendMemoryFill(lists.back()->get(), host.bytes() + i * 64, &value,
                                                1, 64, nullptr, 1, &go));
    }
    // Another queue gets through meanwhile.
    Buffer other = Buffer::host(context_, kPage);
    EXPECT_OK(list().fill(other.get(), 9, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kCount * 64, 0));
    EXPECT_OK(zeEventHostSignal(go));
    for (size_t i = 0; i < kCount; i++) {
        EXPECT_OK(lists[i]->wait());
        EXPECT_EQ(-1, firstDifferent(host.bytes() + i * 64, 64, static_cast<uint8_t>(i + 1)));
    }
}

TEST_F(Queues, DestroyedWhileItsWorkWaits) {
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 0, kPage);
    {
        ImmediateList waiting(context_, device_);
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendMemoryFill(waiting.get(), host.get(), &value, 1, kPage,
                                                nullptr, 1, &go));
        EXPECT_ZE(ZE_RESULT_NOT_READY, waiting.wait(0));
    }
    EXPECT_OK(list().fill(host.bytes() + 8, 2, 8));
    EXPECT_EQ(0, host.bytes()[0]);
    EXPECT_EQ(2, host.bytes()[8]);
}

TEST_F(Queues, FromSeveralThreads) {
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] {
            ze_command_queue_desc_t desc{};
            desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
            ze_command_list_handle_t mine = nullptr;
            if (zeCommandListCreateImmediate(context_, device_, &desc, &mine)) {
                failures++;
                return;
            }
            std::vector<uint8_t> bytes(3 * kPage);
            for (uint8_t i = 1; i < 50; i++) {
                const uint8_t value = static_cast<uint8_t>(i + t);
                if (zeCommandListAppendMemoryFill(mine, bytes.data(), &value, 1, bytes.size(),
                                                  nullptr, 0, nullptr) ||
                    zeCommandListHostSynchronize(mine, kLongWait) ||
                    firstDifferent(bytes.data(), bytes.size(), value) != -1)
                    failures++;
            }
            if (zeCommandListDestroy(mine))
                failures++;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(0, failures);
}

TEST_F(Queues, ExecuteErrors) {
    Queue queue(context_, device_);
    CommandList commands(context_, device_);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandQueueExecuteCommandLists(queue.get(), 1, nullptr, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeCommandQueueExecuteCommandLists(queue.get(), 0, commands.address(), nullptr));
}

TEST_F(Queues, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    CommandList commands(context_, device_);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zeCommandQueueExecuteCommandLists(nullptr, 1, commands.address(), nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeCommandQueueSynchronize(nullptr, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeCommandQueueDestroy(nullptr));
}

} // namespace
