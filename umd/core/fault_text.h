// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <drm/vze_drm.h>

namespace vze {

/// What the driver knows about a fault beyond the kernel's record.
struct FaultOrigin {
    /// API call that appended the command, null when unknown.
    const char* call = nullptr;
    /// The nearest mapping in the application's terms ("import 7", "device allocation"), "" when
    /// unknown.
    std::string nearest;
    /// The host address that the application passed, when va lies in a temporary mapping; else 0.
    uint64_t hostAddress = 0;
};

/// Why a queue stopped, in one line without newline: the call, the access, the address, the reason
/// and the nearest allocation. For state OK the text says that nothing is known.
std::string faultText(const drm_vze_queue_state& state, const FaultOrigin& origin);

} // namespace vze
