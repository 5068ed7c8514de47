// SPDX-License-Identifier: MIT
#include "statistics.h"

#include "gpu.h"

namespace vze::test {

vze_context_statistics_t contextStatistics(ze_context_handle_t context, ze_device_handle_t device) {
    vze_context_statistics_t statistics{};
    void* function = nullptr;
    EXPECT_OK(
        zeDriverGetExtensionFunctionAddress(driver(), "zexVzeContextGetStatistics", &function));
    if (function) {
        EXPECT_OK(reinterpret_cast<zexVzeContextGetStatistics_fn>(function)(context, device,
                                                                            &statistics));
    }
    return statistics;
}

} // namespace vze::test
