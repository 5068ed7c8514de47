// SPDX-License-Identifier: MIT
// Command lists: creation, states, order, what they say about themselves.
#include <cstring>

#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

class CommandLists : public GpuTest {
protected:
    ze_result_t appendFill(ze_command_list_handle_t commands, void* pointer, uint8_t value,
                           size_t size) {
        return zeCommandListAppendMemoryFill(commands, pointer, &value, 1, size, nullptr, 0,
                                             nullptr);
    }
};

TEST_F(CommandLists, WhatTheySayAboutThemselves) {
    CommandList regular(context_, device_, ZE_COMMAND_LIST_FLAG_IN_ORDER);
    ImmediateList immediate(context_, device_, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
                            ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    for (ze_command_list_handle_t commands : {regular.get(), immediate.get()}) {
        ze_device_handle_t device = nullptr;
        EXPECT_OK(zeCommandListGetDeviceHandle(commands, &device));
        EXPECT_EQ(device_, device);
        ze_context_handle_t context = nullptr;
        EXPECT_OK(zeCommandListGetContextHandle(commands, &context));
        EXPECT_EQ(context_, context);
        uint32_t ordinal = 99;
        EXPECT_OK(zeCommandListGetOrdinal(commands, &ordinal));
        EXPECT_EQ(0u, ordinal);
        ze_bool_t isImmediate = 2;
        EXPECT_OK(zeCommandListIsImmediate(commands, &isImmediate));
        EXPECT_EQ(commands == immediate.get(), isImmediate != 0);
    }
    ze_command_list_flags_t flags = 0;
    EXPECT_OK(zeCommandListGetFlags(regular.get(), &flags));
    EXPECT_EQ(uint32_t{ZE_COMMAND_LIST_FLAG_IN_ORDER}, flags);
    ze_command_queue_mode_t mode{};
    EXPECT_OK(zeCommandListImmediateGetMode(immediate.get(), &mode));
    EXPECT_EQ(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, mode);
    uint32_t index = 99;
    EXPECT_OK(zeCommandListImmediateGetIndex(immediate.get(), &index));
    EXPECT_EQ(0u, index);
    ze_command_queue_priority_t priority{};
    EXPECT_OK(zeCommandListImmediateGetPriority(immediate.get(), &priority));
    EXPECT_EQ(ZE_COMMAND_QUEUE_PRIORITY_NORMAL, priority);
    ze_command_queue_flags_t queueFlags = 0;
    EXPECT_OK(zeCommandListImmediateGetFlags(immediate.get(), &queueFlags));
    EXPECT_EQ(uint32_t{ZE_COMMAND_QUEUE_FLAG_IN_ORDER}, queueFlags);
}

TEST_F(CommandLists, CreateErrors) {
    ze_command_list_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_command_list_handle_t commands = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListCreate(context_, device_, nullptr, &commands));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListCreate(context_, device_, &desc, nullptr));
    desc.flags = 0x40;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListCreate(context_, device_, &desc, &commands));
    desc.flags = 0x7ffffffe;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListCreate(context_, device_, &desc, &commands));
    desc.flags = 0;
    desc.commandQueueGroupOrdinal = 1;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeCommandListCreate(context_, device_, &desc, &commands));
    ze_command_queue_desc_t queue{};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    queue.flags = 0x8;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListCreateImmediate(context_, device_, &queue, &commands));
    queue.flags = 0;
    queue.mode = static_cast<ze_command_queue_mode_t>(3);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListCreateImmediate(context_, device_, &queue, &commands));
    queue.mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
    queue.priority = static_cast<ze_command_queue_priority_t>(3);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListCreateImmediate(context_, device_, &queue, &commands));
    queue.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
    queue.ordinal = 7;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeCommandListCreateImmediate(context_, device_, &queue, &commands));
}

TEST_F(CommandLists, TheEndMarkOfTheFlagsNamesNoProperty) {
    ze_command_list_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    desc.flags = ZE_COMMAND_LIST_FLAG_FORCE_UINT32;
    ze_command_list_handle_t commands = nullptr;
    ASSERT_OK(zeCommandListCreate(context_, device_, &desc, &commands));
    ze_command_list_flags_t flags = 99;
    EXPECT_OK(zeCommandListGetFlags(commands, &flags));
    EXPECT_EQ(0u, flags);
    EXPECT_OK(zeCommandListDestroy(commands));
}

TEST_F(CommandLists, RunAsOftenAsSubmitted) {
    Buffer host = Buffer::host(context_, kPage);
    CommandList commands(context_, device_);
    Queue queue(context_, device_);
    EXPECT_OK(appendFill(commands.get(), host.get(), 7, kPage));
    EXPECT_OK(zeCommandListClose(commands.get()));
    for (int round = 0; round < 5; round++) {
        std::memset(host.get(), 0, kPage);
        EXPECT_OK(queue.execute(commands));
        EXPECT_OK(queue.wait());
        EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 7));
    }
}

TEST_F(CommandLists, ResetForgetsTheCommands) {
    Buffer host = Buffer::host(context_, kPage);
    CommandList commands(context_, device_);
    Queue queue(context_, device_);
    for (uint8_t round = 1; round < 6; round++) {
        std::memset(host.get(), 0, kPage);
        EXPECT_OK(appendFill(commands.get(), host.bytes() + round * 100, round, 100));
        EXPECT_OK(zeCommandListClose(commands.get()));
        EXPECT_OK(queue.execute(commands));
        EXPECT_OK(queue.wait());
        EXPECT_EQ(-1, firstDifferent(host.get(), round * 100, 0));
        EXPECT_EQ(-1, firstDifferent(host.bytes() + round * 100, 100, round));
        EXPECT_OK(zeCommandListReset(commands.get()));
    }
}

TEST_F(CommandLists, EmptyOnes) {
    CommandList commands(context_, device_);
    Queue queue(context_, device_);
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(queue.execute(commands));
    EXPECT_OK(queue.wait());
}

TEST_F(CommandLists, ThousandsOfCommandsInOneList) {
    constexpr size_t kCount = 5000;
    Buffer device = Buffer::device(context_, device_, kCount * 16);
    CommandList commands(context_, device_);
    Queue queue(context_, device_);
    for (size_t i = 0; i < kCount; i++)
        ASSERT_OK(appendFill(commands.get(), device.bytes() + i * 16, static_cast<uint8_t>(i), 16));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(queue.execute(commands));
    EXPECT_OK(queue.wait());
    std::vector<uint8_t> seen = readBack(device.get(), kCount * 16);
    for (size_t i = 0; i < kCount; i++)
        ASSERT_EQ(-1, firstDifferent(seen.data() + i * 16, 16, static_cast<uint8_t>(i))) << i;
}

TEST_F(CommandLists, SeveralInOneSubmissionRunInOrder) {
    Buffer host = Buffer::host(context_, kPage);
    Queue queue(context_, device_);
    std::vector<std::unique_ptr<CommandList>> lists;
    std::vector<ze_command_list_handle_t> handles;
    for (uint8_t i = 0; i < 10; i++) {
        lists.push_back(std::make_unique<CommandList>(context_, device_));
        // Each writes over the end of the one before.
        EXPECT_OK(appendFill(lists.back()->get(), host.bytes() + i * 100, i, kPage - i * 100));
        EXPECT_OK(zeCommandListAppendBarrier(lists.back()->get(), nullptr, 0, nullptr));
        EXPECT_OK(zeCommandListClose(lists.back()->get()));
        handles.push_back(lists.back()->get());
    }
    EXPECT_OK(zeCommandQueueExecuteCommandLists(queue.get(), 10, handles.data(), nullptr));
    EXPECT_OK(queue.wait());
    for (uint8_t i = 0; i < 9; i++)
        EXPECT_EQ(-1, firstDifferent(host.bytes() + i * 100, 100, i));
    EXPECT_EQ(-1, firstDifferent(host.bytes() + 900, kPage - 900, 9));
}

TEST_F(CommandLists, InOrderListsNeedNoBarriers) {
    for (int kind = 0; kind < 2; kind++) {
        Buffer device = Buffer::device(context_, device_, kMiB);
        Buffer host = Buffer::host(context_, kMiB);
        CommandList regular(context_, device_, ZE_COMMAND_LIST_FLAG_IN_ORDER);
        ImmediateList immediate(context_, device_);
        ze_command_list_handle_t commands = kind ? regular.get() : immediate.get();
        for (uint8_t round = 1; round <= 20; round++) {
            EXPECT_OK(appendFill(commands, device.get(), round, kMiB));
            EXPECT_OK(zeCommandListAppendMemoryCopy(commands, host.get(), device.get(), kMiB,
                                                    nullptr, 0, nullptr));
        }
        if (kind) {
            Queue queue(context_, device_);
            EXPECT_OK(zeCommandListClose(commands));
            EXPECT_OK(queue.execute(regular));
            EXPECT_OK(queue.wait());
        } else {
            EXPECT_OK(immediate.wait());
        }
        EXPECT_EQ(-1, firstDifferent(host.get(), kMiB, 20));
    }
}

TEST_F(CommandLists, AppendsToAClosedListSucceedAndDoNothing) {
    Buffer host = Buffer::host(context_, kPage);
    CommandList commands(context_, device_);
    Queue queue(context_, device_);
    EXPECT_OK(appendFill(commands.get(), host.get(), 1, 10));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(zeCommandListAppendBarrier(commands.get(), nullptr, 0, nullptr));
    EXPECT_OK(queue.execute(commands));
    EXPECT_OK(queue.wait());
    EXPECT_EQ(-1, firstDifferent(host.get(), 10, 1));
}

TEST_F(CommandLists, SynchronousImmediateListsHaveFinishedAtTheReturn) {
    Buffer host = Buffer::host(context_, kMiB);
    ImmediateList immediate(context_, device_, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    for (uint8_t value = 1; value < 10; value++) {
        EXPECT_OK(immediate.fillAsync(host.get(), value, kMiB));
        EXPECT_EQ(-1, firstDifferent(host.get(), kMiB, value));
    }
}

TEST_F(CommandLists, ImmediateListsTakeNoQueue) {
    ImmediateList immediate(context_, device_);
    Queue queue(context_, device_);
    ze_command_list_handle_t handle = immediate.get();
    EXPECT_NE(ZE_RESULT_SUCCESS,
              zeCommandQueueExecuteCommandLists(queue.get(), 1, &handle, nullptr));
    EXPECT_OK(zeCommandListClose(immediate.get()));
    EXPECT_OK(zeCommandListReset(immediate.get()));
}

TEST_F(CommandLists, Barriers) {
    Buffer host = Buffer::host(context_, 2 * kPage);
    Events events(context_, 2);
    ze_event_handle_t go = events[0];
    EXPECT_OK(list().fillAsync(host.get(), 3, kPage));
    EXPECT_OK(zeCommandListAppendBarrier(list().get(), events[1], 1, &go));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[1]));
    EXPECT_OK(zeEventHostSignal(go));
    EXPECT_OK(zeEventHostSynchronize(events[1], kLongWait));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 3));
    size_t size = kPage;
    const void* range = host.get();
    EXPECT_OK(zeCommandListAppendMemoryRangesBarrier(list().get(), 1, &size, &range, nullptr, 0,
                                                     nullptr));
    EXPECT_OK(list().wait());
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListAppendMemoryRangesBarrier(list().get(), 1, nullptr, &range, nullptr, 0,
                                                     nullptr));
}

TEST_F(CommandLists, GlobalTimestamps) {
    Buffer host = Buffer::host(context_, kPage);
    auto* stamps = static_cast<uint64_t*>(host.get());
    stamps[0] = stamps[1] = 0;
    EXPECT_OK(
        zeCommandListAppendWriteGlobalTimestamp(list().get(), &stamps[0], nullptr, 0, nullptr));
    EXPECT_OK(
        zeCommandListAppendWriteGlobalTimestamp(list().get(), &stamps[1], nullptr, 0, nullptr));
    EXPECT_OK(list().wait());
    uint64_t hostNow = 0, deviceNow = 0;
    EXPECT_OK(zeDeviceGetGlobalTimestamps(device_, &hostNow, &deviceNow));
    EXPECT_GT(stamps[0], 0u);
    EXPECT_GE(stamps[1], stamps[0]);
    EXPECT_GE(deviceNow, stamps[1]);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListAppendWriteGlobalTimestamp(list().get(), nullptr, nullptr, 0, nullptr));
}

TEST_F(CommandLists, ManyAtOnce) {
    std::vector<std::unique_ptr<ImmediateList>> lists;
    std::vector<Buffer> buffers;
    for (uint8_t i = 0; i < 40; i++) {
        lists.push_back(std::make_unique<ImmediateList>(context_, device_));
        buffers.push_back(Buffer::host(context_, kPage));
        ASSERT_OK(lists.back()->fillAsync(buffers.back().get(), i, kPage));
    }
    for (uint8_t i = 0; i < 40; i++) {
        EXPECT_OK(lists[i]->wait());
        EXPECT_EQ(-1, firstDifferent(buffers[i].get(), kPage, i));
    }
}

TEST_F(CommandLists, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_command_list_desc_t desc{};
    ze_command_list_handle_t commands = nullptr;
    EXPECT_ZE(null, zeCommandListCreate(context_, nullptr, &desc, &commands));
    EXPECT_ZE(null, zeCommandListClose(nullptr));
    EXPECT_ZE(null, zeCommandListReset(nullptr));
    EXPECT_ZE(null, zeCommandListDestroy(nullptr));
    EXPECT_ZE(null, zeCommandListHostSynchronize(nullptr, 0));
    EXPECT_ZE(null, zeCommandListAppendBarrier(nullptr, nullptr, 0, nullptr));
    int x = 0;
    EXPECT_ZE(null, zeCommandListAppendMemoryCopy(nullptr, &x, &x, 1, nullptr, 0, nullptr));
}

} // namespace
