// SPDX-License-Identifier: MIT
#include "api/alloc_options.h"

#include <array>
#include <iterator>

#include "core/descriptor_chain.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr ze_external_memory_type_flags_t kKnownExternalTypes = 0xff;

// Relaxed limits: the extension and its experimental ancestor have the same layout and flag.
static_assert(sizeof(ze_relaxed_allocation_limits_ext_desc_t) ==
              sizeof(ze_relaxed_allocation_limits_exp_desc_t));

ze_result_t readRelaxed(const void* found, AllocOptions& out) noexcept {
    if (found == nullptr)
        return ZE_RESULT_SUCCESS;
    const auto& desc = *static_cast<const ze_relaxed_allocation_limits_ext_desc_t*>(found);
    constexpr uint32_t kMaxSize = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
    static_assert(kMaxSize == ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
    if ((desc.flags & ~kMaxSize) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                    "relaxed allocation limits: unknown bits in flags 0x%x", desc.flags);
    out.relaxedSize |= (desc.flags & kMaxSize) != 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t readCompression(const Context& context, const void* found, AllocOptions& out) noexcept {
    if (found == nullptr)
        return ZE_RESULT_SUCCESS;
    const auto& desc = *static_cast<const ze_memory_compression_hints_ext_desc_t*>(found);
    if (desc.flags != ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED &&
        desc.flags != ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                    "compression hint: flags 0x%x are not exactly one of COMPRESSED, UNCOMPRESSED",
                    desc.flags);
    for (const Device* device : context.devices()) {
        if (device->hasFeature(VZE_HW_FEATURE_COMPRESSION)) {
            out.compressible = desc.flags == ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED;
            return ZE_RESULT_SUCCESS;
        }
    }
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "compression hint: no device compresses");
}

ze_result_t checkExternalTypes(ze_external_memory_type_flags_t flags, const char* what) noexcept {
    if ((flags & ~kKnownExternalTypes) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: unknown bits in flags 0x%x", what,
                    flags);
    if ((flags & ~static_cast<uint32_t>(ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)) != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                    "%s: flags 0x%x: only dma-buf is supported", what, flags);
    return ZE_RESULT_SUCCESS;
}

ze_result_t readExternal(const void* exported, const void* imported, AllocOptions& out) noexcept {
    if (exported != nullptr) {
        const auto& desc = *static_cast<const ze_external_memory_export_desc_t*>(exported);
        const ze_result_t result = checkExternalTypes(desc.flags, "external memory export");
        if (result != ZE_RESULT_SUCCESS)
            return result;
        out.exportable = true;
    }
    if (imported != nullptr) {
        const auto& desc = *static_cast<const ze_external_memory_import_fd_t*>(imported);
        // 0 is the default, which is the one type that there is.
        const ze_result_t result = checkExternalTypes(desc.flags, "external memory import");
        if (result != ZE_RESULT_SUCCESS)
            return result;
        if (desc.fd < 0)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "external memory import: fd is %d",
                        desc.fd);
        out.importFd = desc.fd;
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t checkIpcHandleType(const ze_ipc_mem_handle_type_ext_desc_t& desc) noexcept {
    constexpr uint32_t kKnown =
        ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT | ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE;
    if ((desc.typeFlags & ~kKnown) != 0)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                    "IPC handle type: unknown bits in typeFlags 0x%x", desc.typeFlags);
    if ((desc.typeFlags & ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE) != 0)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "IPC handle type: there is no fabric");
    return ZE_RESULT_SUCCESS;
}

ze_result_t parseAllocChain(const Context& context, AllocCall call, const void* pNext,
                            AllocOptions& out) noexcept {
    const void* relaxed = nullptr;
    const void* relaxedExp = nullptr;
    const void* compression = nullptr;
    const void* ipcType = nullptr;
    const void* exported = nullptr;
    const void* imported = nullptr;
    const void* importedWin32 = nullptr;
    const void* raytracing = nullptr;
    const void* sysmem = nullptr;
    const bool memory = call != AllocCall::Physical;
    const bool shared = call == AllocCall::Shared;

    const struct {
        bool belongs; // to this call
        DescriptorSlot slot;
    } all[] = {
        {true, {ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, &compression}},
        {true, {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, &exported}},
        {!shared, {ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, &ipcType}},
        {!shared, {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, &imported}},
        {!shared, {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32, &importedWin32}},
        {memory, {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC, &relaxed}},
        {memory, {ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, &relaxedExp}},
        {call == AllocCall::Device || shared,
         {ZE_STRUCTURE_TYPE_RAYTRACING_MEM_ALLOC_EXT_DESC, &raytracing}},
        {call == AllocCall::Host, {ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC, &sysmem}},
    };
    std::array<DescriptorSlot, std::size(all)> slots{};
    size_t count = 0;
    for (const auto& entry : all)
        if (entry.belongs)
            slots[count++] = entry.slot;
    const char* why = nullptr;
    ze_result_t result = walkChain(pNext, {slots.data(), count}, why);
    if (result != ZE_RESULT_SUCCESS)
        return fail(result, "%s", why);

    if (raytracing != nullptr)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device does not trace rays");
    if (importedWin32 != nullptr)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "there are no Win32 handles here");
    if ((result = readRelaxed(relaxed, out)) != ZE_RESULT_SUCCESS ||
        (result = readRelaxed(relaxedExp, out)) != ZE_RESULT_SUCCESS ||
        (result = readCompression(context, compression, out)) != ZE_RESULT_SUCCESS ||
        (result = readExternal(exported, imported, out)) != ZE_RESULT_SUCCESS)
        return result;
    if (ipcType != nullptr) {
        result =
            checkIpcHandleType(*static_cast<const ze_ipc_mem_handle_type_ext_desc_t*>(ipcType));
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    if (sysmem != nullptr) {
        const auto& desc = *static_cast<const ze_external_memmap_sysmem_ext_desc_t*>(sysmem);
        out.importSysmem = true;
        out.sysmem = desc.pSystemMemory;
        out.sysmemSize = desc.size;
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
