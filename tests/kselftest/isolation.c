// SPDX-License-Identifier: MIT
/* Files and processes do not reach each other: ids, freed memory, racing closes. */
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define CANARY	0xdeadca7adeadca7aULL
#define OUT	(VZE_VA + SZ_1G)

FIXTURE(isolation) {
	struct vze_gpu gpu;
	uint32_t out;
	volatile uint64_t *out_map;
};

FIXTURE_SETUP(isolation)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_1M, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->out));
	self->out_map = vze_gem_mmap(gpu->fd, self->out, SZ_1M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->out_map);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->out, 0, SZ_1M, OUT, 0));
}

FIXTURE_TEARDOWN(isolation)
{
	munmap((void *)self->out_map, SZ_1M);
	VZE_TEARDOWN(&self->gpu);
}

/* Case 25: every id of one file, given to every ioctl of another. */
VZE_TEST(isolation, ids_of_another_file)
{
	struct drm_vze_share_create share = {
		.flags = DRM_VZE_SHARE_RANGE, .addr = OUT, .size = SZ_4K,
	};
	struct drm_vze_gem_info info;
	struct drm_vze_vm_info vm_info;
	struct drm_vze_queue_state state;
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	uint32_t own_vm, own_queue, foreign_syncobj, queue, handle, i;
	uint64_t offset, word = 0;
	int fd = vze_gpu_reopen(&self->gpu);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &foreign_syncobj));
	/* Makes the first file's ids different from what this file would have. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &foreign_syncobj));
	}
	EXPECT_EQ(-ENOENT, vze_vm_info(fd, self->gpu.vm, &vm_info));
	EXPECT_EQ(-ENOENT, vze_queue_create(fd, self->gpu.vm, &queue));
	EXPECT_EQ(-ENOENT, vze_queue_state(fd, self->gpu.queue, &state));
	EXPECT_EQ(-ENOENT, vze_exec(fd, self->gpu.queue, NULL, NULL, 0, NULL));
	EXPECT_EQ(-ENOENT, vze_queue_destroy(fd, self->gpu.queue));
	EXPECT_EQ(-ENOENT, vze_vm_destroy(fd, self->gpu.vm));
	EXPECT_EQ(-ENOENT, vze_fence_wait(fd, &word, VZE_HW_WAIT_EQ, 1, self->gpu.queue, 0));
	EXPECT_EQ(-ENOENT, vze_unmap(fd, self->gpu.vm, OUT, SZ_4K));
	share.vm_id = self->gpu.vm;
	EXPECT_EQ(-ENOENT, vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_CREATE, &share));

	ASSERT_EQ(0, vze_vm_create(fd, &own_vm));
	ASSERT_EQ(0, vze_queue_create(fd, own_vm, &own_queue));
	EXPECT_EQ(-ENOENT, vze_map(fd, own_vm, handle, 0, SZ_4K, VZE_VA, 0));
	EXPECT_EQ(-ENOENT, vze_gem_info(fd, handle, &info));
	EXPECT_EQ(-ENOENT, vze_gem_mmap_offset(fd, handle, &offset));
	EXPECT_EQ(-ENOENT, vze_share_create(fd, handle, 0, &share));
	EXPECT_EQ(-EINVAL, vze_gem_close(fd, handle));
	sync.handle = foreign_syncobj;
	EXPECT_EQ(-ENOENT, vze_exec(fd, own_queue, NULL, &sync, 1, NULL));
	close(fd);

	/* None of it did anything to the owner. */
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, OUT, 8, 5));
	EXPECT_EQ(5, self->out_map[0]);
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, foreign_syncobj, 10));
}

struct race {
	int fd;
	uint32_t vm;
	volatile bool stop;
	volatile int bad;
};

static bool expected(int ret)
{
	return ret == 0 || ret == -ENOENT || ret == -EINVAL || ret == -EBADF ||
	       ret == -ECANCELED || ret == -ENOSPC || ret == -EEXIST;
}

static void *close_ids(void *arg)
{
	struct race *race = arg;
	uint32_t id = 0;

	while (!race->stop) {
		id = id % 16 + 1;
		if (!expected(vze_queue_destroy(race->fd, id)))
			race->bad = __LINE__;
		if (id != race->vm && !expected(vze_vm_destroy(race->fd, id)))
			race->bad = __LINE__;
		if (!expected(vze_gem_close(race->fd, id)))
			race->bad = __LINE__;
	}
	return NULL;
}

static void *use_ids(void *arg)
{
	struct race *race = arg;
	struct drm_vze_queue_state state;
	struct drm_vze_vm_info info;
	uint32_t id = 0, made;
	int ret;

	while (!race->stop) {
		id = id % 16 + 1;
		vze_vm_create(race->fd, &made);
		if (!expected(vze_queue_create(race->fd, id, &made)))
			race->bad = __LINE__;
		if (!expected(vze_exec(race->fd, id, NULL, NULL, 0, NULL)))
			race->bad = __LINE__;
		if (!expected(vze_queue_state(race->fd, id, &state)))
			race->bad = __LINE__;
		if (!expected(vze_vm_info(race->fd, id, &info)))
			race->bad = __LINE__;
		vze_gem_create(race->fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM + id % 2, 0, &made);
		ret = vze_map(race->fd, id, id, 0, SZ_64K, VZE_VA + id * SZ_64K, 0);
		if (!expected(ret))
			race->bad = __LINE__;
		if (!expected(vze_unmap(race->fd, id, VZE_VA, SZ_1M)))
			race->bad = __LINE__;
	}
	return NULL;
}

/* Ids that other threads close meanwhile: an answer of the manual, and nothing left. */
VZE_TEST(isolation, ids_closed_meanwhile)
{
	pthread_t threads[4];
	struct race race = {};
	int round, i;

	for (round = 0; round < 10; round++) {
		race.stop = false;
		race.fd = vze_gpu_reopen(&self->gpu);
		ASSERT_LE(0, race.fd);
		ASSERT_EQ(0, vze_vm_create(race.fd, &race.vm));
		for (i = 0; i < ARRAY_LEN(threads); i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, i % 2 ? close_ids : use_ids,
						    &race));
		vze_sleep_ms(150);
		/* Half of the rounds end with the file going away under the threads. */
		if (round % 2)
			close(race.fd);
		race.stop = true;
		for (i = 0; i < ARRAY_LEN(threads); i++)
			pthread_join(threads[i], NULL);
		if (!(round % 2))
			close(race.fd);
	}
	EXPECT_EQ(0, race.bad) {
		TH_LOG("unexpected error at line %d", race.bad);
	}
}

/* Another process takes all memory of a placement and fills it with canaries. */
static int fill_with_canaries(struct vze_gpu *gpu, uint32_t placement)
{
	int fd = vze_gpu_reopen(gpu), i;
	uint32_t handle;
	uint64_t *map;
	size_t k;

	if (fd < 0)
		return fd;
	for (i = 0; i < 64; i++) {
		if (vze_gem_create(fd, SZ_1M, placement, 0, &handle))
			break;
		map = vze_gem_mmap(fd, handle, SZ_1M, PROT_READ | PROT_WRITE);
		if (map == MAP_FAILED)
			break;
		for (k = 0; k < SZ_1M / 8; k += 8)
			map[k] = CANARY;
		munmap(map, SZ_1M);
	}
	close(fd);
	return i == 64 ? 0 : -ENOMEM;
}

/* How often the canary shows up in what the job read. */
static unsigned int canaries(FIXTURE_DATA(isolation) *self)
{
	unsigned int found = 0;
	size_t i;

	for (i = 0; i < SZ_1M / 8; i++)
		found += self->out_map[i] == CANARY;
	return found;
}

static void emit_reads(FIXTURE_DATA(isolation) *self)
{
	unsigned int i;

	vze_cs_reset(&self->gpu.cs);
	for (i = 0; i < 20000; i++)
		vze_cs_copy(&self->gpu.cs, OUT, VZE_VA, SZ_1M);
}

/* Case 20: a job reads and reads; the memory is freed under it. */
VZE_TEST(isolation, freed_object_under_a_job)
{
	uint32_t handle, syncobj, p;
	struct drm_vze_queue_state state;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, p, 0, &handle));
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_1M, VZE_VA, 0));
		emit_reads(self);
		ASSERT_EQ(0, vze_syncobj_reset(self->gpu.fd, syncobj));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
		vze_sleep_ms(20);
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_1M));
		ASSERT_EQ(0, fill_with_canaries(&self->gpu, p));
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS));
		EXPECT_EQ(-EFAULT, vze_syncobj_status(self->gpu.fd, syncobj));
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &state));
		EXPECT_EQ(VZE_HW_FAULT_NOT_PRESENT, state.reason);
		EXPECT_LE(VZE_VA, state.va);
		EXPECT_GT(VZE_VA + SZ_1M, state.va);
		EXPECT_EQ(0, canaries(self));
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	}
}

/* The same with the application's memory: unpinned only when nobody reads it any more. */
VZE_TEST(isolation, freed_import_under_a_job)
{
	uint32_t handle, syncobj;
	uint64_t *mem, *again;
	size_t i;

	mem = vze_anon(SZ_1M, SZ_4K);
	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_1M, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_1M, VZE_VA, 0));
	emit_reads(self);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
	vze_sleep_ms(20);
	ASSERT_EQ(0, munmap(mem, SZ_1M));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_1M));
	EXPECT_EQ(0, vze_vmpin());
	again = vze_anon(64 * SZ_1M, SZ_4K);
	ASSERT_NE(NULL, again);
	for (i = 0; i < 64 * SZ_1M / 8; i += 8)
		again[i] = CANARY;
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS));
	EXPECT_EQ(-EFAULT, vze_syncobj_status(self->gpu.fd, syncobj));
	EXPECT_EQ(0, canaries(self));
}

/* A parked wait whose word goes away faults; it does not look at what comes there. */
VZE_TEST(isolation, freed_word_of_a_parked_wait)
{
	uint32_t handle, syncobj, p;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, p, 0, &handle));
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_1M, VZE_VA, 0));
		vze_cs_reset(&self->gpu.cs);
		vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, CANARY);
		vze_cs_signal(&self->gpu.cs, OUT, 0xbad, 0);
		ASSERT_EQ(0, vze_syncobj_reset(self->gpu.fd, syncobj));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
		EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj, 50));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_1M));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
		ASSERT_EQ(0, fill_with_canaries(&self->gpu, p));
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS));
		EXPECT_EQ(-EFAULT, vze_syncobj_status(self->gpu.fd, syncobj));
		EXPECT_EQ(0, self->out_map[0]);
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	}
}

static int open_primary_node(const struct vze_gpu *gpu)
{
	char pattern[96], path[64];
	glob_t found;
	int fd = -ENOENT;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/drm/card*", gpu->pci);
	if (glob(pattern, 0, NULL, &found))
		return -ENOENT;
	snprintf(path, sizeof(path), "/dev/dri/%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The primary node, too, gives nothing away for a number that can be guessed. */
VZE_TEST(isolation, no_names)
{
	uint64_t *mem = vze_anon(SZ_64K, SZ_4K);
	int fd = open_primary_node(&self->gpu);
	struct drm_gem_open open = {};
	uint32_t handle[2];
	uint32_t name, i;

	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, vze_gem_create(fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle[0]));
	ASSERT_EQ(0, vze_userptr(fd, mem, SZ_64K, 0, &handle[1]));
	for (i = 0; i < ARRAY_LEN(handle); i++) {
		struct drm_gem_flink flink = { .handle = handle[i] };

		EXPECT_EQ(-EOPNOTSUPP, vze_ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink));
		EXPECT_EQ(0, flink.name);
	}
	for (name = 0; name < 16; name++) {
		open.name = name;
		EXPECT_EQ(-EOPNOTSUPP, vze_ioctl(fd, DRM_IOCTL_GEM_OPEN, &open));
	}
	EXPECT_EQ(SZ_64K, vze_vmpin());
	close(fd);
	EXPECT_EQ(0, vze_vmpin());
}

TEST_HARNESS_MAIN
