// SPDX-License-Identifier: MIT
#include <cstring>

#include "fixture.h"

using namespace vze::test;

namespace {

class Context : public GpuTest {};

TEST_F(Context, CreateForSomeDevices) {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    ze_device_handle_t device = device_;
    ASSERT_OK(zeContextCreateEx(driver_, &desc, 1, &device, &context));
    EXPECT_OK(zeContextGetStatus(context));
    {
        Buffer buffer = Buffer::device(context, device_, kPage);
        ImmediateList list(context, device_);
        EXPECT_OK(list.fill(buffer.get(), 1, kPage));
    }
    EXPECT_OK(zeContextDestroy(context));
}

TEST_F(Context, DescriptorWithoutType) {
    if (parameterValidationActive())
        GTEST_SKIP() << "the validation layer refuses structures without a type";
    ze_context_desc_t desc{};
    ze_context_handle_t context = nullptr;
    ASSERT_OK(zeContextCreate(driver_, &desc, &context));
    EXPECT_OK(zeContextDestroy(context));
}

TEST_F(Context, Errors) {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(driver_, nullptr, &context));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(driver_, &desc, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_SIZE,
              zeContextCreateEx(driver_, &desc, 1, nullptr, &context));
    desc.flags = 0x10;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeContextCreate(driver_, &desc, &context));
}

TEST_F(Context, ManyAtOnce) {
    std::vector<ze_context_handle_t> contexts;
    for (int i = 0; i < 24; i++)
        contexts.push_back(makeContext());
    // Each has its own address space: the same memory can be imported in all of them.
    Mapping memory = Mapping::anonymous(kPage);
    memory.bytes()[0] = 1;
    for (ze_context_handle_t context : contexts) {
        ASSERT_NE(nullptr, context);
        void* pointer = nullptr;
        EXPECT_OK(importMemory(context, memory.get(), kPage, &pointer));
    }
    for (ze_context_handle_t context : contexts) {
        EXPECT_OK(zeMemFree(context, memory.get()));
        EXPECT_OK(zeContextDestroy(context));
    }
}

TEST_F(Context, MemoryOfOneIsUnknownInAnother) {
    ze_context_handle_t other = makeContext();
    Buffer buffer = Buffer::device(context_, device_, kPage);
    EXPECT_EQ(ZE_MEMORY_TYPE_UNKNOWN, allocInfo(other, buffer.get()).type);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(other, buffer.get()));
    EXPECT_EQ(ZE_MEMORY_TYPE_DEVICE, allocInfo(context_, buffer.get()).type);
    EXPECT_OK(zeContextDestroy(other));
}

TEST_F(Context, Residency) {
    Buffer buffer = Buffer::device(context_, device_, 4 * kPage);
    EXPECT_OK(zeContextMakeMemoryResident(context_, device_, buffer.get(), 4 * kPage));
    EXPECT_OK(zeContextEvictMemory(context_, device_, buffer.get(), 4 * kPage));
    EXPECT_OK(list().fill(buffer.get(), 9, 4 * kPage)) << "placement never moves";
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeContextMakeMemoryResident(context_, device_, nullptr, kPage));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeContextEvictMemory(context_, device_, nullptr, kPage));
}

TEST_F(Context, SystemBarrier) {
    EXPECT_OK(zeContextSystemBarrier(context_, device_));
}

TEST_F(Context, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextDestroy(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextGetStatus(nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextSystemBarrier(context_, nullptr));
}

} // namespace
