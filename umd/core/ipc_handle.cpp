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

IpcForm decodeIpcHandle(const ze_ipc_mem_handle_t& handle, IpcHandle& out) noexcept {
    Wire wire;
    memcpy(&wire, handle.data, sizeof(wire));
    out = {};
    out.fd = wire.fd;

    const auto* rest = reinterpret_cast<const uint8_t*>(handle.data) + sizeof(wire.fd);
    const size_t restSize = sizeof(handle.data) - sizeof(wire.fd);
    if (std::all_of(rest, rest + restSize, [](uint8_t byte) { return byte == 0; }))
        return wire.fd >= 0 ? IpcForm::Descriptor : IpcForm::Invalid;

    const bool kindKnown = wire.kind == static_cast<uint8_t>(IpcKind::Object) ||
                           wire.kind == static_cast<uint8_t>(IpcKind::Range);
    if (memcmp(wire.magic, kMagic, sizeof(kMagic)) != 0 || wire.version != kVersion || !kindKnown ||
        (wire.flags & ~kFlagCpuAccess) != 0 || wire.zero != 0 || wire.zero2 != 0 ||
        wire.pageOffset >= kPage || wire.size == 0 || wire.size > 1ULL << 47)
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

} // namespace vze
