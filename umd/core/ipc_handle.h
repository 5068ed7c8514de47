// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <drm/vze_drm.h>
#include <level_zero/ze_api.h>

namespace vze {

/// What an IPC handle is of.
enum class IpcKind : uint8_t {
    Object = 1, ///< one allocation or physical object
    Range = 2,  ///< a range of physical objects
};

/// The content of a ze_ipc_mem_handle_t.
struct IpcHandle {
    int32_t fd = -1; ///< descriptor in the exporter, or what the sender put there
    IpcKind kind = IpcKind::Object;
    bool cpuAccess = false; ///< the importer's CPU reaches it, too
    drm_vze_share_token token{};
    uint64_t size = 0;       ///< bytes that the importer sees
    uint64_t inode = 0;      ///< of the dma-buf behind fd, 0: none
    uint32_t pageOffset = 0; ///< of the importer's pointer within its first page
};

/// How much of a handle can be understood.
enum class IpcForm {
    Whole,      ///< a handle of this driver: open by token
    Descriptor, ///< only a descriptor (dma-buf, share) followed by zeros: open by that
    Invalid,    ///< neither
};

/// Whether a client kept only the descriptor of a handle: zeros follow it.
bool isOnlyDescriptor(const char (&bytes)[ZE_MAX_IPC_HANDLE_SIZE]) noexcept;

/// Layout of the 64 bytes, little endian: 0 descriptor (4), 4 "VZE" and version (4), 8 kind, 9
/// flags, 10 zero (2), 12 offset in page (4), 16 share id (8), 24 secret (16), 40 size (8), 48
/// inode (8), 56 zero (8).
void encodeIpcHandle(const IpcHandle& handle, ze_ipc_mem_handle_t& out) noexcept;
IpcForm decodeIpcHandle(const ze_ipc_mem_handle_t& handle, IpcHandle& out) noexcept;

/// What the kernel keeps with the share for its openers (user_data): kind, CPU access, and which
/// bytes of the first and last page are meant. A handle that says otherwise is forged.
uint64_t ipcUserData(const IpcHandle& handle) noexcept;
/// The rest of a handle from a share's user_data and size, for openers by descriptor. False: the
/// share is not of an IPC memory handle.
bool readIpcUserData(uint64_t userData, uint64_t shareSize, IpcHandle& out) noexcept;

} // namespace vze
