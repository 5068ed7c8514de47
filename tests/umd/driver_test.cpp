// SPDX-License-Identifier: MIT
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "fixture.h"
#include "statistics.h"

using namespace vze::test;

namespace {

class Driver : public GpuTest {};

TEST_F(Driver, ApiVersion) {
    ze_api_version_t version{};
    EXPECT_OK(zeDriverGetApiVersion(driver_, &version));
    EXPECT_EQ(1u, ZE_MAJOR_VERSION(version));
    EXPECT_GE(ZE_MINOR_VERSION(version), 13u);
}

TEST_F(Driver, Properties) {
    ze_driver_properties_t first{};
    first.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    EXPECT_OK(zeDriverGetProperties(driver_, &first));
    EXPECT_NE(0u, first.driverVersion);
    const ze_driver_uuid_t none{};
    EXPECT_NE(0, std::memcmp(&none, &first.uuid, sizeof none));
    ze_driver_properties_t second{};
    second.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    EXPECT_OK(zeDriverGetProperties(driver_, &second));
    EXPECT_EQ(0, std::memcmp(&first.uuid, &second.uuid, sizeof first.uuid));
}

TEST_F(Driver, StructuresWithoutTypeAreAccepted) {
    ze_driver_properties_t properties{};
    EXPECT_OK(zeDriverGetProperties(driver_, &properties));
    EXPECT_NE(0u, properties.driverVersion);
}

TEST_F(Driver, FreePoliciesAreReportedAsListed) {
    ze_driver_memory_free_ext_properties_t policies{};
    policies.stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES;
    ze_driver_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    properties.pNext = &policies;
    EXPECT_OK(zeDriverGetProperties(driver_, &properties));
    const uint32_t both = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                          ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
    if (hasExtension(ZE_MEMORY_FREE_POLICIES_EXT_NAME))
        EXPECT_EQ(both, policies.freePolicies);
    else
        EXPECT_NE(both, policies.freePolicies) << "both policies work, but are not listed";
}

TEST_F(Driver, Extensions) {
    uint32_t count = 0;
    ASSERT_OK(zeDriverGetExtensionProperties(driver_, &count, nullptr));
    ASSERT_GT(count, 0u);
    std::vector<ze_driver_extension_properties_t> extensions(count + 4);
    uint32_t asked = count + 4;
    ASSERT_OK(zeDriverGetExtensionProperties(driver_, &asked, extensions.data()));
    EXPECT_EQ(count, asked) << "a larger count must come back as the real one";
    std::set<std::string> names;
    for (uint32_t i = 0; i < count; i++) {
        EXPECT_TRUE(names.insert(extensions[i].name).second) << "twice: " << extensions[i].name;
        EXPECT_NE(0u, extensions[i].version) << extensions[i].name;
    }
    // The memory extensions: by the names that programs look for, each in its first version.
    const char* const memory[] = {
        "ZE_extension_memory_free_policies",         "ZE_extension_relaxed_allocation_limits",
        "ZE_experimental_relaxed_allocation_limits", "ZE_extension_memory_compression_hints",
        "ZE_extension_external_memmap_sysmem",       "ZE_extension_ipc_mem_handle_type",
        "ZE_extension_ipc_phys_mem_handle_range",
    };
    for (const char* name : memory) {
        EXPECT_EQ(1u, names.count(name)) << name;
        for (uint32_t i = 0; i < count; i++) {
            if (std::strcmp(extensions[i].name, name) == 0) {
                EXPECT_EQ(uint32_t{ZE_MAKE_VERSION(1, 0)}, extensions[i].version) << name;
            }
        }
    }
    uint32_t one = 1;
    std::vector<ze_driver_extension_properties_t> some(2);
    EXPECT_OK(zeDriverGetExtensionProperties(driver_, &one, some.data()));
    EXPECT_EQ(1u, one);
    EXPECT_STREQ(extensions[0].name, some[0].name);
    EXPECT_STREQ("", some[1].name) << "wrote behind the given count";
}

TEST_F(Driver, ExtensionFunctions) {
    for (const char* name : {"zexDriverImportExternalPointer", "zexDriverReleaseImportedPointer",
                             "zexDriverGetHostPointerBaseAddress", "zexVzeContextGetStatistics"}) {
        void* function = nullptr;
        EXPECT_OK(zeDriverGetExtensionFunctionAddress(driver_, name, &function)) << name;
        EXPECT_NE(nullptr, function) << name;
    }
    void* function = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeDriverGetExtensionFunctionAddress(driver_, "zexNoSuchFunction", &function));
    EXPECT_EQ(nullptr, function);
}

TEST_F(Driver, Statistics) {
    void* address = nullptr;
    ASSERT_OK(zeDriverGetExtensionFunctionAddress(driver_, "zexVzeContextGetStatistics", &address));
    auto statistics = reinterpret_cast<zexVzeContextGetStatistics_fn>(address);
    vze_context_statistics_t s{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, statistics(nullptr, device_, &s));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, statistics(context_, nullptr, &s));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, statistics(context_, device_, nullptr));
    const auto before = contextStatistics(context_, device_);
    EXPECT_EQ(0u, before.stale_uses);
    EXPECT_GE(before.pt_pages, 1u);
    Mapping memory = Mapping::anonymous(5 * kPage);
    std::memset(memory.get(), 1, memory.size());
    Buffer import = Buffer::import(context_, memory.get(), 5 * kPage);
    const auto mapped = contextStatistics(context_, device_);
    EXPECT_EQ(before.pte_4k + 5, mapped.pte_4k);
    EXPECT_EQ(before.mappings + 1, mapped.mappings);
    import.reset();
    const auto after = contextStatistics(context_, device_);
    EXPECT_EQ(before.pte_4k, after.pte_4k);
    EXPECT_EQ(before.mappings, after.mappings);
    EXPECT_GT(after.tlb_invalidations, mapped.tlb_invalidations);
}

TEST_F(Driver, IpcProperties) {
    ze_driver_ipc_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES;
    EXPECT_OK(zeDriverGetIpcProperties(driver_, &properties));
    EXPECT_TRUE(properties.flags & ZE_IPC_PROPERTY_FLAG_MEMORY);
    EXPECT_FALSE(properties.flags & ZE_IPC_PROPERTY_FLAG_FABRIC_ACCESSIBLE);
}

TEST_F(Driver, LastErrorNamesTheCallAndIsOfTheThread) {
    int notAllocated = 0;
    ASSERT_NE(ZE_RESULT_SUCCESS, zeMemFree(context_, &notAllocated));
    const char* text = nullptr;
    ASSERT_OK(zeDriverGetLastErrorDescription(driver_, &text));
    ASSERT_NE(nullptr, text);
    EXPECT_NE(nullptr, std::strstr(text, "zeMemFree")) << text;
    std::string ofThread;
    std::thread([&] {
        const char* other = nullptr;
        if (zeDriverGetLastErrorDescription(driver_, &other) == ZE_RESULT_SUCCESS && other)
            ofThread = other;
    }).join();
    EXPECT_EQ("", ofThread);
}

TEST_F(Driver, NullPointers) {
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDriverGetApiVersion(driver_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDriverGetProperties(driver_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDriverGetIpcProperties(driver_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDriverGetExtensionProperties(driver_, nullptr, nullptr));
    void* function = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDriverGetExtensionFunctionAddress(driver_, nullptr, &function));
    EXPECT_ZE(
        ZE_RESULT_ERROR_INVALID_NULL_POINTER,
        zeDriverGetExtensionFunctionAddress(driver_, "zexDriverImportExternalPointer", nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeDriverGetLastErrorDescription(driver_, nullptr));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDeviceGet(driver_, nullptr, nullptr));
}

TEST_F(Driver, NullHandles) {
    SKIP_WITHOUT_DIRECT_HANDLES();
    ze_driver_properties_t properties{};
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDriverGetProperties(nullptr, &properties));
    uint32_t count = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDeviceGet(nullptr, &count, nullptr));
    ze_context_desc_t desc{};
    ze_context_handle_t context = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextCreate(nullptr, &desc, &context));
}

} // namespace
