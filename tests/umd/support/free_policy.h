// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <functional>

#include <time.h>

#include "fixture.h"

namespace vze::test {

inline constexpr uint32_t kNow = 0;
inline constexpr uint32_t kBlocking = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
inline constexpr uint32_t kDefer = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
inline constexpr size_t kSize = 4 * kMiB;

inline ze_result_t freeExt(ze_context_handle_t context, void* pointer, uint32_t policy) {
    ze_memory_free_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
    desc.freePolicy = policy;
    return zeMemFreeExt(context, &desc, pointer);
}

inline void pauseMs(long ms) {
    timespec pause{ms / 1000, ms % 1000 * 1'000'000};
    nanosleep(&pause, nullptr);
}

/** Comes true within the time that the kernel may take; nothing of the driver is called. */
inline bool eventually(const std::function<bool()>& what) {
    for (int tries = 0; tries < 3000; tries++) {
        if (what())
            return true;
        pauseMs(20);
    }
    return what();
}

/** Kinds of memory that have free policies. */
enum Kind { Device, Host, Shared, Import, Kinds };

/** Memory of each kind to be freed, and what the module counts of it. */
class FreePolicyTest : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!hasExtension(ZE_MEMORY_FREE_POLICIES_EXT_NAME))
            GTEST_SKIP() << "the driver does not list the free policies";
        memory_ = Mapping::anonymous(kSize);
        std::memset(memory_.get(), 0, kSize);
        list();
        // What the driver keeps for its own use is there before figures are taken.
        EXPECT_OK(list().fill(memory_.get(), 0, kSize));
    }

    Buffer make(int kind) {
        switch (kind) {
        case Device:
            return Buffer::device(context_, device_, kSize);
        case Host:
            return Buffer::host(context_, kSize);
        case Shared:
            return Buffer::shared(context_, device_, kSize);
        default:
            return Buffer::import(context_, memory_.get(), kSize);
        }
    }
    int64_t count(const char* name) { return deviceCounts()[name]; }
    int64_t deferred() { return count("deferred_vram") + count("deferred_system"); }
    ze_result_t freeExt(void* pointer, uint32_t policy) {
        return vze::test::freeExt(context_, pointer, policy);
    }

    Mapping memory_;
};

/** A queue of its own whose work waits for go(), and then fills the memory. */
class Parked {
public:
    Parked(ze_context_handle_t context, ze_device_handle_t device, void* pointer, size_t size)
        : events_(context, 2), list_(context, device) {
        ze_event_handle_t go = events_[0];
        const uint8_t value = 0x5a;
        EXPECT_OK(zeCommandListAppendMemoryFill(list_.get(), pointer, &value, 1, size, events_[1],
                                                1, &go));
    }
    ~Parked() { go(); }
    void go() { EXPECT_OK(zeEventHostSignal(events_[0])); }
    bool done() { return zeEventQueryStatus(events_[1]) == ZE_RESULT_SUCCESS; }
    ImmediateList& list() { return list_; }

private:
    Events events_;
    ImmediateList list_;
};

} // namespace vze::test
