// SPDX-License-Identifier: MIT
#include "transfer.h"

#include "memory_access.h"
#include "move_bytes.h"

#include <algorithm>
#include <bit>

namespace vgpu {
namespace {

constexpr uint64_t kVaEnd = 1ULL << VZE_HW_VA_BITS;
/** Up to here splitting costs more than it gains. */
constexpr uint64_t kWhole = 512ULL << 10;
constexpr uint64_t kLeastChunk = 256ULL << 10;
/** From here on a transfer would only push everything else out of the caches. */
constexpr uint64_t kStreamed = 4ULL << 20;
/** Bounds a section's page walks when rows are short. */
constexpr uint64_t kMaxRows = 1024;

uint64_t divide_up(uint64_t value, uint64_t by) {
    return (value + by - 1) / by;
}

Fault linear_range(uint64_t va, uint64_t size, Access access) {
    if (va >= kVaEnd)
        return {VZE_HW_FAULT_NON_CANONICAL, access, va};
    if (size > kVaEnd - va)
        return {VZE_HW_FAULT_NON_CANONICAL, access, kVaEnd};
    return {};
}

} // namespace

Transfer::Transfer(const Command& command, unsigned engines)
    : command_(command), stores_(command.size >= kStreamed ? Stores::kStreamed : Stores::kCached) {
    const uint64_t share = std::bit_floor(std::max<uint64_t>(1, command.size / (4 * engines)));

    chunk_bytes_ = command.size <= kWhole ? Section::kMaxBytes
                                          : std::clamp(share, kLeastChunk, Section::kMaxBytes);
    if (command.opcode != VZE_HW_CMD_COPY_REGION) {
        // Boundaries are page boundaries of the destination, so that no two chunks share a page.
        const uint64_t head = command.dst & (VZE_HW_PAGE_SIZE - 1);
        if (command.size <= kWhole)
            chunks_ = 1;
        else
            chunks_ = divide_up(head + command.size, chunk_bytes_);
        return;
    }
    rows_ = uint64_t{command.height} * command.depth;
    if (command.width >= chunk_bytes_) {
        pieces_per_row_ = divide_up(command.width, chunk_bytes_);
        chunks_ = rows_ * pieces_per_row_;
    } else {
        rows_per_chunk_ = std::min(chunk_bytes_ / command.width, kMaxRows);
        chunks_ = divide_up(rows_, rows_per_chunk_);
    }
}

Fault Transfer::range_fault() const {
    // The rows of a region may lie anywhere; translation refuses them one by one.
    if (command_.opcode == VZE_HW_CMD_COPY) {
        if (Fault fault = linear_range(command_.src, command_.size, Access::kRead))
            return fault;
    }
    if (command_.opcode != VZE_HW_CMD_COPY_REGION)
        return linear_range(command_.dst, command_.size, Access::kWrite);
    return {};
}

TransferFault Transfer::run_chunk(uint64_t index, AddressSpaces& spaces, Engine& engine,
                                  uint32_t asid) const {
    Section section(spaces, engine, asid);

    return command_.opcode == VZE_HW_CMD_COPY_REGION ? run_rows(index, section)
                                                     : run_linear(index, section);
}

TransferFault Transfer::run_linear(uint64_t index, Section& section) const {
    uint64_t from = 0;
    uint64_t to = command_.size;

    if (chunks_ > 1) {
        const uint64_t head = command_.dst & (VZE_HW_PAGE_SIZE - 1);
        from = index == 0 ? 0 : index * chunk_bytes_ - head;
        to = std::min(command_.size, (index + 1) * chunk_bytes_ - head);
    }
    Fault fault;
    uint64_t first = 0;
    if (command_.opcode == VZE_HW_CMD_FILL) {
        fault = fill(section, command_.dst + from, to - from, from % command_.pattern_size);
        first = command_.dst;
    } else {
        fault = copy(section, command_.dst + from, command_.src + from, to - from);
        first = fault.access == Access::kWrite ? command_.dst : command_.src;
    }
    return {fault, fault.va - first};
}

TransferFault Transfer::run_rows(uint64_t index, Section& section) const {
    uint64_t row = 0;
    uint64_t last = 0;
    uint64_t x = 0;
    uint64_t width = command_.width;

    if (rows_per_chunk_ != 0) {
        row = index * rows_per_chunk_;
        last = std::min(rows_, row + rows_per_chunk_);
    } else {
        row = index / pieces_per_row_;
        last = row + 1;
        x = index % pieces_per_row_ * chunk_bytes_;
        width = std::min(width - x, chunk_bytes_);
    }
    for (; row < last; row++) {
        const uint64_t y = row % command_.height;
        const uint64_t z = row / command_.height;
        const uint64_t dst = command_.dst + z * command_.dst_slice + y * command_.dst_pitch + x;
        const uint64_t src = command_.src + z * command_.src_slice + y * command_.src_pitch + x;

        if (Fault fault = copy(section, dst, src, width)) {
            const uint64_t in_row = fault.va - (fault.access == Access::kWrite ? dst : src);
            return {fault, row * command_.width + x + in_row};
        }
    }
    return {};
}

Fault Transfer::copy(Section& section, uint64_t dst, uint64_t src, uint64_t size) const {
    while (size > 0) {
        const Run from = section.translate(src, size, Access::kRead);
        if (from.fault)
            return from.fault;
        const Run to = section.translate(dst, from.size, Access::kWrite);
        if (to.fault)
            return to.fault;
        copy_run(section, to, from, stores_);
        dst += to.size;
        src += to.size;
        size -= to.size;
    }
    return {};
}

Fault Transfer::fill(Section& section, uint64_t dst, uint64_t size, uint64_t phase) const {
    const FillPattern pattern({command_.pattern.data(), command_.pattern_size}, size,
                              section.engine().scratch);

    while (size > 0) {
        const Run to = section.translate(dst, size, Access::kWrite);
        if (to.fault)
            return to.fault;
        fill_run(section, to, pattern, phase, stores_);
        phase = (phase + to.size) % command_.pattern_size;
        dst += to.size;
        size -= to.size;
    }
    return {};
}

} // namespace vgpu
