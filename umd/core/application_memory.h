// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace vze {

/// Copy from and to memory of the application that may not be there, or not accessible that way.
/// The kernel does it, so that a bad pointer is an answer and not a signal. False when a byte could
/// not be copied.
bool readApplication(void* to, const void* from, size_t size) noexcept;
bool writeApplication(void* to, const void* from, size_t size) noexcept;

/// Whether the two work in this process: a sandbox may forbid the calls.
bool canReachApplication() noexcept;

} // namespace vze
