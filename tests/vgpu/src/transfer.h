// SPDX-License-Identifier: MIT
#pragma once

#include "address_space.h"
#include "command_decoder.h"
#include "move_bytes.h"

#include <cstdint>

namespace vgpu {

/** A fault of a transfer, with its place in the order in which bytes are moved. */
struct TransferFault {
    Fault fault;
    uint64_t position = 0; ///< byte index in the transfer
};

/**
 * A COPY, FILL or COPY_REGION cut into chunks that may run in any order on any thread, each inside
 * one section. It holds no state of its progress.
 */
class Transfer {
public:
    Transfer() = default;
    /** Cuts @p command, for which is_transfer() holds, for @p engines threads. */
    Transfer(const Command& command, unsigned engines);

    uint64_t chunks() const { return chunks_; }

    /** The fault of a range beyond 48 bits, to be raised before anything is moved. */
    Fault range_fault() const;

    /** Moves chunk @p index, in a section of its own in @p asid. */
    TransferFault run_chunk(uint64_t index, AddressSpaces& spaces, Engine& engine,
                            uint32_t asid) const;

private:
    TransferFault run_linear(uint64_t index, Section& section) const;
    TransferFault run_rows(uint64_t index, Section& section) const;
    Fault copy(Section& section, uint64_t dst, uint64_t src, uint64_t size) const;
    Fault fill(Section& section, uint64_t dst, uint64_t size, uint64_t phase) const;

    Command command_;
    Stores stores_ = Stores::kCached;
    uint64_t chunk_bytes_ = 0;    ///< linear: distance of chunk boundaries in the destination
    uint64_t rows_ = 0;           ///< region: rows in all
    uint64_t rows_per_chunk_ = 0; ///< region: 0 when a row is longer than a chunk
    uint64_t pieces_per_row_ = 0; ///< region: chunks of a row then
    uint64_t chunks_ = 0;
};

} // namespace vgpu
