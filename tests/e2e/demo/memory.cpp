// SPDX-License-Identifier: MIT
#include "memory.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"

namespace vze::demo {

namespace {

size_t hostPage() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t roundUp(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

ze_result_t callImport(const Gpu& gpu, void* memory, size_t size, bool readOnly, void** out) {
    ze_external_memmap_sysmem_ext_desc_t external{};
    external.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC;
    external.pSystemMemory = memory;
    external.size = size;
    ze_host_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    desc.pNext = &external;
    desc.flags = readOnly ? ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY : 0;
    return zeMemAllocHost(gpu.context(), &desc, size, 0, out);
}

} // namespace

size_t pinnedBytes() {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (!status)
        throw Failure("cannot read /proc/self/status");
    char line[256];
    unsigned long kilobytes = 0;
    while (std::fgets(line, sizeof line, status)) {
        if (std::sscanf(line, "VmPin: %lu", &kilobytes) == 1)
            break;
    }
    std::fclose(status);
    return kilobytes * 1024;
}

HeapMemory::HeapMemory(From from, size_t size) : size_(roundUp(size, hostPage())) {
    if (from == From::AlignedAlloc) {
        block_ = std::aligned_alloc(hostPage(), size_);
        start_ = static_cast<uint8_t*>(block_);
    } else {
        block_ = std::malloc(size_ + hostPage());
        start_ =
            reinterpret_cast<uint8_t*>(roundUp(reinterpret_cast<uintptr_t>(block_), hostPage()));
    }
    if (!block_)
        throw Failure(textOf("no memory for a buffer of %zu bytes", size_));
    std::memset(start_, 0, size_);
}

HeapMemory::~HeapMemory() {
    std::free(block_);
}

FileMapping::FileMapping(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd < 0 || fstat(fd, &info)) {
        const std::string reason = std::strerror(errno);
        if (fd >= 0)
            close(fd);
        throw Failure(path + ": " + reason);
    }
    fileSize_ = static_cast<size_t>(info.st_size);
    mappedSize_ = roundUp(fileSize_, hostPage());
    start_ = mmap(nullptr, mappedSize_, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (start_ == MAP_FAILED) {
        start_ = nullptr;
        throw Failure(path + ": cannot be mapped: " + std::strerror(errno));
    }
}

FileMapping::~FileMapping() {
    if (start_)
        munmap(start_, mappedSize_);
}

Allocation Allocation::device(const Gpu& gpu, size_t size) {
    ze_device_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* pointer = nullptr;
    gpu.check(zeMemAllocDevice(gpu.context(), &desc, size, 0, gpu.device(), &pointer),
              "zeMemAllocDevice");
    return {gpu, pointer};
}

Allocation Allocation::host(const Gpu& gpu, size_t size) {
    ze_host_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    void* pointer = nullptr;
    gpu.check(zeMemAllocHost(gpu.context(), &desc, size, 0, &pointer), "zeMemAllocHost");
    return {gpu, pointer};
}

Allocation Allocation::import(const Gpu& gpu, void* memory, size_t size, bool readOnly) {
    void* pointer = nullptr;
    gpu.check(callImport(gpu, memory, size, readOnly, &pointer),
              "zeMemAllocHost with ze_external_memmap_sysmem_ext_desc_t");
    Allocation allocation(gpu, pointer);
    if (pointer != memory)
        throw Failure("the import has another address than the memory: this would be a copy");
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    gpu.check(zeMemGetAllocProperties(gpu.context(), pointer, &properties, nullptr),
              "zeMemGetAllocProperties");
    if (properties.type != ZE_MEMORY_TYPE_HOST_IMPORTED)
        throw Failure(textOf("the import's type is %d, not HOST_IMPORTED", properties.type));
    return allocation;
}

Allocation::Allocation(Allocation&& other) noexcept : gpu_(other.gpu_), pointer_(other.pointer_) {
    other.pointer_ = nullptr;
}

Allocation::~Allocation() {
    if (pointer_)
        zeMemFree(gpu_.context(), pointer_);
}

void Allocation::free() {
    void* pointer = pointer_;
    pointer_ = nullptr;
    gpu_.check(zeMemFree(gpu_.context(), pointer), "zeMemFree");
}

ze_result_t tryImport(const Gpu& gpu, void* memory, size_t size, bool readOnly) {
    void* pointer = nullptr;
    ze_result_t result = callImport(gpu, memory, size, readOnly, &pointer);
    if (result == ZE_RESULT_SUCCESS)
        zeMemFree(gpu.context(), pointer);
    return result;
}

StitchedBuffer::StitchedBuffer(const Gpu& gpu, size_t size, size_t pieces) : gpu_(gpu) {
    size_t page = 0;
    gpu.check(zeVirtualMemQueryPageSize(gpu.context(), gpu.device(), size, &page),
              "zeVirtualMemQueryPageSize");
    const size_t piece = roundUp((size + pieces - 1) / pieces, page);
    size_ = piece * pieces;
    gpu.check(zeVirtualMemReserve(gpu.context(), nullptr, size_, &base_), "zeVirtualMemReserve");
    try {
        // Every object is larger than its piece, and each piece begins at another place in its
        // object.
        for (size_t i = 0; i < pieces; i++) {
            ze_physical_mem_desc_t desc{};
            desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
            desc.flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE;
            desc.size = piece + (i % 3) * page;
            ze_physical_mem_handle_t object = nullptr;
            gpu.check(zePhysicalMemCreate(gpu.context(), gpu.device(), &desc, &object),
                      "zePhysicalMemCreate");
            objects_.push_back(object);
        }
        for (size_t i = 0; i < pieces; i++) {
            const size_t object = (i * 3 + 1) % pieces;
            gpu.check(zeVirtualMemMap(gpu.context(), get() + i * piece, piece, objects_[object],
                                      (object % 3) * page, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
                      "zeVirtualMemMap");
        }
    } catch (...) {
        unwind();
        throw;
    }
}

StitchedBuffer::~StitchedBuffer() {
    unwind();
}

void StitchedBuffer::unwind() noexcept {
    if (base_) {
        zeVirtualMemUnmap(gpu_.context(), base_, size_);
        zeVirtualMemFree(gpu_.context(), base_, size_);
        base_ = nullptr;
    }
    for (ze_physical_mem_handle_t object : objects_)
        zePhysicalMemDestroy(gpu_.context(), object);
    objects_.clear();
}

void StitchedBuffer::free() {
    void* base = base_;
    gpu_.check(zeVirtualMemUnmap(gpu_.context(), base, size_), "zeVirtualMemUnmap");
    base_ = nullptr;
    gpu_.check(zeVirtualMemFree(gpu_.context(), base, size_), "zeVirtualMemFree");
    while (!objects_.empty()) {
        ze_physical_mem_handle_t object = objects_.back();
        objects_.pop_back();
        gpu_.check(zePhysicalMemDestroy(gpu_.context(), object), "zePhysicalMemDestroy");
    }
}

} // namespace vze::demo
