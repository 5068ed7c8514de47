// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <sys/types.h>
#include <unordered_map>

#include <drm/vze_drm.h>

#include "core/device.h"
#include "core/ipc_handle.h"

namespace vze {

/// What other processes were given of one object. Kept with the object; zero: nothing yet.
struct ExportIds {
    uint64_t descriptor = 0; ///< key in the table of its dma-buf descriptor
    uint64_t share = 0;      ///< id of its share
};

/// An object that can be handed to other processes.
struct ExportedObject {
    Device* device = nullptr;
    uint32_t gem = 0;
    uint64_t size = 0;       ///< bytes, as the importer is to see it
    uint32_t pageOffset = 0; ///< of the first byte in the object
    uint64_t address = 0;    ///< not 0: what is mapped there is given, not the object
    IpcKind kind = IpcKind::Object;
    bool cpuAccess = false; ///< system memory: the importer's CPU reaches it, too
    bool readOnly = false;
    bool view = false;        ///< opened by handle
    ExportIds* ids = nullptr; ///< to be used under the context's lock
};

/// A process's exports: the descriptors that it holds open for others and the shares that it made.
/// One for the process, because any context may put a handle back.
class ExportTable {
public:
    static ExportTable& instance();

    /// The one dma-buf descriptor of an object, made at the first call and again when the
    /// application closed it. @p inode identifies the dma-buf. Returns 0 or an errno.
    /// @p keep: the application asked for the descriptor itself, so that Put must not close it.
    int descriptor(const ExportedObject& object, bool keep, int& fd, ino_t& inode);

    /// Counts one Get of a share. Throws std::bad_alloc and has then put the share.
    void countGet(uint64_t share, Device& device);
    /// One more Get of a whole object that closeWithShare() is true of, without the kernel, which
    /// counts the first one. False: there is no such Get, or the descriptor has to be made again.
    bool countAgain(const ExportIds& ids, IpcHandle& handle);
    /// The last Put of a counted share closes the descriptor of its object, too.
    void closeWithShare(const drm_vze_share_token& token, uint64_t descriptor) noexcept;
    /// The one share descriptor of a counted share, made at the first call; -1 when none is to be
    /// had.
    int shareDescriptor(const drm_vze_share_token& token);
    /// Takes back one Get. Unknown shares (of another process, put before) are no error.
    void put(uint64_t share);

    /// The object goes: its descriptor is closed and its share ends.
    void forget(ExportIds& ids) noexcept;
    /// A share was taken back whatever its Gets: closes its descriptor as the last Put would.
    void end(uint64_t share) noexcept;
    /// Something that ranges may have been made of is gone: forgets the shares that ended with it.
    void dropEnded() noexcept;

private:
    /// An open descriptor and the file that it named when it was made.
    struct Descriptor {
        int fd = -1;
        dev_t device = 0;
        ino_t inode = 0;
        bool keep = false;
    };
    struct Share {
        Device* device = nullptr;
        uint32_t gets = 0;  // that the kernel counts, too
        uint64_t again = 0; // other ones
        uint64_t descriptor = 0;
        drm_vze_share_token token{}; ///< if there is a descriptor
        int fd = -1;                 ///< share descriptor
    };
    using Shares = std::unordered_map<uint64_t, Share>;

    static bool isSameFile(const Descriptor& descriptor) noexcept;
    static void closeIfSame(Descriptor& descriptor) noexcept;
    static bool namesShare(const Shares::value_type& entry, uint32_t& state) noexcept;
    void closeDescriptors(Shares::value_type& entry) noexcept;

    std::mutex m_mutex;
    std::unordered_map<uint64_t, Descriptor> m_descriptors;
    Shares m_shares;
    size_t m_shareDescriptors = 0; // shares whose fd is not -1
    uint64_t m_nextKey = 1;
};

} // namespace vze
