// SPDX-License-Identifier: MIT
// A kernel module with another version of the kernel interface: refused with both versions named,
// or accepted when it only has more.
//
// This program's own ioctl(), which the driver's calls reach because the executable exports it,
// lets the real module answer and then changes the version. Every case is a process of its own,
// for the loader and the driver are initialised once in a process.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <drm/vze_drm.h>

#include "gpu.h"
#include "process.h"

using namespace vze::test;

namespace {

struct Version {
    int major;
    int minor;
};

/* What the module is made to say, and how often it was asked. */
struct Disguise {
    bool active = false;
    Version version{};
    int asked = 0;
};
Disguise disguise;

} // namespace

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    const long result = syscall(SYS_ioctl, fd, request, argument);
    if (result == 0 && request == DRM_IOCTL_VERSION && disguise.active) {
        auto* version = static_cast<drm_version*>(argument);
        version->version_major = disguise.version.major;
        version->version_minor = disguise.version.minor;
        disguise.asked++;
    }
    return static_cast<int>(result);
}

namespace {

constexpr Version kOwn{VZE_UAPI_VERSION_MAJOR, VZE_UAPI_VERSION_MINOR};

std::string text(const Version& version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
}

/* What a process with a disguised module found. */
struct Report {
    int asked;
    ze_result_t initDrivers; ///< zeInitDrivers of the loader
    uint32_t drivers;
    ze_result_t init;      ///< zeInit of the loader
    ze_result_t driverGet; ///< zeDriverGet of the loader
    ze_result_t direct;    ///< zeInit of the driver itself, without a loader
    ze_result_t directGet; ///< zeDriverGet of the driver itself
    uint32_t directCount;
    uint32_t devices;
};

/* The function `name` of the driver itself. */
template <typename Function>
Function own(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

int probe(int channel, const std::vector<std::string>& arguments) {
    disguise = {true, {std::atoi(arguments.at(0).c_str()), std::atoi(arguments.at(1).c_str())}, 0};
    // The driver's lines go where the parent reads them.
    if (std::freopen(arguments.at(2).c_str(), "w", stderr) == nullptr)
        return 90;
    setenv("VZE_LOG", "1", 1);

    Report report{};
    void* library = dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return 91;
    report.direct = own<decltype(&zeInit)>(library, "zeInit")(ZE_INIT_FLAG_GPU_ONLY);
    report.directGet =
        own<decltype(&zeDriverGet)>(library, "zeDriverGet")(&report.directCount, nullptr);

    ze_init_driver_type_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC;
    type.flags = ZE_INIT_DRIVER_TYPE_FLAG_GPU;
    report.initDrivers = zeInitDrivers(&report.drivers, nullptr, &type);
    report.init = zeInit(ZE_INIT_FLAG_GPU_ONLY);
    uint32_t count = 1;
    ze_driver_handle_t first = nullptr;
    report.driverGet = zeDriverGet(&count, &first);
    if (report.driverGet == ZE_RESULT_SUCCESS && first != nullptr)
        zeDeviceGet(first, &report.devices, nullptr);
    report.asked = disguise.asked;
    return sendAll(channel, &report, sizeof report) ? 0 : 92;
}

const ChildRegistration probeRegistered("probe", probe);

class UapiVersion : public ::testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/vze-uapi-version-XXXXXX";
        const int fd = mkstemp(name);
        ASSERT_GE(fd, 0);
        close(fd);
        log_ = name;
    }
    void TearDown() override { unlink(log_.c_str()); }

    /* Runs a process whose module claims this version, and takes its log. */
    void run(const Version& claimed) {
        Child child("probe", {std::to_string(claimed.major), std::to_string(claimed.minor), log_});
        ASSERT_TRUE(child.receive(&report_, sizeof report_));
        ASSERT_EQ(0, child.wait());
        ASSERT_LT(0, report_.asked) << "the driver's ioctl did not come here";
        FILE* file = std::fopen(log_.c_str(), "re");
        ASSERT_NE(nullptr, file);
        char line[1024];
        // The loader's layers have something to say, too.
        while (std::fgets(line, sizeof line, file) != nullptr)
            if (std::strncmp(line, "vze[", 4) == 0)
                lines_.emplace_back(line);
        std::fclose(file);
    }

    void expectRefused(const Version& claimed) {
        ASSERT_NO_FATAL_FAILURE(run(claimed));
        EXPECT_ZE(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, report_.direct);
        EXPECT_ZE(ZE_RESULT_ERROR_UNINITIALIZED, report_.directGet);
        // The loader drops a driver that does not start, is left with none, and passes the reason
        // on.
        EXPECT_ZE(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, report_.initDrivers);
        EXPECT_EQ(0u, report_.drivers);
        EXPECT_ZE(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, report_.init);
        EXPECT_ZE(ZE_RESULT_ERROR_UNINITIALIZED, report_.driverGet);
        ASSERT_FALSE(lines_.empty());
        const std::string reason = "refused: the kernel module has interface version " +
                                   text(claimed) + ", this driver needs " + text(kOwn);
        EXPECT_NE(std::string::npos, lines_.front().find("/dev/dri/renderD")) << lines_.front();
        EXPECT_NE(std::string::npos, lines_.front().find(reason)) << lines_.front();
        EXPECT_NE(std::string::npos, lines_.front().find("zeInit: ")) << lines_.front();
    }

    void expectAccepted(const Version& claimed) {
        ASSERT_NO_FATAL_FAILURE(run(claimed));
        EXPECT_OK(report_.direct);
        EXPECT_OK(report_.directGet);
        EXPECT_EQ(1u, report_.directCount);
        EXPECT_OK(report_.initDrivers);
        EXPECT_EQ(1u, report_.drivers);
        EXPECT_OK(report_.init);
        EXPECT_OK(report_.driverGet);
        EXPECT_EQ(devices().size(), report_.devices);
        EXPECT_TRUE(lines_.empty()) << lines_.front();
    }

    std::string log_;
    std::vector<std::string> lines_;
    Report report_{};
};

TEST_F(UapiVersion, TheSameIsAccepted) {
    expectAccepted(kOwn);
}

TEST_F(UapiVersion, ANewerMinorIsAccepted) {
    expectAccepted({kOwn.major, kOwn.minor + 1});
}

TEST_F(UapiVersion, AMuchNewerMinorIsAccepted) {
    expectAccepted({kOwn.major, 1000});
}

TEST_F(UapiVersion, AnOlderMinorIsRefused) {
    expectRefused({kOwn.major, kOwn.minor - 1});
}

TEST_F(UapiVersion, ANewerMajorIsRefused) {
    expectRefused({kOwn.major + 1, 0});
    // ... whatever its minor version is.
    lines_.clear();
    expectRefused({kOwn.major + 1, kOwn.minor});
}

TEST_F(UapiVersion, AnOlderMajorIsRefused) {
    expectRefused({kOwn.major - 1, kOwn.minor + 7});
}

} // namespace
