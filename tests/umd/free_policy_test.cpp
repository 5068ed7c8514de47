// SPDX-License-Identifier: MIT
// The promises of the free policies while work uses the memory (cases 39 and 40), for every kind of
// allocation and every way to reach it, and what a query says about memory meanwhile.
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "free_policy.h"
#include "ipc.h"
#include "peer.h"

using namespace vze::test;

namespace {

class FreePolicy : public FreePolicyTest {};

TEST_F(FreePolicy, DefaultFreesAtOnceAndTheWorkFaults) {
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(kind);
        const int64_t used = count("vram_used");
        const uint64_t pinned = pinnedBytes();
        Buffer buffer = make(kind);
        Parked parked(context_, device_, buffer.get(), kSize);
        EXPECT_OK(freeExt(buffer.release(), kNow));
        EXPECT_FALSE(parked.done());
        // At once: also for the books.
        EXPECT_EQ(used, count("vram_used"));
        EXPECT_EQ(pinned, pinnedBytes());
        EXPECT_EQ(0, deferred());
        parked.go();
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, parked.list().wait());
        EXPECT_OK(list().fill(memory_.get(), 0, kPage)) << "another queue";
    }
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0)) << "written after the free";
}

TEST_F(FreePolicy, BlockingWaitsForWorkOnTheMemoryAndForNoOther) {
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(kind);
        Buffer unrelated = Buffer::device(context_, device_, kPage);
        Buffer buffer = make(kind);
        Parked other(context_, device_, unrelated.get(), kPage);
        Parked parked(context_, device_, buffer.get(), kSize);
        // Work behind it on the same queue that needs something else does not count.
        Events never(context_, 1);
        ze_event_handle_t wait = never[0];
        EXPECT_OK(zeCommandListAppendWaitOnEvents(parked.list().get(), 1, &wait));
        std::atomic<bool> going{false};
        std::thread later([&] {
            pauseMs(200);
            going = true;
            parked.go();
        });
        EXPECT_OK(freeExt(buffer.release(), kBlocking));
        EXPECT_TRUE(going) << "returned before the work could begin";
        EXPECT_TRUE(parked.done());
        EXPECT_FALSE(other.done());
        later.join();
        EXPECT_OK(zeEventHostSignal(never[0]));
        EXPECT_OK(parked.list().wait());
        other.go();
        EXPECT_OK(other.list().wait());
    }
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x5a));
}

/* Case 39: returns at once, the work runs to its end, then everything goes without a call. */
TEST_F(FreePolicy, DeferKeepsMemoryAndAddressesForTheWork) {
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(kind);
        std::memset(memory_.get(), 0, kSize);
        const uint64_t pinned = pinnedBytes();
        const int64_t used = count("vram_used");
        Buffer buffer = make(kind);
        const auto base = reinterpret_cast<uintptr_t>(buffer.get());
        Parked parked(context_, device_, buffer.get(), kSize);
        EXPECT_OK(freeExt(buffer.release(), kDefer));
        EXPECT_FALSE(parked.done());
        EXPECT_LE(static_cast<int64_t>(kSize), deferred());
        EXPECT_EQ(kind == Import ? pinned + kSize : pinned, pinnedBytes());
        ze_memory_allocation_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
        EXPECT_OK(
            zeMemGetAllocProperties(context_, reinterpret_cast<void*>(base), &properties, nullptr));
        EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, properties.type);
        {
            // None gets the memory or the addresses.
            std::vector<Buffer> storm;
            for (int i = 0; i < 40; i++) {
                storm.push_back(make(i % 3));
                ASSERT_TRUE(storm.back());
                const auto at = reinterpret_cast<uintptr_t>(storm.back().get());
                EXPECT_TRUE(at + kSize <= base || base + kSize <= at);
                EXPECT_OK(list().fill(storm.back().get(), 0xcc, kSize));
            }
            void* reserved = nullptr;
            EXPECT_OK(
                zeVirtualMemReserve(context_, reinterpret_cast<void*>(base), kSize, &reserved));
            EXPECT_NE(base, reinterpret_cast<uintptr_t>(reserved));
            EXPECT_OK(zeVirtualMemFree(context_, reserved, kSize));
            parked.go();
            EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
            EXPECT_EQ(pinned, pinnedBytes());
            EXPECT_TRUE(parked.done()) << "not before the work had ended";
            for (Buffer& each : storm) {
                const std::vector<uint8_t> bytes = readBack(each.bytes() + kSize - kPage, kPage);
                EXPECT_EQ(-1, firstDifferent(bytes.data(), kPage, 0xcc));
            }
        }
        EXPECT_OK(parked.list().wait());
        if (kind == Import) {
            EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x5a));
        }
        EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
        // Nothing lies at the address any more.
        ImmediateList worker(context_, device_);
        if (kind != Import) {
            EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST,
                      worker.fill(reinterpret_cast<void*>(base), 1, kPage));
        }
    }
}

TEST_F(FreePolicy, DeferredFreesDoNotWaitForEachOther) {
    const int64_t used = count("vram_used");
    Buffer first = make(Device);
    Buffer second = make(Device);
    Parked forLong(context_, device_, first.get(), kSize);
    Parked forShort(context_, device_, second.get(), kSize);
    EXPECT_OK(freeExt(first.release(), kDefer));
    EXPECT_OK(freeExt(second.release(), kDefer));
    forShort.go();
    EXPECT_TRUE(eventually([&] { return count("vram_used") == used + int64_t{kSize}; }));
    EXPECT_EQ(int64_t{kSize}, count("deferred_vram"));
    EXPECT_FALSE(forLong.done());
    // Nor does anything else: allocations and frees of every kind go on.
    for (int kind = 0; kind < Kinds; kind++)
        for (const uint32_t policy : {kNow, kBlocking, kDefer}) {
            Buffer buffer = make(kind);
            EXPECT_OK(list().fill(buffer.get(), 1, kSize));
            EXPECT_OK(freeExt(buffer.release(), policy));
        }
    EXPECT_FALSE(forLong.done());
    forLong.go();
    EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
}

/* Later work of the same queue that cannot touch the memory does not hold it up. */
TEST_F(FreePolicy, DeferredFreeEndsWithTheLastWorkOnTheMemory) {
    Buffer buffer = make(Device);
    Parked parked(context_, device_, buffer.get(), kSize);
    Events never(context_, 1);
    ze_event_handle_t wait = never[0];
    EXPECT_OK(zeCommandListAppendWaitOnEvents(parked.list().get(), 1, &wait));
    EXPECT_OK(freeExt(buffer.release(), kDefer));
    parked.go();
    EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
    EXPECT_ZE(ZE_RESULT_NOT_READY, parked.list().wait(0));
    EXPECT_OK(zeEventHostSignal(never[0]));
    EXPECT_OK(parked.list().wait());
}

TEST_F(FreePolicy, RecordedButNotSubmittedDoesNotCount) {
    for (const uint32_t policy : {kBlocking, kDefer}) {
        Buffer buffer = make(Device);
        CommandList recorded(context_, device_);
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendMemoryFill(recorded.get(), buffer.get(), &value, 1, kSize,
                                                nullptr, 0, nullptr));
        EXPECT_OK(zeCommandListClose(recorded.get()));
        EXPECT_OK(freeExt(buffer.release(), policy));
        EXPECT_EQ(0, deferred());
    }
}

/* A list that runs several times, and as part of an immediate one, is work each time. */
TEST_F(FreePolicy, ListsThatAreExecuted) {
    for (const uint32_t policy : {kBlocking, kDefer}) {
        SCOPED_TRACE(policy);
        Buffer buffer = make(Device);
        Events events(context_, 1);
        ze_event_handle_t go = events[0];
        CommandList recorded(context_, device_);
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendMemoryFill(recorded.get(), buffer.get(), &value, 1, kSize,
                                                nullptr, 0, nullptr));
        EXPECT_OK(zeCommandListAppendWaitOnEvents(recorded.get(), 1, &go));
        EXPECT_OK(zeCommandListClose(recorded.get()));
        Queue queue(context_, device_);
        EXPECT_OK(queue.execute(recorded));
        EXPECT_OK(queue.execute(recorded));
        std::atomic<bool> going{false};
        std::thread later([&] {
            pauseMs(200);
            going = true;
            EXPECT_OK(zeEventHostSignal(go));
        });
        EXPECT_OK(freeExt(buffer.release(), policy));
        if (policy == kBlocking) {
            EXPECT_TRUE(going);
            EXPECT_OK(queue.wait(0));
        }
        later.join();
        EXPECT_OK(queue.wait());
        EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
    }
}

/* The application's memory is reached by plain pointers too, which begin before the import. */
TEST_F(FreePolicy, BlockingFreeOfAnImportWaitsForCopiesThatReachIntoIt) {
    Buffer source = Buffer::device(context_, device_, kSize);
    EXPECT_OK(list().fill(source.get(), 0x77, kSize));
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    ImmediateList worker(context_, device_);
    Buffer import = Buffer::import(context_, memory_.bytes() + kSize / 2, kSize / 2);
    EXPECT_OK(zeCommandListAppendMemoryCopy(worker.get(), memory_.get(), source.get(), kSize,
                                            nullptr, 1, &go));
    std::atomic<bool> going{false};
    std::thread later([&] {
        pauseMs(200);
        going = true;
        EXPECT_OK(zeEventHostSignal(go));
    });
    EXPECT_OK(freeExt(import.release(), kBlocking));
    EXPECT_TRUE(going);
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x77));
    later.join();
    EXPECT_OK(worker.wait());
}

/* Work that stops by a fault, and a queue that is destroyed, use nothing any more. */
TEST_F(FreePolicy, DeferEndsWithWorkThatIsStopped) {
    const int64_t used = count("vram_used");
    {
        Buffer buffer = make(Device);
        auto parked = std::make_unique<Parked>(context_, device_, buffer.get(), kSize);
        EXPECT_OK(freeExt(buffer.release(), kDefer));
        EXPECT_EQ(int64_t{kSize}, count("deferred_vram"));
        Events never(context_, 1);
        parked.reset();
    }
    EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
    {
        Buffer buffer = make(Device);
        Events never(context_, 1);
        ze_event_handle_t wait = never[0];
        auto worker = std::make_unique<ImmediateList>(context_, device_);
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendMemoryFill(worker->get(), buffer.get(), &value, 1, kSize,
                                                nullptr, 1, &wait));
        EXPECT_OK(freeExt(buffer.release(), kDefer));
        EXPECT_EQ(int64_t{kSize}, count("deferred_vram"));
        worker.reset();
        EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
    }
}

/* Case 40. */
TEST_F(FreePolicy, DeferTwiceAndOfWhatIsNotToBeFreed) {
    Buffer buffer = make(Device);
    void* pointer = buffer.get();
    ze_ipc_mem_handle_t handle{};
    EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &handle));
    void* opened = nullptr;
    ASSERT_OK(zeMemOpenIpcHandle(context_, device_, handle, 0, &opened));
    for (const uint32_t policy : {kNow, kBlocking, kDefer})
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(opened, policy));
    EXPECT_OK(list().fill(opened, 0x31, kSize)) << "still open";
    Parked parked(context_, device_, pointer, kSize);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(buffer.bytes() + kPage, kDefer));
    EXPECT_OK(freeExt(buffer.release(), kDefer));
    for (const uint32_t policy : {kNow, kBlocking, kDefer})
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, freeExt(pointer, policy));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, pointer));
    parked.go();
    EXPECT_OK(parked.list().wait());
    EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
    // What is open stays.
    const std::vector<uint8_t> bytes = readBack(opened, kPage);
    EXPECT_EQ(-1, firstDifferent(bytes.data(), kPage, 0x5a));
    EXPECT_OK(zeMemCloseIpcHandle(context_, opened));
}

TEST_F(FreePolicy, DeferOfExportedMemoryKeepsItForTheDescriptor) {
    const int64_t used = count("vram_used");
    ze_external_memory_export_desc_t exported{};
    exported.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    exported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    auto desc = deviceDesc(&exported);
    void* pointer = nullptr;
    ASSERT_OK(zeMemAllocDevice(context_, &desc, kSize, 0, device_, &pointer));
    int fd = -1;
    ASSERT_OK(exportDescriptor(context_, pointer, fd));
    // The descriptor stays the driver's and goes with the allocation: an own one of the same.
    Fd kept(dup(fd));
    ASSERT_LE(0, kept.get());
    {
        Parked parked(context_, device_, pointer, kSize);
        EXPECT_OK(freeExt(pointer, kDefer));
        parked.go();
        EXPECT_OK(parked.list().wait());
        EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
        EXPECT_EQ(used + int64_t{kSize}, count("vram_used"));
    }
    // Imported, it is memory of ours again, to be freed by every policy.
    for (const uint32_t policy : {kDefer, kBlocking, kNow}) {
        ze_external_memory_import_fd_t in{};
        in.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
        in.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
        in.fd = kept.get();
        auto importing = deviceDesc(&in);
        ASSERT_OK(zeMemAllocDevice(context_, &importing, kSize, 0, device_, &pointer));
        const std::vector<uint8_t> bytes = readBack(pointer, kPage);
        EXPECT_EQ(-1, firstDifferent(bytes.data(), kPage, 0x5a));
        if (policy == kDefer) {
            Parked parked(context_, device_, pointer, kSize);
            EXPECT_OK(freeExt(pointer, policy));
            EXPECT_EQ(int64_t{kSize}, count("deferred_vram"));
            parked.go();
            EXPECT_OK(parked.list().wait());
        } else {
            EXPECT_OK(freeExt(pointer, policy));
        }
    }
    EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
    kept.reset();
    EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
}

/* Imports of the same memory, again while the free of the first is pending: it waits for it. */
TEST_F(FreePolicy, ImportAgainBehindADeferredFree) {
    Buffer import = make(Import);
    Parked parked(context_, device_, import.get(), kSize);
    EXPECT_OK(freeExt(import.release(), kDefer));
    std::thread later([&] {
        pauseMs(200);
        parked.go();
    });
    import = make(Import);
    later.join();
    ASSERT_TRUE(import);
    EXPECT_TRUE(parked.done());
    EXPECT_OK(list().fill(import.get(), 0x21, kSize));
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x21));
}

int diesWithDeferredFrees(int channel, const std::vector<std::string>& arguments) {
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    auto* memory = new Mapping(Mapping::anonymous(kSize));
    std::memset(memory->get(), 1, kSize);
    void* pointers[] = {Buffer::device(context, devices().front(), kSize).release(),
                        Buffer::host(context, kSize).release(),
                        Buffer::shared(context, devices().front(), kSize).release(),
                        Buffer::import(context, memory->get(), kSize).release()};
    for (void* pointer : pointers) {
        new Parked(context, devices().front(), pointer, kSize);
        if (vze::test::freeExt(context, pointer, kDefer) != ZE_RESULT_SUCCESS)
            return 3;
    }
    const char ready = 1;
    if (!sendAll(channel, &ready, 1))
        return 4;
    if (!arguments.empty())
        _exit(0);
    pause();
    return 5;
}

const ChildRegistration diesRegistered("dies-with-deferred-frees", diesWithDeferredFrees);

TEST_F(FreePolicy, ProcessEndsWhileFreesAreDeferred) {
    const int64_t used = count("vram_used");
    const int64_t objects = count("objects");
    for (const bool killed : {true, false}) {
        SCOPED_TRACE(killed);
        std::vector<std::string> arguments;
        if (!killed)
            arguments.emplace_back("exit");
        Child child("dies-with-deferred-frees", arguments);
        char ready = 0;
        ASSERT_TRUE(child.receive(&ready, 1));
        if (killed) {
            EXPECT_LE(static_cast<int64_t>(4 * kSize), deferred());
            child.signal(SIGKILL);
        }
        EXPECT_EQ(killed ? 128 + SIGKILL : 0, child.wait());
        EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
        EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
        EXPECT_TRUE(eventually([&] { return count("objects") == objects; }));
        EXPECT_TRUE(eventually([&] {
            return count("pinned_pages") * int64_t{kPage} == static_cast<int64_t>(pinnedBytes());
        }));
    }
}

/* Many at once: their addresses come back to the allocator, and nothing piles up. */
TEST_F(FreePolicy, ManyDeferredFreesAtOnce) {
    constexpr int kNum = 2000;
    const size_t descriptors = openDescriptors();
    for (int round = 0; round < 2; round++) {
        Events events(context_, 1);
        ze_event_handle_t go = events[0];
        ImmediateList worker(context_, device_);
        const uint8_t value = 1;
        EXPECT_OK(zeCommandListAppendWaitOnEvents(worker.get(), 1, &go));
        std::map<uintptr_t, bool> seen;
        for (int i = 0; i < kNum; i++) {
            Buffer buffer =
                i % 2 ? Buffer::device(context_, device_, kPage) : Buffer::host(context_, kPage);
            ASSERT_TRUE(buffer);
            const auto at = reinterpret_cast<uintptr_t>(buffer.get());
            EXPECT_FALSE(seen[at]) << "an address was given out twice";
            seen[at] = true;
            EXPECT_OK(zeCommandListAppendMemoryFill(worker.get(), buffer.get(), &value, 1, kPage,
                                                    nullptr, 0, nullptr));
            EXPECT_OK(freeExt(buffer.release(), kDefer));
        }
        // The driver's own memory for this work may wait with it.
        EXPECT_LE(int64_t{kNum} * int64_t{kPage}, deferred());
        EXPECT_OK(zeEventHostSignal(go));
        EXPECT_OK(worker.wait());
        EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
        // Of a few new ones some lie where an old one did: the addresses are in use again.
        bool again = false;
        std::vector<Buffer> fresh;
        for (int i = 0; i < kNum && !again; i++) {
            fresh.push_back(Buffer::device(context_, device_, kPage));
            again = seen.count(reinterpret_cast<uintptr_t>(fresh.back().get())) != 0;
        }
        EXPECT_TRUE(again);
    }
    EXPECT_EQ(descriptors, openDescriptors());
}

/* What can be allocated now: freed memory that is yet to be cleared can, pending memory cannot. */
TEST_F(FreePolicy, UsableMemoryIsWhatCanBeAllocatedNow) {
    const uint64_t before = usableMemory(device_);
    Buffer buffer = Buffer::device(context_, device_, kSize + 1);
    EXPECT_EQ(before - kSize - kPage, usableMemory(device_));
    EXPECT_OK(list().fill(buffer.get(), 1, kSize));
    buffer.reset();
    EXPECT_EQ(before, usableMemory(device_));

    buffer = make(Device);
    Parked parked(context_, device_, buffer.get(), kSize);
    const uint64_t with = usableMemory(device_);
    EXPECT_EQ(before - kSize, with);
    EXPECT_OK(freeExt(buffer.release(), kDefer));
    EXPECT_EQ(with, usableMemory(device_));
    ze_relaxed_allocation_limits_ext_desc_t relaxed{};
    relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
    auto desc = deviceDesc(&relaxed);
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
              zeMemAllocDevice(context_, &desc, with + kPage, 0, device_, &pointer));
    ASSERT_OK(zeMemAllocDevice(context_, &desc, with, 0, device_, &pointer));
    EXPECT_EQ(0u, usableMemory(device_));
    EXPECT_OK(list().fill(static_cast<uint8_t*>(pointer) + with - kPage, 1, kPage));
    EXPECT_OK(zeMemFree(context_, pointer));
    parked.go();
    EXPECT_OK(parked.list().wait());
    EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
    EXPECT_EQ(before, usableMemory(device_));
}

/* Case 41: the relaxed descriptor behind another one. */
TEST_F(FreePolicy, RelaxedLimitBehindAnExportDescriptor) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ASSERT_OK(zeDeviceGetProperties(device_, &properties));
    for (const auto stype : {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC,
                             ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC}) {
        ze_relaxed_allocation_limits_ext_desc_t relaxed{};
        relaxed.stype = stype;
        relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
        ze_external_memory_export_desc_t exported{};
        exported.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
        exported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
        exported.pNext = &relaxed;
        auto desc = deviceDesc(&exported);
        void* pointer = nullptr;
        ASSERT_OK(zeMemAllocDevice(context_, &desc, properties.maxMemAllocSize + 1, 0, device_,
                                   &pointer));
        EXPECT_OK(zeMemFree(context_, pointer));
        relaxed.flags = 4;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                  zeMemAllocDevice(context_, &desc, kPage, 0, device_, &pointer));
        relaxed.flags = 0;
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                  zeMemAllocDevice(context_, &desc, properties.maxMemAllocSize + 1, 0, device_,
                                   &pointer));
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                  zeMemAllocDevice(context_, &desc, SIZE_MAX, 0, device_, &pointer));
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                  zeMemAllocDevice(context_, &desc, 0, 0, device_, &pointer));
        ASSERT_OK(
            zeMemAllocDevice(context_, &desc, properties.maxMemAllocSize, 0, device_, &pointer));
        EXPECT_OK(zeMemFree(context_, pointer));
    }
}

} // namespace
