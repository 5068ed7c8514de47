// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vgpu {

/** How bytes are written: into the caches, or past them when nobody reads them soon. */
enum class Stores { kCached, kStreamed };

/**
 * Copies @p size bytes at the speed of memory. The ranges may overlap, which gives undefined
 * contents within the destination. Streamed bytes are visible like all others when the call
 * returns.
 */
void move_bytes(std::byte* dst, const std::byte* src, size_t size, Stores stores);

/** A pattern repeated often enough that it can be written in long pieces. */
class FillPattern {
public:
    /**
     * Repeats @p pattern (1..128 bytes) into @p scratch, as often as a fill of @p size bytes can
     * use.
     * @p pattern and @p scratch must outlive the object.
     */
    FillPattern(std::span<const std::byte> pattern, uint64_t size, std::span<std::byte> scratch);

    /** One repetition. */
    std::span<const std::byte> unit() const { return unit_; }

    /** Fills @p size bytes, starting with byte @p phase (below the pattern's size). */
    void write(std::byte* dst, size_t size, uint64_t phase, Stores stores) const;

private:
    std::span<const std::byte> unit_;
    std::span<const std::byte> tile_; ///< whole repetitions, plus one more for the phase
    size_t stride_ = 0;               ///< whole repetitions in bytes
};

} // namespace vgpu
