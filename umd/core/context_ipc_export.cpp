// SPDX-License-Identifier: MIT
//
// Memory for other processes: dma-buf descriptors and IPC handles.
#include <cerrno>
#include <cstring>

#include "core/context.h"
#include "core/export_table.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"

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
        out.size = allocation->userSize;
        out.pageOffset = static_cast<uint32_t>(allocation->userBase - allocation->base);
        out.kind = allocation->ipcKind;
        // A dma-buf may be larger than what was imported of it, and other allocations may be of the
        // same object: each is a share of its own.
        out.address = allocation->external ? allocation->base : 0;
        out.cpuAccess = allocation->type != AllocationType::Device &&
                        allocation->type != AllocationType::IpcDevice;
        out.readOnly = allocation->readOnly;
        out.view = isIpc(allocation->type) && !allocation->external;
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
    if (object.readOnly)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "%p is memory for reading, and who has a dma-buf may write", ptr);
    ino_t inode = 0;
    const int error = ExportTable::instance().descriptor(object, true, fd, inode);
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p cannot be exported as a dma-buf", ptr);
    return failErrno(error, "dma-buf export");
}

// Makes the share that a handle names, or counts it once more.
ze_result_t Context::createIpcShare(Device& device, drm_vze_share_create& args, IpcHandle& handle) {
    args.user_data = ipcUserData(handle);
    if (int error = device.file().createShare(args)) {
        switch (error) {
        case ENOENT:
            return fail(handle.kind == IpcKind::Range ? ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
                                                      : ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "part of the memory is not mapped");
        case EOPNOTSUPP:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "memory of another driver cannot be shared by handle");
        case EACCES:
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "the memory was opened by handle, and its exporter has taken it back");
        case EDQUOT:
            return fail(handle.kind == IpcKind::Range ? ZE_RESULT_ERROR_UNSUPPORTED_SIZE
                                                      : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                        "the user has as many shares, or objects in shares, as the kernel module "
                        "allows (max_shares, max_share_segments)");
        default:
            return failErrno(error, "SHARE_CREATE");
        }
    }
    handle.token = args.token;
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::getObjectHandle(const ExportedObject& object, ze_ipc_mem_handle_t& out) {
    IpcHandle handle;
    handle.kind = object.kind;
    handle.cpuAccess = object.cpuAccess;
    handle.size = object.size;
    handle.pageOffset = object.pageOffset;
    ExportTable& table = ExportTable::instance();
    if (table.countAgain(*object.ids, handle)) {
        encodeIpcHandle(handle, out);
        return ZE_RESULT_SUCCESS;
    }

    drm_vze_share_create args{};
    drm_vze_share_piece piece{};
    args.flags = object.readOnly ? DRM_VZE_SHARE_READONLY : 0;
    const uint64_t size = pages(object.pageOffset + object.size);
    if (object.address != 0) {
        args.flags |= DRM_VZE_SHARE_RANGE;
        args.vm_id = vmId(*object.device);
        args.addr = object.address;
        args.size = size;
    } else {
        args.flags |= DRM_VZE_SHARE_LIST;
        piece.handle = object.gem;
        piece.size = size;
        args.pieces = reinterpret_cast<uintptr_t>(&piece);
        args.num_pieces = 1;
    }
    const ze_result_t result = createIpcShare(*object.device, args, handle);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table.countGet(args.token.id, *object.device);
    object.ids->share = args.token.id;
    // Without a descriptor the handle is good all the same. A dma-buf of a view would not say what
    // of it is meant, nor whether the CPU reaches it, and who has a dma-buf may write.
    int fd = -1;
    ino_t inode = 0;
    if (object.view || object.readOnly) {
        handle.fd = table.shareDescriptor(args.token);
    } else if (table.descriptor(object, false, fd, inode) == 0) {
        handle.fd = fd;
        handle.inode = inode;
        table.closeWithShare(args.token, object.ids->descriptor);
    }
    encodeIpcHandle(handle, out);
    return ZE_RESULT_SUCCESS;
}

// What a range handle is to have at an address: a mapped physical object, or (given on) a range of
// another process. Caller holds both mutexes.
ze_result_t Context::findRangePiece(uint64_t at, RangePiece& out) {
    auto reservation = m_reservations.containing(at, 1);
    if (reservation != m_reservations.map().end()) {
        auto it = reservation->second.pieces.upper_bound(at);
        if (it != reservation->second.pieces.begin()) {
            --it;
            out.end = it->first + it->second.size;
            out.device = it->second.memory->device();
            out.cpuAccess = out.device == nullptr;
            if (out.end > at) {
                it->second.memory->noteInRange();
                return ZE_RESULT_SUCCESS;
            }
        }
    }
    AllocationView view;
    if (!m_map.find(at, view))
        return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "nothing is mapped at 0x%llx",
                    static_cast<unsigned long long>(at));
    if (!isIpc(view.type) || view.allocation == nullptr ||
        view.allocation->ipcKind != IpcKind::Range)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "0x%llx is an allocation or import, not a mapped physical object",
                    static_cast<unsigned long long>(at));
    out.end = view.base + view.size;
    out.device = view.allocation->device;
    out.cpuAccess = view.type == AllocationType::IpcHost;
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
        RangePiece piece;
        const ze_result_t result = findRangePiece(at, piece);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (piece.device != nullptr) {
            if (device != nullptr && device != piece.device)
                return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                            "the range has memory of two devices");
            device = piece.device;
        }
        cpuAccess &= piece.cpuAccess;
        at = piece.end;
    }
    if (device == nullptr)
        device = m_devices.front();

    IpcHandle handle;
    handle.kind = IpcKind::Range;
    handle.cpuAccess = cpuAccess;
    handle.size = size;
    handle.pageOffset = static_cast<uint32_t>(start - begin);
    drm_vze_share_create args{};
    args.flags = DRM_VZE_SHARE_RANGE;
    args.vm_id = vmId(*device);
    args.addr = begin;
    args.size = end - begin;
    const ze_result_t result = createIpcShare(*device, args, handle);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    ExportTable::instance().countGet(args.token.id, *device);
    handle.fd = ExportTable::instance().shareDescriptor(args.token);
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

} // namespace vze
