// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "gpu.h"
#include "process.h"

namespace vze::test {

/** A test with the driver, the first device and a context of all devices that ends with the test.
 */
class GpuTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /** The test's own synchronous way to the first device, made at first use. */
    ImmediateList& list();
    /** Lets list() start anew, after its queue was stopped by a fault. */
    void dropList() { list_.reset(); }

    /** What the device reads there, by way of a host allocation. */
    std::vector<uint8_t> readBack(const void* pointer, size_t size);
    /** Puts the pattern of this seed there, by way of a host allocation. */
    void writeByDevice(void* pointer, size_t size, uint32_t seed);

    ze_context_handle_t makeContext();

    ze_driver_handle_t driver_ = nullptr;
    ze_device_handle_t device_ = nullptr;
    ze_context_handle_t context_ = nullptr;

private:
    std::unique_ptr<ImmediateList> list_;
};

/** Skips in the loader modes where a null handle cannot reach the driver. */
#define SKIP_WITHOUT_DIRECT_HANDLES()                                                              \
    do {                                                                                           \
        if (::vze::test::loaderInterceptsHandles())                                                \
            GTEST_SKIP() << "the loader looks into handles in this mode";                          \
    } while (0)

} // namespace vze::test
