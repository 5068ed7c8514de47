// SPDX-License-Identifier: MIT
// Many cycles, kills at random moments, races of several exporters and importers (cases 24, 26,
// 28). VZE_TEST_CYCLES and VZE_TEST_SECONDS lengthen them; 100000 and 60 are the full measure.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <thread>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "peer.h"
#include "seams.h"

using namespace vze::test;

namespace {

uint64_t setting(const char* name, uint64_t standard) {
    const char* value = std::getenv(name);
    return value ? std::strtoull(value, nullptr, 10) : standard;
}

void sleepMicroseconds(long us) {
    timespec pause{us / 1'000'000, us % 1'000'000 * 1000};
    nanosleep(&pause, nullptr);
}

/* Pages of address space of this process. */
uint64_t addressSpace() {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
}

class IpcStorm : public GpuTest {
protected:
    /* Runs a cycle often, and looks whether anything has grown since the first ones. */
    template <typename Cycle>
    void expectConstant(uint64_t cycles, Cycle&& cycle) {
        for (int i = 0; i < 16; i++)
            cycle();
        const auto counts = deviceCounts();
        const size_t descriptors = openDescriptors();
        const uint64_t space = addressSpace();
        for (uint64_t i = 0; i < cycles && !HasFailure(); i++)
            cycle();
        EXPECT_EQ(descriptors, openDescriptors());
        // The C library's own heap may move a little.
        EXPECT_LE(addressSpace(), space + 128);
        for (const auto& [name, count] : deviceCounts()) {
            // Work of the test before may still be on its way out.
            EXPECT_LE(count, counts.at(name)) << name;
        }
    }
};

TEST_F(IpcStorm, OneHandleOpenedAndClosed) {
    Buffer buffer = Buffer::device(context_, device_, 16 * kPage);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    Seams range(context_, device_, list(), {false, true, true, false});
    ze_ipc_mem_handle_t ofRange{};
    ASSERT_OK(getRange(context_, range.bytes(), range.size(), &ofRange));
    const uint64_t cycles = setting("VZE_TEST_CYCLES", roundsHere(6000));
    const ze_ipc_mem_handle_t handles[] = {handle, ofRange,
                                           handleOfDescriptor(descriptorIn(handle)),
                                           handleOfDescriptor(descriptorIn(ofRange))};
    for (const ze_ipc_mem_handle_t& each : handles) {
        expectConstant(cycles / std::size(handles), [&] {
            void* first = nullptr;
            void* second = nullptr;
            ASSERT_OK(zeMemOpenIpcHandle(context_, device_, each, 0, &first));
            ASSERT_OK(zeMemOpenIpcHandle(context_, device_, each, 0, &second));
            ASSERT_OK(zeMemCloseIpcHandle(context_, first));
            ASSERT_OK(zeMemCloseIpcHandle(context_, second));
        });
    }
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    EXPECT_OK(zeMemPutIpcHandle(context_, ofRange));
}

TEST_F(IpcStorm, FailingOpens) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    const ze_ipc_mem_handle_t over = handle;
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
    ze_ipc_mem_handle_t wrongSecret = handle, wrongSize = handle;
    wrongSecret.data[30] = static_cast<char>(wrongSecret.data[30] ^ 1);
    wrongSize.data[41] = static_cast<char>(wrongSize.data[41] ^ 0x20);
    Fd file(memfd_create("file", MFD_CLOEXEC));
    expectConstant(setting("VZE_TEST_CYCLES", roundsHere(6000)) / 5, [&] {
        void* opened = nullptr;
        for (const auto& bad :
             {wrongSecret, wrongSize, over, handleOfDescriptor(file.get()), handleOfDescriptor(-1)})
            ASSERT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      zeMemOpenIpcHandle(context_, device_, bad, 0, &opened));
    });
    EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

TEST_F(IpcStorm, DifferentHandles) {
    expectConstant(setting("VZE_TEST_CYCLES", roundsHere(6000)) / 10, [&] {
        Buffer buffer = Buffer::host(context_, kPage);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handle));
        Opened opened(context_, device_, handle);
        ASSERT_OK(opened.result());
        opened.bytes()[5] = 0x4d;
        EXPECT_EQ(0x4d, buffer.bytes()[5]);
    });
}

/* As many open at once as the conformance suite opens, and more. */
TEST_F(IpcStorm, ManyOpenAtOnce) {
    constexpr int kHandles = 500;
    std::vector<Buffer> buffers;
    std::vector<std::unique_ptr<Opened>> opened;
    for (int i = 0; i < kHandles; i++) {
        buffers.push_back(Buffer::host(context_, kPage));
        std::memcpy(buffers.back().get(), &i, sizeof i);
        ze_ipc_mem_handle_t handle{};
        ASSERT_OK(zeMemGetIpcHandle(context_, buffers.back().get(), &handle));
        opened.push_back(std::make_unique<Opened>(context_, device_, handle));
        ASSERT_OK(opened.back()->result());
    }
    for (int i = 0; i < kHandles; i++)
        ASSERT_EQ(0, std::memcmp(opened[i]->get(), &i, sizeof i));
}

/* Threads that get and put one and the same handle, hundreds of times at once each. While anyone
 * has it, all have the same; after the last Put it is over. */
TEST_F(IpcStorm, GetsAndPutsOfManyThreads) {
    constexpr uint32_t kThreads = 8, kHeld = 450;
    Buffer buffers[] = {Buffer::device(context_, device_, kPage), Buffer::host(context_, kPage)};
    const uint64_t rounds = setting("VZE_TEST_CYCLES", roundsHere(6000)) / 500;
    const size_t before = openDescriptors();
    for (const bool kept : {true, false}) {
        SCOPED_TRACE(kept);
        ze_ipc_mem_handle_t first[2] = {};
        for (size_t i = 0; kept && i < 2; i++)
            ASSERT_OK(zeMemGetIpcHandle(context_, buffers[i].get(), &first[i]));
        std::atomic<uint64_t> wrong = 0;
        ze_ipc_mem_handle_t last[2] = {};
        const auto work = [&](uint32_t thread) {
            std::vector<ze_ipc_mem_handle_t> handles(kHeld - thread);
            for (uint64_t round = 0; round < rounds; round++) {
                for (size_t i = 0; i < handles.size(); i++) {
                    const size_t which = (i + thread) % 2;
                    wrong += zeMemGetIpcHandle(context_, buffers[which].get(), &handles[i]) !=
                             ZE_RESULT_SUCCESS;
                    const ze_ipc_mem_handle_t& same =
                        kept ? first[which] : handles[i < 2 ? i : i - 2];
                    wrong += std::memcmp(&handles[i], &same, sizeof same) != 0;
                }
                if (thread == 0)
                    for (size_t i = 0; i < 2; i++)
                        last[i] = handles[i];
                for (const ze_ipc_mem_handle_t& handle : handles)
                    wrong += zeMemPutIpcHandle(context_, handle) != ZE_RESULT_SUCCESS;
            }
        };
        std::vector<std::thread> threads;
        for (uint32_t thread = 0; thread < kThreads; thread++)
            threads.emplace_back(work, thread);
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(0u, wrong);
        for (size_t i = 0; i < 2; i++) {
            void* opened = nullptr;
            if (kept) {
                ASSERT_OK(zeMemOpenIpcHandle(context_, device_, first[i], 0, &opened));
                EXPECT_OK(zeMemCloseIpcHandle(context_, opened));
                EXPECT_OK(zeMemPutIpcHandle(context_, first[i]));
            }
            EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      zeMemOpenIpcHandle(context_, device_, last[i], 0, &opened));
        }
        EXPECT_EQ(before, openDescriptors());
    }
}

/* ------------------------------------------------------------------- kills -- */

/* Allocates, exports, tells, puts and frees for ever. */
int endlessExporter(int channel, const std::vector<std::string>&) {
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ze_device_handle_t device = devices().front();
    ImmediateList list(context, device);
    for (uint32_t seed = 1;; seed++) {
        Buffer buffer = seed % 2 ? Buffer::device(context, device, 4 * kPage)
                                 : Buffer::host(context, 4 * kPage);
        ze_ipc_mem_handle_t handle{};
        if (list.fill(buffer.get(), static_cast<uint8_t>(seed), 4 * kPage) != ZE_RESULT_SUCCESS ||
            zeMemGetIpcHandle(context, buffer.get(), &handle) != ZE_RESULT_SUCCESS)
            return 3;
        uint8_t message[sizeof handle + 1];
        std::memcpy(message, &handle, sizeof handle);
        message[sizeof handle] = static_cast<uint8_t>(seed);
        if (!sendAll(channel, message, sizeof message))
            return 0;
        if (seed % 3 == 0)
            zeMemPutIpcHandle(context, handle);
    }
}
ChildRegistration endlessExporterChild("ipc_endless_exporter", endlessExporter);

TEST_F(IpcStorm, ExportersKilledAtAnyMoment) {
    std::minstd_rand random(7);
    const uint64_t rounds = setting("VZE_TEST_CYCLES", 6000) / 500;
    for (uint64_t round = 0; round < rounds && !HasFailure(); round++) {
        Child child("ipc_endless_exporter");
        uint8_t message[sizeof(ze_ipc_mem_handle_t) + 1];
        const auto opens = static_cast<unsigned>(random() % 6);
        std::vector<std::pair<std::unique_ptr<Opened>, uint8_t>> kept;
        for (unsigned i = 0; i < opens && child.receive(message, sizeof message); i++) {
            ze_ipc_mem_handle_t handle{};
            std::memcpy(&handle, message, sizeof handle);
            auto opened = std::make_unique<Opened>(context_, device_, handle);
            if (opened->result() == ZE_RESULT_SUCCESS)
                kept.emplace_back(std::move(opened), message[sizeof handle]);
            else
                EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, opened->result());
        }
        sleepMicroseconds(static_cast<long>(random() % (opens ? 3000 : 400'000)));
        child.signal(SIGKILL);
        EXPECT_EQ(128 + SIGKILL, child.wait());
        for (auto& [opened, value] : kept) {
            std::vector<uint8_t> seen = readBack(opened->get(), 4 * kPage);
            EXPECT_EQ(-1, firstDifferent(seen.data(), seen.size(), value));
        }
    }
}

/* Opens, uses and closes one handle for ever. */
int endlessImporter(int channel, const std::vector<std::string>&) {
    ze_ipc_mem_handle_t handles[2];
    if (!receiveAll(channel, handles, sizeof handles) || !initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ze_device_handle_t device = devices().front();
    ImmediateList list(context, device);
    if (!sendAll(channel, "r", 1))
        return 3;
    for (unsigned i = 0;; i++) {
        void* opened = nullptr;
        uint64_t word = 0;
        if (zeMemOpenIpcHandle(context, device, handles[i % 2], 0, &opened) != ZE_RESULT_SUCCESS ||
            list.copy(&word, opened, sizeof word) != ZE_RESULT_SUCCESS ||
            zeMemCloseIpcHandle(context, opened) != ZE_RESULT_SUCCESS)
            return 4;
    }
}
ChildRegistration endlessImporterChild("ipc_endless_importer", endlessImporter);

TEST_F(IpcStorm, ImportersKilledAtAnyMoment) {
    std::minstd_rand random(11);
    Buffer buffer = Buffer::device(context_, device_, 64 * kPage);
    writeByDevice(buffer.get(), kPage, 1);
    Seams range(context_, device_, list(), {false, true, true, false});
    ze_ipc_mem_handle_t handles[2] = {};
    ASSERT_OK(zeMemGetIpcHandle(context_, buffer.get(), &handles[0]));
    ASSERT_OK(getRange(context_, range.bytes(), range.size(), &handles[1]));
    const auto before = deviceCounts();
    const uint64_t rounds = setting("VZE_TEST_CYCLES", 6000) / 500;
    for (uint64_t round = 0; round < rounds && !HasFailure(); round++) {
        Child child("ipc_endless_importer");
        char ready = 0;
        ASSERT_TRUE(child.send(handles, sizeof handles));
        ASSERT_TRUE(child.receive(&ready, 1));
        sleepMicroseconds(static_cast<long>(random() % 20'000));
        child.signal(SIGKILL);
        EXPECT_EQ(128 + SIGKILL, child.wait());
    }
    std::vector<uint8_t> seen = readBack(buffer.get(), kPage);
    EXPECT_EQ(-1, firstMismatch(seen.data(), kPage, 1));
    // Nothing of them is left, while the exporter still has its memory and handles.
    for (int tries = 0; tries < 600 && deviceCounts()["objects"] > before.at("objects"); tries++)
        sleepMicroseconds(50'000);
    EXPECT_EQ(before.at("objects"), deviceCounts()["objects"]);
    EXPECT_EQ(before.at("shares"), deviceCounts()["shares"]);
    for (const auto& handle : handles)
        EXPECT_OK(zeMemPutIpcHandle(context_, handle));
}

/* ------------------------------------------------------------------- races -- */

constexpr size_t kBoards = 16; // handles on offer
constexpr size_t kPieces = 6;  // pages of a range

/* A handle on offer, with what its pages begin with; odd versions: being changed. */
struct Board {
    std::atomic<uint64_t> version;
    ze_ipc_mem_handle_t handle;
    uint64_t words[kPieces];
    uint64_t pages;
};
struct Market {
    Board boards[kBoards];
    std::atomic<uint64_t> opened;  // successfully, by all importers
    std::atomic<uint64_t> refused; // because it was over
    std::atomic<uint32_t> stop;
};

Market* marketOf(const std::string& number) {
    void* memory =
        mmap(nullptr, sizeof(Market), PROT_READ | PROT_WRITE, MAP_SHARED, std::stoi(number), 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Market*>(memory);
}

/* Offers on the boards that are its own: allocations and ranges in new orders, put or freed later.
 */
int racingExporter(int, const std::vector<std::string>& arguments) {
    Market* market = marketOf(arguments[0]);
    const unsigned self = static_cast<unsigned>(std::stoi(arguments[1]));
    if (!market || !initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ze_device_handle_t device = devices().front();
    std::minstd_rand random(self + 1);
    {
        ImmediateList list(context, device);
        std::vector<std::unique_ptr<PhysicalMemory>> objects;
        Reservation reservation(context, kPieces * kPage);
        uint64_t words[kPieces];
        uint64_t next = (self + 1ULL) << 32;
        // Each object has one word for ever.
        for (size_t i = 0; i < kPieces; i++) {
            objects.push_back(std::make_unique<PhysicalMemory>(
                context, i % 2 ? device : deviceOfHostObjects(), kPage,
                i % 2 ? ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
                      : ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST));
            words[i] = ++next;
            if (zeVirtualMemMap(context, reservation.bytes(), kPage, objects[i]->get(), 0,
                                ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) != ZE_RESULT_SUCCESS ||
                list.copy(reservation.bytes(), &words[i], 8) != ZE_RESULT_SUCCESS ||
                zeVirtualMemUnmap(context, reservation.bytes(), kPage) != ZE_RESULT_SUCCESS)
                return 3;
        }
        struct Offer {
            Buffer buffer;
            ze_ipc_mem_handle_t handle{};
            bool live = false;
        };
        constexpr size_t kOwn = kBoards / 4;
        Offer offers[kOwn];
        while (!market->stop.load(std::memory_order_relaxed)) {
            const size_t which = random() % kOwn;
            Offer& offer = offers[which];
            // Sometimes the old one ends before the board changes, sometimes after, or by the free.
            const bool early = random() % 2;
            if (offer.live && early)
                zeMemPutIpcHandle(context, offer.handle);
            Offer fresh;
            Board content{};
            if (random() % 2) {
                fresh.buffer = random() % 2 ? Buffer::device(context, device, kPage)
                                            : Buffer::host(context, kPage);
                content.pages = 1;
                content.words[0] = ++next;
                if (list.copy(fresh.buffer.get(), &content.words[0], 8) != ZE_RESULT_SUCCESS ||
                    zeMemGetIpcHandle(context, fresh.buffer.get(), &fresh.handle) !=
                        ZE_RESULT_SUCCESS)
                    return 4;
            } else {
                size_t order[kPieces];
                for (size_t i = 0; i < kPieces; i++)
                    order[i] = i;
                std::shuffle(order, order + kPieces, random);
                content.pages = 1 + random() % kPieces;
                for (size_t i = 0; i < content.pages; i++) {
                    content.words[i] = words[order[i]];
                    if (zeVirtualMemMap(context, reservation.bytes() + i * kPage, kPage,
                                        objects[order[i]]->get(), 0,
                                        ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) != ZE_RESULT_SUCCESS)
                        return 5;
                }
                if (getRange(context, reservation.get(), content.pages * kPage, &fresh.handle) !=
                        ZE_RESULT_SUCCESS ||
                    zeVirtualMemUnmap(context, reservation.get(), kPieces * kPage) !=
                        ZE_RESULT_SUCCESS)
                    return 6;
            }
            fresh.live = true;
            Board& board = market->boards[self * kOwn + which];
            board.version.fetch_add(1, std::memory_order_acq_rel);
            board.handle = fresh.handle;
            std::memcpy(board.words, content.words, sizeof board.words);
            board.pages = content.pages;
            board.version.fetch_add(1, std::memory_order_acq_rel);
            if (offer.live && !early && random() % 2)
                zeMemPutIpcHandle(context, offer.handle);
            offer = std::move(fresh);
        }
        for (Offer& offer : offers) {
            if (offer.live)
                zeMemPutIpcHandle(context, offer.handle);
        }
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 7;
}
ChildRegistration racingExporterChild("ipc_racing_exporter", racingExporter);

/* Opens what is on offer: the right words, or a handle that is over. */
int racingImporter(int, const std::vector<std::string>& arguments) {
    Market* market = marketOf(arguments[0]);
    if (!market || !initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    ze_device_handle_t device = devices().front();
    std::minstd_rand random(static_cast<unsigned>(std::stoi(arguments[1])) + 100);
    {
        ImmediateList list(context, device);
        std::vector<uint64_t> seen(kPieces * kPage / sizeof(uint64_t));
        while (!market->stop.load(std::memory_order_relaxed)) {
            Board& board = market->boards[random() % kBoards];
            const uint64_t version = board.version.load(std::memory_order_acquire);
            ze_ipc_mem_handle_t handle = board.handle;
            uint64_t words[kPieces];
            std::memcpy(words, board.words, sizeof words);
            const uint64_t pages = board.pages;
            std::atomic_thread_fence(std::memory_order_acquire);
            if (version == 0 || version % 2 ||
                version != board.version.load(std::memory_order_relaxed))
                continue;
            void* opened = nullptr;
            const ze_result_t result = zeMemOpenIpcHandle(context, device, handle, 0, &opened);
            if (result == ZE_RESULT_ERROR_INVALID_ARGUMENT) {
                market->refused++;
                continue;
            }
            size_t size = 0;
            if (result != ZE_RESULT_SUCCESS ||
                zeMemGetAddressRange(context, opened, nullptr, &size) != ZE_RESULT_SUCCESS ||
                size != pages * kPage ||
                list.copy(seen.data(), opened, size) != ZE_RESULT_SUCCESS) {
                std::fprintf(stderr, "importer: %s\n", lastError());
                return 3;
            }
            for (size_t i = 0; i < pages; i++) {
                if (seen[i * kPage / sizeof(uint64_t)] != words[i]) {
                    std::fprintf(
                        stderr, "importer: page %zu has %#llx, not %#llx\n", i,
                        static_cast<unsigned long long>(seen[i * kPage / sizeof(uint64_t)]),
                        static_cast<unsigned long long>(words[i]));
                    return 4;
                }
            }
            if (zeMemCloseIpcHandle(context, opened) != ZE_RESULT_SUCCESS)
                return 5;
            market->opened++;
        }
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 6;
}
ChildRegistration racingImporterChild("ipc_racing_importer", racingImporter);

TEST_F(IpcStorm, FourExportersAndFourImporters) {
    Fd shared(memfd_create("market", 0)); // stays open in the children
    ASSERT_EQ(0, ftruncate(shared.get(), sizeof(Market)));
    Mapping mapping =
        Mapping::ofFile(shared.get(), sizeof(Market), PROT_READ | PROT_WRITE, MAP_SHARED);
    auto* market = new (mapping.get()) Market{};
    const std::string number = std::to_string(shared.get());
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 4; i++) {
        const std::vector<std::string> arguments = {number, std::to_string(i)};
        children.push_back(std::make_unique<Child>("ipc_racing_exporter", arguments));
        children.push_back(std::make_unique<Child>("ipc_racing_importer", arguments));
    }
    sleepMicroseconds(static_cast<long>(setting("VZE_TEST_SECONDS", 8) * 1'000'000));
    // Some opens and some refusals have been seen, however slow the machine is.
    for (int tries = 0; tries < 1200 && (market->opened < 20 || market->refused < 1); tries++)
        sleepMicroseconds(100'000);
    market->stop = 1;
    for (auto& child : children)
        EXPECT_EQ(0, child->wait());
    EXPECT_GE(market->opened.load(), 20u);
    EXPECT_GE(market->refused.load(), 1u);
    std::printf("%llu opened, %llu refused because they were over\n",
                static_cast<unsigned long long>(market->opened.load()),
                static_cast<unsigned long long>(market->refused.load()));
}

} // namespace
