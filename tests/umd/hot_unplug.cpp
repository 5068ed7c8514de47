// SPDX-License-Identifier: MIT
// The device is unplugged under a program that uses Level Zero: what its calls answer, what its
// memory does, and that a new process works with the device that is plugged in afterwards.
//
// Not one of the *_test programs, which share a VM: it takes the device away, by asking the host of
// scripts/vm at a port of the VM, and runs alone (scripts/lib/refusal-check).
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"

using namespace vze::test;

namespace {

/* The host's end of the port: one line asks, one line answers. */
class Host {
public:
    Host() : port_(open("/run/port-ctl", O_RDWR | O_CLOEXEC)) { EXPECT_LE(0, port_.get()); }

    std::string ask(const std::string& what) {
        const std::string line = what + "\n";
        if (write(port_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            return {};
        std::string answer;
        char byte = 0;
        while (read(port_.get(), &byte, 1) == 1 && byte != '\n')
            answer += byte;
        return answer;
    }

private:
    Fd port_;
};

sigjmp_buf busJump;

void onBus(int) {
    siglongjmp(busJump, 1);
}

/* Reads a byte: its value, or -1 for SIGBUS. */
int peek(const void* address) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = onBus;
    sigaction(SIGBUS, &action, &before);
    volatile int value = -1;
    if (sigsetjmp(busJump, 1) == 0)
        value = *static_cast<const volatile uint8_t*>(address);
    sigaction(SIGBUS, &before, nullptr);
    return value;
}

int useDevice(int, const std::vector<std::string>&) {
    if (!initDriver() || devices().size() != 1)
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    bool good = false;
    {
        Buffer device = Buffer::device(context, devices().front(), kMiB);
        Buffer host = Buffer::host(context, kMiB);
        ImmediateList list(context, devices().front());
        good = list.fill(device.get(), 0x5a, kMiB) == ZE_RESULT_SUCCESS &&
               list.copy(host.get(), device.get(), kMiB) == ZE_RESULT_SUCCESS &&
               firstDifferent(host.get(), kMiB, 0x5a) == -1;
    }
    return good && zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 3;
}

const ChildRegistration useDeviceRegistered("use-device", useDevice);

class HotUnplug : public GpuTest {};

TEST_F(HotUnplug, CallsAnswerDeviceLostAndEverythingCanBeGivenBack) {
    ASSERT_EQ(1u, devices().size());
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ASSERT_OK(zeDeviceGetProperties(device_, &properties));
    const std::string name = properties.name;
    Host host;
    const uint64_t pinned = pinnedBytes();
    {
        Mapping memory = Mapping::anonymous(kMiB);
        std::memset(memory.get(), 0x44, kMiB);
        Buffer import = Buffer::import(context_, memory.get(), kMiB);
        Buffer device = Buffer::device(context_, device_, kMiB);
        Buffer onHost = Buffer::host(context_, kMiB);
        Buffer shared = Buffer::shared(context_, device_, kMiB);
        ASSERT_TRUE(import && device && onHost && shared);
        std::memset(onHost.get(), 0x11, kMiB);
        std::memset(shared.get(), 0x22, kMiB);
        Events events(context_, 2);
        ImmediateList parked(context_, device_);
        ze_event_handle_t never = events[0];
        ASSERT_OK(zeCommandListAppendWaitOnEvents(parked.get(), 1, &never));
        ASSERT_OK(zeCommandListAppendMemoryCopy(parked.get(), memory.get(), onHost.get(), kMiB,
                                                events[1], 0, nullptr));
        ImmediateList idle(context_, device_);
        ASSERT_OK(idle.fill(device.get(), 0x33, kMiB));

        ze_result_t listResult = ZE_RESULT_SUCCESS, eventResult = ZE_RESULT_SUCCESS;
        std::thread listWaiter([&] { listResult = parked.wait(); });
        std::thread eventWaiter(
            [&] { eventResult = zeEventHostSynchronize(events[1], kLongWait); });
        EXPECT_EQ("gone " + name, host.ask("unplug " + name));
        listWaiter.join();
        eventWaiter.join();
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, listResult);
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, eventResult);

        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, zeDeviceGetStatus(device_));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, zeContextGetStatus(context_));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, parked.wait(0));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, idle.fill(device.get(), 1, kPage));
        auto deviceOptions = deviceDesc();
        auto hostOptions = hostDesc();
        void* pointer = nullptr;
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST,
                  zeMemAllocDevice(context_, &deviceOptions, kPage, 0, device_, &pointer));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST,
                  zeMemAllocHost(context_, &hostOptions, kPage, 0, &pointer));
        Mapping other = Mapping::anonymous(kPage);
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST,
                  importMemory(context_, other.get(), kPage, &pointer));

        // Nobody can free the import any more, and nothing of it is pinned any more.
        EXPECT_EQ(pinned, pinnedBytes());
        // What the program owned is still its own; what the driver gave holds its content or is
        // SIGBUS.
        EXPECT_EQ(-1, firstDifferent(memory.get(), kMiB, 0x44));
        for (const auto& [address, value] :
             {std::pair{onHost.get(), 0x11}, std::pair{shared.get(), 0x22}}) {
            const int seen = peek(address);
            EXPECT_TRUE(seen == value || seen == -1) << seen;
        }
    }
    dropList();
    ASSERT_OK(zeContextDestroy(context_));
    context_ = nullptr;

    EXPECT_EQ("plugged " + name, host.ask("plug " + name));
    for (int tries = 0; tries < 600 && access("/dev/dri/renderD129", R_OK) != 0 &&
                        access("/dev/dri/renderD128", R_OK) != 0;
         tries++)
        usleep(100'000);
    Child next("use-device");
    EXPECT_EQ(0, next.wait());
}

} // namespace

// Without the leak check of the other programs: the figures that it compares are of a device that
// is not there any more.
int main(int argc, char** argv) {
    if (int status = runChildIfAsked(argc, argv); status >= 0)
        return status;
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
