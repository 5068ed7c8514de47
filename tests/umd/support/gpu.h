// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "result.h"

namespace vze::test {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kMiB = size_t{1} << 20;
/** For waits that must end: long enough for a machine that stands still for a while. */
inline constexpr uint64_t kLongWait = 120'000'000'000ULL;

/** Loads the driver through the loader once per process; a failure is a test failure and false. */
bool initDriver();

/** The vze driver, or null before initDriver(). */
ze_driver_handle_t driver();

/** All devices of the driver, in its order. */
const std::vector<ze_device_handle_t>& devices();

/** Does the driver list this extension? */
bool hasExtension(const std::string& name);

/** True in the runs where the loader looks into each handle: there a null handle never reaches the
 * driver. */
bool loaderInterceptsHandles();
/** True when the validation layer answers bad arguments, and structures without a type, before the
 * driver. */
bool parameterValidationActive();

/** The device for a physical object in host memory: none, except where the validation layer insists
 * on one. */
ze_device_handle_t deviceOfHostObjects();

/** A context for all devices, as a child process needs one; null when it cannot be made. */
ze_context_handle_t newContext();

/** What the device says can be allocated now, in bytes. */
uint64_t usableMemory(ze_device_handle_t device);

/** Empty, read-write descriptors with their stype set. */
ze_device_mem_alloc_desc_t deviceDesc(const void* next = nullptr, uint32_t flags = 0);
ze_host_mem_alloc_desc_t hostDesc(const void* next = nullptr, uint32_t flags = 0);
ze_external_memmap_sysmem_ext_desc_t importDesc(void* memory, size_t size,
                                                const void* next = nullptr);

/** Imports [memory, memory + size) in place; flags are ze_host_mem_alloc_flags_t. */
ze_result_t importMemory(ze_context_handle_t context, void* memory, size_t size, void** out,
                         uint32_t flags = 0);

struct AllocInfo {
    ze_memory_type_t type;
    uint64_t id;
    uint64_t pageSize;
    ze_device_handle_t device;
};
/** zeMemGetAllocProperties that must succeed. */
AllocInfo allocInfo(ze_context_handle_t context, const void* pointer);

/** Asks for the dma-buf of an allocation; fd is what the driver makes of it, also when it fails. */
ze_result_t exportDescriptor(ze_context_handle_t context, const void* pointer, int& fd);

/** An immediate command list; destroyed with the object. */
class ImmediateList {
public:
    ImmediateList(ze_context_handle_t context, ze_device_handle_t device,
                  ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
                  ze_command_queue_flags_t flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ~ImmediateList();
    ImmediateList(const ImmediateList&) = delete;
    ImmediateList& operator=(const ImmediateList&) = delete;

    ze_command_list_handle_t get() const { return list_; }
    ze_result_t copyAsync(void* dst, const void* src, size_t size);
    ze_result_t fillAsync(void* dst, uint8_t value, size_t size);
    ze_result_t wait(uint64_t timeout = kLongWait);
    /** The first failure of append and wait. */
    ze_result_t copy(void* dst, const void* src, size_t size);
    ze_result_t fill(void* dst, uint8_t value, size_t size);

private:
    ze_command_list_handle_t list_ = nullptr;
};

/** A pool with events of the wanted number, all host visible; destroyed with the object. */
class Events {
public:
    Events(ze_context_handle_t context, uint32_t count, ze_event_pool_flags_t extraFlags = 0);
    ~Events();
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    ze_event_pool_handle_t pool() const { return pool_; }
    ze_event_handle_t operator[](size_t index) const { return events_.at(index); }

private:
    ze_event_pool_handle_t pool_ = nullptr;
    std::vector<ze_event_handle_t> events_;
};

/** Memory from the allocator that ~Buffer gives back: freed exactly once, and freeing must succeed.
 */
class Buffer {
public:
    Buffer() = default;
    Buffer(ze_context_handle_t context, void* pointer) : context_(context), pointer_(pointer) {}
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer() { reset(); }

    static Buffer device(ze_context_handle_t context, ze_device_handle_t device, size_t size,
                         size_t alignment = 0);
    static Buffer host(ze_context_handle_t context, size_t size, size_t alignment = 0);
    static Buffer shared(ze_context_handle_t context, ze_device_handle_t device, size_t size,
                         size_t alignment = 0);
    static Buffer import(ze_context_handle_t context, void* memory, size_t size,
                         uint32_t flags = 0);

    void* get() const { return pointer_; }
    uint8_t* bytes() const { return static_cast<uint8_t*>(pointer_); }
    explicit operator bool() const { return pointer_ != nullptr; }
    /** Gives up ownership. */
    void* release();
    void reset();

private:
    ze_context_handle_t context_ = nullptr;
    void* pointer_ = nullptr;
};

/** Anonymous or file memory of mmap; unmapped with the object. */
class Mapping {
public:
    Mapping() = default;
    Mapping(void* address, size_t size) : address_(address), size_(size) {}
    Mapping(Mapping&& other) noexcept { *this = std::move(other); }
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping() { reset(); }

    /** Private anonymous memory, 2 MiB aligned when it is at least that large. */
    static Mapping anonymous(size_t size);
    static Mapping ofFile(int fd, size_t size, int protection, int flags, off_t offset = 0);

    void* get() const { return address_; }
    uint8_t* bytes() const { return static_cast<uint8_t*>(address_); }
    size_t size() const { return size_; }
    explicit operator bool() const { return address_ != nullptr; }
    void reset();
    void* release();

private:
    void* address_ = nullptr;
    size_t size_ = 0;
};

/** A file descriptor; closed with the object. */
class Fd {
public:
    explicit Fd(int fd = -1) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Fd& operator=(Fd&& other) noexcept;
    ~Fd() { reset(); }
    int get() const { return fd_; }
    void reset();

private:
    int fd_ = -1;
};

/** Bytes that name their place: value at offset i of a stream with this seed. */
inline uint8_t patternByte(size_t i, uint32_t seed) {
    uint64_t x =
        (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 29;
    return static_cast<uint8_t>(x >> 8);
}
void writePattern(void* to, size_t size, uint32_t seed, size_t from = 0);
/** -1 when all bytes are right, else the offset of the first wrong one. */
int64_t firstMismatch(const void* bytes, size_t size, uint32_t seed, size_t from = 0);
int64_t firstDifferent(const void* bytes, size_t size, uint8_t value);

} // namespace vze::test
