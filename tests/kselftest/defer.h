/* SPDX-License-Identifier: MIT */
/* What the programs about deferred frees have in common: work that lasts as long as they want. */
#ifndef DEFER_H
#define DEFER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define WORDS	VZE_VA
#define TARGET	(VZE_VA + SZ_1G)
#define SIZE	SZ_2M

enum { LONG, SHORT, PARKERS };

/* Two queues, each with a job that is parked until the test opens its gate. */
FIXTURE(defer) {
	struct vze_gpu gpu;
	uint32_t words_handle, other, done[2];
	volatile uint64_t *words;
	uint32_t queue[PARKERS];
	uint64_t seqno[PARKERS];
	struct vze_cs park[PARKERS];
	unsigned long long used;
};

static inline int park(FIXTURE_DATA(defer) *self, unsigned int which)
{
	return vze_exec(self->gpu.fd, self->queue[which], &self->park[which], NULL, 0,
			&self->seqno[which]);
}

FIXTURE_SETUP(defer)
{
	struct vze_gpu *gpu = &self->gpu;
	unsigned int i;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->words_handle));
	self->words = vze_gem_mmap(gpu->fd, self->words_handle, SZ_64K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->words);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->words_handle, 0, SZ_64K, WORDS, 0));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->other));
	for (i = 0; i < PARKERS; i++) {
		ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->done[i]));
		ASSERT_EQ(0, vze_queue_create(gpu->fd, gpu->vm, &self->queue[i]));
		ASSERT_EQ(0, vze_cs_create(gpu, &self->park[i], VZE_VA_CS + (i + 1) * SZ_2M,
					   SZ_4K));
		vze_cs_wait(&self->park[i], WORDS + i * 8, VZE_HW_WAIT_EQ, 1);
		ASSERT_EQ(0, park(self, i));
	}
	self->used = vze_figure(gpu, "vze_counts", "vram_used");
}

FIXTURE_TEARDOWN(defer)
{
	unsigned int i;

	munmap((void *)self->words, SZ_64K);
	for (i = 0; i < PARKERS; i++)
		munmap(self->park[i].base, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

static inline int open_gate(FIXTURE_DATA(defer) *self, unsigned int which)
{
	self->words[which] = 1;
	return vze_fence_wake(self->gpu.fd);
}

/* An object in VRAM that only its mapping holds. */
static inline int map_new(FIXTURE_DATA(defer) *self, uint64_t addr, uint64_t size)
{
	uint32_t handle;
	int ret = vze_gem_create(self->gpu.fd, size, DRM_VZE_PLACEMENT_VRAM, 0, &handle);

	if (!ret)
		ret = vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, addr, 0);
	return ret ? ret : vze_gem_close(self->gpu.fd, handle);
}

/* Frees a range when the job of a parker has ended; @done, unless 0, is signalled then. */
static inline int defer(FIXTURE_DATA(defer) *self, uint64_t addr, uint64_t range,
			unsigned int which, uint32_t done)
{
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_UNMAP, .range = range, .addr = addr,
	};
	const struct drm_vze_sync syncs[2] = {
		{ .flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[which],
		  .point = self->seqno[which] },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = done },
	};

	return vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_DEFER, &op, 1, syncs,
				 done ? 2 : 1);
}

static inline unsigned long long pending_vram(FIXTURE_DATA(defer) *self)
{
	return vze_figure(&self->gpu, "vze_counts", "deferred_vram");
}

static inline struct drm_vze_query_memory memory_now(FIXTURE_DATA(defer) *self)
{
	struct drm_vze_query_memory memory = {};
	uint32_t size = sizeof(memory);

	vze_query(self->gpu.fd, DRM_VZE_QUERY_MEMORY, &memory, &size);
	return memory;
}

/* A key of this file's fdinfo, ~0 without it. */
static inline unsigned long long fdinfo(FIXTURE_DATA(defer) *self, const char *key)
{
	unsigned long long value = ~0ULL;
	size_t len = strlen(key);
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->gpu.fd);
	file = fopen(path, "r");
	if (!file)
		return value;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtoull(line + len + 1, NULL, 10);
	}
	fclose(file);
	return value;
}

#endif /* DEFER_H */
