// SPDX-License-Identifier: MIT
// The rules for chains of descriptors: any place, each once, only where they belong, unknown ones
// skipped.
#include <cstring>

#include "fixture.h"

using namespace vze::test;

namespace {

struct Unknown {
    ze_structure_type_t stype;
    const void* pNext;
    uint64_t payload[3];
};

Unknown unknownDesc(const void* next = nullptr) {
    return {static_cast<ze_structure_type_t>(0x7654321), next, {1, 2, 3}};
}

ze_memory_compression_hints_ext_desc_t compression(uint32_t flags, const void* next = nullptr) {
    ze_memory_compression_hints_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC;
    desc.pNext = next;
    desc.flags = flags;
    return desc;
}

class DescriptorChain : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        memory_ = Mapping::anonymous(2 * kPage);
        ASSERT_TRUE(memory_);
        memory_.bytes()[0] = 1;
    }
    ze_result_t allocHost(const void* chain) {
        auto desc = hostDesc(chain);
        void* pointer = nullptr;
        ze_result_t result = zeMemAllocHost(context_, &desc, 2 * kPage, 0, &pointer);
        if (result == ZE_RESULT_SUCCESS) {
            imported_ = allocInfo(context_, pointer).type == ZE_MEMORY_TYPE_HOST_IMPORTED;
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        return result;
    }
    ze_result_t allocDevice(const void* chain) {
        auto desc = deviceDesc(chain);
        void* pointer = nullptr;
        ze_result_t result = zeMemAllocDevice(context_, &desc, 2 * kPage, 0, device_, &pointer);
        if (result == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemFree(context_, pointer));
        }
        return result;
    }
    Mapping memory_;
    bool imported_ = false;
};

TEST_F(DescriptorChain, UnknownTypesAreSkipped) {
    Unknown last = unknownDesc();
    auto external = importDesc(memory_.get(), 2 * kPage, &last);
    Unknown first = unknownDesc(&external);
    ASSERT_OK(allocHost(&first));
    EXPECT_TRUE(imported_);
    EXPECT_OK(allocHost(&last));
    EXPECT_FALSE(imported_);
    EXPECT_OK(allocDevice(&last));
}

TEST_F(DescriptorChain, ImportBesideOthersAtAnyPlace) {
    if (!hasExtension(ZE_MEMORY_COMPRESSION_HINTS_EXT_NAME) ||
        !hasExtension(ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME))
        GTEST_SKIP() << "the driver does not list the other descriptors of zeMemAllocHost";
    ze_relaxed_allocation_limits_ext_desc_t relaxed{};
    relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
    auto hint = compression(ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED);
    auto external = importDesc(memory_.get(), 2 * kPage);
    // import, hint, relaxed
    external.pNext = &hint;
    hint.pNext = &relaxed;
    EXPECT_OK(allocHost(&external));
    EXPECT_TRUE(imported_);
    // relaxed, hint, import
    imported_ = false;
    hint.pNext = &external;
    external.pNext = nullptr;
    relaxed.pNext = &hint;
    EXPECT_OK(allocHost(&relaxed));
    EXPECT_TRUE(imported_);
}

TEST_F(DescriptorChain, TheSameTwiceIsInvalid) {
    auto second = importDesc(memory_.get(), 2 * kPage);
    Unknown between = unknownDesc(&second);
    auto first = importDesc(memory_.get(), 2 * kPage, &between);
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocHost(&first));
    EXPECT_EQ(0u, pinnedBytes());
    ze_external_memory_export_desc_t exportAgain{};
    exportAgain.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    exportAgain.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    ze_external_memory_export_desc_t exportFirst = exportAgain;
    exportFirst.pNext = &exportAgain;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocDevice(&exportFirst));
}

TEST_F(DescriptorChain, TypesOfOtherCallsAreInvalid) {
    ze_memory_free_ext_desc_t freeDesc{};
    freeDesc.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocHost(&freeDesc));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocDevice(&freeDesc));
    ze_physical_mem_desc_t physical{};
    physical.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocDevice(&physical));
}

TEST_F(DescriptorChain, LongChainsAndCycles) {
    std::vector<Unknown> chain(40);
    auto external = importDesc(memory_.get(), 2 * kPage);
    for (size_t i = 0; i < chain.size(); i++)
        chain[i] =
            unknownDesc(i + 1 < chain.size() ? static_cast<const void*>(&chain[i + 1]) : &external);
    ASSERT_OK(allocHost(chain.data()));
    EXPECT_TRUE(imported_);
    // A chain without an end is told apart from a long one.
    chain.back().pNext = &chain[3];
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT, allocHost(chain.data()));
}

TEST_F(DescriptorChain, CompressionHint) {
    const bool listed = hasExtension(ZE_MEMORY_COMPRESSION_HINTS_EXT_NAME);
    if (!listed) {
        auto hint = compression(ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED);
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, allocDevice(&hint));
        return;
    }
    for (uint32_t flags : {1u, 2u}) {
        auto hint = compression(flags);
        EXPECT_OK(allocDevice(&hint)) << flags;
        EXPECT_OK(allocHost(&hint)) << flags;
    }
    for (uint32_t flags : {0u, 3u, 4u, 5u}) {
        auto hint = compression(flags);
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocDevice(&hint)) << flags;
        EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocHost(&hint)) << flags;
    }
}

TEST_F(DescriptorChain, IpcHandleType) {
    if (!hasExtension(ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME)) {
        ze_ipc_mem_handle_type_ext_desc_t type{};
        type.stype = ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC;
        EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, allocDevice(&type));
        return;
    }
    ze_ipc_mem_handle_type_ext_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC;
    for (uint32_t flags : {0u, uint32_t{ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT}}) {
        type.typeFlags = flags;
        EXPECT_OK(allocDevice(&type));
        EXPECT_OK(allocHost(&type));
    }
    type.typeFlags = ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, allocDevice(&type));
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, allocHost(&type));
    type.typeFlags = 4;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocDevice(&type));
}

} // namespace
