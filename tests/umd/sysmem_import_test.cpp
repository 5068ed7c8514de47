// SPDX-License-Identifier: MIT
// ze_external_memmap_sysmem_ext_desc_t on zeMemAllocHost: every row of its table of results.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "physical.h"

using namespace vze::test;

namespace {

class SysmemImport : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        memory_ = Mapping::anonymous(kSize);
        ASSERT_TRUE(memory_);
        std::memset(memory_.get(), 0x11, kSize);
        pinned_ = pinnedBytes();
    }

    /* A refusal must leave nothing pinned, and the next good import must work. */
    void expectRefused(ze_result_t expected, void* memory, uint64_t descSize, size_t size,
                       uint32_t flags = 0, size_t alignment = 0) {
        auto external = importDesc(memory, descSize);
        auto desc = hostDesc(&external, flags);
        void* pointer = nullptr;
        EXPECT_ZE(expected, zeMemAllocHost(context_, &desc, size, alignment, &pointer));
        EXPECT_EQ(pinned_, pinnedBytes());
        Buffer good = Buffer::import(context_, memory_.get(), kSize);
        EXPECT_EQ(pinned_ + kSize, pinnedBytes());
    }

    void expectNotExported(uint32_t flags);

    static constexpr size_t kSize = 4 * kPage;
    Mapping memory_;
    uint64_t pinned_ = 0;
};

/* Address range of a named mapping of this process, or null. */
std::pair<uint8_t*, size_t> namedMapping(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) {
        if (line.find(name) == std::string::npos)
            continue;
        unsigned long start = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2)
            return {reinterpret_cast<uint8_t*>(start), end - start};
    }
    return {nullptr, 0};
}

TEST_F(SysmemImport, KeepsTheAddressAndIsHostImported) {
    void* pointer = nullptr;
    ASSERT_OK(importMemory(context_, memory_.get(), kSize, &pointer));
    EXPECT_EQ(memory_.get(), pointer);
    EXPECT_EQ(pinned_ + kSize, pinnedBytes());
    EXPECT_EQ(ZE_MEMORY_TYPE_HOST_IMPORTED, allocInfo(context_, pointer).type);
    EXPECT_EQ(ZE_MEMORY_TYPE_HOST_IMPORTED, allocInfo(context_, memory_.bytes() + kSize - 1).type);
    void* base = nullptr;
    size_t size = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, memory_.bytes() + kPage + 7, &base, &size));
    EXPECT_EQ(memory_.get(), base);
    EXPECT_EQ(kSize, size);
    EXPECT_OK(zeMemFree(context_, pointer));
    EXPECT_EQ(pinned_, pinnedBytes());
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x11));
}

TEST_F(SysmemImport, DeviceAndCpuSeeEachOthersWritesOnEveryDevice) {
    for (ze_device_handle_t device : devices()) {
        void* heap = std::aligned_alloc(kPage, 2 * kPage);
        ASSERT_NE(nullptr, heap);
        writePattern(heap, 2 * kPage, 1);
        {
            Buffer import = Buffer::import(context_, heap, 2 * kPage);
            ImmediateList list(context_, device);
            Buffer onDevice = Buffer::device(context_, device, 2 * kPage);
            // The device reads what the CPU wrote before and after the import.
            std::memset(static_cast<uint8_t*>(heap) + 100, 0xc3, 50);
            EXPECT_OK(list.copy(onDevice.get(), heap, 2 * kPage));
            Buffer host = Buffer::host(context_, 2 * kPage);
            EXPECT_OK(list.copy(host.get(), onDevice.get(), 2 * kPage));
            EXPECT_EQ(0, std::memcmp(host.get(), heap, 2 * kPage));
            // The CPU reads what the device writes, in the memory itself.
            EXPECT_OK(list.fill(static_cast<uint8_t*>(heap) + kPage - 3, 0x5d, 6));
            EXPECT_EQ(-1, firstDifferent(static_cast<uint8_t*>(heap) + kPage - 3, 6, 0x5d));
            EXPECT_EQ(patternByte(kPage - 4, 1), static_cast<uint8_t*>(heap)[kPage - 4]);
            EXPECT_EQ(patternByte(kPage + 3, 1), static_cast<uint8_t*>(heap)[kPage + 3]);
        }
        std::free(heap);
    }
}

TEST_F(SysmemImport, SmallerSizeArgumentMapsTheWholeDescriptor) {
    auto external = importDesc(memory_.get(), kSize);
    auto desc = hostDesc(&external);
    void* pointer = nullptr;
    ASSERT_OK(zeMemAllocHost(context_, &desc, 100, 0, &pointer));
    Buffer import(context_, pointer);
    void* base = nullptr;
    size_t size = 0;
    EXPECT_OK(zeMemGetAddressRange(context_, pointer, &base, &size));
    EXPECT_EQ(memory_.get(), base);
    EXPECT_EQ(kSize, size);
    EXPECT_OK(list().fill(memory_.bytes() + kSize - 1, 0x77, 1));
    EXPECT_EQ(0x77, memory_.bytes()[kSize - 1]);
}

TEST_F(SysmemImport, NullPointer) {
    expectRefused(ZE_RESULT_ERROR_INVALID_NULL_POINTER, nullptr, kSize, kSize);
}

TEST_F(SysmemImport, UnalignedPointer) {
    for (size_t offset : {1, 64, 2048, 4095})
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, memory_.bytes() + offset, kPage, kPage);
}

TEST_F(SysmemImport, DescriptorSizeMustBeWholePages) {
    for (uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{4097}, uint64_t{kSize - 1}})
        expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, memory_.get(), size, 1);
}

TEST_F(SysmemImport, SizeArgumentMustBeWithinTheDescriptor) {
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, memory_.get(), kSize, 0);
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, memory_.get(), kSize, kSize + 1);
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, memory_.get(), kSize, SIZE_MAX);
}

TEST_F(SysmemImport, UnknownHostFlags) {
    expectRefused(ZE_RESULT_ERROR_INVALID_ENUMERATION, memory_.get(), kSize, kSize, 0x20);
    expectRefused(ZE_RESULT_ERROR_INVALID_ENUMERATION, memory_.get(), kSize, kSize, 0x80000000u);
}

TEST_F(SysmemImport, ReadOnlyAndWriteCombinedExcludeEachOther) {
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, memory_.get(), kSize, kSize,
                  ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY |
                      ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED);
}

TEST_F(SysmemImport, Alignment) {
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, memory_.get(), kSize, kSize, 0, 3);
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, memory_.get(), kSize, kSize, 0, 3 * kPage);
    // Of two neighbouring pages one is not aligned to two pages.
    auto* even = reinterpret_cast<uint8_t*>(
        (reinterpret_cast<uintptr_t>(memory_.get()) + 2 * kPage - 1) & ~(2 * kPage - 1));
    auto* odd = even + kPage;
    ASSERT_LE(odd + kPage, memory_.bytes() + kSize);
    expectRefused(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, odd, kPage, kPage, 0, 2 * kPage);
    auto external = importDesc(even, kPage);
    auto desc = hostDesc(&external);
    void* pointer = nullptr;
    EXPECT_OK(zeMemAllocHost(context_, &desc, kPage, 2 * kPage, &pointer));
    EXPECT_EQ(even, pointer);
    EXPECT_OK(zeMemFree(context_, pointer));
}

TEST_F(SysmemImport, RangeThatWraps) {
    void* last = reinterpret_cast<void*>(~uintptr_t{0} & ~(kPage - 1));
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, last, 2 * kPage, kPage);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, memory_.get(), ~uint64_t{0} & ~(kPage - 1),
                  kPage);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, memory_.get(), uint64_t{1} << 63, kPage);
}

TEST_F(SysmemImport, KernelAddresses) {
    for (uintptr_t address : {uintptr_t{0xffff888000000000}, uintptr_t{0xffffffff81000000},
                              uintptr_t{0x0000800000000000}, uintptr_t{0x00007ffffffff000}})
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, reinterpret_cast<void*>(address), kPage,
                      kPage);
}

TEST_F(SysmemImport, HoleInTheRange) {
    for (size_t hole = 0; hole < 4; hole++) {
        Mapping holed = Mapping::anonymous(4 * kPage);
        std::memset(holed.get(), 1, holed.size());
        ASSERT_EQ(0, munmap(holed.bytes() + hole * kPage, kPage));
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, holed.get(), 4 * kPage, 4 * kPage);
    }
    Mapping gone = Mapping::anonymous(kPage);
    void* address = gone.get();
    gone.reset();
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, address, kPage, kPage);
}

TEST_F(SysmemImport, InaccessibleMemory) {
    Mapping none = Mapping::anonymous(2 * kPage);
    std::memset(none.get(), 1, none.size());
    ASSERT_EQ(0, mprotect(none.bytes() + kPage, kPage, PROT_NONE));
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, none.get(), 2 * kPage, 2 * kPage);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, none.bytes() + kPage, kPage, kPage,
                  ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
}

TEST_F(SysmemImport, DeviceRegistersAndKernelMappings) {
    // The memory behind a PCI BAR has no pages that could be pinned. The kernel gives out only BARs
    // that no driver has claimed.
    bool found = false;
    glob_t bars{};
    ASSERT_EQ(0, glob("/sys/bus/pci/devices/*/resource[0-5]", 0, nullptr, &bars));
    for (size_t i = 0; i < bars.gl_pathc && !found; i++) {
        Fd bar(open(bars.gl_pathv[i], O_RDWR | O_CLOEXEC));
        void* address = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, bar.get(), 0);
        if (address == MAP_FAILED)
            continue;
        found = true;
        Mapping window(address, kPage);
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, window.get(), kPage, kPage);
        expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, window.get(), kPage, kPage,
                      ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    }
    globfree(&bars);
    EXPECT_TRUE(found) << "no PCI BAR can be mapped here";
    auto [vvar, vvarSize] = namedMapping("[vvar]");
    ASSERT_NE(nullptr, vvar);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, vvar, kPage, kPage);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, vvar, kPage, kPage,
                  ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    auto [vdso, vdsoSize] = namedMapping("[vdso]");
    ASSERT_NE(nullptr, vdso);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, vdso, kPage, kPage);
}

TEST_F(SysmemImport, OurOwnMemory) {
    Buffer host = Buffer::host(context_, kSize);
    Buffer shared = Buffer::shared(context_, device_, kSize);
    Buffer onDevice = Buffer::device(context_, device_, kSize);
    std::memset(host.get(), 1, kSize);
    std::memset(shared.get(), 1, kSize);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, host.get(), kSize, kSize);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, shared.get(), kSize, kSize);
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, onDevice.get(), kSize, kSize);
    void* reservation = nullptr;
    ASSERT_OK(zeVirtualMemReserve(context_, nullptr, 2 * kMiB, &reservation));
    expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, reservation, kPage, kPage);
    EXPECT_OK(zeVirtualMemFree(context_, reservation, 2 * kMiB));
}

/* The same memory by other ways to it: mapped objects, what was opened, mappings of a dma-buf. */
TEST_F(SysmemImport, OurOwnMemoryByAnotherWay) {
    Buffer host = Buffer::host(context_, kSize);
    Buffer onDevice = Buffer::device(context_, device_, kSize);
    std::memset(host.get(), 1, kSize);
    PhysicalMemory object(context_, deviceOfHostObjects(), kSize,
                          ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST);
    Reservation reservation(context_, 2 * kSize);
    ASSERT_OK(zeVirtualMemMap(context_, reservation.get(), kSize, object.get(), 0,
                              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    std::memset(reservation.get(), 1, kSize);
    ze_ipc_mem_handle_t handle{};
    ASSERT_OK(zeMemGetIpcHandle(context_, host.get(), &handle));
    Opened opened(context_, device_, handle);
    ASSERT_OK(opened.result());
    auto mapped = [&](void* pointer) {
        ze_ipc_mem_handle_t of{};
        EXPECT_OK(zeMemGetIpcHandle(context_, pointer, &of));
        return Mapping::ofFile(descriptorIn(of), kSize, PROT_READ | PROT_WRITE, MAP_SHARED);
    };
    Mapping hostBuf = mapped(host.get());
    Mapping deviceBuf = mapped(onDevice.get());
    std::memset(hostBuf.get(), 2, kSize);
    std::memset(deviceBuf.get(), 2, kSize);
    for (uint32_t flags : {0u, uint32_t{ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY}})
        for (void* pointer : {reservation.get(), opened.get(), hostBuf.get(), deviceBuf.get()})
            expectRefused(ZE_RESULT_ERROR_INVALID_ARGUMENT, pointer, kSize, kSize, flags);
}

TEST_F(SysmemImport, ReadOnlyMemoryNeedsTheFlag) {
    ASSERT_EQ(0, mprotect(memory_.get(), kSize, PROT_READ));
    auto refuse = importDesc(memory_.get(), kSize);
    auto desc = hostDesc(&refuse);
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocHost(context_, &desc, kSize, 0, &pointer));
    EXPECT_EQ(pinned_, pinnedBytes());
    Buffer import =
        Buffer::import(context_, memory_.get(), kSize, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY);
    ASSERT_TRUE(import);
    EXPECT_EQ(0x11, readBack(memory_.bytes() + 5, 1)[0]);
    ASSERT_EQ(0, mprotect(memory_.get(), kSize, PROT_READ | PROT_WRITE));
}

TEST_F(SysmemImport, OneReadOnlyPageAmongWritableOnesIsRefused) {
    ASSERT_EQ(0, mprotect(memory_.bytes() + 2 * kPage, kPage, PROT_READ));
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              importMemory(context_, memory_.get(), kSize, &pointer));
    EXPECT_EQ(pinned_, pinnedBytes());
}

TEST_F(SysmemImport, OnOtherAllocationCallsIsInvalid) {
    auto external = importDesc(memory_.get(), kSize);
    auto onDevice = deviceDesc(&external);
    auto plainDevice = deviceDesc();
    auto onHost = hostDesc(&external);
    auto plainHost = hostDesc();
    void* pointer = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocDevice(context_, &onDevice, kSize, 0, device_, &pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocShared(context_, &onDevice, &plainHost, kSize, 0, device_, &pointer));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemAllocShared(context_, &plainDevice, &onHost, kSize, 0, device_, &pointer));
    EXPECT_EQ(pinned_, pinnedBytes());
}

/* Neither for reading nor for writing: pins must not outlive the process that is charged. */
TEST_F(SysmemImport, CannotBeExported) {
    for (uint32_t flags : {0u, uint32_t{ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY}})
        expectNotExported(flags);
}

void SysmemImport::expectNotExported(uint32_t flags) {
    Buffer import = Buffer::import(context_, memory_.get(), kSize, flags);
    const size_t descriptors = openDescriptors();
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandle(context_, memory_.get(), &handle));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandleWithProperties(context_, memory_.bytes() + kPage, nullptr, &handle));
    int exported = -1;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              exportDescriptor(context_, memory_.get(), exported));
    EXPECT_EQ(-1, exported);
    EXPECT_EQ(descriptors, openDescriptors());
}

TEST_F(SysmemImport, IsFreedByItsBaseOnly) {
    Buffer import = Buffer::import(context_, memory_.get(), kSize);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, memory_.bytes() + kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, memory_.bytes() + 1));
    EXPECT_OK(zeMemFree(context_, import.release()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context_, memory_.get()));
}

TEST_F(SysmemImport, DriverFunctionsOfTheVendorAreTheSameImport) {
    using Import = ze_result_t (*)(ze_driver_handle_t, void*, size_t);
    using Release = ze_result_t (*)(ze_driver_handle_t, void*);
    using Base = ze_result_t (*)(ze_driver_handle_t, void*, void**);
    void* function = nullptr;
    ASSERT_OK(
        zeDriverGetExtensionFunctionAddress(driver_, "zexDriverImportExternalPointer", &function));
    auto import = reinterpret_cast<Import>(function);
    ASSERT_OK(
        zeDriverGetExtensionFunctionAddress(driver_, "zexDriverReleaseImportedPointer", &function));
    auto release = reinterpret_cast<Release>(function);
    ASSERT_OK(zeDriverGetExtensionFunctionAddress(driver_, "zexDriverGetHostPointerBaseAddress",
                                                  &function));
    auto base = reinterpret_cast<Base>(function);
    ASSERT_OK(import(driver_, memory_.get(), kSize));
    EXPECT_EQ(pinned_ + kSize, pinnedBytes());
    void* found = nullptr;
    EXPECT_OK(base(driver_, memory_.bytes() + kPage + 5, &found));
    EXPECT_EQ(memory_.get(), found);
    EXPECT_OK(list().fill(memory_.get(), 0x42, kSize));
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0x42));
    EXPECT_OK(release(driver_, memory_.get()));
    EXPECT_EQ(pinned_, pinnedBytes());
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, release(driver_, memory_.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, base(driver_, memory_.get(), &found));
    // Any bytes are widened to whole pages, and any pointer inside names them.
    ASSERT_OK(import(driver_, memory_.bytes() + kPage + 5, kPage));
    EXPECT_EQ(pinned_ + 2 * kPage, pinnedBytes());
    EXPECT_OK(base(driver_, memory_.bytes() + 3 * kPage - 1, &found));
    EXPECT_EQ(memory_.bytes() + kPage, found);
    EXPECT_OK(release(driver_, memory_.bytes() + 2 * kPage));
    EXPECT_EQ(pinned_, pinnedBytes());

    const ze_result_t null = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    EXPECT_ZE(null, import(driver_, nullptr, kSize));
    EXPECT_ZE(null, release(driver_, nullptr));
    EXPECT_ZE(null, base(driver_, nullptr, &found));
    EXPECT_ZE(null, base(driver_, memory_.get(), nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, import(nullptr, memory_.get(), kSize));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, release(nullptr, memory_.get()));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, base(nullptr, memory_.get(), &found));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, import(driver_, memory_.get(), 0));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, import(driver_, memory_.get(), SIZE_MAX));
    ASSERT_EQ(0, mprotect(memory_.bytes() + kPage, kPage, PROT_READ));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, import(driver_, memory_.get(), kSize));
    EXPECT_EQ(pinned_, pinnedBytes());
}

} // namespace
