// SPDX-License-Identifier: MIT
/* Which leaves VM_BIND writes, how they are split, and that tables come and go with them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define OUT	(VZE_VA + SZ_1G)

FIXTURE(pages) {
	struct vze_gpu gpu;
	uint32_t vram, out;
	uint64_t *out_map;
	struct drm_vze_vm_info base;
};

#define SIZE	(4 * SZ_2M)

FIXTURE_SETUP(pages)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_2M, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->out));
	self->out_map = vze_gem_mmap(gpu->fd, self->out, SZ_2M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->out_map);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->out, 0, SZ_2M, OUT, 0));
	ASSERT_EQ(0, vze_vm_info(gpu->fd, gpu->vm, &self->base));
}

FIXTURE_TEARDOWN(pages)
{
	munmap(self->out_map, SZ_2M);
	VZE_TEARDOWN(&self->gpu);
}

/* Leaves beyond those of the fixture. */
#define EXPECT_LEAVES(small, large) do {					\
	struct drm_vze_vm_info now;						\
										\
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));		\
	EXPECT_EQ(small, now.pte_4k - self->base.pte_4k);			\
	EXPECT_EQ(large, now.pte_2m - self->base.pte_2m);			\
} while (0)

VZE_TEST(pages, large_leaves_where_they_fit)
{
	static const struct {
		uint64_t offset;
		uint64_t range;
		uint64_t addr;
		uint64_t small;
		uint64_t large;
	} table[] = {
		{ 0, SIZE, VZE_VA, 0, 4 },
		{ 0, SZ_2M, VZE_VA, 0, 1 },
		{ 0, SZ_2M - SZ_4K, VZE_VA, 511, 0 },
		{ 0, SZ_2M + SZ_4K, VZE_VA, 1, 1 },
		{ 0, SIZE, VZE_VA + SZ_4K, 2048, 0 }, /* address and memory out of step */
		{ SZ_4K, SZ_2M, VZE_VA, 512, 0 },
		{ SZ_4K, SIZE - SZ_4K, VZE_VA + SZ_4K, 511, 3 }, /* head, then in step */
		{ SZ_4K, 2 * SZ_2M, VZE_VA + SZ_4K, 512, 1 }, /* head and tail */
		{ SZ_2M, SZ_2M, VZE_VA + 7 * SZ_2M, 0, 1 },
		{ SZ_1M, SZ_2M, VZE_VA + SZ_1M, 512, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, table[i].offset,
				     table[i].range, table[i].addr, 0));
		EXPECT_LEAVES(table[i].small, table[i].large);
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, table[i].addr,
				       table[i].range));
		EXPECT_LEAVES(0, 0);
	}
}

VZE_TEST(pages, tables_come_and_go)
{
	struct drm_vze_vm_info now;

	/* At most one table per level: the fixture's branch may share some. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SZ_4K, VZE_VA, 0));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_LT(self->base.pt_pages, now.pt_pages);
	EXPECT_GE(self->base.pt_pages + 3, now.pt_pages);
	/* What is far away takes a whole branch. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SZ_4K,
			     VZE_VA_END - SZ_4K, 0));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_LE(self->base.pt_pages + 4, now.pt_pages);
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA_END - SZ_4K, SZ_4K));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_4K));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_EQ(self->base.pt_pages, now.pt_pages);
}

/* Making something present needs no invalidation, taking it away does. */
VZE_TEST(pages, invalidations)
{
	struct drm_vze_vm_info before, now;

	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_EQ(before.tlb_invalidations, now.tlb_invalidations);
	ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_LT(before.tlb_invalidations, now.tlb_invalidations);
	before = now;
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_LT(before.tlb_invalidations, now.tlb_invalidations);
	before = now;
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
	EXPECT_EQ(before.tlb_invalidations, now.tlb_invalidations);
}

VZE_TEST(pages, split)
{
	const uint64_t hole = 100 * SZ_4K;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		uint64_t at = i == 0 ? 0 : i == 1 ? hole : SZ_2M - SZ_4K;

		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, 2 * SZ_2M, VZE_VA,
				     0));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 2 * SZ_2M, 0x1000 + i));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + at, SZ_4K));
		EXPECT_LEAVES(511, 1);
		/* The rest is whole, the hole is a hole. */
		if (at) {
			ASSERT_EQ(0, vze_gpu_copy(&self->gpu, OUT, VZE_VA, at));
			EXPECT_EQ(-1, vze_words_check(self->out_map, at, 0x1000 + i));
		}
		if (at + SZ_4K < SZ_2M) {
			ASSERT_EQ(0, vze_gpu_copy(&self->gpu, OUT, VZE_VA + at + SZ_4K,
						  SZ_2M - SZ_4K - at));
			EXPECT_EQ(-1, vze_words_check(self->out_map, SZ_2M - SZ_4K - at,
						      0x1000 + i));
		}
		EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + at, SZ_4K, 0));
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, 2 * SZ_2M));
		EXPECT_LEAVES(0, 0);
	}
	/* PROTECT of a part splits as well. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SZ_2M, VZE_VA, 0));
	ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA + hole, SZ_4K,
				 DRM_VZE_BIND_READONLY));
	EXPECT_LEAVES(512, 0);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, hole, 0x77));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + hole + SZ_4K, SZ_2M - hole - SZ_4K, 0x77));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + hole, 8, 0x77));
}

/* The rest of a split leaf is there at every moment: jobs on it never fault. */
VZE_TEST(pages, split_under_running_jobs)
{
	enum { ROUNDS = 40, JOBS = 8 };
	uint32_t syncobj[JOBS];
	unsigned int i, round;

	for (i = 0; i < JOBS; i++)
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SZ_2M, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_2M, 0x4242));
	vze_cs_reset(&self->gpu.cs);
	for (i = 0; i < 4; i++)
		vze_cs_copy(&self->gpu.cs, OUT, VZE_VA + SZ_1M, SZ_1M);
	for (round = 0; round < ROUNDS; round++) {
		memset(self->out_map, 0, SZ_1M);
		for (i = 0; i < JOBS; i++) {
			ASSERT_EQ(0, vze_syncobj_reset(self->gpu.fd, syncobj[i]));
			ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs,
						syncobj[i]));
		}
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + round * SZ_4K, SZ_4K));
		ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA + SZ_64K * 4, SZ_64K,
					 round % 2 ? 0 : DRM_VZE_BIND_READONLY));
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SZ_1M, VZE_VA, 0));
		for (i = 0; i < JOBS; i++) {
			ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
			ASSERT_EQ(1, vze_syncobj_status(self->gpu.fd, syncobj[i]));
		}
		EXPECT_EQ(-1, vze_words_check(self->out_map, SZ_1M, 0x4242));
	}
	for (i = 0; i < JOBS; i++)
		EXPECT_EQ(0, vze_syncobj_destroy(self->gpu.fd, syncobj[i]));
}

/* Whether all of @mem is in transparent huge pages. */
static bool is_huge(const void *mem, size_t size)
{
	unsigned long start, end, kib = 0;
	bool inside = false;
	char line[256];
	FILE *in = fopen("/proc/self/smaps", "re");

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start <= (uintptr_t)mem && end >= (uintptr_t)mem + size;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			break;
	}
	if (in)
		fclose(in);
	return inside && kib * 1024 >= size;
}

VZE_TEST(pages, huge_pages_of_the_application)
{
	const size_t size = 2 * SZ_2M;
	char *mem = vze_anon(size, SZ_2M);
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	if (madvise(mem, size, MADV_HUGEPAGE))
		SKIP(return, "no transparent huge pages");
	memset(mem, 1, size);
	if (!is_huge(mem, size))
		SKIP(return, "the kernel gave no huge pages");
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA, 0));
	EXPECT_LEAVES(0, 2);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, 0x6060));
	EXPECT_EQ(-1, vze_words_check(mem, size, 0x6060));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, size));
	/* Out of step by a page: small leaves, same content. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA + SZ_4K, 0));
	EXPECT_LEAVES(1024, 0);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_4K, size, 0x6161));
	EXPECT_EQ(-1, vze_words_check(mem, size, 0x6161));
}

TEST_HARNESS_MAIN
