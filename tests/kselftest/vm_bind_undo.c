// SPDX-License-Identifier: MIT
/* VM_BIND is all or nothing: an operation fails at each position of an array. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define OBJECT	(2 * SZ_2M)
#define OUT	(VZE_VA + SZ_1G)
#define PROBES	24
#define PROBE(i) (VZE_VA + (i) * 0x5b * SZ_4K)

FIXTURE(undo) {
	struct vze_gpu gpu;
	uint32_t a, b, read_only, out;
	uint64_t *out_map;
	char *user;
};

FIXTURE_SETUP(undo)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, OBJECT, DRM_VZE_PLACEMENT_VRAM, 0, &self->a));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, OBJECT, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->b));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->out));
	self->out_map = vze_gem_mmap(gpu->fd, self->out, SZ_64K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->out_map);
	self->user = vze_anon(SZ_64K, SZ_4K);
	ASSERT_NE(NULL, self->user);
	ASSERT_EQ(0, vze_userptr(gpu->fd, self->user, SZ_64K, DRM_VZE_USERPTR_READONLY,
				 &self->read_only));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->out, 0, SZ_64K, OUT, 0));
	/* The state to be kept: two large leaves, small ones, a hole, a read-only piece. */
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->a, 0, OBJECT, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->b, 0, OBJECT, VZE_VA + 3 * SZ_2M, 0));
	ASSERT_EQ(0, vze_gpu_fill(gpu, VZE_VA, OBJECT, 0xaaaa));
	ASSERT_EQ(0, vze_gpu_fill(gpu, VZE_VA + 3 * SZ_2M, OBJECT, 0xbbbb));
	ASSERT_EQ(0, vze_protect(gpu->fd, gpu->vm, VZE_VA + 4 * SZ_2M, SZ_64K,
				 DRM_VZE_BIND_READONLY));
}

FIXTURE_TEARDOWN(undo)
{
	munmap(self->out_map, SZ_64K);
	VZE_TEARDOWN(&self->gpu);
}

/* What the device sees at each probe: the word there, or 0 for a fault. */
static int look(FIXTURE_DATA(undo) *self, uint64_t *words)
{
	unsigned int i;
	int ret;

	for (i = 0; i < PROBES; i++) {
		self->out_map[0] = ~0ULL;
		ret = vze_gpu_copy(&self->gpu, OUT, PROBE(i), 8);
		if (ret == -EFAULT)
			ret = vze_gpu_new_queue(&self->gpu);
		else if (!ret)
			words[i] = self->out_map[0];
		if (ret)
			return ret;
	}
	return 0;
}

VZE_TEST(undo, failure_at_each_position)
{
	const struct drm_vze_bind_op good[] = {
#define OP(o, f, h, off, len, at) \
	{ .op = DRM_VZE_BIND_##o, .flags = f, .handle = h, .offset = off, .range = len, .addr = at }
		OP(MAP, 0, self->b, SZ_2M, SZ_2M, VZE_VA), /* replaces a large leaf */
		OP(UNMAP, 0, 0, 0, SZ_4K, VZE_VA + SZ_2M + SZ_64K), /* splits one */
		OP(MAP, 0, self->a, 0, SZ_2M, VZE_VA + 2 * SZ_2M), /* into the hole */
		OP(PROTECT, DRM_VZE_BIND_READONLY, 0, 0, SZ_2M, VZE_VA + 3 * SZ_2M),
		OP(MAP, DRM_VZE_BIND_NO_ACCESS, self->a, 0, SZ_64K, VZE_VA + 4 * SZ_2M + SZ_1M),
		OP(UNMAP, 0, 0, 0, 16 * SZ_2M, VZE_VA), /* everything */
		OP(MAP, 0, self->b, 0, OBJECT, VZE_VA + 64 * SZ_1M), /* new tables */
		OP(MAP, 0, self->a, 0, SZ_4K, VZE_VA),
	};
	const struct {
		struct drm_vze_bind_op op;
		int result;
	} bad[] = {
		{ OP(MAP, 0, 0x7777, 0, SZ_4K, VZE_VA), -ENOENT },
		{ OP(MAP, 0, self->a, 0, OBJECT + SZ_4K, VZE_VA), -EINVAL },
		{ OP(MAP, 0, self->a, 1, SZ_4K, VZE_VA), -EINVAL },
		{ OP(MAP, 0, self->a, 0, SZ_4K, VZE_VA_END), -EINVAL },
		{ OP(MAP, 0, self->read_only, 0, SZ_4K, VZE_VA), -EACCES },
		{ OP(UNMAP, 0, 0, 0, 0, VZE_VA), -EINVAL },
		{ OP(UNMAP, 0, self->a, 0, SZ_4K, VZE_VA), -EINVAL },
		{ OP(PROTECT, 0, 0, 0, SZ_4K, VZE_VA + 512 * SZ_1G), -ENOENT },
		{ OP(PROTECT, 0, 0, 0, SZ_4K, VZE_VA + 900 * SZ_1M), -ENOENT },
		{ { .op = 3, .range = SZ_4K, .addr = VZE_VA }, -EINVAL },
	};
#undef OP
	struct drm_vze_bind_op ops[ARRAY_LEN(good) + 1];
	uint64_t before[PROBES] = {}, after[PROBES];
	struct drm_vze_vm_info info, now;
	unsigned int at, kind, i;

	ASSERT_EQ(0, look(self, before));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	for (kind = 0; kind < ARRAY_LEN(bad); kind++) {
		for (at = 0; at <= ARRAY_LEN(good); at++) {
			memcpy(ops, good, at * sizeof(ops[0]));
			ops[at] = bad[kind].op;
			memcpy(ops + at + 1, good + at, (ARRAY_LEN(good) - at) * sizeof(ops[0]));
			EXPECT_EQ(bad[kind].result, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops,
								ARRAY_LEN(ops))) {
				TH_LOG("kind %u at %u", kind, at);
			}
			ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &now));
			EXPECT_EQ(info.mappings, now.mappings) {
				TH_LOG("kind %u at %u", kind, at);
			}
			EXPECT_EQ(info.pte_4k, now.pte_4k);
			EXPECT_EQ(info.pte_2m, now.pte_2m);
			EXPECT_EQ(info.pt_pages, now.pt_pages);
			/* The probes take a while: only for the failure that undoes most. */
			if (at != ARRAY_LEN(good))
				continue;
			memset(after, 0, sizeof(after));
			ASSERT_EQ(0, look(self, after));
			for (i = 0; i < PROBES; i++)
				EXPECT_EQ(before[i], after[i]) {
					TH_LOG("kind %u at %u probe %u", kind, at, i);
				}
		}
	}
	/* Read-only stayed read-only, writable stayed writable. */
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + 3 * SZ_2M, 8, 0xcccc));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + 4 * SZ_2M, 8, 0xcccc));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));

	/* Without the bad one, the same array works. */
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, good, ARRAY_LEN(good)));
	memset(after, 0, sizeof(after));
	ASSERT_EQ(0, look(self, after));
	EXPECT_EQ(0xaaaa, after[0]);
	for (i = 1; i < PROBES; i++)
		EXPECT_EQ(0, after[i]);
}

/* The syncobj that a failing call would have signalled is what it was. */
VZE_TEST(undo, syncobjs_untouched)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = 0x7777, .range = SZ_4K, .addr = VZE_VA,
	};
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	uint32_t flags;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &sync.handle));
	for (flags = 0; flags <= DRM_VZE_VM_BIND_ASYNC; flags++) {
		EXPECT_EQ(-ENOENT, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, flags, &op, 1,
						     &sync, 1));
		EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, sync.handle, 50));
	}
	EXPECT_EQ(0, vze_syncobj_destroy(self->gpu.fd, sync.handle));
}

TEST_HARNESS_MAIN
