// SPDX-License-Identifier: MIT
//
// What exporter and importer can know and do about a handle besides opening it: its descriptor, its
// importers, taking it back.
#include <cerrno>
#include <fcntl.h>

#include "core/context.h"
#include "core/export_table.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

// Does something with the share on the device that it is of: the others answer ENOENT or EXDEV.
template <typename Call>
int onItsDevice(const Driver& driver, Call&& call) {
    int result = ENOENT;
    for (const auto& device : driver.devices()) {
        const int error = call(device->file());
        if (error != ENOENT && error != EXDEV)
            return error;
        if (result == ENOENT)
            result = error;
    }
    return result;
}

ze_result_t duplicate(int fd, int& out) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return failErrno(errno, "duplicating the share descriptor");
    out = copy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t failNotExported() {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "handle: it is not of this process, or its memory is not open any more");
}

ze_result_t wholeHandle(const ze_ipc_mem_handle_t& data, IpcHandle& out) {
    if (decodeIpcHandle(data, out) == IpcForm::Whole)
        return ZE_RESULT_SUCCESS;
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "handle: these are not the bytes of a handle");
}

} // namespace

ze_result_t Context::ipcShareFd(const ze_ipc_mem_handle_t& data, int& fd) const {
    IpcHandle handle;
    const IpcForm form = decodeIpcHandle(data, handle);
    if (form == IpcForm::Invalid)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "handle: these are not the bytes of a handle");
    drm_vze_share_info info{};
    const bool isShare =
        handle.fd >= 0 && m_devices.front()->file().shareInfo(handle.fd, info) == 0;
    if (form == IpcForm::Descriptor) {
        if (isShare)
            return duplicate(handle.fd, fd);
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "handle: descriptor %d is not of a share: a dma-buf has no end", handle.fd);
    }
    kmd::UniqueFd made;
    const int error = onItsDevice(
        m_driver, [&](kmd::DeviceFile& file) { return file.shareFd(handle.token, made); });
    switch (error) {
    case 0:
        fd = made.release();
        return ZE_RESULT_SUCCESS;
    case EACCES:
        if (isShare && info.id == handle.token.id)
            return duplicate(handle.fd, fd);
        return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
                    "the handle is of another user's memory");
    case ENOENT:
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "the handle's memory was freed, put back, revoked, or its exporter is gone");
    case EXDEV:
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "the handle is of a device that this process has not opened");
    default:
        return failErrno(error, "SHARE_FD");
    }
}

ze_result_t Context::ipcShareFdOf(const void* ptr, int& fd) const {
    std::lock_guard virtualLock(m_virtualMutex); // see findOpened()
    const Allocation* opened = findOpened(ptr, 1);
    if (opened == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p was not given by zeMemOpenIpcHandle",
                    ptr);
    if (opened->external)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "ptr: %p was opened by dma-buf descriptor, not through a share", ptr);
    kmd::UniqueFd made;
    const uint32_t view = opened->gem[positionOf(*opened->device)];
    if (int error = opened->device->file().shareFdOfView(view, made))
        return failErrno(error, "SHARE_FD");
    fd = made.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::ipcImporters(const ze_ipc_mem_handle_t& data,
                                  std::span<drm_vze_share_importer> importers,
                                  uint32_t& num) const {
    IpcHandle handle;
    const ze_result_t result = wholeHandle(data, handle);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const int error = onItsDevice(m_driver, [&](kmd::DeviceFile& file) {
        return file.shareImporters(handle.token.id, importers, num);
    });
    return error == ENOENT ? failNotExported() : failErrno(error, "SHARE_IMPORTERS");
}

ze_result_t Context::revokeIpcHandle(const ze_ipc_mem_handle_t& data, bool unmap,
                                     drm_vze_share_revoke& out) const {
    IpcHandle handle;
    const ze_result_t result = wholeHandle(data, handle);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const uint32_t flags = unmap ? DRM_VZE_SHARE_REVOKE_UNMAP : 0;
    const int error = onItsDevice(m_driver, [&](kmd::DeviceFile& file) {
        return file.revokeShare(handle.token.id, flags, out);
    });
    if (error == ENOENT)
        return failNotExported();
    if (error == 0 || error == EIO || error == ENODEV)
        ExportTable::instance().end(handle.token.id);
    return failErrno(error, "SHARE_REVOKE");
}

} // namespace vze
