// SPDX-License-Identifier: MIT
#include <cstring>

#include "commands.h"
#include "fixture.h"
#include "physical.h"

using namespace vze::test;

namespace {

class Context : public GpuTest {};

TEST_F(Context, CreateForSomeDevices) {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    ze_device_handle_t device = device_;
    ASSERT_OK(zeContextCreateEx(driver_, &desc, 1, &device, &context));
    EXPECT_OK(zeContextGetStatus(context));
    {
        Buffer buffer = Buffer::device(context, device_, kPage);
        ImmediateList list(context, device_);
        EXPECT_OK(list.fill(buffer.get(), 1, kPage));
    }
    EXPECT_OK(zeContextDestroy(context));
}

TEST_F(Context, DescriptorWithoutType) {
    ze_context_desc_t desc{};
    ze_context_handle_t context = nullptr;
    ASSERT_OK(zeContextCreate(driver_, &desc, &context));
    EXPECT_OK(zeContextDestroy(context));
}

TEST_F(Context, Errors) {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(driver_, nullptr, &context));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(driver_, &desc, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeContextCreateEx(driver_, &desc, 1, nullptr, &context));
    desc.flags = 0x10;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeContextCreate(driver_, &desc, &context));
}

TEST_F(Context, ManyAtOnce) {
    std::vector<ze_context_handle_t> contexts;
    for (int i = 0; i < 24; i++)
        contexts.push_back(makeContext());
    // Each has its own address space: the same memory can be imported in all of them.
    Mapping memory = Mapping::anonymous(kPage);
    memory.bytes()[0] = 1;
    for (ze_context_handle_t context : contexts) {
        ASSERT_NE(nullptr, context);
        void* pointer = nullptr;
        EXPECT_OK(importMemory(context, memory.get(), kPage, &pointer));
    }
    for (ze_context_handle_t context : contexts) {
        EXPECT_OK(zeMemFree(context, memory.get()));
        EXPECT_OK(zeContextDestroy(context));
    }
}

TEST_F(Context, MemoryOfOneIsUnknownInAnother) {
    ze_context_handle_t other = makeContext();
    Buffer buffer = Buffer::device(context_, device_, kPage);
    EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(other, buffer.get()).type);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(other, buffer.get()));
    EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, buffer.get()).type);
    EXPECT_OK(zeContextDestroy(other));
}

/* Queues, lists, events and fences outlive the handle of their context; its memory does not. */
TEST_F(Context, WhatIsLeftIsDestroyedLater) {
    const auto before = deviceCounts();
    const uint64_t usable = usableMemory(device_);
    ze_context_handle_t other = makeContext();
    {
        Events events(other, 2);
        ImmediateList immediate(other, device_);
        Queue queue(other, device_);
        CommandList list(other, device_), unused(other, device_);
        ze_fence_desc_t fenceDesc{};
        fenceDesc.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
        ze_fence_handle_t fence = nullptr;
        ASSERT_OK(zeFenceCreate(queue.get(), &fenceDesc, &fence));

        // Memory of each kind that nobody frees.
        auto desc = deviceDesc();
        void* device = nullptr;
        ASSERT_OK(zeMemAllocDevice(other, &desc, kMiB, 0, device_, &device));
        auto host = hostDesc();
        void* system = nullptr;
        ASSERT_OK(zeMemAllocHost(other, &host, kMiB, 0, &system));
        Mapping memory = Mapping::anonymous(kPage);
        void* import = nullptr;
        ASSERT_OK(importMemory(other, memory.get(), kPage, &import));
        ze_physical_mem_desc_t physicalDesc{};
        physicalDesc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        physicalDesc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
        physicalDesc.size = kMiB;
        ze_physical_mem_handle_t physical = nullptr;
        ASSERT_OK(zePhysicalMemCreate(other, device_, &physicalDesc, &physical));
        void* range = nullptr;
        ASSERT_OK(zeVirtualMemReserve(other, nullptr, kMiB, &range));
        ASSERT_OK(
            zeVirtualMemMap(other, range, kMiB, physical, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        EXPECT_GT(usable, usableMemory(device_));

        const uint8_t value = 3;
        ASSERT_OK(zeCommandListAppendMemoryFill(list.get(), device, &value, 1, kMiB, events[1], 0,
                                                nullptr));
        ASSERT_OK(zeCommandListClose(list.get()));
        EXPECT_OK(queue.execute(list, fence));
        EXPECT_OK(queue.wait());
        // Not while the device is at work in it.
        ze_event_handle_t wait = events[0];
        ASSERT_OK(zeCommandListAppendWaitOnEvents(immediate.get(), 1, &wait));
        EXPECT_ZE(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, zeContextDestroy(other));
        EXPECT_OK(immediate.fillAsync(range, 4, kMiB));
        EXPECT_OK(zeEventHostSignal(events[0]));
        EXPECT_OK(immediate.wait());
        EXPECT_OK(zeContextDestroy(other));

        EXPECT_EQ(usable, usableMemory(device_)) << "its memory is free at once";
        EXPECT_EQ(0u, pinnedBytes());
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextDestroy(other));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(other, device));
        EXPECT_OK(zeEventQueryStatus(events[1]));
        EXPECT_OK(zeEventHostReset(events[1]));
        EXPECT_OK(zeFenceQueryStatus(fence));
        EXPECT_OK(zeCommandListReset(list.get()));
        EXPECT_OK(zeCommandListAppendSignalEvent(immediate.get(), events[1]));
        EXPECT_OK(zeEventHostSynchronize(events[1], kLongWait));
        EXPECT_OK(zeFenceDestroy(fence));
    }
    EXPECT_EQ(before, deviceCounts());
}

TEST_F(Context, Residency) {
    Buffer buffer = Buffer::device(context_, device_, 4 * kPage);
    EXPECT_OK(zeContextMakeMemoryResident(context_, device_, buffer.get(), 4 * kPage));
    EXPECT_OK(zeContextEvictMemory(context_, device_, buffer.get(), 4 * kPage));
    EXPECT_OK(list().fill(buffer.get(), 9, 4 * kPage)) << "placement never moves";
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeContextMakeMemoryResident(context_, device_, nullptr, kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeContextEvictMemory(context_, device_, nullptr, kPage));
}

TEST_F(Context, ResidencyOfEachKind) {
    OneOfEach all(context_, device_, 4 * kPage);
    using Call = ze_result_t (*)(ze_context_handle_t, ze_device_handle_t, void*, size_t);
    for (Call call : {&zeContextMakeMemoryResident, &zeContextEvictMemory}) {
        for (uint8_t* pointer : {all.device.bytes(), all.host.bytes(), all.shared.bytes(),
                                 all.import.bytes(), all.reservation.bytes()}) {
            EXPECT_OK(call(context_, device_, pointer, 4 * kPage));
            EXPECT_OK(call(context_, device_, pointer + kPage + 3, 5));
            EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, call(context_, device_, pointer, 0));
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      call(context_, device_, pointer, 4 * kPage + 1));
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      call(context_, device_, pointer + kPage, SIZE_MAX));
        }
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  call(context_, device_, all.reservation.bytes() + 4 * kPage, kPage));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, call(context_, device_, &call, sizeof call));
        if (loaderInterceptsHandles())
            continue;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                  call(nullptr, device_, all.device.get(), kPage));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                  call(context_, nullptr, all.device.get(), kPage));
    }
}

TEST_F(Context, SystemBarrier) {
    EXPECT_OK(zeContextSystemBarrier(context_, device_));
}

TEST_F(Context, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextDestroy(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextGetStatus(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextSystemBarrier(context_, nullptr));
}

} // namespace
