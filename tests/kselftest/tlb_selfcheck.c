// SPDX-License-Identifier: MIT
/*
 * Shows that the device's strict mode sees a driver that forgets to invalidate: with
 * the module's switch on, stale uses must be counted. Not in the run list: run it in
 * a VM of its own, whose figures count for nothing afterwards.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define OUT	(VZE_VA + SZ_1G)

FIXTURE(tlb_selfcheck) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(tlb_selfcheck)
{
	struct drm_vze_query_device device;
	uint32_t size = sizeof(device);

	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_DEVICE, &device, &size));
	if (!(device.features & VZE_HW_FEATURE_STRICT))
		SKIP(return, "the device's strict mode is off");
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
}

FIXTURE_TEARDOWN(tlb_selfcheck)
{
	EXPECT_EQ(0, vze_param_set("skip_tlb_invalidate", "0"));
	vze_gpu_close(&self->gpu);
}

/* The device reads a page, the page is replaced, the device reads again. */
static int replace_and_read(struct __test_metadata *_metadata, FIXTURE_DATA(tlb_selfcheck) *self)
{
	uint32_t handle[2], out;
	int i, ret = 0;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, out, 0, SZ_4K, OUT, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle[i]));
	for (i = 0; i < 8 && !ret; i++) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle[i % 2], 0, SZ_4K, VZE_VA,
				     0));
		ret = vze_gpu_copy(&self->gpu, OUT, VZE_VA, 8);
	}
	return ret;
}

VZE_TEST(tlb_selfcheck, with_invalidations)
{
	ASSERT_EQ(0, replace_and_read(_metadata, self));
	EXPECT_EQ(self->gpu.stale_before, vze_figure(&self->gpu, "vze_hw_counters", "stale_uses"));
}

VZE_TEST(tlb_selfcheck, without_invalidations)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;

	ASSERT_EQ(0, vze_param_set("skip_tlb_invalidate", "1"));
	ASSERT_EQ(1, vze_param_get("skip_tlb_invalidate"));
	ASSERT_EQ(0, replace_and_read(_metadata, self));
	/* The device writes its counters every 100 ms. */
	while (vze_figure(&self->gpu, "vze_hw_counters", "stale_uses") == self->gpu.stale_before &&
	       vze_now_ms() < end)
		vze_sleep_ms(50);
	EXPECT_LT(self->gpu.stale_before, vze_figure(&self->gpu, "vze_hw_counters", "stale_uses"));
}

TEST_HARNESS_MAIN
