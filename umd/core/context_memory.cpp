// SPDX-License-Identifier: MIT
//
// Device, host and shared allocations.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargePage = 2ULL << 20;
constexpr uint64_t kAddressEnd = 1ULL << 47;

constexpr uint64_t pages(uint64_t size) noexcept {
    return (size + kPage - 1) & ~(kPage - 1);
}

// Large allocations start at a large page, so that the device can translate them by large leaves.
constexpr uint64_t addressAlignment(uint64_t size, uint64_t asked) noexcept {
    return std::max(asked, size >= kLargePage ? kLargePage : kPage);
}

unsigned long long asULL(uint64_t value) noexcept {
    return value;
}

// Whether the CPU may only read, too: memory of others that was given for reading. (A read-only
// host allocation of ours is read-only for the device alone.) Pages of such objects can only be put
// into a CPU mapping that cannot be written.
bool isReadOnlyForCpu(const Allocation& allocation) noexcept {
    return allocation.readOnly &&
           (allocation.type == AllocationType::IpcHost ||
            (allocation.type == AllocationType::Host && allocation.external));
}

} // namespace

uint64_t nextAllocationId() noexcept {
    static std::atomic<uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

// ---- addresses

VaArena& Context::arenaOf(AllocationType type) noexcept {
    return type == AllocationType::Device || type == AllocationType::IpcDevice ? m_deviceArena
                                                                               : m_hostArena;
}

int Context::takeAddresses(AllocationType type, uint64_t size, uint64_t alignment,
                           uint64_t& address) {
    std::lock_guard lock(m_mutex);
    // Each look costs a system call for each of them: so seldom that it does not add up.
    if (!m_deferred.empty() && ++m_sinceCollected >= m_deferred.size())
        collectDeferred();
    return arenaOf(type).allocate(size, alignment, address);
}

void Context::giveAddresses(AllocationType type, uint64_t address, uint64_t size) noexcept {
    std::lock_guard lock(m_mutex);
    arenaOf(type).release(address, size);
}

// The host arena shows the CPU what the first device's address space maps, for reading and writing.
// Memory that needs another view gets a mapping of its own over its range, and the arena its view
// back later. What a dma-buf is made of is for its exporter to show.
bool Context::hasOwnCpuView(const Allocation& allocation) const noexcept {
    if (allocation.type == AllocationType::IpcHost)
        return allocation.readOnly || allocation.device != m_devices.front();
    return allocation.type == AllocationType::Host && allocation.external;
}

int Context::makeCpuView(const Allocation& allocation) noexcept {
    Device& device =
        allocation.type == AllocationType::IpcHost ? *allocation.device : *m_devices.front();
    if (allocation.external && allocation.type == AllocationType::Host)
        return device.file().mmapGem(allocation.gem[positionOf(device)],
                                     reinterpret_cast<void*>(allocation.base), allocation.size,
                                     !isReadOnlyForCpu(allocation));
    return device.file().mmapVm(vmId(device), reinterpret_cast<void*>(allocation.base),
                                allocation.size, !isReadOnlyForCpu(allocation));
}

int Context::restoreCpuView(uint64_t base, uint64_t size) noexcept {
    Device& first = *m_devices.front();
    return first.file().mmapVm(vmId(first), reinterpret_cast<void*>(base), size);
}

// ---- publishing

ze_result_t Context::publish(std::unique_ptr<Allocation> allocation, void*& out) {
    Allocation& entry = *allocation;
    if (entry.userSize == 0) {
        entry.userBase = entry.base;
        entry.userSize = entry.size;
    }
    AllocationView view;
    view.base = entry.base;
    view.size = entry.size;
    view.id = nextAllocationId();
    view.type = entry.type;
    view.device = entry.device != nullptr ? entry.device->index() : AllocationView::kNoDevice;
    view.readOnly = entry.readOnly;
    view.allocation = &entry;
    try {
        std::lock_guard lock(m_mutex);
        auto inserted = m_allocations.emplace(&entry, std::move(allocation)).first;
        try {
            entry.record = m_map.insert(view);
        } catch (...) {
            allocation = std::move(inserted->second);
            m_allocations.erase(inserted);
            throw;
        }
    } catch (const std::bad_alloc&) {
        releaseMemory(entry);
        throw;
    }
    out = reinterpret_cast<void*>(entry.userBase);
    return ZE_RESULT_SUCCESS;
}

// Takes an allocation out of everyone's sight. Caller holds m_mutex.
std::unique_ptr<Allocation> Context::unpublish(Allocation& allocation) noexcept {
    m_map.erase(allocation.record);
    auto it = m_allocations.find(&allocation);
    std::unique_ptr<Allocation> owned = std::move(it->second);
    m_allocations.erase(it);
    return owned;
}

void Context::releaseMemory(Allocation& allocation) noexcept {
    int error = unbindObjects(allocation.gem, allocation.base, allocation.size);
    if (error == 0 && hasOwnCpuView(allocation))
        error = restoreCpuView(allocation.base, allocation.size);
    closeObjects(allocation.gem); // the kernel ends the shares with the handles
    ExportTable::instance().forget(allocation.exported);
    // An address that may still be mapped is not given to anyone else.
    if (allocation.type != AllocationType::HostImported &&
        (error == 0 || error == ENODEV || error == EIO))
        giveAddresses(allocation.type, allocation.base, allocation.size);
}

// ---- look-up

bool Context::addressRange(const void* ptr, uint64_t& base, uint64_t& size) const {
    AllocationView view;
    if (!lookup(ptr, view))
        return false;
    base = view.base;
    size = view.size;
    if (view.type != AllocationType::IpcDevice && view.type != AllocationType::IpcHost)
        return true;
    // What was opened may begin and end inside a page.
    std::lock_guard lock(m_mutex);
    if (!lookup(ptr, view) || view.allocation == nullptr)
        return false;
    base = view.allocation->userBase;
    size = view.allocation->userSize;
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    return address >= base && address - base < size;
}

// ---- allocation

ze_result_t Context::failMemory(int error, const Device* device, uint64_t size) const {
    if (error == ENOSPC)
        return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "device %u has no room for 0x%llx bytes",
                    device->index(), asULL(size));
    if (error == ENOMEM)
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for 0x%llx bytes", asULL(size));
    return failErrno(error, "allocation");
}

// Gives a freshly made or imported object its address and mappings and publishes it. On failure the
// objects are closed.
ze_result_t Context::place(std::unique_ptr<Allocation> allocation, uint64_t alignment, void*& out) {
    Allocation& entry = *allocation;
    int error = 0;
    try {
        error = takeAddresses(entry.type, entry.size, addressAlignment(entry.size, alignment),
                              entry.base);
    } catch (...) {
        closeObjects(entry.gem);
        throw;
    }
    if (error != 0) {
        closeObjects(entry.gem);
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                    "no addresses for 0x%llx bytes at alignment 0x%llx", asULL(entry.size),
                    asULL(alignment));
    }
    error = bindObjects(entry.gem, entry.base, entry.size, 0,
                        entry.readOnly ? DRM_VZE_BIND_READONLY : 0);
    if (error == 0 && hasOwnCpuView(entry)) {
        error = makeCpuView(entry);
        if (error != 0)
            unbindObjects(entry.gem, entry.base, entry.size);
    }
    if (error != 0) {
        giveAddresses(entry.type, entry.base, entry.size);
        closeObjects(entry.gem);
        return failMemory(error, entry.device, entry.size);
    }
    return publish(std::move(allocation), out);
}

// The object of a dma-buf descriptor, for one device or (null) for all. The descriptor stays the
// caller's.
ze_result_t Context::importDmaBuf(Device* device, size_t size, int fd, GemHandles& gem,
                                  bool& readOnly) {
    for (size_t i = 0; i < m_devices.size(); ++i) {
        if (device != nullptr && m_devices[i] != device)
            continue;
        kmd::DeviceFile& file = m_devices[i]->file();
        int error = file.importDmaBuf(fd, gem[i]);
        drm_vze_gem_info info{};
        if (error == 0)
            error = file.gemInfo(gem[i], info);
        if (error != 0) {
            closeObjects(gem);
            const ze_result_t result = error == EMFILE || error == ENOMEM
                                           ? resultFromErrno(error)
                                           : ZE_RESULT_ERROR_INVALID_ARGUMENT;
            return fail(result, "fd: descriptor %d cannot be imported: %s", fd, strerror(error));
        }
        if (size > info.size) {
            closeObjects(gem);
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                        "size: 0x%zx is more than the 0x%llx bytes of descriptor %d", size,
                        asULL(info.size), fd);
        }
        readOnly |= (info.flags & DRM_VZE_GEM_INFO_READONLY) != 0;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::allocDevice(Device& device, size_t size, size_t alignment,
                                 const AllocOptions& options, void*& out) {
    auto allocation = std::make_unique<Allocation>();
    allocation->type = AllocationType::Device;
    allocation->device = &device;
    allocation->gem = noHandles();
    if (options.importFd) {
        allocation->external = true;
        const ze_result_t result =
            importDmaBuf(&device, size, *options.importFd, allocation->gem, allocation->readOnly);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        allocation->size = pages(size);
        return place(std::move(allocation), alignment, out);
    }
    if (size > device.maxTransfer() && !options.relaxedSize)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "size: 0x%zx exceeds maxMemAllocSize 0x%llx",
                    size, asULL(device.maxTransfer()));
    if (size > device.info().vram_size)
        return failMemory(ENOSPC, &device, size);
    allocation->size = pages(size);
    const uint32_t flags = (options.compressible ? DRM_VZE_GEM_COMPRESSIBLE : 0) |
                           (options.exportable ? 0 : DRM_VZE_GEM_EXPLICIT);
    if (int error = device.file().createGem(allocation->size, DRM_VZE_PLACEMENT_VRAM, flags,
                                            allocation->gem[positionOf(device)]))
        return failMemory(error, &device, size);
    return place(std::move(allocation), alignment, out);
}

ze_result_t Context::allocHost(Device* device, size_t size, size_t alignment, AllocationType type,
                               const AllocOptions& options, void*& out) {
    auto allocation = std::make_unique<Allocation>();
    allocation->type = type;
    allocation->device = device;
    allocation->gem = noHandles();
    allocation->readOnly = options.readOnly;
    if (options.importFd) {
        allocation->external = true;
        const ze_result_t result =
            importDmaBuf(nullptr, size, *options.importFd, allocation->gem, allocation->readOnly);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        allocation->size = pages(size);
        return place(std::move(allocation), alignment, out);
    }
    uint64_t most = 0;
    for (const Device* each : m_devices)
        most = most == 0 ? each->maxTransfer() : std::min(most, each->maxTransfer());
    if (size > most && !options.relaxedSize)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "size: 0x%zx exceeds maxMemAllocSize 0x%llx",
                    size, asULL(most));
    // Decided here and not by the kernel's out-of-memory killer when the pages are touched.
    constexpr uint64_t kWorthAsking = 64ULL << 20;
    if (size >= kWorthAsking) {
        drm_vze_query_memory memory{};
        if (int error = m_devices.front()->file().queryMemory(memory))
            return failErrno(error, "memory query");
        if (size > memory.system_free)
            return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                        "size: 0x%zx exceeds the 0x%llx bytes of free system memory", size,
                        asULL(memory.system_free));
    }
    allocation->size = pages(size);
    if (int error = createSystemObjects(allocation->size, options.exportable, allocation->gem))
        return failMemory(error, device, size);
    return place(std::move(allocation), alignment, out);
}

} // namespace vze
