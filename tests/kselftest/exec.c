// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_EXEC, _QUEUE_CREATE, _QUEUE_STATE: arguments, batches, syncobjs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(exec) {
	struct vze_gpu gpu;
	uint32_t data;
	volatile uint64_t *word;
};

FIXTURE_SETUP(exec)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->data));
	self->word = vze_gem_mmap(self->gpu.fd, self->data, SZ_64K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->data, 0, SZ_64K, VZE_VA, 0));
}

FIXTURE_TEARDOWN(exec)
{
	munmap((void *)self->word, SZ_64K);
	VZE_TEARDOWN(&self->gpu);
}

static int exec(int fd, uint32_t queue, const struct drm_vze_batch *batches, uint32_t num_batches,
		const struct drm_vze_sync *syncs, uint32_t num_syncs, uint64_t *seqno)
{
	struct drm_vze_exec args = {
		.queue_id = queue,
		.num_batches = num_batches,
		.num_syncs = num_syncs,
		.batches = (uintptr_t)batches,
		.syncs = (uintptr_t)syncs,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_EXEC, &args);

	if (seqno)
		*seqno = args.seqno;
	return ret;
}

VZE_TEST(exec, bad_arguments)
{
	static struct drm_vze_batch many[DRM_VZE_MAX_BATCHES + 1];
	struct drm_vze_batch good = { .addr = VZE_VA_CS, .size = 8 };
	struct drm_vze_batch bad[] = {
		{ .addr = VZE_VA_CS + 1, .size = 8 },
		{ .addr = VZE_VA_CS + 4, .size = 8 },
		{ .addr = VZE_VA_CS, .size = 7 },
		{ .addr = VZE_VA_CS, .size = 12 },
	};
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	struct drm_vze_sync bad_sync[] = {
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = 0 },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = 0x7777 },
		{ .flags = DRM_VZE_SYNC_WAIT, .handle = 0x7777 },
		{ .flags = DRM_VZE_SYNC_TIMELINE, .handle = 0x7777, .point = 1 },
	};
	int fd = self->gpu.fd, fd2;
	uint32_t queue = self->gpu.queue;
	struct drm_vze_sync unsubmitted;
	unsigned int i;
	uint64_t seqno;

	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
	ASSERT_EQ(0, vze_syncobj_create(fd, false, &sync.handle));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_EQ(-EINVAL, exec(fd, queue, &bad[i], 1, &sync, 1, NULL)) {
			TH_LOG("batch %u", i);
		}
	}
	for (i = 0; i < ARRAY_LEN(bad_sync); i++) {
		EXPECT_EQ(-ENOENT, exec(fd, queue, &good, 1, &bad_sync[i], 1, NULL)) {
			TH_LOG("sync %u", i);
		}
	}
	EXPECT_EQ(-EINVAL, exec(fd, queue, many, DRM_VZE_MAX_BATCHES + 1, &sync, 1, NULL));
	EXPECT_EQ(-EINVAL, exec(fd, queue, &good, ~0U, &sync, 1, NULL));
	EXPECT_EQ(-EINVAL, exec(fd, queue, &good, 1, &sync, DRM_VZE_MAX_SYNCS + 1, NULL));
	EXPECT_EQ(-EINVAL, exec(fd, queue, &good, 1, &sync, ~0U, NULL));
	EXPECT_EQ(-EFAULT, exec(fd, queue, (void *)64, 1, &sync, 1, NULL));
	EXPECT_EQ(-EFAULT, exec(fd, queue, (void *)~63UL, 1, &sync, 1, NULL));
	EXPECT_EQ(-EFAULT, exec(fd, queue, &good, 1, (void *)64, 1, NULL));
	EXPECT_EQ(-ENOENT, exec(fd, 0, &good, 1, &sync, 1, NULL));
	EXPECT_EQ(-ENOENT, exec(fd, queue + 1000, &good, 1, &sync, 1, NULL));
	EXPECT_EQ(-ENOENT, exec(fd, ~0U, &good, 1, &sync, 1, NULL));
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, exec(fd2, queue, &good, 1, NULL, 0, NULL));
	close(fd2);

	/* A wait for what nobody has submitted. */
	unsubmitted = (struct drm_vze_sync) { .handle = sync.handle };
	EXPECT_EQ(-EINVAL, exec(fd, queue, &good, 1, &unsubmitted, 1, NULL));

	/* The out-syncobj of all those is still empty, and the numbers did not move. */
	EXPECT_EQ(-ETIME, vze_syncobj_wait(fd, sync.handle, 20));
	ASSERT_EQ(0, exec(fd, queue, &good, 1, &sync, 1, &seqno));
	EXPECT_EQ(1, seqno);
	EXPECT_EQ(0, vze_syncobj_wait(fd, sync.handle, VZE_WAIT_MS));
}

VZE_TEST(exec, queues)
{
	struct drm_vze_queue_create create = { .vm_id = self->gpu.vm };
	struct drm_vze_queue_state state;
	uint32_t queue, priority;
	int fd2;

	for (priority = 0; priority < 3; priority++) {
		create.priority = priority;
		ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_QUEUE_CREATE, &create));
		EXPECT_NE(0, create.queue_id);
		EXPECT_NE(self->gpu.queue, create.queue_id);
		vze_cs_reset(&self->gpu.cs);
		vze_cs_signal(&self->gpu.cs, VZE_VA, priority + 1, 0);
		EXPECT_EQ(0, vze_run(self->gpu.fd, create.queue_id, &self->gpu.cs));
		EXPECT_EQ(priority + 1, self->word[0]);
		EXPECT_EQ(0, vze_queue_destroy(self->gpu.fd, create.queue_id));
		EXPECT_EQ(-ENOENT, vze_queue_destroy(self->gpu.fd, create.queue_id));
		EXPECT_EQ(-ENOENT, vze_queue_state(self->gpu.fd, create.queue_id, &state));
		EXPECT_EQ(-ENOENT, vze_run(self->gpu.fd, create.queue_id, &self->gpu.cs));
	}
	create.priority = 3;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_QUEUE_CREATE, &create));
	EXPECT_EQ(-ENOENT, vze_queue_create(self->gpu.fd, 0, &queue));
	EXPECT_EQ(-ENOENT, vze_queue_create(self->gpu.fd, self->gpu.vm + 1000, &queue));

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, vze_queue_state(fd2, self->gpu.queue, &state));
	EXPECT_EQ(-ENOENT, vze_queue_destroy(fd2, self->gpu.queue));
	close(fd2);

	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &state));
	EXPECT_EQ(self->gpu.queue, state.queue_id);
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_OK, state.state);
	EXPECT_EQ(0, state.va | state.batch | state.seqno | state.command | state.opcode |
		     state.reason | state.access | state.nearest_kind | state.nearest_placement |
		     state.nearest_addr | state.nearest_size | state.nearest_distance);
}

VZE_TEST(exec, batches_run_one_behind_the_other)
{
	enum { COUNT = DRM_VZE_MAX_BATCHES };
	struct drm_vze_batch *batches = calloc(COUNT, sizeof(*batches));
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	uint64_t seqno;
	uint32_t i;

	ASSERT_NE(NULL, batches);
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &sync.handle));
	/* Each copies the sum so far to its own place and adds its number. */
	for (i = 0; i < COUNT; i++) {
		batches[i].addr = self->gpu.cs.va + self->gpu.cs.used * 8;
		vze_cs_copy(&self->gpu.cs, VZE_VA + 8 * (i + 1), VZE_VA, 8);
		vze_cs_add(&self->gpu.cs, VZE_VA, i, 0);
		batches[i].size = self->gpu.cs.va + self->gpu.cs.used * 8 - batches[i].addr;
	}
	ASSERT_EQ(0, exec(self->gpu.fd, self->gpu.queue, batches, COUNT, &sync, 1, &seqno));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, sync.handle, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, sync.handle));
	EXPECT_EQ(1, seqno);
	EXPECT_EQ(COUNT * (COUNT - 1) / 2, self->word[0]);
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ((uint64_t)i * (i - 1) / 2, i ? self->word[i + 1] : 0);
	free(batches);
}

/* A job without batches is a point in the queue's order. */
VZE_TEST(exec, no_batches)
{
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	uint64_t seqno;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &sync.handle));
	ASSERT_EQ(0, exec(self->gpu.fd, self->gpu.queue, NULL, 0, &sync, 1, &seqno));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, sync.handle, VZE_WAIT_MS));

	ASSERT_EQ(0, vze_syncobj_reset(self->gpu.fd, sync.handle));
	vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, NULL, 0, NULL));
	ASSERT_EQ(0, exec(self->gpu.fd, self->gpu.queue, NULL, 0, &sync, 1, NULL));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, sync.handle, 200));
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, sync.handle, VZE_WAIT_MS));
	/* And nothing at all: no batches, no syncs. */
	EXPECT_EQ(0, exec(self->gpu.fd, self->gpu.queue, NULL, 0, NULL, 0, NULL));
}

VZE_TEST(exec, binary_syncobjs)
{
	struct vze_cs cs = self->gpu.cs;
	struct drm_vze_sync syncs[4];
	uint32_t queue2, i;

	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue2));
	memset(syncs, 0, sizeof(syncs));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, i == 3, &syncs[i].handle));
	/* One queue parks, then signals two; the other waits for both and a signalled one. */
	vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	vze_cs_signal(&cs, VZE_VA + 8, 0x21, 0);
	syncs[0].flags = DRM_VZE_SYNC_SIGNAL;
	syncs[1].flags = DRM_VZE_SYNC_SIGNAL;
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &cs, syncs, 2, NULL));

	cs.va += cs.used * 8;
	cs.base += cs.used;
	vze_cs_reset(&cs);
	vze_cs_copy(&cs, VZE_VA + 16, VZE_VA + 8, 8);
	syncs[0].flags = DRM_VZE_SYNC_WAIT;
	syncs[1].flags = DRM_VZE_SYNC_WAIT;
	syncs[2].flags = DRM_VZE_SYNC_SIGNAL;
	ASSERT_EQ(0, vze_exec(self->gpu.fd, queue2, &cs, syncs, 4, NULL));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncs[2].handle, 200));
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncs[2].handle, VZE_WAIT_MS));
	EXPECT_EQ(0x21, self->word[2]);
}

VZE_TEST(exec, timeline_syncobjs)
{
	struct drm_vze_sync syncs[2];
	uint32_t timeline, queue[2], i;
	uint64_t point;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &timeline));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
	vze_cs_add(&self->gpu.cs, VZE_VA, 1, 0);
	/* Two queues take turns: point n + 1 follows point n. */
	for (i = 0; i < 100; i++) {
		syncs[0] = (struct drm_vze_sync) {
			.flags = DRM_VZE_SYNC_TIMELINE, .handle = timeline, .point = i,
		};
		syncs[1] = (struct drm_vze_sync) {
			.flags = DRM_VZE_SYNC_TIMELINE | DRM_VZE_SYNC_SIGNAL,
			.handle = timeline, .point = i + 1,
		};
		ASSERT_EQ(0, vze_exec(self->gpu.fd, queue[i % 2], &self->gpu.cs,
				      i ? syncs : syncs + 1, i ? 2 : 1, NULL));
	}
	ASSERT_EQ(0, vze_timeline_wait(self->gpu.fd, timeline, 100, VZE_WAIT_MS));
	ASSERT_EQ(0, vze_timeline_query(self->gpu.fd, timeline, &point));
	EXPECT_EQ(100, point);
	EXPECT_EQ(100, self->word[0]);
}

VZE_TEST(exec, as_many_syncs_as_allowed)
{
	static struct drm_vze_sync syncs[DRM_VZE_MAX_SYNCS];
	uint32_t i;

	for (i = 0; i < DRM_VZE_MAX_SYNCS; i++) {
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, i % 2, &syncs[i].handle));
		syncs[i].flags = i % 2 ? DRM_VZE_SYNC_WAIT : DRM_VZE_SYNC_SIGNAL;
	}
	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncs,
			      DRM_VZE_MAX_SYNCS, NULL));
	for (i = 0; i < DRM_VZE_MAX_SYNCS; i += 2) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncs[i].handle, VZE_WAIT_MS));
		ASSERT_EQ(1, vze_syncobj_status(self->gpu.fd, syncs[i].handle));
	}
}

/* One syncobj as wait and signal of the same job: waits for the old fence. */
VZE_TEST(exec, same_syncobj_in_and_out)
{
	struct drm_vze_sync syncs[2];
	uint32_t handle, i;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, true, &handle));
	syncs[0] = (struct drm_vze_sync) { .handle = handle };
	syncs[1] = (struct drm_vze_sync) { .flags = DRM_VZE_SYNC_SIGNAL, .handle = handle };
	vze_cs_add(&self->gpu.cs, VZE_VA, 1, 0);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncs, 2,
				      NULL));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, handle, VZE_WAIT_MS));
	EXPECT_EQ(20, self->word[0]);
}

TEST_HARNESS_MAIN
