// SPDX-License-Identifier: MIT
#include "core/export_table.h"

#include <cerrno>
#include <iterator>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmd/fork.h"

namespace vze {

ExportTable& ExportTable::instance() {
    static auto* table = new ExportTable; // outlives every context
    return *table;
}

// ---- descriptors
//
// Their numbers were given to the application, which may have closed one: the number may name
// another file by now, and that one is never closed.

bool ExportTable::isSameFile(const Descriptor& descriptor) noexcept {
    struct stat status;
    return descriptor.fd >= 0 && fstat(descriptor.fd, &status) == 0 &&
           status.st_dev == descriptor.device && status.st_ino == descriptor.inode;
}

void ExportTable::closeIfSame(Descriptor& descriptor) noexcept {
    if (isSameFile(descriptor))
        close(descriptor.fd);
    descriptor.fd = -1;
}

// Share descriptors have no inode of their own: the kernel says which share one is of.
bool ExportTable::namesShare(const Shares::value_type& entry, uint32_t& state) noexcept {
    drm_vze_share_info info{};
    const Share& share = entry.second;
    if (share.fd < 0 || share.device->file().shareInfo(share.fd, info) != 0)
        return false;
    state = info.state;
    return info.id == entry.first;
}

int ExportTable::descriptor(const ExportedObject& object, bool keep, int& fd, ino_t& inode) {
    std::lock_guard lock(m_mutex);
    if (object.ids->descriptor == 0) {
        m_descriptors.try_emplace(m_nextKey);
        object.ids->descriptor = m_nextKey++;
    }
    Descriptor& descriptor = m_descriptors[object.ids->descriptor];
    if (!isSameFile(descriptor)) {
        descriptor.fd = -1;
        kmd::UniqueFd made;
        if (int error = object.device->file().exportDmaBuf(object.gem, made))
            return error;
        struct stat status;
        if (fstat(made.get(), &status) != 0)
            return errno;
        descriptor.device = status.st_dev;
        descriptor.inode = status.st_ino;
        descriptor.fd = made.release();
    }
    descriptor.keep |= keep;
    fd = descriptor.fd;
    inode = descriptor.inode;
    return 0;
}

int ExportTable::shareDescriptor(const drm_vze_share_token& token) {
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(token.id);
    if (it == m_shares.end())
        return -1;
    Share& share = it->second;
    uint32_t state = 0;
    if (namesShare(*it, state))
        return share.fd;
    if (share.fd >= 0)
        m_shareDescriptors--;
    share.fd = -1;
    kmd::UniqueFd made;
    if (share.device->file().shareFd(token, made) == 0) {
        share.fd = made.release();
        m_shareDescriptors++;
    }
    return share.fd;
}

void ExportTable::closeDescriptors(Shares::value_type& entry) noexcept {
    Share& share = entry.second;
    uint32_t state = 0;
    if (namesShare(entry, state))
        close(share.fd);
    if (share.fd >= 0)
        m_shareDescriptors--;
    share.fd = -1;
    auto descriptor = m_descriptors.find(share.descriptor);
    if (descriptor != m_descriptors.end() && !descriptor->second.keep)
        closeIfSame(descriptor->second);
}

// ---- shares

void ExportTable::countGet(uint64_t share, Device& device) {
    std::lock_guard lock(m_mutex);
    try {
        m_shares.try_emplace(share);
    } catch (...) {
        device.file().putShare(share);
        throw;
    }
    Share& entry = m_shares[share];
    entry.device = &device;
    entry.gets++;
}

void ExportTable::closeWithShare(const drm_vze_share_token& token, uint64_t descriptor) noexcept {
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(token.id);
    if (it == m_shares.end())
        return;
    it->second.descriptor = descriptor;
    it->second.token = token;
}

bool ExportTable::countAgain(const ExportIds& ids, IpcHandle& handle) {
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(ids.share);
    if (it == m_shares.end() || it->second.descriptor == 0 ||
        it->second.descriptor != ids.descriptor)
        return false;
    Share& share = it->second;
    auto descriptor = m_descriptors.find(share.descriptor);
    // A share of a device that is gone is over, and only the kernel knows.
    if (descriptor == m_descriptors.end() || !isSameFile(descriptor->second) ||
        !share.device->file().isPresent())
        return false;
    share.again++;
    handle.token = share.token;
    handle.fd = descriptor->second.fd;
    handle.inode = descriptor->second.inode;
    return true;
}

void ExportTable::put(uint64_t share) {
    // A child has a copy of the table, but the shares are its parent's.
    if (kmd::openedBeforeFork())
        return;
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(share);
    if (it == m_shares.end())
        return;
    if (it->second.again != 0) {
        it->second.again--;
        return;
    }
    it->second.device->file().putShare(share);
    if (--it->second.gets != 0)
        return;
    closeDescriptors(*it);
    m_shares.erase(it);
}

void ExportTable::end(uint64_t share) noexcept {
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(share);
    if (it == m_shares.end())
        return;
    closeDescriptors(*it);
    m_shares.erase(it);
}

void ExportTable::forget(ExportIds& ids) noexcept {
    if (ids.descriptor == 0 && ids.share == 0)
        return;
    std::lock_guard lock(m_mutex);
    if (auto it = m_shares.find(ids.share); it != m_shares.end()) {
        // The kernel ended it with the object's handle, unless a mapping of ours or another import
        // of the object keeps that.
        for (; it->second.gets != 0; it->second.gets--)
            it->second.device->file().putShare(ids.share);
        closeDescriptors(*it);
        m_shares.erase(it);
    }
    if (auto it = m_descriptors.find(ids.descriptor); it != m_descriptors.end()) {
        closeIfSame(it->second);
        m_descriptors.erase(it);
    }
    ids = {};
}

void ExportTable::dropEnded() noexcept {
    std::lock_guard lock(m_mutex);
    if (m_shareDescriptors == 0)
        return;
    for (auto it = m_shares.begin(); it != m_shares.end();) {
        auto next = std::next(it);
        pollfd wait{it->second.fd, POLLIN, 0};
        uint32_t state = DRM_VZE_SHARE_STATE_LIVE;
        if (poll(&wait, 1, 0) == 1 && namesShare(*it, state) && state != DRM_VZE_SHARE_STATE_LIVE) {
            closeDescriptors(*it);
            m_shares.erase(it);
        }
        it = next;
    }
}

} // namespace vze
