// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <cstring>

namespace vze::test {

void GpuTest::SetUp() {
    ASSERT_TRUE(initDriver());
    driver_ = driver();
    device_ = devices().front();
    context_ = makeContext();
    ASSERT_NE(context_, nullptr);
}

void GpuTest::TearDown() {
    list_.reset();
    if (context_) {
        EXPECT_OK(zeContextDestroy(context_));
    }
}

ze_context_handle_t GpuTest::makeContext() {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    EXPECT_OK(zeContextCreate(driver_, &desc, &context));
    return context;
}

ImmediateList& GpuTest::list() {
    if (!list_)
        list_ = std::make_unique<ImmediateList>(context_, device_);
    return *list_;
}

std::vector<uint8_t> GpuTest::readBack(const void* pointer, size_t size) {
    Buffer host = Buffer::host(context_, size);
    std::vector<uint8_t> bytes(size);
    if (!host)
        return bytes;
    EXPECT_OK(list().copy(host.get(), pointer, size));
    std::memcpy(bytes.data(), host.get(), size);
    return bytes;
}

void GpuTest::writeByDevice(void* pointer, size_t size, uint32_t seed) {
    Buffer host = Buffer::host(context_, size);
    if (!host)
        return;
    writePattern(host.get(), size, seed);
    EXPECT_OK(list().copy(pointer, host.get(), size));
}

} // namespace vze::test
