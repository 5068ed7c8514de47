// SPDX-License-Identifier: MIT
#pragma once

#include <level_zero/ze_api.h>

namespace vze {

class Context;

/// Answers ze_external_memory_export_fd_t in the chain of a properties query: the dma-buf
/// descriptor of an allocation, or of a physical object whose handle is cast to a pointer.
ze_result_t exportProperties(Context& context, const void* memory, void* pNext);

} // namespace vze
