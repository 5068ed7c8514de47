// SPDX-License-Identifier: MIT
//
// Memory of other processes: opening and closing IPC handles, access to what is open.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/context.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"
#include "kmd/fork.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;

constexpr uint64_t pages(uint64_t size) noexcept {
    return (size + kPage - 1) & ~(kPage - 1);
}

bool isIpc(AllocationType type) noexcept {
    return type == AllocationType::IpcDevice || type == AllocationType::IpcHost;
}

// Whether bytes 0-3 name, in this process, the dma-buf that was exported with the handle.
bool namesDmaBuf(const IpcHandle& handle) noexcept {
    struct stat status;
    return handle.inode != 0 && fstat(handle.fd, &status) == 0 && status.st_ino == handle.inode;
}

// Whether they name a descriptor of the handle's share.
bool namesShare(const Device& device, const IpcHandle& handle) noexcept {
    drm_vze_share_info info{};
    return device.file().shareInfo(handle.fd, info) == 0 && info.id == handle.token.id;
}

} // namespace

// ---- opening

// Opens a share by its token or, when @p fd is not -1, by share descriptor.
ze_result_t Context::openShare(Device& device, const IpcHandle& handle, int fd, void*& out) {
    auto allocation = std::make_unique<Allocation>();
    allocation->type = handle.cpuAccess ? AllocationType::IpcHost : AllocationType::IpcDevice;
    allocation->ipcKind = handle.kind;
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
        args.flags = DRM_VZE_SHARE_OPEN_BIND | flags;
        args.vm_id = vmId(device);
        args.addr = allocation->base;
        args.size = allocation->size;
        args.token = handle.token;
        if (fd != -1)
            kmd::openByDescriptor(args, fd);
        return device.file().openShare(args);
    };
    int error = open(0);
    if (error == EACCES) { // a share for reading, or one of another user
        error = open(DRM_VZE_SHARE_OPEN_READONLY);
        allocation->readOnly = true;
    }
    if (error != 0) {
        giveAddresses(allocation->type, allocation->base, allocation->size);
        switch (error) {
        case EACCES:
            return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
                        "the handle is of another user's memory");
        case ENOENT:
            return fail(
                ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "the handle's memory was freed, put back, revoked, or its exporter is gone");
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
    if (args.user_data != ipcUserData(handle)) {
        releaseMemory(*allocation);
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is damaged");
    }
    if (hasOwnCpuView(*allocation)) {
        error = makeCpuView(*allocation);
        if (error != 0) {
            releaseMemory(*allocation);
            return failErrno(error, "CPU mapping");
        }
    }
    allocation->userBase = allocation->base + handle.pageOffset;
    allocation->userSize = handle.size;
    if (allocation->readOnly)
        allocation->access = AccessMap(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY);
    return publish(std::move(allocation), out);
}

ze_result_t Context::openDmaBuf(Device& device, int fd, void*& out) {
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
    // The kernel does not look at it: who was given a descriptor for reading shall not write.
    const int mode = fcntl(fd, F_GETFL);
    allocation->readOnly |= mode != -1 && (mode & O_ACCMODE) == O_RDONLY;
    if (allocation->readOnly)
        allocation->access = AccessMap(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY);
    return place(std::move(allocation), 0, out);
}

ze_result_t Context::openDescriptor(Device& device, int fd, void*& out) {
    drm_vze_share_info info{};
    const int error = device.file().shareInfo(fd, info);
    if (error == EBADF)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "handle: %d is not an open descriptor", fd);
    if (error != 0)
        return openDmaBuf(device, fd, out);
    IpcHandle handle;
    if (!readIpcUserData(info.user_data, info.size, handle))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "handle: descriptor %d is of a share that is no memory handle", fd);
    handle.token.id = info.id;
    return openShare(device, handle, fd, out);
}

ze_result_t Context::openIpcHandle(Device& device, const ze_ipc_mem_handle_t& data, void*& out) {
    IpcHandle handle;
    switch (decodeIpcHandle(data, handle)) {
    case IpcForm::Whole: {
        const ze_result_t result = openShare(device, handle, -1, out);
        // A descriptor that the caller was given proves the right that the token alone does not.
        if (result != ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS || handle.fd < 0)
            return result;
        if (namesDmaBuf(handle))
            return openDmaBuf(device, handle.fd, out);
        if (namesShare(device, handle))
            return openShare(device, handle, handle.fd, out);
        return result;
    }
    case IpcForm::Descriptor:
        return openDescriptor(device, handle.fd, out);
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
        std::lock_guard virtualLock(m_virtualMutex); // see findOpened()
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
    if (owned->ipcKind == IpcKind::Range)
        ExportTable::instance().dropEnded(); // ranges that were made of it
    return ZE_RESULT_SUCCESS;
}

// ---- access of what is open

Allocation* Context::findOpened(const void* ptr, size_t size) const {
    std::lock_guard lock(m_mutex);
    AllocationView view;
    const bool found = lookup(ptr, view) && isIpc(view.type) &&
                       view.contains(reinterpret_cast<uintptr_t>(ptr), size);
    return found ? view.allocation : nullptr;
}

ze_result_t Context::setOpenedAccess(Allocation& opened, const void* ptr, size_t size,
                                     ze_memory_access_attribute_t access) {
    if (opened.readOnly && access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "access: the memory was shared for reading");
    const auto begin = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
    AccessMap changed = opened.access;
    changed.set(begin, begin + size, access);
    drm_vze_bind_op op{};
    op.op = DRM_VZE_BIND_MAP;
    op.flags = bindFlags(access);
    op.handle = opened.gem[positionOf(*opened.device)];
    op.offset = begin - opened.base;
    op.range = size;
    op.addr = begin;
    if (int error = opened.device->file().bind(vmId(*opened.device), {&op, 1})) {
        if (error == EACCES)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "ptr: the exporter has taken the memory back");
        return failErrno(error, "VM_BIND");
    }
    opened.access = std::move(changed);
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
