// SPDX-License-Identifier: MIT
// Every descriptor of allocations, handles and frees in the chain of every such call: where it
// belongs, and what comes of it alone, twice, and with each other one before and behind it.
#include <cstring>
#include <memory>
#include <string>

#include <unistd.h>

#include "fixture.h"
#include "ipc.h"
#include "physical.h"

using namespace vze::test;

namespace {

constexpr size_t kSize = 4 * kPage;

enum Call { Device, Host, SharedOnDevice, SharedOnHost, PhysicalOnDevice, PhysicalOnHost, Handle };
constexpr int kCalls = Handle + 1;
const char* const kNames[kCalls] = {"zeMemAllocDevice",
                                    "zeMemAllocHost",
                                    "zeMemAllocShared, device_desc",
                                    "zeMemAllocShared, host_desc",
                                    "zePhysicalMemCreate, device",
                                    "zePhysicalMemCreate, host",
                                    "zeMemGetIpcHandleWithProperties"};

constexpr ze_result_t kOk = ZE_RESULT_SUCCESS;
constexpr ze_result_t kNot = ZE_RESULT_ERROR_INVALID_ARGUMENT; // does not belong to the call
constexpr ze_result_t kFeature = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
constexpr ze_result_t kType = ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;

struct Row {
    uint32_t stype;
    ze_result_t result[kCalls];
};

constexpr uint32_t kRange = ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC;

const Row kRows[] = {
    {ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, {kOk, kOk, kOk, kOk, kOk, kOk, kNot}},
    {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC, {kOk, kOk, kOk, kOk, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, {kOk, kOk, kOk, kOk, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, {kOk, kOk, kOk, kOk, kOk, kOk, kNot}},
    {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, {kOk, kOk, kNot, kNot, kOk, kOk, kNot}},
    {ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, {kOk, kOk, kNot, kNot, kOk, kOk, kOk}},
    {ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC, {kNot, kOk, kNot, kNot, kNot, kNot, kNot}},
    {kRange, {kNot, kNot, kNot, kNot, kNot, kNot, kOk}},
    {ZE_STRUCTURE_TYPE_RAYTRACING_MEM_ALLOC_EXT_DESC,
     {kFeature, kNot, kFeature, kFeature, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32,
     {kType, kType, kNot, kNot, kType, kType, kNot}},
    {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_CONTEXT_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
    {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, {kNot, kNot, kNot, kNot, kNot, kNot, kNot}},
};

/* Any structure of a chain. */
union Any {
    struct {
        ze_structure_type_t stype;
        const void* pNext;
    } head;
    ze_memory_compression_hints_ext_desc_t compression;
    ze_relaxed_allocation_limits_ext_desc_t relaxed;
    ze_external_memory_export_desc_t exported;
    ze_external_memory_import_fd_t imported;
    ze_ipc_mem_handle_type_ext_desc_t ipcType;
    ze_external_memmap_sysmem_ext_desc_t sysmem;
    ze_ipc_phys_mem_handle_range_ext_desc_t range;
    uint64_t room[16];
};

class DescriptorTable : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        memory_ = Mapping::anonymous(kSize);
        std::memset(memory_.get(), 1, kSize);
        onDevice_ = Buffer::device(context_, device_, kSize);
        onHost_ = Buffer::host(context_, kSize);
        object_ = std::make_unique<PhysicalMemory>(context_, device_, kSize);
        reservation_ = std::make_unique<Reservation>(context_, kSize);
        ASSERT_OK(zeVirtualMemMap(context_, reservation_->get(), kSize, object_->get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        deviceFd_ = exported(onDevice_.get());
        hostFd_ = exported(onHost_.get());
    }
    void TearDown() override {
        reservation_.reset();
        object_.reset();
        onDevice_.reset();
        onHost_.reset();
        GpuTest::TearDown();
    }

    int exported(void* pointer) {
        int fd = -1;
        EXPECT_OK(exportDescriptor(context_, pointer, fd));
        return fd;
    }

    /* A structure of this type that is right for the call in itself. */
    Any make(uint32_t stype, int call, const void* next = nullptr) {
        Any any;
        std::memset(&any, 0, sizeof any);
        any.head.stype = static_cast<ze_structure_type_t>(stype);
        any.head.pNext = next;
        switch (stype) {
        case ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC:
            any.compression.flags = ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED;
            break;
        case ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC:
        case ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC:
            any.relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
            break;
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
            any.exported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
            break;
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
            any.imported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
            any.imported.fd = call == Host || call == PhysicalOnHost ? hostFd_ : deviceFd_;
            break;
        case ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC:
            any.ipcType.typeFlags = ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT;
            break;
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC:
            any.sysmem.pSystemMemory = memory_.get();
            any.sysmem.size = kSize;
            break;
        case kRange:
            any.range.size = kSize;
            break;
        default:
            break;
        }
        return any;
    }

    /* The call with this chain; what it gave is given back. */
    ze_result_t run(int call, void* chain) {
        void* pointer = nullptr;
        ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
        switch (call) {
        case Device: {
            auto desc = deviceDesc(chain);
            result = zeMemAllocDevice(context_, &desc, kSize, 0, device_, &pointer);
            break;
        }
        case Host: {
            auto desc = hostDesc(chain);
            result = zeMemAllocHost(context_, &desc, kSize, 0, &pointer);
            break;
        }
        case SharedOnDevice:
        case SharedOnHost: {
            auto device = deviceDesc(call == SharedOnDevice ? chain : nullptr);
            auto host = hostDesc(call == SharedOnHost ? chain : nullptr);
            result = zeMemAllocShared(context_, &device, &host, kSize, 0, device_, &pointer);
            break;
        }
        case PhysicalOnDevice:
        case PhysicalOnHost: {
            ze_physical_mem_desc_t desc{};
            desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
            desc.pNext = chain;
            desc.flags = call == PhysicalOnHost ? ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
                                                : ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
            desc.size = kSize;
            ze_physical_mem_handle_t object = nullptr;
            result = zePhysicalMemCreate(context_, device_, &desc, &object);
            if (result == ZE_RESULT_SUCCESS) {
                EXPECT_OK(zePhysicalMemDestroy(context_, object));
            }
            break;
        }
        default: {
            ze_ipc_mem_handle_t handle{};
            result = zeMemGetIpcHandleWithProperties(context_, reservation_->get(), chain, &handle);
            if (result == ZE_RESULT_SUCCESS) {
                EXPECT_OK(zeMemPutIpcHandle(context_, handle));
            }
            break;
        }
        }
        if (pointer) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        return result;
    }

    Mapping memory_;
    Buffer onDevice_, onHost_;
    std::unique_ptr<PhysicalMemory> object_;
    std::unique_ptr<Reservation> reservation_;
    int deviceFd_ = -1, hostFd_ = -1;
};

TEST_F(DescriptorTable, EachAloneAndTwice) {
    for (int call = 0; call < kCalls; call++) {
        for (const Row& row : kRows) {
            SCOPED_TRACE(std::string(kNames[call]) + ", type " + std::to_string(row.stype));
            Any one = make(row.stype, call);
            EXPECT_ZE(row.result[call], run(call, &one));
            Any first = make(row.stype, call, &one);
            EXPECT_ZE(kNot, run(call, &first)) << "twice";
        }
    }
}

/* With the same result in both orders: both apply, and an error of one is the error. */
TEST_F(DescriptorTable, EachBesideEachOther) {
    for (int call = 0; call < kCalls; call++) {
        for (const Row& row : kRows) {
            for (const Row& other : kRows) {
                if (row.stype == other.stype || row.result[call] != kOk)
                    continue;
                SCOPED_TRACE(std::string(kNames[call]) + ", types " + std::to_string(row.stype) +
                             ", " + std::to_string(other.stype));
                // Pages of the application can neither be exported nor come from two places.
                const auto excludes = [](uint32_t a, uint32_t b) {
                    return a == ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC &&
                           (b == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC ||
                            b == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
                };
                ze_result_t expected = other.result[call];
                if (excludes(row.stype, other.stype) || excludes(other.stype, row.stype))
                    expected = kNot;
                Any last = make(other.stype, call);
                Any first = make(row.stype, call, &last);
                EXPECT_ZE(expected, run(call, &first));
                first.head.pNext = nullptr;
                last.head.pNext = &first;
                EXPECT_ZE(expected, run(call, &last));
            }
        }
    }
    EXPECT_EQ(0u, pinnedBytes());
}

/* What the driver has never heard of is skipped at any place, in every call. */
TEST_F(DescriptorTable, EachBetweenUnknownOnes) {
    for (int call = 0; call < kCalls; call++) {
        for (const Row& row : kRows) {
            SCOPED_TRACE(std::string(kNames[call]) + ", type " + std::to_string(row.stype));
            Any last = make(0x7654321, call);
            Any middle = make(row.stype, call, &last);
            Any first = make(0x7654322, call, &middle);
            EXPECT_ZE(row.result[call], run(call, &first));
        }
        Any last = make(0x7654321, call);
        Any first = make(0x7654321, call, &last);
        EXPECT_ZE(kOk, run(call, &first)) << kNames[call] << ", unknown ones only, twice";
    }
}

/* A free has no descriptors but its own. */
TEST_F(DescriptorTable, ChainOfAFree) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.stype);
        Buffer buffer = Buffer::device(context_, device_, kPage);
        Any other = make(row.stype, Device);
        ze_memory_free_ext_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
        desc.pNext = &other;
        EXPECT_ZE(kNot, zeMemFreeExt(context_, &desc, buffer.get()));
        EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, buffer.get()).type);
    }
}

TEST_F(DescriptorTable, ChainOfAFreeWithAnUnknownOne) {
    Buffer buffer = Buffer::device(context_, device_, kPage);
    Any unknown = make(0x7654321, Device);
    ze_memory_free_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
    desc.pNext = &unknown;
    ASSERT_OK(zeMemFreeExt(context_, &desc, buffer.get()));
    buffer.release();
}

/* typeFlags of every call that takes them, for every kind of memory that can be exported. */
TEST_F(DescriptorTable, IpcHandleTypes) {
    constexpr uint32_t kDefault = ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT;
    constexpr uint32_t kFabric = ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE;
    const struct {
        uint32_t flags;
        ze_result_t result;
    } rows[] = {{0, kOk},
                {kDefault, kOk},
                {kFabric, kFeature},
                {kDefault | kFabric, kFeature},
                {4, ZE_RESULT_ERROR_INVALID_ENUMERATION},
                {0x80000000u, ZE_RESULT_ERROR_INVALID_ENUMERATION},
                {kFabric | 8, ZE_RESULT_ERROR_INVALID_ENUMERATION}};
    Buffer shared = Buffer::shared(context_, device_, kSize);
    const void* exportable[] = {onDevice_.get(), onHost_.get(), shared.get(), reservation_->get(),
                                object_->get()};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.flags);
        Any type = make(ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, Device);
        type.ipcType.typeFlags = row.flags;
        for (int call : {Device, Host, PhysicalOnDevice, PhysicalOnHost, Handle})
            EXPECT_ZE(row.result, run(call, &type)) << kNames[call];
        for (int call : {SharedOnDevice, SharedOnHost})
            EXPECT_ZE(kNot, run(call, &type)) << kNames[call];
        for (const void* pointer : exportable) {
            ze_ipc_mem_handle_t handle{};
            EXPECT_ZE(row.result,
                      zeMemGetIpcHandleWithProperties(context_, pointer, &type, &handle));
            if (row.result == kOk) {
                EXPECT_OK(zeMemPutIpcHandle(context_, handle));
            }
        }
    }
    Buffer import = Buffer::import(context_, memory_.get(), kSize);
    Any type = make(ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, Handle);
    ze_ipc_mem_handle_t handle{};
    EXPECT_ZE(kNot, zeMemGetIpcHandleWithProperties(context_, import.get(), &type, &handle));
}

/* maxMemAllocSize, with and without leave to exceed it, for every kind and either descriptor. */
TEST_F(DescriptorTable, RelaxedLimits) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ASSERT_OK(zeDeviceGetProperties(device_, &properties));
    const size_t limit = properties.maxMemAllocSize;
    // All the memory there is, and a little: less is free.
    const size_t tooMuchHost =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    ze_device_memory_properties_t memory{};
    memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    uint32_t count = 1;
    ASSERT_OK(zeDeviceGetMemoryProperties(device_, &count, &memory));
    // A limit that there is something to relax of.
    EXPECT_LE(2 * limit, memory.totalSize);
    EXPECT_LT(limit, tooMuchHost);

    for (int call : {Device, Host, SharedOnDevice, SharedOnHost}) {
        const ze_result_t full = call == Device ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                                                : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        const size_t tooMuch = call == Device ? memory.totalSize + 1 : tooMuchHost;
        auto allocate = [&](size_t size, void* chain) {
            auto device = deviceDesc(call == Device || call == SharedOnDevice ? chain : nullptr);
            auto host = hostDesc(call == Host || call == SharedOnHost ? chain : nullptr);
            void* pointer = nullptr;
            const ze_result_t result =
                call == Device ? zeMemAllocDevice(context_, &device, size, 0, device_, &pointer)
                : call == Host
                    ? zeMemAllocHost(context_, &host, size, 0, &pointer)
                    : zeMemAllocShared(context_, &device, &host, size, 0, device_, &pointer);
            if (result == ZE_RESULT_SUCCESS) {
                EXPECT_OK(zeMemFree(context_, pointer));
            }
            return result;
        };
        for (uint32_t stype : {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC,
                               ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC}) {
            for (bool behind : {false, true}) {
                SCOPED_TRACE(std::string(kNames[call]) + ", type " + std::to_string(stype) +
                             (behind ? ", second" : ", first"));
                Any relaxed = make(stype, call);
                Any before = make(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, call, &relaxed);
                void* chain = behind ? &before : &relaxed;
                EXPECT_ZE(kOk, allocate(limit, chain));
                EXPECT_ZE(kOk, allocate(limit + 1, chain));
                for (size_t size : {tooMuch, size_t{1} << 45, SIZE_MAX - kPage, SIZE_MAX})
                    EXPECT_ZE(full, allocate(size, chain)) << size;
                EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(0, chain));
                relaxed.relaxed.flags = 0; // as if absent
                EXPECT_ZE(kOk, allocate(limit, chain));
                for (size_t size : {limit + 1, tooMuch, SIZE_MAX, size_t{0}})
                    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(size, chain)) << size;
                for (uint32_t flags : {2u, 3u, 0x80000000u}) {
                    relaxed.relaxed.flags = flags;
                    for (size_t size : {size_t{kPage}, limit + 1})
                        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocate(size, chain))
                            << flags;
                }
            }
        }
        SCOPED_TRACE(kNames[call]);
        EXPECT_ZE(kOk, allocate(limit, nullptr));
        for (size_t size : {limit + 1, tooMuch, SIZE_MAX})
            EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(size, nullptr)) << size;
    }
}

/* An import of the application's own pages is no allocation of the device: it has no such limit. */
TEST_F(DescriptorTable, ImportsAreExemptFromTheLimit) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ASSERT_OK(zeDeviceGetProperties(device_, &properties));
    const size_t size = properties.maxMemAllocSize + kPage;
    Mapping large = Mapping::anonymous(size);
    ASSERT_TRUE(large);
    Buffer import = Buffer::import(context_, large.get(), size);
    ASSERT_TRUE(import);
    EXPECT_OK(list().fill(large.bytes() + size - kPage - 8, 0x5c, kPage + 8));
    EXPECT_EQ(-1, firstDifferent(large.bytes() + size - kPage - 8, kPage + 8, 0x5c));
    // More than one command can move.
    EXPECT_OK(list().fill(large.get(), 0x5d, size));
    EXPECT_EQ(-1, firstDifferent(large.get(), size, 0x5d));
}

} // namespace
