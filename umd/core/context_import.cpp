// SPDX-License-Identifier: MIT
//
// The application's own memory: imports that it asks for, and temporary ones for a command.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/resource.h>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargePage = 2ULL << 20;
constexpr uint64_t kAddressEnd = 1ULL << 47;

unsigned long long asULL(uint64_t value) noexcept {
    return value;
}

} // namespace

// Turns the kernel's answer to a pin request into the result that the caller has to hear.
ze_result_t Context::failPinning(int error, const void* memory, uint64_t size,
                                 bool readOnly) const {
    switch (error) {
    case EDQUOT: {
        rlimit limit{};
        getrlimit(RLIMIT_MEMLOCK, &limit);
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                    "pinning 0x%llx bytes at %p would exceed the locked-memory limit "
                    "(RLIMIT_MEMLOCK) of %llu bytes",
                    asULL(size), memory, asULL(limit.rlim_cur));
    }
    case E2BIG:
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                    "pinning 0x%llx bytes at %p would take more kernel memory than is allowed",
                    asULL(size), memory);
    case ENOMEM:
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                    "the kernel has no memory to pin 0x%llx bytes at %p", asULL(size), memory);
    case EFAULT:
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%llx) has a page that is not mapped, not %s, or cannot be pinned",
                    memory, asULL(size), readOnly ? "readable" : "writable");
    case EINVAL:
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "[%p, +0x%llx) is not user memory", memory,
                    asULL(size));
    default:
        return failErrno(error, "pinning memory");
    }
}

// Announces an import, so that no free of the same pages can come after it and take its mapping.
ze_result_t Context::beginImport(uint64_t base, uint64_t size) {
    waitDeferred(base, size);
    std::unique_lock lock(m_mutex);
    auto meets = [&](const Transit& transit) {
        return transit.base < base + size && base < transit.base + transit.size;
    };
    m_transitEnded.wait(lock,
                        [&] { return std::none_of(m_transit.begin(), m_transit.end(), meets); });
    AllocationView other;
    if (m_driver.strictOverlap() && m_map.overlaps(base, size, &other))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[0x%llx, +0x%llx) overlaps the live import at 0x%llx + 0x%llx "
                    "(VZE_STRICT_OVERLAP is on)",
                    asULL(base), asULL(size), asULL(other.base), asULL(other.size));
    m_transit.push_back({base, size});
    return ZE_RESULT_SUCCESS;
}

void Context::endTransit(uint64_t base, uint64_t size) noexcept {
    {
        std::lock_guard lock(m_mutex);
        auto it = std::find_if(m_transit.begin(), m_transit.end(), [&](const Transit& transit) {
            return transit.base == base && transit.size == size;
        });
        if (it != m_transit.end())
            m_transit.erase(it);
    }
    m_transitEnded.notify_all();
}

ze_result_t Context::importHost(void* memory, size_t size, bool readOnly, void*& out) {
    const auto base = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(memory));
    if (base >= kAddressEnd || size > kAddressEnd - base)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "[%p, +0x%zx) wraps or is beyond user memory",
                    memory, size);
    auto allocation = std::make_unique<Allocation>();
    allocation->imported = ImportedRange(base, size);
    if (isDriverAddress(base, size))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) has memory that was allocated or reserved by this driver", memory,
                    size);
    allocation->type = AllocationType::HostImported;
    allocation->base = base;
    allocation->size = size;
    allocation->readOnly = readOnly;
    allocation->gem = noHandles();

    ze_result_t result = beginImport(base, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    int error = 0;
    // The first device pins, the others take its pages: pinned and charged once.
    for (size_t i = 0; i < m_devices.size() && error == 0; ++i)
        error = m_devices[i]->file().createUserptr(memory, size, readOnly, allocation->gem[i],
                                                   i == 0 ? nullptr : &m_devices[0]->file(),
                                                   allocation->gem[0]);
    if (error != 0) {
        closeObjects(allocation->gem);
        endTransit(base, size);
        return failPinning(error, memory, size, readOnly);
    }
    error = bindObjects(allocation->gem, base, size, 0, readOnly ? DRM_VZE_BIND_READONLY : 0);
    if (error != 0) {
        closeObjects(allocation->gem);
        result = failMemory(error, nullptr, size);
    } else {
        try {
            result = publish(std::move(allocation), out);
        } catch (...) {
            endTransit(base, size);
            throw;
        }
    }
    endTransit(base, size);
    return result;
}

// ---- for a command

TransientImport& TransientImport::operator=(TransientImport&& other) noexcept {
    if (this != &other) {
        reset();
        m_context = std::exchange(other.m_context, nullptr);
        m_device = other.m_device;
        m_gem = other.m_gem;
        m_address = other.m_address;
        m_size = other.m_size;
        m_hostBase = other.m_hostBase;
    }
    return *this;
}

void TransientImport::reset() noexcept {
    if (m_context != nullptr)
        std::exchange(m_context, nullptr)->release(*this);
}

void Context::release(TransientImport& import) noexcept {
    if (import.m_gem == 0) {
        std::lock_guard lock(m_borrowedMutex);
        m_borrowed.erase(import.m_address);
    }
    drm_vze_bind_op op{};
    op.op = DRM_VZE_BIND_UNMAP;
    op.range = import.m_size;
    op.addr = import.m_address;
    kmd::DeviceFile& file = import.m_device->file();
    const int error = file.bind(vmId(*import.m_device), {&op, 1});
    file.closeGem(import.m_gem);
    if (error == 0 || error == ENODEV || error == EIO)
        giveAddresses(AllocationType::Device, import.m_address, import.m_size);
}

// Binds [offset, offset + size) of an object at an address of the driver's own. The caller keeps
// the object's handle when this fails.
ze_result_t Context::bindTransient(Device& device, uint32_t gem, uint64_t offset, uint64_t size,
                                   uintptr_t hostBase, bool readOnly, TransientImport& out) {
    uint64_t address = 0;
    const uint64_t alignment = size >= kLargePage ? kLargePage : kPage;
    if (takeAddresses(AllocationType::Device, size, alignment, address) != 0)
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no addresses for 0x%llx bytes",
                    asULL(size));
    drm_vze_bind_op op{};
    op.op = DRM_VZE_BIND_MAP;
    op.flags = readOnly ? DRM_VZE_BIND_READONLY : 0;
    op.handle = gem;
    op.offset = offset;
    op.range = size;
    op.addr = address;
    if (int error = device.file().bind(vmId(device), {&op, 1})) {
        giveAddresses(AllocationType::Device, address, size);
        return failMemory(error, &device, size);
    }
    out.reset();
    out.m_context = this;
    out.m_device = &device;
    out.m_gem = 0;
    out.m_address = address;
    out.m_size = size;
    out.m_hostBase = hostBase;
    return ZE_RESULT_SUCCESS;
}

bool Context::meetsReadOnlyImport(const void* ptr, size_t size) const {
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    const uint64_t base = start & ~(kPage - 1);
    const uint64_t end = start + size;
    std::lock_guard lock(m_mutex);
    return hasReadOnlyPage(base, (end - base + kPage - 1) / kPage);
}

// Halves what something is imported in, down to single pages, because imports may hide parts of
// each other. What has none is passed over as a whole: the range may be as large as the address
// space.
bool Context::hasReadOnlyPage(uint64_t base, uint64_t count) const {
    AllocationView view;
    if (!m_map.overlaps(base, count * kPage))
        return false;
    if (count == 1)
        return m_map.find(base, view) && view.readOnly;
    const uint64_t half = count / 2;
    return hasReadOnlyPage(base, half) || hasReadOnlyPage(base + half * kPage, count - half);
}

ze_result_t Context::importTransient(Device& device, const void* ptr, size_t size,
                                     bool deviceWrites, TransientImport& out) {
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    if (start >= kAddressEnd || size == 0 || size > kAddressEnd - start)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "[%p, +0x%zx) wraps or is beyond user memory",
                    ptr, size);
    const uint64_t base = start & ~(kPage - 1);
    const uint64_t length = ((start + size + kPage - 1) & ~(kPage - 1)) - base;
    if (isDriverAddress(base, length))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) has memory of this driver that is not part of the context", ptr,
                    size);
    if (deviceWrites && meetsReadOnlyImport(ptr, size))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) has a page of an import that the device may only read", ptr,
                    size);
    uint32_t gem = 0;
    const auto* memory = reinterpret_cast<const void*>(base);
    if (int error = device.file().createUserptr(memory, length, !deviceWrites, gem))
        return failPinning(error, memory, length, !deviceWrites);
    ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
    try {
        result = bindTransient(device, gem, 0, length, base, !deviceWrites, out);
    } catch (...) {
        device.file().closeGem(gem);
        throw;
    }
    if (result == ZE_RESULT_SUCCESS)
        out.m_gem = gem;
    else
        device.file().closeGem(gem);
    return result;
}

ze_result_t Context::resolve(Device& device, const void* ptr, size_t size, bool deviceWrites,
                             ResolvedRange& out) {
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    out.address = start;
    if (size == 0)
        return ZE_RESULT_SUCCESS;
    AllocationView view;
    if (lookup(ptr, view)) {
        const bool vram = view.type == AllocationType::Device ||
                          view.type == AllocationType::IpcDevice ||
                          view.type == AllocationType::IpcHost;
        if (vram && view.device != device.index())
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "%p is memory of device %u, which device %u cannot access", ptr,
                        view.device, device.index());
        // An import is used where it is if it has the whole range; heap memory around it is not
        // its.
        if (view.type != AllocationType::HostImported || view.contains(start, size))
            return ZE_RESULT_SUCCESS;
    } else if (ownsAddress(start)) {
        // A hole of a reservation, or what is not allocated any more: the device will say.
        return ZE_RESULT_SUCCESS;
    }
    const ze_result_t result = importTransient(device, ptr, size, deviceWrites, out.import);
    if (result == ZE_RESULT_SUCCESS)
        out.address = out.import.deviceAddress(ptr);
    return result;
}

// Whether an address belongs to this context, allocated or not.
bool Context::ownsAddress(uint64_t address) const {
    if (!isDriverAddress(address, 1))
        return false;
    {
        std::lock_guard lock(m_mutex);
        if (m_deviceArena.meets(address, 1) || m_hostArena.meets(address, 1))
            return true;
    }
    std::lock_guard lock(m_virtualMutex);
    return m_reservations.meets(address, 1);
}

ze_result_t Context::resolveFrom(Context& source, Device& device, const void* ptr, size_t size,
                                 bool deviceWrites, ResolvedRange& out) {
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    AllocationView view;
    if (&source == this || size == 0 || !source.lookup(ptr, view) ||
        view.type == AllocationType::HostImported)
        return resolve(device, ptr, size, deviceWrites, out);
    if (!source.contains(device))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p is of a context without device %u", ptr,
                    device.index());
    if (!view.contains(start, size))
        return fail(ZE_RESULT_ERROR_INVALID_SIZE,
                    "[%p, +0x%zx) is not inside the allocation at 0x%llx + 0x%llx", ptr, size,
                    asULL(view.base), asULL(view.size));
    if (deviceWrites && view.readOnly)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p is memory for reading", ptr);
    const uint64_t base = start & ~(kPage - 1);
    const uint64_t length = ((start + size + kPage - 1) & ~(kPage - 1)) - base;
    uint32_t gem = 0;
    {
        // Only to find the object and hold it: never with this context's lock, for another thread
        // may copy the other way.
        std::lock_guard lock(source.m_mutex);
        if (!source.lookup(ptr, view) || !view.contains(start, size) || view.allocation == nullptr)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "%p is not an allocation of the source context", ptr);
        gem = view.allocation->gem[source.positionOf(device)];
        if (gem != 0)
            device.file().holdGem(gem);
    }
    if (gem == 0)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p is memory that device %u cannot access",
                    ptr, device.index());
    ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
    try {
        result =
            bindTransient(device, gem, base - view.base, length, base, view.readOnly, out.import);
        if (result == ZE_RESULT_SUCCESS) {
            std::lock_guard lock(m_borrowedMutex);
            m_borrowed.insert_or_assign(out.import.m_address, Borrowed{base, length, &device});
        }
    } catch (...) {
        device.file().closeGem(gem);
        throw;
    }
    device.file().closeGem(gem);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    // A free that began before it was noted above has not seen it.
    AllocationView after;
    if (!source.lookup(ptr, after) || after.id != view.id) {
        out.import.reset();
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p was freed meanwhile", ptr);
    }
    out.address = out.import.deviceAddress(ptr);
    return ZE_RESULT_SUCCESS;
}

void Context::returnBorrowed(uint64_t base, uint64_t size, bool whenDone) noexcept {
    bool again = true;
    while (again) {
        again = false;
        std::vector<WorkTracker::Job> jobs;
        std::vector<drm_vze_sync> waits;
        try {
            if (whenDone)
                m_work.jobsTouching(base, size, jobs);
            waits.reserve(jobs.size());
        } catch (const std::bad_alloc&) {
            log(LogLevel::Error,
                "%s: no memory to let go of 0x%llx in another context: it keeps it",
                ApiCall::current(), asULL(base));
            return; // until its own command list or queue lets go
        }
        std::lock_guard lock(m_borrowedMutex);
        for (auto& [address, borrowed] : m_borrowed) {
            if (borrowed.returned || borrowed.base >= base + size ||
                base >= borrowed.base + borrowed.size)
                continue;
            waits.clear();
            for (const WorkTracker::Job& job : jobs)
                if (job.device == borrowed.device)
                    waits.push_back({DRM_VZE_SYNC_QUEUE, job.queue, job.seqno});
            drm_vze_bind_op op{};
            op.op = DRM_VZE_BIND_UNMAP;
            op.range = borrowed.size;
            op.addr = address;
            const int error = borrowed.device->file().bind(
                vmId(*borrowed.device), {&op, 1}, waits, waits.empty() ? 0 : DRM_VZE_VM_BIND_DEFER);
            borrowed.returned = error == 0;
            if (error == ENOENT && !waits.empty())
                again = true; // a queue was destroyed in between
            else if (error != 0)
                log(LogLevel::Info, "%s: unbinding 0x%llx in another context: %s",
                    ApiCall::current(), asULL(base), strerror(error));
        }
    }
}

} // namespace vze
