// SPDX-License-Identifier: MIT
/*
 * The driver is unbound while files are open: everything ends in errors, nothing is
 * touched any more, and a new binding works. The last program of a run.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "share_calls.h"
#include "vze_test.h"

FIXTURE(unplug) {
	struct vze_gpu gpu;
	long pinned;
	uint32_t data, vram, user, syncobj;
	uint64_t *word, *vram_map, *mem, *vm_map;
};

static int sysfs(const char *what, const char *pci)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/vze/%s", what);
	return vze_write_file(path, pci);
}

/* Waits for the device to be usable (again). */
static int wait_for(struct vze_gpu *gpu, const char *pci)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;
	unsigned int i;

	do {
		for (i = 0; i < vze_num_gpus(); i++) {
			if (vze_gpu_open(gpu, i))
				continue;
			if (!strcmp(gpu->pci, pci))
				return 0;
			close(gpu->fd);
		}
		vze_sleep_ms(20);
	} while (vze_now_ms() < end);
	return -ENODEV;
}

FIXTURE_SETUP(unplug)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	self->pinned = vze_vmpin();
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->data));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	self->word = vze_gem_mmap(gpu->fd, self->data, SZ_64K, PROT_READ | PROT_WRITE);
	self->vram_map = vze_gem_mmap(gpu->fd, self->vram, SZ_2M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->word);
	ASSERT_NE(MAP_FAILED, self->vram_map);
	self->mem = vze_anon(SZ_1M, SZ_4K);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, vze_userptr(gpu->fd, self->mem, SZ_1M, 0, &self->user));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->data, 0, SZ_64K, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->vram, 0, SZ_2M, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->user, 0, SZ_1M, VZE_VA + 2 * SZ_1G, 0));
	self->vm_map = mmap(NULL, SZ_2M, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->vm_map);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->vram, 0, SZ_2M, (uintptr_t)self->vm_map, 0));
	ASSERT_EQ(self->vm_map, mmap(self->vm_map, SZ_2M, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED, gpu->fd,
				     DRM_VZE_VM_MMAP_OFFSET(gpu->vm, (uintptr_t)self->vm_map)));
	self->vm_map[0] = 0x77;
	ASSERT_EQ(0x77, self->vram_map[0]);
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->syncobj));
}

/* Whatever happened: the device is bound again at the end, works, and holds nothing. */
FIXTURE_TEARDOWN(unplug)
{
	struct vze_gpu again;
	int ret;

	munmap(self->word, SZ_64K);
	munmap(self->vram_map, SZ_2M);
	munmap(self->vm_map, SZ_2M);
	vze_gpu_close(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
	ret = sysfs("bind", self->gpu.pci);
	EXPECT_TRUE(ret == 0 || ret == -ENODEV || ret == -EBUSY);
	ASSERT_EQ(0, wait_for(&again, self->gpu.pci));
	EXPECT_EQ(0, vze_gpu_start(&again));
	vze_cs_plain(&again.cs, VZE_HW_CMD_NOP);
	EXPECT_EQ(0, vze_run(again.fd, again.queue, &again.cs));
	vze_gpu_close(&again);
	EXPECT_STREQ("", vze_gpu_leaks(&again));
	munmap(self->mem, SZ_1M);
}

/* Every ioctl of the old file says that the device is gone. */
static void expect_gone(struct __test_metadata *_metadata, FIXTURE_DATA(unplug) *self)
{
	int fd = self->gpu.fd;
	struct drm_vze_vm_info info;
	struct drm_vze_query_memory memory;
	struct drm_vze_share_create share;
	uint32_t out, size = sizeof(memory);

	EXPECT_EQ(-ENODEV, vze_query(fd, DRM_VZE_QUERY_MEMORY, &memory, &size));
	EXPECT_EQ(-ENODEV, vze_gem_create(fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &out));
	EXPECT_EQ(-ENODEV, vze_gem_create(fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	EXPECT_EQ(-ENODEV, vze_userptr(fd, self->mem, SZ_4K, 0, &out));
	EXPECT_EQ(-ENODEV, vze_vm_create(fd, &out));
	EXPECT_EQ(-ENODEV, vze_vm_info(fd, self->gpu.vm, &info));
	EXPECT_EQ(-ENODEV, vze_map(fd, self->gpu.vm, self->data, 0, SZ_4K, VZE_VA, 0));
	EXPECT_EQ(-ENODEV, vze_queue_create(fd, self->gpu.vm, &out));
	EXPECT_EQ(-ENODEV, vze_exec(fd, self->gpu.queue, NULL, NULL, 0, NULL));
	EXPECT_EQ(-ENODEV, vze_fence_wait(fd, self->mem, VZE_HW_WAIT_EQ, 99, 0, -1));
	EXPECT_EQ(-ENODEV, vze_fence_wake(fd));
	EXPECT_EQ(-ENODEV, vze_share_create(fd, self->data, 0, &share));
	EXPECT_EQ(MAP_FAILED, vze_gem_mmap(fd, self->data, SZ_4K, PROT_READ));
}

VZE_TEST(unplug, with_open_files)
{
	uint64_t value = 0;
	int ret;

	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	expect_gone(_metadata, self);
	/* The device's memory is out of reach, without harm to who still has it mapped. */
	EXPECT_EQ(-SIGBUS, vze_peek(self->vram_map, &value));
	EXPECT_EQ(-SIGBUS, vze_poke(self->vram_map + 512, 1));
	EXPECT_EQ(-SIGBUS, vze_peek(self->vm_map, &value));
	/* System memory is no memory of the device: its content or SIGBUS. */
	ret = vze_peek(self->word, &value);
	EXPECT_TRUE(ret == -SIGBUS || (!ret && !value));
	/* The application's own memory is simply its own, and nobody pins it any more. */
	vze_pattern_fill(self->mem, SZ_1M, 1);
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SZ_1M, 1));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* A normal user with room for one import; says so by a byte, and waits for its end. */
static int charged_child(FIXTURE_DATA(unplug) *self, int ready)
{
	const struct rlimit limit = { SZ_1M + SZ_64K, SZ_1M + SZ_64K };
	struct vze_gpu gpu;
	uint32_t first, second;
	int tries;

	if (vze_gpu_open(&gpu, self->gpu.index) || setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    vze_become_nobody())
		return 1;
	if (vze_userptr(gpu.fd, self->mem, SZ_1M, 0, &first))
		return 2;
	if (vze_userptr(gpu.fd, self->mem, SZ_1M, 0, &second) != -EDQUOT)
		return 3;
	if (write(ready, "", 1) != 1)
		return 4;
	for (tries = 0; tries < VZE_WAIT_MS / 10 && vze_vmpin(); tries++)
		vze_sleep_ms(10);
	return vze_vmpin() ? 5 : 0;
}

/* The accounts of a process that does nothing but live on with its open file. */
VZE_TEST(unplug, pins_are_uncharged)
{
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(charged_child(self, ready[1]));
	close(ready[1]);
	EXPECT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ((long)SZ_1M, vze_vmpin_of(pid));
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	EXPECT_EQ(0, vze_reap(pid));
	EXPECT_EQ(self->pinned, vze_vmpin());
	close(ready[0]);
}

/* What another device uses as well stays pinned until that one lets go. */
VZE_TEST(unplug, pins_shared_with_another_device)
{
	struct drm_vze_gem_userptr from = {
		.addr = (uintptr_t)self->mem, .size = SZ_1M, .flags = DRM_VZE_USERPTR_FROM,
		.source_fd = self->gpu.fd, .source_handle = self->user,
	};
	unsigned int other_index = !self->gpu.index;
	struct vze_gpu other;

	if (vze_num_gpus() < 2)
		SKIP(return, "there is one device only");
	ASSERT_EQ(0, vze_gpu_open(&other, other_index));
	ASSERT_EQ(0, vze_gpu_start(&other));
	ASSERT_EQ(0, vze_ioctl(other.fd, DRM_IOCTL_VZE_GEM_USERPTR, &from));
	ASSERT_EQ(0, vze_map(other.fd, other.vm, from.handle, 0, SZ_1M, VZE_VA, 0));
	EXPECT_EQ(self->pinned + (long)SZ_1M, vze_vmpin());
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	EXPECT_EQ(self->pinned + (long)SZ_1M, vze_vmpin());
	EXPECT_EQ(0, vze_gpu_fill(&other, VZE_VA, SZ_1M, 0x4141));
	EXPECT_EQ(-1, vze_words_check(self->mem, SZ_1M, 0x4141));
	ASSERT_EQ(0, vze_unmap(other.fd, other.vm, VZE_VA, SZ_1M));
	ASSERT_EQ(0, vze_gem_close(other.fd, from.handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	/* The source has no pages any more to be taken. */
	EXPECT_EQ(-ENODEV, vze_ioctl(other.fd, DRM_IOCTL_VZE_GEM_USERPTR, &from));
	EXPECT_EQ(self->pinned, vze_vmpin());
	vze_gpu_close(&other);
	EXPECT_STREQ("", vze_gpu_leaks(&other));
}

/* Deferred frees under way: the work has ended, and with it they. */
VZE_TEST(unplug, with_deferred_frees)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_UNMAP, .range = SZ_1M, .addr = VZE_VA + 2 * SZ_1G,
	};
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_QUEUE, .handle = self->gpu.queue };

	vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, self->syncobj));
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_DEFER, &op, 1,
				       &sync, 1));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->user));
	EXPECT_EQ(self->pinned + (long)SZ_1M, vze_vmpin());
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	EXPECT_EQ(self->pinned, vze_vmpin());
	expect_gone(_metadata, self);
}

/* Who waits for the end of a share is told, whatever brings it. */
VZE_TEST(unplug, shares_end)
{
	struct drm_vze_share_create share;
	uint32_t view;
	int watch;

	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->vram, 0, &share));
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &share.token, &view, NULL));
	watch = share_fd(self->gpu.fd, &share.token);
	ASSERT_LE(0, watch);
	EXPECT_EQ(0, share_events(watch, 20));
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	EXPECT_EQ(POLLIN | POLLHUP, share_events(watch, VZE_WAIT_MS));
	close(watch);
}

/* Shares, opens, maps and revokes until the device is gone. */
static void *keep_revoking(void *arg)
{
	FIXTURE_DATA(unplug) *self = arg;
	struct drm_vze_share_create share;
	struct drm_vze_share_revoke revoke;
	uint32_t view;
	int ret;

	do {
		ret = vze_share_create(self->gpu.fd, self->data, 0, &share);
		if (!ret)
			ret = share_open_at(self->gpu.fd, &share.token, self->gpu.vm,
					    VZE_VA + 4 * SZ_1G, share.size, &view);
		if (!ret)
			ret = share_revoke(self->gpu.fd, share.token.id,
					   DRM_VZE_SHARE_REVOKE_UNMAP, &revoke);
		if (!ret)
			ret = vze_gem_close(self->gpu.fd, view);
	} while (!ret);
	return (void *)(long)ret;
}

VZE_TEST(unplug, with_revocations_under_way)
{
	pthread_t thread;
	void *result;
	long ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_revoking, self));
	vze_sleep_ms(200);
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	pthread_join(thread, &result);
	ret = (long)result;
	/* The share may have died under the call that follows its creation. */
	EXPECT_TRUE(ret == -ENODEV || ret == -EIO || ret == -ENOENT) {
		TH_LOG("%ld", ret);
	}
	expect_gone(_metadata, self);
}

static void *wait_for_word(void *arg)
{
	FIXTURE_DATA(unplug) *self = arg;

	return (void *)(long)vze_fence_wait(self->gpu.fd, self->mem, VZE_HW_WAIT_EQ, 99, 0, -1);
}

static void *wait_for_job(void *arg)
{
	FIXTURE_DATA(unplug) *self = arg;

	return (void *)(long)vze_syncobj_wait(self->gpu.fd, self->syncobj, VZE_WAIT_MS);
}

/* Parked jobs, queued jobs and sleeping waiters all come to an end. */
VZE_TEST(unplug, with_work_under_way)
{
	uint32_t behind;
	pthread_t threads[2];
	void *result[2];

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &behind));
	vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, self->syncobj));
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, behind));
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, wait_for_word, self));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, wait_for_job, self));
	vze_sleep_ms(200);
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	pthread_join(threads[0], &result[0]);
	pthread_join(threads[1], &result[1]);
	EXPECT_EQ(-ENODEV, (long)result[0]);
	/* The wait's ioctl is the DRM core's: woken, or turned away when it came late. */
	EXPECT_TRUE((long)result[1] == 0 || (long)result[1] == -ENODEV) {
		TH_LOG("%ld", (long)result[1]);
	}
	expect_gone(_metadata, self);
}

struct hammer {
	FIXTURE_DATA(unplug) *self;
	volatile bool stop;
};

static void *hammer_loop(void *arg)
{
	struct hammer *hammer = arg;
	FIXTURE_DATA(unplug) *self = hammer->self;
	struct drm_vze_queue_state state;
	uint32_t handle, id;
	int fd = self->gpu.fd;

	while (!hammer->stop) {
		if (!vze_gem_create(fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &handle)) {
			vze_map(fd, self->gpu.vm, handle, 0, SZ_64K, VZE_VA + 4 * SZ_1G, 0);
			vze_unmap(fd, self->gpu.vm, VZE_VA + 4 * SZ_1G, SZ_64K);
			vze_gem_close(fd, handle);
		}
		if (!vze_userptr(fd, self->mem, SZ_64K, 0, &handle))
			vze_gem_close(fd, handle);
		if (!vze_queue_create(fd, self->gpu.vm, &id)) {
			vze_exec(fd, id, NULL, NULL, 0, NULL);
			vze_queue_destroy(fd, id);
		}
		if (!vze_vm_create(fd, &id))
			vze_vm_destroy(fd, id);
		vze_exec(fd, self->gpu.queue, &self->gpu.cs, NULL, 0, NULL);
		vze_queue_state(fd, self->gpu.queue, &state);
		vze_fence_wake(fd);
	}
	return NULL;
}

VZE_TEST(unplug, under_load)
{
	struct hammer hammer = { .self = self };
	pthread_t threads[3];
	unsigned int i;

	vze_cs_signal(&self->gpu.cs, VZE_VA + 2 * SZ_1G, 1, VZE_HW_CMD_NOTIFY);
	vze_cs_copy(&self->gpu.cs, VZE_VA, VZE_VA + SZ_1G, SZ_64K);
	for (i = 0; i < ARRAY_LEN(threads); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, hammer_loop, &hammer));
	vze_sleep_ms(500);
	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	vze_sleep_ms(100);
	hammer.stop = true;
	for (i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	expect_gone(_metadata, self);
	/* Imports that were under way when it went, too. */
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* A new binding beside the old file: both know which is theirs. */
VZE_TEST(unplug, bound_again_beside_old_files)
{
	struct vze_gpu again;
	uint32_t handle;
	uint64_t *map;

	ASSERT_EQ(0, sysfs("unbind", self->gpu.pci));
	ASSERT_EQ(0, sysfs("bind", self->gpu.pci));
	ASSERT_EQ(0, wait_for(&again, self->gpu.pci));
	ASSERT_EQ(0, vze_gpu_start(&again));
	ASSERT_EQ(0, vze_gem_create(again.fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	map = vze_gem_mmap(again.fd, handle, SZ_2M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	/* Cleared, and the old mapping of perhaps the same place does not reach it. */
	EXPECT_EQ(-1, vze_words_check(map, SZ_2M, 0));
	EXPECT_EQ(-SIGBUS, vze_poke(self->vram_map, 0x1234));
	EXPECT_EQ(-1, vze_words_check(map, SZ_2M, 0));
	ASSERT_EQ(0, vze_map(again.fd, again.vm, handle, 0, SZ_2M, VZE_VA, 0));
	EXPECT_EQ(0, vze_gpu_fill(&again, VZE_VA, SZ_2M, 0x21));
	EXPECT_EQ(-1, vze_words_check(map, SZ_2M, 0x21));
	expect_gone(_metadata, self);
	munmap(map, SZ_2M);
	vze_gpu_close(&again);
}

TEST_HARNESS_MAIN
