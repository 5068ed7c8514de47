// SPDX-License-Identifier: MIT
// Device faults: they stop one queue, name the call and the allocation, and change nothing else.
#include <cstring>

#include "commands.h"
#include "fixture.h"
#include "physical.h"
#include "statistics.h"

using namespace vze::test;

namespace {

std::string hex(const void* pointer) {
    char text[32];
    std::snprintf(text, sizeof text, "%zx", reinterpret_cast<size_t>(pointer));
    return text;
}

class Fault : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        memory_ = Mapping::anonymous(4 * kPage);
        ASSERT_TRUE(memory_);
        std::memset(memory_.get(), 0x44, memory_.size());
        import_ = Buffer::import(context_, memory_.get(), 4 * kPage,
                                 ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
        ASSERT_TRUE(import_);
    }
    void TearDown() override {
        import_.reset();
        GpuTest::TearDown();
    }

    /* Provokes one fault, by a write to read-only memory. */
    ze_result_t provoke(ImmediateList& victim) {
        ze_result_t result = victim.fillAsync(memory_.bytes() + kPage, 0xee, 100);
        return result == ZE_RESULT_SUCCESS ? victim.wait() : result;
    }

    Mapping memory_;
    Buffer import_;
};

TEST_F(Fault, IsDeviceLostForItsQueueAndNoOther) {
    ImmediateList victim(context_, device_), neighbour(context_, device_);
    Buffer host = Buffer::host(context_, kPage);
    EXPECT_OK(neighbour.fill(host.get(), 1, kPage));
    EXPECT_OK(victim.fill(host.get(), 2, kPage));

    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, provoke(victim));
    EXPECT_EQ(-1, firstDifferent(memory_.get(), memory_.size(), 0x44));
    // The stopped queue takes no more work and says so each time.
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim.wait(0));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim.fill(host.get(), 3, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 2));
    // The neighbour, other contexts and new queues go on.
    EXPECT_OK(neighbour.fill(host.get(), 4, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 4));
    ImmediateList fresh(context_, device_);
    EXPECT_OK(fresh.fill(host.get(), 5, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 5));
    ze_context_handle_t other = makeContext();
    {
        Buffer theirs = Buffer::host(other, kPage);
        ImmediateList theirList(other, device_);
        EXPECT_OK(theirList.fill(theirs.get(), 6, kPage));
        EXPECT_EQ(-1, firstDifferent(theirs.get(), kPage, 6));
    }
    EXPECT_OK(zeContextDestroy(other));
    EXPECT_OK(zeDeviceGetStatus(device_));
}

TEST_F(Fault, WorkOfOtherQueuesThatRunsMeanwhileIsUntouched) {
    ImmediateList neighbour(context_, device_);
    Buffer device = Buffer::device(context_, device_, 4 * kMiB);
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    EXPECT_OK(zeCommandListAppendWaitOnEvents(neighbour.get(), 1, &go));
    for (uint8_t i = 1; i <= 8; i++)
        EXPECT_OK(neighbour.fillAsync(device.get(), i, 4 * kMiB));
    {
        ImmediateList victim(context_, device_);
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, provoke(victim));
        EXPECT_OK(zeEventHostSignal(go));
    }
    EXPECT_OK(neighbour.wait());
    std::vector<uint8_t> seen = readBack(device.get(), 4 * kMiB);
    EXPECT_EQ(-1, firstDifferent(seen.data(), seen.size(), 8));
}

TEST_F(Fault, TextNamesTheCallAndTheAllocation) {
    Buffer source = Buffer::host(context_, kPage);
    ImmediateList victim(context_, device_);
    EXPECT_OK(victim.fillAsync(source.get(), 1, 8));
    EXPECT_OK(victim.copyAsync(memory_.bytes() + 2 * kPage + 5, source.get(), 16));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim.wait());
    const std::string text = lastError();
    EXPECT_NE(std::string::npos, text.find("zeCommandListAppendMemoryCopy")) << text;
    EXPECT_EQ(std::string::npos, text.find("zeCommandListAppendMemoryFill")) << text;
    EXPECT_NE(std::string::npos, text.find("import")) << text;
    EXPECT_NE(std::string::npos, text.find(hex(memory_.get()))) << text;
    EXPECT_NE(std::string::npos, text.find(hex(memory_.bytes() + 2 * kPage + 5))) << text;
}

TEST_F(Fault, TextTellsHowFarBehindAnAllocation) {
    PhysicalMemory object(context_, device_, 2 * kMiB);
    Reservation reservation(context_, 8 * kMiB);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.bytes() + 2 * kMiB, 2 * kMiB, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    ImmediateList victim(context_, device_);
    EXPECT_OK(victim.fillAsync(reservation.bytes() + 4 * kMiB + 3, 1, 1));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim.wait());
    const std::string text = lastError();
    EXPECT_NE(std::string::npos, text.find("zeCommandListAppendMemoryFill")) << text;
    EXPECT_NE(std::string::npos, text.find(hex(reservation.bytes() + 4 * kMiB + 3))) << text;
    EXPECT_NE(std::string::npos, text.find("3 bytes past")) << text;
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.bytes() + 2 * kMiB, 2 * kMiB));
}

TEST_F(Fault, InARegularListOfSeveralCommands) {
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 0, kPage);
    CommandList bad(context_, device_), good(context_, device_);
    Queue queue(context_, device_), other(context_, device_);
    const uint8_t one = 1, two = 2;
    EXPECT_OK(
        zeCommandListAppendMemoryFill(bad.get(), host.get(), &one, 1, 100, nullptr, 0, nullptr));
    EXPECT_OK(zeCommandListAppendBarrier(bad.get(), nullptr, 0, nullptr));
    EXPECT_OK(
        zeCommandListAppendMemoryFill(bad.get(), memory_.get(), &one, 1, 100, nullptr, 0, nullptr));
    EXPECT_OK(zeCommandListAppendBarrier(bad.get(), nullptr, 0, nullptr));
    EXPECT_OK(zeCommandListAppendMemoryFill(bad.get(), host.bytes() + 200, &two, 1, 100, nullptr, 0,
                                            nullptr));
    EXPECT_OK(zeCommandListClose(bad.get()));
    EXPECT_OK(zeCommandListAppendMemoryFill(good.get(), host.bytes() + 400, &two, 1, 100, nullptr,
                                            0, nullptr));
    EXPECT_OK(zeCommandListClose(good.get()));
    EXPECT_OK(queue.execute(bad));
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, queue.wait());
    EXPECT_EQ(-1, firstDifferent(host.get(), 100, 1)) << "commands before the fault are done";
    EXPECT_EQ(-1, firstDifferent(host.bytes() + 100, 300, 0)) << "those behind it are not";
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, queue.execute(good));
    EXPECT_OK(other.execute(good));
    EXPECT_OK(other.wait());
    EXPECT_EQ(-1, firstDifferent(host.bytes() + 400, 100, 2));
}

TEST_F(Fault, SynchronousAppendReturnsIt) {
    ImmediateList victim(context_, device_, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim.fillAsync(memory_.get(), 1, 8));
    EXPECT_EQ(-1, firstDifferent(memory_.get(), memory_.size(), 0x44));
}

TEST_F(Fault, MoreThanTheDeviceCanRecordAtOnce) {
    const uint64_t before = contextStatistics(context_, device_).faults;
    constexpr int kFaults = 150;
    for (int i = 0; i < kFaults; i++) {
        ImmediateList victim(context_, device_);
        ASSERT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, provoke(victim)) << i;
    }
    EXPECT_EQ(before + kFaults, contextStatistics(context_, device_).faults);
    EXPECT_EQ(-1, firstDifferent(memory_.get(), memory_.size(), 0x44));
    EXPECT_OK(list().fill(Buffer::host(context_, kPage).get(), 1, kPage));
}

TEST_F(Fault, OfManyQueuesAtOnce) {
    std::vector<std::unique_ptr<ImmediateList>> victims;
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    for (int i = 0; i < 24; i++) {
        victims.push_back(std::make_unique<ImmediateList>(context_, device_));
        EXPECT_OK(zeCommandListAppendWaitOnEvents(victims.back()->get(), 1, &go));
        EXPECT_OK(victims.back()->fillAsync(memory_.bytes() + i * 8, 1, 8));
    }
    EXPECT_OK(zeEventHostSignal(go));
    for (auto& victim : victims)
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, victim->wait());
    EXPECT_EQ(-1, firstDifferent(memory_.get(), memory_.size(), 0x44));
}

constexpr uint8_t kCanary = 0xca;

/* Takes much device and host memory, fills it with canaries, and holds it until told to end. */
int canaryKeeper(int channel, const std::vector<std::string>&) {
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ImmediateList list(context, devices().front());
    std::vector<void*> taken;
    auto onDevice = deviceDesc();
    for (;;) {
        void* pointer = nullptr;
        if (zeMemAllocDevice(context, &onDevice, 4 * kMiB, 0, devices().front(), &pointer) !=
            ZE_RESULT_SUCCESS)
            break;
        if (list.fill(pointer, kCanary, 4 * kMiB) != ZE_RESULT_SUCCESS)
            return 3;
        taken.push_back(pointer);
    }
    if (taken.empty())
        return 4;
    std::vector<uint8_t> ordinary(64 * kMiB, kCanary);
    char byte = 'r';
    if (!sendAll(channel, &byte, 1) || !receiveAll(channel, &byte, 1))
        return 5;
    for (void* pointer : taken) {
        if (zeMemFree(context, pointer) != ZE_RESULT_SUCCESS)
            return 6;
    }
    // The list's destructor has to run before its context goes; the process's end does both.
    return firstDifferent(ordinary.data(), ordinary.size(), kCanary) == -1 ? 0 : 7;
}

ChildRegistration canaryKeeperChild("canary_keeper", canaryKeeper);

TEST_F(Fault, WorkOnFreedMemoryFaultsAndSeesNobodyElsesBytes) {
    Mapping own = Mapping::anonymous(4 * kMiB);
    for (int kind = 0; kind < 4; kind++) {
        SCOPED_TRACE(kind == 0 ? "device" : kind == 1 ? "host" : kind == 2 ? "shared" : "import");
        std::memset(own.get(), 1, own.size());
        Events events(context_, 1);
        ze_event_handle_t go = events[0];
        Buffer victim = kind == 0   ? Buffer::device(context_, device_, 4 * kMiB)
                        : kind == 1 ? Buffer::host(context_, 4 * kMiB)
                        : kind == 2 ? Buffer::shared(context_, device_, 4 * kMiB)
                                    : Buffer::import(context_, own.get(), 4 * kMiB);
        Buffer sink = Buffer::host(context_, 4 * kMiB);
        std::memset(sink.get(), 0, 4 * kMiB);
        // The job has begun (it waits inside) when its memory goes.
        ImmediateList job(context_, device_);
        EXPECT_OK(job.fill(victim.get(), 1, 4 * kMiB));
        EXPECT_OK(zeCommandListAppendWaitOnEvents(job.get(), 1, &go));
        EXPECT_OK(job.copyAsync(sink.get(), victim.get(), 4 * kMiB));
        victim.reset();
        if (kind == 3)
            std::memset(own.get(), kCanary, own.size());
        Child keeper("canary_keeper");
        char byte = 0;
        ASSERT_TRUE(keeper.receive(&byte, 1));
        EXPECT_OK(zeEventHostSignal(go));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, job.wait());
        EXPECT_EQ(-1, firstDifferent(sink.get(), 4 * kMiB, 0))
            << "bytes came over from freed memory";
        EXPECT_TRUE(keeper.send("e", 1));
        EXPECT_EQ(0, keeper.wait());
    }
}

} // namespace
