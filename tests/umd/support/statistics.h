// SPDX-License-Identifier: MIT
#pragma once

#include "result.h"
#include "vze/vze_ext.h"

namespace vze::test {

/** Figures of the context's address space on a device; all zero (a test failure) when not to be
 * had. */
vze_context_statistics_t contextStatistics(ze_context_handle_t context, ze_device_handle_t device);

} // namespace vze::test
