// SPDX-License-Identifier: MIT
// Who can open a handle, from where, and without whose help (cases 30, 31).
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "seams.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 5 * kPage;
constexpr uint32_t kOtherUser = 12345;

class IpcIsolation : public GpuTest {
protected:
    /* A handle of an allocation and one of a range, whose memory carries patterns 1 and 2. */
    void SetUp() override {
        GpuTest::SetUp();
        buffer_ = Buffer::device(context_, device_, kSize);
        writeByDevice(buffer_.get(), kSize, 1);
        range_ = std::make_unique<Seams>(context_, device_, list(),
                                         std::vector<bool>{false, true, false, true});
        writeByDevice(range_->bytes(), kSize, 2);
        ASSERT_OK(zeMemGetIpcHandle(context_, buffer_.get(), &handles_[0]));
        ASSERT_OK(getRange(context_, range_->bytes(), kSize, &handles_[1]));
    }
    void TearDown() override {
        for (const auto& handle : handles_)
            EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        range_.reset();
        buffer_.reset();
        GpuTest::TearDown();
    }

    void expectOpens(Peer& peer) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t slot = 0;
            ASSERT_OK(peer.open(handles_[i], &slot));
            EXPECT_EQ(-1, peer.mismatch(slot, 0, kSize, i + 1));
            EXPECT_OK(peer.close(slot));
        }
    }

    void expectRefused(Peer& peer) {
        for (const auto& handle : handles_) {
            uint32_t slot = 0;
            EXPECT_ZE(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, peer.open(handle, &slot));
            // What bytes 0-3 say is of this process and means nothing there.
            ze_ipc_mem_handle_t damaged = handle;
            damaged.data[30] = static_cast<char>(damaged.data[30] ^ 1);
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, peer.open(damaged, &slot))
                << "a wrong secret tells nothing about whose it is";
        }
    }

    Buffer buffer_;
    std::unique_ptr<Seams> range_;
    ze_ipc_mem_handle_t handles_[2] = {};
};

TEST_F(IpcIsolation, AnotherPidNamespace) {
    Peer peer({.pidNamespace = true});
    expectOpens(peer);
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcIsolation, ProcessAccessDeniedBySeccomp) {
    Peer peer({.denyProcessAccess = true});
    EXPECT_EQ(EPERM, peer.pidfdOpen(getpid())) << "the filter is in place";
    expectOpens(peer);
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcIsolation, ExporterThatIsNotDumpable) {
    ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 0));
    {
        Peer peer;
        expectOpens(peer);
        EXPECT_EQ(0, peer.finish());
    }
    EXPECT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
}

/* All of it, as a container would have it, in both directions. */
TEST_F(IpcIsolation, AsFromAContainer) {
    const PeerSetup container{
        .pidNamespace = true, .denyProcessAccess = true, .hideProc = true, .notDumpable = true};
    Peer peer(container), other(container);
    expectOpens(peer);
    uint32_t owned = 0, slot = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Host, kSize, 7, &owned));
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(peer.get(owned, &handle));
    ASSERT_OK(other.open(handle, &slot));
    EXPECT_EQ(-1, other.cpuMismatch(slot, 0, kSize, 7));
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());
    EXPECT_EQ(-1, firstMismatch(opened.get(), kSize, 7));
    EXPECT_EQ(0, other.finish());
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcIsolation, AnotherUser) {
    Peer peer({.user = kOtherUser});
    expectRefused(peer);
    EXPECT_EQ(0, peer.finish());
}

/* All capabilities, but in a user namespace below the exporter's. */
TEST_F(IpcIsolation, AnotherUserWhoIsRootOfANamespace) {
    Peer peer({.userNamespace = true, .user = kOtherUser});
    expectRefused(peer);
    EXPECT_EQ(0, peer.finish());
}

/* The user is the same, whatever it is called in there. */
TEST_F(IpcIsolation, TheSameUserInAnotherUserNamespace) {
    Peer peer({.userNamespace = true});
    expectOpens(peer);
    EXPECT_EQ(0, peer.finish());
}

/* CAP_SYS_PTRACE in the exporter's user namespace passes: this process is root. */
TEST_F(IpcIsolation, RootOpensWhatAUserExports) {
    Peer peer({.user = kOtherUser});
    uint32_t owned = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Device, kSize, 3, &owned));
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(peer.get(owned, &handle));
    {
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        std::vector<uint8_t> seen = readBack(opened.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 3));
    }
    // Users among themselves.
    Peer same({.user = kOtherUser}), third({.user = kOtherUser + 1});
    uint32_t slot = 0;
    EXPECT_OK(same.open(handle, &slot));
    EXPECT_ZE(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, third.open(handle, &slot));
    EXPECT_EQ(0, third.finish());
    EXPECT_EQ(0, same.finish());
    EXPECT_EQ(0, peer.finish());
}

/* Another user who was given the descriptor: the token is refused, the descriptor proves the right.
 */
TEST_F(IpcIsolation, AnotherUserWithTheDescriptor) {
    Peer peer({.user = kOtherUser});
    const int given[2] = {peer.give(descriptorIn(handles_[0])),
                          peer.give(descriptorIn(handles_[1]))};
    for (uint32_t i = 0; i < 2; i++) {
        const int number = given[i];
        ze_ipc_mem_handle_t patched = handles_[i];
        setDescriptor(patched, number);
        uint32_t slot = 0;
        ASSERT_OK(peer.open(patched, &slot)) << i;
        EXPECT_EQ(-1, peer.mismatch(slot, 0, kSize, i + 1));
        EXPECT_OK(peer.close(slot));
        // Another one's descriptor proves nothing.
        setDescriptor(patched, given[1 - i]);
        EXPECT_ZE(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, peer.open(patched, &slot)) << i;
        setDescriptor(patched, 0);
        EXPECT_ZE(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, peer.open(patched, &slot)) << i;
        // The descriptor alone opens, too.
        ASSERT_OK(peer.open(handleOfDescriptor(number), &slot)) << i;
        EXPECT_EQ(-1, peer.mismatch(slot, 0, kSize, i + 1));
        EXPECT_OK(peer.close(slot));
    }
    EXPECT_EQ(0, peer.finish());
}

/* Case 31. */
TEST_F(IpcIsolation, ExporterThatIsStopped) {
    Peer peer;
    uint32_t owned = 0, freed = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Device, kSize, 4, &owned));
    ASSERT_OK(peer.allocate(PeerMemory::Device, kSize, 5, &freed));
    ze_ipc_mem_handle_t handle{}, old{};
    ASSERT_OK(peer.get(owned, &handle));
    ASSERT_OK(peer.get(freed, &old));
    EXPECT_OK(peer.free(freed));
    peer.signal(SIGSTOP);
    siginfo_t info{};
    ASSERT_EQ(0, waitid(P_PID, static_cast<id_t>(peer.pid()), &info, WSTOPPED | WNOWAIT));
    {
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        std::vector<uint8_t> seen = readBack(opened.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 4));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, old).result());
        info = {};
        ASSERT_EQ(0, waitid(P_PID, static_cast<id_t>(peer.pid()), &info, WSTOPPED | WNOWAIT));
        EXPECT_EQ(CLD_STOPPED, info.si_code) << "it was stopped all the time";
    }
    peer.signal(SIGCONT);
    EXPECT_EQ(0, peer.finish());
}

} // namespace
