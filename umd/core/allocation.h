// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

#include <drm/vze_drm.h>
#include <level_zero/ze_api.h>

#include "core/address_map.h"
#include "kmd/device_file.h"

namespace vze {

class Device;

/// When freed memory goes back.
enum class FreePolicy {
    Now,      ///< at once; work that still uses it faults
    Blocking, ///< the call waits for the work submitted before it
    Deferred, ///< by itself, when the work submitted before it has ended
};

/// What the descriptor chain of an allocation asks for; see parseAllocOptions().
struct AllocOptions {
    bool relaxedSize = false;  ///< may exceed maxMemAllocSize
    bool compressible = false; ///< hint: the content may be kept compressed
    bool readOnly = false;     ///< ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY
    bool exportable = false;   ///< an export descriptor was given
    std::optional<int> importFd;
    /// External memory of system origin to import (ze_external_memmap_sysmem_ext_desc_t).
    bool importSysmem = false;
    void* sysmem = nullptr;
    uint64_t sysmemSize = 0;
};

/// What the descriptor chain of zeMemGetIpcHandleWithProperties asks for.
struct IpcOptions {
    bool range = false; ///< share [ptr, ptr + rangeSize), whatever objects it consists of
    size_t rangeSize = 0;
};

/// The object's GEM handle on each device of a context, by position in Context::devices(); 0: none.
using GemHandles = std::vector<uint32_t>;

/// What other processes were given of an allocation: one dma-buf descriptor and one share.
struct ExportState {
    kmd::UniqueFd fd;
    dev_t fdDevice = 0; ///< the file behind fd, to recognise it
    ino_t fdInode = 0;
    bool fdExported = false; ///< the application asked for the descriptor itself: Put leaves it alone
    std::optional<drm_vze_share_token> token;
    uint32_t gets = 0; ///< zeMemGetIpcHandle calls not yet put
};

/// Memory that an API call allocated, imported or opened. Belongs to its context, which publishes it in
/// the address map last and removes it first.
struct Allocation {
    AllocationType type = AllocationType::Host;
    uint64_t base = 0;
    uint64_t size = 0;    ///< as mapped, a multiple of 4096
    uint64_t asked = 0;   ///< as asked for
    Device* device = nullptr; ///< owner, null for host memory
    GemHandles gem;
    bool readOnly = false;
    bool external = false; ///< imported dma-buf: belongs to someone else
    bool freeing = false;  ///< a free has begun: no other may
    uint64_t userOffset = 0; ///< IPC: what the pointer given out is beyond base
    ExportState exported;
    AddressMap::Record* record = nullptr;
};

/// A point in the work of one kernel queue, to wait for.
struct WorkFence {
    Device* device = nullptr;
    uint32_t syncobj = 0;
};

} // namespace vze
