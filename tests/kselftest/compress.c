// SPDX-License-Identifier: MIT
/*
 * VRAM whose pages are not what memory says: cleared when it changes hands, and kept compressed
 * (case 42). Whoever looks, in whatever way and order, finds the bytes that the device wrote; the
 * device's own counters tell how many it moved for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE		(4 * SZ_1M)
#define PAGES		(SIZE / SZ_4K)
#define PATTERN		0x5a17c0de00c0ffeeULL
#define OTHER		0x0123456789abcdefULL

static int counters(int fd, uint64_t *values)
{
	uint32_t size = VZE_HW_COUNTER_COUNT * sizeof(*values);
	struct drm_vze_query_clock clock;
	uint32_t clock_size = sizeof(clock);
	/* A control command, so that the figures are fresh. */
	int ret = vze_query(fd, DRM_VZE_QUERY_CLOCK, &clock, &clock_size);

	return ret ? ret : vze_query(fd, DRM_VZE_QUERY_COUNTERS, values, &size);
}

static uint64_t counter(int fd, enum vze_hw_counter which)
{
	uint64_t values[VZE_HW_COUNTER_COUNT];

	return counters(fd, values) ? ~0ULL : values[which];
}

static uint64_t bytes_moved(int fd)
{
	uint64_t values[VZE_HW_COUNTER_COUNT];

	if (counters(fd, values))
		return ~0ULL;
	return values[VZE_HW_COUNTER_BYTES_READ] + values[VZE_HW_COUNTER_BYTES_WRITTEN];
}

static bool compresses(int fd)
{
	struct drm_vze_query_device device;
	uint32_t size = sizeof(device);

	return !vze_query(fd, DRM_VZE_QUERY_DEVICE, &device, &size) &&
	       (device.features & VZE_HW_FEATURE_COMPRESSION);
}

static int export(int fd, uint32_t handle)
{
	struct drm_prime_handle args = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = vze_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

static int import(int fd, int buf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = buf };
	int ret = vze_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return ret;
}

static int sync_buf(int buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return vze_ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync);
}

FIXTURE(compress) {
	struct vze_gpu gpu;
	uint32_t handle;
};

FIXTURE_SETUP(compress)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	if (!compresses(self->gpu.fd))
		SKIP(return, "the device does not compress");
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM,
				    DRM_VZE_GEM_COMPRESSIBLE, &self->handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
}

FIXTURE_TEARDOWN(compress)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(compress, info)
{
	struct drm_vze_gem_info info;
	uint32_t plain;

	ASSERT_EQ(0, vze_gem_info(self->gpu.fd, self->handle, &info));
	EXPECT_EQ(DRM_VZE_GEM_INFO_COMPRESSIBLE, info.flags);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &plain));
	ASSERT_EQ(0, vze_gem_info(self->gpu.fd, plain, &info));
	EXPECT_EQ(0, info.flags);
	/* There is nothing to compress in system memory. */
	EXPECT_EQ(-EINVAL, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM,
					  DRM_VZE_GEM_COMPRESSIBLE, &plain));
}

/* Bytes that a fill of 64 MiB and a copy of that move. */
static uint64_t fill_and_copy(struct vze_gpu *gpu, uint32_t flags)
{
	const uint64_t size = 64 * SZ_1M;
	uint32_t handles[2];
	uint64_t before, moved;
	int i;

	for (i = 0; i < 2; i++) {
		if (vze_gem_create(gpu->fd, size, DRM_VZE_PLACEMENT_VRAM, flags, &handles[i]) ||
		    vze_map(gpu->fd, gpu->vm, handles[i], 0, size, VZE_VA + (1 + i) * SZ_1G, 0))
			return 0;
	}
	before = bytes_moved(gpu->fd);
	if (vze_gpu_fill(gpu, VZE_VA + SZ_1G, size, PATTERN) ||
	    vze_gpu_copy(gpu, VZE_VA + 2 * SZ_1G, VZE_VA + SZ_1G, size))
		return 0;
	moved = bytes_moved(gpu->fd) - before;
	for (i = 0; i < 2; i++) {
		if (vze_unmap(gpu->fd, gpu->vm, VZE_VA + (1 + i) * SZ_1G, size) ||
		    vze_gem_close(gpu->fd, handles[i]))
			return 0;
	}
	return moved;
}

VZE_TEST(compress, fill_and_copy_move_almost_nothing)
{
	uint64_t plain, compressed;

	plain = fill_and_copy(&self->gpu, 0);
	compressed = fill_and_copy(&self->gpu, DRM_VZE_GEM_COMPRESSIBLE);
	/* Written once by the fill, read and written by the copy. */
	EXPECT_LE(3 * 64 * SZ_1M, plain);
	EXPECT_LT(0, compressed);
	EXPECT_LT(compressed * 100, plain) {
		TH_LOG("%llu bytes compressed, %llu plain", (unsigned long long)compressed,
		       (unsigned long long)plain);
	}
}

/* ------------------------------------------------------------ case 42 -- */

/*
 * Ways to look at the object. Each makes itself ready (opens, maps), then says at any time
 * whether it finds SIZE bytes of a repeated word, and may write one.
 */
struct view {
	struct vze_gpu *gpu;
	uint32_t handle;
	/* A second file: with an address space of its own, or for an import. */
	struct vze_gpu other;
	uint32_t other_handle;
	/* System memory that the device copies into. */
	uint32_t out;
	uint64_t *map;
	int buf;
};

static int map_out(struct view *view)
{
	REQUIRE(-101, !vze_gem_create(view->other.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0,
				      &view->out));
	view->map = vze_gem_mmap(view->other.fd, view->out, SIZE, PROT_READ | PROT_WRITE);
	REQUIRE(-102, view->map != MAP_FAILED);
	REQUIRE(-103, !vze_map(view->other.fd, view->other.vm, view->out, 0, SIZE,
			       VZE_VA + SZ_1G, 0));
	return 0;
}

static int open_other(struct view *view)
{
	REQUIRE(-111, !vze_gpu_open(&view->other, view->gpu->index));
	REQUIRE(-112, !vze_gpu_start(&view->other));
	return map_out(view);
}

/* The other file's device reads through its mapping. */
static bool read_other(struct view *view, uint64_t value)
{
	memset(view->map, 0xee, SIZE);
	return !vze_gpu_copy(&view->other, VZE_VA + SZ_1G, VZE_VA, SIZE) &&
	       vze_words_check(view->map, SIZE, value) == -1;
}

static bool write_other(struct view *view, uint64_t value)
{
	return !vze_gpu_fill(&view->other, VZE_VA + 2 * SZ_4K + 8, 8, value);
}

static bool read_map(struct view *view, uint64_t value)
{
	return vze_words_check(view->map, SIZE, value) == -1;
}

static bool write_map(struct view *view, uint64_t value)
{
	((volatile uint64_t *)view->map)[2 * SZ_4K / 8 + 1] = value;
	__sync_synchronize();
	return true;
}

static int cpu_open(struct view *view)
{
	view->map = vze_gem_mmap(view->gpu->fd, view->handle, SIZE, PROT_READ | PROT_WRITE);
	return view->map == MAP_FAILED ? -1 : 0;
}

static int vm_open(struct view *view)
{
	view->map = mmap((void *)VZE_VA, SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, view->gpu->fd,
			 DRM_VZE_VM_MMAP_OFFSET(view->gpu->vm, VZE_VA));
	return view->map == MAP_FAILED ? -1 : 0;
}

static int buf_open(struct view *view)
{
	view->buf = export(view->gpu->fd, view->handle);
	REQUIRE(-1, view->buf >= 0);
	view->map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, view->buf, 0);
	return view->map == MAP_FAILED ? -2 : 0;
}

static bool buf_read(struct view *view, uint64_t value)
{
	return !sync_buf(view->buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ) &&
	       read_map(view, value) &&
	       !sync_buf(view->buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
}

static int import_open(struct view *view)
{
	view->buf = export(view->gpu->fd, view->handle);
	REQUIRE(-1, view->buf >= 0);
	REQUIRE(-2, !open_other(view));
	REQUIRE(-3, !import(view->other.fd, view->buf, &view->other_handle));
	REQUIRE(-4, !vze_map(view->other.fd, view->other.vm, view->other_handle, 0, SIZE, VZE_VA,
			     0));
	return 0;
}

static int share_open(struct view *view)
{
	struct drm_vze_share_create share;
	uint64_t size;

	REQUIRE(-1, !vze_share_create(view->gpu->fd, view->handle, 0, &share));
	REQUIRE(-2, !open_other(view));
	REQUIRE(-3, !vze_share_open(view->other.fd, &share.token, &view->other_handle, &size));
	REQUIRE(-4, size == SIZE);
	REQUIRE(-5, !vze_map(view->other.fd, view->other.vm, view->other_handle, 0, SIZE, VZE_VA,
			     0));
	return 0;
}

/* The importer's CPU looks instead of its device. */
static int share_cpu_open(struct view *view)
{
	int ret = share_open(view);

	REQUIRE(ret, !ret);
	munmap(view->map, SIZE);
	view->map = vze_gem_mmap(view->other.fd, view->other_handle, SIZE, PROT_READ | PROT_WRITE);
	return view->map == MAP_FAILED ? -6 : 0;
}

/* Another mapping of the same address space. */
static int alias_open(struct view *view)
{
	view->other = *view->gpu;
	REQUIRE(-1, !map_out(view));
	REQUIRE(-2, !vze_map(view->gpu->fd, view->gpu->vm, view->handle, 0, SIZE, VZE_VA + 2 * SZ_1G,
			     0));
	return 0;
}

static bool alias_read(struct view *view, uint64_t value)
{
	memset(view->map, 0xee, SIZE);
	return !vze_gpu_copy(view->gpu, VZE_VA + SZ_1G, VZE_VA + 2 * SZ_1G, SIZE) &&
	       read_map(view, value);
}

static bool alias_write(struct view *view, uint64_t value)
{
	return !vze_gpu_fill(view->gpu, VZE_VA + 2 * SZ_1G + 2 * SZ_4K + 8, 8, value);
}

/* A debugger: pages that no table of the process has. */
static bool debugger_read(struct view *view, uint64_t value)
{
	uint64_t word[SZ_4K / 8];
	off_t at;
	int fd, i;

	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	for (at = 0; at < SIZE; at += SZ_4K) {
		if (pread(fd, word, SZ_4K, (off_t)(uintptr_t)view->map + at) != SZ_4K)
			break;
		for (i = 0; i < SZ_4K / 8 && word[i] == value; i++)
			;
		if (i < SZ_4K / 8)
			break;
	}
	close(fd);
	return at == SIZE;
}

static bool debugger_write(struct view *view, uint64_t value)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ssize_t ret = pwrite(fd, &value, 8, (off_t)(uintptr_t)view->map + 2 * SZ_4K + 8);

	close(fd);
	return ret == 8;
}

FIXTURE(view) {
	struct vze_gpu gpu;
	struct view view;
};

FIXTURE_VARIANT(view) {
	int (*open)(struct view *view);
	bool (*read)(struct view *view, uint64_t value);
	bool (*write)(struct view *view, uint64_t value);
	/* The bytes leave the device: the pages stay plain from then on. */
	bool exposes;
};

FIXTURE_VARIANT_ADD(view, cpu) { cpu_open, read_map, write_map, true };
FIXTURE_VARIANT_ADD(view, vm_mmap) { vm_open, read_map, write_map, true };
FIXTURE_VARIANT_ADD(view, debugger) { cpu_open, debugger_read, debugger_write, true };
FIXTURE_VARIANT_ADD(view, dma_buf) { buf_open, buf_read, write_map, true };
FIXTURE_VARIANT_ADD(view, import) { import_open, read_other, write_other, false };
FIXTURE_VARIANT_ADD(view, share) { share_open, read_other, write_other, false };
FIXTURE_VARIANT_ADD(view, share_cpu) { share_cpu_open, read_map, write_map, true };
FIXTURE_VARIANT_ADD(view, alias) { alias_open, alias_read, alias_write, false };

FIXTURE_SETUP(view)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	if (!compresses(self->gpu.fd))
		SKIP(return, "the device does not compress");
	self->view.gpu = &self->gpu;
	self->view.buf = -1;
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM,
				    DRM_VZE_GEM_COMPRESSIBLE, &self->view.handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->view.handle, 0, SIZE, VZE_VA, 0));
}

FIXTURE_TEARDOWN(view)
{
	if (self->view.map)
		munmap(self->view.map, SIZE);
	if (self->view.buf >= 0)
		close(self->view.buf);
	if (self->view.other.fd > 0 && self->view.other.fd != self->gpu.fd)
		vze_gpu_close(&self->view.other);
	VZE_TEARDOWN(&self->gpu);
}

/* The object as the file that made it sees it, by its device. */
static bool device_sees(struct vze_gpu *gpu, uint64_t value, uint64_t second)
{
	uint64_t *map;
	uint32_t out;
	bool good;

	if (vze_gem_create(gpu->fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &out) ||
	    vze_map(gpu->fd, gpu->vm, out, 0, SIZE, VZE_VA + 4 * SZ_1G, 0))
		return false;
	map = vze_gem_mmap(gpu->fd, out, SIZE, PROT_READ);
	good = map != MAP_FAILED && !vze_gpu_copy(gpu, VZE_VA + 4 * SZ_1G, VZE_VA, SIZE) &&
	       vze_words_check(map, 2 * SZ_4K + 8, value) == -1 &&
	       map[2 * SZ_4K / 8 + 1] == second &&
	       vze_words_check(map + 2 * SZ_4K / 8 + 2, SIZE - 2 * SZ_4K - 16, value) == -1;
	munmap(map, SIZE);
	vze_unmap(gpu->fd, gpu->vm, VZE_VA + 4 * SZ_1G, SIZE);
	vze_gem_close(gpu->fd, out);
	return good;
}

static void check_later(struct __test_metadata *_metadata, FIXTURE_DATA(view) *self,
			const FIXTURE_VARIANT(view) *variant)
{
	uint64_t pages;

	/* What the view writes, the device sees, in a page that it had compressed. */
	ASSERT_TRUE(variant->write(&self->view, OTHER));
	EXPECT_TRUE(device_sees(&self->gpu, PATTERN, OTHER));
	/* And the other way round, again and again. */
	pages = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, OTHER));
	pages = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED) - pages;
	EXPECT_EQ(variant->exposes ? 0 : PAGES, pages);
	EXPECT_TRUE(variant->read(&self->view, OTHER));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	EXPECT_TRUE(variant->read(&self->view, PATTERN));
}

VZE_TEST(view, written_first)
{
	uint64_t pages = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED);

	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	EXPECT_EQ(PAGES, counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED) - pages);
	ASSERT_EQ(0, variant->open(&self->view));
	EXPECT_TRUE(variant->read(&self->view, PATTERN));
	check_later(_metadata, self, variant);
}

VZE_TEST(view, shared_first)
{
	ASSERT_EQ(0, variant->open(&self->view));
	EXPECT_TRUE(variant->read(&self->view, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	EXPECT_TRUE(variant->read(&self->view, PATTERN));
	check_later(_metadata, self, variant);
}

/* Opened, but looked at only after the writing. */
VZE_TEST(view, opened_first)
{
	ASSERT_EQ(0, variant->open(&self->view));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	EXPECT_TRUE(variant->read(&self->view, PATTERN));
	check_later(_metadata, self, variant);
}

/* Work runs while the view opens and reads: it finds one of the two, word by word. */
struct worker {
	struct vze_gpu gpu;
	uint64_t va;
	volatile bool stop;
	int ret;
};

static void *fill_loop(void *arg)
{
	struct worker *worker = arg;

	while (!worker->stop && !worker->ret) {
		worker->ret = vze_gpu_fill(&worker->gpu, worker->va, SIZE, PATTERN);
		if (!worker->ret)
			worker->ret = vze_gpu_fill(&worker->gpu, worker->va, SIZE, OTHER);
	}
	return NULL;
}

VZE_TEST(compress, exposed_while_work_runs)
{
	struct drm_vze_share_create share;
	struct worker worker = { 0 };
	pthread_t thread;
	uint64_t size, *map;
	uint32_t handle;
	size_t i;
	int round;

	ASSERT_EQ(0, vze_gpu_open(&worker.gpu, self->gpu.index));
	ASSERT_EQ(0, vze_gpu_start(&worker.gpu));
	for (round = 0; round < 8; round++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM,
					    DRM_VZE_GEM_COMPRESSIBLE, &handle));
		ASSERT_EQ(0, vze_share_create(self->gpu.fd, handle, 0, &share));
		map = vze_gem_mmap(self->gpu.fd, handle, SIZE, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ(0, vze_share_open(worker.gpu.fd, &share.token, &handle, &size));
		worker.va = VZE_VA + round * SZ_1G;
		ASSERT_EQ(0, vze_map(worker.gpu.fd, worker.gpu.vm, handle, 0, SIZE, worker.va, 0));
		worker.stop = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, fill_loop, &worker));
		for (i = 0; i < SIZE / 8; i++) {
			uint64_t word = ((volatile uint64_t *)map)[i];

			if (word && word != PATTERN && word != OTHER)
				break;
		}
		EXPECT_EQ(SIZE / 8, i);
		worker.stop = true;
		pthread_join(thread, NULL);
		EXPECT_EQ(0, worker.ret);
		EXPECT_EQ(-1, vze_words_check(map, SIZE, OTHER));
		munmap(map, SIZE);
	}
	vze_gpu_close(&worker.gpu);
}

/* ------------------------------------------------------------- clearing -- */

/* What was exposed once is ordinary memory for its next owner. */
VZE_TEST(compress, freed_memory_compresses_again)
{
	struct drm_vze_query_memory memory;
	uint32_t size = sizeof(memory), handle;
	uint64_t *map, pages;

	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	map = vze_gem_mmap(self->gpu.fd, self->handle, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_words_check(map, SIZE, PATTERN));
	memset(map, 0x77, SIZE);
	munmap(map, SIZE);
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));

	/* All of VRAM, so that the same pages are among it. */
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_MEMORY, &memory, &size));
	ASSERT_EQ(memory.vram_size, memory.vram_free);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, memory.vram_size, DRM_VZE_PLACEMENT_VRAM,
				    DRM_VZE_GEM_COMPRESSIBLE, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, memory.vram_size, VZE_VA, 0));
	pages = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_1M, OTHER));
	for (uint64_t at = SZ_1M; at < memory.vram_size; at += SZ_1M)
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + at, VZE_VA, SZ_1M));
	pages = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_COMPRESSED) - pages;
	EXPECT_EQ(memory.vram_size / SZ_4K, pages);
}

/*
 * Memory is free as soon as it is given back, whether or not it has been cleared yet, and shows
 * nothing of its last owner to the next one, by device or CPU.
 */
VZE_TEST(compress, new_memory_is_zero_for_all)
{
	struct drm_vze_query_memory before, memory;
	uint32_t size = sizeof(memory), handle, small[64];
	uint64_t *map;
	int i;

	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_MEMORY, &before, &size));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM,
					    i % 2 ? DRM_VZE_GEM_COMPRESSIBLE : 0, &handle));
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SIZE, VZE_VA + SZ_1G,
				     0));
		if (i % 3) {
			/* The device looks first: it must not matter. */
			ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA, VZE_VA + SZ_1G, SIZE));
			ASSERT_TRUE(device_sees(&self->gpu, 0, 0));
		}
		map = vze_gem_mmap(self->gpu.fd, handle, SIZE, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(-1, vze_words_check(map, SIZE, 0));
		memset(map, 0x5e, SIZE);
		munmap(map, SIZE);
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_1G, SIZE / 2, PATTERN));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + SZ_1G, SIZE));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
		ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_MEMORY, &memory, &size));
		EXPECT_EQ(before.vram_free, memory.vram_free);
		EXPECT_EQ(0, memory.vram_pending);
	}
	/* In pieces, too. */
	for (i = 0; i < ARRAY_LEN(small); i++)
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0,
					    &small[i]));
	for (i = 0; i < ARRAY_LEN(small); i++)
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, small[i]));
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_MEMORY, &memory, &size));
	EXPECT_EQ(before.vram_free, memory.vram_free);
	EXPECT_EQ(before.vram_largest, memory.vram_largest);
}

/* The worker does it, without anybody who asks, and the device moves no bytes for it. */
VZE_TEST(compress, freed_memory_is_cleared_behind_the_scenes)
{
	uint64_t cleared, moved;

	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, PATTERN));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	cleared = counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_CLEARED);
	moved = bytes_moved(self->gpu.fd);
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	for (int i = 0; i < VZE_WAIT_MS / 10 &&
	     counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_CLEARED) < cleared + PAGES; i++)
		vze_sleep_ms(10);
	EXPECT_EQ(cleared + PAGES, counter(self->gpu.fd, VZE_HW_COUNTER_PAGES_CLEARED));
	EXPECT_EQ(moved, bytes_moved(self->gpu.fd));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "vram_used"));
}

TEST_HARNESS_MAIN
