// SPDX-License-Identifier: MIT
//
// Memory of several processes: dma-buf descriptors and IPC handles.
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

#include "core/context.h"
#include "core/export_table.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"
#include "kmd/fork.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAddressEnd = 1ULL << 47;

constexpr uint64_t pages(uint64_t size) noexcept {
    return (size + kPage - 1) & ~(kPage - 1);
}

bool isIpc(AllocationType type) noexcept {
    return type == AllocationType::IpcDevice || type == AllocationType::IpcHost;
}

// A context's object, as seen from the first device that has it.
template <typename Devices>
void fillObject(ExportedObject& out, const Devices& devices, const GemHandles& gem) {
    for (size_t i = 0; i < gem.size(); ++i) {
        if (gem[i] != 0) {
            out.device = devices[i];
            out.gem = gem[i];
            return;
        }
    }
}

} // namespace

// The object that ptr names: an allocation, a physical object's handle, or the object mapped at an
// address. Caller holds both mutexes and keeps them while it uses the answer.
ze_result_t Context::findExported(const void* ptr, ExportedObject& out) {
    if (auto it = m_physical.find(ptr); it != m_physical.end()) {
        PhysicalMemory& memory = *it->second;
        fillObject(out, m_devices, memory.gem());
        out.size = memory.size();
        out.cpuAccess = memory.device() == nullptr;
        out.ids = &memory.exported();
        return ZE_RESULT_SUCCESS;
    }
    AllocationView view;
    if (!lookup(ptr, view))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not memory of this context", ptr);
    if (Allocation* allocation = view.allocation) {
        if (allocation->type == AllocationType::HostImported)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "ptr: %p is imported system memory, which cannot be exported", ptr);
        if (allocation->freeing)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is being freed", ptr);
        fillObject(out, m_devices, allocation->gem);
        out.size = allocation->size;
        out.cpuAccess = allocation->type != AllocationType::Device &&
                        allocation->type != AllocationType::IpcDevice;
        out.readOnly = allocation->readOnly;
        out.ids = &allocation->exported;
        return ZE_RESULT_SUCCESS;
    }
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    auto reservation = m_reservations.containing(address, 1);
    if (reservation == m_reservations.map().end())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not memory of this context", ptr);
    auto piece = std::prev(reservation->second.pieces.upper_bound(address));
    PhysicalMemory& memory = *piece->second.memory;
    fillObject(out, m_devices, memory.gem());
    out.size = memory.size();
    out.cpuAccess = memory.device() == nullptr;
    out.ids = &memory.exported();
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::exportFd(const void* ptr, int& fd) {
    std::lock_guard virtualLock(m_virtualMutex);
    std::lock_guard lock(m_mutex);
    ExportedObject object;
    const ze_result_t result = findExported(ptr, object);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ino_t inode = 0;
    const int error = ExportTable::instance().descriptor(object, true, fd, inode);
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p cannot be exported as a dma-buf", ptr);
    return failErrno(error, "dma-buf export");
}

ze_result_t Context::getObjectHandle(const ExportedObject& object, ze_ipc_mem_handle_t& out) {
    drm_vze_share_create args{};
    args.flags = object.readOnly ? DRM_VZE_SHARE_READONLY : 0;
    args.handle = object.gem;
    if (int error = object.device->file().createShare(args)) {
        if (error == EOPNOTSUPP || error == EINVAL || error == ENOENT)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this memory cannot be shared: %s",
                        strerror(error));
        return failErrno(error, "SHARE_CREATE");
    }
    IpcHandle handle;
    handle.kind = IpcKind::Object;
    handle.cpuAccess = object.cpuAccess;
    handle.token = args.token;
    handle.size = object.size;
    // Without a descriptor the handle is good all the same.
    int fd = -1;
    ino_t inode = 0;
    if (ExportTable::instance().descriptor(object, false, fd, inode) == 0) {
        handle.fd = fd;
        handle.inode = inode;
    }
    object.ids->share = args.token.id;
    ExportTable::instance().countGet(args.token.id, *object.device, object.ids->descriptor);
    encodeIpcHandle(handle, out);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::getRangeHandle(const void* ptr, size_t size, ze_ipc_mem_handle_t& out) {
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    if (start >= kAddressEnd || size > kAddressEnd - start)
        return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "[%p, +0x%zx) wraps", ptr, size);
    const uint64_t begin = start & ~(kPage - 1);
    const uint64_t end = pages(start + size);

    Device* device = nullptr;
    bool cpuAccess = true;
    for (uint64_t at = begin; at < end;) {
        auto reservation = m_reservations.containing(at, 1);
        const MappedPiece* piece = nullptr;
        uint64_t pieceEnd = at;
        if (reservation != m_reservations.map().end()) {
            auto it = reservation->second.pieces.upper_bound(at);
            if (it != reservation->second.pieces.begin()) {
                --it;
                pieceEnd = it->first + it->second.size;
                if (pieceEnd > at)
                    piece = &it->second;
            }
        }
        if (piece == nullptr) {
            AllocationView view;
            if (m_map.find(at, view))
                return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                            "0x%llx is an allocation or import, not a mapped physical object",
                            static_cast<unsigned long long>(at));
            return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "nothing is mapped at 0x%llx",
                        static_cast<unsigned long long>(at));
        }
        if (Device* home = piece->memory->device()) {
            cpuAccess = false;
            if (device != nullptr && device != home)
                return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                            "the range has memory of two devices");
            device = home;
        }
        at = pieceEnd;
    }
    if (device == nullptr)
        device = m_devices.front();

    drm_vze_share_create args{};
    args.flags = DRM_VZE_SHARE_RANGE;
    args.vm_id = vmId(*device);
    args.addr = begin;
    args.size = end - begin;
    if (int error = device->file().createShare(args)) {
        if (error == ENOENT)
            return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "part of the range is not mapped");
        if (error == EOPNOTSUPP)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "part of the range cannot be shared (an import of another driver)");
        return failErrno(error, "SHARE_CREATE");
    }
    IpcHandle handle;
    handle.kind = IpcKind::Range;
    handle.cpuAccess = cpuAccess;
    handle.token = args.token;
    handle.size = size;
    handle.pageOffset = static_cast<uint32_t>(start - begin);
    ExportTable::instance().countGet(args.token.id, *device, 0);
    encodeIpcHandle(handle, out);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::getIpcHandle(const void* ptr, const IpcOptions& options,
                                  ze_ipc_mem_handle_t& out) {
    std::lock_guard virtualLock(m_virtualMutex);
    std::lock_guard lock(m_mutex);
    if (options.range)
        return getRangeHandle(ptr, options.rangeSize, out);
    ExportedObject object;
    const ze_result_t result = findExported(ptr, object);
    return result == ZE_RESULT_SUCCESS ? getObjectHandle(object, out) : result;
}

// ---- opening

ze_result_t Context::openByToken(Device& device, const IpcHandle& handle, void*& out,
                                 bool& refused) {
    auto allocation = std::make_unique<Allocation>();
    allocation->type = handle.cpuAccess ? AllocationType::IpcHost : AllocationType::IpcDevice;
    allocation->device = &device;
    allocation->gem = noHandles();
    allocation->size = pages(handle.pageOffset + handle.size);
    constexpr uint64_t kLargePage = 2ULL << 20;
    const uint64_t alignment = allocation->size >= kLargePage ? kLargePage : kPage;
    if (takeAddresses(allocation->type, allocation->size, alignment, allocation->base) != 0)
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no addresses for 0x%llx bytes",
                    static_cast<unsigned long long>(allocation->size));

    drm_vze_share_open args{};
    auto open = [&](uint32_t flags) {
        args = {};
        args.token = handle.token;
        args.flags = DRM_VZE_SHARE_OPEN_BIND | flags;
        args.vm_id = vmId(device);
        args.addr = allocation->base;
        args.size = allocation->size;
        return device.file().openShare(args);
    };
    int error = open(0);
    if (error == EACCES) { // a share for reading, or one of another user
        error = open(DRM_VZE_SHARE_OPEN_READONLY);
        allocation->readOnly = true;
    }
    if (error != 0) {
        giveAddresses(allocation->type, allocation->base, allocation->size);
        refused = error == EACCES;
        switch (error) {
        case EACCES:
            return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
                        "the handle is of another user's memory");
        case ENOENT:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "the handle's memory was freed, put back, or its exporter is gone");
        case EXDEV:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is of another device than %u",
                        device.index());
        case EINVAL:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is damaged");
        default:
            return failErrno(error, "SHARE_OPEN");
        }
    }
    allocation->gem[positionOf(device)] = args.handle;
    if (hasOwnCpuView(*allocation)) {
        error = makeCpuView(*allocation);
        if (error != 0) {
            releaseMemory(*allocation);
            return failErrno(error, "CPU mapping");
        }
    }
    allocation->userBase = allocation->base + handle.pageOffset;
    allocation->userSize = handle.size;
    return publish(std::move(allocation), out);
}

ze_result_t Context::openByDescriptor(Device& device, int fd, void*& out) {
    auto allocation = std::make_unique<Allocation>();
    allocation->device = &device;
    allocation->gem = noHandles();
    ze_result_t result = importDmaBuf(&device, 0, fd, allocation->gem, allocation->readOnly);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    drm_vze_gem_info info{};
    if (int error = device.file().gemInfo(allocation->gem[positionOf(device)], info)) {
        closeObjects(allocation->gem);
        return failErrno(error, "GEM_INFO");
    }
    allocation->type = info.placement == DRM_VZE_PLACEMENT_SYSTEM ? AllocationType::IpcHost
                                                                  : AllocationType::IpcDevice;
    allocation->size = info.size;
    allocation->external = true;
    return place(std::move(allocation), 0, out);
}

ze_result_t Context::openIpcHandle(Device& device, const ze_ipc_mem_handle_t& data, void*& out) {
    IpcHandle handle;
    switch (decodeIpcHandle(data, handle)) {
    case IpcForm::Whole: {
        bool refused = false;
        const ze_result_t result = openByToken(device, handle, out, refused);
        // A descriptor that the caller was given proves the right that the token alone does not.
        struct stat status;
        if (refused && handle.inode != 0 && fstat(handle.fd, &status) == 0 &&
            status.st_ino == handle.inode)
            return openByDescriptor(device, handle.fd, out);
        return result;
    }
    case IpcForm::Descriptor:
        return openByDescriptor(device, handle.fd, out);
    case IpcForm::Invalid:
        break;
    }
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "handle: these are not the bytes of a handle");
}

ze_result_t Context::closeIpcHandle(const void* ptr) {
    if (kmd::openedBeforeFork())
        return failErrno(EPERM, "the process was forked after the driver was opened");
    std::unique_ptr<Allocation> owned;
    {
        std::lock_guard lock(m_mutex);
        AllocationView view;
        if (lookup(ptr, view) && view.allocation != nullptr && isIpc(view.type) &&
            view.allocation->userBase == reinterpret_cast<uintptr_t>(ptr))
            owned = unpublish(*view.allocation);
    }
    if (owned == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "ptr: %p was not given by zeMemOpenIpcHandle, or is closed", ptr);
    releaseMemory(*owned);
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
