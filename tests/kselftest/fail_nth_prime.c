// SPDX-License-Identifier: MIT
/* Failure injection: dma-buf, exported and imported. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

#define SIZE	(2 * SZ_64K)
#define SEED	6

/* Descriptor or -errno. */
static int export(int fd, uint32_t handle)
{
	struct drm_prime_handle args = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
		.fd = -1,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

static int call_import(struct vze_fail *f)
{
	struct drm_prime_handle args = { .fd = f->buf };
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	f->made = args.handle;
	return ret;
}

static int close_made(struct vze_fail *f)
{
	return vze_gem_close(f->gpu.fd, f->made);
}

/* The device sees what the pattern's writer wrote. */
static const char *done_import(struct vze_fail *f)
{
	const struct vze_fail_probe probes[] = {
		{ VZE_VA, f->map[0] },
		{ VZE_VA + SIZE - 8, f->map[SIZE / 8 - 1] },
	};
	const char *why;
	int ret = vze_map(f->gpu.fd, f->gpu.vm, f->made, 0, SIZE, VZE_VA, 0);

	if (ret)
		return vze_fail_why(f, "mapping what was imported: %d", ret);
	why = vze_fail_probe(f, probes, ARRAY_LEN(probes));
	ret = vze_unmap(f->gpu.fd, f->gpu.vm, VZE_VA, SIZE);
	return why || !ret ? why : vze_fail_why(f, "unmapping: %d", ret);
}

/* What is to be seen through an import. */
static int pattern_map(struct vze_fail *f, void *map)
{
	if (map == MAP_FAILED)
		return -errno;
	f->map = map;
	f->map_size = SIZE;
	vze_pattern_fill(map, SIZE, SEED);
	return 0;
}

/* An object of file @fd with a pattern, as f->a. */
static int patterned(struct vze_fail *f, int fd)
{
	int ret = vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->a);

	if (ret)
		return ret;
	return pattern_map(f, vze_gem_mmap(fd, f->a, SIZE, PROT_READ | PROT_WRITE));
}

/* First export: the object has no dma-buf yet. */
static int before_export(struct vze_fail *f)
{
	return patterned(f, f->gpu.fd);
}

static int call_export(struct vze_fail *f)
{
	struct drm_prime_handle args = { .handle = f->a, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	f->made64 = args.fd;
	return ret;
}

static const char *done_export(struct vze_fail *f)
{
	int buf = f->made64;
	void *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, buf, 0);
	const char *why = NULL;

	if (map == MAP_FAILED)
		return vze_fail_why(f, "mapping the dma-buf: %d", -errno);
	if (vze_pattern_check(map, SIZE, SEED) != -1)
		why = vze_fail_why(f, "the dma-buf shows something else");
	munmap(map, SIZE);
	return why;
}

static int after_export(struct vze_fail *f)
{
	close(f->made64);
	munmap(f->map, SIZE);
	f->map_size = 0;
	return vze_gem_close(f->gpu.fd, f->a);
}

FAIL_FORM(export) = {
	.before = before_export,
	.call = call_export,
	.done = done_export,
	.after = after_export,
};

static int setup_exported(struct vze_fail *f)
{
	int ret = patterned(f, f->gpu.fd);

	if (ret)
		return ret;
	f->buf = export(f->gpu.fd, f->a);
	return f->buf < 0 ? f->buf : 0;
}

static int after_export_again(struct vze_fail *f)
{
	return close(f->made64) ? -errno : 0;
}

FAIL_FORM(export_again) = {
	.setup = setup_exported,
	.call = call_export,
	.done = done_export,
	.after = after_export_again,
};

/* Its own object: the handle that the file has. */
static const char *done_import_own(struct vze_fail *f)
{
	return f->made == f->a ? done_import(f) : vze_fail_why(f, "another handle");
}

FAIL_FORM(import_own) = {
	.setup = setup_exported,
	.call = call_import,
	.done = done_import_own,
};

/* Of another file of the device: the same object. */
static int setup_import_file(struct vze_fail *f)
{
	int ret;

	f->fd2 = vze_gpu_reopen(&f->gpu);
	if (f->fd2 < 0)
		return f->fd2;
	ret = patterned(f, f->fd2);
	if (ret)
		return ret;
	f->buf = export(f->fd2, f->a);
	return f->buf < 0 ? f->buf : 0;
}

FAIL_FORM(import_file) = {
	.setup = setup_import_file,
	.call = call_import,
	.done = done_import,
	.after = close_made,
};

/* Of another device of this driver. */
static int setup_import_device(struct vze_fail *f)
{
	int ret = vze_gpu_open(&f->other, 1);

	if (!ret)
		ret = patterned(f, f->other.fd);
	if (ret)
		return ret;
	f->buf = export(f->other.fd, f->a);
	return f->buf < 0 ? f->buf : 0;
}

FAIL_FORM(import_device) = {
	.gpus = 2,
	.setup = setup_import_device,
	.call = call_import,
	.done = done_import,
	.after = close_made,
};

static int setup_import_udmabuf(struct vze_fail *f)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int memfd = memfd_create("vze", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ret = 0;

	create.memfd = memfd;
	if (dev < 0 || memfd < 0 || ftruncate(memfd, SIZE) ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		ret = -errno;
	if (!ret) {
		f->buf = ioctl(dev, UDMABUF_CREATE, &create);
		if (f->buf < 0)
			ret = -errno;
	}
	if (!ret)
		ret = pattern_map(f, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd,
					  0));
	close(dev);
	close(memfd);
	return ret;
}

FAIL_FORM(import_udmabuf) = {
	.setup = setup_import_udmabuf,
	.call = call_import,
	.done = done_import,
	.after = close_made,
};

static int setup_import_heap(struct vze_fail *f)
{
	struct dma_heap_allocation_data heap = { .len = SIZE, .fd_flags = O_RDWR | O_CLOEXEC };
	int dev = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	int ret;

	if (dev < 0)
		return -errno;
	ret = vze_ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &heap);
	close(dev);
	if (ret)
		return ret;
	f->buf = heap.fd;
	return pattern_map(f, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->buf, 0));
}

FAIL_FORM(import_heap) = {
	.setup = setup_import_heap,
	.call = call_import,
	.done = done_import,
	.after = close_made,
};

VZE_FAIL_PROGRAM(VZE_FAIL_PRIME_FORMS)
