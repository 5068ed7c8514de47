// SPDX-License-Identifier: MIT
/* Queues that end while they work: destroyed, closed with the file, killed with -9. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define BIG	(32 * SZ_1M)

FIXTURE(lifetime) {
	struct vze_gpu gpu;
	uint32_t data, vram;
	volatile uint64_t *word;
};

FIXTURE_SETUP(lifetime)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->data));
	self->word = vze_gem_mmap(gpu->fd, self->data, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->data, 0, SZ_4K, VZE_VA, 0));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, BIG, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->vram, 0, BIG, VZE_VA + SZ_1G, 0));
}

FIXTURE_TEARDOWN(lifetime)
{
	munmap((void *)self->word, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

enum work { PARKED, HANGING, COPYING };

FIXTURE_VARIANT(lifetime) {
	enum work work;
};

FIXTURE_VARIANT_ADD(lifetime, parked) { .work = PARKED };
FIXTURE_VARIANT_ADD(lifetime, hanging) { .work = HANGING };
FIXTURE_VARIANT_ADD(lifetime, copying) { .work = COPYING };

/* Work that does not end by itself for a long time. */
static void emit(struct vze_cs *cs, enum work work)
{
	int i;

	vze_cs_reset(cs);
	switch (work) {
	case PARKED:
		vze_cs_wait(cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
		break;
	case HANGING:
		vze_cs_plain(cs, VZE_HW_CMD_HANG);
		break;
	case COPYING:
		for (i = 0; i < 20000; i++)
			vze_cs_copy(cs, VZE_VA + SZ_1G, VZE_VA + SZ_1G + BIG / 2, BIG / 2);
		break;
	}
}

VZE_TEST(lifetime, destroyed)
{
	enum { JOBS = 8 };
	uint32_t syncobj[JOBS], other, i;
	struct vze_cs cs = self->gpu.cs;

	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &other));
	emit(&self->gpu.cs, variant->work);
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj[i]));
	}
	vze_sleep_ms(50);
	ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, self->gpu.queue));
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
		EXPECT_EQ(-ECANCELED, vze_syncobj_status(self->gpu.fd, syncobj[i])) {
			TH_LOG("job %u", i);
		}
	}
	/* Another queue of the same address space works on. */
	cs.va += 900 * SZ_1M / 1024;
	cs.base += 900 * SZ_1M / 1024 / 8;
	cs.used = 0;
	vze_cs_signal(&cs, VZE_VA + 8, 5, 0);
	ASSERT_EQ(0, vze_run(self->gpu.fd, other, &cs));
	EXPECT_EQ(5, self->word[1]);
	self->gpu.queue = other;
}

/* A queue that waits for somebody who waits for the destroyed one hears of it. */
VZE_TEST(lifetime, dependent_job)
{
	uint32_t first, second, other;
	struct drm_vze_sync syncs[2];

	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &other));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &first));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &second));
	emit(&self->gpu.cs, variant->work);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, first));
	syncs[0] = (struct drm_vze_sync) { .handle = first };
	syncs[1] = (struct drm_vze_sync) { .flags = DRM_VZE_SYNC_SIGNAL, .handle = second };
	ASSERT_EQ(0, vze_exec(self->gpu.fd, other, NULL, syncs, 2, NULL));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, second, 50));
	ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, self->gpu.queue));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, second, VZE_WAIT_MS));
	self->gpu.queue = other;
}

/* The file goes with all that runs; the teardown looks at what is left. */
VZE_TEST(lifetime, file_closed)
{
	uint32_t queue[16];
	unsigned int i;

	emit(&self->gpu.cs, variant->work);
	for (i = 0; i < ARRAY_LEN(queue); i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_exec(self->gpu.fd, queue[i], &self->gpu.cs, NULL, 0, NULL));
	}
	vze_sleep_ms(50);
	munmap((void *)self->gpu.cs.base, SZ_1M);
	close(self->gpu.fd);
	self->gpu.fd = -1;
	self->gpu.queue = 0;
	self->gpu.vm = 0;
	self->gpu.cs.handle = 0;
}

static int work_until_killed(void *arg)
{
	const FIXTURE_VARIANT(lifetime) *variant = ((void **)arg)[1];
	FIXTURE_DATA(lifetime) *self = ((void **)arg)[0];
	struct vze_gpu gpu;
	uint32_t vram, handle, i;
	char *mem = vze_anon(SZ_1M, SZ_4K);

	if (!mem || vze_gpu_open(&gpu, self->gpu.index) || vze_gpu_start(&gpu) ||
	    vze_gem_create(gpu.fd, BIG, DRM_VZE_PLACEMENT_VRAM, 0, &vram) ||
	    vze_map(gpu.fd, gpu.vm, vram, 0, BIG, VZE_VA + SZ_1G, 0) ||
	    vze_userptr(gpu.fd, mem, SZ_1M, 0, &handle) ||
	    vze_map(gpu.fd, gpu.vm, handle, 0, SZ_1M, VZE_VA, 0))
		return 1;
	emit(&gpu.cs, variant->work);
	for (i = 0; i < 4; i++)
		if (vze_exec(gpu.fd, gpu.queue, &gpu.cs, NULL, 0, NULL))
			return 2;
	kill(getppid(), SIGUSR1);
	/* Waits in the kernel when the signal comes. */
	vze_fence_wait(gpu.fd, mem + 8, VZE_HW_WAIT_EQ, 99, 0, -1);
	return 3;
}

/* Case 12's other half: kill -9 with work under way. */
VZE_TEST(lifetime, killed)
{
	void *arg[] = { self, (void *)variant };
	sigset_t set, old;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(work_until_killed(arg));
	ASSERT_EQ(0, sigwait(&set, &sig));
	EXPECT_EQ(SIGUSR1, sig);
	vze_sleep_ms(50);
	kill(pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	sigprocmask(SIG_SETMASK, &old, NULL);
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "pinned_pages", 0));
	EXPECT_EQ(1, vze_figure_wait(&self->gpu, "vze_counts", "queues", 1));
	EXPECT_EQ(1, vze_figure_wait(&self->gpu, "vze_counts", "vms", 1));
	/* The device is as good as before. */
	vze_cs_reset(&self->gpu.cs);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 1, 0);
	EXPECT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
}

FIXTURE(many_queues) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(many_queues)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
}

FIXTURE_TEARDOWN(many_queues)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(many_queues, run_out)
{
	static uint32_t queue[VZE_HW_MAX_QUEUES + 1];
	struct drm_vze_query_device device;
	uint32_t size = sizeof(device);
	int round, ret = 0;
	unsigned int i;

	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_DEVICE, &device, &size));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_LEN(queue); i++) {
			ret = vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]);
			if (ret)
				break;
		}
		EXPECT_EQ(-ENOSPC, ret);
		/* One is the fixture's own. */
		EXPECT_EQ(device.num_queues - 1, i);
		vze_cs_reset(&self->gpu.cs);
		vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
		EXPECT_EQ(0, vze_run(self->gpu.fd, queue[i - 1], &self->gpu.cs));
		while (i-- > 0)
			ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, queue[i]));
	}
}

/* Ids and hardware queues are used again and again. */
VZE_TEST(many_queues, create_and_destroy)
{
	uint32_t queue;
	int i;

	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue));
		ASSERT_EQ(0, vze_exec(self->gpu.fd, queue, &self->gpu.cs, NULL, 0, NULL));
		if (i % 3)
			ASSERT_EQ(0, vze_run(self->gpu.fd, queue, &self->gpu.cs));
		ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, queue));
	}
}

TEST_HARNESS_MAIN
