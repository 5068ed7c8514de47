// SPDX-License-Identifier: MIT
/* CPU mappings of an address space: one VMA that shows what the VM maps. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SPACE	(64 * SZ_1M)

/* @base: SPACE bytes of the process that are the VM's at the same addresses. */
FIXTURE(vm_mmap) {
	struct vze_gpu gpu;
	char *base;
};

static char *map_vm(int fd, uint32_t vm, void *at, size_t size, int prot)
{
	return mmap(at, size, prot, MAP_SHARED | MAP_FIXED, fd,
		    DRM_VZE_VM_MMAP_OFFSET(vm, (uintptr_t)at));
}

static char *reserve(size_t size)
{
	char *raw = mmap(NULL, size + SZ_2M, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_NORESERVE, -1, 0);

	return raw == MAP_FAILED ? NULL :
	       (char *)(((uintptr_t)raw + SZ_2M - 1) & ~(SZ_2M - 1));
}

FIXTURE_SETUP(vm_mmap)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->base = reserve(SPACE);
	ASSERT_NE(NULL, self->base);
	ASSERT_EQ(self->base, map_vm(self->gpu.fd, self->gpu.vm, self->base, SPACE,
				     PROT_READ | PROT_WRITE));
}

FIXTURE_TEARDOWN(vm_mmap)
{
	munmap(self->base, SPACE);
	VZE_TEARDOWN(&self->gpu);
}

static int bind(FIXTURE_DATA(vm_mmap) *self, uint32_t handle, size_t size, size_t at,
		uint32_t flags)
{
	return vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, (uintptr_t)self->base + at,
		       flags);
}

static int unbind(FIXTURE_DATA(vm_mmap) *self, size_t at, size_t size)
{
	return vze_unmap(self->gpu.fd, self->gpu.vm, (uintptr_t)self->base + at, size);
}

VZE_TEST(vm_mmap, shows_what_is_bound)
{
	uint32_t handle[2], p;
	uint64_t value;
	char *at;

	for (p = 0; p < 2; p++) {
		at = self->base + p * SZ_2M;
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM + p, 0,
					    &handle[p]));
		EXPECT_EQ(-SIGBUS, vze_peek(at, &value));
		ASSERT_EQ(0, bind(self, handle[p], SZ_64K, p * SZ_2M, 0));
		ASSERT_EQ(0, vze_peek(at, &value));
		EXPECT_EQ(0, value);
		/* One address on both sides. */
		vze_pattern_fill(at, SZ_64K, p);
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, (uintptr_t)at, (uintptr_t)at + SZ_4K,
					  SZ_4K));
		EXPECT_EQ(0, memcmp(at, at + SZ_4K, SZ_4K));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, (uintptr_t)at, SZ_64K, 0x11 + p));
		EXPECT_EQ(-1, vze_words_check(at, SZ_64K, 0x11 + p));
		EXPECT_EQ(-SIGBUS, vze_peek(at + SZ_64K, &value));
		EXPECT_EQ(-SIGBUS, vze_poke(at + SZ_64K, 1));
	}
	EXPECT_EQ(1, vze_count_vmas(self->base, SPACE));
}

/* What the VM unmaps or replaces, the CPU loses at once. */
VZE_TEST(vm_mmap, follows_the_vm)
{
	uint32_t a, b, p;
	uint64_t value;
	char *at = self->base;

	for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, p, 0, &a));
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, p, 0, &b));
		ASSERT_EQ(0, bind(self, a, SZ_64K, 0, 0));
		vze_pattern_fill(at, SZ_64K, 1);
		ASSERT_EQ(0, bind(self, b, SZ_64K, 0, 0));
		EXPECT_EQ(-1, vze_words_check(at, SZ_64K, 0));
		vze_pattern_fill(at, SZ_64K, 2);
		ASSERT_EQ(0, bind(self, a, SZ_64K, 0, 0));
		EXPECT_EQ(-1, vze_pattern_check(at, SZ_64K, 1));
		/* A hole in the middle only. */
		ASSERT_EQ(0, unbind(self, SZ_4K, SZ_4K));
		EXPECT_EQ(-1, vze_pattern_check(at, SZ_4K, 1));
		EXPECT_EQ(-SIGBUS, vze_peek(at + SZ_4K, &value));
		EXPECT_EQ(-SIGBUS, vze_peek(at + 2 * SZ_4K - 8, &value));
		EXPECT_EQ(0, vze_peek(at + 2 * SZ_4K, &value));
		ASSERT_EQ(0, unbind(self, 0, SZ_64K));
		EXPECT_EQ(-SIGBUS, vze_peek(at, &value));
		EXPECT_EQ(-SIGBUS, vze_peek(at + SZ_64K - 8, &value));
		/* b kept what was written while it was there. */
		ASSERT_EQ(0, bind(self, b, SZ_64K, 0, 0));
		EXPECT_EQ(-1, vze_pattern_check(at, SZ_64K, 2));
		ASSERT_EQ(0, unbind(self, 0, SZ_64K));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, a));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, b));
	}
}

/* The device's rights are not the CPU's. */
VZE_TEST(vm_mmap, device_access_does_not_matter)
{
	static const uint32_t flags[] = { DRM_VZE_BIND_READONLY, DRM_VZE_BIND_NO_ACCESS };
	uint32_t handle, p;
	uint64_t value;
	unsigned int i;

	for (p = DRM_VZE_PLACEMENT_VRAM; p <= DRM_VZE_PLACEMENT_SYSTEM; p++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, p, 0, &handle));
		for (i = 0; i < ARRAY_LEN(flags); i++) {
			ASSERT_EQ(0, bind(self, handle, SZ_64K, 0, flags[i]));
			EXPECT_EQ(0, vze_poke(self->base, 0x77 + i));
			EXPECT_EQ(0, vze_peek(self->base, &value));
			EXPECT_EQ(0x77 + i, value);
			ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm,
						 (uintptr_t)self->base, SZ_64K, 0));
			EXPECT_EQ(0, vze_peek(self->base, &value));
			EXPECT_EQ(0x77 + i, value);
		}
		ASSERT_EQ(0, unbind(self, 0, SZ_64K));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	}
}

VZE_TEST(vm_mmap, userptr_is_not_shown)
{
	char *mem = vze_anon(SZ_64K, SZ_4K);
	uint32_t handle;
	uint64_t value;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_64K, 0, &handle));
	ASSERT_EQ(0, bind(self, handle, SZ_64K, 0, 0));
	EXPECT_EQ(-SIGBUS, vze_peek(self->base, &value));
	EXPECT_EQ(-SIGBUS, vze_poke(self->base + SZ_4K, 1));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, (uintptr_t)self->base, SZ_64K, 0x13));
	EXPECT_EQ(-1, vze_words_check(mem, SZ_64K, 0x13));
}

VZE_TEST(vm_mmap, refused)
{
	char *other = reserve(SZ_2M);
	uint32_t vm = self->gpu.vm;
	int fd = self->gpu.fd, fd2;
	const struct {
		uint64_t offset;
		int flags;
	} table[] = {
		/* the address is not that of the offset */
		{ DRM_VZE_VM_MMAP_OFFSET(vm, (uintptr_t)other + SZ_4K), MAP_SHARED },
		{ DRM_VZE_VM_MMAP_OFFSET(vm, 0), MAP_SHARED },
		/* copies on write would have two meanings */
		{ DRM_VZE_VM_MMAP_OFFSET(vm, (uintptr_t)other), MAP_PRIVATE },
		/* no such address space */
		{ DRM_VZE_VM_MMAP_OFFSET(0, (uintptr_t)other), MAP_SHARED },
		{ DRM_VZE_VM_MMAP_OFFSET(vm + 1000, (uintptr_t)other), MAP_SHARED },
		{ DRM_VZE_VM_MMAP_OFFSET(DRM_VZE_MAX_VM_ID - 1, (uintptr_t)other), MAP_SHARED },
	};
	unsigned int i;

	ASSERT_NE(NULL, other);
	for (i = 0; i < ARRAY_LEN(table); i++) {
		errno = 0;
		EXPECT_EQ(MAP_FAILED, mmap(other, SZ_64K, PROT_READ | PROT_WRITE,
					   table[i].flags | MAP_FIXED, fd, table[i].offset)) {
			TH_LOG("line %u", i);
		}
		EXPECT_TRUE(errno == EINVAL || errno == ENOENT) {
			TH_LOG("line %u: %s", i, strerror(errno));
		}
	}
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(MAP_FAILED, map_vm(fd2, vm, other, SZ_64K, PROT_READ));
	EXPECT_TRUE(errno == EINVAL || errno == ENOENT);
	close(fd2);
	ASSERT_EQ(other, map_vm(fd, vm, other, SZ_64K, PROT_READ));
	munmap(other, SZ_2M);
}

/* 65,536 objects (more than vm.max_map_count) in one VMA, unbound in one call. */
VZE_TEST(vm_mmap, as_many_objects_as_you_like)
{
	const unsigned int count = vze_rounds(65536);
	struct drm_vze_bind_op *ops = calloc(count, sizeof(*ops));
	const size_t size = count * SZ_4K;
	char *base = reserve(size);
	unsigned int i, wrong = 0;
	uint64_t value;

	ASSERT_NE(NULL, ops);
	ASSERT_NE(NULL, base);
	ASSERT_EQ(base, map_vm(self->gpu.fd, self->gpu.vm, base, size, PROT_READ | PROT_WRITE));
	for (i = 0; i < count; i++) {
		ops[i].op = DRM_VZE_BIND_MAP;
		ops[i].range = SZ_4K;
		ops[i].addr = (uintptr_t)base + i * SZ_4K;
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &ops[i].handle));
	}
	ASSERT_EQ(0, vze_vm_bind(self->gpu.fd, self->gpu.vm, ops, count));
	for (i = 0; i < count; i++)
		*(volatile uint64_t *)(base + i * SZ_4K) = i + 1;
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, (uintptr_t)base + 77 * SZ_4K, SZ_4K, 0x99));
	for (i = 0; i < count; i++)
		wrong += *(volatile uint64_t *)(base + i * SZ_4K) != (i == 77 ? 0x99 : i + 1);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(1, vze_count_vmas(base, size));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, (uintptr_t)base, size));
	EXPECT_EQ(-SIGBUS, vze_peek(base, &value));
	EXPECT_EQ(-SIGBUS, vze_peek(base + size - 8, &value));
	for (i = 0; i < count; i++)
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, ops[i].handle));
	munmap(base, size);
	free(ops);
}

/* To the rest of the kernel, system memory in it is ordinary memory. */
VZE_TEST(vm_mmap, system_calls_reach_it)
{
	char name[] = "/tmp/vze-vm-mmap-XXXXXX";
	char *buffer = vze_anon(SZ_64K, SZ_4K);
	uint32_t handle[2];
	struct iovec local, remote;
	int file, i;

	ASSERT_NE(NULL, buffer);
	/* Two objects side by side: no system call sees the seam. */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K / 2, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle[i]));
		ASSERT_EQ(0, bind(self, handle[i], SZ_64K / 2, i * SZ_64K / 2, 0));
	}
	vze_pattern_fill(self->base, SZ_64K, 5);
	local = (struct iovec) { buffer, SZ_64K };
	remote = (struct iovec) { self->base, SZ_64K };
	ASSERT_EQ(SZ_64K, process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(-1, vze_pattern_check(buffer, SZ_64K, 5));
	file = mkstemp(name);
	ASSERT_LE(0, file);
	unlink(name);
	if (fcntl(file, F_SETFL, O_DIRECT))
		TH_LOG("no O_DIRECT in /tmp: plain write and read instead");
	EXPECT_EQ(SZ_64K, pwrite(file, self->base, SZ_64K, 0));
	memset(self->base, 0, SZ_64K);
	EXPECT_EQ(SZ_64K, pread(file, self->base, SZ_64K, 0));
	EXPECT_EQ(-1, vze_pattern_check(self->base, SZ_64K, 5));
	close(file);
	munmap(buffer, SZ_64K);
}

VZE_TEST(vm_mmap, pieces_of_the_mapping)
{
	uint32_t handle;
	uint64_t value;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, bind(self, handle, SZ_2M, 0, 0));
	vze_pattern_fill(self->base, SZ_2M, 4);
	ASSERT_EQ(0, mprotect(self->base + SZ_64K, SZ_64K, PROT_READ));
	EXPECT_EQ(-SIGSEGV, vze_poke(self->base + SZ_64K, 1));
	ASSERT_EQ(0, munmap(self->base + 2 * SZ_64K, SZ_64K));
	EXPECT_EQ(-SIGSEGV, vze_peek(self->base + 2 * SZ_64K, &value));
	ASSERT_EQ(self->base + 2 * SZ_64K, map_vm(self->gpu.fd, self->gpu.vm,
						  self->base + 2 * SZ_64K, SZ_64K, PROT_READ));
	EXPECT_EQ(-1, vze_pattern_check(self->base, SZ_2M, 4));
	ASSERT_EQ(0, unbind(self, 0, SZ_2M));
	EXPECT_EQ(-SIGBUS, vze_peek(self->base + 2 * SZ_64K, &value));
}

/* After the VM's end the mapping shows nothing and harms nothing. */
VZE_TEST(vm_mmap, outlives_the_vm)
{
	uint32_t handle;
	uint64_t value = 0;
	int ret;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, bind(self, handle, SZ_64K, 0, 0));
	ASSERT_EQ(0, vze_poke(self->base, 5));
	vze_gpu_close(&self->gpu);
	ret = vze_peek(self->base, &value);
	EXPECT_TRUE(ret == -SIGBUS || (ret == 0 && value == 5)) {
		TH_LOG("%d, value %llu", ret, (unsigned long long)value);
	}
	self->gpu.queue = 0;
	self->gpu.vm = 0;
}

struct reader {
	volatile uint64_t *word;
	volatile bool stop;
	unsigned long wrong;
};

static void *read_loop(void *arg)
{
	struct reader *reader = arg;

	while (!reader->stop) {
		uint64_t value = *reader->word;

		if (value != 0xa && value != 0xb)
			reader->wrong++;
	}
	return NULL;
}

/* A reader sees the one or the other while bindings are replaced under it. */
VZE_TEST(vm_mmap, replaced_under_a_reader)
{
	struct reader reader = { .word = (void *)self->base };
	uint32_t handle[2];
	pthread_t thread;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM + i, 0,
					    &handle[i]));
		ASSERT_EQ(0, bind(self, handle[i], SZ_4K, 0, 0));
		ASSERT_EQ(0, vze_poke(self->base, 0xa + i));
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_loop, &reader));
	for (i = 0; i < 500; i++)
		EXPECT_EQ(0, bind(self, handle[i % 2], SZ_4K, 0, 0));
	reader.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, reader.wrong);
}

TEST_HARNESS_MAIN
