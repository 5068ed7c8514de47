// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_GEM_CREATE and _GEM_INFO, and that new memory is zero. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(gem) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(gem)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(gem)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(gem, bad_arguments)
{
	static const uint64_t sizes[] = {
		0, 1, 64, SZ_4K - 1, SZ_4K + 1, (1ULL << 47) + SZ_4K, 1ULL << 63, ~0ULL,
		~0ULL << 12,
	};
	static const uint32_t placements[] = {
		0, DRM_VZE_PLACEMENT_USERPTR, DRM_VZE_PLACEMENT_IMPORTED, DRM_VZE_PLACEMENT_SHARE,
		6, 0x80000000, ~0U,
	};
	uint32_t handle, p;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
			EXPECT_EQ(-EINVAL, vze_gem_create(self->gpu.fd, sizes[i], p, 0, &handle)) {
				TH_LOG("size 0x%llx placement %u", (unsigned long long)sizes[i], p);
			}
		}
	}
	for (i = 0; i < ARRAY_LEN(placements); i++) {
		EXPECT_EQ(-EINVAL, vze_gem_create(self->gpu.fd, SZ_4K, placements[i], 0, &handle)) {
			TH_LOG("placement %u", placements[i]);
		}
	}
	EXPECT_EQ(-ENOSPC, vze_gem_create(self->gpu.fd, 1ULL << 47, DRM_VZE_PLACEMENT_VRAM, 0,
					  &handle));
}

VZE_TEST(gem, info)
{
	static const uint64_t sizes[] = { SZ_4K, 3 * SZ_4K, SZ_2M, SZ_2M + SZ_4K, 9 * SZ_1M };
	struct drm_vze_gem_info info;
	uint32_t handle, p, last = 0;
	unsigned int i;

	for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
		for (i = 0; i < ARRAY_LEN(sizes); i++) {
			ASSERT_EQ(0, vze_gem_create(self->gpu.fd, sizes[i], p, 0, &handle));
			EXPECT_NE(0, handle);
			ASSERT_EQ(0, vze_gem_info(self->gpu.fd, handle, &info));
			EXPECT_EQ(handle, info.handle);
			EXPECT_EQ(p, info.placement);
			EXPECT_EQ(sizes[i], info.size);
			EXPECT_EQ(0, info.flags);
			EXPECT_EQ(0, info.user_addr);
			/* System memory may be put together when it is first used. */
			if (p == DRM_VZE_PLACEMENT_VRAM)
				EXPECT_LE(1, info.segments);
			EXPECT_LE(info.segments, sizes[i] / SZ_4K);
			EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
			EXPECT_EQ(-ENOENT, vze_gem_info(self->gpu.fd, handle, &info));
			last = handle;
		}
	}
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM,
				    DRM_VZE_GEM_COMPRESSIBLE, &handle));
	ASSERT_EQ(0, vze_gem_info(self->gpu.fd, handle, &info));
	EXPECT_EQ(0, info.flags & ~DRM_VZE_GEM_INFO_COMPRESSIBLE);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));

	EXPECT_EQ(-ENOENT, vze_gem_info(self->gpu.fd, 0, &info));
	EXPECT_EQ(-ENOENT, vze_gem_info(self->gpu.fd, last + 1000, &info));
	EXPECT_EQ(-ENOENT, vze_gem_info(self->gpu.fd, ~0U, &info));
	EXPECT_EQ(-EINVAL, vze_gem_close(self->gpu.fd, last));
	EXPECT_EQ(-EINVAL, vze_gem_close(self->gpu.fd, 0));
}

VZE_TEST(gem, handles_are_the_files_own)
{
	struct drm_vze_gem_info info;
	uint32_t handle;
	uint64_t offset;
	int fd2;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, vze_gem_info(fd2, handle, &info));
	EXPECT_EQ(-ENOENT, vze_gem_mmap_offset(fd2, handle, &offset));
	EXPECT_EQ(-EINVAL, vze_gem_close(fd2, handle));
	EXPECT_EQ(0, vze_gem_info(self->gpu.fd, handle, &info));
	close(fd2);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

VZE_TEST(gem, closing_the_file_frees)
{
	unsigned long long objects = vze_figure(&self->gpu, "vze_counts", "objects");
	uint32_t handle;
	int fd2, i;

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, vze_gem_create(fd2, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
		ASSERT_EQ(0, vze_gem_create(fd2, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle));
	}
	EXPECT_EQ(objects + 200, vze_figure(&self->gpu, "vze_counts", "objects"));
	EXPECT_LE(100 * SZ_64K, vze_figure(&self->gpu, "vze_counts", "vram_used"));
	close(fd2);
}

/* All of VRAM is taken, given back and taken again: full, then all there. */
VZE_TEST(gem, vram_runs_out)
{
	uint32_t handles[4096];
	uint64_t total[2];
	int count, round, ret;
	uint64_t piece;

	for (round = 0; round < 2; round++) {
		count = 0;
		total[round] = 0;
		for (piece = 32 * SZ_1M; piece >= SZ_4K; piece /= 2) {
			while (count < ARRAY_LEN(handles)) {
				ret = vze_gem_create(self->gpu.fd, piece, DRM_VZE_PLACEMENT_VRAM, 0,
						     &handles[count]);
				if (ret)
					break;
				total[round] += piece;
				count++;
			}
			EXPECT_EQ(-ENOSPC, ret);
		}
		EXPECT_EQ(total[round], vze_figure(&self->gpu, "vze_counts", "vram_used"));
		/* System memory has nothing to do with it. */
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handles[count++]));
		while (count)
			EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handles[--count]));
		ASSERT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", 0));
	}
	EXPECT_EQ(total[0], total[1]);
}

/* What one process wrote to VRAM, no later object shows. */
VZE_TEST(gem, new_memory_is_zero)
{
	const uint64_t size = 16 * SZ_1M;
	uint32_t handles[256];
	int count = 0, i, fd2;
	void *map;

	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	while (count < ARRAY_LEN(handles) &&
	       !vze_gem_create(self->gpu.fd, size, DRM_VZE_PLACEMENT_VRAM, 0, &handles[count])) {
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handles[count], 0, size, VZE_VA,
				     0));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, 0x5ec2e7005ec2e700ULL));
		count++;
	}
	ASSERT_LE(1, count);
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, size));
	for (i = 0; i < count; i++)
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handles[i]));

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, vze_gem_create(fd2, size, DRM_VZE_PLACEMENT_VRAM, 0, &handles[i]));
		map = vze_gem_mmap(fd2, handles[i], size, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(-1, vze_words_check(map, size, 0));
		munmap(map, size);
	}
	close(fd2);
}

VZE_TEST(gem, new_system_memory_is_zero)
{
	const uint64_t size = 4 * SZ_1M;
	uint32_t handle;
	void *map;
	int i;

	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, size, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle));
		map = vze_gem_mmap(self->gpu.fd, handle, size, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(-1, vze_words_check(map, size, 0));
		memset(map, 0x5e, size);
		munmap(map, size);
		EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	}
}

struct race {
	int fd;
	volatile bool stop;
};

static void *create_loop(void *arg)
{
	struct race *race = arg;
	uint32_t handle, p = 0;

	while (!race->stop)
		vze_gem_create(race->fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM + p++ % 2, 0, &handle);
	return NULL;
}

static void *close_loop(void *arg)
{
	struct race *race = arg;
	struct drm_vze_gem_info info;
	uint32_t handle = 0;

	while (!race->stop) {
		vze_gem_info(race->fd, handle % 64 + 1, &info);
		vze_gem_close(race->fd, handle++ % 64 + 1);
	}
	return NULL;
}

/* One thread creates, others close, the file is closed under them. */
VZE_TEST(gem, create_and_close_race)
{
	pthread_t threads[4];
	struct race race;
	int round, i;

	for (round = 0; round < 20; round++) {
		race.stop = false;
		race.fd = vze_gpu_reopen(&self->gpu);
		ASSERT_LE(0, race.fd);
		for (i = 0; i < ARRAY_LEN(threads); i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL,
						    i % 2 ? close_loop : create_loop, &race));
		vze_sleep_ms(30);
		close(race.fd);
		race.stop = true;
		for (i = 0; i < ARRAY_LEN(threads); i++)
			pthread_join(threads[i], NULL);
	}
}

TEST_HARNESS_MAIN
