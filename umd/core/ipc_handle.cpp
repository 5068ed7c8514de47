// SPDX-License-Identifier: MIT
#include "core/ipc_handle.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace vze {

namespace {

constexpr uint8_t kMagic[3] = {'V', 'Z', 'E'};
constexpr uint8_t kVersion = 1;
constexpr uint8_t kFlagCpuAccess = 1;
constexpr uint32_t kPage = 4096;

struct Wire {
    int32_t fd;
    uint8_t magic[3];
    uint8_t version;
    uint8_t kind;
    uint8_t flags;
    uint16_t zero;
    uint32_t pageOffset;
    uint64_t shareId;
    uint8_t secret[16];
    uint64_t size;
    uint64_t inode;
    uint64_t zero2;
};

// user_data of a share: page offset, unused bytes of the last page, CPU access, kind.
constexpr unsigned kTailShift = 12;
constexpr unsigned kCpuShift = 24;
constexpr unsigned kKindShift = 32;

bool isKind(uint64_t kind) noexcept {
    return kind == static_cast<uint64_t>(IpcKind::Object) ||
           kind == static_cast<uint64_t>(IpcKind::Range);
}

static_assert(sizeof(Wire) == sizeof(ze_ipc_mem_handle_t));
static_assert(std::is_trivially_copyable_v<Wire>);

} // namespace

void encodeIpcHandle(const IpcHandle& handle, ze_ipc_mem_handle_t& out) noexcept {
    Wire wire{};
    wire.fd = handle.fd;
    memcpy(wire.magic, kMagic, sizeof(kMagic));
    wire.version = kVersion;
    wire.kind = static_cast<uint8_t>(handle.kind);
    wire.flags = handle.cpuAccess ? kFlagCpuAccess : 0;
    wire.pageOffset = handle.pageOffset;
    wire.shareId = handle.token.id;
    memcpy(wire.secret, handle.token.secret, sizeof(wire.secret));
    wire.size = handle.size;
    wire.inode = handle.inode;
    memcpy(out.data, &wire, sizeof(wire));
}

bool isOnlyDescriptor(const char (&bytes)[ZE_MAX_IPC_HANDLE_SIZE]) noexcept {
    return std::all_of(bytes + sizeof(Wire::fd), bytes + sizeof(bytes),
                       [](char byte) { return byte == 0; });
}

IpcForm decodeIpcHandle(const ze_ipc_mem_handle_t& handle, IpcHandle& out) noexcept {
    Wire wire;
    memcpy(&wire, handle.data, sizeof(wire));
    out = {};
    out.fd = wire.fd;

    if (isOnlyDescriptor(handle.data))
        return wire.fd >= 0 ? IpcForm::Descriptor : IpcForm::Invalid;

    if (memcmp(wire.magic, kMagic, sizeof(kMagic)) != 0 || wire.version != kVersion ||
        !isKind(wire.kind) || (wire.flags & ~kFlagCpuAccess) != 0 || wire.zero != 0 ||
        wire.zero2 != 0 || wire.pageOffset >= kPage || wire.size == 0 || wire.size > 1ULL << 47)
        return IpcForm::Invalid;
    out.kind = static_cast<IpcKind>(wire.kind);
    out.cpuAccess = (wire.flags & kFlagCpuAccess) != 0;
    out.token.id = wire.shareId;
    memcpy(out.token.secret, wire.secret, sizeof(wire.secret));
    out.size = wire.size;
    out.inode = wire.inode;
    out.pageOffset = wire.pageOffset;
    return IpcForm::Whole;
}

uint64_t ipcUserData(const IpcHandle& handle) noexcept {
    const uint64_t end = handle.pageOffset + handle.size;
    const uint64_t tail = (kPage - end % kPage) % kPage;
    return handle.pageOffset | tail << kTailShift | uint64_t{handle.cpuAccess} << kCpuShift |
           static_cast<uint64_t>(handle.kind) << kKindShift;
}

bool readIpcUserData(uint64_t userData, uint64_t shareSize, IpcHandle& out) noexcept {
    out = {};
    out.pageOffset = static_cast<uint32_t>(userData % kPage);
    const uint64_t unused = out.pageOffset + (userData >> kTailShift) % kPage;
    if (!isKind(userData >> kKindShift) || unused >= shareSize)
        return false;
    out.kind = static_cast<IpcKind>(userData >> kKindShift);
    out.cpuAccess = ((userData >> kCpuShift) & 1) != 0;
    out.size = shareSize - unused;
    return ipcUserData(out) == userData;
}

} // namespace vze
