// SPDX-License-Identifier: MIT
/*
 * dma-bufs of other drivers in vze: udmabuf, the system heap, vgem, a second vze device.
 * Device and CPU, through the buffer and through the handle, see the same bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "prime_buf.h"
#include "vze_test.h"

#define SIZE	(SZ_2M + SZ_64K)

enum exporter { UDMABUF, HEAP, VGEM, VZE };

FIXTURE(foreign) {
	struct vze_gpu gpu;
	/* exporter, and with VZE the second device */
	int driver;
	struct vze_gpu second;
	int buf;
	char *mem;
	uint32_t handle;
};

FIXTURE_VARIANT(foreign) {
	enum exporter exporter;
};

FIXTURE_VARIANT_ADD(foreign, udmabuf) { .exporter = UDMABUF };
FIXTURE_VARIANT_ADD(foreign, heap) { .exporter = HEAP };
FIXTURE_VARIANT_ADD(foreign, vgem) { .exporter = VGEM };
FIXTURE_VARIANT_ADD(foreign, vze) { .exporter = VZE };

static int drm_buf(int fd, int ret, uint32_t handle)
{
	return ret ? ret : prime_export(fd, handle, DRM_CLOEXEC | DRM_RDWR);
}

FIXTURE_SETUP(foreign)
{
	uint32_t handle = 0;
	int ret;

	self->driver = -1;
	self->second.fd = -1;
	self->buf = -1;
	self->mem = MAP_FAILED;
	VZE_SETUP_GPUS(&self->gpu, 0, variant->exporter == VZE ? 2 : 1);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));

	switch (variant->exporter) {
	case UDMABUF:
		self->driver = prime_udmabuf_open();
		if (self->driver == -ENOENT)
			SKIP(return, "the kernel has no udmabuf");
		ASSERT_LE(0, self->driver);
		self->buf = prime_udmabuf_create(self->driver, SIZE);
		break;
	case HEAP:
		self->driver = prime_heap_open();
		if (self->driver == -ENOENT)
			SKIP(return, "the kernel has no system heap");
		ASSERT_LE(0, self->driver);
		self->buf = prime_heap_alloc(self->driver, SIZE);
		break;
	case VGEM:
		self->driver = prime_vgem_open();
		if (self->driver == -ENODEV)
			SKIP(return, "the kernel has no vgem");
		ASSERT_LE(0, self->driver);
		ret = prime_vgem_create(self->driver, SIZE, &handle);
		self->buf = drm_buf(self->driver, ret, handle);
		break;
	case VZE:
		ASSERT_EQ(0, vze_gpu_open(&self->second, 1));
		ret = vze_gem_create(self->second.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle);
		self->buf = drm_buf(self->second.fd, ret, handle);
		break;
	}
	ASSERT_LE(0, self->buf);
	self->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->buf, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_EQ(0, prime_sync(self->buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	vze_pattern_fill(self->mem, SIZE, 21);
	ASSERT_EQ(0, prime_sync(self->buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
}

FIXTURE_TEARDOWN(foreign)
{
	if (self->mem != MAP_FAILED)
		munmap(self->mem, SIZE);
	if (self->buf >= 0)
		close(self->buf);
	if (self->driver >= 0)
		close(self->driver);
	VZE_TEARDOWN(&self->gpu);
	if (self->second.fd >= 0)
		VZE_TEARDOWN(&self->second);
}

VZE_TEST(foreign, device_and_cpu)
{
	struct drm_vze_gem_info info;
	uint32_t vram;
	void *map;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	ASSERT_EQ(0, vze_gem_info(self->gpu.fd, self->handle, &info));
	EXPECT_EQ(DRM_VZE_PLACEMENT_IMPORTED, info.placement);
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(0, info.flags);
	EXPECT_LT(0, info.segments);

	/* Their bytes into VRAM. */
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &vram));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, vram, 0, SIZE, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_1G, VZE_VA, SIZE));
	map = vze_gem_mmap(self->gpu.fd, vram, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 21));

	/* Ours into their buffer, page by page in the opposite order of its first half. */
	vze_pattern_fill(map, SIZE, 22);
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA, VZE_VA + SZ_1G, SIZE));
	ASSERT_EQ(0, prime_sync(self->buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, 22));
	ASSERT_EQ(0, prime_sync(self->buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	munmap(map, SIZE);

	/* A part from the middle at another address: the offset counts from the buffer's start. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, SZ_64K, SZ_64K,
			     VZE_VA + 2 * SZ_1G, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + 2 * SZ_1G, SZ_64K, 0x6161));
	EXPECT_EQ(-1, vze_words_check(self->mem + SZ_64K, SZ_64K, 0x6161));
	EXPECT_NE(-1, vze_words_check(self->mem + 2 * SZ_64K, SZ_4K, 0x6161));
	EXPECT_NE(-1, vze_words_check(self->mem, SZ_64K, 0x6161));
	EXPECT_EQ(-EINVAL, vze_map(self->gpu.fd, self->gpu.vm, self->handle, SIZE - SZ_4K, SZ_64K,
				   VZE_VA + 3 * SZ_1G, 0));
}

/* Case 15, second half. */
VZE_TEST(foreign, mmap_of_the_import)
{
	uint64_t offset;
	char *map, *theirs;
	bool wrong;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	map = vze_gem_mmap(self->gpu.fd, self->handle, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 21));
	map[5] = 0x55;
	EXPECT_EQ(0x55, self->mem[5]);
	munmap(map, SIZE);

	/* The exporter does the mapping. There are some that mind no offset. */
	theirs = mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->buf, SZ_4K);
	ASSERT_NE(MAP_FAILED, (void *)theirs);
	wrong = memcmp(theirs, self->mem + SZ_4K, SZ_4K);
	munmap(theirs, SZ_4K);
	if (wrong)
		SKIP(return, "the exporter maps the start of the buffer at every offset");
	ASSERT_EQ(0, vze_gem_mmap_offset(self->gpu.fd, self->handle, &offset));
	map = mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->gpu.fd, offset + SZ_4K);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(0, memcmp(map, self->mem + SZ_4K, SZ_4K));
	munmap(map, SZ_4K);
	map = mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->gpu.fd, offset + SIZE - SZ_4K);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(0, memcmp(map, self->mem + SIZE - SZ_4K, SZ_4K));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * SZ_4K, PROT_READ, MAP_SHARED, self->gpu.fd,
				   offset + SIZE - SZ_4K));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SZ_4K, PROT_READ, MAP_PRIVATE, self->gpu.fd, offset));
	/* It stays when handle and descriptor are gone. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	close(self->buf);
	self->buf = -1;
	EXPECT_EQ(0, memcmp(map, self->mem + SIZE - SZ_4K, SZ_4K));
	munmap(map, SZ_4K);
}

VZE_TEST(foreign, one_handle)
{
	uint32_t again = 0, other;
	int fd2, buf;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &again));
	EXPECT_EQ(self->handle, again);
	/* Exported again it is the dma-buf that it was, not one of vze's. */
	buf = prime_export(self->gpu.fd, self->handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	EXPECT_NE(self->buf, buf);
	EXPECT_EQ(prime_inode(self->buf), prime_inode(buf));
	ASSERT_EQ(0, prime_import(self->gpu.fd, buf, &again));
	EXPECT_EQ(self->handle, again);
	close(buf);

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, prime_import(fd2, self->buf, &other));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	EXPECT_EQ(-ENOENT, vze_gem_mmap_offset(self->gpu.fd, self->handle, &(uint64_t){ 0 }));
	buf = prime_export(fd2, other, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	EXPECT_EQ(prime_inode(self->buf), prime_inode(buf));
	close(buf);
	close(fd2);
}

/* The device has it once: two files have one object, and each ends its own part of it. */
VZE_TEST(foreign, one_object_for_all_files)
{
	unsigned long long objects = vze_figure(&self->gpu, "vze_counts", "objects");
	int fd2 = vze_gpu_reopen(&self->gpu);
	uint32_t other;
	char *map;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	ASSERT_EQ(0, prime_import(fd2, self->buf, &other));
	EXPECT_EQ(objects + 1, vze_figure(&self->gpu, "vze_counts", "objects"));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
	map = vze_gem_mmap(fd2, other, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)map);
	close(fd2);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x9292));
	EXPECT_EQ(-1, vze_words_check(map, SIZE, 0x9292));
	munmap(map, SIZE);
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	EXPECT_EQ(objects, vze_figure_wait(&self->gpu, "vze_counts", "objects", objects));
	/* What comes when the last one has gone is a new one. */
	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	EXPECT_EQ(objects + 1, vze_figure(&self->gpu, "vze_counts", "objects"));
}

struct importing {
	int fd, buf, rounds;
	uint32_t vm;
};

/* 0, or the step that failed. */
static void *import_and_close(void *arg)
{
	const struct importing *importing = arg;
	uint32_t handle;
	int i;

	for (i = 0; i < importing->rounds; i++) {
		if (prime_import(importing->fd, importing->buf, &handle))
			return (void *)1;
		if (vze_map(importing->fd, importing->vm, handle, 0, SIZE, VZE_VA, 0))
			return (void *)2;
		if (vze_gem_close(importing->fd, handle))
			return (void *)3;
		if (vze_unmap(importing->fd, importing->vm, VZE_VA, SIZE))
			return (void *)4;
	}
	return NULL;
}

/* The last of one life and the first of the next meet. */
VZE_TEST(foreign, ends_and_begins_at_once)
{
	unsigned long long objects = vze_figure(&self->gpu, "vze_counts", "objects");
	struct importing importing[3];
	pthread_t threads[ARRAY_LEN(importing)];
	size_t i;

	for (i = 0; i < ARRAY_LEN(importing); i++) {
		importing[i].rounds = vze_rounds(500);
		importing[i].buf = self->buf;
		importing[i].fd = vze_gpu_reopen(&self->gpu);
		ASSERT_LE(0, importing[i].fd);
		ASSERT_EQ(0, vze_vm_create(importing[i].fd, &importing[i].vm));
	}
	for (i = 0; i < ARRAY_LEN(importing); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, import_and_close, &importing[i]));
	for (i = 0; i < ARRAY_LEN(importing); i++) {
		void *step;

		ASSERT_EQ(0, pthread_join(threads[i], &step));
		EXPECT_EQ(NULL, step);
		close(importing[i].fd);
	}
	EXPECT_EQ(objects, vze_figure_wait(&self->gpu, "vze_counts", "objects", objects));
}

/* Case 24, and 33: the descriptor is the caller's before and after. */
VZE_TEST(foreign, again_and_again)
{
	unsigned long long objects;
	int rounds = vze_rounds(10000), i, fds, copy;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	objects = vze_figure(&self->gpu, "vze_counts", "objects");
	fds = prime_count_fds();
	for (i = 0; i < rounds; i++) {
		uint32_t handle;

		copy = fcntl(self->buf, F_DUPFD_CLOEXEC, 0);
		ASSERT_LE(0, copy);
		ASSERT_EQ(0, prime_import(self->gpu.fd, copy, &handle));
		ASSERT_EQ(0, close(copy));
		/* One handle after the other: nothing is used up. */
		ASSERT_EQ(self->handle, handle);
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	}
	EXPECT_EQ(fds, prime_count_fds());
	EXPECT_EQ(objects, vze_figure_wait(&self->gpu, "vze_counts", "objects", objects));
	EXPECT_EQ(SIZE, lseek(self->buf, 0, SEEK_END));
}

/* Contents and mappings outlive the exporter. */
VZE_TEST(foreign, exporter_goes)
{
	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
	close(self->buf);
	self->buf = -1;
	if (self->driver >= 0) {
		close(self->driver);
		self->driver = -1;
	} else {
		close(self->second.fd);
		self->second.fd = vze_gpu_reopen(&self->second);
		ASSERT_LE(0, self->second.fd);
	}
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x7272));
	EXPECT_EQ(-1, vze_words_check(self->mem, SIZE, 0x7272));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
}

/* A share cannot be made of what belongs to another driver. */
VZE_TEST(foreign, no_share)
{
	struct drm_vze_share_create share;

	ASSERT_EQ(0, prime_import(self->gpu.fd, self->buf, &self->handle));
	EXPECT_EQ(-EOPNOTSUPP, vze_share_create(self->gpu.fd, self->handle, 0, &share));
}

TEST_HARNESS_MAIN
