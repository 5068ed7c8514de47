// SPDX-License-Identifier: MIT
#pragma once

#include "core/allocation.h"
#include "core/context.h"

namespace vze {

/// The calls whose chains parseAllocChain() understands: which structures belong differs.
enum class AllocCall { Device, Host, Shared, Physical };

/// Reads the chain of an allocation's descriptor and checks every structure's own fields. What
/// depends on the call's other arguments (sizes, alignment) is the caller's to check. Adds to @p
/// out, so that the two chains of zeMemAllocShared can be read into one.
ze_result_t parseAllocChain(const Context& context, AllocCall call, const void* pNext,
                            AllocOptions& out) noexcept;

/// ze_ipc_mem_handle_type_ext_desc_t of any call.
ze_result_t checkIpcHandleType(const ze_ipc_mem_handle_type_ext_desc_t& desc) noexcept;

} // namespace vze
