// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <sys/types.h>
#include <unordered_map>

#include <drm/vze_drm.h>

#include "core/device.h"

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
    uint64_t size = 0;
    bool cpuAccess = false; ///< system memory: the importer's CPU reaches it, too
    bool readOnly = false;
    ExportIds* ids = nullptr; ///< to be used under the context's lock
};

/// A process's exports: the dma-buf descriptors that it holds open and the shares that it made. One
/// for the process, because any context may put a handle back.
class ExportTable {
public:
    static ExportTable& instance();

    /// The one dma-buf descriptor of an object, made at the first call and again when the
    /// application closed it. @p inode identifies the dma-buf. Returns 0 or an errno.
    /// @p keep: the application asked for the descriptor itself, so that Put must not close it.
    int descriptor(const ExportedObject& object, bool keep, int& fd, ino_t& inode);

    /// Counts one Get of a share. @p descriptor: its object's, to be closed with the last Put; 0:
    /// none.
    void countGet(uint64_t share, Device& device, uint64_t descriptor);
    /// Takes back one Get. Unknown shares (of another process, put before) are no error.
    void put(uint64_t share);

    /// The object goes: its descriptor is closed and its share ends.
    void forget(ExportIds& ids) noexcept;

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
        uint32_t gets = 0;
        uint64_t descriptor = 0;
    };

    static bool isSameFile(const Descriptor& descriptor) noexcept;
    static void closeIfSame(Descriptor& descriptor) noexcept;

    std::mutex m_mutex;
    std::unordered_map<uint64_t, Descriptor> m_descriptors;
    std::unordered_map<uint64_t, Share> m_shares;
    uint64_t m_nextKey = 1;
};

} // namespace vze
