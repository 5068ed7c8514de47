// SPDX-License-Identifier: MIT
/* Opening that fails part of the way, and opening with few descriptors. Cases 35 and 36. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define OBJECTS	16
#define SIZE	SZ_64K

FIXTURE(share_open_fails) {
	struct vze_gpu gpu;
	int exporter;
	uint32_t vm, handle[OBJECTS];
	struct drm_vze_share_create share;
};

FIXTURE_SETUP(share_open_fails)
{
	unsigned int i;

	VZE_SETUP(&self->gpu);
	/* The importer's side. */
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->exporter = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->exporter);
	ASSERT_EQ(0, vze_vm_create(self->exporter, &self->vm));
	for (i = 0; i < OBJECTS; i++) {
		ASSERT_EQ(0, vze_gem_create(self->exporter, SIZE, DRM_VZE_PLACEMENT_VRAM + i % 2,
					    0, &self->handle[i]));
		ASSERT_EQ(0, share_fill(self->exporter, self->handle[i], SIZE, i));
		ASSERT_EQ(0, vze_map(self->exporter, self->vm, self->handle[i], 0, SIZE,
				     VZE_VA + i * SIZE, 0));
	}
	ASSERT_EQ(0, share_range(self->exporter, self->vm, VZE_VA, OBJECTS * SIZE, 0,
				 &self->share));
}

FIXTURE_TEARDOWN(share_open_fails)
{
	close(self->exporter);
	VZE_TEARDOWN(&self->gpu);
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/*
 * The addresses end at object k. Nothing is there afterwards: no mapping, no table, no
 * handle, no view, no descriptor; and what was mapped before in the way is as it was.
 */
VZE_TEST(share_open_fails, where_the_addresses_end)
{
	struct drm_vze_vm_info before, after;
	struct drm_vze_share_importers args;
	uint32_t other, first, view;
	unsigned int k, fds;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &other));
	for (k = 0; k < OBJECTS; k++) {
		uint64_t addr = VZE_VA_END - k * SIZE;

		if (k)
			ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, other, 0, SIZE, addr,
					     0));
		ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
		fds = count_fds();
		EXPECT_EQ(-EINVAL, share_open_at(self->gpu.fd, &self->share.token, self->gpu.vm,
						 addr, OBJECTS * SIZE, &view)) {
			TH_LOG("object %u", k);
		}
		ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &after));
		EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
		EXPECT_EQ(fds, count_fds());
		ASSERT_EQ(0, share_importers(self->exporter, self->share.token.id, NULL, 0,
					     &args));
		EXPECT_EQ(0, args.num);
		if (k) {
			EXPECT_EQ(0, vze_gpu_fill(&self->gpu, addr + SIZE - 8, 8, k));
			EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, addr, SIZE));
		}
	}
	/* The handles are given out in order: none was used up. */
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &first));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, first));
	ASSERT_EQ(0, share_open_at(self->gpu.fd, &self->share.token, self->gpu.vm,
				   VZE_VA_END - OBJECTS * SIZE, OBJECTS * SIZE, &view));
	EXPECT_EQ(first, view);
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA_END - 8, 8, 7));
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA_END - OBJECTS * SIZE,
			       OBJECTS * SIZE));
}

/* The same for what is wrong with the call. */
VZE_TEST(share_open_fails, bad_calls)
{
	const struct drm_vze_share_open good = {
		.token = self->share.token, .flags = DRM_VZE_SHARE_OPEN_BIND,
		.vm_id = self->gpu.vm, .addr = VZE_VA, .size = OBJECTS * SIZE,
	};
	struct drm_vze_vm_info before, after;
	struct drm_vze_share_open open;

	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
#define BAD(result, field, value) do {							\
	open = good;									\
	open.field = value;								\
	EXPECT_EQ(result, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open)) {	\
		TH_LOG(#field " = " #value);						\
	}										\
} while (0)
	BAD(-EINVAL, size, 0);
	BAD(-EINVAL, size, OBJECTS * SIZE - SZ_4K);
	BAD(-EINVAL, size, OBJECTS * SIZE + SZ_4K);
	BAD(-EINVAL, addr, 0);
	BAD(-EINVAL, addr, VZE_VA + 8);
	BAD(-EINVAL, addr, ~0xfffULL);
	BAD(-ENOENT, vm_id, 0);
	BAD(-ENOENT, vm_id, self->gpu.vm + 1);
	BAD(-EINVAL, pad, 1);
	BAD(-EINVAL, fd, 1);
	BAD(-EINVAL, flags, 0);
	BAD(-EINVAL, flags, DRM_VZE_SHARE_OPEN_IS_READONLY);
	BAD(-ENOENT, token.id, 0);
#undef BAD
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
}

/* Case 36: with 64 descriptors at most, 4,096 objects there and back; fewer than 8 are used. */
VZE_TEST(share_open_fails, few_descriptors)
{
	enum { MANY = 4096 };
	struct drm_vze_bind_op *ops = calloc(MANY, sizeof(*ops));
	struct drm_vze_vm_info info;
	struct rlimit limit, few;
	unsigned int i, fds = count_fds();
	uint64_t *map;
	uint32_t view;

	ASSERT_NE(NULL, ops);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	few = limit;
	few.rlim_cur = 64;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	for (i = 0; i < MANY; i++) {
		ops[i].op = DRM_VZE_BIND_MAP;
		ops[i].range = SZ_4K;
		ops[i].addr = VZE_VA + SZ_1G + i * SZ_4K;
		ASSERT_EQ(0, vze_gem_create(self->exporter, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &ops[i].handle));
	}
	ASSERT_EQ(0, vze_vm_bind(self->exporter, self->vm, ops, MANY));
	map = mmap((void *)(VZE_VA + SZ_1G), MANY * SZ_4K, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, self->exporter,
		   DRM_VZE_VM_MMAP_OFFSET(self->vm, VZE_VA + SZ_1G));
	ASSERT_EQ((void *)(VZE_VA + SZ_1G), (void *)map);
	for (i = 0; i < MANY; i++)
		map[i * 512] = 0xabc000 + i;
	munmap(map, MANY * SZ_4K);

	ASSERT_EQ(0, share_range(self->exporter, self->vm, VZE_VA + SZ_1G, MANY * SZ_4K, 0,
				 &self->share));
	EXPECT_EQ(MANY, self->share.segments);
	ASSERT_EQ(0, share_open_at(self->gpu.fd, &self->share.token, self->gpu.vm, VZE_VA,
				   MANY * SZ_4K, &view));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	/* The stream of commands, and the view: one mapping. */
	EXPECT_EQ(2, info.mappings);
	map = vze_gem_mmap(self->gpu.fd, view, MANY * SZ_4K, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0xabc000 + i, map[i * 512]);
	munmap(map, MANY * SZ_4K);
	EXPECT_GT(fds + 8, count_fds());
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, MANY * SZ_4K));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, view));
	EXPECT_EQ(fds, count_fds());
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	free(ops);
}

TEST_HARNESS_MAIN
