// SPDX-License-Identifier: MIT
// Event pools of another process: what one side signals the other sees, and who ends what.
#include <cstring>

#include "commands.h"
#include "fixture.h"
#include "ipc.h"

using namespace vze::test;

namespace {

constexpr uint32_t kEvents = 6;

ze_event_handle_t makeEvent(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    desc.index = index;
    desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    EXPECT_OK(zeEventCreate(pool, &desc, &event));
    return event;
}

/* The other process: waits for event 0, answers with 1 by its host and 2 by its device, with the
 * timestamps of the latter; ends when it is told to. */
int partner(int channel, const std::vector<std::string>&) {
    ze_ipc_event_pool_handle_t handle{};
    if (!initDriver() || !receiveAll(channel, &handle, sizeof handle))
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ze_event_pool_handle_t pool = nullptr;
    const ze_result_t opened = zeEventPoolOpenIpcHandle(context, handle, &pool);
    if (!sendAll(channel, &opened, sizeof opened))
        return 3;
    if (opened != ZE_RESULT_SUCCESS)
        return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 4;
    ze_kernel_timestamp_result_t stamps{};
    {
        ImmediateList list(context, devices()[0]);
        ze_event_handle_t events[3];
        for (uint32_t i = 0; i < 3; i++)
            events[i] = makeEvent(pool, i);
        if (zeEventHostSynchronize(events[0], kLongWait) != ZE_RESULT_SUCCESS)
            return 5;
        if (zeEventHostSignal(events[1]) != ZE_RESULT_SUCCESS ||
            zeCommandListAppendSignalEvent(list.get(), events[2]) != ZE_RESULT_SUCCESS ||
            list.wait() != ZE_RESULT_SUCCESS ||
            zeEventQueryKernelTimestamp(events[2], &stamps) != ZE_RESULT_SUCCESS)
            return 6;
        char word = 0;
        if (!sendAll(channel, &stamps, sizeof stamps) || !receiveAll(channel, &word, 1))
            return 7;
        // The exporter is gone by now; its events are still there.
        for (ze_event_handle_t event : events)
            if (zeEventQueryStatus(event) != ZE_RESULT_SUCCESS ||
                zeEventDestroy(event) != ZE_RESULT_SUCCESS)
                return 8;
    }
    if (zeEventPoolCloseIpcHandle(pool) != ZE_RESULT_SUCCESS ||
        zeContextDestroy(context) != ZE_RESULT_SUCCESS)
        return 9;
    return 0;
}
const ChildRegistration partnerRegistered("partner", partner);

class IpcEventPool : public GpuTest {
protected:
    ze_event_pool_handle_t makePool(ze_event_pool_flags_t flags) {
        ze_event_pool_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
        desc.flags = flags;
        desc.count = kEvents;
        ze_event_pool_handle_t pool = nullptr;
        EXPECT_OK(zeEventPoolCreate(context_, &desc, 0, nullptr, &pool));
        return pool;
    }
    static constexpr ze_event_pool_flags_t kIpc =
        ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
};

TEST_F(IpcEventPool, SignalsBothWays) {
    ze_event_pool_handle_t pool = makePool(kIpc | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t events[3];
    for (uint32_t i = 0; i < 3; i++)
        events[i] = makeEvent(pool, i);
    ze_ipc_event_pool_handle_t handle{};
    ASSERT_OK(zeEventPoolGetIpcHandle(pool, &handle));
    Child child("partner");
    ASSERT_TRUE(child.send(&handle, sizeof handle));
    ze_result_t opened = ZE_RESULT_ERROR_UNKNOWN;
    ASSERT_TRUE(child.receive(&opened, sizeof opened));
    ASSERT_OK(opened);
    // By the device here, seen by the host there.
    EXPECT_OK(zeCommandListAppendSignalEvent(list().get(), events[0]));
    EXPECT_OK(zeEventHostSynchronize(events[1], kLongWait));
    // A command here waits for the device there.
    Buffer host = Buffer::host(context_, kPage);
    const uint8_t value = 9;
    EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), host.get(), &value, 1, kPage, nullptr, 1,
                                            &events[2]));
    EXPECT_OK(list().wait());
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 9));
    ze_kernel_timestamp_result_t there{}, here{};
    ASSERT_TRUE(child.receive(&there, sizeof there));
    EXPECT_OK(zeEventQueryKernelTimestamp(events[2], &here));
    EXPECT_EQ(there.global.kernelStart, here.global.kernelStart);
    EXPECT_EQ(there.global.kernelEnd, here.global.kernelEnd);

    // The exporter's end is not the opener's.
    for (ze_event_handle_t event : events)
        EXPECT_OK(zeEventDestroy(event));
    EXPECT_OK(zeEventPoolDestroy(pool));
    EXPECT_TRUE(child.send("x", 1));
    EXPECT_EQ(0, child.wait());
}

TEST_F(IpcEventPool, HandleEndsWithThePool) {
    ze_event_pool_handle_t pool = makePool(kIpc);
    ze_ipc_event_pool_handle_t handle{};
    ASSERT_OK(zeEventPoolGetIpcHandle(pool, &handle));
    EXPECT_OK(zeEventPoolDestroy(pool));
    ze_event_pool_handle_t opened = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeEventPoolOpenIpcHandle(context_, handle, &opened));
    Child child("partner");
    ASSERT_TRUE(child.send(&handle, sizeof handle));
    ze_result_t there = ZE_RESULT_SUCCESS;
    ASSERT_TRUE(child.receive(&there, sizeof there));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, there);
    EXPECT_EQ(0, child.wait());
    // Putting what is over has no effect.
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, handle));
}

TEST_F(IpcEventPool, PutEndsTheHandleOnly) {
    ze_event_pool_handle_t pool = makePool(kIpc);
    ze_event_handle_t event = makeEvent(pool, 3);
    ze_ipc_event_pool_handle_t handle{};
    ASSERT_OK(zeEventPoolGetIpcHandle(pool, &handle));
    ze_event_pool_handle_t opened = nullptr, late = nullptr;
    ASSERT_OK(zeEventPoolOpenIpcHandle(context_, handle, &opened));
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, handle));
    EXPECT_OK(zeEventPoolPutIpcHandle(context_, handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, handle, &late));
    // What is open goes on, and opening an event there does not reset it.
    EXPECT_OK(zeEventHostSignal(event));
    ze_event_handle_t view = makeEvent(opened, 3);
    EXPECT_OK(zeEventQueryStatus(view));
    EXPECT_OK(zeEventHostReset(view));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    ze_event_pool_flags_t flags = 0;
    EXPECT_OK(zeEventPoolGetFlags(opened, &flags));
    EXPECT_EQ(kIpc, flags);
    EXPECT_OK(zeEventDestroy(view));
    EXPECT_OK(zeEventPoolCloseIpcHandle(opened));
    EXPECT_OK(zeEventDestroy(event));
    EXPECT_OK(zeEventPoolDestroy(pool));
}

TEST_F(IpcEventPool, OpenedAgainAndAgain) {
    ze_event_pool_handle_t pool = makePool(kIpc);
    ze_ipc_event_pool_handle_t handle{};
    ASSERT_OK(zeEventPoolGetIpcHandle(pool, &handle));
    ze_event_pool_handle_t opened = nullptr;
    ASSERT_OK(zeEventPoolOpenIpcHandle(context_, handle, &opened));
    EXPECT_OK(zeEventPoolCloseIpcHandle(opened));
    const size_t descriptors = openDescriptors();
    const auto counts = deviceCounts();
    for (size_t i = 0; i < 50; i++) {
        ASSERT_OK(zeEventPoolOpenIpcHandle(context_, handle, &opened));
        ASSERT_OK(zeEventPoolCloseIpcHandle(opened));
    }
    EXPECT_EQ(descriptors, openDescriptors());
    EXPECT_EQ(counts, deviceCounts());
    EXPECT_OK(zeEventPoolDestroy(pool));
}

TEST_F(IpcEventPool, Errors) {
    ze_event_pool_handle_t plain = makePool(ZE_EVENT_POOL_FLAG_HOST_VISIBLE), pool = makePool(kIpc);
    ze_ipc_event_pool_handle_t handle{}, noise{};
    ze_event_pool_handle_t opened = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolGetIpcHandle(plain, &handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeEventPoolGetIpcHandle(pool, nullptr));
    ASSERT_OK(zeEventPoolGetIpcHandle(pool, &handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeEventPoolOpenIpcHandle(context_, handle, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolOpenIpcHandle(context_, noise, &opened));
    // One bit of the secret makes it another's.
    for (size_t at : {size_t{16}, size_t{20}, size_t{23}}) {
        ze_ipc_event_pool_handle_t wrong = handle;
        wrong.data[at] ^= 1;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeEventPoolOpenIpcHandle(context_, wrong, &opened))
            << at;
    }
    // A count is believed only when the memory is of that size.
    for (uint32_t count : {0u, kEvents + 1000, 1u << 28, ~0u}) {
        ze_ipc_event_pool_handle_t wrong = handle;
        std::memcpy(wrong.data + 32, &count, sizeof count);
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  zeEventPoolOpenIpcHandle(context_, wrong, &opened))
            << count;
    }
    // Who made it destroys it, who opened it closes it.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolCloseIpcHandle(pool));
    ASSERT_OK(zeEventPoolOpenIpcHandle(context_, handle, &opened));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolDestroy(opened));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolGetIpcHandle(opened, &handle));
    EXPECT_OK(zeEventPoolCloseIpcHandle(opened));
    EXPECT_OK(zeEventPoolDestroy(pool));
    EXPECT_OK(zeEventPoolDestroy(plain));
}

} // namespace
