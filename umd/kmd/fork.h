// SPDX-License-Identifier: MIT
#pragma once

namespace vze::kmd {

/// Whether this process is a child that forked after the devices were opened. Nothing of the driver
/// can be used in it: what changes the driver's own state must not begin, because the kernel's part
/// of it belongs to the parent and is refused (see DeviceFile).
bool openedBeforeFork() noexcept;

} // namespace vze::kmd
