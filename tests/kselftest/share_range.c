// SPDX-License-Identifier: MIT
/* Shares of a range of an address space: many objects, opened as one. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define OBJECTS	8
#define PAGES	32
#define RANGE_PAGES (OBJECTS * PAGES / 2)
#define RANGE	(RANGE_PAGES * SZ_4K)

/*
 * Objects in shuffled order, each mapped with half of its pages from an offset, so
 * that neighbours in the range are strangers in memory. Page k of the range begins
 * with SIGNATURE(k).
 */
#define SIGNATURE(page)	(0x5167000000000000ULL | (page))

FIXTURE(range) {
	struct vze_gpu gpu;
	uint32_t handle[OBJECTS];
	/* the middle part that is shared, in pages of the range */
	unsigned int first, pages;
	struct drm_vze_share_create share;
};

static int share_range(FIXTURE_DATA(range) *self, uint64_t addr, uint64_t size, uint32_t flags)
{
	memset(&self->share, 0, sizeof(self->share));
	self->share.flags = DRM_VZE_SHARE_RANGE | flags;
	self->share.vm_id = self->gpu.vm;
	self->share.addr = addr;
	self->share.size = size;
	return vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &self->share);
}

FIXTURE_SETUP(range)
{
	static const unsigned int order[OBJECTS] = { 3, 0, 6, 1, 7, 4, 2, 5 };
	unsigned int i, page;
	uint64_t *map;

	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	for (i = 0; i < OBJECTS; i++)
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, PAGES * SZ_4K,
					    DRM_VZE_PLACEMENT_VRAM + i % 2, 0, &self->handle[i]));
	for (i = 0; i < OBJECTS; i++) {
		uint32_t handle = self->handle[order[i]];
		unsigned int from = 3 + i, at = i * PAGES / 2;

		map = vze_gem_mmap(self->gpu.fd, handle, PAGES * SZ_4K, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		for (page = 0; page < PAGES; page++)
			map[page * 512] = page >= from && page < from + PAGES / 2 ?
					  SIGNATURE(at + page - from) : 0xbadULL;
		munmap(map, PAGES * SZ_4K);
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, from * SZ_4K,
				     PAGES / 2 * SZ_4K, VZE_VA + at * SZ_4K, 0));
	}
	/* Starts and ends inside objects. */
	self->first = 5;
	self->pages = RANGE_PAGES - 12;
}

FIXTURE_TEARDOWN(range)
{
	VZE_TEARDOWN(&self->gpu);
}

/* Case 34, the other side. */
static int opener(void *arg)
{
	FIXTURE_DATA(range) *self = arg;
	struct drm_vze_share_open open = {
		.token = self->share.token, .flags = DRM_VZE_SHARE_OPEN_BIND, .addr = VZE_VA,
	};
	struct drm_vze_vm_info info;
	struct vze_gpu gpu;
	uint64_t *map, *out_map;
	uint32_t out;
	unsigned int page;

	REQUIRE(1, !vze_gpu_open(&gpu, self->gpu.index) && !vze_gpu_start(&gpu));
	open.vm_id = gpu.vm;
	open.size = self->pages * SZ_4K;
	REQUIRE(2, !vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	REQUIRE(3, open.segments == self->share.segments);
	REQUIRE(4, !vze_vm_info(gpu.fd, gpu.vm, &info) && info.mappings == 2);
	map = vze_gem_mmap(gpu.fd, open.handle, open.size, PROT_READ | PROT_WRITE);
	REQUIRE(5, map != MAP_FAILED);
	for (page = 0; page < self->pages; page++)
		REQUIRE(6, map[page * 512] == SIGNATURE(self->first + page));
	/* Device copies that start at every page and cross the next seam. */
	REQUIRE(7, !vze_gem_create(gpu.fd, RANGE, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	REQUIRE(8, !vze_map(gpu.fd, gpu.vm, out, 0, RANGE, VZE_VA + SZ_1G, 0));
	out_map = vze_gem_mmap(gpu.fd, out, RANGE, PROT_READ | PROT_WRITE);
	REQUIRE(9, out_map != MAP_FAILED);
	REQUIRE(10, !vze_gpu_copy(&gpu, VZE_VA + SZ_1G, VZE_VA, open.size));
	for (page = 0; page < self->pages; page++)
		REQUIRE(11, out_map[page * 512] == SIGNATURE(self->first + page));
	for (page = 1; page < self->pages; page++) {
		REQUIRE(12, !vze_gpu_copy(&gpu, VZE_VA + SZ_1G + 8,
					  VZE_VA + page * SZ_4K - 2048, 4096));
		REQUIRE(13, out_map[1 + 256] == SIGNATURE(self->first + page));
	}
	/* And writes: the last word of the shared part. */
	REQUIRE(14, !vze_gpu_fill(&gpu, VZE_VA + open.size - 8, 8, 0x600d));
	/* A part of it, at another address. */
	REQUIRE(15, !vze_map(gpu.fd, gpu.vm, open.handle, 20 * SZ_4K, 40 * SZ_4K,
			     VZE_VA + 2 * SZ_1G, 0));
	REQUIRE(16, !vze_gpu_copy(&gpu, VZE_VA + SZ_1G, VZE_VA + 2 * SZ_1G, 40 * SZ_4K));
	for (page = 0; page < 40; page++)
		REQUIRE(17, out_map[page * 512] == SIGNATURE(self->first + 20 + page));
	return 0;
}

VZE_TEST(range, middle_part)
{
	uint64_t *map;

	ASSERT_EQ(0, share_range(self, VZE_VA + self->first * SZ_4K, self->pages * SZ_4K, 0));
	EXPECT_EQ(OBJECTS, self->share.segments);
	EXPECT_EQ(0, vze_in_child(opener, self));
	/* The exporter sees what the opener wrote in the last object. */
	map = vze_gem_mmap(self->gpu.fd, self->handle[5], PAGES * SZ_4K, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	/* Page first + pages - 1 of the range is page 3 + 7 + 8 of the object mapped last. */
	EXPECT_EQ(0x600d, map[(3 + 7 + (self->first + self->pages - 1) % (PAGES / 2)) * 512 +
			      511]);
	munmap(map, PAGES * SZ_4K);
}

VZE_TEST(range, refused)
{
	const uint64_t whole = RANGE;
	char *mem = vze_anon(SZ_4K, SZ_4K);
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	EXPECT_EQ(-EINVAL, share_range(self, VZE_VA, 0, 0));
	EXPECT_EQ(-EINVAL, share_range(self, VZE_VA + 8, SZ_4K, 0));
	EXPECT_EQ(-EINVAL, share_range(self, VZE_VA, SZ_4K + 8, 0));
	EXPECT_EQ(-EINVAL, share_range(self, VZE_VA, ~0ULL << 12, 0));
	EXPECT_EQ(-EINVAL, share_range(self, VZE_VA_END, SZ_4K, 0));
	EXPECT_EQ(-ENOENT, share_range(self, VZE_VA, whole + SZ_4K, 0));
	EXPECT_EQ(-ENOENT, share_range(self, VZE_VA - SZ_4K, whole, 0));
	EXPECT_EQ(-ENOENT, share_range(self, VZE_VA + SZ_1G, SZ_4K, 0));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + 40 * SZ_4K, SZ_4K));
	EXPECT_EQ(-ENOENT, share_range(self, VZE_VA, whole, 0));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_4K, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_4K, VZE_VA + 40 * SZ_4K,
			     0));
	EXPECT_EQ(-EOPNOTSUPP, share_range(self, VZE_VA, whole, 0));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
}

static int try_open(FIXTURE_DATA(range) *self)
{
	int fd = vze_gpu_reopen(&self->gpu), ret;
	uint32_t handle;

	if (fd < 0)
		return fd;
	ret = vze_share_open(fd, &self->share.token, &handle, NULL);
	close(fd);
	return ret;
}

/* The same range of the same memory is the same share; of other memory it is not. */
VZE_TEST(range, equal_requests)
{
	struct drm_vze_share_create first;

	ASSERT_EQ(0, share_range(self, VZE_VA, RANGE, 0));
	first = self->share;
	ASSERT_EQ(0, share_range(self, VZE_VA, RANGE, 0));
	EXPECT_EQ(first.token.id, self->share.token.id);
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, first.token.id));
	EXPECT_EQ(0, try_open(self));
	/* A page of it is replaced: the range is other memory now. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle[0], 0, SZ_4K, VZE_VA, 0));
	ASSERT_EQ(0, share_range(self, VZE_VA, RANGE, 0));
	EXPECT_NE(first.token.id, self->share.token.id);
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, self->share.token.id));
	EXPECT_EQ(-ENOENT, try_open(self));
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, first.token.id));
	EXPECT_EQ(-ENOENT, vze_share_put(self->gpu.fd, first.token.id));
}

/* One of its objects is released: nobody opens the range any more. */
VZE_TEST(range, ends_with_any_object)
{
	uint32_t handle;
	int fd2 = vze_gpu_reopen(&self->gpu);
	uint64_t *map;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, share_range(self, VZE_VA, RANGE, 0));
	EXPECT_EQ(0, try_open(self));
	ASSERT_EQ(0, vze_share_open(fd2, &self->share.token, &handle, NULL));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle[4]));
	EXPECT_EQ(-ENOENT, try_open(self));
	/* What is open stays whole. */
	map = vze_gem_mmap(fd2, handle, RANGE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(SIGNATURE(0), map[0]);
	EXPECT_EQ(SIGNATURE(RANGE_PAGES - 1), map[(RANGE_PAGES - 1) * 512]);
	munmap(map, RANGE);
	close(fd2);
}

TEST_HARNESS_MAIN
