// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu.h"

namespace vze::demo {

/** Bytes pinned for this process (VmPin). */
size_t pinnedBytes();

/** Memory of aligned_alloc or malloc, page aligned inside, a whole number of pages. */
class HeapMemory {
public:
    enum class From { AlignedAlloc, Malloc };
    HeapMemory(From from, size_t size);
    ~HeapMemory();
    HeapMemory(const HeapMemory&) = delete;
    HeapMemory& operator=(const HeapMemory&) = delete;
    uint8_t* get() const { return start_; }
    size_t size() const { return size_; }

private:
    void* block_ = nullptr;
    uint8_t* start_ = nullptr;
    size_t size_ = 0;
};

/** A read-only shared mapping of a whole file. */
class FileMapping {
public:
    explicit FileMapping(const std::string& path);
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    void* get() const { return start_; }
    /** Bytes of the file, and of its pages. */
    size_t fileSize() const { return fileSize_; }
    size_t mappedSize() const { return mappedSize_; }

private:
    void* start_ = nullptr;
    size_t fileSize_ = 0;
    size_t mappedSize_ = 0;
};

/** Memory of the driver that zeMemFree gives back. */
class Allocation {
public:
    /** Device memory. */
    static Allocation device(const Gpu& gpu, size_t size);
    /** Host memory of the driver. */
    static Allocation host(const Gpu& gpu, size_t size);
    /** The application's own memory at its own address. */
    static Allocation import(const Gpu& gpu, void* memory, size_t size, bool readOnly = false);

    Allocation(Allocation&& other) noexcept;
    ~Allocation();
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    uint8_t* get() const { return static_cast<uint8_t*>(pointer_); }
    /** Gives it back and throws Failure when the driver refuses. */
    void free();

private:
    Allocation(const Gpu& gpu, void* pointer) : gpu_(gpu), pointer_(pointer) {}
    const Gpu& gpu_;
    void* pointer_;
};

/** Tries to import; what the driver answered. A success is given back at once. */
ze_result_t tryImport(const Gpu& gpu, void* memory, size_t size, bool readOnly);

/** One contiguous range of addresses put together from several physical objects. */
class StitchedBuffer {
public:
    /** At least size bytes, in pieces of different objects, the objects mapped in shuffled order.
     */
    StitchedBuffer(const Gpu& gpu, size_t size, size_t pieces);
    ~StitchedBuffer();
    StitchedBuffer(const StitchedBuffer&) = delete;
    StitchedBuffer& operator=(const StitchedBuffer&) = delete;
    uint8_t* get() const { return static_cast<uint8_t*>(base_); }
    size_t objects() const { return objects_.size(); }
    void free();

private:
    void unwind() noexcept;
    const Gpu& gpu_;
    void* base_ = nullptr;
    size_t size_ = 0;
    std::vector<ze_physical_mem_handle_t> objects_;
};

} // namespace vze::demo
