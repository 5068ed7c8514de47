// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstring>

#include <sys/mman.h>

#include "gpu.h"

namespace vze::test {

/** A physical memory object; destroyed with the C++ object. */
class PhysicalMemory {
public:
    PhysicalMemory(ze_context_handle_t context, ze_device_handle_t device, size_t size,
                   uint32_t flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE)
        : context_(context) {
        ze_physical_mem_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
        desc.flags = flags;
        desc.size = size;
        EXPECT_OK(zePhysicalMemCreate(context, device, &desc, &handle_));
    }
    ~PhysicalMemory() {
        if (handle_) {
            EXPECT_OK(zePhysicalMemDestroy(context_, handle_));
        }
    }
    PhysicalMemory(const PhysicalMemory&) = delete;
    PhysicalMemory& operator=(const PhysicalMemory&) = delete;
    ze_physical_mem_handle_t get() const { return handle_; }

private:
    ze_context_handle_t context_;
    ze_physical_mem_handle_t handle_ = nullptr;
};

/** A reserved range of addresses; freed with the object, with whatever is still mapped there. */
class Reservation {
public:
    Reservation(ze_context_handle_t context, size_t size) : context_(context), size_(size) {
        EXPECT_OK(zeVirtualMemReserve(context, nullptr, size, &pointer_));
    }
    ~Reservation() {
        if (pointer_) {
            EXPECT_OK(zeVirtualMemFree(context_, pointer_, size_));
        }
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    void* get() const { return pointer_; }
    uint8_t* bytes() const { return static_cast<uint8_t*>(pointer_); }
    size_t size() const { return size_; }

private:
    ze_context_handle_t context_;
    size_t size_;
    void* pointer_ = nullptr;
};

/** Memory of each kind; the object is mapped at the start of the reservation, which is twice as
 * large.
 */
struct OneOfEach {
    OneOfEach(ze_context_handle_t context, ze_device_handle_t onDevice, size_t size)
        : memory(Mapping::anonymous(size)), device(Buffer::device(context, onDevice, size)),
          host(Buffer::host(context, size)), shared(Buffer::shared(context, onDevice, size)),
          object(context, onDevice, size), reservation(context, 2 * size) {
        std::memset(memory.get(), 1, size);
        import = Buffer::import(context, memory.get(), size);
        EXPECT_OK(zeVirtualMemMap(context, reservation.get(), size, object.get(), 0,
                                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    }
    std::array<Buffer*, 4> buffers() { return {&device, &host, &shared, &import}; }

    Mapping memory;
    Buffer device, host, shared, import;
    PhysicalMemory object;
    Reservation reservation;
};

} // namespace vze::test
