// SPDX-License-Identifier: MIT
/* VM_BIND with DEFER: whose the memory is until the work ends, and that it goes in any case. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "defer.h"

/* The work goes on with the memory; when it ends, the memory goes by itself. */
VZE_TEST(defer, memory_goes_with_the_last_work)
{
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SIZE, 0x1111));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, self->done[LONG]));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 200));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, TARGET + SIZE - 8, 8));
	EXPECT_EQ(0x1111, self->words[SZ_4K / 8]);
	EXPECT_EQ(self->used + SIZE, vze_figure(&self->gpu, "vze_counts", "vram_used"));
	ASSERT_EQ(0, open_gate(self, LONG));
	/* No call for it: the figure is read in debugfs. */
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 0));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
}

/* The amount is seen by everybody who wants to know, exactly, and leaves with the memory. */
VZE_TEST(defer, amounts)
{
	const struct drm_vze_query_memory before = memory_now(self);
	struct drm_vze_query_memory memory;
	char path[128], text[8192] = "";
	FILE *file;

	EXPECT_EQ(0, fdinfo(self, "vze-deferred-count"));
	EXPECT_EQ(0, fdinfo(self, "vze-deferred-vram"));
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SZ_64K));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->other, 0, SZ_64K, TARGET + 2 * SIZE,
			     0));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, 0));
	ASSERT_EQ(0, defer(self, TARGET + SIZE, SZ_64K, SHORT, 0));
	ASSERT_EQ(0, defer(self, TARGET + 2 * SIZE, SZ_64K, LONG, 0));
	EXPECT_EQ(3, fdinfo(self, "vze-deferred-count"));
	EXPECT_EQ((SIZE + SZ_64K) >> 10, fdinfo(self, "vze-deferred-vram"));
	EXPECT_EQ(SZ_64K >> 10, fdinfo(self, "vze-deferred-system"));
	EXPECT_EQ(SIZE + SZ_64K, pending_vram(self));
	memory = memory_now(self);
	EXPECT_EQ(before.vram_pending + SIZE + SZ_64K, memory.vram_pending);
	EXPECT_EQ(before.system_pending + SZ_64K, memory.system_pending);
	/* Not free yet. */
	EXPECT_EQ(before.vram_free - SIZE - SZ_64K, memory.vram_free);

	snprintf(path, sizeof(path), "%s/vze_vms", self->gpu.debugfs);
	file = fopen(path, "r");
	ASSERT_NE(NULL, file);
	EXPECT_LT(0, fread(text, 1, sizeof(text) - 1, file));
	fclose(file);
	snprintf(path, sizeof(path), "3 deferred: %lu bytes of vram, %lu of system\n",
		 SIZE + SZ_64K, SZ_64K);
	EXPECT_NE(NULL, strstr(text, path));
	snprintf(path, sizeof(path), "0x%012llx-0x%012llx deferred, %lu bytes of vram, 0 of system",
		 TARGET, TARGET + SIZE, SIZE);
	EXPECT_NE(NULL, strstr(text, path));

	ASSERT_EQ(0, open_gate(self, SHORT));
	EXPECT_EQ(SIZE, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", SIZE));
	EXPECT_EQ(2, fdinfo(self, "vze-deferred-count"));
	EXPECT_EQ(before.vram_free - SIZE, memory_now(self).vram_free);
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_system", 0));
	EXPECT_EQ(0, fdinfo(self, "vze-deferred-count"));
	memory = memory_now(self);
	EXPECT_EQ(before.vram_free, memory.vram_free);
	EXPECT_EQ(before.vram_pending, memory.vram_pending);
}

/* Work still uses the memory while others allocate all there is: none gets a byte of it. */
VZE_TEST(defer, a_storm_of_allocations)
{
	enum { MAX = 4096 };
	uint32_t *handles = calloc(MAX, sizeof(*handles));
	struct drm_vze_query_memory memory;
	unsigned int num = 0, i;
	uint64_t at;

	ASSERT_NE(NULL, handles);
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SIZE, 0x6666));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, 0));
	while (num < MAX && !vze_gem_create(self->gpu.fd, SZ_1M, DRM_VZE_PLACEMENT_VRAM, 0,
					    &handles[num])) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handles[num], 0, SZ_1M,
				     TARGET + SZ_1G, 0));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET + SZ_1G, SZ_1M, 0xcccc));
		num++;
	}
	memory = memory_now(self);
	EXPECT_GT(SZ_1M, memory.vram_free);
	EXPECT_EQ(SIZE, memory.vram_pending);
	for (at = 0; at < SIZE; at += SZ_64K) {
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, TARGET + at, 8));
		EXPECT_EQ(0x6666, self->words[SZ_4K / 8]);
	}
	/* The other way round: what the device writes there is in nobody else's memory. */
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SIZE, 0x7777));
	for (i = 0; i < num; i++) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handles[i], 0, SZ_1M,
				     TARGET + SZ_1G, 0));
		for (at = 0; at < SZ_1M; at += SZ_1M / 4) {
			ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, TARGET + SZ_1G + at,
						  8));
			EXPECT_EQ(0xcccc, self->words[SZ_4K / 8]);
		}
	}
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
	/* Now it is there for others, without a trace of what it was. */
	ASSERT_EQ(0, map_new(self, TARGET + 2 * SZ_1G, SIZE));
	for (at = 0; at < SIZE; at += SZ_64K) {
		self->words[SZ_4K / 8] = 1;
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, TARGET + 2 * SZ_1G + at, 8));
		EXPECT_EQ(0, self->words[SZ_4K / 8]);
	}
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
	for (i = 0; i < num; i++)
		vze_gem_close(self->gpu.fd, handles[i]);
	free(handles);
}

/* Any number of them, half ending in another order than they began. */
VZE_TEST(defer, many)
{
	enum { NUM = 4000 };
	struct drm_vze_vm_info info;
	unsigned int i;

	for (i = 0; i < NUM; i++) {
		ASSERT_EQ(0, map_new(self, TARGET + i * SZ_64K, SZ_4K));
		ASSERT_EQ(0, defer(self, TARGET + i * SZ_64K, SZ_4K, i % 2 ? LONG : SHORT, 0));
	}
	EXPECT_EQ(NUM, fdinfo(self, "vze-deferred-count"));
	EXPECT_EQ(NUM * SZ_4K, pending_vram(self));
	ASSERT_EQ(0, open_gate(self, SHORT));
	EXPECT_EQ(NUM / 2 * SZ_4K, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram",
						   NUM / 2 * SZ_4K));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	/* The next change finds the empty tables. */
	ASSERT_EQ(0, map_new(self, TARGET, SZ_4K));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, TARGET, SZ_4K));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	/* Root; for words and commands each one of every level at most. */
	EXPECT_GE(16, info.pt_pages);
}

/* Empty tables of others are not kept because a deferred free waits. */
VZE_TEST(defer, tables_go_meanwhile)
{
	struct drm_vze_vm_info before, after;

	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, 0));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
	ASSERT_EQ(0, map_new(self, TARGET + 1024 * SZ_1G, SZ_4K));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, TARGET + 1024 * SZ_1G, SZ_4K));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &after));
	EXPECT_EQ(before.pt_pages, after.pt_pages);
	EXPECT_EQ(before.mappings, after.mappings);
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
}

/* Pinned memory stays pinned for the work, and no longer. */
VZE_TEST(defer, pinned_memory)
{
	long pinned = vze_vmpin();
	uint64_t *mem = vze_anon(SIZE, SIZE);
	uint32_t handle;
	int i;

	ASSERT_NE(NULL, mem);
	mem[1] = 0x8888;
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SIZE, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SIZE, (uintptr_t)mem, 0));
	ASSERT_EQ(0, defer(self, (uintptr_t)mem, SIZE, LONG, 0));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	EXPECT_EQ(SIZE >> 10, fdinfo(self, "vze-deferred-system"));
	EXPECT_EQ(pinned + (long)SIZE, vze_vmpin());
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, (uintptr_t)(mem + 1), 8));
	EXPECT_EQ(0x8888, self->words[SZ_4K / 8]);
	ASSERT_EQ(0, open_gate(self, LONG));
	for (i = 0; i < VZE_WAIT_MS / 10 && vze_vmpin() != pinned; i++)
		vze_sleep_ms(10);
	EXPECT_EQ(pinned, vze_vmpin());
	munmap(mem, SIZE);
}

/* Work that faults or is stopped has ended. */
VZE_TEST(defer, work_that_fails)
{
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SIZE));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, self->done[LONG]));
	ASSERT_EQ(0, defer(self, TARGET + SIZE, SIZE, SHORT, self->done[SHORT]));
	ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, self->queue[LONG]));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, self->done[LONG]));
	/* The parked job's word goes, which it finds when it is woken. */
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, WORDS, SZ_64K));
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(-ENOENT, defer(self, TARGET, SIZE, LONG, 0));
}

/* Whoever made it is dead, the file lives on in another process: the kernel does it. */
VZE_TEST(defer, after_the_death_of_who_asked)
{
	pid_t pid;

	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (!defer(self, TARGET, SIZE, LONG, 0))
			raise(SIGKILL);
		_exit(1);
	}
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	EXPECT_EQ(SIZE, pending_vram(self));
	EXPECT_EQ(self->used + SIZE, vze_figure(&self->gpu, "vze_counts", "vram_used"));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(0, pending_vram(self));
}

static int killed_child(void *arg)
{
	FIXTURE_DATA(defer) *outer = arg;
	FIXTURE_DATA(defer) child = {};
	FIXTURE_DATA(defer) *self = &child;
	unsigned int i;

	if (vze_gpu_open(&self->gpu, outer->gpu.index) || vze_gpu_start(&self->gpu) ||
	    vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0,
			   &self->words_handle) ||
	    vze_map(self->gpu.fd, self->gpu.vm, self->words_handle, 0, SZ_64K, WORDS, 0) ||
	    vze_queue_create(self->gpu.fd, self->gpu.vm, &self->queue[LONG]) ||
	    vze_cs_create(&self->gpu, &self->park[LONG], VZE_VA_CS + SZ_2M, SZ_4K))
		return 1;
	vze_cs_wait(&self->park[LONG], WORDS, VZE_HW_WAIT_EQ, 1);
	if (park(self, LONG))
		return 2;
	for (i = 0; i < 100; i++) {
		if (map_new(self, TARGET + i * SIZE, SZ_64K) ||
		    defer(self, TARGET + i * SIZE, SZ_64K, LONG, 0))
			return 3;
	}
	/* A context that was destroyed: nobody but its queue and those binds is left in it. */
	if (vze_vm_destroy(self->gpu.fd, self->gpu.vm) ||
	    fdinfo(self, "vze-deferred-vram") != 100 * SZ_64K >> 10)
		return 4;
	raise(SIGKILL);
	return 5;
}

/* Nothing is left of a process that was killed, whatever it waited for. */
VZE_TEST(defer, killed)
{
	EXPECT_EQ(-SIGKILL, vze_in_child(killed_child, self));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
}

/* A file is closed with an address space without an id whose binds wait for another file's job. */
VZE_TEST(defer, closed_while_waiting_for_others)
{
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_UNMAP, .range = SIZE, .addr = TARGET,
	};
	struct drm_vze_sync signal = {
		.flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done[LONG],
	};
	struct drm_syncobj_handle out = { .handle = self->done[LONG] }, in = {};
	struct drm_vze_sync wait = {};
	int fd = vze_gpu_reopen(&self->gpu);
	uint32_t vm, handle;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->queue[LONG], NULL, &signal, 1, NULL));
	ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &out));
	in.fd = out.fd;
	ASSERT_EQ(0, vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &in));
	close(out.fd);
	wait.handle = in.handle;
	ASSERT_EQ(0, vze_vm_create(fd, &vm));
	ASSERT_EQ(0, vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, vze_map(fd, vm, handle, 0, SIZE, TARGET, 0));
	ASSERT_EQ(0, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, &op, 1, &wait, 1));
	ASSERT_EQ(0, vze_vm_destroy(fd, vm));
	EXPECT_EQ(SIZE, pending_vram(self));
	close(fd);
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(0, pending_vram(self));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 0));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));
}

VZE_TEST(defer, file_closed_while_waiting)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, map_new(self, TARGET + i * SIZE, SZ_64K));
		ASSERT_EQ(0, defer(self, TARGET + i * SIZE, SZ_64K, i % 2, 0));
	}
	/* The teardown closes it and looks at what is left. */
}

TEST_HARNESS_MAIN
