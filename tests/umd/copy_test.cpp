// SPDX-License-Identifier: MIT
// Copies, fills and regions: every size and alignment, every kind of memory, any host pointer.
#include <cstring>
#include <random>
#include <thread>

#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

class Copy : public GpuTest {
protected:
    uint64_t maxMemAllocSize() {
        ze_device_properties_t properties{};
        properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
        EXPECT_OK(zeDeviceGetProperties(device_, &properties));
        return properties.maxMemAllocSize;
    }
};

TEST_F(Copy, SizesAndAlignments) {
    constexpr size_t kRoom = 64 * 1024;
    Buffer source = Buffer::host(context_, kRoom);
    Buffer device = Buffer::device(context_, device_, kRoom);
    Buffer target = Buffer::host(context_, kRoom);
    writePattern(source.get(), kRoom, 1);
    for (size_t size : {1,  2,  3,   7,   8,    15,   16,   17,   31,    63,
                        64, 65, 127, 255, 4095, 4096, 4097, 8191, 16385, 50001}) {
        for (size_t from : {0, 1, 7, 4095}) {
            for (size_t to : {0, 3, 4090}) {
                SCOPED_TRACE(std::to_string(size) + " bytes from " + std::to_string(from) + " to " +
                             std::to_string(to));
                std::memset(target.get(), 0xaa, kRoom);
                EXPECT_OK(list().copyAsync(device.bytes() + to, source.bytes() + from, size));
                EXPECT_OK(list().copyAsync(target.bytes() + from, device.bytes() + to, size));
                ASSERT_OK(list().wait());
                ASSERT_EQ(-1, firstMismatch(target.bytes() + from, size, 1, from));
                ASSERT_EQ(-1, firstDifferent(target.get(), from, 0xaa));
                ASSERT_EQ(-1, firstDifferent(target.bytes() + from + size, 64, 0xaa));
            }
        }
    }
}

TEST_F(Copy, SizeZero) {
    Buffer source = Buffer::host(context_, kPage);
    Buffer target = Buffer::host(context_, kPage);
    std::memset(target.get(), 5, kPage);
    EXPECT_OK(list().copy(target.get(), source.get(), 0));
    EXPECT_EQ(-1, firstDifferent(target.get(), kPage, 5));
}

TEST_F(Copy, MoreThanOneCommandCanMove) {
    // maxMemAllocSize is what one command moves; longer copies are made of several.
    const size_t size = maxMemAllocSize() + 3 * kPage + 5;
    std::vector<uint8_t> source(size);
    std::vector<uint8_t> target(size);
    std::mt19937_64 random(4);
    for (size_t i = 0; i + 8 <= size; i += 8) {
        const uint64_t value = random();
        std::memcpy(source.data() + i, &value, 8);
    }
    EXPECT_OK(list().copy(target.data(), source.data(), size));
    EXPECT_EQ(0, std::memcmp(source.data(), target.data(), size));
    EXPECT_OK(list().fill(target.data() + 1, 0x3b, size - 2));
    EXPECT_EQ(source[0], target[0]);
    EXPECT_EQ(-1, firstDifferent(target.data() + 1, size - 2, 0x3b));
    EXPECT_EQ(source[size - 1], target[size - 1]);
}

alignas(8) const char constantText[] = "read-only bytes of the program itself";

TEST_F(Copy, AnyHostPointer) {
    const uint64_t pinned = pinnedBytes();
    Buffer device = Buffer::device(context_, device_, 64 * 1024);
    // heap
    std::vector<uint8_t> heap(10000), back(10000);
    writePattern(heap.data(), heap.size(), 2);
    EXPECT_OK(list().copy(device.bytes() + 11, heap.data() + 3, 9000));
    EXPECT_OK(list().copy(back.data() + 5, device.bytes() + 11, 9000));
    EXPECT_EQ(-1, firstMismatch(back.data() + 5, 9000, 2, 3));
    EXPECT_EQ(0, back[4]);
    EXPECT_EQ(0, back[9005]);
    // stack
    uint8_t onStack[333] = {};
    EXPECT_OK(list().copy(onStack + 1, device.bytes() + 11, 331));
    EXPECT_EQ(-1, firstMismatch(onStack + 1, 331, 2, 3));
    // constants of the program, which cannot be written
    char text[sizeof constantText] = {};
    EXPECT_OK(list().copy(device.get(), constantText, sizeof constantText));
    EXPECT_OK(list().copy(text, device.get(), sizeof constantText));
    EXPECT_STREQ(constantText, text);
    // host to host, without any allocation of the driver
    std::vector<uint8_t> third(10000);
    EXPECT_OK(list().copy(third.data(), heap.data(), heap.size()));
    EXPECT_EQ(heap, third);
    EXPECT_EQ(pinned, pinnedBytes()) << "pinned longer than the command needs it";
}

TEST_F(Copy, HostPointersOfACommandListStayUntilItRuns) {
    // The bytes of the time of execution count, not those of the append; every run of the list
    // anew.
    ze_command_list_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_command_list_handle_t commands = nullptr;
    ASSERT_OK(zeCommandListCreate(context_, device_, &desc, &commands));
    ze_command_queue_desc_t queueDesc{};
    queueDesc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ze_command_queue_handle_t queue = nullptr;
    ASSERT_OK(zeCommandQueueCreate(context_, device_, &queueDesc, &queue));
    std::vector<uint8_t> source(5000), target(5000);
    EXPECT_OK(zeCommandListAppendMemoryCopy(commands, target.data(), source.data(), 5000, nullptr,
                                            0, nullptr));
    EXPECT_OK(zeCommandListClose(commands));
    for (uint32_t round = 1; round <= 3; round++) {
        writePattern(source.data(), 5000, round);
        EXPECT_OK(zeCommandQueueExecuteCommandLists(queue, 1, &commands, nullptr));
        EXPECT_OK(zeCommandQueueSynchronize(queue, kLongWait));
        EXPECT_EQ(-1, firstMismatch(target.data(), 5000, round));
    }
    EXPECT_OK(zeCommandListDestroy(commands));
    EXPECT_OK(zeCommandQueueDestroy(queue));
}

TEST_F(Copy, BetweenAllKinds) {
    constexpr size_t kSize = 3 * kPage;
    Mapping mapped = Mapping::anonymous(kSize);
    std::memset(mapped.get(), 1, kSize);
    std::vector<uint8_t> heap(kSize);
    Buffer device = Buffer::device(context_, device_, kSize);
    Buffer host = Buffer::host(context_, kSize);
    Buffer shared = Buffer::shared(context_, device_, kSize);
    Buffer import = Buffer::import(context_, mapped.get(), kSize);
    void* places[] = {device.get(), host.get(), shared.get(), import.get(), heap.data()};
    uint32_t seed = 0;
    for (void* from : places) {
        for (void* to : places) {
            if (from == to)
                continue;
            seed++;
            writeByDevice(from, kSize, seed);
            EXPECT_OK(list().copy(to, from, kSize));
            std::vector<uint8_t> seen = readBack(to, kSize);
            EXPECT_EQ(-1, firstMismatch(seen.data(), kSize, seed)) << "copy " << seed;
        }
    }
}

TEST_F(Copy, BadHostPointer) {
    Buffer device = Buffer::device(context_, device_, kPage);
    Mapping gone = Mapping::anonymous(kPage);
    void* pointer = gone.get();
    gone.reset();
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, list().copyAsync(device.get(), pointer, 100));
    EXPECT_OK(list().fill(device.get(), 3, kPage)) << "the list goes on after a refused append";
    // Writing to what cannot be written is refused at the append too.
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              list().copyAsync(const_cast<char*>(constantText), device.get(), 4));
    EXPECT_EQ('r', constantText[0]);
}

TEST_F(Copy, Arguments) {
    Buffer host = Buffer::host(context_, kPage);
    ze_command_list_handle_t commands = list().get();
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    EXPECT_ZE(null, list().copyAsync(nullptr, host.get(), 1));
    EXPECT_ZE(null, list().copyAsync(host.get(), nullptr, 1));
    EXPECT_ZE(null, list().fillAsync(nullptr, 1, 1));
    EXPECT_ZE(null, zeCommandListAppendMemoryFill(commands, host.get(), nullptr, 1, 1, nullptr, 0,
                                                  nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeCommandListAppendMemoryCopy(commands, host.get(), host.bytes() + 100, 1, nullptr, 1,
                                            nullptr));
}

TEST_F(Copy, FillPatterns) {
    Buffer device = Buffer::device(context_, device_, 64 * 1024);
    std::vector<uint8_t> pattern(128);
    writePattern(pattern.data(), pattern.size(), 77);
    for (size_t length = 1; length <= 128; length *= 2) {
        for (size_t repeats : {1, 2, 3, 33, 257}) {
            SCOPED_TRACE(std::to_string(length) + " bytes, " + std::to_string(repeats) + " times");
            const size_t size = length * repeats;
            ASSERT_OK(list().fill(device.get(), 0xf0, 64 * 1024));
            EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), device.bytes() + 128,
                                                    pattern.data(), length, size, nullptr, 0,
                                                    nullptr));
            ASSERT_OK(list().wait());
            std::vector<uint8_t> seen = readBack(device.get(), size + 256);
            ASSERT_EQ(-1, firstDifferent(seen.data(), 128, 0xf0));
            for (size_t i = 0; i < size; i++)
                ASSERT_EQ(pattern[i % length], seen[128 + i]) << "byte " << i;
            ASSERT_EQ(-1, firstDifferent(seen.data() + 128 + size, 128, 0xf0));
        }
    }
}

TEST_F(Copy, FillPatternIsTakenAtTheAppend) {
    Buffer host = Buffer::host(context_, kPage);
    Events events(context_, 1);
    ze_event_handle_t go = events[0];
    uint32_t pattern = 0x01020304;
    EXPECT_OK(zeCommandListAppendMemoryFill(list().get(), host.get(), &pattern, 4, kPage, nullptr,
                                            1, &go));
    pattern = 0x0f0f0f0f;
    EXPECT_OK(zeEventHostSignal(go));
    EXPECT_OK(list().wait());
    uint32_t seen = 0;
    std::memcpy(&seen, host.bytes() + kPage - 4, 4);
    EXPECT_EQ(0x01020304u, seen);
}

TEST_F(Copy, FillErrors) {
    Buffer host = Buffer::host(context_, kPage);
    std::memset(host.get(), 1, kPage);
    const std::vector<uint8_t> pattern(512, 9);
    auto fill = [&](size_t patternSize, size_t size) {
        return zeCommandListAppendMemoryFill(list().get(), host.get(), pattern.data(), patternSize,
                                             size, nullptr, 0, nullptr);
    };
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE, fill(4, 6));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE, fill(256, 512));
    EXPECT_OK(list().wait());
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 1));
}

TEST_F(Copy, FillWithAPatternOfNothing) {
    Buffer host = Buffer::host(context_, kPage);
    const uint8_t value = 1;
    EXPECT_ZE(
        ZE_RESULT_ERROR_INVALID_SIZE,
        zeCommandListAppendMemoryFill(list().get(), host.get(), &value, 0, 8, nullptr, 0, nullptr));
}

struct RegionCase {
    ze_copy_region_t from;
    ze_copy_region_t to;
    uint32_t fromPitch, fromSlice, toPitch, toSlice;
};

TEST_F(Copy, Regions) {
    constexpr size_t kRoom = 256 * 1024;
    const RegionCase cases[] = {
        // 2D: depth 0
        {{0, 0, 0, 16, 4, 0}, {0, 0, 0, 16, 4, 0}, 16, 0, 16, 0},
        {{3, 2, 0, 17, 9, 0}, {5, 1, 0, 17, 9, 0}, 64, 0, 100, 0},
        {{0, 0, 0, 1, 200, 0}, {63, 7, 0, 1, 200, 0}, 64, 0, 65, 0},
        {{1, 1, 0, 4000, 20, 0}, {0, 0, 0, 4000, 20, 0}, 4096, 0, 4001, 0},
        // 3D
        {{0, 0, 0, 32, 8, 5}, {0, 0, 0, 32, 8, 5}, 32, 256, 32, 256},
        {{2, 3, 1, 21, 6, 7}, {9, 0, 2, 21, 6, 7}, 64, 1024, 48, 600},
        {{0, 0, 0, 1, 1, 100}, {0, 0, 0, 1, 1, 100}, 8, 64, 16, 100},
        {{0, 0, 3, 100, 1, 1}, {0, 0, 0, 100, 1, 1}, 100, 1000, 128, 128},
    };
    Buffer source = Buffer::host(context_, kRoom);
    writePattern(source.get(), kRoom, 55);
    Buffer onDevice = Buffer::device(context_, device_, kRoom);
    ASSERT_OK(list().copy(onDevice.get(), source.get(), kRoom));
    std::vector<uint8_t> heap(kRoom);
    Buffer target = Buffer::device(context_, device_, kRoom);
    for (size_t c = 0; c < std::size(cases); c++) {
        const RegionCase& r = cases[c];
        std::vector<uint8_t> wanted(kRoom, 0xcc);
        const uint32_t depth = r.from.depth ? r.from.depth : 1;
        for (size_t z = 0; z < depth; z++) {
            for (size_t y = 0; y < r.from.height; y++) {
                const size_t from = (r.from.originZ + z) * r.fromSlice +
                                    (r.from.originY + y) * r.fromPitch + r.from.originX;
                const size_t to =
                    (r.to.originZ + z) * r.toSlice + (r.to.originY + y) * r.toPitch + r.to.originX;
                std::memcpy(wanted.data() + to, source.bytes() + from, r.from.width);
            }
        }
        for (void* destination : {target.get(), static_cast<void*>(heap.data())}) {
            for (const void* origin : {onDevice.get(), source.get()}) {
                SCOPED_TRACE("case " + std::to_string(c));
                ASSERT_OK(list().fill(destination, 0xcc, kRoom));
                EXPECT_OK(zeCommandListAppendMemoryCopyRegion(
                    list().get(), destination, &r.to, r.toPitch, r.toSlice, origin, &r.from,
                    r.fromPitch, r.fromSlice, nullptr, 0, nullptr));
                ASSERT_OK(list().wait());
                EXPECT_EQ(wanted, readBack(destination, kRoom));
            }
        }
    }
}

TEST_F(Copy, RegionErrors) {
    Buffer host = Buffer::host(context_, 64 * 1024);
    Buffer other = Buffer::host(context_, 64 * 1024);
    const ze_copy_region_t region{0, 0, 0, 16, 4, 0};
    auto copy = [&](void* dst, const ze_copy_region_t* to, const void* src,
                    const ze_copy_region_t* from) {
        return zeCommandListAppendMemoryCopyRegion(list().get(), dst, to, 64, 0, src, from, 64, 0,
                                                   nullptr, 0, nullptr);
    };
    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    EXPECT_ZE(null, copy(nullptr, &region, other.get(), &region));
    EXPECT_ZE(null, copy(host.get(), nullptr, other.get(), &region));
    EXPECT_ZE(null, copy(host.get(), &region, nullptr, &region));
    EXPECT_ZE(null, copy(host.get(), &region, other.get(), nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
              copy(host.bytes() + 8, &region, host.get(), &region));
    // Regions of one buffer that lie beside each other do not overlap.
    EXPECT_OK(copy(host.bytes() + 16 * 1024, &region, host.get(), &region));
    EXPECT_OK(list().wait());
}

TEST_F(Copy, FromAnotherContext) {
    ze_context_handle_t other = makeContext();
    {
        Buffer theirs = Buffer::host(other, 2 * kPage);
        Buffer ours = Buffer::device(context_, device_, 2 * kPage);
        writePattern(theirs.get(), 2 * kPage, 6);
        ze_result_t result = zeCommandListAppendMemoryCopyFromContext(
            list().get(), ours.get(), other, theirs.get(), 2 * kPage, nullptr, 0, nullptr);
        // A driver may lack it, but then says so.
        if (result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE) {
            EXPECT_OK(list().wait());
        } else {
            EXPECT_OK(result);
            EXPECT_OK(list().wait());
            std::vector<uint8_t> seen = readBack(ours.get(), 2 * kPage);
            EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 6));
        }
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* A copy that names the source's context finds the destination's by itself. */
TEST_F(Copy, IntoAnotherContext) {
    ze_context_handle_t other = makeContext();
    {
        ImmediateList there(other, device_);
        const auto copy = [&](ze_command_list_handle_t to, void* dst, ze_context_handle_t source,
                              const void* src, size_t size) {
            return zeCommandListAppendMemoryCopyFromContext(to, dst, source, src, size, nullptr, 0,
                                                            nullptr);
        };
        Buffer ours = Buffer::host(context_, 3 * kPage);
        Buffer theirs[] = {Buffer::device(other, device_, 3 * kPage),
                           Buffer::host(other, 3 * kPage),
                           Buffer::shared(other, device_, 3 * kPage)};
        std::vector<uint8_t> seen(2 * kPage);
        for (uint32_t kind = 0; kind < 3; kind++) {
            SCOPED_TRACE(kind);
            uint8_t* target = theirs[kind].bytes() + 100;
            writePattern(ours.get(), 2 * kPage, 70 + kind);
            EXPECT_OK(copy(list().get(), target, context_, ours.get(), 2 * kPage));
            EXPECT_OK(list().wait());
            EXPECT_OK(there.copy(seen.data(), target, seen.size()));
            EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 70 + kind));
            // Within the other context, by a list of this one, which runs more than once.
            CommandList again(context_, device_);
            Queue queue(context_, device_);
            uint8_t* back = theirs[(kind + 1) % 3].bytes() + 3;
            EXPECT_OK(copy(again.get(), back, other, target, 2 * kPage));
            EXPECT_OK(zeCommandListClose(again.get()));
            for (int times = 0; times < 2; times++) {
                EXPECT_OK(there.fill(back, 0, 2 * kPage));
                EXPECT_OK(queue.execute(again));
                EXPECT_OK(queue.wait());
                EXPECT_OK(there.copy(seen.data(), back, seen.size()));
                EXPECT_EQ(-1, firstMismatch(seen.data(), seen.size(), 70 + kind));
            }
        }
        // Not past the end, and not by a copy that names no context.
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE, copy(list().get(), theirs[0].bytes() + 2 * kPage,
                                                     context_, ours.get(), kPage + 1));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  list().copyAsync(theirs[0].get(), ours.get(), kPage));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  list().copyAsync(ours.get(), theirs[0].get(), kPage));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, list().fillAsync(theirs[0].get(), 1, kPage));
        // What the CPU reaches is host memory to everyone.
        for (uint32_t kind = 1; kind < 3; kind++) {
            writePattern(ours.get(), kPage, 80 + kind);
            EXPECT_OK(list().copy(theirs[kind].bytes() + 9, ours.get(), kPage));
            EXPECT_EQ(-1, firstMismatch(theirs[kind].bytes() + 9, kPage, 80 + kind));
            EXPECT_OK(list().copy(ours.bytes() + kPage, theirs[kind].bytes() + 9, kPage));
            EXPECT_EQ(-1, firstMismatch(ours.bytes() + kPage, kPage, 80 + kind));
            EXPECT_OK(list().fill(theirs[kind].bytes() + 9, 5, kPage));
            EXPECT_EQ(-1, firstDifferent(theirs[kind].bytes() + 9, kPage, 5));
        }
        EXPECT_OK(list().wait());
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* Two contexts that take from each other at the same time. */
TEST_F(Copy, BetweenContextsBothWaysAtOnce) {
    ze_context_handle_t other = makeContext();
    {
        Buffer ours = Buffer::host(context_, 2 * kPage), theirs = Buffer::host(other, 2 * kPage);
        ImmediateList here(context_, device_), there(other, device_);
        const auto copies = [](ImmediateList& list, Buffer& to, ze_context_handle_t source,
                               Buffer& from) {
            for (size_t i = 0; i < 300 && !HasFailure(); i++) {
                EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(list.get(), to.get(), source,
                                                                   from.bytes() + kPage, kPage,
                                                                   nullptr, 0, nullptr));
                EXPECT_OK(list.wait());
            }
        };
        writePattern(ours.bytes() + kPage, kPage, 61);
        writePattern(theirs.bytes() + kPage, kPage, 62);
        std::thread thread([&] { copies(there, theirs, context_, ours); });
        copies(here, ours, other, theirs);
        thread.join();
        EXPECT_EQ(-1, firstMismatch(ours.get(), kPage, 62));
        EXPECT_EQ(-1, firstMismatch(theirs.get(), kPage, 61));
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* Sizes that nothing has, from an imported page: refused, without a look at each page of them. */
TEST_F(Copy, SizesBeyondAnyMemory) {
    Mapping memory = Mapping::anonymous(kPage);
    Buffer import = Buffer::import(context_, memory.get(), kPage);
    const uint8_t value = 1;
    for (unsigned bits = 34; bits < 64; bits++) {
        const ze_result_t result = zeCommandListAppendMemoryFill(
            list().get(), import.get(), &value, 1, size_t{1} << bits, nullptr, 0, nullptr);
        EXPECT_TRUE(result == ZE_RESULT_ERROR_INVALID_ARGUMENT ||
                    result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
            << bits << ": " << Result{result};
    }
    EXPECT_OK(list().fill(import.get(), 2, kPage));
    EXPECT_EQ(2, memory.bytes()[0]);
}

/* Regions of billions of rows and slices that end in the same few bytes' neighbourhood. */
TEST_F(Copy, RegionsBeyondAnyMemory) {
    Buffer buffer = Buffer::host(context_, 16 * kPage);
    const ze_copy_region_t extremes[] = {
        {0, 0, 0, 1, UINT32_MAX, 1},
        {0, 0, 0, 1, 1, UINT32_MAX},
        {0, 0, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
    };
    for (const ze_copy_region_t& region : extremes) {
        for (uint32_t pitch : {2u, 4u, UINT32_MAX}) {
            ze_copy_region_t target = region;
            EXPECT_NE(ZE_RESULT_SUCCESS,
                      zeCommandListAppendMemoryCopyRegion(list().get(), buffer.get(), &target,
                                                          pitch, 8, buffer.bytes() + 1, &region, 4,
                                                          8, nullptr, 0, nullptr));
        }
    }
    EXPECT_OK(list().fill(buffer.get(), 3, kPage));
}

/* Hints: accepted for whatever memory, in both kinds of list, and without effect on the bytes. */
TEST_F(Copy, PrefetchAndAdviceSucceed) {
    Mapping memory = Mapping::anonymous(kPage);
    std::memset(memory.get(), 7, kPage);
    Buffer device = Buffer::device(context_, device_, kPage);
    Buffer host = Buffer::host(context_, kPage);
    Buffer shared = Buffer::shared(context_, device_, kPage);
    Buffer import = Buffer::import(context_, memory.get(), kPage);
    CommandList recorded(context_, device_);
    for (Buffer* buffer : {&device, &host, &shared, &import}) {
        EXPECT_OK(list().fill(buffer->get(), 7, kPage));
        for (ze_command_list_handle_t commands : {list().get(), recorded.get()}) {
            EXPECT_OK(zeCommandListAppendMemoryPrefetch(commands, buffer->get(), kPage));
            for (int advice = 0; advice <= ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION;
                 advice++)
                EXPECT_OK(zeCommandListAppendMemAdvise(commands, device_, buffer->get(), kPage,
                                                       static_cast<ze_memory_advice_t>(advice)))
                    << advice;
        }
        EXPECT_OK(list().wait());
        const std::vector<uint8_t> seen = readBack(buffer->get(), kPage);
        EXPECT_EQ(-1, firstDifferent(seen.data(), kPage, 7));
    }
    EXPECT_OK(zeCommandListClose(recorded.get()));
    Queue queue(context_, device_);
    EXPECT_OK(queue.execute(recorded));
    EXPECT_OK(queue.wait());
}

TEST_F(Copy, PrefetchAndAdviceErrors) {
    Buffer shared = Buffer::shared(context_, device_, kPage);
    const auto advice = ZE_MEMORY_ADVICE_SET_READ_MOSTLY;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListAppendMemoryPrefetch(list().get(), nullptr, kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeCommandListAppendMemAdvise(list().get(), device_, nullptr, kPage, advice));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION,
              zeCommandListAppendMemAdvise(
                  list().get(), device_, shared.get(), kPage,
                  static_cast<ze_memory_advice_t>(
                      ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION + 1)));
    SKIP_WITHOUT_DIRECT_HANDLES();
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zeCommandListAppendMemoryPrefetch(nullptr, shared.get(), kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zeCommandListAppendMemAdvise(nullptr, device_, shared.get(), kPage, advice));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
              zeCommandListAppendMemAdvise(list().get(), nullptr, shared.get(), kPage, advice));
}

} // namespace
