// SPDX-License-Identifier: MIT
#include "command_decoder.h"

#include <algorithm>
#include <cstring>

namespace vgpu {
namespace {

constexpr uint32_t kWaitOpShift = 4;
constexpr uint32_t kWaitOpMask = 7u << kWaitOpShift;

template <typename T>
T read(std::span<const uint64_t> words) {
    T value;
    std::memcpy(&value, words.data(), sizeof(value));
    return value;
}

Decoded fault(uint32_t reason) {
    Decoded out;
    out.fault = reason;
    return out;
}

Decoded decode_copy(std::span<const uint64_t> words, uint64_t max_transfer) {
    const auto raw = read<vze_hw_cmd_copy>(words);
    Decoded out;

    if (raw.cmd.flags != 0 || raw.size == 0)
        return fault(VZE_HW_FAULT_MALFORMED);
    if (raw.size > max_transfer)
        return fault(VZE_HW_FAULT_TOO_LARGE);
    out.command.dst = raw.dst;
    out.command.src = raw.src;
    out.command.size = out.command.width = raw.size;
    return out;
}

Decoded decode_fill(std::span<const uint64_t> words, uint64_t max_transfer) {
    const auto raw = read<vze_hw_cmd_fill>(words);
    Decoded out;
    Command& command = out.command;

    if (raw.cmd.flags != 0 || raw.pad != 0 || raw.size == 0)
        return fault(VZE_HW_FAULT_MALFORMED);
    if (raw.pattern_size == 0 || raw.pattern_size > VZE_HW_MAX_PATTERN)
        return fault(VZE_HW_FAULT_MALFORMED);
    constexpr size_t header_words = sizeof(raw) / sizeof(uint64_t);
    if (words.size() != header_words + (raw.pattern_size + 7) / 8)
        return fault(VZE_HW_FAULT_MALFORMED);
    const auto bytes = std::as_bytes(words.subspan(header_words));
    std::copy(bytes.begin(), bytes.end(), command.pattern.begin());
    for (size_t i = raw.pattern_size; i < bytes.size(); i++) {
        if (command.pattern[i] != std::byte{0})
            return fault(VZE_HW_FAULT_MALFORMED);
    }
    if (raw.size > max_transfer)
        return fault(VZE_HW_FAULT_TOO_LARGE);
    command.dst = raw.dst;
    command.size = command.width = raw.size;
    command.pattern_size = raw.pattern_size;
    return out;
}

Decoded decode_region(std::span<const uint64_t> words, uint64_t max_transfer) {
    const auto raw = read<vze_hw_cmd_copy_region>(words);
    Decoded out;
    Command& command = out.command;

    if (raw.cmd.flags != 0 || raw.pad != 0 || raw.width == 0 || raw.height == 0 || raw.depth == 0)
        return fault(VZE_HW_FAULT_MALFORMED);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(uint64_t{raw.height} * raw.depth, uint64_t{raw.width}, &bytes) ||
        bytes > max_transfer)
        return fault(VZE_HW_FAULT_TOO_LARGE);
    command.dst = raw.dst;
    command.src = raw.src;
    command.size = bytes;
    command.width = raw.width;
    command.height = raw.height;
    command.depth = raw.depth;
    command.dst_pitch = raw.dst_pitch;
    command.dst_slice = raw.dst_slice;
    command.src_pitch = raw.src_pitch;
    command.src_slice = raw.src_slice;
    return out;
}

Decoded with_address(uint64_t address, uint64_t value, bool writes) {
    Decoded out;

    if ((address & 7) != 0) {
        out.fault = VZE_HW_FAULT_UNALIGNED;
        out.fault_va = address;
        out.fault_writes = writes;
        return out;
    }
    out.command.address = address;
    out.command.value = value;
    return out;
}

Decoded decode_semaphore(std::span<const uint64_t> words) {
    const auto raw = read<vze_hw_cmd_sem>(words);

    if (raw.cmd.opcode == VZE_HW_CMD_SEM_WAIT) {
        const uint32_t op = (raw.cmd.flags & kWaitOpMask) >> kWaitOpShift;
        if ((raw.cmd.flags & ~kWaitOpMask) != 0 || op > VZE_HW_WAIT_LT)
            return fault(VZE_HW_FAULT_MALFORMED);
        Decoded out = with_address(raw.addr, raw.value, false);
        out.command.wait_op = op;
        return out;
    }
    if ((raw.cmd.flags & ~VZE_HW_CMD_NOTIFY) != 0)
        return fault(VZE_HW_FAULT_MALFORMED);
    Decoded out = with_address(raw.addr, raw.value, true);
    out.command.notify = (raw.cmd.flags & VZE_HW_CMD_NOTIFY) != 0;
    return out;
}

Decoded decode_timestamp(std::span<const uint64_t> words) {
    const auto raw = read<vze_hw_cmd_timestamp>(words);

    if ((raw.cmd.flags & ~VZE_HW_CMD_NOTIFY) != 0)
        return fault(VZE_HW_FAULT_MALFORMED);
    Decoded out = with_address(raw.addr, 0, true);
    out.command.notify = (raw.cmd.flags & VZE_HW_CMD_NOTIFY) != 0;
    return out;
}

/** Length range of an opcode in words; {0, 0} when there is no such opcode. */
struct Lengths {
    uint32_t least;
    uint32_t most;
};

constexpr Lengths lengths(uint16_t opcode) {
    switch (opcode) {
    case VZE_HW_CMD_NOP:
    case VZE_HW_CMD_BARRIER:
    case VZE_HW_CMD_HANG:
        return {1, 1};
    case VZE_HW_CMD_COPY:
        return {4, 4};
    case VZE_HW_CMD_FILL:
        return {5, kMaxCommandWords};
    case VZE_HW_CMD_COPY_REGION:
        return {10, 10};
    case VZE_HW_CMD_SEM_SIGNAL:
    case VZE_HW_CMD_SEM_WAIT:
    case VZE_HW_CMD_ATOMIC_ADD:
        return {3, 3};
    case VZE_HW_CMD_TIMESTAMP:
        return {2, 2};
    default:
        return {0, 0};
    }
}

} // namespace

uint32_t command_length(uint64_t header, uint64_t available) {
    vze_hw_cmd cmd;
    std::memcpy(&cmd, &header, sizeof(cmd));
    const Lengths range = lengths(cmd.opcode);

    if (cmd.len == 0 || cmd.len < range.least || cmd.len > range.most || cmd.len > available)
        return 0;
    return cmd.len;
}

Decoded decode_command(std::span<const uint64_t> words, uint64_t max_transfer) {
    const auto cmd = read<vze_hw_cmd>(words);
    Decoded out;

    switch (cmd.opcode) {
    case VZE_HW_CMD_NOP:
    case VZE_HW_CMD_BARRIER:
    case VZE_HW_CMD_HANG:
        if (cmd.flags != 0)
            out = fault(VZE_HW_FAULT_MALFORMED);
        break;
    case VZE_HW_CMD_COPY:
        out = decode_copy(words, max_transfer);
        break;
    case VZE_HW_CMD_FILL:
        out = decode_fill(words, max_transfer);
        break;
    case VZE_HW_CMD_COPY_REGION:
        out = decode_region(words, max_transfer);
        break;
    case VZE_HW_CMD_SEM_SIGNAL:
    case VZE_HW_CMD_SEM_WAIT:
    case VZE_HW_CMD_ATOMIC_ADD:
        out = decode_semaphore(words);
        break;
    case VZE_HW_CMD_TIMESTAMP:
        out = decode_timestamp(words);
        break;
    default:
        out = fault(VZE_HW_FAULT_MALFORMED);
        break;
    }
    out.command.opcode = cmd.opcode;
    out.command.words = static_cast<uint16_t>(words.size());
    return out;
}

} // namespace vgpu
