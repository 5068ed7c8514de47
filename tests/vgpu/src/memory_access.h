// SPDX-License-Identifier: MIT
#pragma once

#include "address_space.h"
#include "move_bytes.h"

/**
 * @file
 * How bytes are read and written through translations: the one place that knows that a page in VRAM
 * may be cleared or compressed. Bytes are counted here, as those that really move.
 */
namespace vgpu {

/** Copies @p to.size bytes; @p from has at least as many. */
void copy_run(Section& section, const Run& to, const Run& from, Stores stores);

/** Fills @p to with @p pattern, starting with its byte @p phase. */
void fill_run(Section& section, const Run& to, const FillPattern& pattern, uint64_t phase,
              Stores stores);

/** Copies @p from into the device's own memory. */
void read_run(Section& section, std::byte* to, const Run& from);

/** Makes the memory of @p run directly usable: for words that are accessed atomically. */
void make_plain(Section& section, const Run& run);

} // namespace vgpu
