// SPDX-License-Identifier: MIT
// The core of the other tests anew with a second driver beside this one: then the loader looks into
// every handle to find whose it is. (Its other modes: scripts/lib/loader_modes.py.)
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "testfile.h"

using namespace vze::test;

namespace {

struct Core {
    const char* program;
    const char* filter;
};

/* One test or two of each idea: what handles go through, and what is looked at by layers. */
const Core kCore[] = {
    {"driver_test", "*"},
    {"device_test", "*"},
    {"context_test", "*"},
    {"mem_alloc_test", "*Properties:*SizeZero:*NullPointers:*HostAndShared*"},
    {"mem_free_test", "*OnlyTheBase*:*ExtDefault*"},
    {"sysmem_import_test", "SysmemImport.*"},
    {"virtual_memory_test", "*MapWriteReadUnmap:*AccessAttributes:*ReserveAndFree"},
    {"physical_memory_test", "*"},
    {"command_list_test", "*"},
    {"queue_test", "*"},
    {"fence_test", "*"},
    {"event_test", "*"},
    {"copy_test", "*AnyHostPointer:*BetweenAllKinds:*Regions:*FillPatterns"},
    {"fault_test", "*IsDeviceLost*:*TextNames*"},
    {"ipc_test", "*DeviceMemory:*OpenedTwice*:*Errors"},
    {"unsupported_test", "*"},
};

using Settings = std::vector<std::pair<std::string, std::string>>;

int run(const Core& core, const Settings& settings) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        for (const auto& [name, value] : settings)
            setenv(name.c_str(), value.c_str(), 1);
        const std::string program = folderOfThisProgram() + "/" + core.program;
        std::string filter = std::string("--gtest_filter=") + core.filter;
        std::string brief = "--gtest_brief=1";
        std::string name = program;
        char* argv[] = {name.data(), filter.data(), brief.data(), nullptr};
        execv(program.c_str(), argv);
        _exit(127);
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void runAll(const Settings& settings) {
    for (const Core& core : kCore)
        EXPECT_EQ(0, run(core, settings)) << core.program << " " << core.filter;
}

TEST(TwoDrivers, Core) {
    const char* library = std::getenv("ZE_ENABLE_ALT_DRIVERS");
    ASSERT_NE(nullptr, library);
    ASSERT_EQ(nullptr, std::strchr(library, ','));
    // The same driver under another name, so that the loader takes it for a second one.
    const std::string copy = "/tmp/libze_vze_second.so.1";
    {
        int in = open(library, O_RDONLY | O_CLOEXEC);
        ASSERT_GE(in, 0);
        int out = open(copy.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        ASSERT_GE(out, 0);
        struct stat info {};
        ASSERT_EQ(0, fstat(in, &info));
        for (off_t done = 0; done < info.st_size;)
            ASSERT_GT(sendfile(out, in, &done, static_cast<size_t>(info.st_size - done)), 0);
        close(in);
        close(out);
    }
    // Two drivers make the loader look into handles too.
    runAll({{"ZE_ENABLE_ALT_DRIVERS", std::string(library) + "," + copy},
            {"ZE_ENABLE_LOADER_INTERCEPT", "1"}});
    unlink(copy.c_str());
}

} // namespace
