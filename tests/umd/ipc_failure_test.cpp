// SPDX-License-Identifier: MIT
// Memory that runs out at each point of an export and of an open (case 35): nothing is left behind,
// and the next call works. Needs a kernel with failure injection (scripts/sanitize).
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "seams.h"

using namespace vze::test;

namespace {

constexpr char kFailNth[] = "/proc/thread-self/fail-nth";

/* A setting of the kernel's; the old value comes back with the object. */
class Setting {
public:
    Setting(std::string path, const char* value) : path_(std::move(path)) {
        Fd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        char old[32] = {};
        if (read(fd.get(), old, sizeof old - 1) > 0)
            old_ = old;
        set(value);
    }
    ~Setting() { set(old_.c_str()); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

private:
    void set(const char* value) {
        Fd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(static_cast<ssize_t>(std::strlen(value)),
                  write(fd.get(), value, std::strlen(value)))
            << path_;
    }
    std::string path_;
    std::string old_;
};

class IpcFailure : public GpuTest {
protected:
    void SetUp() override {
        struct stat status;
        if (stat(kFailNth, &status) || stat("/sys/kernel/debug/failslab", &status))
            GTEST_SKIP() << "the kernel injects no failures (scripts/sanitize has one that does)";
        GpuTest::SetUp();
        failNth_ = Fd(open(kFailNth, O_RDWR | O_CLOEXEC));
        ASSERT_GE(failNth_.get(), 0);
    }

    /*
     * Lets the n-th allocation that the kernel makes in the call fail, for n = 1, 2, ... until the
     * call makes fewer. What a failed call leaves is looked at each time.
     */
    void failEach(const char* what, const std::function<ze_result_t()>& call,
                  const std::function<void()>& undo) {
        Setting slab("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
        ASSERT_OK(call()); // whatever is made once
        undo();
        const auto counts = deviceCounts();
        const size_t descriptors = openDescriptors();
        unsigned failed = 0, worked = 0;
        for (int n = 1; n < 5000 && !HasFailure(); n++) {
            arm(n);
            const ze_result_t result = call();
            const bool injected = disarm();
            if (result == ZE_RESULT_SUCCESS) {
                worked++;
                undo();
            } else {
                failed++;
                EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, result) << what << ", n = " << n;
            }
            EXPECT_EQ(counts, deviceCounts()) << what << ", n = " << n;
            EXPECT_EQ(descriptors, openDescriptors()) << what << ", n = " << n;
            ASSERT_OK(call()) << what << ", after n = " << n;
            undo();
            if (!injected) {
                std::printf("%s: %u failures reported, %u worked around\n", what, failed, worked);
                EXPECT_GT(failed, 0u);
                return;
            }
        }
        ADD_FAILURE() << what << ": it never got through";
    }

    void arm(int n) {
        char number[16];
        const int length = std::snprintf(number, sizeof number, "%d", n);
        ASSERT_EQ(length, pwrite(failNth_.get(), number, static_cast<size_t>(length), 0));
    }
    /* Whether the failure has happened. */
    bool disarm() {
        char number[16] = {};
        EXPECT_GT(pread(failNth_.get(), number, sizeof number - 1, 0), 0);
        EXPECT_EQ(1, pwrite(failNth_.get(), "0", 1, 0));
        return std::atoi(number) == 0;
    }

    Fd failNth_;
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
