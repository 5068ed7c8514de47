// SPDX-License-Identifier: MIT
/* dma-buf: export, import into this and other files, mmap, errors. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "prime_buf.h"
#include "vze_test.h"

#define SIZE	(SZ_2M + SZ_64K)

FIXTURE(prime) {
	struct vze_gpu gpu;
	uint32_t handle;
	int buf;
};

FIXTURE_VARIANT(prime) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(prime, vram) { .placement = DRM_VZE_PLACEMENT_VRAM };
FIXTURE_VARIANT_ADD(prime, system) { .placement = DRM_VZE_PLACEMENT_SYSTEM };

FIXTURE_SETUP(prime)
{
	void *map;

	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &self->handle));
	map = vze_gem_mmap(self->gpu.fd, self->handle, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	vze_pattern_fill(map, SIZE, 6);
	munmap(map, SIZE);
	self->buf = prime_export(self->gpu.fd, self->handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, self->buf);
}

FIXTURE_TEARDOWN(prime)
{
	if (self->buf >= 0)
		close(self->buf);
	VZE_TEARDOWN(&self->gpu);
}

/* In the file that exported it, it is the object that it was. */
VZE_TEST(prime, into_the_same_file)
{
	uint32_t handle = 0;
	int again;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &handle));
	EXPECT_EQ(self->handle, handle);
	again = prime_export(self->gpu.fd, self->handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, again);
	EXPECT_NE(self->buf, again);
	ASSERT_EQ(0, prime_import(self->gpu.fd, again, &handle));
	EXPECT_EQ(self->handle, handle);
	close(again);
	EXPECT_EQ(SIZE, lseek(self->buf, 0, SEEK_END));
}

VZE_TEST(prime, into_another_file)
{
	int fd2 = vze_gpu_reopen(&self->gpu);
	struct drm_vze_gem_info info;
	uint32_t handle, again;
	uint64_t *map;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, prime_import(fd2, self->buf, &handle));
	ASSERT_EQ(0, prime_import(fd2, self->buf, &again));
	EXPECT_EQ(handle, again);
	ASSERT_EQ(0, vze_gem_info(fd2, handle, &info));
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(variant->placement, info.placement);
	map = vze_gem_mmap(fd2, handle, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 6));
	/* The exporter's device work shows there. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x8181));
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x8181));
	/* Handle, descriptor and file of the exporter may go. */
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	close(self->buf);
	self->buf = -1;
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x8181));
	munmap(map, SIZE);
	close(fd2);
}

static int open_elsewhere(void *arg)
{
	FIXTURE_DATA(prime) *self = arg;
	struct vze_gpu gpu;
	uint32_t handle;
	uint64_t *map;

	if (vze_gpu_open(&gpu, self->gpu.index) || vze_gpu_start(&gpu))
		return 1;
	if (prime_import(gpu.fd, self->buf, &handle))
		return 2;
	if (vze_map(gpu.fd, gpu.vm, handle, 0, SIZE, VZE_VA, 0) ||
	    vze_gpu_fill(&gpu, VZE_VA, SIZE, 0x4141))
		return 3;
	map = vze_gem_mmap(gpu.fd, handle, SIZE, PROT_READ);
	return map != MAP_FAILED && vze_words_check(map, SIZE, 0x4141) == -1 ? 0 : 4;
}

VZE_TEST(prime, into_another_process)
{
	uint64_t *map;

	EXPECT_EQ(0, vze_in_child(open_elsewhere, self));
	map = vze_gem_mmap(self->gpu.fd, self->handle, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x4141));
	munmap(map, SIZE);
}

/* Case 15, second half: mmap of the dma-buf itself. */
VZE_TEST(prime, mmap_of_the_buffer)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	char *all, *page;
	int read_only;

	all = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->buf, 0);
	ASSERT_NE(MAP_FAILED, all);
	EXPECT_EQ(0, vze_ioctl(self->buf, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(-1, vze_pattern_check(all, SIZE, 6));
	page = mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->buf, SZ_4K);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, memcmp(page, all + SZ_4K, SZ_4K));
	all[SZ_4K] = 0x7f;
	EXPECT_EQ(0x7f, page[0]);
	munmap(page, SZ_4K);
	page = mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->buf, SIZE - SZ_4K);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, memcmp(page, all + SIZE - SZ_4K, SZ_4K));
	munmap(page, SZ_4K);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE + SZ_4K, PROT_READ, MAP_SHARED, self->buf, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * SZ_4K, PROT_READ, MAP_SHARED, self->buf,
				   SIZE - SZ_4K));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	EXPECT_EQ(0, vze_ioctl(self->buf, DMA_BUF_IOCTL_SYNC, &sync));

	read_only = prime_export(self->gpu.fd, self->handle, DRM_CLOEXEC);
	ASSERT_LE(0, read_only);
	if ((fcntl(read_only, F_GETFL) & O_ACCMODE) == O_RDONLY)
		EXPECT_EQ(MAP_FAILED, mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED,
					   read_only, 0));
	close(read_only);
	/* The mapping holds the memory alone. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	close(self->buf);
	self->buf = -1;
	EXPECT_EQ(0x7f, all[SZ_4K]);
	munmap(all, SIZE);
}

VZE_TEST(prime, errors)
{
	int file = open("/dev/zero", O_RDWR | O_CLOEXEC), fd2;
	uint32_t handle;
	char *mem;

	EXPECT_EQ(-EBADF, prime_import(self->gpu.fd, -1, &handle));
	EXPECT_EQ(-EBADF, prime_import(self->gpu.fd, 1000, &handle));
	EXPECT_EQ(-EINVAL, prime_import(self->gpu.fd, file, &handle));
	EXPECT_EQ(-EINVAL, prime_import(self->gpu.fd, self->gpu.fd, &handle));
	EXPECT_EQ(-ENOENT, prime_export(self->gpu.fd, 0, 0));
	EXPECT_EQ(-ENOENT, prime_export(self->gpu.fd, self->handle + 1000, 0));
	EXPECT_EQ(-EINVAL, prime_export(self->gpu.fd, self->handle, 1u << 31));
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, prime_export(fd2, self->handle + 1000, 0));
	close(fd2);
	mem = vze_anon(SZ_4K, SZ_4K);
	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_4K, 0, &handle));
	EXPECT_EQ(-EOPNOTSUPP, prime_export(self->gpu.fd, handle, DRM_CLOEXEC | DRM_RDWR));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	close(file);
}

VZE_TEST(prime, again_and_again)
{
	int fd2 = vze_gpu_reopen(&self->gpu), buf, fds, rounds = vze_rounds(10000), i;
	unsigned long long objects;
	uint32_t handle;

	ASSERT_LE(0, fd2);
	objects = vze_figure(&self->gpu, "vze_counts", "objects");
	fds = prime_count_fds();
	for (i = 0; i < rounds; i++) {
		buf = prime_export(self->gpu.fd, self->handle, DRM_CLOEXEC | DRM_RDWR);
		ASSERT_LE(0, buf);
		ASSERT_EQ(0, prime_import(fd2, buf, &handle));
		close(buf);
		ASSERT_EQ(0, vze_gem_close(fd2, handle));
	}
	EXPECT_EQ(fds, prime_count_fds());
	EXPECT_EQ(objects, vze_figure_wait(&self->gpu, "vze_counts", "objects", objects));
	close(fd2);
}

TEST_HARNESS_MAIN
