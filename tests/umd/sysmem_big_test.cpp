// SPDX-License-Identifier: MIT
// Imports of very large ranges (cases 3 and 4), by many processes at once (5), under changes of
// access (11), killed in the middle (12), and beside others who allocate (43). The memory is one
// small file that is mapped again and again.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

using namespace vze::test;

namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr size_t kPiece = 32 * kMiB;
constexpr uint32_t kForReading = ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;

/* A range of this size that shows the file over and over. */
Mapping aliasOf(int file, size_t piece, size_t size) {
    void* address =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return {};
    Mapping range(address, size);
    for (size_t at = 0; at < size; at += piece) {
        if (mmap(range.bytes() + at, std::min(piece, size - at), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            return {};
    }
    return range;
}

Fd smallFile(size_t size) {
    Fd file(memfd_create("vze-test", MFD_CLOEXEC));
    EXPECT_EQ(0, ftruncate(file.get(), static_cast<off_t>(size)));
    return file;
}

void pauseMs(long ms) {
    timespec pause{ms / 1000, ms % 1000 * 1'000'000};
    nanosleep(&pause, nullptr);
}

class SysmemBig : public GpuTest {};

/* Where 32-bit arithmetic has ended the last page is the last page. (Every size around 2 and 4 GiB,
 * and 6 GiB, is in the module's own tests.) */
TEST_F(SysmemBig, MoreThan32Bits) {
    const size_t size = roundsHere(4 * kGiB) + kPage;
    Fd file = smallFile(kPiece);
    const uint64_t pinned = pinnedBytes();
    Mapping memory = aliasOf(file.get(), kPiece, size);
    ASSERT_TRUE(memory);
    uint8_t* last = memory.bytes() + size - kPage;
    writePattern(last, kPage, 3);
    // Read-only pins fault in several pages at a time.
    Buffer import = Buffer::import(context_, memory.get(), size, kForReading);
    ASSERT_TRUE(import);
    EXPECT_EQ(pinned + size, pinnedBytes());
    size_t mapped = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, last, nullptr, &mapped));
    EXPECT_EQ(size, mapped);
    const std::vector<uint8_t> bytes = readBack(last, kPage);
    EXPECT_EQ(-1, firstMismatch(bytes.data(), kPage, 3));
    import.reset();
    EXPECT_EQ(pinned, pinnedBytes());
}

TEST_F(SysmemBig, OnePageThatCannotBePinned) {
    constexpr size_t kSize = 128 * kMiB + kPage;
    Fd file = smallFile(kPiece);
    Mapping memory = aliasOf(file.get(), kPiece, kSize);
    ASSERT_TRUE(memory);
    const uint64_t pinned = pinnedBytes();
    void* pointer = nullptr;
    for (size_t bad : {size_t{0}, kPage, 511 * kPage, 2 * kMiB, kPiece - kPage,
                       kSize / 2 / kPage * kPage, kSize - kPage}) {
        SCOPED_TRACE(bad);
        ASSERT_EQ(0, mprotect(memory.bytes() + bad, kPage, PROT_NONE));
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  importMemory(context_, memory.get(), kSize, &pointer));
        EXPECT_EQ(pinned, pinnedBytes());
        ASSERT_EQ(0, mprotect(memory.bytes() + bad, kPage, PROT_READ | PROT_WRITE));
    }
    ASSERT_OK(importMemory(context_, memory.get(), kSize, &pointer));
    EXPECT_OK(list().fill(memory.bytes() + kSize - kPage, 0x31, kPage));
    EXPECT_OK(zeMemFree(context_, pointer));
    EXPECT_EQ(pinned, pinnedBytes());
}

/* What its bookkeeping would take is more than the kernel module allows, for root too. */
TEST_F(SysmemBig, OneTebibyte) {
    constexpr size_t kLargePiece = kGiB;
    constexpr size_t kSize = 1024 * kGiB;
    Fd file = smallFile(kLargePiece);
    Mapping memory = aliasOf(file.get(), kLargePiece, kSize);
    if (!memory)
        GTEST_SKIP() << "1 TiB of address space cannot be had";
    const uint64_t pinned = pinnedBytes();
    void* pointer = nullptr;
    for (uint32_t flags : {0u, kForReading}) {
        EXPECT_ZE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                  importMemory(context_, memory.get(), kSize, &pointer, flags));
        EXPECT_EQ(pinned, pinnedBytes());
    }
    // Nothing sticks to the next call.
    Buffer import = Buffer::import(context_, memory.get(), 2 * kMiB);
    EXPECT_OK(list().fill(import.get(), 0x32, 2 * kMiB));
}

/* Arguments: file descriptor path, size, rounds, flags. */
int importsAgainAndAgain(int channel, const std::vector<std::string>& arguments) {
    const size_t piece = std::stoul(arguments.at(1)), size = std::stoul(arguments.at(2));
    const unsigned long rounds = std::stoul(arguments.at(3));
    const auto flags = static_cast<uint32_t>(std::stoul(arguments.at(4)));
    const Fd file(std::stoi(arguments.at(0)));
    Mapping memory = aliasOf(file.get(), piece, size);
    if (!memory || !initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    // Before and after each import it says so.
    for (unsigned long round = 0; round < rounds; round++) {
        void* pointer = nullptr;
        if (!sendAll(channel, "b", 1))
            return 3;
        if (importMemory(context, memory.get(), size, &pointer, flags) != ZE_RESULT_SUCCESS)
            return 4;
        if (!sendAll(channel, "a", 1))
            return 5;
        if (pinnedBytes() != size)
            return 6;
        if (zeMemFree(context, pointer) != ZE_RESULT_SUCCESS || pinnedBytes() != 0)
            return 7;
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 8;
}

const ChildRegistration again("imports-again-and-again", importsAgainAndAgain);

std::unique_ptr<Child> importer(int file, size_t piece, size_t size, size_t rounds,
                                uint32_t flags) {
    // The child gets the descriptor over the exec under the same number.
    return std::make_unique<Child>(
        "imports-again-and-again",
        std::vector<std::string>{std::to_string(file), std::to_string(piece), std::to_string(size),
                                 std::to_string(rounds), std::to_string(flags)});
}

/* A file that children keep over exec. */
Fd inheritedFile(size_t size) {
    Fd file(memfd_create("vze-test", 0));
    EXPECT_EQ(0, ftruncate(file.get(), static_cast<off_t>(size)));
    return file;
}

TEST_F(SysmemBig, EightProcessesAndOneFile) {
    Fd file = inheritedFile(16 * kMiB);
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 8; i++)
        children.push_back(importer(file.get(), 16 * kMiB, 16 * kMiB, roundsHere(8), 0));
    std::vector<std::thread> readers;
    for (auto& child : children)
        readers.emplace_back([&child] {
            char byte = 0;
            while (child->receive(&byte, 1)) {
            }
        });
    for (std::thread& reader : readers)
        reader.join();
    for (auto& child : children)
        EXPECT_EQ(0, child->wait());
}

/* While the access changes, an import works or is refused, wholly. */
TEST_F(SysmemBig, AccessToggledMeanwhile) {
    constexpr size_t kSize = 16 * kPage;
    Mapping memory = Mapping::anonymous(kSize);
    std::memset(memory.get(), 1, kSize);
    const uint64_t pinned = pinnedBytes();
    std::atomic<bool> stop{false};
    std::thread toggler([&] {
        while (!stop) {
            mprotect(memory.get(), kSize, PROT_READ);
            mprotect(memory.get(), kSize, PROT_READ | PROT_WRITE);
        }
        mprotect(memory.get(), kSize, PROT_READ);
    });
    int worked = 0, refused = 0;
    const int rounds = static_cast<int>(roundsHere(400));
    for (int i = 0; i < rounds; i++) {
        void* pointer = nullptr;
        const ze_result_t result = importMemory(context_, memory.get(), kSize, &pointer);
        if (result == ZE_RESULT_SUCCESS) {
            worked++;
            EXPECT_EQ(pinned + kSize, pinnedBytes());
            // It was writable at its import: the device may write, whatever the CPU may by now.
            EXPECT_OK(list().fill(memory.get(), 2, kSize));
            EXPECT_OK(zeMemFree(context_, pointer));
        } else {
            refused++;
            EXPECT_EQ(Result{ZE_RESULT_ERROR_INVALID_ARGUMENT}, Result{result});
            EXPECT_EQ(pinned, pinnedBytes());
        }
    }
    stop = true;
    toggler.join();
    EXPECT_EQ(rounds, worked + refused);
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              importMemory(context_, memory.get(), kSize, &pointer));
}

/* The process is gone and nothing stays pinned; that the leak check after the test sees, too. */
TEST_F(SysmemBig, KilledInTheMiddle) {
    Fd file = inheritedFile(kPiece);
    for (long after : {50, 300, 1000}) {
        auto child = importer(file.get(), kPiece, 8 * kGiB, 1000, 0);
        char byte = 0;
        ASSERT_TRUE(child->receive(&byte, 1));
        pauseMs(after);
        child->signal(SIGKILL);
        EXPECT_EQ(128 + SIGKILL, child->wait());
        for (int tries = 0; tries < 600 && deviceCounts()["pinned_pages"] != 0; tries++)
            pauseMs(50);
        EXPECT_EQ(0, deviceCounts()["pinned_pages"]);
        EXPECT_EQ(0, deviceCounts()["userptrs"]);
    }
}

/* While another process imports 8 GiB, allocations of this one begin and end. */
TEST_F(SysmemBig, OthersDoNotWaitForAnImport) {
    Fd file = inheritedFile(kPiece);
    list();
    bool during = false;
    for (int tries = 0; tries < 5 && !during; tries++) {
        auto child = importer(file.get(), kPiece, 8 * kGiB, 1, kForReading);
        char byte = 0;
        ASSERT_TRUE(child->receive(&byte, 1));
        ASSERT_EQ('b', byte);
        std::atomic<bool> over{false};
        std::thread reader([&] {
            char next = 0;
            child->receive(&next, 1);
            over = true;
        });
        for (int i = 0; i < 8; i++) {
            Buffer device = Buffer::device(context_, device_, kMiB);
            Buffer host = Buffer::host(context_, kMiB);
            EXPECT_OK(list().fill(host.get(), 1, kMiB));
        }
        // Would they wait, the import would be over by now; the machine itself may have stood
        // still.
        during = !over;
        child->signal(SIGKILL); // the rest of the import is nobody's concern
        reader.join();
        EXPECT_EQ(128 + SIGKILL, child->wait());
    }
    EXPECT_TRUE(during);
}

} // namespace
