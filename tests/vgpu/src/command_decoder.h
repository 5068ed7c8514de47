// SPDX-License-Identifier: MIT
#pragma once

#include <drm/vze_hw.h>

#include <array>
#include <cstdint>
#include <span>

namespace vgpu {

/** Longest command in 8-byte words: a FILL with the longest pattern. */
inline constexpr uint32_t kMaxCommandWords = 4 + VZE_HW_MAX_PATTERN / 8;

/** A command in the device's own memory, checked, with all that its execution needs. */
struct Command {
    uint16_t opcode = VZE_HW_CMD_NOP;
    uint16_t words = 1; ///< length in the batch
    bool notify = false;
    uint32_t wait_op = VZE_HW_WAIT_EQ;

    uint64_t dst = 0; ///< COPY, FILL, COPY_REGION
    uint64_t src = 0;
    uint64_t size = 0; ///< bytes in all
    uint64_t width = 0;
    uint32_t height = 1;
    uint32_t depth = 1;
    uint64_t dst_pitch = 0;
    uint64_t dst_slice = 0;
    uint64_t src_pitch = 0;
    uint64_t src_slice = 0;
    uint32_t pattern_size = 0;
    std::array<std::byte, VZE_HW_MAX_PATTERN> pattern{};

    uint64_t address = 0; ///< SEM_*, ATOMIC_ADD, TIMESTAMP
    uint64_t value = 0;

    bool is_transfer() const {
        return opcode == VZE_HW_CMD_COPY || opcode == VZE_HW_CMD_FILL ||
               opcode == VZE_HW_CMD_COPY_REGION;
    }
};

/** Result of decoding: @ref fault is 0 or VZE_HW_FAULT_MALFORMED, TOO_LARGE or UNALIGNED. */
struct Decoded {
    uint32_t fault = 0;
    uint64_t fault_va = 0; ///< for UNALIGNED: the address in question
    bool fault_writes = false;
    Command command;
};

/**
 * Checks the first word of a command and returns the command's length in words, or 0 when it is
 * malformed. @p available is what the batch holds from this word on, in words.
 */
uint32_t command_length(uint64_t header, uint64_t available);

/**
 * Decodes a command. @p words is the device's private copy of exactly command_length() words, so
 * that nobody can change it after the checks.
 */
Decoded decode_command(std::span<const uint64_t> words, uint64_t max_transfer);

} // namespace vgpu
