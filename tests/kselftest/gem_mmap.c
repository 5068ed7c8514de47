// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_GEM_MMAP_OFFSET and CPU mappings of single objects. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE	(SZ_2M + SZ_64K)

FIXTURE(gem_mmap) {
	struct vze_gpu gpu;
	uint32_t handle;
	uint64_t offset;
};

FIXTURE_VARIANT(gem_mmap) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(gem_mmap, vram) {
	.placement = DRM_VZE_PLACEMENT_VRAM,
};

FIXTURE_VARIANT_ADD(gem_mmap, system) {
	.placement = DRM_VZE_PLACEMENT_SYSTEM,
};

FIXTURE_SETUP(gem_mmap)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &self->handle));
	ASSERT_EQ(0, vze_gem_mmap_offset(self->gpu.fd, self->handle, &self->offset));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SIZE, VZE_VA, 0));
}

FIXTURE_TEARDOWN(gem_mmap)
{
	VZE_TEARDOWN(&self->gpu);
}

static void *map(FIXTURE_DATA(gem_mmap) *self, size_t size, int prot, uint64_t at)
{
	return mmap(NULL, size, prot, MAP_SHARED, self->gpu.fd, self->offset + at);
}

VZE_TEST(gem_mmap, cpu_and_device_see_the_same)
{
	uint64_t *mem = map(self, SIZE, PROT_READ | PROT_WRITE, 0);

	ASSERT_NE(MAP_FAILED, mem);
	vze_pattern_fill(mem, SIZE, 1);
	/* The second half by the device from the first. */
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_1M, VZE_VA, SZ_1M));
	EXPECT_EQ(-1, vze_pattern_check(mem, SZ_1M, 1));
	EXPECT_EQ(0, memcmp(mem, (char *)mem + SZ_1M, SZ_1M));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0x1234));
	EXPECT_EQ(-1, vze_words_check(mem, SIZE, 0x1234));
	munmap(mem, SIZE);
}

VZE_TEST(gem_mmap, pieces)
{
	char *all = map(self, SIZE, PROT_READ | PROT_WRITE, 0);
	char *piece;

	ASSERT_NE(MAP_FAILED, all);
	vze_pattern_fill(all, SIZE, 2);
	piece = map(self, SZ_4K, PROT_READ, SZ_4K);
	ASSERT_NE(MAP_FAILED, piece);
	EXPECT_EQ(0, memcmp(piece, all + SZ_4K, SZ_4K));
	munmap(piece, SZ_4K);
	piece = map(self, SZ_4K, PROT_READ, SIZE - SZ_4K);
	ASSERT_NE(MAP_FAILED, piece);
	EXPECT_EQ(0, memcmp(piece, all + SIZE - SZ_4K, SZ_4K));
	munmap(piece, SZ_4K);

	/* A hole in the middle leaves the rest. */
	ASSERT_EQ(0, munmap(all + SZ_64K, SZ_64K));
	EXPECT_EQ(-1, vze_pattern_check(all, SZ_64K, 2));
	all[SIZE - 1] = 7;
	EXPECT_EQ(7, all[SIZE - 1]);
	munmap(all, SIZE);
}

VZE_TEST(gem_mmap, refused)
{
	uint64_t offset;
	int fd2;

	EXPECT_EQ(MAP_FAILED, map(self, SIZE + SZ_4K, PROT_READ, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map(self, SIZE, PROT_READ, SZ_4K));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map(self, SZ_4K, PROT_READ, 1ULL << 50));
	EXPECT_EQ(EINVAL, errno);

	/* The offset of an object that another file has no handle of. */
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, fd2, self->offset));
	EXPECT_EQ(EACCES, errno);
	close(fd2);

	EXPECT_EQ(-ENOENT, vze_gem_mmap_offset(self->gpu.fd, 0, &offset));
	EXPECT_EQ(-ENOENT, vze_gem_mmap_offset(self->gpu.fd, self->handle + 1000, &offset));
}

VZE_TEST(gem_mmap, outlives_the_handle)
{
	uint64_t *mem = map(self, SIZE, PROT_READ | PROT_WRITE, 0);
	uint32_t other;

	ASSERT_NE(MAP_FAILED, mem);
	mem[0] = 1;
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	/* Nobody else gets the memory while it is mapped. */
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &other));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, other, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, ~0ULL));
	EXPECT_EQ(1, mem[0]);
	EXPECT_EQ(-1, vze_words_check((char *)mem + SZ_4K, SIZE - SZ_4K, 0));
	munmap(mem, SIZE);
}

static int child_writes(void *arg)
{
	volatile uint64_t *mem = arg;

	if (mem[1] != 0x11)
		return 1;
	mem[2] = 0x22;
	return 0;
}

VZE_TEST(gem_mmap, shared_over_fork)
{
	volatile uint64_t *mem = map(self, SIZE, PROT_READ | PROT_WRITE, 0);

	ASSERT_NE(MAP_FAILED, (void *)mem);
	mem[1] = 0x11;
	EXPECT_EQ(0, vze_in_child(child_writes, (void *)mem));
	EXPECT_EQ(0x22, mem[2]);
	munmap((void *)mem, SIZE);
}

static int child_writes_read_only(void *arg)
{
	*(volatile char *)arg = 1;
	return 0;
}

VZE_TEST(gem_mmap, read_only_mapping)
{
	char *mem = map(self, SIZE, PROT_READ, 0);

	ASSERT_NE(MAP_FAILED, mem);
	EXPECT_EQ(0, mem[0]);
	EXPECT_EQ(-SIGSEGV, vze_in_child(child_writes_read_only, mem));
	munmap(mem, SIZE);
}

/* System memory is ordinary memory to the rest of the kernel. */
VZE_TEST(gem_mmap, system_calls_reach_it)
{
	char name[] = "/tmp/vze-mmap-XXXXXX";
	struct iovec local, remote;
	char *mem, *buffer;
	int file;

	if (variant->placement != DRM_VZE_PLACEMENT_SYSTEM)
		SKIP(return, "VRAM is no memory with struct pages");
	mem = map(self, SIZE, PROT_READ | PROT_WRITE, 0);
	buffer = vze_anon(SIZE, SZ_4K);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_NE(NULL, buffer);
	vze_pattern_fill(mem, SIZE, 3);

	local = (struct iovec) { buffer, SIZE };
	remote = (struct iovec) { mem, SIZE };
	ASSERT_EQ(SIZE, process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(-1, vze_pattern_check(buffer, SIZE, 3));
	vze_pattern_fill(buffer, SIZE, 4);
	ASSERT_EQ(SIZE, process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(-1, vze_pattern_check(mem, SIZE, 4));

	file = mkstemp(name);
	ASSERT_LE(0, file);
	unlink(name);
	if (fcntl(file, F_SETFL, O_DIRECT))
		TH_LOG("no O_DIRECT in /tmp: plain write and read instead");
	EXPECT_EQ(SIZE, pwrite(file, mem, SIZE, 0));
	memset(mem, 0, SIZE);
	EXPECT_EQ(SIZE, pread(file, mem, SIZE, 0));
	EXPECT_EQ(-1, vze_pattern_check(mem, SIZE, 4));
	close(file);
	munmap(mem, SIZE);
	munmap(buffer, SIZE);
}

FIXTURE(userptr_mmap) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(userptr_mmap)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(userptr_mmap)
{
	VZE_TEARDOWN(&self->gpu);
}

/* Nobody maps an application's own memory a second time through the driver. */
VZE_TEST(userptr_mmap, refused)
{
	char *mem = vze_anon(SZ_64K, SZ_4K);
	uint32_t handle;
	uint64_t offset;
	off_t guess;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_64K, 0, &handle));
	EXPECT_EQ(-EOPNOTSUPP, vze_gem_mmap_offset(self->gpu.fd, handle, &offset));
	/* Nor by a guessed offset: the first ones that the DRM core gives out. */
	for (guess = 0x100000000; guess < 0x100000000 + 64 * SZ_4K; guess += SZ_4K)
		EXPECT_EQ(MAP_FAILED, mmap(NULL, SZ_4K, PROT_READ, MAP_SHARED, self->gpu.fd,
					   guess));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	munmap(mem, SZ_64K);
}

TEST_HARNESS_MAIN
