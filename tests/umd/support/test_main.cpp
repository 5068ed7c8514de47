// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <time.h>
#include <unistd.h>

#include "gpu.h"
#include "process.h"

namespace vze::test {

namespace {

/**
 * After each test nothing of it may be left: no object, mapping, pinned page or queue in the kernel
 * module, no pinned byte and no descriptor in this process. What the device gives back after a
 * fault may take a moment, so the figures have that long to come down.
 */
class LeakCheck : public ::testing::EmptyTestEventListener {
    struct Figures {
        std::map<std::string, int64_t> counts;
        uint64_t pinned = 0;
        size_t descriptors = 0;
        bool operator==(const Figures& other) const {
            return counts == other.counts && pinned == other.pinned &&
                   descriptors == other.descriptors;
        }
    };

    static Figures take() { return {deviceCounts(), pinnedBytes(), openDescriptors()}; }

    void OnTestStart(const ::testing::TestInfo& test) override {
        // A report in the kernel log can then be told from which test it came.
        std::ofstream("/dev/kmsg")
            << "vze-test: " << test.test_suite_name() << "." << test.name() << std::endl;
        // The driver opens its devices once; that is no leak of the first test.
        initDriver();
        before_ = take();
        if (before_.counts.empty())
            ADD_FAILURE() << "no /sys/kernel/debug/dri/*/vze_counts: the leak check cannot look";
    }

    void OnTestEnd(const ::testing::TestInfo&) override {
        Figures after = take();
        for (int tries = 0; tries < 300 && !(after == before_); tries++) {
            timespec pause{0, 50'000'000};
            nanosleep(&pause, nullptr);
            after = take();
        }
        for (const auto& [key, value] : after.counts)
            EXPECT_EQ(before_.counts[key], value) << "left behind in the kernel module: " << key;
        EXPECT_EQ(before_.pinned, after.pinned) << "bytes still pinned";
        EXPECT_EQ(before_.descriptors, after.descriptors) << "file descriptors still open";
    }

    Figures before_;
};

/* The driver of this build, when the environment names none. */
void chooseDriver() {
    if (std::getenv("ZE_ENABLE_ALT_DRIVERS"))
        return;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    std::string library(path);
    library.erase(library.rfind('/'));
    library += "/../../umd/libze_vze.so.1";
    setenv("ZE_ENABLE_ALT_DRIVERS", library.c_str(), 1);
}

} // namespace

} // namespace vze::test

int main(int argc, char** argv) {
    vze::test::chooseDriver();
    if (int status = vze::test::runChildIfAsked(argc, argv); status >= 0)
        return status;
    ::testing::InitGoogleTest(&argc, argv);
    ::testing::UnitTest::GetInstance()->listeners().Append(new vze::test::LeakCheck);
    return RUN_ALL_TESTS();
}
