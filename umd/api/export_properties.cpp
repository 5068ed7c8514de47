// SPDX-License-Identifier: MIT
#include "api/export_properties.h"

#include "core/context.h"
#include "core/descriptor_chain.h"
#include "core/log.h"

namespace vze {

ze_result_t exportProperties(Context& context, const void* memory, void* pNext) {
    return forEachProperty(pNext, [&](PropertyHeader& header) -> ze_result_t {
        if (header.stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD)
            return ZE_RESULT_SUCCESS;
        auto& exported = reinterpret_cast<ze_external_memory_export_fd_t&>(header);
        if (exported.flags != 0 && exported.flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)
            return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                        "flags 0x%x: only dma-buf is supported", exported.flags);
        return context.exportFd(memory, exported.fd);
    });
}

} // namespace vze
