// SPDX-License-Identifier: MIT
/* Order within a queue, queues beside each other, many queues that park. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define PARKED	256

FIXTURE(order) {
	struct vze_gpu gpu;
	uint32_t data;
	volatile uint64_t *word;
};

FIXTURE_SETUP(order)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->data));
	self->word = vze_gem_mmap(self->gpu.fd, self->data, SZ_1M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->data, 0, SZ_1M, VZE_VA, 0));
}

FIXTURE_TEARDOWN(order)
{
	munmap((void *)self->word, SZ_1M);
	VZE_TEARDOWN(&self->gpu);
}

/* The stream behind what @cs holds, so that the words of running jobs stay. */
static struct vze_cs next(const struct vze_cs *cs)
{
	struct vze_cs rest = *cs;

	rest.va += cs->used * 8;
	rest.base += cs->used;
	rest.size -= cs->used;
	rest.used = 0;
	return rest;
}

/* Far more jobs than a ring has entries; each copies the sum before it adds. */
VZE_TEST(order, jobs_of_a_queue)
{
	enum { JOBS = 5000 };
	struct vze_cs cs = self->gpu.cs;
	uint64_t seqno;
	unsigned int i, wrong = 0;
	uint32_t syncobj;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	for (i = 0; i < JOBS; i++) {
		struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL, .handle = syncobj };

		vze_cs_copy(&cs, VZE_VA + 8 * (i + 1), VZE_VA, 8);
		vze_cs_add(&cs, VZE_VA, 1, 0);
		ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &cs, &sync, i == JOBS - 1,
				      &seqno));
		ASSERT_EQ(i + 1, seqno);
		cs = next(&cs);
	}
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, 3 * VZE_WAIT_MS));
	ASSERT_EQ(1, vze_syncobj_status(self->gpu.fd, syncobj));
	EXPECT_EQ(JOBS, self->word[0]);
	for (i = 0; i < JOBS; i++)
		wrong += self->word[i + 1] != i;
	EXPECT_EQ(0, wrong);
}

/* The waiting queue was submitted first: only parallel queues get through. */
VZE_TEST(order, queues_beside_each_other)
{
	enum { ROUNDS = 200 };
	struct vze_cs cs = self->gpu.cs;
	uint32_t queue[2], syncobj[2];
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		/* Each waits for the other's last number, then gives its own. */
		for (k = 0; k < ROUNDS; k++) {
			vze_cs_wait(&cs, VZE_VA + 64 * (1 - i), VZE_HW_WAIT_GE, i ? k + 1 : k);
			vze_cs_signal(&cs, VZE_VA + 64 * i, k + 1, 0);
		}
		ASSERT_EQ(0, vze_submit(self->gpu.fd, queue[i], &cs, syncobj[i]));
		cs = next(&cs);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
		EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, syncobj[i]));
		EXPECT_EQ(ROUNDS, self->word[8 * i]);
	}
}

VZE_TEST(order, many_parked_queues)
{
	static uint32_t queue[PARKED], syncobj[PARKED];
	struct vze_cs cs = self->gpu.cs;
	unsigned int i;

	for (i = 0; i < PARKED; i++) {
		int ret = vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]);

		/* The fixture has one queue of its own. */
		if (ret == -ENOSPC && i >= PARKED - 1)
			break;
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_GE, i + 1);
		vze_cs_add(&cs, VZE_VA + 8, 1, 0);
		ASSERT_EQ(0, vze_submit(self->gpu.fd, queue[i], &cs, syncobj[i]));
		cs = next(&cs);
	}
	/* Parked queues are in nobody's way. */
	vze_cs_signal(&cs, VZE_VA + 16, 0x33, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &cs));
	EXPECT_EQ(0x33, self->word[2]);
	EXPECT_EQ(0, self->word[1]);

	/* Half of them by the device, the rest by the CPU. */
	cs = next(&cs);
	vze_cs_signal(&cs, VZE_VA, PARKED / 2, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &cs));
	for (i = 0; i < PARKED / 2; i++)
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
	EXPECT_EQ(PARKED / 2, self->word[1]);
	if (syncobj[PARKED - 1])
		EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj[PARKED - 1], 100));
	self->word[0] = PARKED;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	for (i = 0; i < PARKED && syncobj[i]; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
		ASSERT_EQ(1, vze_syncobj_status(self->gpu.fd, syncobj[i]));
	}
	EXPECT_EQ(i, self->word[1]);
}

/* Out-syncobj of one queue as in-syncobj of the next: data goes along the chain. */
VZE_TEST(order, chain_of_queues)
{
	enum { LENGTH = 32 };
	uint32_t queue[LENGTH], syncobj[LENGTH];
	struct vze_cs cs = self->gpu.cs;
	unsigned int i;

	for (i = 0; i < LENGTH; i++) {
		struct drm_vze_sync syncs[2];

		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		syncs[0] = (struct drm_vze_sync) {
			.flags = DRM_VZE_SYNC_SIGNAL, .handle = syncobj[i],
		};
		syncs[1] = (struct drm_vze_sync) { .handle = i ? syncobj[i - 1] : 0 };
		if (!i)
			vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
		vze_cs_copy(&cs, VZE_VA + SZ_4K * (i + 1), VZE_VA + SZ_4K * i, SZ_4K);
		vze_cs_add(&cs, VZE_VA + SZ_4K * (i + 1) + 8, 1, 0);
		ASSERT_EQ(0, vze_exec(self->gpu.fd, queue[i], &cs, syncs, i ? 2 : 1, NULL));
		cs = next(&cs);
	}
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj[LENGTH - 1], 100));
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[LENGTH - 1], VZE_WAIT_MS));
	EXPECT_EQ(LENGTH, self->word[LENGTH * 512 + 1]);
}

/* One word, added to by many queues at once: nothing is lost. */
VZE_TEST(order, atomic_adds_of_many_queues)
{
	enum { QUEUES = 16, ADDS = 500 };
	uint32_t queue[QUEUES], syncobj[QUEUES];
	unsigned int i;

	for (i = 0; i < ADDS; i++)
		vze_cs_add(&self->gpu.cs, VZE_VA, 1, 0);
	for (i = 0; i < QUEUES; i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, queue[i], &self->gpu.cs, syncobj[i]));
	}
	for (i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
	EXPECT_EQ(QUEUES * ADDS, self->word[0]);
}

TEST_HARNESS_MAIN
