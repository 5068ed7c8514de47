// SPDX-License-Identifier: MIT
/* Userptr objects made from another one's pages: pinned and charged once, kept by each. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE		SZ_2M
#define READONLY	DRM_VZE_USERPTR_READONLY
#define FROM		DRM_VZE_USERPTR_FROM

/* The source on one GPU, the second object on the same or on another. */
FIXTURE(userptr_from) {
	struct vze_gpu gpu;
	struct vze_gpu other;
	struct vze_gpu *second;
	long pinned;
	char *mem;
	uint32_t source;
};

FIXTURE_VARIANT(userptr_from) {
	int gpus;
};

FIXTURE_VARIANT_ADD(userptr_from, one_device) { .gpus = 1 };
FIXTURE_VARIANT_ADD(userptr_from, two_devices) { .gpus = 2 };

FIXTURE_SETUP(userptr_from)
{
	VZE_SETUP_GPUS(&self->gpu, 0, variant->gpus);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->second = &self->gpu;
	if (variant->gpus == 2) {
		ASSERT_EQ(0, vze_gpu_open(&self->other, 1));
		ASSERT_EQ(0, vze_gpu_start(&self->other));
		self->second = &self->other;
	}
	self->mem = vze_anon(SIZE, SZ_4K);
	ASSERT_NE(NULL, self->mem);
	self->pinned = vze_vmpin();
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, self->mem, SIZE, 0, &self->source));
	ASSERT_EQ(self->pinned + SIZE, vze_vmpin());
}

FIXTURE_TEARDOWN(userptr_from)
{
	if (variant->gpus == 2)
		VZE_TEARDOWN(&self->other);
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
	munmap(self->mem, SIZE);
}

static int from(FIXTURE_DATA(userptr_from) *self, struct drm_vze_gem_userptr *args)
{
	return vze_ioctl(self->second->fd, DRM_IOCTL_VZE_GEM_USERPTR, args);
}

static struct drm_vze_gem_userptr request(FIXTURE_DATA(userptr_from) *self)
{
	return (struct drm_vze_gem_userptr) {
		.addr = (uintptr_t)self->mem,
		.size = SIZE,
		.flags = FROM,
		.source_fd = self->gpu.fd,
		.source_handle = self->source,
	};
}

VZE_TEST(userptr_from, pins_once_and_outlives_the_source)
{
	struct drm_vze_gem_userptr args = request(self);
	struct vze_gpu *gpu = self->second;

	ASSERT_EQ(0, from(self, &args));
	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->source));
	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());

	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, args.handle, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(gpu, VZE_VA, SIZE, 0xfade));
	EXPECT_EQ(-1, vze_words_check(self->mem, SIZE, 0xfade));
	ASSERT_EQ(0, vze_unmap(gpu->fd, gpu->vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(gpu->fd, args.handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* The object has the source's pages, whatever lies at the address by now. */
VZE_TEST(userptr_from, pages_of_the_source_after_a_remap)
{
	struct drm_vze_gem_userptr args = request(self);
	struct vze_gpu *gpu = self->second;

	ASSERT_EQ(self->mem, mmap(self->mem, SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	self->mem[0] = 0x5a;
	ASSERT_EQ(0, from(self, &args));
	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, args.handle, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(gpu, VZE_VA, SIZE, 0));
	EXPECT_EQ(0x5a, self->mem[0]);
	ASSERT_EQ(0, vze_unmap(gpu->fd, gpu->vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(gpu->fd, args.handle));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->source));
}

VZE_TEST(userptr_from, what_is_not_the_same_memory)
{
	struct drm_vze_gem_userptr args;
	uint32_t system;
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, file);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &system));

	args = request(self);
	args.size = SIZE / 2;
	EXPECT_EQ(-EINVAL, from(self, &args));
	args = request(self);
	args.addr += SZ_4K;
	EXPECT_EQ(-EINVAL, from(self, &args));
	args = request(self);
	args.flags |= READONLY;
	EXPECT_EQ(-EINVAL, from(self, &args));
	args = request(self);
	args.source_handle = system;
	EXPECT_EQ(-EINVAL, from(self, &args));
	args = request(self);
	args.source_handle = 0x7fffffff;
	EXPECT_EQ(-ENOENT, from(self, &args));
	args = request(self);
	args.source_fd = file;
	EXPECT_EQ(-EINVAL, from(self, &args));
	args = request(self);
	args.source_fd = -1;
	EXPECT_EQ(-EBADF, from(self, &args));
	args = request(self);
	args.flags = 0;
	EXPECT_EQ(-EINVAL, from(self, &args));

	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());
	close(file);
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, system));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->source));
}

TEST_HARNESS_MAIN
