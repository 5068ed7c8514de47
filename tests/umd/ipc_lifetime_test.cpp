// SPDX-License-Identifier: MIT
// Put, free, close and the ends of processes, in every order (cases 27 to 29).
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <time.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "seams.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 4 * kMiB;

class IpcLifetime : public GpuTest {
protected:
    /* Bytes of VRAM that are taken, by whomever. */
    uint64_t vram() { return static_cast<uint64_t>(deviceCounts()["vram_used"]); }
    /* Comes down to this within the time that the kernel may take for what is freed. */
    void expectVram(uint64_t expected) {
        for (int tries = 0; tries < 600 && vram() != expected; tries++) {
            timespec pause{0, 50'000'000};
            nanosleep(&pause, nullptr);
        }
        EXPECT_EQ(expected, vram());
    }

    ze_ipc_mem_handle_t handleOf(const void* pointer) {
        ze_ipc_mem_handle_t handle{};
        EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &handle));
        return handle;
    }
};

enum class Act { Put, Free, Close };

/* Case 29: what is open is not disturbed, and the memory goes back with the last of free and close.
 */
TEST_F(IpcLifetime, AllOrdersOfPutFreeAndClose) {
    list();
    std::array<Act, 3> order = {Act::Put, Act::Free, Act::Close};
    std::sort(order.begin(), order.end());
    do {
        for (const bool elsewhere : {false, true}) {
            std::string name;
            for (Act act : order)
                name += act == Act::Put ? "put " : act == Act::Free ? "free " : "close ";
            SCOPED_TRACE(name + (elsewhere ? "in another process" : "in one process"));
            std::unique_ptr<Peer> peer;
            uint32_t warm = 0;
            if (elsewhere) {
                peer = std::make_unique<Peer>();
                // Its own memory is there before the figures are taken.
                ASSERT_OK(peer->allocate(PeerMemory::Device, kPage, 0, &warm));
            }
            const uint64_t before = vram();
            Buffer buffer = Buffer::device(context_, device_, kSize);
            EXPECT_OK(list().fill(buffer.get(), 0x11, kSize));
            const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
            std::unique_ptr<Opened> here;
            uint32_t slot = 0;
            if (elsewhere) {
                ASSERT_OK(peer->open(handle, &slot));
                EXPECT_OK(peer->write(slot, 0, kPage, 3));
            } else {
                here = std::make_unique<Opened>(context_, device_, handle);
                ASSERT_OK(here->result());
                writeByDevice(here->get(), kPage, 3);
            }
            bool put = false, freed = false, closed = false;
            for (Act act : order) {
                switch (act) {
                case Act::Put:
                    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
                    put = true;
                    break;
                case Act::Free:
                    buffer.reset();
                    freed = true;
                    break;
                case Act::Close:
                    if (elsewhere)
                        EXPECT_OK(peer->close(slot));
                    else
                        here->close();
                    closed = true;
                    break;
                }
                if (!closed) {
                    if (elsewhere) {
                        EXPECT_EQ(-1, peer->mismatch(slot, 0, kPage, 3));
                    } else {
                        std::vector<uint8_t> seen = readBack(here->get(), kPage);
                        EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 3));
                    }
                }
                if (!freed) {
                    std::vector<uint8_t> seen = readBack(buffer.get(), kPage);
                    EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 3));
                }
                EXPECT_EQ(put || freed ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS,
                          Opened(context_, device_, handle).result());
                if (!freed || !closed) {
                    EXPECT_EQ(before + kSize, vram());
                } else {
                    expectVram(before);
                }
            }
            if (elsewhere) {
                EXPECT_EQ(0, peer->finish());
            }
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

/* Case 27. */
TEST_F(IpcLifetime, AHandleIsNeverOfSomeoneElsesMemory) {
    Peer peer;
    Buffer buffer = Buffer::device(context_, device_, kSize);
    writeByDevice(buffer.get(), kPage, 1);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    uint32_t early = 0, late = 0;
    ASSERT_OK(peer.open(handle, &early));
    const void* address = buffer.get();
    buffer.reset();
    for (int i = 0; i < 20; i++) {
        Buffer next = Buffer::device(context_, device_, kSize);
        EXPECT_OK(list().fill(next.get(), 0xee, kSize));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, peer.open(handle, &late));
        const ze_ipc_mem_handle_t other = handleOf(next.get());
        EXPECT_NE(identityOf(context_, handle), identityOf(context_, other));
        if (next.get() != address)
            continue;
        EXPECT_NE(0, std::memcmp(&handle.data[4], &other.data[4], sizeof handle.data - 4));
    }
    EXPECT_EQ(-1, peer.mismatch(early, 0, kPage, 1)) << "what was open before has the old content";
    EXPECT_EQ(0, peer.finish());
}

/* Only the exporting process can put, from any of its contexts; more Puts than Gets do nothing. */
TEST_F(IpcLifetime, WhoCanPut) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    Peer peer;
    for (int i = 0; i < 3; i++)
        EXPECT_OK(peer.put(handle));
    uint32_t slot = 0;
    ASSERT_OK(peer.open(handle, &slot));
    for (int i = 0; i < 3; i++)
        EXPECT_OK(peer.put(handle));
    EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, handle).result());
    ze_context_handle_t other = makeContext();
    EXPECT_OK(zeMemPutIpcHandle(other, handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
    const ze_ipc_mem_handle_t again = handleOf(buffer.get());
    EXPECT_NE(identityOf(context_, handle), identityOf(context_, again));
    for (int i = 0; i < 3; i++)
        EXPECT_OK(zeMemPutIpcHandle(other, handle)) << "of a handle that is over";
    EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, again).result());
    EXPECT_OK(zeContextDestroy(other));
    EXPECT_OK(zeMemPutIpcHandle(context_, again));
    EXPECT_EQ(0, peer.finish());
}

TEST_F(IpcLifetime, EveryFreePolicyEndsTheHandle) {
    list();
    for (const uint32_t policy : {0u, uint32_t{ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE},
                                  uint32_t{ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE}}) {
        SCOPED_TRACE(policy);
        const uint64_t before = vram();
        Buffer buffer = Buffer::device(context_, device_, kSize);
        const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        EXPECT_OK(list().fillAsync(buffer.get(), 0x42, kSize));
        ze_memory_free_ext_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
        desc.freePolicy = policy;
        if (policy == 0) {
            EXPECT_OK(list().wait()); // the default does not wait, and the work would fault
        }
        EXPECT_OK(zeMemFreeExt(context_, &desc, buffer.release()));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
        EXPECT_OK(list().wait());
        std::vector<uint8_t> seen = readBack(opened.get(), kPage);
        EXPECT_EQ(-1, firstDifferent(seen.data(), kPage, 0x42));
        EXPECT_EQ(before + kSize, vram());
        opened.close();
        expectVram(before);
    }
}

/* Destroying the context frees what it has: its handles end, what others have open stays. */
TEST_F(IpcLifetime, ContextDestroyed) {
    Peer peer;
    ze_context_handle_t own = makeContext();
    Buffer buffer = Buffer::host(own, kSize);
    writePattern(buffer.get(), kPage, 8);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(own, buffer.get(), &handle));
    uint32_t slot = 0;
    ASSERT_OK(peer.open(handle, &slot));
    void* left = nullptr;
    ASSERT_OK(zeMemOpenIpcHandle(own, device_, handle, 0, &left));
    buffer.release();
    EXPECT_OK(zeContextDestroy(own));
    EXPECT_EQ(-1, peer.cpuMismatch(slot, 0, kPage, 8));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_EQ(0, peer.finish());
}

/* Case 28, the importer. */
TEST_F(IpcLifetime, KilledImporter) {
    list();
    const uint64_t before = vram();
    Buffer buffer = Buffer::device(context_, device_, kSize);
    Seams range(context_, device_, list(), {false, false, false, false});
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    ze_ipc_mem_handle_t ofRange{};
    ASSERT_OK(getRange(context_, range.bytes(), range.size(), &ofRange));
    for (int i = 0; i < 3; i++) {
        Peer peer;
        uint32_t slot = 0;
        ASSERT_OK(peer.open(handle, &slot));
        ASSERT_OK(peer.open(ofRange, &slot));
        ASSERT_OK(peer.open(handle, &slot));
        EXPECT_OK(peer.write(slot, 0, kPage, 2));
        peer.kill();
    }
    std::vector<uint8_t> seen = readBack(buffer.get(), kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 2));
    const uint64_t whole = vram();
    buffer.reset();
    expectVram(whole - kSize);
    EXPECT_GT(vram(), before) << "the range is still there";
}

/* Case 28, the exporter: killed with handles out, before, between and after opens. */
TEST_F(IpcLifetime, KilledExporter) {
    list();
    for (const PeerMemory kind : {PeerMemory::Device, PeerMemory::Host}) {
        const uint64_t before = vram();
        Peer peer;
        uint32_t owned = 0;
        ASSERT_OK(peer.allocate(kind, kSize, 6, &owned));
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(peer.get(owned, &handle));
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        peer.kill();
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
        std::vector<uint8_t> seen = readBack(opened.get(), kSize);
        EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, 6));
        writeByDevice(opened.get(), kSize, 7);
        if (kind == PeerMemory::Host) {
            EXPECT_EQ(-1, firstMismatch(opened.get(), kSize, 7));
        }
        // It can be handed on although its owner is gone.
        Peer third;
        uint32_t slot = 0;
        ASSERT_OK(third.open(handleOf(opened.get()), &slot));
        EXPECT_EQ(-1, third.mismatch(slot, 0, kSize, 7));
        EXPECT_EQ(0, third.finish());
        opened.close();
        expectVram(before);
    }
}

/* Case 24: of two opens one is closed, the other works; also by descriptor, also the exporter's
 * own. */
TEST_F(IpcLifetime, OpenedTwiceAndInEveryWay) {
    Buffer buffer = Buffer::host(context_, kSize);
    writePattern(buffer.get(), kPage, 33);
    const ze_ipc_mem_handle_t handle = handleOf(buffer.get());
    const ze_ipc_mem_handle_t only = handleOfDescriptor(descriptorIn(handle));
    for (int first = 0; first < 4; first++) {
        Opened opened[4] = {{context_, device_, handle},
                            {context_, device_, handle},
                            {context_, device_, only},
                            {context_, device_, only}};
        for (const Opened& each : opened)
            ASSERT_OK(each.result());
        for (int i = 0; i < 4; i++) {
            for (int k = i + 1; k < 4; k++)
                EXPECT_NE(opened[i].get(), opened[k].get());
        }
        for (int i = 0; i < 4; i++) {
            opened[(first + i) % 4].close();
            for (int k = i + 1; k < 4; k++)
                EXPECT_EQ(-1, firstMismatch(opened[(first + k) % 4].get(), kPage, 33));
            EXPECT_EQ(-1, firstMismatch(buffer.get(), kPage, 33));
        }
    }
    // Opened by descriptor, the memory outlives the allocation in the same process, too.
    Opened last(context_, device_, only);
    ASSERT_OK(last.result());
    buffer.reset();
    EXPECT_EQ(-1, firstMismatch(last.get(), kPage, 33));
    Buffer next = Buffer::host(context_, kSize);
    writePattern(next.get(), kPage, 34);
    last.close();
    EXPECT_EQ(-1, firstMismatch(next.get(), kPage, 34)) << "a close took another object's handle";
}

/* Exported by address after its handle was destroyed; the descriptor goes with the mapping. */
TEST_F(IpcLifetime, DestroyedButMappedObject) {
    const size_t descriptors = openDescriptors();
    Reservation reservation(context_, 2 * kPage);
    ze_ipc_mem_handle_t early{}, handle{};
    {
        PhysicalMemory object(context_, device_, 2 * kPage);
        ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), 2 * kPage, object.get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        ASSERT_OK(zeMemGetIpcHandleWithProperties(context_, object.get(), nullptr, &early));
    }
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, early).result())
        << "its free ends the handle";
    ASSERT_OK(zeMemGetIpcHandle(context_, reservation.get(), &handle));
    EXPECT_EQ(ZE_RESULT_SUCCESS, Opened(context_, device_, handle).result());
    EXPECT_OK(zeVirtualMemUnmap(context_, reservation.get(), 2 * kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, Opened(context_, device_, handle).result());
    EXPECT_EQ(descriptors, openDescriptors());
}

} // namespace
