// SPDX-License-Identifier: MIT
// What the device lacks answers with the code that lets a client go on without it.
#include "fixture.h"

using namespace vze::test;

namespace {

class Unsupported : public GpuTest {};

TEST_F(Unsupported, ModulesAnswerUnsupportedVersion) {
    const uint8_t spirv[] = {3, 2, 0x23, 7};
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = sizeof spirv;
    desc.pInputModule = spirv;
    ze_module_handle_t module = nullptr;
    ze_module_build_log_handle_t log = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
              zeModuleCreate(context_, device_, &desc, &module, &log));
    EXPECT_EQ(nullptr, module);
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
              zeModuleCreate(context_, device_, &desc, &module, nullptr));
}

TEST_F(Unsupported, Images) {
    ze_image_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC;
    desc.type = ZE_IMAGE_TYPE_2D;
    desc.width = 16;
    desc.height = 16;
    ze_image_handle_t image = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, zeImageCreate(context_, device_, &desc, &image));
    EXPECT_EQ(nullptr, image);
    ze_image_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeImageGetProperties(device_, &desc, &properties));
}

TEST_F(Unsupported, Samplers) {
    ze_sampler_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC;
    ze_sampler_handle_t sampler = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeSamplerCreate(context_, device_, &desc, &sampler));
    EXPECT_EQ(nullptr, sampler);
}

TEST_F(Unsupported, CacheReservation) {
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, zeDeviceReserveCacheExt(device_, 3, 4096));
}

TEST_F(Unsupported, RayTracing) {
    ze_rtas_builder_exp_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_RTAS_BUILDER_EXP_DESC;
    ze_rtas_builder_exp_handle_t builder = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeRTASBuilderCreateExp(driver_, &desc, &builder));
}

TEST_F(Unsupported, FabricVertices) {
    uint32_t count = 0;
    ze_result_t result = zeFabricVertexGetExp(driver_, &count, nullptr);
    EXPECT_TRUE(result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || count == 0) << Result{result};
}

TEST_F(Unsupported, ExternalSemaphores) {
    ze_external_semaphore_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_EXT_DESC;
    ze_external_semaphore_ext_handle_t semaphore = nullptr;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeDeviceImportExternalSemaphoreExt(device_, &desc, &semaphore));
}

TEST_F(Unsupported, MemoryPitches) {
    size_t pitch = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              zeMemGetPitchFor2dImage(context_, device_, 64, 64, 4, &pitch));
}

TEST_F(Unsupported, NothingOfItIsListed) {
    for (const char* name :
         {"ZE_extension_image_copy", "ZE_extension_raytracing", "ZE_extension_rtas",
          "ZE_experimental_rtas_builder", "ZE_extension_external_semaphores",
          "ZE_experimental_module_program", "ZE_experimental_mutable_command_list",
          "ZE_experimental_bindless_image"})
        EXPECT_FALSE(hasExtension(name)) << name;
}

} // namespace
