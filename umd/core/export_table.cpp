// SPDX-License-Identifier: MIT
#include "core/export_table.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace vze {

ExportTable& ExportTable::instance() {
    static auto* table = new ExportTable; // outlives every context
    return *table;
}

// The application may have closed the descriptor, and the number may name another file by now.
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
        if (int error = object.device->file().exportDmaBuf(object.gem, !object.readOnly, made))
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

void ExportTable::countGet(uint64_t share, Device& device, uint64_t descriptor) {
    std::lock_guard lock(m_mutex);
    Share& entry = m_shares[share];
    entry.device = &device;
    entry.descriptor = descriptor;
    entry.gets++;
}

void ExportTable::put(uint64_t share) {
    std::lock_guard lock(m_mutex);
    auto it = m_shares.find(share);
    if (it == m_shares.end())
        return;
    it->second.device->file().putShare(share);
    if (--it->second.gets != 0)
        return;
    auto descriptor = m_descriptors.find(it->second.descriptor);
    if (descriptor != m_descriptors.end() && !descriptor->second.keep)
        closeIfSame(descriptor->second);
    m_shares.erase(it);
}

void ExportTable::forget(ExportIds& ids) noexcept {
    if (ids.descriptor == 0 && ids.share == 0)
        return;
    std::lock_guard lock(m_mutex);
    if (auto it = m_shares.find(ids.share); it != m_shares.end()) {
        // Ends it at once; the kernel would end it with the object's handle, which may live on in a
        // mapping of ours.
        for (; it->second.gets != 0; it->second.gets--)
            it->second.device->file().putShare(ids.share);
        m_shares.erase(it);
    }
    if (auto it = m_descriptors.find(ids.descriptor); it != m_descriptors.end()) {
        closeIfSame(it->second);
        m_descriptors.erase(it);
    }
    ids = {};
}

} // namespace vze
