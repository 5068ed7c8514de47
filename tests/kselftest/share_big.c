// SPDX-License-Identifier: MIT
/* One share of very many objects: 65,536 of 4 KiB, and leaves as large as memory allows. */
#include <errno.h>
#include <stdlib.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define MANY	65536U
#define RANGE	(MANY * SZ_4K)
#define SIGNATURE(page)	(0xb16000000000ULL | (page))

FIXTURE(share_big) {
	struct vze_gpu gpu;
	int exporter;
	uint32_t vm;
	struct drm_vze_share_create share;
};

FIXTURE_SETUP(share_big)
{
	VZE_SETUP(&self->gpu);
	/* The importer's side. */
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->exporter = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->exporter);
	ASSERT_EQ(0, vze_vm_create(self->exporter, &self->vm));
}

FIXTURE_TEARDOWN(share_big)
{
	close(self->exporter);
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(share_big, many_objects)
{
	struct drm_vze_bind_op *ops = calloc(MANY, sizeof(*ops));
	struct drm_vze_share_create again;
	struct drm_vze_vm_info info;
	uint32_t view, out, i;
	uint64_t *map, *out_map;

	ASSERT_NE(NULL, ops);
	for (i = 0; i < MANY; i++) {
		/* Neighbours in the range were not made one after the other. */
		uint32_t at = (i * 40503U) % MANY;

		ops[at].op = DRM_VZE_BIND_MAP;
		ops[at].range = SZ_4K;
		ops[at].addr = VZE_VA + at * SZ_4K;
		ASSERT_EQ(0, vze_gem_create(self->exporter, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &ops[at].handle));
	}
	ASSERT_EQ(0, vze_vm_bind(self->exporter, self->vm, ops, MANY));
	free(ops);
	/* One VMA for all of them, on either side. */
	map = mmap((void *)VZE_VA, RANGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		   self->exporter, DRM_VZE_VM_MMAP_OFFSET(self->vm, VZE_VA));
	ASSERT_EQ((void *)VZE_VA, (void *)map);
	for (i = 0; i < MANY; i++)
		map[i * 512] = SIGNATURE(i);
	EXPECT_EQ(1, vze_count_vmas(map, RANGE));
	munmap(map, RANGE);

	ASSERT_EQ(0, share_range(self->exporter, self->vm, VZE_VA, RANGE, 0, &self->share));
	EXPECT_EQ(MANY, self->share.segments);
	ASSERT_EQ(0, share_range(self->exporter, self->vm, VZE_VA, RANGE, 0, &again));
	EXPECT_EQ(self->share.token.id, again.token.id);

	ASSERT_EQ(0, share_open_at(self->gpu.fd, &self->share.token, self->gpu.vm, VZE_VA, RANGE,
				   &view));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	EXPECT_EQ(2, info.mappings);
	map = mmap((void *)VZE_VA, RANGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		   self->gpu.fd, DRM_VZE_VM_MMAP_OFFSET(self->gpu.vm, VZE_VA));
	ASSERT_EQ((void *)VZE_VA, (void *)map);
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(SIGNATURE(i), map[i * 512]);
	EXPECT_EQ(1, vze_count_vmas(map, RANGE));
	munmap(map, RANGE);
	/* The device finds the same, across every seam of a part. */
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, out, 0, SZ_1M, VZE_VA + SZ_1G, 0));
	out_map = vze_gem_mmap(self->gpu.fd, out, SZ_1M, PROT_READ);
	ASSERT_NE(MAP_FAILED, out_map);
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_1G, VZE_VA + 1000 * SZ_4K, SZ_1M));
	for (i = 0; i < SZ_1M / SZ_4K; i++)
		EXPECT_EQ(SIGNATURE(1000 + i), out_map[i * 512]);
	munmap(out_map, SZ_1M);
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, RANGE));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, view));
}

/* Objects that are neighbours in memory, or large, become large leaves on the other side. */
VZE_TEST(share_big, large_leaves)
{
	struct drm_vze_vm_info before, info;
	uint32_t whole, view, i;

	ASSERT_EQ(0, vze_gem_create(self->exporter, 16 * SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0,
				    &whole));
	/* Cut into pieces of 64 KiB by the mappings, in order: one segment, no seams. */
	for (i = 0; i < 16 * SZ_2M / SZ_64K; i++)
		ASSERT_EQ(0, vze_map(self->exporter, self->vm, whole, i * SZ_64K, SZ_64K,
				     VZE_VA + i * SZ_64K, 0));
	ASSERT_EQ(0, share_range(self->exporter, self->vm, VZE_VA, 16 * SZ_2M, 0, &self->share));
	EXPECT_EQ(1, self->share.segments);
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
	ASSERT_EQ(0, share_open_at(self->gpu.fd, &self->share.token, self->gpu.vm, VZE_VA,
				   16 * SZ_2M, &view));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	EXPECT_EQ(before.mappings + 1, info.mappings);
	EXPECT_EQ(before.pte_2m + 16, info.pte_2m);
	EXPECT_EQ(before.pte_4k, info.pte_4k);
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, 16 * SZ_2M));
}

TEST_HARNESS_MAIN
