// SPDX-License-Identifier: MIT
#include "core/descriptor_chain.h"

#include <algorithm>
#include <cstdint>

#include "core/log.h"
#include "level_zero/ze_ipc_phys_mem_handle_range_ext.h"

namespace vze {

namespace {

constexpr unsigned kMaxChain = 64;

} // namespace

bool isKnownDescriptor(ze_structure_type_t stype) noexcept {
    switch (static_cast<uint32_t>(stype)) {
    case ZE_STRUCTURE_TYPE_CONTEXT_DESC:
    case ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC:
    case ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC:
    case ZE_STRUCTURE_TYPE_EVENT_POOL_DESC:
    case ZE_STRUCTURE_TYPE_EVENT_DESC:
    case ZE_STRUCTURE_TYPE_FENCE_DESC:
    case ZE_STRUCTURE_TYPE_IMAGE_DESC:
    case ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC:
    case ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_WIN32:
    case ZE_STRUCTURE_TYPE_MODULE_DESC:
    case ZE_STRUCTURE_TYPE_KERNEL_DESC:
    case ZE_STRUCTURE_TYPE_SAMPLER_DESC:
    case ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC:
    case ZE_STRUCTURE_TYPE_RAYTRACING_MEM_ALLOC_EXT_DESC:
    case ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC:
    case ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC:
    case ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC:
    case ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC:
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC:
    case ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC:
    case ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC:
        return true;
    default:
        return false;
    }
}

ze_result_t walkChain(const void* pNext, std::span<const DescriptorSlot> slots,
                      const char*& why) noexcept {
    for (const DescriptorSlot& slot : slots)
        *slot.found = nullptr;
    unsigned length = 0;
    for (auto* header = static_cast<const DescriptorHeader*>(pNext); header != nullptr;
         header = static_cast<const DescriptorHeader*>(header->pNext)) {
        if (++length > kMaxChain) {
            why = "pNext: the chain has more than 64 structures, or is a cycle";
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        }
        auto slot = std::find_if(slots.begin(), slots.end(), [header](const DescriptorSlot& s) {
            return s.stype == header->stype;
        });
        if (slot != slots.end()) {
            if (*slot->found != nullptr) {
                why = "pNext: the same structure is in the chain twice";
                return ZE_RESULT_ERROR_INVALID_ARGUMENT;
            }
            *slot->found = header;
        } else if (isKnownDescriptor(header->stype)) {
            why = "pNext: a structure in the chain does not belong to this call";
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        }
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t parseChain(const void* pNext, std::initializer_list<DescriptorSlot> slots) noexcept {
    const char* why = nullptr;
    const ze_result_t result = walkChain(pNext, {slots.begin(), slots.size()}, why);
    return result == ZE_RESULT_SUCCESS ? result : fail(result, "%s", why);
}

} // namespace vze
