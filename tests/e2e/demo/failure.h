// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace vze::demo {

/** Ends the demonstration: what went wrong, for a reader who has only this line. */
class Failure : public std::runtime_error {
public:
    explicit Failure(const std::string& text) : std::runtime_error(text) {}
};

/** One line of progress, visible at once. */
[[gnu::format(printf, 1, 2)]] void progress(const char* format, ...);

[[gnu::format(printf, 1, 2)]] std::string textOf(const char* format, ...);

} // namespace vze::demo
