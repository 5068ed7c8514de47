// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vze {

/// Where an encoder puts commands. A reservation is one command and stays in one piece.
class CommandSink {
public:
    /// Room for @p words 8-byte words that are all written before the next call; null when memory
    /// has run out. Counts as one command.
    virtual uint64_t* reserve(size_t words) = 0;

protected:
    ~CommandSink() = default;
};

/// Copy of a box of rows between two strided arrangements, addresses already at the box's corner.
///
/// Row y of slice z goes from src + z * srcSlice + y * srcPitch to dst + z * dstSlice + y *
/// dstPitch.
struct RegionCopy {
    uint64_t dst = 0;
    uint64_t src = 0;
    uint64_t width = 0;  ///< bytes in a row
    uint64_t height = 0; ///< rows in a slice
    uint64_t depth = 0;  ///< slices
    uint64_t dstPitch = 0;
    uint64_t dstSlice = 0;
    uint64_t srcPitch = 0;
    uint64_t srcSlice = 0;
};

/// Writes device commands (drm/vze_hw.h) and splits transfers into what one command can move.
///
/// Every function returns false when the sink has no memory; the commands written so far then stay,
/// and the caller drops them with the sink's own means. A transfer of no bytes writes nothing.
class CommandEncoder {
public:
    /// @p maxTransfer: drm_vze_query_device::max_transfer, a power of two not below
    /// VZE_HW_MAX_PATTERN.
    CommandEncoder(CommandSink& sink, uint64_t maxTransfer) noexcept
        : m_sink(sink), m_maxTransfer(maxTransfer) {}

    bool copy(uint64_t dst, uint64_t src, uint64_t size);
    /// @p pattern: 1..VZE_HW_MAX_PATTERN bytes.
    bool fill(uint64_t dst, uint64_t size, std::span<const std::byte> pattern);
    bool copyRegion(RegionCopy region);

    /// Stores @p value to the 64-bit word at @p address. @p notify: wakes sleepers of the kernel.
    bool signal(uint64_t address, uint64_t value, bool notify);
    /// Parks the queue until (*address @p op value); @p op: VZE_HW_WAIT_*.
    bool wait(uint64_t address, uint32_t op, uint64_t value);
    bool atomicAdd(uint64_t address, uint64_t value, bool notify);
    /// Stores the device clock to the 64-bit word at @p address.
    bool timestamp(uint64_t address);
    bool barrier();

private:
    bool emitRegion(const RegionCopy& region);
    bool semaphore(uint16_t opcode, uint32_t flags, uint64_t address, uint64_t value);

    CommandSink& m_sink;
    const uint64_t m_maxTransfer;
};

} // namespace vze
