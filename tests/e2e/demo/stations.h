// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace vze::demo {

/** Takes the file through every station; throws Failure at the first wrong byte, call or figure. */
void runStations(const std::string& path);

} // namespace vze::demo
