// SPDX-License-Identifier: MIT
/* VM_BIND with syncobjs: waiting before, signalling after, and ASYNC. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define WORD	VZE_VA
#define TARGET	(VZE_VA + SZ_1G)

/* A parked job gives a fence that signals when the test says so. */
FIXTURE(async) {
	struct vze_gpu gpu;
	uint32_t word_handle, a, b, gate, done;
	volatile uint64_t *word;
	uint32_t parker;
	struct vze_cs park;
};

FIXTURE_SETUP(async)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_queue_create(gpu->fd, gpu->vm, &self->parker));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->word_handle));
	self->word = vze_gem_mmap(gpu->fd, self->word_handle, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->word_handle, 0, SZ_4K, WORD, 0));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &self->a));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &self->b));
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->gate));
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->done));
	ASSERT_EQ(0, vze_cs_create(gpu, &self->park, VZE_VA_CS + SZ_2M, SZ_4K));
	vze_cs_wait(&self->park, WORD, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_submit(gpu->fd, self->parker, &self->park, self->gate));
}

FIXTURE_TEARDOWN(async)
{
	munmap((void *)self->word, SZ_4K);
	munmap(self->park.base, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

static int open_gate(FIXTURE_DATA(async) *self)
{
	self->word[0] = 1;
	return vze_fence_wake(self->gpu.fd);
}

static int bind(FIXTURE_DATA(async) *self, uint32_t flags, uint32_t op, uint32_t handle,
		uint64_t addr, uint32_t wait, uint32_t signal)
{
	struct drm_vze_bind_op bind = {
		.op = op, .handle = handle, .range = SZ_64K, .addr = addr,
	};
	struct drm_vze_sync syncs[2];
	unsigned int count = 0;

	memset(syncs, 0, sizeof(syncs));
	if (wait)
		syncs[count++].handle = wait;
	if (signal) {
		syncs[count].flags = DRM_VZE_SYNC_SIGNAL;
		syncs[count++].handle = signal;
	}
	return vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, flags, &bind, 1, syncs, count);
}

VZE_TEST(async, map_after_a_wait)
{
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->a, TARGET,
			  self->gate, self->done));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done, 200));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	ASSERT_EQ(0, open_gate(self));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, self->done));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));
}

VZE_TEST(async, unmap_after_a_wait)
{
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->a, 0, SZ_64K, TARGET, 0));
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_UNMAP, 0, TARGET, self->gate,
			  self->done));
	/* Its handle may go: the mapping has the object. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->a));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done, 200));
	ASSERT_EQ(0, open_gate(self));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
}

/* Binds of a VM keep their order, whatever each waits for. */
VZE_TEST(async, order)
{
	uint32_t second, third;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &second));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &third));
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->a, TARGET,
			  self->gate, self->done));
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->b, TARGET, 0,
			  second));
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->b,
			  TARGET + SZ_64K, 0, third));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, third, 200));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, second, 50));
	ASSERT_EQ(0, open_gate(self));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, third, VZE_WAIT_MS));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, second, 0));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, 0));
	/* The later map won: both addresses show b. */
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, 8, 0x5151));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORD + 64, TARGET + SZ_64K, 8));
	EXPECT_EQ(0x5151, self->word[8]);
}

/* A job that waits for the bind's syncobj sees the mapping. */
VZE_TEST(async, job_behind_a_bind)
{
	struct drm_vze_sync syncs[2] = {
		{ .handle = self->done },
		{ .flags = DRM_VZE_SYNC_SIGNAL },
	};

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncs[1].handle));
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->a, TARGET,
			  self->gate, self->done));
	vze_cs_fill(&self->gpu.cs, TARGET, 8, &(uint64_t) { 0x1212 }, 8);
	vze_cs_copy(&self->gpu.cs, WORD + 64, TARGET, 8);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncs, 2, NULL));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncs[1].handle, 200));
	ASSERT_EQ(0, open_gate(self));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncs[1].handle, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, syncs[1].handle));
	EXPECT_EQ(0x1212, self->word[8]);
}

VZE_TEST(async, timeline)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = self->a, .range = SZ_64K, .addr = TARGET,
	};
	struct drm_vze_sync syncs[3] = {
		{ .flags = DRM_VZE_SYNC_TIMELINE, .point = 5 },
		{ .flags = DRM_VZE_SYNC_TIMELINE | DRM_VZE_SYNC_SIGNAL, .point = 9 },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done },
	};
	uint32_t timeline, other;
	uint64_t point;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &timeline));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &other));
	ASSERT_EQ(0, vze_timeline_signal(self->gpu.fd, timeline, 5));
	syncs[0].handle = timeline;
	syncs[1].handle = other;
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       syncs, 3));
	ASSERT_EQ(0, vze_timeline_wait(self->gpu.fd, other, 9, VZE_WAIT_MS));
	ASSERT_EQ(0, vze_timeline_query(self->gpu.fd, other, &point));
	EXPECT_EQ(9, point);
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));

	/* Nobody has submitted what point 6 is: refused, nothing done. */
	syncs[0].point = 6;
	op.addr = TARGET + SZ_64K;
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC,
					     &op, 1, syncs, 1));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SZ_64K, 8, 1));
}

static void *open_gate_later(void *arg)
{
	FIXTURE_DATA(async) *self = arg;

	vze_sleep_ms(300);
	open_gate(self);
	return NULL;
}

/* Without ASYNC the call itself waits. */
VZE_TEST(async, call_waits)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, open_gate_later, self));
	ASSERT_EQ(0, bind(self, 0, DRM_VZE_BIND_MAP, self->a, TARGET, self->gate, self->done));
	EXPECT_EQ(1, self->word[0]);
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, 0));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));
	pthread_join(thread, NULL);
}

/* A call without ASYNC stays behind earlier binds, too. */
VZE_TEST(async, call_waits_for_earlier_binds)
{
	pthread_t thread;

	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->a, TARGET,
			  self->gate, self->done));
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_gate_later, self));
	ASSERT_EQ(0, bind(self, 0, DRM_VZE_BIND_UNMAP, 0, TARGET, 0, 0));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, 0));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
	pthread_join(thread, NULL);
}

static void on_alarm(int sig)
{
}

VZE_TEST(async, call_is_interrupted)
{
	struct sigaction action = { .sa_handler = on_alarm };
	/* Again and again: one that comes before the call waits is no loss. */
	struct itimerval timer = { { 0, 100000 }, { 0, 100000 } }, off = {};

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	EXPECT_EQ(-EINTR, bind(self, 0, DRM_VZE_BIND_MAP, self->a, TARGET, self->gate,
			       self->done));
	setitimer(ITIMER_REAL, &off, NULL);
	/* Nothing was done and nothing will be. */
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	ASSERT_EQ(0, open_gate(self));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->gate, VZE_WAIT_MS));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done, 100));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
}

/* The file is closed while binds wait for a job that never ends: all goes. */
VZE_TEST(async, file_closed_while_waiting)
{
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC,
				  i % 2 ? DRM_VZE_BIND_UNMAP : DRM_VZE_BIND_MAP,
				  i % 2 ? 0 : self->a, TARGET + i * SZ_64K, self->gate,
				  self->done));
	/* The teardown closes it and looks at what is left. */
}

/* Likewise the VM alone. */
VZE_TEST(async, vm_destroyed_while_waiting)
{
	ASSERT_EQ(0, bind(self, DRM_VZE_VM_BIND_ASYNC, DRM_VZE_BIND_MAP, self->a, TARGET,
			  self->gate, self->done));
	ASSERT_EQ(0, vze_vm_destroy(self->gpu.fd, self->gpu.vm));
	self->gpu.vm = 0;
	ASSERT_EQ(0, open_gate(self));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
}

TEST_HARNESS_MAIN
