// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>

#include "core/allocation.h"

namespace vze {

/// A system-memory object of the driver's own, bound on every device of a context and mapped by the
/// CPU, from which HostVisibleBlocks are cut.
struct InternalSlab {
    uint64_t base = 0;
    uint64_t size = 0;
    uint64_t used = 0;
    bool dedicated = false;
    GemHandles gem;
    ExportIds exported;                ///< dedicated ones only
    std::map<uint64_t, uint64_t> free; ///< start -> size, coalesced
};

} // namespace vze
