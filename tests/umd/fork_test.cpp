// SPDX-License-Identifier: MIT
// After a fork the driver is the parent's: every call of the child answers with an error, whatever
// the parent's threads were doing, and the parent goes on.
#include <atomic>
#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

using namespace vze::test;

namespace {

class Fork : public GpuTest {
protected:
    void SetUp() override {
        SKIP_WITHOUT_DIRECT_HANDLES();
        GpuTest::SetUp();
    }
};

struct Call {
    const char* name;
    std::function<ze_result_t()> make;
};

/* What the call answers in a child; a signal is a failure. */
void expectRefused(const Call& call) {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(call.make() == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS ? 0 : 1);
    int status = -1;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_TRUE(WIFEXITED(status)) << call.name << ": signal " << WTERMSIG(status);
    EXPECT_EQ(0, WEXITSTATUS(status)) << call.name;
}

TEST_F(Fork, EveryCallOfTheChildIsRefused) {
    Buffer buffer = Buffer::host(context_, 4 * kPage);
    Events events(context_, 2);
    ze_command_queue_desc_t queueDesc{};
    queueDesc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ze_command_queue_handle_t queue = nullptr;
    ASSERT_OK(zeCommandQueueCreate(context_, device_, &queueDesc, &queue));
    ze_fence_desc_t fenceDesc{};
    fenceDesc.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    ze_fence_handle_t fence = nullptr;
    ASSERT_OK(zeFenceCreate(queue, &fenceDesc, &fence));
    ze_command_list_desc_t listDesc{};
    listDesc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_command_list_handle_t regular = nullptr;
    ASSERT_OK(zeCommandListCreate(context_, device_, &listDesc, &regular));
    ze_command_list_handle_t immediate = list().get();
    char heap[64] = {};
    void* pointer = nullptr;
    const uint8_t value = 1;

    const Call calls[] = {
        {"MemAllocDevice",
         [&] {
             auto desc = deviceDesc();
             return zeMemAllocDevice(context_, &desc, kPage, 0, device_, &pointer);
         }},
        {"MemFree", [&] { return zeMemFree(context_, buffer.get()); }},
        {"VirtualMemReserve",
         [&] { return zeVirtualMemReserve(context_, nullptr, kPage, &pointer); }},
        {"AppendMemoryCopy",
         [&] {
             return zeCommandListAppendMemoryCopy(immediate, buffer.get(), heap, sizeof heap,
                                                  nullptr, 0, nullptr);
         }},
        {"AppendMemoryFill",
         [&] {
             return zeCommandListAppendMemoryFill(regular, buffer.get(), &value, 1, kPage, nullptr,
                                                  0, nullptr);
         }},
        {"CommandListClose", [&] { return zeCommandListClose(regular); }},
        {"CommandListReset", [&] { return zeCommandListReset(regular); }},
        {"CommandListHostSynchronize",
         [&] { return zeCommandListHostSynchronize(immediate, UINT64_MAX); }},
        {"CommandListDestroy", [&] { return zeCommandListDestroy(immediate); }},
        {"CommandQueueSynchronize", [&] { return zeCommandQueueSynchronize(queue, UINT64_MAX); }},
        {"CommandQueueDestroy", [&] { return zeCommandQueueDestroy(queue); }},
        {"FenceQueryStatus", [&] { return zeFenceQueryStatus(fence); }},
        {"FenceDestroy", [&] { return zeFenceDestroy(fence); }},
        {"EventQueryStatus", [&] { return zeEventQueryStatus(events[0]); }},
        {"EventHostSignal", [&] { return zeEventHostSignal(events[0]); }},
        {"EventHostReset", [&] { return zeEventHostReset(events[0]); }},
        {"EventHostSynchronize", [&] { return zeEventHostSynchronize(events[0], UINT64_MAX); }},
        {"EventDestroy", [&] { return zeEventDestroy(events[0]); }},
        {"EventPoolDestroy", [&] { return zeEventPoolDestroy(events.pool()); }},
        {"ContextDestroy", [&] { return zeContextDestroy(context_); }},
    };
    for (const Call& call : calls)
        expectRefused(call);

    // All of it is still the parent's.
    EXPECT_OK(list().fill(buffer.get(), 5, kPage));
    EXPECT_EQ(5, buffer.bytes()[0]);
    EXPECT_OK(zeEventHostSignal(events[0]));
    EXPECT_OK(zeCommandListDestroy(regular));
    EXPECT_OK(zeFenceDestroy(fence));
    EXPECT_OK(zeCommandQueueDestroy(queue));
}

/* A child of a process whose other threads hold the driver's locks at that moment. */
TEST_F(Fork, WhileOtherThreadsAreInCalls) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
        threads.emplace_back([&] {
            while (!stop && !HasFailure()) {
                Buffer buffer = Buffer::host(context_, 4 * kPage);
                ImmediateList own(context_, device_);
                EXPECT_OK(own.fill(buffer.get(), 1, kPage));
            }
        });
    }
    ze_command_list_handle_t immediate = list().get();
    for (int i = 0; i < 20 && !HasFailure(); i++) {
        expectRefused({"MemAllocHost", [&] {
                           void* pointer = nullptr;
                           auto desc = hostDesc();
                           return zeMemAllocHost(context_, &desc, kPage, 0, &pointer);
                       }});
        expectRefused({"CommandListHostSynchronize",
                       [&] { return zeCommandListHostSynchronize(immediate, UINT64_MAX); }});
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace
