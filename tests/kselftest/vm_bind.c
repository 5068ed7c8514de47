// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_VM_BIND: arguments, every operation, and what the device then sees. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define PAGES	64
#define SIZE	(PAGES * SZ_4K)
#define OUT	(VZE_VA + SZ_1G)

/*
 * Two objects whose pages say whose and which they are. What the device sees at an
 * address is read by copying 8 bytes of each page to @out.
 */
FIXTURE(vm_bind) {
	struct vze_gpu gpu;
	uint32_t a, b, out;
	uint64_t *out_map;
};

static uint64_t tag(char object, unsigned int page)
{
	return ((uint64_t)object << 32) | page;
}

FIXTURE_SETUP(vm_bind)
{
	uint32_t *objects[] = { &self->a, &self->b };
	unsigned int i, page;
	uint64_t *map;

	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM + i, 0,
					    objects[i]));
		map = vze_gem_mmap(self->gpu.fd, *objects[i], SIZE, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		for (page = 0; page < PAGES; page++)
			map[page * SZ_4K / 8] = tag("ab"[i], page);
		munmap(map, SIZE);
	}
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->out));
	self->out_map = vze_gem_mmap(self->gpu.fd, self->out, SZ_64K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->out_map);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->out, 0, SZ_64K, OUT, 0));
}

FIXTURE_TEARDOWN(vm_bind)
{
	munmap(self->out_map, SZ_64K);
	VZE_TEARDOWN(&self->gpu);
}

/* The tag at page @page after VZE_VA, 0 for a hole. */
static uint64_t seen(FIXTURE_DATA(vm_bind) *self, unsigned int page)
{
	self->out_map[0] = ~0ULL;
	if (!vze_gpu_copy(&self->gpu, OUT, VZE_VA + page * SZ_4K, 8))
		return self->out_map[0];
	return vze_gpu_new_queue(&self->gpu) ? ~0ULL : 0;
}

static int map(FIXTURE_DATA(vm_bind) *self, uint32_t handle, unsigned int from,
	       unsigned int pages, unsigned int at)
{
	return vze_map(self->gpu.fd, self->gpu.vm, handle, from * SZ_4K, pages * SZ_4K,
		       VZE_VA + at * SZ_4K, 0);
}

static int unmap(FIXTURE_DATA(vm_bind) *self, unsigned int at, unsigned int pages)
{
	return vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + at * SZ_4K, pages * SZ_4K);
}

static uint64_t mappings(FIXTURE_DATA(vm_bind) *self)
{
	struct drm_vze_vm_info info;

	return vze_vm_info(self->gpu.fd, self->gpu.vm, &info) ? ~0ULL : info.mappings;
}

VZE_TEST(vm_bind, bad_operations)
{
	const struct {
		struct drm_vze_bind_op op;
		int result;
	} table[] = {
#define OP(o, h, off, len, at, result) \
	{ { .op = DRM_VZE_BIND_##o, .handle = h, .offset = off, .range = len, .addr = at }, result }
		OP(MAP, self->a, 0, 0, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, 1, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K - 1, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K, VZE_VA + 1, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K, VZE_VA + 64, -EINVAL),
		OP(MAP, self->a, 1, SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, 64, SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, SIZE, SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, SIZE + SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, SZ_4K, SIZE, VZE_VA, -EINVAL),
		OP(MAP, self->a, ~0ULL << 12, SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, ~0ULL << 12, 2 * SZ_4K, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, ~0ULL << 12, VZE_VA, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K, VZE_VA_END, -EINVAL),
		OP(MAP, self->a, 0, 2 * SZ_4K, VZE_VA_END - SZ_4K, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K, ~0ULL << 12, -EINVAL),
		OP(MAP, self->a, 0, SZ_4K, 1ULL << 63, -EINVAL),
		OP(MAP, 0, 0, SZ_4K, VZE_VA, -ENOENT),
		OP(MAP, 12345, 0, SZ_4K, VZE_VA, -ENOENT),
		OP(MAP, ~0U, 0, SZ_4K, VZE_VA, -ENOENT),
		OP(UNMAP, 0, 0, 0, VZE_VA, -EINVAL),
		OP(UNMAP, 0, 0, 1, VZE_VA, -EINVAL),
		OP(UNMAP, 0, 0, SZ_4K, VZE_VA + 8, -EINVAL),
		OP(UNMAP, 0, 0, SZ_4K, VZE_VA_END, -EINVAL),
		OP(UNMAP, 0, 0, ~0ULL << 12, VZE_VA, -EINVAL),
		OP(UNMAP, 0, 0, SZ_4K, ~0ULL << 12, -EINVAL),
		OP(PROTECT, 0, 0, 0, VZE_VA, -EINVAL),
		OP(PROTECT, 0, 0, SZ_4K, VZE_VA + 8, -EINVAL),
		OP(PROTECT, 0, 0, SZ_4K, VZE_VA_END, -EINVAL),
		OP(PROTECT, 0, 0, SZ_4K, VZE_VA, -ENOENT),
#undef OP
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		EXPECT_EQ(table[i].result, vze_vm_bind(self->gpu.fd, self->gpu.vm, &table[i].op,
						       1)) {
			TH_LOG("line %u: op %u", i, table[i].op.op);
		}
	}
	/* The command stream's and the output's, nothing else. */
	EXPECT_EQ(2, mappings(self));
}

VZE_TEST(vm_bind, bad_calls)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = self->a, .range = SZ_4K, .addr = VZE_VA,
	};
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL, .handle = 0x7777 };
	int fd = self->gpu.fd;
	uint32_t vm = self->gpu.vm;

	EXPECT_EQ(-EINVAL, vze_vm_bind(fd, vm, &op, 0));
	EXPECT_EQ(-EINVAL, vze_vm_bind(fd, vm, &op, DRM_VZE_MAX_BIND_OPS + 1));
	EXPECT_EQ(-EINVAL, vze_vm_bind(fd, vm, &op, ~0U));
	EXPECT_EQ(-EFAULT, vze_vm_bind(fd, vm, (void *)64, 1));
	EXPECT_EQ(-EFAULT, vze_vm_bind(fd, vm, (void *)~63UL, 1));
	EXPECT_EQ(-ENOENT, vze_vm_bind(fd, 0, &op, 1));
	EXPECT_EQ(-ENOENT, vze_vm_bind(fd, vm + 1000, &op, 1));
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(fd, vm, 0, &op, 1, &sync, DRM_VZE_MAX_SYNCS + 1));
	EXPECT_EQ(-EFAULT, vze_vm_bind_syncs(fd, vm, 0, &op, 1, (void *)64, 1));
	EXPECT_EQ(-ENOENT, vze_vm_bind_syncs(fd, vm, 0, &op, 1, &sync, 1));
	sync.flags = DRM_VZE_SYNC_WAIT;
	EXPECT_EQ(-ENOENT, vze_vm_bind_syncs(fd, vm, 0, &op, 1, &sync, 1));
	EXPECT_EQ(2, mappings(self));
	EXPECT_EQ(0, seen(self, 0));
}

VZE_TEST(vm_bind, map_at_every_place)
{
	static const uint64_t addresses[] = {
		SZ_4K, SZ_2M - SZ_4K, SZ_2M, SZ_1G - SZ_64K, 512 * SZ_1G - SZ_64K, 512 * SZ_1G,
		VZE_VA_END - SIZE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(addresses); i++) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->a, 0, SIZE, addresses[i],
				     0)) {
			TH_LOG("0x%llx", (unsigned long long)addresses[i]);
		}
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, OUT, addresses[i], 8));
		EXPECT_EQ(tag('a', 0), self->out_map[0]);
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, OUT, addresses[i] + SIZE - SZ_4K, 8));
		EXPECT_EQ(tag('a', PAGES - 1), self->out_map[0]);
	}
	/* Many addresses of one object at once. */
	EXPECT_EQ(2 + ARRAY_LEN(addresses), mappings(self));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, SZ_4K, VZE_VA_CS - SZ_4K));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, OUT + SZ_1G,
			       VZE_VA_END - OUT - SZ_1G));
	EXPECT_EQ(2, mappings(self));
}

/* Unmapping left, right, middle, all, across holes, and a hole. */
VZE_TEST(vm_bind, unmap)
{
	static const struct {
		unsigned int at;
		unsigned int pages;
		unsigned int left;
	} cut[] = {
		{ 8, 4, 1 }, { 20, 4, 1 }, { 12, 4, 2 }, { 8, 16, 0 }, { 0, 10, 1 }, { 20, 40, 1 },
		{ 0, 32, 0 }, { 0, 8, 1 }, { 24, 8, 1 }, { 9, 14, 2 },
	};
	unsigned int i, page;

	for (i = 0; i < ARRAY_LEN(cut); i++) {
		ASSERT_EQ(0, map(self, self->a, 8, 16, 8));
		ASSERT_EQ(0, unmap(self, cut[i].at, cut[i].pages));
		EXPECT_EQ(2 + cut[i].left, mappings(self));
		for (page = 6; page < 26; page++) {
			bool there = page >= 8 && page < 24 &&
				     (page < cut[i].at || page >= cut[i].at + cut[i].pages);

			EXPECT_EQ(there ? tag('a', page) : 0, seen(self, page)) {
				TH_LOG("cut %u page %u", i, page);
			}
		}
		ASSERT_EQ(0, unmap(self, 0, 64));
		ASSERT_EQ(0, unmap(self, 0, 64));
	}
	/* One call undoes four maps. */
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, map(self, i % 2 ? self->b : self->a, i, 4, i * 8));
	EXPECT_EQ(6, mappings(self));
	ASSERT_EQ(0, unmap(self, 0, 64));
	EXPECT_EQ(2, mappings(self));
}

/* A map replaces what is there, and only that. */
VZE_TEST(vm_bind, map_replaces)
{
	static const struct {
		unsigned int at;
		unsigned int pages;
	} over[] = {
		{ 8, 16 }, { 8, 4 }, { 20, 4 }, { 12, 4 }, { 4, 8 }, { 20, 8 }, { 0, 32 },
		{ 0, 8 }, { 24, 8 },
	};
	unsigned int i, page;

	for (i = 0; i < ARRAY_LEN(over); i++) {
		ASSERT_EQ(0, map(self, self->a, 8, 16, 8));
		ASSERT_EQ(0, map(self, self->b, over[i].at + 1, over[i].pages, over[i].at));
		for (page = 0; page < 34; page++) {
			bool b = page >= over[i].at && page < over[i].at + over[i].pages;
			bool a = page >= 8 && page < 24;

			EXPECT_EQ(b ? tag('b', page + 1) : a ? tag('a', page) : 0,
				  seen(self, page)) {
				TH_LOG("case %u page %u", i, page);
			}
		}
		ASSERT_EQ(0, unmap(self, 0, 64));
		EXPECT_EQ(2, mappings(self));
	}
	/* The same object at the same place again, then moved by a page. */
	ASSERT_EQ(0, map(self, self->a, 0, 16, 0));
	ASSERT_EQ(0, map(self, self->a, 0, 16, 0));
	EXPECT_EQ(tag('a', 5), seen(self, 5));
	ASSERT_EQ(0, map(self, self->a, 1, 16, 0));
	EXPECT_EQ(tag('a', 6), seen(self, 5));
	/* One over several others and the holes between them. */
	ASSERT_EQ(0, map(self, self->b, 0, 2, 20));
	ASSERT_EQ(0, map(self, self->b, 0, 2, 24));
	ASSERT_EQ(0, map(self, self->a, 10, 20, 10));
	for (page = 0; page < 32; page++)
		EXPECT_EQ(page < 10 ? tag('a', page + 1) : page < 30 ? tag('a', page) : 0,
			  seen(self, page));
}

VZE_TEST(vm_bind, access)
{
	const uint64_t fill = VZE_VA + 4 * SZ_4K;
	struct drm_vze_queue_state state;
	int fd = self->gpu.fd;
	uint32_t vm = self->gpu.vm;

	ASSERT_EQ(0, vze_map(fd, vm, self->b, 0, 16 * SZ_4K, VZE_VA, DRM_VZE_BIND_READONLY));
	EXPECT_EQ(tag('b', 4), seen(self, 4));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, fill, 8, 1));
	ASSERT_EQ(0, vze_queue_state(fd, self->gpu.queue, &state));
	EXPECT_EQ(VZE_HW_FAULT_READ_ONLY, state.reason);
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(tag('b', 4), seen(self, 4));

	/* Writable in the middle only. */
	ASSERT_EQ(0, vze_protect(fd, vm, fill, 2 * SZ_4K, 0));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, fill, 8, 1));
	EXPECT_EQ(1, seen(self, 4));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, fill - 8, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, fill + 2 * SZ_4K, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));

	/* Whole range back, over the seams. */
	ASSERT_EQ(0, vze_protect(fd, vm, VZE_VA, 16 * SZ_4K, 0));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 16 * SZ_4K, 2));
	ASSERT_EQ(0, vze_protect(fd, vm, VZE_VA, 16 * SZ_4K, DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + 15 * SZ_4K, 8, 3));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(2, seen(self, 15));

	/* No access at all, and back by PROTECT. */
	ASSERT_EQ(0, vze_map(fd, vm, self->b, 0, 16 * SZ_4K, VZE_VA, DRM_VZE_BIND_NO_ACCESS));
	EXPECT_EQ(3, mappings(self));
	EXPECT_EQ(0, seen(self, 4));
	ASSERT_EQ(0, vze_protect(fd, vm, VZE_VA, 8 * SZ_4K, DRM_VZE_BIND_READONLY));
	EXPECT_EQ(2, seen(self, 4));
	EXPECT_EQ(0, seen(self, 8));
	EXPECT_EQ(-EINVAL, vze_map(fd, vm, self->b, 0, SZ_4K, VZE_VA,
				   DRM_VZE_BIND_NO_ACCESS | DRM_VZE_BIND_READONLY << 2));
}

VZE_TEST(vm_bind, protect_needs_every_byte)
{
	int fd = self->gpu.fd;
	uint32_t vm = self->gpu.vm;

	ASSERT_EQ(0, map(self, self->a, 0, 4, 0));
	ASSERT_EQ(0, map(self, self->a, 5, 3, 5));
	EXPECT_EQ(-ENOENT, vze_protect(fd, vm, VZE_VA, 8 * SZ_4K, DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-ENOENT, vze_protect(fd, vm, VZE_VA + 4 * SZ_4K, SZ_4K, 0));
	EXPECT_EQ(-ENOENT, vze_protect(fd, vm, VZE_VA + 7 * SZ_4K, 2 * SZ_4K, 0));
	EXPECT_EQ(-ENOENT, vze_protect(fd, vm, VZE_VA - SZ_4K, 2 * SZ_4K, 0));
	/* Nothing of it was done. */
	EXPECT_EQ(4, mappings(self));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 4 * SZ_4K, 9));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + 5 * SZ_4K, 3 * SZ_4K, 9));
	/* Two neighbours are no hole. */
	ASSERT_EQ(0, map(self, self->b, 4, 1, 4));
	EXPECT_EQ(0, vze_protect(fd, vm, VZE_VA, 8 * SZ_4K, DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + 4 * SZ_4K, 8, 9));
}

/* Operations of one call act in order, each on what the earlier ones left. */
VZE_TEST(vm_bind, order_inside_a_call)
{
	const struct drm_vze_bind_op ops[] = {
#define OP(o, h, from, pages, at) \
	{ .op = DRM_VZE_BIND_##o, .handle = h, .offset = (from) * SZ_4K, \
	  .range = (pages) * SZ_4K, .addr = VZE_VA + (at) * SZ_4K }
		OP(MAP, self->a, 0, 32, 0),
		OP(UNMAP, 0, 0, 8, 8),
		OP(MAP, self->b, 0, 4, 10),
		OP(MAP, self->a, 40, 2, 11),
		OP(UNMAP, 0, 0, 1, 12),
		OP(MAP, self->b, 20, 1, 0),
		OP(PROTECT, 0, 0, 4, 0),
		OP(UNMAP, 0, 0, 64, 100),
#undef OP
	};
	unsigned int page;

	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, ARRAY_LEN(ops)));
	for (page = 0; page < 34; page++) {
		uint64_t expected = tag('a', page);

		if (page == 0)
			expected = tag('b', 20);
		else if (page == 10 || page == 13)
			expected = tag('b', page - 10);
		else if (page == 11)
			expected = tag('a', 40);
		else if ((page >= 8 && page < 16) || page >= 32)
			expected = 0;
		EXPECT_EQ(expected, seen(self, page)) {
			TH_LOG("page %u", page);
		}
	}
}

/* 1,024 operations in one call; every one is found by the device. */
VZE_TEST(vm_bind, large_array)
{
	enum { COUNT = 1024 };
	struct drm_vze_bind_op *ops = calloc(COUNT, sizeof(*ops));
	unsigned int i;

	ASSERT_NE(NULL, ops);
	for (i = 0; i < COUNT; i++) {
		ops[i].op = DRM_VZE_BIND_MAP;
		ops[i].handle = i % 3 ? self->a : self->b;
		ops[i].offset = i * 7 % PAGES * SZ_4K;
		ops[i].range = SZ_4K;
		ops[i].addr = VZE_VA + i * 3 * SZ_4K;
	}
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, COUNT));
	EXPECT_EQ(2 + COUNT, mappings(self));
	vze_cs_reset(&self->gpu.cs);
	for (i = 0; i < COUNT; i++)
		vze_cs_copy(&self->gpu.cs, OUT + i * 8, ops[i].addr, 8);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(tag(i % 3 ? 'a' : 'b', i * 7 % PAGES), self->out_map[i]);

	for (i = 0; i < COUNT; i++) {
		ops[i].op = DRM_VZE_BIND_UNMAP;
		ops[i].handle = 0;
		ops[i].offset = 0;
	}
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, COUNT));
	EXPECT_EQ(2, mappings(self));
	free(ops);
}

VZE_TEST(vm_bind, largest_array)
{
	struct drm_vze_bind_op *ops = calloc(DRM_VZE_MAX_BIND_OPS, sizeof(*ops));
	unsigned int i;

	ASSERT_NE(NULL, ops);
	for (i = 0; i < DRM_VZE_MAX_BIND_OPS; i++) {
		ops[i].op = i % 2 ? DRM_VZE_BIND_UNMAP : DRM_VZE_BIND_MAP;
		ops[i].handle = i % 2 ? 0 : self->a;
		ops[i].range = SZ_4K;
		ops[i].addr = VZE_VA + i / 2 % 512 * SZ_4K;
	}
	ops[DRM_VZE_MAX_BIND_OPS - 1].addr = VZE_VA + SZ_2M;
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, DRM_VZE_MAX_BIND_OPS));
	/* Only the last map was not undone. */
	EXPECT_EQ(3, mappings(self));
	EXPECT_EQ(tag('a', 0), seen(self, 511));
	EXPECT_EQ(0, seen(self, 510));
	free(ops);
}

/* The object stays while it is mapped, whatever happens to its handle. */
VZE_TEST(vm_bind, mapping_keeps_the_object)
{
	ASSERT_EQ(0, map(self, self->a, 0, PAGES, 0));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->a));
	EXPECT_EQ(tag('a', 17), seen(self, 17));
	ASSERT_EQ(0, unmap(self, 0, 17));
	EXPECT_EQ(tag('a', 17), seen(self, 17));
	ASSERT_EQ(0, unmap(self, 0, PAGES));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", 0));
}

/* 4,096 objects, each bound and found. */
VZE_TEST(vm_bind, many_objects)
{
	enum { COUNT = 4096 };
	struct drm_vze_bind_op *ops = calloc(COUNT, sizeof(*ops));
	unsigned int i;

	ASSERT_NE(NULL, ops);
	for (i = 0; i < COUNT; i++) {
		ops[i].op = DRM_VZE_BIND_MAP;
		ops[i].range = SZ_4K;
		ops[i].addr = VZE_VA + i * SZ_4K;
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM + i % 2, 0,
					    &ops[i].handle));
	}
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, COUNT));
	EXPECT_EQ(2 + COUNT, mappings(self));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, COUNT * SZ_4K, 0x31));
	EXPECT_EQ(0x31, seen(self, 0));
	EXPECT_EQ(0x31, seen(self, COUNT - 1));
	for (i = 0; i < COUNT; i++)
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, ops[i].handle));
	EXPECT_EQ(0x31, seen(self, COUNT / 2));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, COUNT * SZ_4K));
	EXPECT_EQ(2, mappings(self));
	free(ops);
}

TEST_HARNESS_MAIN
