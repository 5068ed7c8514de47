// SPDX-License-Identifier: MIT
// Handles of event pools: how they travel, what of them opens, and who may.
#include <algorithm>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

using namespace vze::test;

namespace {

constexpr uint32_t kOtherUser = 12345;
constexpr uint64_t kTimeout = 60'000'000'000;

/* What a process with the handle is to do. */
struct Order {
    ze_ipc_event_pool_handle_t handle{};
    uint32_t expected = 0; // ze_result_t of the open
    uint32_t patch = 0;    // put a descriptor that comes by the channel in front
    uint32_t user = 0;     // become this user first, 0: stay
};

ze_event_desc_t eventDesc(uint32_t index) {
    ze_event_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    desc.index = index;
    desc.signal = desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    return desc;
}

int32_t descriptorIn(const ze_ipc_event_pool_handle_t& handle) {
    int32_t fd = -1;
    std::memcpy(&fd, handle.data, sizeof fd);
    return fd;
}

void setDescriptor(ze_ipc_event_pool_handle_t& handle, int32_t fd) {
    std::memcpy(handle.data, &fd, sizeof fd);
}

/* Waits for event 0 on the host, makes its device wait for event 1, lets it signal event 2 and
 * signals event 3 itself. */
int opener(int channel, const std::vector<std::string>&) {
    Order order{};
    if (!receiveAll(channel, &order, sizeof order))
        return 1;
    int fd = -1;
    if (order.patch != 0 && (fd = receiveDescriptor(channel)) < 0)
        return 2;
    if (order.user && (setresgid(order.user, order.user, order.user) ||
                       setresuid(order.user, order.user, order.user)))
        return 3;
    if (!initDriver())
        return 4;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 5;
    if (fd >= 0)
        setDescriptor(order.handle, fd);
    const size_t descriptors = openDescriptors();
    ze_event_pool_handle_t pool = nullptr;
    const ze_result_t result = zeEventPoolOpenIpcHandle(context, order.handle, &pool);
    if (result != static_cast<ze_result_t>(order.expected)) {
        std::fprintf(stderr, "opener: the open gave %s: %s\n",
                     resultName(result) ? resultName(result) : "?", lastError());
        return 6;
    }
    // The descriptor stays the caller's, and the pool needs it no more.
    struct stat status;
    if (openDescriptors() != descriptors || (fd >= 0 && (fstat(fd, &status) || close(fd))))
        return 7;
    if (result != ZE_RESULT_SUCCESS)
        return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 8;
    ze_event_handle_t events[4] = {};
    for (uint32_t i = 0; i < 4; i++) {
        const ze_event_desc_t event = eventDesc(i);
        if (zeEventCreate(pool, &event, &events[i]) != ZE_RESULT_SUCCESS)
            return 9;
    }
    if (zeEventHostSynchronize(events[0], kTimeout) != ZE_RESULT_SUCCESS)
        return 10;
    {
        ImmediateList list(context, devices().front());
        if (zeCommandListAppendBarrier(list.get(), events[2], 1, &events[1]) != ZE_RESULT_SUCCESS ||
            list.wait() != ZE_RESULT_SUCCESS)
            return 11;
        if (zeEventQueryStatus(events[2]) != ZE_RESULT_SUCCESS)
            return 12;
    }
    if (zeEventHostSignal(events[3]) != ZE_RESULT_SUCCESS)
        return 13;
    for (ze_event_handle_t event : events)
        if (zeEventDestroy(event) != ZE_RESULT_SUCCESS)
            return 14;
    if (zeEventPoolCloseIpcHandle(pool) != ZE_RESULT_SUCCESS)
        return 15;
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 16;
}

ChildRegistration openerChild("ipc_event_handle", opener);

class IpcEventHandle : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        events_ = std::make_unique<Events>(context_, 4, ZE_EVENT_POOL_FLAG_IPC);
        ASSERT_OK(zeEventPoolGetIpcHandle(events_->pool(), &handle_));
    }

    void TearDown() override {
        events_.reset();
        GpuTest::TearDown();
    }

    /* One process does its part with the handle, this one does the other. */
    void run(Order order, int fd = -1) {
        for (size_t i = 0; i < 4; i++)
            ASSERT_OK(zeEventHostReset((*events_)[i]));
        Child child("ipc_event_handle");
        order.patch = fd >= 0;
        ASSERT_TRUE(child.send(&order, sizeof order));
        if (fd >= 0) {
            ASSERT_TRUE(sendDescriptor(child.channel(), fd));
        }
        if (order.expected == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeEventHostSignal((*events_)[0]));
            EXPECT_OK(zeCommandListAppendSignalEvent(list().get(), (*events_)[1]));
            EXPECT_OK(zeEventHostSynchronize((*events_)[3], kTimeout));
            EXPECT_OK(zeEventQueryStatus((*events_)[2]));
        }
        EXPECT_EQ(0, child.wait());
    }

    std::unique_ptr<Events> events_;
    ze_ipc_event_pool_handle_t handle_{};
};

TEST_F(IpcEventHandle, TheHandleByValue) {
    run({.handle = handle_});
}

/* Through a socket: the descriptor in front is sent, and the received one put there. */
TEST_F(IpcEventHandle, TheDescriptorInFrontIsPassed) {
    ASSERT_GE(descriptorIn(handle_), 0);
    struct stat status;
    ASSERT_EQ(0, fstat(descriptorIn(handle_), &status));
    run({.handle = handle_}, descriptorIn(handle_));
}

TEST_F(IpcEventHandle, TheDescriptorAlone) {
    run({}, descriptorIn(handle_));
}

TEST_F(IpcEventHandle, AnotherUserNeedsTheDescriptor) {
    run({.handle = handle_,
         .expected = ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
         .user = kOtherUser});
    run({.handle = handle_, .user = kOtherUser}, descriptorIn(handle_));
    // A descriptor of something else proves nothing.
    run({.handle = handle_,
         .expected = ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
         .user = kOtherUser},
        STDIN_FILENO);
}

TEST_F(IpcEventHandle, OfAnotherDescriptorNothingOpens) {
    Buffer buffer = Buffer::device(context_, device_, 4 * kPage);
    ze_ipc_mem_handle_t memory{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &memory));
    ze_ipc_event_pool_handle_t bad{};
    ze_event_pool_handle_t pool = nullptr;
    const auto expectInvalid = [&] {
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, bad, &pool));
    };
    std::memcpy(bad.data, memory.data, sizeof(int32_t)); // of a dma-buf
    expectInvalid();
    setDescriptor(bad, 9999);
    expectInvalid();
    setDescriptor(bad, -1);
    expectInvalid();
    std::memcpy(bad.data, memory.data, sizeof bad.data); // of memory
    expectInvalid();
    // The other way round: a pool is no memory.
    void* pointer = nullptr;
    ze_ipc_mem_handle_t asMemory{};
    std::memcpy(asMemory.data, handle_.data, sizeof(int32_t));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemOpenIpcHandle(context_, device_, asMemory, 0, &pointer));
    EXPECT_OK(zeMemPutIpcHandle(context_, memory));
}

/* No byte behind the descriptor can be changed so that something else opens. */
TEST_F(IpcEventHandle, DamagedHandles) {
    for (size_t i = sizeof(int32_t); i < sizeof handle_.data; i++) {
        ze_ipc_event_pool_handle_t bad = handle_;
        bad.data[i] = static_cast<char>(bad.data[i] ^ 0x41);
        ze_event_pool_handle_t pool = nullptr;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, bad, &pool))
            << "byte " << i;
    }
    // Whatever stands in front, the token opens.
    for (const int32_t fd : {-1, 0, 9999}) {
        ze_ipc_event_pool_handle_t patched = handle_;
        setDescriptor(patched, fd);
        ze_event_pool_handle_t pool = nullptr;
        ASSERT_OK(zeEventPoolOpenIpcHandle(context_, patched, &pool));
        EXPECT_OK(zeEventPoolCloseIpcHandle(pool));
    }
}

/* One descriptor for all Gets; the last Put closes it and ends the handle. */
TEST_F(IpcEventHandle, PutGivesTheDescriptorBack) {
    const size_t before = openDescriptors();
    ze_ipc_event_pool_handle_t second{};
    ASSERT_OK(zeEventPoolGetIpcHandle(events_->pool(), &second));
    EXPECT_EQ(0, std::memcmp(&handle_, &second, sizeof second));
    EXPECT_EQ(before, openDescriptors());
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, second));
    EXPECT_EQ(before, openDescriptors());
    ze_event_pool_handle_t pool = nullptr;
    ASSERT_OK(zeEventPoolOpenIpcHandle(context_, handle_, &pool));
    EXPECT_OK(zeEventPoolCloseIpcHandle(pool));
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, handle_));
    EXPECT_EQ(before - 1, openDescriptors());
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, handle_, &pool));
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, handle_)) << "a put too many";
    // A pool that goes takes its handles along.
    ASSERT_OK(zeEventPoolGetIpcHandle(events_->pool(), &handle_));
    EXPECT_EQ(before, openDescriptors());
    events_.reset();
    EXPECT_EQ(before - 1, openDescriptors());
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, handle_, &pool));
}

} // namespace
