// SPDX-License-Identifier: MIT
// No device to be had: the reason is in the log, so that nobody looks for it elsewhere. Each case
// is a process, because the driver is initialised once in one.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu.h"
#include "process.h"

using namespace vze::test;

namespace {

constexpr uid_t kNobody = 65534;

/* A /dev/dri of this process's own, with the render nodes it is given, each for its owner only. */
bool replaceNodes(bool keep) {
    struct Node {
        std::string path;
        dev_t number;
    };
    std::vector<Node> nodes;
    for (int minor = 128; keep && minor < 192; minor++) {
        const std::string path = "/dev/dri/renderD" + std::to_string(minor);
        struct stat status {};
        if (stat(path.c_str(), &status) == 0)
            nodes.push_back({path, status.st_rdev});
    }
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        mount("dri", "/dev/dri", "tmpfs", 0, "mode=755"))
        return false;
    for (const Node& node : nodes)
        if (mknod(node.path.c_str(), S_IFCHR | 0600, node.number) != 0)
            return false;
    return true;
}

int init(int channel, const std::vector<std::string>& arguments) {
    const std::string& kind = arguments.at(0);
    if (std::freopen(arguments.at(1).c_str(), "w", stderr) == nullptr)
        return 90;
    setenv("VZE_LOG", "1", 1);
    if (kind == "mask")
        setenv("ZE_AFFINITY_MASK", "77", 1);
    else if (!replaceNodes(kind == "denied"))
        return 91;
    if (kind == "denied" && setresuid(kNobody, kNobody, kNobody) != 0)
        return 92;
    void* library = dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return 93;
    const auto zeInitOfDriver = reinterpret_cast<decltype(&zeInit)>(dlsym(library, "zeInit"));
    const ze_result_t result = zeInitOfDriver(0);
    return sendAll(channel, &result, sizeof result) ? 0 : 94;
}

const ChildRegistration initRegistered("init", init);

class NoDevice : public ::testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/vze-no-device-XXXXXX";
        const int fd = mkstemp(name);
        ASSERT_GE(fd, 0);
        close(fd);
        file_ = name;
    }
    void TearDown() override { unlink(file_.c_str()); }

    void expect(const char* kind, const std::string& reason) {
        Child child("init", {kind, file_});
        ze_result_t result = ZE_RESULT_SUCCESS;
        ASSERT_TRUE(child.receive(&result, sizeof result));
        ASSERT_EQ(0, child.wait());
        EXPECT_ZE(ZE_RESULT_ERROR_UNINITIALIZED, result);
        std::string text(4096, '\0');
        Fd file(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
        text.resize(std::max<ssize_t>(0, read(file.get(), text.data(), text.size())));
        EXPECT_NE(std::string::npos, text.find(reason)) << text;
    }

    std::string file_;
};

TEST_F(NoDevice, NoRenderNode) {
    expect("none", "there is no vze device");
}

TEST_F(NoDevice, RenderNodesOfAnotherUser) {
    expect("denied", ": Permission denied");
    expect("denied", "this user may not open the render node of any vze device");
}

TEST_F(NoDevice, MaskThatSelectsNone) {
    expect("mask", "ZE_AFFINITY_MASK=77 selects none of ");
}

} // namespace
