// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <level_zero/ze_api.h>

#include "core/access_map.h"
#include "core/address_map.h"
#include "core/export_table.h"
#include "core/ipc_handle.h"
#include "core/va_reservation.h"

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

/// A number that no other allocation of the process had or will have.
uint64_t nextAllocationId() noexcept;

/// Memory that an API call allocated, imported or opened. Belongs to its context, which publishes
/// it in the address map last and removes it first.
struct Allocation {
    AllocationType type = AllocationType::Host;
    uint64_t base = 0;
    uint64_t size = 0;        ///< as mapped, a multiple of 4096
    Device* device = nullptr; ///< owner, null for host memory
    GemHandles gem;
    bool readOnly = false;
    bool external = false; ///< imported dma-buf: belongs to someone else
    bool freeing = false;  ///< a free has begun: no other may
    uint64_t userBase = 0; ///< what the application sees as base and size
    uint64_t userSize = 0;
    IpcKind ipcKind = IpcKind::Object; ///< of opened memory: what the handle was of
    AccessMap access;                  ///< of opened memory; under the context's m_virtualMutex
    ExportIds exported;
    ImportedRange imported; ///< of HostImported, until it is unbound
    AddressMap::Record* record = nullptr;
};

} // namespace vze
