// SPDX-License-Identifier: MIT
// Memory that runs out at each point of an export and of an open (case 35): nothing is left behind,
// and the next call works. Needs a kernel with failure injection (scripts/sanitize).
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "seams.h"

using namespace vze::test;

namespace {

/* A setting of the kernel's in debugfs; the old value comes back with the object. */
class Setting {
public:
    Setting(std::string path, const char* value) : path_(std::move(path)), old_(get()) {
        set(value);
    }
    ~Setting() { set(old_); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

    // These files have no position: each value is a file of its own to read and to write.
    void set(const std::string& value) {
        Fd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(static_cast<ssize_t>(value.size()), write(fd.get(), value.data(), value.size()))
            << path_;
    }
    std::string get() {
        Fd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        char text[32] = {};
        EXPECT_GT(read(fd.get(), text, sizeof text - 1), 0) << path_;
        return text;
    }

private:
    std::string path_;
    std::string old_;
};

/* Whether allocations of this thread fail. Kept open: turning it off must not allocate. */
class MakeItFail {
public:
    MakeItFail() : fd_(open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC)) {}
    ~MakeItFail() { set(false); }
    MakeItFail(const MakeItFail&) = delete;
    MakeItFail& operator=(const MakeItFail&) = delete;
    void set(bool on) { EXPECT_EQ(1, write(fd_.get(), on ? "1" : "0", 1)); }

private:
    Fd fd_;
};

/* Which allocations fail, and how much is allocated between two that are made to. */
struct Kind {
    const char* name;
    unsigned step; // smaller than what is worth trying apart: bytes, or pages
};
constexpr Kind kKinds[] = {{"failslab", 32}, {"fail_page_alloc", 1}};

std::string attribute(const Kind& kind, const char* name) {
    return std::string("/sys/kernel/debug/") + kind.name + "/" + name;
}

class IpcFailure : public GpuTest {
protected:
    void SetUp() override {
        for (const Kind& kind : kKinds) {
            if (access(attribute(kind, "space").c_str(), W_OK))
                GTEST_SKIP()
                    << "the kernel injects no failures (scripts/sanitize has one that does)";
        }
        GpuTest::SetUp();
    }

    using Call = std::function<ze_result_t()>;
    using Undo = std::function<void()>;

    void failEach(const char* what, const Call& call, const Undo& undo) {
        ASSERT_OK(call()); // whatever is made once
        undo();
        unsigned failed = 0;
        for (const Kind& kind : kKinds)
            failEach(what, kind, call, undo, failed);
        EXPECT_GT(failed, 0u) << what;
    }

    /*
     * Lets an allocation in the call fail when this much has been allocated, for more and more,
     * until the call is through with less. What a failed call leaves is looked at each time.
     */
    void failEach(const char* what, const Kind& kind, const Call& call, const Undo& undo,
                  unsigned& failed) {
        Setting wait(attribute(kind, "ignore-gfp-wait"), "N");
        Setting filter(attribute(kind, "task-filter"), "Y");
        Setting quiet(attribute(kind, "verbose"), "0");
        Setting probability(attribute(kind, "probability"), "100");
        Setting interval(attribute(kind, "interval"), "1");
        std::unique_ptr<Setting> highMemory, order;
        if (std::strcmp(kind.name, "fail_page_alloc") == 0) {
            highMemory = std::make_unique<Setting>(attribute(kind, "ignore-gfp-highmem"), "N");
            order = std::make_unique<Setting>(attribute(kind, "min-order"), "0");
        }
        Setting space(attribute(kind, "space"), "0");
        Setting times(attribute(kind, "times"), "0");
        MakeItFail thisThread;

        const auto counts = deviceCounts();
        const size_t descriptors = openDescriptors();
        unsigned reported = 0, worked = 0;
        for (uint64_t before = 0; before < 1'000'000 && !HasFailure(); before += kind.step) {
            space.set(std::to_string(before));
            times.set("1");
            thisThread.set(true);
            const ze_result_t result = call();
            thisThread.set(false);
            const bool injected = std::stoi(times.get()) == 0;
            times.set("0");
            if (result == ZE_RESULT_SUCCESS) {
                worked++;
                undo();
            } else {
                reported++;
                EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, result)
                    << what << ", " << kind.name << " after " << before;
            }
            EXPECT_EQ(counts, deviceCounts()) << what << ", " << kind.name << " after " << before;
            EXPECT_EQ(descriptors, openDescriptors());
            ASSERT_OK(call()) << what << ", after the failure";
            undo();
            if (!injected) {
                std::printf("%s, %s: %u failures reported, %u worked around\n", what, kind.name,
                            reported, worked);
                failed += reported;
                return;
            }
        }
        ADD_FAILURE() << what << ": it never got through";
    }
};

const std::vector<bool> kMixed = {false, true, true, false, true, false, false, true};

TEST_F(IpcFailure, OpenOfARange) {
    Seams range(context_, device_, list(), kMixed);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(getRange(context_, range.bytes(), range.size(), &handle));
    void* opened = nullptr;
    failEach(
        "open of a range",
        [&] { return zeMemOpenIpcHandle(context_, device_, handle, 0, &opened); },
        [&] { EXPECT_OK(zeMemCloseIpcHandle(context_, opened)); });
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

TEST_F(IpcFailure, OpenByDescriptor) {
    Buffer buffer = Buffer::host(context_, 8 * kPage);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    const ze_ipc_mem_handle_t only = handleOfDescriptor(descriptorIn(handle));
    void* opened = nullptr;
    failEach(
        "open by descriptor",
        [&] { return zeMemOpenIpcHandle(context_, device_, only, 0, &opened); },
        [&] { EXPECT_OK(zeMemCloseIpcHandle(context_, opened)); });
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

TEST_F(IpcFailure, ExportOfARange) {
    Seams range(context_, device_, list(), kMixed);
    ze_ipc_mem_handle_t handle{};
    failEach(
        "export of a range",
        [&] { return getRange(context_, range.bytes(), range.size(), &handle); },
        [&] { EXPECT_OK(zeMemPutIpcHandle(context_, handle)); });
}

TEST_F(IpcFailure, ExportOfAnAllocation) {
    Buffer buffer = Buffer::device(context_, device_, 8 * kPage);
    ze_ipc_mem_handle_t handle{};
    failEach(
        "export of an allocation",
        [&] { return zeMemGetIpcHandle(context_, buffer.get(), &handle); },
        [&] { EXPECT_OK(zeMemPutIpcHandle(context_, handle)); });
}

} // namespace
