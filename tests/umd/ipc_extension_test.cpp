// SPDX-License-Identifier: MIT
// The end of a handle, its importers, taking it back (vze/vze_ext.h).
#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "seams.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 4 * kPage;

class IpcExtension : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        shareFd_ = VZE_EXTENSION(zexVzeMemGetIpcShareFd);
        shareFdOf_ = VZE_EXTENSION(zexVzeMemGetIpcShareFdOfPointer);
        info_ = VZE_EXTENSION(zexVzeMemGetIpcShareInfo);
        importers_ = VZE_EXTENSION(zexVzeMemGetIpcImporters);
        revoke_ = VZE_EXTENSION(zexVzeMemRevokeIpcHandle);
        identity_ = VZE_EXTENSION(zexVzeMemGetIpcIdentity);
        ASSERT_TRUE(shareFd_ && shareFdOf_ && info_ && importers_ && revoke_ && identity_);
    }

    Fd shareFd(const ze_ipc_mem_handle_t& handle) {
        int fd = -1;
        EXPECT_OK(shareFd_(context_, handle, &fd));
        return Fd(fd);
    }
    Fd shareFdOf(const void* pointer) {
        int fd = -1;
        EXPECT_OK(shareFdOf_(context_, pointer, &fd));
        return Fd(fd);
    }
    vze_ipc_share_info_t infoOf(const Fd& fd) {
        vze_ipc_share_info_t info{};
        EXPECT_OK(info_(context_, fd.get(), &info));
        return info;
    }

    /* What poll says now, or (wait) once it says something. */
    static short events(const Fd& fd, bool wait = false) {
        pollfd poller{fd.get(), POLLIN, 0};
        return ::poll(&poller, 1, wait ? 60'000 : 0) < 0 ? short{-1} : poller.revents;
    }

    void expectLive(const Fd& fd) {
        EXPECT_EQ(0, events(fd));
        EXPECT_EQ(unsigned{VZE_IPC_SHARE_STATE_LIVE}, infoOf(fd).state);
    }
    void expectOver(const Fd& fd, uint32_t state) {
        EXPECT_EQ(POLLIN | POLLHUP, events(fd, true) & (POLLIN | POLLHUP | POLLERR));
        EXPECT_EQ(state, infoOf(fd).state);
    }

    ze_ipc_mem_handle_t handleOf(const void* pointer) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &handle));
        return handle;
    }

    std::vector<vze_ipc_importer_t> importersOf(const ze_ipc_mem_handle_t& handle) {
        uint32_t count = 0;
        EXPECT_OK(importers_(context_, handle, &count, nullptr));
        std::vector<vze_ipc_importer_t> list(count + 3); // more room than is needed
        count = static_cast<uint32_t>(list.size());
        EXPECT_OK(importers_(context_, handle, &count, list.data()));
        list.resize(std::min<size_t>(count, list.size()));
        std::sort(list.begin(), list.end(),
                  [](const auto& a, const auto& b) { return a.pid < b.pid; });
        return list;
    }

    zexVzeMemGetIpcShareFd_fn shareFd_ = nullptr;
    zexVzeMemGetIpcShareFdOfPointer_fn shareFdOf_ = nullptr;
    zexVzeMemGetIpcShareInfo_fn info_ = nullptr;
    zexVzeMemGetIpcImporters_fn importers_ = nullptr;
    zexVzeMemRevokeIpcHandle_fn revoke_ = nullptr;
    zexVzeMemGetIpcIdentity_fn identity_ = nullptr;
};

TEST_F(IpcExtension, Errors) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    ze_ipc_mem_handle_t garbage{};
    std::memset(garbage.data, 0x35, sizeof garbage.data);
    const ze_ipc_mem_handle_t dmaBuf = handleOfDescriptor(descriptorIn(handle));
    int fd = -1;
    uint64_t identity = 0;
    uint32_t count = 0;
    vze_ipc_share_info_t info{};
    constexpr auto kNullPointer = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    constexpr auto kInvalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;

    EXPECT_ZE(kNullPointer, identity_(context_, handle, nullptr));
    EXPECT_ZE(kNullPointer, shareFd_(context_, handle, nullptr));
    EXPECT_ZE(kNullPointer, shareFdOf_(context_, buffer.get(), nullptr));
    EXPECT_ZE(kNullPointer, shareFdOf_(context_, nullptr, &fd));
    EXPECT_ZE(kNullPointer, info_(context_, 0, nullptr));
    EXPECT_ZE(kNullPointer, importers_(context_, handle, nullptr, nullptr));
    for (const auto& bad : {garbage, dmaBuf, handleOfDescriptor(-1), handleOfDescriptor(9999)}) {
        EXPECT_ZE(kInvalid, identity_(context_, bad, &identity));
        EXPECT_ZE(kInvalid, shareFd_(context_, bad, &fd));
        EXPECT_ZE(kInvalid, importers_(context_, bad, &count, nullptr));
        EXPECT_ZE(kInvalid, revoke_(context_, bad, 0, nullptr));
    }
    EXPECT_ZE(kInvalid, shareFdOf_(context_, buffer.get(), &fd)) << "it was not opened by handle";
    EXPECT_ZE(kInvalid, shareFdOf_(context_, &fd, &fd));
    EXPECT_ZE(kInvalid, info_(context_, descriptorIn(handle), &info)) << "a dma-buf";
    EXPECT_ZE(kInvalid, info_(context_, 0, &info));
    EXPECT_ZE(kInvalid, info_(context_, -1, &info));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, revoke_(context_, handle, 2, nullptr));
    {
        Opened opened(context_, device_, dmaBuf);
        ASSERT_OK(opened.result());
        EXPECT_ZE(kInvalid, shareFdOf_(context_, opened.get(), &fd)) << "a dma-buf has no end";
    }
    EXPECT_EQ(-1, fd);
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_ZE(kInvalid, shareFd_(context_, handle, &fd)) << "it is over";
    EXPECT_ZE(kInvalid, importers_(context_, handle, &count, nullptr));
    EXPECT_ZE(kInvalid, revoke_(context_, handle, 0, nullptr));
    SKIP_WITHOUT_DIRECT_HANDLES();
    constexpr auto kNullHandle = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    EXPECT_ZE(kNullHandle, identity_(nullptr, handle, &identity));
    EXPECT_ZE(kNullHandle, shareFd_(nullptr, handle, &fd));
    EXPECT_ZE(kNullHandle, shareFdOf_(nullptr, buffer.get(), &fd));
    EXPECT_ZE(kNullHandle, info_(nullptr, 0, &info));
    EXPECT_ZE(kNullHandle, importers_(nullptr, handle, &count, nullptr));
    EXPECT_ZE(kNullHandle, revoke_(nullptr, handle, 0, nullptr));
}

/* How an exporter's handle ends, as an importer's descriptor tells it. */
TEST_F(IpcExtension, ToldOfEachEnd) {
    { // put
        Buffer buffer = Buffer::device(context_, device_, kSize);
        const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
        const Fd fd = shareFd(handle);
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        const Fd ofView = shareFdOf(opened.get());
        expectLive(fd);
        expectLive(ofView);
        EXPECT_EQ(identityOf(context_, handle), infoOf(fd).identity);
        EXPECT_EQ(kSize, infoOf(ofView).size);
        EXPECT_EQ(1u, infoOf(fd).segments);
        EXPECT_OK(zeMemPutIpcHandle(context_, handleOf(buffer.get())));
        expectLive(fd);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        expectOver(fd, VZE_IPC_SHARE_STATE_PUT);
        expectOver(ofView, VZE_IPC_SHARE_STATE_PUT);
        const Fd late = shareFdOf(opened.get()); // of a view in any state
        expectOver(late, VZE_IPC_SHARE_STATE_PUT);
    }
    { // free
        Buffer buffer = Buffer::host(context_, kSize);
        const Fd fd = shareFd(handleOf(buffer.get()));
        expectLive(fd);
        buffer.reset();
        expectOver(fd, VZE_IPC_SHARE_STATE_DEAD);
    }
    { // one object of a range
        Seams range(context_, device_, list(), {false, true, true, false});
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(getRange(context_, range.bytes(), range.size(), &handle));
        Fd fd = shareFd(handle);
        EXPECT_EQ(4u, infoOf(fd).segments);
        EXPECT_OK(zeVirtualMemUnmap(context_, range.bytes(), range.size()));
        expectLive(fd);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        expectOver(fd, VZE_IPC_SHARE_STATE_PUT);
    }
    { // the context
        ze_context_handle_t own = makeContext();
        auto desc = deviceDesc();
        void* pointer = nullptr;
        ASSERT_OK(zeMemAllocDevice(own, &desc, kSize, 0, device_, &pointer));
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandle(own, pointer, &handle));
        const Fd fd = shareFd(handle);
        expectLive(fd);
        EXPECT_OK(zeContextDestroy(own));
        expectOver(fd, VZE_IPC_SHARE_STATE_DEAD);
    }
    for (const bool killed : {false, true}) { // the process
        Peer peer;
        uint32_t owned = 0;
        ASSERT_OK(peer.allocate(PeerMemory::Device, kSize, 1, &owned));
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(peer.get(owned, &handle));
        const Fd fd = shareFd(handle);
        expectLive(fd);
        if (killed)
            peer.kill();
        else
            EXPECT_EQ(0, peer.finish());
        expectOver(fd, VZE_IPC_SHARE_STATE_DEAD);
    }
    { // revoked
        Buffer buffer = Buffer::host(context_, kSize);
        const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
        const Fd fd = shareFd(handle);
        EXPECT_OK(revoke_(context_, handle, 0, nullptr));
        expectOver(fd, VZE_IPC_SHARE_STATE_REVOKED);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        expectOver(fd, VZE_IPC_SHARE_STATE_REVOKED);
    }
}

/* The descriptor of a share opens like a handle, here and where it was passed to. */
TEST_F(IpcExtension, ShareDescriptorOpens) {
    for (const bool host : {false, true}) {
        Seams range(context_, device_, list(), {host, true, host});
        const size_t offset = 700, size = range.size() - kPage;
        writeByDevice(range.bytes() + offset, size, 4);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(getRange(context_, range.bytes() + offset, size, &handle));
        Fd fd = shareFd(handle);
        EXPECT_NE(descriptorIn(handle), fd.get());
        EXPECT_NE(0, fcntl(fd.get(), F_GETFD) & FD_CLOEXEC);
        Peer peer({.user = 12345}); // who cannot open by token
        const int there = peer.give(fd.get());
        uint32_t slot = 0;
        uint64_t seen = 0;
        ASSERT_OK(peer.open(handleOfDescriptor(there), &slot, &seen));
        EXPECT_EQ(size, seen);
        EXPECT_EQ(-1, peer.mismatch(slot, 0, size, 4));
        if (host) {
            EXPECT_EQ(-1, peer.cpuMismatch(slot, 0, size, 4));
        }
        Opened opened(context_, device_, handleOfDescriptor(fd.get()));
        ASSERT_OK(opened.result());
        EXPECT_EQ(offset % kPage, reinterpret_cast<uintptr_t>(opened.get()) % kPage);
        // By the descriptor's own name a further one is a copy.
        const Fd copy = shareFd(handleOfDescriptor(fd.get()));
        EXPECT_EQ(infoOf(fd).identity, infoOf(copy).identity);
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, peer.open(handleOfDescriptor(there), &slot));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  Opened(context_, device_, handleOfDescriptor(fd.get())).result());
        EXPECT_EQ(0, peer.finish());
    }
}

TEST_F(IpcExtension, Importers) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    EXPECT_TRUE(importersOf(handle).empty());
    Peer first, second;
    uint32_t slots[3] = {};
    ASSERT_OK(first.open(handle, &slots[0]));
    ASSERT_OK(second.open(handle, &slots[1]));
    ASSERT_OK(second.open(handle, &slots[2]));
    std::map<uint32_t, uint32_t> views;
    for (const vze_ipc_importer_t& importer : importersOf(handle)) {
        views[importer.pid] = importer.views;
        EXPECT_EQ(importer.views * kSize, importer.bytes);
    }
    const std::map<uint32_t, uint32_t> expected = {{static_cast<uint32_t>(first.pid()), 1},
                                                   {static_cast<uint32_t>(second.pid()), 2}};
    EXPECT_EQ(expected, views);
    // Room for fewer than there are.
    uint32_t count = 1;
    vze_ipc_importer_t one[2] = {{0, 0, 0}, {77, 77, 77}};
    EXPECT_OK(importers_(context_, handle, &count, one));
    EXPECT_EQ(1u, count);
    EXPECT_EQ(1u, views.count(one[0].pid));
    EXPECT_EQ(77u, one[1].pid);

    EXPECT_OK(second.close(slots[1]));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle)); // still listed while it is open
    std::vector<vze_ipc_importer_t> left = importersOf(handle);
    ASSERT_EQ(2u, left.size());
    EXPECT_EQ(1u, left[0].views);
    EXPECT_EQ(1u, left[1].views);
    first.kill();
    left = importersOf(handle);
    ASSERT_EQ(1u, left.size());
    EXPECT_EQ(static_cast<uint32_t>(second.pid()), left[0].pid);
    EXPECT_OK(second.close(slots[2]));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, importers_(context_, handle, &count, nullptr));
    EXPECT_EQ(0, second.finish());
}

/* Only the exporter may ask and revoke. */
TEST_F(IpcExtension, OthersHandles) {
    Peer peer;
    uint32_t owned = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Device, kSize, 1, &owned));
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(peer.get(owned, &handle));
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());
    uint32_t count = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, importers_(context_, handle, &count, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, revoke_(context_, handle, 0, nullptr));
    EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, handle).result());
}

TEST_F(IpcExtension, RevokedHandleEndsWhateverItsGets) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kSize, 1);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    EXPECT_EQ(0, std::memcmp(&handle, handleOf(buffer.get()).data, sizeof handle));
    Peer peer;
    uint32_t slot = 0, late = 0;
    ASSERT_OK(peer.open(handle, &slot));
    const size_t descriptors = openDescriptors();
    EXPECT_OK(revoke_(context_, handle, 0, nullptr));
    EXPECT_EQ(descriptors - 1, openDescriptors()) << "its descriptor goes as with the last Put";
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, peer.open(handle, &late));
    EXPECT_EQ(-1, peer.mismatch(slot, 0, kSize, 1)) << "without UNMAP what is open stays";
    // The next Get is another handle; what is still put of the old one does not touch it.
    const ze_ipc_mem_handle_t next = handleOf(buffer.get());
    EXPECT_NE(identityOf(context_, handle), identityOf(context_, next));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    ASSERT_OK(peer.open(next, &late));
    EXPECT_OK(zeMemPutIpcHandle(context_, next));
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcExtension, RevokedWithUnmap) {
    for (const bool host : {false, true}) {
        Buffer buffer =
            host ? Buffer::host(context_, kSize) : Buffer::device(context_, device_, kSize);
        writeByDevice(buffer.get(), kSize, 5);
        const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
        const Fd fd = shareFd(handle);
        Peer importer, third, bystander;
        uint32_t slot = 0, handed = 0, own = 0;
        ASSERT_OK(importer.open(handle, &slot));
        if (host) {
            EXPECT_EQ(-1, importer.cpuMismatch(slot, 0, kSize, 5));
        }
        // Handed on: the exporter's revocation reaches that, too.
        ze_ipc_mem_handle_t second{};
        ASSERT_OK(importer.get(slot, &second));
        ASSERT_OK(third.open(second, &handed));
        EXPECT_EQ(-1, third.mismatch(handed, 0, kSize, 5));
        ASSERT_OK(bystander.allocate(PeerMemory::Device, kSize, 6, &own));
        ASSERT_OK(importer.allocate(PeerMemory::Device, kSize, 7, &own));

        vze_ipc_revoke_result_t result{};
        ASSERT_OK(revoke_(context_, handle, VZE_IPC_REVOKE_FLAG_UNMAP, &result));
        EXPECT_EQ(2u, result.views);
        EXPECT_EQ(POLLERR, events(fd, true) & POLLERR);
        EXPECT_EQ(unsigned{VZE_IPC_SHARE_FLAG_UNMAPPED}, infoOf(fd).flags);
        EXPECT_EQ(unsigned{VZE_IPC_SHARE_STATE_REVOKED}, infoOf(fd).state);

        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, importer.touch(slot, 0));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, third.touch(handed, kPage));
        if (host) {
            EXPECT_EQ(SIGBUS, importer.cpuTouch(slot, 0));
            EXPECT_EQ(SIGBUS, third.cpuTouch(handed, kPage));
        }
        // Contained: their other memory, other queues, other processes, the exporter.
        EXPECT_EQ(-1, importer.mismatch(own, 0, kSize, 7));
        EXPECT_EQ(-1, bystander.mismatch(0, 0, kSize, 6));
        std::vector<uint8_t> seen = readBack(buffer.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 5)) << "no byte was written";
        uint32_t late = 0;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, importer.open(handle, &late));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, third.open(second, &late));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, importer.get(slot, &second))
            << "what was taken back cannot be handed on";
        EXPECT_OK(importer.close(slot));
        EXPECT_OK(third.close(handed));
        EXPECT_EQ(0, importer.finish());
        EXPECT_EQ(0, third.finish());
        EXPECT_EQ(0, bystander.finish());
    }
}

/* A put handle with views can still be taken away. */
TEST_F(IpcExtension, RevokedAfterThePut) {
    Buffer buffer = Buffer::device(context_, device_, kSize);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    Peer peer;
    uint32_t slot = 0;
    ASSERT_OK(peer.open(handle, &slot));
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_OK(peer.touch(slot, 0));
    vze_ipc_revoke_result_t result{};
    EXPECT_OK(revoke_(context_, handle, VZE_IPC_REVOKE_FLAG_UNMAP, &result));
    EXPECT_EQ(1u, result.views);
    EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, peer.touch(slot, 0));
    EXPECT_OK(peer.close(slot));
    EXPECT_EQ(0, peer.finish());
}

/*
 * What it is all for: an importer that keeps what it opened by identity, finds an entry again while
 * the memory is the same, and evicts it when the exporter has freed it.
 */
TEST_F(IpcExtension, ACacheThatEvicts) {
    struct Entry {
        std::unique_ptr<Opened> opened;
        Fd end;
    };
    std::map<uint64_t, Entry> cache;
    unsigned opens = 0;
    auto lookUp = [&](const ze_ipc_mem_handle_t& handle) -> void* {
        for (auto it = cache.begin(); it != cache.end();)
            it = events(it->second.end) != 0 ? cache.erase(it) : std::next(it);
        const uint64_t identity = identityOf(context_, handle);
        auto found = cache.find(identity);
        if (found == cache.end()) {
            opens++;
            Entry entry{std::make_unique<Opened>(context_, device_, handle), shareFd(handle)};
            EXPECT_OK(entry.opened->result());
            found = cache.emplace(identity, std::move(entry)).first;
        }
        return found->second.opened->get();
    };
    Peer peer;
    ze_ipc_mem_handle_t handle{};
    uint32_t owned = 0, other = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Host, kSize, 1, &owned));
    ASSERT_OK(peer.allocate(PeerMemory::Host, kSize, 2, &other));
    void* first = nullptr;
    for (int i = 0; i < 5; i++) {
        ASSERT_OK(peer.get(owned, &handle));
        void* found = lookUp(handle);
        EXPECT_TRUE(first == nullptr || first == found);
        first = found;
        EXPECT_EQ(-1, firstMismatch(found, kSize, 1));
        ASSERT_OK(peer.get(other, &handle));
        EXPECT_EQ(-1, firstMismatch(lookUp(handle), kSize, 2));
    }
    EXPECT_EQ(2u, opens);
    EXPECT_OK(peer.free(owned));
    uint32_t again = 0;
    ASSERT_OK(peer.allocate(PeerMemory::Host, kSize, 3, &again));
    ASSERT_OK(peer.get(again, &handle));
    EXPECT_EQ(-1, firstMismatch(lookUp(handle), kSize, 3));
    EXPECT_EQ(2u, cache.size()) << "the freed one has gone, and with it its pages";
    EXPECT_EQ(3u, opens);
    peer.kill();
    for (auto& [identity, entry] : cache)
        EXPECT_NE(0, events(entry.end, true));
    cache.clear();
}

} // namespace
