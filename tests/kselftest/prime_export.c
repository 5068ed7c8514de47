// SPDX-License-Identifier: MIT
/* dma-bufs of vze in other drivers: vgem, a second vze device. What cannot work is refused. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "prime_buf.h"
#include "vze_test.h"

#define SIZE	(SZ_2M + SZ_64K)

FIXTURE(export) {
	struct vze_gpu gpu;
	uint32_t system;
	uint32_t vram;
	int buf;
	char *mem;
};

FIXTURE_SETUP(export)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->system));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->system, 0, SIZE, VZE_VA, 0));
	self->mem = vze_gem_mmap(self->gpu.fd, self->system, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	vze_pattern_fill(self->mem, SIZE, 31);
	self->buf = prime_export(self->gpu.fd, self->system, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, self->buf);
}

FIXTURE_TEARDOWN(export)
{
	munmap(self->mem, SIZE);
	close(self->buf);
	VZE_TEARDOWN(&self->gpu);
}

/*
 * vgem attaches to the buffer and has its pages mapped for its device. It does not map what
 * it imported for its clients; these use the dma-buf that they get from it.
 */
VZE_TEST(export, into_vgem)
{
	int vgem = prime_vgem_open(), buf;
	uint32_t handle, again = 0;
	char *map;

	if (vgem == -ENODEV)
		SKIP(return, "the kernel has no vgem");
	ASSERT_LE(0, vgem);
	ASSERT_EQ(0, prime_import(vgem, self->buf, &handle));
	ASSERT_EQ(0, prime_import(vgem, self->buf, &again));
	EXPECT_EQ(handle, again);
	buf = prime_export(vgem, handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	EXPECT_EQ(prime_inode(self->buf), prime_inode(buf));
	/* From vgem back: the object itself. */
	ASSERT_EQ(0, prime_import(self->gpu.fd, buf, &again));
	EXPECT_EQ(self->system, again);

	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 31));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x3232));
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x3232));
	vze_pattern_fill(map, SIZE, 33);
	munmap(map, SIZE);
	close(buf);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SIZE, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_1G, VZE_VA, SIZE));
	map = vze_gem_mmap(self->gpu.fd, self->vram, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 33));
	munmap(map, SIZE);

	/* vgem alone holds the memory when everything of ours is gone. */
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x3434));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->system));
	munmap(self->mem, SIZE);
	self->mem = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	close(self->buf);
	self->buf = prime_export(vgem, handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, self->buf);
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->buf, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x3434));
	munmap(map, SIZE);
	close(vgem);
}

VZE_TEST(export, vgem_again_and_again)
{
	int vgem = prime_vgem_open(), fds, rounds = vze_rounds(2000), i;
	unsigned long long objects;
	uint32_t handle;

	if (vgem == -ENODEV)
		SKIP(return, "the kernel has no vgem");
	ASSERT_LE(0, vgem);
	objects = vze_figure(&self->gpu, "vze_counts", "objects");
	fds = prime_count_fds();
	for (i = 0; i < rounds; i++) {
		int buf = prime_export(self->gpu.fd, self->system, DRM_CLOEXEC | DRM_RDWR);

		ASSERT_LE(0, buf);
		ASSERT_EQ(0, prime_import(vgem, buf, &handle));
		close(buf);
		ASSERT_EQ(0, vze_gem_close(vgem, handle));
	}
	EXPECT_EQ(fds, prime_count_fds());
	EXPECT_EQ(objects, vze_figure_wait(&self->gpu, "vze_counts", "objects", objects));
	close(vgem);
}

/* Nobody but this device reaches its VRAM; the CPU does. */
VZE_TEST(export, vram_has_no_peers)
{
	int buf = prime_export(self->gpu.fd, self->vram, DRM_CLOEXEC | DRM_RDWR);
	int vgem = prime_vgem_open();
	struct vze_gpu second;
	uint32_t handle = 0;
	char *map;

	ASSERT_LE(0, buf);
	if (vgem >= 0) {
		EXPECT_EQ(-EOPNOTSUPP, prime_import(vgem, buf, &handle));
		close(vgem);
	}
	if (vze_num_gpus() > 1) {
		ASSERT_EQ(0, vze_gpu_open(&second, 1));
		EXPECT_EQ(-EOPNOTSUPP, prime_import(second.fd, buf, &handle));
		VZE_TEARDOWN(&second);
	}
	/* The refusal has cost nothing, and the descriptor is still the caller's. */
	ASSERT_EQ(0, prime_import(self->gpu.fd, buf, &handle));
	EXPECT_EQ(self->vram, handle);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->vram, 0, SIZE, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_1G, SIZE, 0x3535));
	ASSERT_EQ(0, prime_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x3535));
	ASSERT_EQ(0, prime_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	munmap(map, SIZE);
	close(buf);
}

/* Over a second device and back: the object itself, on the first one. */
VZE_TEST(export, round_trip)
{
	struct vze_gpu second;
	uint32_t there, back = 0;
	int buf, fd2;

	if (vze_num_gpus() < 2)
		SKIP(return, "needs 2 devices");
	ASSERT_EQ(0, vze_gpu_open(&second, 1));
	ASSERT_EQ(0, vze_gpu_start(&second));
	ASSERT_EQ(0, prime_import(second.fd, self->buf, &there));
	buf = prime_export(second.fd, there, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	EXPECT_EQ(prime_inode(self->buf), prime_inode(buf));
	ASSERT_EQ(0, prime_import(self->gpu.fd, buf, &back));
	EXPECT_EQ(self->system, back);
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, prime_import(fd2, buf, &back));
	close(buf);

	/* Both devices on the same pages. */
	ASSERT_EQ(0, vze_map(second.fd, second.vm, there, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(&second, VZE_VA, SZ_2M, 0x3636));
	EXPECT_EQ(-1, vze_words_check(self->mem, SZ_2M, 0x3636));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x3737));
	EXPECT_EQ(-1, vze_words_check(self->mem, SIZE, 0x3737));
	close(fd2);
	VZE_TEARDOWN(&second);
}

/* Case 2: what is read-only does not become writable by a dma-buf. */
VZE_TEST(export, read_only)
{
	struct drm_vze_share_create share;
	uint32_t view, userptr;
	uint64_t size, offset;
	char *page;

	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->system, DRM_VZE_SHARE_READONLY, &share));
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &share.token, &view, &size));
	EXPECT_EQ(-EACCES, prime_export(self->gpu.fd, view, DRM_CLOEXEC | DRM_RDWR));
	EXPECT_EQ(-EACCES, prime_export(self->gpu.fd, view, DRM_CLOEXEC));
	EXPECT_EQ(MAP_FAILED, vze_gem_mmap(self->gpu.fd, view, SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-EACCES, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA + SZ_1G,
			     DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-EACCES, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA + SZ_1G, SIZE, 0));

	page = vze_anon(SZ_4K, SZ_4K);
	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, page, SZ_4K, DRM_VZE_USERPTR_READONLY, &userptr));
	EXPECT_EQ(-EOPNOTSUPP, prime_export(self->gpu.fd, userptr, DRM_CLOEXEC | DRM_RDWR));
	EXPECT_EQ(-EOPNOTSUPP, prime_export(self->gpu.fd, userptr, DRM_CLOEXEC));
	EXPECT_EQ(-EOPNOTSUPP, vze_gem_mmap_offset(self->gpu.fd, userptr, &offset));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, userptr));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, page, SZ_4K, 0, &userptr));
	EXPECT_EQ(-EOPNOTSUPP, prime_export(self->gpu.fd, userptr, DRM_CLOEXEC | DRM_RDWR));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, userptr));
	ASSERT_EQ(0, vze_share_put(self->gpu.fd, share.token.id));
}

TEST_HARNESS_MAIN
