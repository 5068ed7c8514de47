// SPDX-License-Identifier: MIT
// zeMemFree, and zeMemFreeExt with its policies.
#include <atomic>
#include <cstring>
#include <thread>

#include "fixture.h"
#include "ipc.h"
#include "physical.h"

using namespace vze::test;

namespace {

class MemFree : public GpuTest {
protected:
    ze_result_t freeExt(void* pointer, uint32_t policy) {
        ze_memory_free_ext_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
        desc.freePolicy = policy;
        return zeMemFreeExt(context_, &desc, pointer);
    }
    static constexpr uint32_t kBlocking = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
    static constexpr uint32_t kDefer = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
};

TEST_F(MemFree, OnlyTheBaseOfALiveAllocation) {
    Mapping memory = Mapping::anonymous(2 * kPage);
    memory.bytes()[0] = 1;
    std::vector<Buffer> buffers;
    buffers.push_back(Buffer::device(context_, device_, 2 * kPage));
    buffers.push_back(Buffer::host(context_, 2 * kPage));
    buffers.push_back(Buffer::shared(context_, device_, 2 * kPage));
    buffers.push_back(Buffer::import(context_, memory.get(), 2 * kPage));
    for (Buffer& buffer : buffers) {
        uint8_t* pointer = buffer.bytes();
        ASSERT_NE(nullptr, pointer);
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer + 1));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer + kPage));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer + 2 * kPage - 1));
        EXPECT_OK(zeMemFree(context_, buffer.release()));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer));
    }
    int onStack;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, &onStack));
}

TEST_F(MemFree, TheAddressCanBeUsedAgainAtOnce) {
    for (int round = 0; round < 50; round++) {
        Buffer device = Buffer::device(context_, device_, kMiB);
        Buffer host = Buffer::host(context_, kMiB);
        ASSERT_TRUE(device);
        ASSERT_TRUE(host);
        EXPECT_OK(list().fill(device.get(), 1, kMiB));
        EXPECT_OK(list().copy(host.get(), device.get(), kMiB));
        EXPECT_EQ(-1, firstDifferent(host.get(), kMiB, 1));
    }
}

TEST_F(MemFree, ExtDefaultPolicy) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    void* pointer = buffer.get();
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(buffer.bytes() + 1, 0));
    EXPECT_OK(freeExt(buffer.release(), 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(pointer, 0));
}

TEST_F(MemFree, ExtErrors) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemFreeExt(context_, nullptr, buffer.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, freeExt(nullptr, 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, freeExt(buffer.get(), 4));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, freeExt(buffer.get(), 0x80000001u));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, freeExt(buffer.get(), kBlocking | kDefer));
    EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, buffer.get()).type);
}

TEST_F(MemFree, ExtWithAWrongStructureTypeIsTolerated) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    ze_memory_free_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES;
    ASSERT_OK(zeMemFreeExt(context_, &desc, buffer.get()));
    buffer.release();
}

TEST_F(MemFree, BlockingWaitsForWorkThatWasSubmitted) {
    if (!hasExtension(ZE_MEMORY_FREE_POLICIES_EXT_NAME))
        GTEST_SKIP() << "the driver does not list the free policies";
    Mapping memory = Mapping::anonymous(2 * kPage);
    std::memset(memory.get(), 0, memory.size());
    Events events(context_, 2);
    for (int kind = 0; kind < 4; kind++) {
        SCOPED_TRACE(kind);
        Buffer buffer = kind == 0   ? Buffer::device(context_, device_, 2 * kPage)
                        : kind == 1 ? Buffer::host(context_, 2 * kPage)
                        : kind == 2 ? Buffer::shared(context_, device_, 2 * kPage)
                                    : Buffer::import(context_, memory.get(), 2 * kPage);
        EXPECT_OK(zeEventHostReset(events[0]));
        EXPECT_OK(zeEventHostReset(events[1]));
        ImmediateList worker(context_, device_);
        ze_event_handle_t go = events[0];
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendMemoryFill(worker.get(), buffer.get(), &value, 1, 2 * kPage,
                                                events[1], 1, &go));
        std::atomic<bool> signalled{false};
        std::thread later([&] {
            timespec pause{0, 200'000'000};
            nanosleep(&pause, nullptr);
            signalled = true;
            zeEventHostSignal(go);
        });
        EXPECT_OK(freeExt(buffer.release(), kBlocking));
        EXPECT_TRUE(signalled) << "returned before the work could begin";
        EXPECT_OK(zeEventQueryStatus(events[1]));
        later.join();
        EXPECT_OK(worker.wait());
    }
    EXPECT_EQ(-1, firstDifferent(memory.get(), memory.size(), 1));
}

/* What is no base of a live allocation of the context is refused, by every policy and zeMemFree. */
TEST_F(MemFree, WhatCannotBeFreed) {
    OneOfEach all(context_, device_, 4 * kPage);
    ze_context_handle_t other = makeContext();
    Buffer elsewhere = Buffer::device(other, device_, kPage);
    Buffer before = Buffer::host(context_, kPage);
    void* freed = before.get();
    before.reset();

    std::vector<std::pair<const char*, void*>> wrong = {
        {"nothing", &other},
        {"freed", freed},
        {"of another context", elsewhere.get()},
        {"a mapped object", all.reservation.get()},
        {"a reservation", all.reservation.bytes() + 4 * kPage},
        {"a physical object's handle", all.object.get()},
        {"a kernel address", reinterpret_cast<void*>(uintptr_t{0xffff888000000000})},
    };
    for (Buffer* buffer : all.buffers())
        for (size_t offset : {size_t{1}, kPage, 4 * kPage - 1})
            wrong.emplace_back("inside", buffer->bytes() + offset);
    // What was opened is closed, whatever it is of and however it was opened.
    std::vector<ze_ipc_mem_handle_t> handles(5);
    ASSERT_OK(zeMemGetIpcHandle(context_, all.device.get(), &handles[0]));
    ASSERT_OK(zeMemGetIpcHandle(context_, all.host.get(), &handles[1]));
    ASSERT_OK(zeMemGetIpcHandle(context_, all.shared.get(), &handles[2]));
    ASSERT_OK(getRange(context_, all.reservation.bytes() + 100, 2 * kPage, &handles[3]));
    handles[4] = handleOfDescriptor(descriptorIn(handles[1]));
    std::vector<std::unique_ptr<Opened>> opened;
    for (const ze_ipc_mem_handle_t& handle : handles) {
        opened.push_back(std::make_unique<Opened>(context_, device_, handle));
        ASSERT_OK(opened.back()->result());
        wrong.emplace_back("opened", opened.back()->get());
    }
    for (const auto& [what, pointer] : wrong) {
        SCOPED_TRACE(what);
        for (uint32_t policy : {0u, kBlocking, kDefer})
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(pointer, policy)) << policy;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer));
    }
    // And all of it is as it was.
    for (Buffer* buffer : all.buffers())
        EXPECT_OK(list().fill(buffer->get(), 2, 4 * kPage));
    EXPECT_OK(list().fill(all.reservation.get(), 3, 4 * kPage));
    for (const auto& each : opened)
        EXPECT_OK(list().fill(each->get(), 4, kPage));
    elsewhere.reset();
    EXPECT_OK(zeContextDestroy(other));
}

TEST_F(MemFree, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    Buffer buffer = Buffer::device(context_, device_, kPage);
    ze_memory_free_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeMemFreeExt(nullptr, &desc, buffer.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeMemFree(nullptr, buffer.get()));
}

/* Thread-safe, by every policy, with and without work that uses what is freed. */
TEST_F(MemFree, EveryPolicyFromManyThreads) {
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            ImmediateList mine(context_, device_);
            for (uint32_t i = 0; i < 60; i++) {
                const uint32_t policy = (t + i) % 3; // 0, BLOCKING, DEFER
                auto onDevice = deviceDesc();
                auto onHost = hostDesc();
                void* pointer = nullptr;
                const ze_result_t result =
                    (t + i) % 2 ? zeMemAllocDevice(context_, &onDevice, kPage, 0, device_, &pointer)
                                : zeMemAllocHost(context_, &onHost, kPage, 0, &pointer);
                if (result != ZE_RESULT_SUCCESS) {
                    failures++;
                    continue;
                }
                // Work under the default policy's free would fault.
                if (policy != 0 && mine.fillAsync(pointer, 1, kPage) != ZE_RESULT_SUCCESS)
                    failures++;
                if (freeExt(pointer, policy) != ZE_RESULT_SUCCESS)
                    failures++;
            }
            if (mine.wait() != ZE_RESULT_SUCCESS)
                failures++;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(0, failures);
}

TEST_F(MemFree, FromManyThreads) {
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; i++) {
                auto onDevice = deviceDesc();
                auto onHost = hostDesc();
                void* pointer = nullptr;
                ze_result_t result =
                    (t + i) % 2 ? zeMemAllocDevice(context_, &onDevice, kPage, 0, device_, &pointer)
                                : zeMemAllocHost(context_, &onHost, kPage, 0, &pointer);
                if (result != ZE_RESULT_SUCCESS || zeMemFree(context_, pointer))
                    failures++;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(0, failures);
}

} // namespace
