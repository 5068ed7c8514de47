// SPDX-License-Identifier: MIT
// Which kinds of memory can be imported, for reading and for writing: each cell of the table.
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "statistics.h"
#include "testfile.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 8 * kPage;

class SysmemKinds : public GpuTest {
protected:
    /* Imports for reading and for writing; what works must work in both directions. */
    void expectReadable(uint8_t* memory, size_t size) {
        Buffer import =
            Buffer::import(context_, memory, size, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
        if (!import)
            return;
        std::vector<uint8_t> seen = readBack(memory, size);
        EXPECT_EQ(0, std::memcmp(seen.data(), memory, size));
    }

    void expectWritable(uint8_t* memory, size_t size) {
        Buffer import = Buffer::import(context_, memory, size);
        if (!import)
            return;
        writeByDevice(memory, size, 21);
        EXPECT_EQ(-1, firstMismatch(memory, size, 21));
        std::memset(memory, 0x3c, size / 2);
        std::vector<uint8_t> seen = readBack(memory, size);
        EXPECT_EQ(-1, firstDifferent(seen.data(), size / 2, 0x3c));
        EXPECT_EQ(-1, firstMismatch(seen.data() + size / 2, size / 2, 21, size / 2));
    }

    void expectNotWritable(uint8_t* memory, size_t size) {
        const uint64_t pinned = pinnedBytes();
        void* pointer = nullptr;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, importMemory(context_, memory, size, &pointer));
        EXPECT_EQ(pinned, pinnedBytes());
    }
};

TEST_F(SysmemKinds, Heap) {
    std::vector<uint8_t> heap(kSize + 2 * kPage, 0x2d);
    auto start = (reinterpret_cast<uintptr_t>(heap.data()) + kPage - 1) & ~(kPage - 1);
    expectReadable(reinterpret_cast<uint8_t*>(start), kSize);
    expectWritable(reinterpret_cast<uint8_t*>(start), kSize);
}

alignas(4096) uint8_t staticStorage[kSize] = {1};
alignas(4096) uint8_t zeroedStorage[kSize];
alignas(4096) const uint8_t constantStorage[kSize] = {42, 43, 44};

TEST_F(SysmemKinds, StaticStorage) {
    expectReadable(staticStorage, kSize);
    expectWritable(staticStorage, kSize);
    // Never touched: the import brings its pages in.
    expectReadable(zeroedStorage, kSize);
    expectWritable(zeroedStorage, kSize);
}

TEST_F(SysmemKinds, ConstantStorage) {
    auto* constant = const_cast<uint8_t*>(constantStorage);
    expectReadable(constant, kSize);
    expectNotWritable(constant, kSize);
}

TEST_F(SysmemKinds, Stack) {
    alignas(4096) uint8_t stack[kSize];
    std::memset(stack, 4, sizeof stack);
    expectReadable(stack, sizeof stack);
    expectWritable(stack, sizeof stack);
}

TEST_F(SysmemKinds, UntouchedAnonymous) {
    Mapping forReading = Mapping::anonymous(kSize);
    expectReadable(forReading.bytes(), kSize);
    Mapping forWriting = Mapping::anonymous(kSize);
    expectWritable(forWriting.bytes(), kSize);
}

TEST_F(SysmemKinds, AnonymousReadImportSeesLaterWritesOfTheCpu) {
    // Memory that was only read so far is the shared zero page; pinned it must become the process's
    // own.
    Mapping memory = Mapping::anonymous(kPage);
    ASSERT_EQ(0, memory.bytes()[9]);
    Buffer import =
        Buffer::import(context_, memory.get(), kPage, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    memory.bytes()[9] = 0x61;
    EXPECT_EQ(0x61, readBack(memory.bytes() + 9, 1)[0]);
}

TEST_F(SysmemKinds, TransparentHugePages) {
    Mapping memory = Mapping::anonymous(4 * kMiB);
    ASSERT_EQ(0, madvise(memory.get(), 4 * kMiB, MADV_HUGEPAGE));
    std::memset(memory.get(), 0x31, 4 * kMiB);
    uint64_t hugeKilobytes = 0;
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(smaps, line)) {
        unsigned long start = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2)
            inside = start <= reinterpret_cast<uintptr_t>(memory.get()) &&
                     reinterpret_cast<uintptr_t>(memory.get()) < end;
        unsigned long value = 0;
        if (inside && std::sscanf(line.c_str(), "AnonHugePages: %lu kB", &value) == 1)
            hugeKilobytes = value;
    }
    const auto before = contextStatistics(context_, device_);
    {
        Buffer import = Buffer::import(context_, memory.get(), 4 * kMiB);
        const auto after = contextStatistics(context_, device_);
        if (hugeKilobytes >= 4096) {
            EXPECT_EQ(before.pte_2m + 2, after.pte_2m) << "huge pages must be large leaves";
            EXPECT_EQ(before.pte_4k, after.pte_4k);
        }
        EXPECT_OK(list().fill(memory.bytes() + 2 * kMiB - 5, 0x32, 10));
        EXPECT_EQ(-1, firstDifferent(memory.bytes() + 2 * kMiB - 5, 10, 0x32));
        EXPECT_EQ(0x31, memory.bytes()[2 * kMiB + 5]);
    }
    EXPECT_EQ(before.pte_2m, contextStatistics(context_, device_).pte_2m);
    expectReadable(memory.bytes(), 4 * kMiB);
    ASSERT_EQ(0, mprotect(memory.get(), 4 * kMiB, PROT_READ));
    expectReadable(memory.bytes(), 4 * kMiB);
    expectNotWritable(memory.bytes(), 4 * kMiB);
    if (hugeKilobytes < 4096)
        GTEST_SKIP() << "the kernel gave no huge pages for the memory (" << hugeKilobytes << " kB)";
}

TEST_F(SysmemKinds, AnonymousShared) {
    Mapping memory = Mapping::ofFile(-1, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    expectReadable(memory.bytes(), kSize);
    expectWritable(memory.bytes(), kSize);
    ASSERT_EQ(0, mprotect(memory.get(), kSize, PROT_READ));
    expectReadable(memory.bytes(), kSize);
    expectNotWritable(memory.bytes(), kSize);
}

TEST_F(SysmemKinds, Memfd) {
    Fd fd(memfd_create("vze-test", MFD_CLOEXEC));
    ASSERT_EQ(0, ftruncate(fd.get(), kSize));
    Mapping memory = Mapping::ofFile(fd.get(), kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
    Mapping otherView = Mapping::ofFile(fd.get(), kSize, PROT_READ, MAP_SHARED);
    expectReadable(memory.bytes(), kSize);
    expectWritable(memory.bytes(), kSize);
    EXPECT_EQ(0, std::memcmp(memory.get(), otherView.get(), kSize));
    expectReadable(otherView.bytes(), kSize);
    expectNotWritable(otherView.bytes(), kSize);
}

TEST_F(SysmemKinds, SealedMemfdIsNotWritable) {
    Fd fd(memfd_create("vze-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(0, ftruncate(fd.get(), kSize));
    ASSERT_EQ(0, fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW));
    Mapping memory = Mapping::ofFile(fd.get(), kSize, PROT_READ, MAP_SHARED);
    expectReadable(memory.bytes(), kSize);
    expectNotWritable(memory.bytes(), kSize);
}

TEST_F(SysmemKinds, Tmpfs) {
    TestFile file(kSize, 5, "/dev/shm");
    ASSERT_GE(file.fd(), 0);
    Mapping memory = Mapping::ofFile(file.fd(), kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
    expectReadable(memory.bytes(), kSize);
    expectWritable(memory.bytes(), kSize);
    std::vector<uint8_t> inFile(kSize);
    ASSERT_EQ(static_cast<ssize_t>(kSize), pread(file.fd(), inFile.data(), kSize, 0));
    EXPECT_EQ(0, std::memcmp(inFile.data(), memory.get(), kSize))
        << "what the device wrote must be in the file";
    Mapping readOnly = Mapping::ofFile(file.fd(), kSize, PROT_READ, MAP_SHARED);
    expectReadable(readOnly.bytes(), kSize);
    expectNotWritable(readOnly.bytes(), kSize);
}

TEST_F(SysmemKinds, PrivateFile) {
    TestFile file(kSize, 6);
    ASSERT_GE(file.fd(), 0);
    Mapping memory = Mapping::ofFile(file.fd(), kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    expectReadable(memory.bytes(), kSize);
    expectWritable(memory.bytes(), kSize);
    std::vector<uint8_t> inFile(kSize);
    ASSERT_EQ(static_cast<ssize_t>(kSize), pread(file.fd(), inFile.data(), kSize, 0));
    EXPECT_EQ(-1, firstMismatch(inFile.data(), kSize, 6)) << "a private mapping changed its file";
    Mapping readOnly = Mapping::ofFile(file.fd(), kSize, PROT_READ, MAP_PRIVATE);
    expectReadable(readOnly.bytes(), kSize);
    expectNotWritable(readOnly.bytes(), kSize);
}

TEST_F(SysmemKinds, SharedFileWithWriteback) {
    TestFile file(kSize, 8);
    ASSERT_GE(file.fd(), 0);
    if (file.inMemory())
        GTEST_SKIP() << file.path() << " is on a file system in memory";
    Mapping readOnly = Mapping::ofFile(file.fd(), kSize, PROT_READ, MAP_SHARED);
    expectReadable(readOnly.bytes(), kSize);
    expectNotWritable(readOnly.bytes(), kSize);
    readOnly.reset();
    // Not every such file system gives writable shared mappings at all.
    void* address = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
    if (address == MAP_FAILED)
        GTEST_SKIP() << file.path() << " cannot be mapped shared and writable";
    Mapping writable(address, kSize);
    expectNotWritable(writable.bytes(), kSize);
    expectReadable(writable.bytes(), kSize);
    EXPECT_EQ(-1, firstMismatch(writable.get(), kSize, 8));
}

TEST_F(SysmemKinds, HugeTlb) {
    std::ifstream("/proc/sys/vm/nr_hugepages");
    std::string before;
    std::ifstream("/proc/sys/vm/nr_hugepages") >> before;
    std::ofstream("/proc/sys/vm/nr_hugepages") << 4;
    {
        void* address = mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (address == MAP_FAILED) {
            std::ofstream("/proc/sys/vm/nr_hugepages") << before;
            GTEST_SKIP() << "no huge pages can be reserved: " << std::strerror(errno);
        }
        Mapping memory(address, 4 * kMiB);
        std::memset(memory.get(), 1, 4 * kMiB);
        expectReadable(memory.bytes(), 4 * kMiB);
        expectWritable(memory.bytes(), 4 * kMiB);
        // A part of a huge page.
        expectWritable(memory.bytes() + 3 * kPage, kSize);
        ASSERT_EQ(0, mprotect(memory.get(), 4 * kMiB, PROT_READ));
        expectReadable(memory.bytes(), 4 * kMiB);
        expectNotWritable(memory.bytes(), 4 * kMiB);
    }
    std::ofstream("/proc/sys/vm/nr_hugepages") << before;
}

} // namespace
