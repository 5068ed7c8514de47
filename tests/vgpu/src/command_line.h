// SPDX-License-Identifier: MIT
#pragma once

#include "device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu {

/** The command line. */
struct Options {
    std::string socket;
    std::string ram_file;
    uint64_t ram_size = 0;
    std::string counters_file; ///< empty: none is written
    DeviceOptions device;
};

/** A byte count with an optional suffix K, M or G (binary). None when it is not one or too large.
 */
std::optional<uint64_t> parse_size(std::string_view text);

/**
 * Parses the command line.
 * @return none when it is wrong; @p error then says why. An empty error means that help was asked
 * for.
 */
std::optional<Options> parse_options(int argc, char** argv, std::string& error);

/** The usage text. */
std::string_view usage();

} // namespace vgpu
