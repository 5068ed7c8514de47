// SPDX-License-Identifier: MIT
// Two devices in one context (scripts/vm run --gpus 2).
#include <cstring>

#include "fixture.h"
#include "physical.h"
#include "statistics.h"

using namespace vze::test;

namespace {

class MultiDevice : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (devices().size() < 2)
            GTEST_SKIP() << "there is only one device";
        second_ = devices()[1];
    }
    ze_device_handle_t second_ = nullptr;
};

TEST_F(MultiDevice, AreDifferent) {
    ze_device_properties_t properties[2]{};
    for (size_t i = 0; i < 2; i++) {
        properties[i].stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
        EXPECT_OK(zeDeviceGetProperties(devices()[i], &properties[i]));
    }
    EXPECT_NE(0, std::memcmp(&properties[0].uuid, &properties[1].uuid, sizeof properties[0].uuid));
    ze_bool_t can = 1;
    EXPECT_OK(zeDeviceCanAccessPeer(device_, second_, &can));
    EXPECT_FALSE(can);
}

TEST_F(MultiDevice, HostSharedAndImportedMemoryHaveOneAddressOnBoth) {
    Mapping memory = Mapping::anonymous(2 * kPage);
    std::memset(memory.get(), 0, memory.size());
    const uint64_t pinned = pinnedBytes();
    Buffer buffers[] = {Buffer::host(context_, 2 * kPage),
                        Buffer::shared(context_, device_, 2 * kPage),
                        Buffer::import(context_, memory.get(), 2 * kPage)};
    EXPECT_EQ(pinned + 2 * kPage, pinnedBytes()) << "two devices pin once";
    ImmediateList first(context_, device_), second(context_, second_);
    for (Buffer& buffer : buffers) {
        EXPECT_OK(first.fill(buffer.get(), 1, kPage));
        EXPECT_OK(second.fill(buffer.bytes() + kPage, 2, kPage));
        EXPECT_EQ(-1, firstDifferent(buffer.get(), kPage, 1));
        EXPECT_EQ(-1, firstDifferent(buffer.bytes() + kPage, kPage, 2));
        EXPECT_OK(second.copy(buffer.bytes() + kPage, buffer.get(), kPage));
        EXPECT_EQ(-1, firstDifferent(buffer.bytes() + kPage, kPage, 1));
    }
}

TEST_F(MultiDevice, DeviceMemoryOfOneIsClosedToTheOther) {
    Buffer theirs = Buffer::device(context_, second_, kPage);
    ImmediateList first(context_, device_), second(context_, second_);
    EXPECT_OK(second.fill(theirs.get(), 7, kPage));
    ze_result_t result = first.fill(theirs.get(), 8, 16);
    EXPECT_TRUE(result == ZE_RESULT_ERROR_DEVICE_LOST || result == ZE_RESULT_ERROR_INVALID_ARGUMENT)
        << Result{result};
    Buffer host = Buffer::host(context_, kPage);
    EXPECT_OK(second.copy(host.get(), theirs.get(), kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 7));
}

TEST_F(MultiDevice, EventsOrderWorkOfBoth) {
    Events events(context_, 3);
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 0, kPage);
    ImmediateList first(context_, device_), second(context_, second_);
    ze_event_handle_t e0 = events[0], e1 = events[1];
    const uint8_t one = 1, two = 2;
    EXPECT_OK(zeCommandListAppendMemoryFill(second.get(), host.bytes() + 8, &two, 1, kPage - 8,
                                            events[2], 1, &e1));
    EXPECT_OK(zeCommandListAppendMemoryFill(first.get(), host.get(), &one, 1, kPage, e1, 1, &e0));
    EXPECT_ZE(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[2]));
    EXPECT_OK(zeEventHostSignal(e0));
    EXPECT_OK(zeEventHostSynchronize(events[2], kLongWait));
    EXPECT_EQ(-1, firstDifferent(host.get(), 8, 1));
    EXPECT_EQ(-1, firstDifferent(host.bytes() + 8, kPage - 8, 2));
}

TEST_F(MultiDevice, AFaultOfOneIsNoConcernOfTheOther) {
    Mapping memory = Mapping::anonymous(kPage);
    std::memset(memory.get(), 3, kPage);
    Buffer import =
        Buffer::import(context_, memory.get(), kPage, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    ImmediateList first(context_, device_), second(context_, second_);
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, first.fill(memory.get(), 1, 8));
    Buffer host = Buffer::host(context_, kPage);
    EXPECT_OK(second.copy(host.get(), memory.get(), kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 3));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, second.fill(memory.get(), 1, 8));
    EXPECT_EQ(-1, firstDifferent(memory.get(), kPage, 3));
}

TEST_F(MultiDevice, ContextOfOneOnly) {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    ASSERT_OK(zeContextCreateEx(driver_, &desc, 1, &second_, &context));
    auto onDevice = deviceDesc();
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocDevice(context, &onDevice, kPage, 0, device_, &pointer));
    {
        Buffer buffer = Buffer::device(context, second_, kPage);
        ImmediateList list(context, second_);
        EXPECT_OK(list.fill(buffer.get(), 1, kPage));
    }
    EXPECT_OK(zeContextDestroy(context));
}

TEST_F(MultiDevice, OverlappingImportsOnBoth) {
    Mapping memory = Mapping::anonymous(4 * kPage);
    std::memset(memory.get(), 0, memory.size());
    Buffer first = Buffer::import(context_, memory.get(), 3 * kPage);
    Buffer second = Buffer::import(context_, memory.bytes() + kPage, 3 * kPage);
    first.reset();
    for (ze_device_handle_t device : {device_, second_}) {
        ImmediateList good(context_, device);
        EXPECT_OK(good.fill(memory.bytes() + 3 * kPage, 9, kPage));
        EXPECT_EQ(-1, firstDifferent(memory.bytes() + 3 * kPage, kPage, 9));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, good.fill(memory.bytes() + kPage, 9, 8));
    }
}

} // namespace
