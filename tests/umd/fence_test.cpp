// SPDX-License-Identifier: MIT
// Fences of a queue.
#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

class Fences : public GpuTest {};

TEST_F(Fences, SignalledByTheSubmissionTheyWereGivenTo) {
    Queue queue(context_, device_);
    Fence fence(queue);
    CommandList commands(context_, device_);
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    Buffer host = Buffer::host(context_, kPage);
    const uint8_t value = 4;
    EXPECT_OK(zeCommandListAppendMemoryFill(commands.get(), host.get(), &value, 1, kPage, nullptr,
                                            1, &go));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence.get()));
    for (int round = 0; round < 3; round++) {
        EXPECT_OK(queue.execute(commands, fence.get()));
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence.get()));
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence.get(), 0));
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence.get(), 1'000'000));
        EXPECT_OK(zeEventHostSignal(go));
        EXPECT_OK(zeFenceHostSynchronize(fence.get(), kLongWait));
        EXPECT_OK(zeFenceQueryStatus(fence.get()));
        EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 4));
        EXPECT_OK(zeEventHostReset(go));
        EXPECT_OK(zeFenceReset(fence.get()));
        EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence.get()));
    }
}

TEST_F(Fences, CreatedSignalled) {
    Queue queue(context_, device_);
    Fence fence(queue, ZE_FENCE_FLAG_SIGNALED);
    EXPECT_OK(zeFenceQueryStatus(fence.get()));
    EXPECT_OK(zeFenceHostSynchronize(fence.get(), 0));
    EXPECT_OK(zeFenceReset(fence.get()));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence.get()));
}

TEST_F(Fences, OfSeveralSubmissionsEachHasItsOwn) {
    Queue queue(context_, device_);
    Fence first(queue), second(queue);
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    CommandList free(context_, device_), waits(context_, device_);
    EXPECT_OK(zeCommandListAppendBarrier(waits.get(), nullptr, 1, &go));
    EXPECT_OK(zeCommandListClose(free.get()));
    EXPECT_OK(zeCommandListClose(waits.get()));
    EXPECT_OK(queue.execute(free, first.get()));
    EXPECT_OK(queue.execute(waits, second.get()));
    EXPECT_OK(zeFenceHostSynchronize(first.get(), kLongWait));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeFenceQueryStatus(second.get()));
    EXPECT_OK(zeEventHostSignal(go));
    EXPECT_OK(zeFenceHostSynchronize(second.get(), UINT64_MAX));
}

TEST_F(Fences, AFaultEndsTheWait) {
    Queue queue(context_, device_);
    Fence fence(queue);
    Mapping memory = Mapping::anonymous(kPage);
    memory.bytes()[0] = 1;
    Buffer import =
        Buffer::import(context_, memory.get(), kPage, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    CommandList commands(context_, device_);
    const uint8_t value = 4;
    EXPECT_OK(zeCommandListAppendMemoryFill(commands.get(), memory.get(), &value, 1, kPage, nullptr,
                                            0, nullptr));
    EXPECT_OK(zeCommandListClose(commands.get()));
    EXPECT_OK(queue.execute(commands, fence.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, zeFenceHostSynchronize(fence.get(), kLongWait));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, queue.wait());
    EXPECT_EQ(1, memory.bytes()[0]);
}

TEST_F(Fences, Errors) {
    Queue queue(context_, device_);
    ze_fence_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    ze_fence_handle_t fence = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeFenceCreate(queue.get(), nullptr, &fence));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeFenceCreate(queue.get(), &desc, nullptr));
    desc.flags = 2;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeFenceCreate(queue.get(), &desc, &fence));
}

TEST_F(Fences, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_fence_desc_t desc{};
    ze_fence_handle_t fence = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeFenceCreate(nullptr, &desc, &fence));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeFenceHostSynchronize(nullptr, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeFenceQueryStatus(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeFenceReset(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeFenceDestroy(nullptr));
}

} // namespace
