// SPDX-License-Identifier: MIT
/* The watchdog: a queue that runs without progress is reset, one that waits is not. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define HANG_MS	"3000"

FIXTURE(hang) {
	struct vze_gpu gpu;
	uint32_t data;
	volatile uint64_t *word;
	char old_timeout[32];
};

FIXTURE_SETUP(hang)
{
	long old;

	VZE_SETUP(&self->gpu);
	old = vze_param_get("hang_timeout_ms");
	ASSERT_LT(0, old);
	snprintf(self->old_timeout, sizeof(self->old_timeout), "%ld", old);
	ASSERT_EQ(0, vze_param_set("hang_timeout_ms", HANG_MS));
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->data));
	self->word = vze_gem_mmap(self->gpu.fd, self->data, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->data, 0, SZ_4K, VZE_VA, 0));
}

FIXTURE_TEARDOWN(hang)
{
	EXPECT_EQ(0, vze_param_set("hang_timeout_ms", self->old_timeout));
	munmap((void *)self->word, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(hang, queue_is_reset)
{
	struct vze_cs other = self->gpu.cs;
	struct drm_vze_queue_state state;
	uint32_t hung, behind, queue2;

	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue2));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &hung));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &behind));
	vze_cs_signal(&self->gpu.cs, VZE_VA, 1, 0);
	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_HANG);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 2, 0);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, hung));
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, behind));

	/* Others do not notice. */
	other.va += SZ_64K;
	other.base += SZ_64K / 8;
	vze_cs_add(&other, VZE_VA + 8, 1, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, queue2, &other));

	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, hung, VZE_WAIT_MS));
	EXPECT_EQ(-ETIME, vze_syncobj_status(self->gpu.fd, hung));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, behind, VZE_WAIT_MS));
	EXPECT_EQ(-ECANCELED, vze_syncobj_status(self->gpu.fd, behind));
	EXPECT_EQ(1, self->word[0]);
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_HUNG,
		  vze_queue_wait_state(self->gpu.fd, self->gpu.queue, DRM_VZE_QUEUE_STATE_HUNG));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &state));
	EXPECT_EQ(0, state.va | state.reason | state.command | state.nearest_kind);
	EXPECT_EQ(-ECANCELED, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	EXPECT_EQ(-ECANCELED, vze_fence_wait(self->gpu.fd, (void *)self->word, VZE_HW_WAIT_EQ, 7,
					     self->gpu.queue, -1));

	ASSERT_EQ(0, vze_run(self->gpu.fd, queue2, &other));
	EXPECT_EQ(2, self->word[1]);
	/* The next queue is a good one. */
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	vze_cs_reset(&self->gpu.cs);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 3, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	EXPECT_EQ(3, self->word[0]);
}

/* Several hang at once; the bystander goes on. */
VZE_TEST(hang, several)
{
	uint32_t queue[4], syncobj[4];
	unsigned int i;

	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_HANG);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, queue[i], &self->gpu.cs, syncobj[i]));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], 2 * VZE_WAIT_MS));
		EXPECT_EQ(-ETIME, vze_syncobj_status(self->gpu.fd, syncobj[i]));
	}
	vze_cs_reset(&self->gpu.cs);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 3, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
}

/* Waiting is no hang, however long. */
VZE_TEST(hang, parked_queue_is_left_alone)
{
	uint32_t syncobj;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	vze_cs_signal(&self->gpu.cs, VZE_VA + 8, 1, 0);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj, 10000));
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, syncobj));
	EXPECT_EQ(1, self->word[1]);
}

/* A queue that does a lot, and therefore moves, is no hang either. */
VZE_TEST(hang, long_work_is_left_alone)
{
	uint32_t vram, i;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, 32 * SZ_1M, DRM_VZE_PLACEMENT_VRAM, 0, &vram));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, vram, 0, 32 * SZ_1M, VZE_VA + SZ_1G, 0));
	for (i = 0; i < 500; i++)
		vze_cs_copy(&self->gpu.cs, VZE_VA + SZ_1G, VZE_VA + SZ_1G + 16 * SZ_1M,
			    16 * SZ_1M);
	EXPECT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
}

TEST_HARNESS_MAIN
