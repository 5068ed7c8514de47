// SPDX-License-Identifier: MIT
#include "core/command_encoder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <drm/vze_hw.h>

namespace vze {

namespace {

constexpr size_t wordsOf(size_t bytes) noexcept {
    return (bytes + 7) / 8;
}

template <typename Command>
bool put(CommandSink& sink, const Command& command) {
    static_assert(sizeof(Command) % 8 == 0);
    uint64_t* words = sink.reserve(sizeof(Command) / 8);
    if (words == nullptr)
        return false;
    std::memcpy(words, &command, sizeof(Command));
    return true;
}

template <typename Command>
constexpr vze_hw_cmd header(uint16_t opcode, uint32_t flags = 0) noexcept {
    return {.opcode = opcode, .len = static_cast<uint16_t>(sizeof(Command) / 8), .flags = flags};
}

} // namespace

bool CommandEncoder::copy(uint64_t dst, uint64_t src, uint64_t size) {
    while (size != 0) {
        const uint64_t piece = std::min(size, m_maxTransfer);
        const vze_hw_cmd_copy command = {
            .cmd = header<vze_hw_cmd_copy>(VZE_HW_CMD_COPY), .dst = dst, .src = src, .size = piece};
        if (!put(m_sink, command))
            return false;
        dst += piece;
        src += piece;
        size -= piece;
    }
    return true;
}

bool CommandEncoder::fill(uint64_t dst, uint64_t size, std::span<const std::byte> pattern) {
    // Each piece starts with the first byte of the pattern.
    const uint64_t whole = m_maxTransfer - m_maxTransfer % pattern.size();
    const size_t words = sizeof(vze_hw_cmd_fill) / 8 + wordsOf(pattern.size());
    while (size != 0) {
        const uint64_t piece = std::min(size, whole);
        uint64_t* out = m_sink.reserve(words);
        if (out == nullptr)
            return false;
        const vze_hw_cmd_fill command = {
            .cmd = {.opcode = VZE_HW_CMD_FILL, .len = static_cast<uint16_t>(words), .flags = 0},
            .dst = dst,
            .size = piece,
            .pattern_size = static_cast<uint32_t>(pattern.size()),
            .pad = 0};
        out[words - 1] = 0;
        std::memcpy(out, &command, sizeof(command));
        std::memcpy(out + sizeof(command) / 8, pattern.data(), pattern.size());
        dst += piece;
        size -= piece;
    }
    return true;
}

bool CommandEncoder::emitRegion(const RegionCopy& region) {
    const vze_hw_cmd_copy_region command = {
        .cmd = header<vze_hw_cmd_copy_region>(VZE_HW_CMD_COPY_REGION),
        .dst = region.dst,
        .src = region.src,
        .width = region.width,
        .height = static_cast<uint32_t>(region.height),
        .depth = static_cast<uint32_t>(region.depth),
        .dst_pitch = region.dstPitch,
        .dst_slice = region.dstSlice,
        .src_pitch = region.srcPitch,
        .src_slice = region.srcSlice,
        .pad = 0,
    };
    return put(m_sink, command);
}

bool CommandEncoder::copyRegion(RegionCopy region) {
    if (region.width == 0 || region.height == 0 || region.depth == 0)
        return true;
    // Rows, then slices, that follow each other without a gap on both sides are one longer row.
    if (region.height > 1 && region.dstPitch == region.width && region.srcPitch == region.width) {
        region.width *= region.height;
        region.height = 1;
    }
    if (region.height == 1 && region.depth > 1 && region.dstSlice == region.width &&
        region.srcSlice == region.width) {
        region.width *= region.depth;
        region.depth = 1;
    }
    if (region.height == 1 && region.depth == 1)
        return copy(region.dst, region.src, region.width);

    constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();
    const uint64_t rowPiece = std::min(region.width, m_maxTransfer);
    const uint64_t rows = std::min({region.height, m_maxTransfer / rowPiece, kMaxCount});
    const uint64_t slices =
        rows == region.height
            ? std::min({region.depth, std::max<uint64_t>(m_maxTransfer / (rowPiece * rows), 1),
                        kMaxCount})
            : 1;
    for (uint64_t z = 0; z < region.depth; z += slices) {
        for (uint64_t y = 0; y < region.height; y += rows) {
            for (uint64_t x = 0; x < region.width; x += rowPiece) {
                RegionCopy piece = region;
                piece.dst += z * region.dstSlice + y * region.dstPitch + x;
                piece.src += z * region.srcSlice + y * region.srcPitch + x;
                piece.width = std::min(rowPiece, region.width - x);
                piece.height = std::min(rows, region.height - y);
                piece.depth = std::min(slices, region.depth - z);
                const bool ok = piece.height == 1 && piece.depth == 1
                                    ? copy(piece.dst, piece.src, piece.width)
                                    : emitRegion(piece);
                if (!ok)
                    return false;
            }
        }
    }
    return true;
}

bool CommandEncoder::semaphore(uint16_t opcode, uint32_t flags, uint64_t address, uint64_t value) {
    const vze_hw_cmd_sem command = {
        .cmd = header<vze_hw_cmd_sem>(opcode, flags), .addr = address, .value = value};
    return put(m_sink, command);
}

bool CommandEncoder::signal(uint64_t address, uint64_t value, bool notify) {
    return semaphore(VZE_HW_CMD_SEM_SIGNAL, notify ? VZE_HW_CMD_NOTIFY : 0, address, value);
}

bool CommandEncoder::wait(uint64_t address, uint32_t op, uint64_t value) {
    return semaphore(VZE_HW_CMD_SEM_WAIT, VZE_HW_CMD_WAIT_OP(op), address, value);
}

bool CommandEncoder::atomicAdd(uint64_t address, uint64_t value, bool notify) {
    return semaphore(VZE_HW_CMD_ATOMIC_ADD, notify ? VZE_HW_CMD_NOTIFY : 0, address, value);
}

bool CommandEncoder::timestamp(uint64_t address) {
    const vze_hw_cmd_timestamp command = {.cmd = header<vze_hw_cmd_timestamp>(VZE_HW_CMD_TIMESTAMP),
                                          .addr = address};
    return put(m_sink, command);
}

bool CommandEncoder::barrier() {
    return put(m_sink, header<vze_hw_cmd>(VZE_HW_CMD_BARRIER));
}

} // namespace vze
