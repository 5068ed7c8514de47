// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_GEM_USERPTR: arguments, accounting, access, lifetime. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define READONLY	DRM_VZE_USERPTR_READONLY

FIXTURE(userptr) {
	struct vze_gpu gpu;
	long pinned;
};

FIXTURE_SETUP(userptr)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->pinned = vze_vmpin();
	ASSERT_LE(0, self->pinned);
}

FIXTURE_TEARDOWN(userptr)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
}

VZE_TEST(userptr, argument_table)
{
	char *mem = vze_anon(SZ_64K, SZ_4K);
	uint64_t good = (uintptr_t)mem;
	const struct {
		uint64_t addr;
		uint64_t size;
		int result;
	} table[] = {
		{ good + 1, SZ_4K, -EINVAL },
		{ good + 64, SZ_4K, -EINVAL },
		{ good, 0, -EINVAL },
		{ good, 1, -EINVAL },
		{ good, SZ_4K - 1, -EINVAL },
		{ good, SZ_4K + 1, -EINVAL },
		{ 0, 0, -EINVAL },
		{ 0, SZ_4K, -EINVAL },
		{ good, 1ULL << 63, -EINVAL },
		{ good, ~0ULL, -EINVAL },
		{ good, ~0ULL << 12, -EINVAL },
		{ good, -good, -EINVAL },
		{ ~0xffffULL, SZ_64K, -EINVAL },
		{ ~0xffffULL, 0x80000000, -EINVAL },
		{ ~0xffffULL, SZ_4K, -EINVAL },
		{ 1ULL << 63, SZ_4K, -EINVAL },
		{ 0xffff888000000000ULL, SZ_4K, -EINVAL },
		{ 0xffffffff81000000ULL, SZ_4K, -EINVAL },
		{ 1ULL << 47, SZ_4K, -EINVAL },
		{ good, 1ULL << 47, -EINVAL },
	};
	struct drm_vze_gem_info info;
	unsigned int i, round;
	uint32_t handle = 0x5a;

	ASSERT_NE(NULL, mem);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < ARRAY_LEN(table); i++) {
			int ret = vze_userptr(self->gpu.fd, (void *)table[i].addr, table[i].size,
					      0, &handle);

			EXPECT_EQ(table[i].result, ret) {
				TH_LOG("addr 0x%llx size 0x%llx", (unsigned long long)table[i].addr,
				       (unsigned long long)table[i].size);
			}
			EXPECT_EQ(self->pinned, vze_vmpin());
		}
	}
	/* No handle was made on the way. */
	for (handle = 2; handle < 32; handle++)
		EXPECT_EQ(-ENOENT, vze_gem_info(self->gpu.fd, handle, &info));
	munmap(mem, SZ_64K);
}

VZE_TEST(userptr, accounting_and_info)
{
	static const uint64_t sizes[] = { SZ_4K, 2 * SZ_4K, 3 * SZ_4K, SZ_1M, 5 * SZ_2M + SZ_4K };
	struct drm_vze_gem_info info;
	unsigned int i, flags;
	uint32_t handle;
	char *mem;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		mem = vze_anon(sizes[i], SZ_4K);
		ASSERT_NE(NULL, mem);
		for (flags = 0; flags <= READONLY; flags++) {
			ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, sizes[i], flags, &handle));
			EXPECT_EQ(self->pinned + sizes[i], vze_vmpin());
			ASSERT_EQ(0, vze_gem_info(self->gpu.fd, handle, &info));
			EXPECT_EQ(DRM_VZE_PLACEMENT_USERPTR, info.placement);
			EXPECT_EQ(sizes[i], info.size);
			EXPECT_EQ((uintptr_t)mem, info.user_addr);
			EXPECT_EQ(flags ? DRM_VZE_GEM_INFO_READONLY : 0, info.flags);
			EXPECT_LE(1, info.segments);
			EXPECT_LE(info.segments, sizes[i] / SZ_4K);
			EXPECT_EQ(sizes[i] / SZ_4K,
				  vze_figure(&self->gpu, "vze_counts", "pinned_pages"));
			EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
			EXPECT_EQ(self->pinned, vze_vmpin());
		}
		munmap(mem, sizes[i]);
	}
}

/* Case 1: aligned_alloc, the device reads and writes, both sides agree. */
VZE_TEST(userptr, device_reads_and_writes)
{
	const size_t size = 2 * SZ_4K;
	uint64_t *mem = aligned_alloc(SZ_4K, size);
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	vze_pattern_fill(mem, size, 1);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_4K, VZE_VA, SZ_4K));
	EXPECT_EQ(0, memcmp(mem, (char *)mem + SZ_4K, SZ_4K));
	EXPECT_EQ(-1, vze_pattern_check(mem, SZ_4K, 1));
	mem[0] = 0x77;
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_4K, VZE_VA, 8));
	EXPECT_EQ(0x77, mem[SZ_4K / 8]);
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, 0x99));
	EXPECT_EQ(-1, vze_words_check(mem, size, 0x99));

	/* A closed handle leaves the mapping, and the pages, until the unmap. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, 0x88));
	EXPECT_EQ(-1, vze_words_check(mem, size, 0x88));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, size));
	EXPECT_EQ(self->pinned, vze_vmpin());
	free(mem);
}

VZE_TEST(userptr, no_memory_there)
{
	const size_t size = 16 * SZ_4K;
	char *mem = vze_anon(size, SZ_4K);
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	/* A hole in the middle, at the end, everywhere. */
	munmap(mem + 7 * SZ_4K, SZ_4K);
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, READONLY, &handle));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, 8 * SZ_4K, 0, &handle));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem + 7 * SZ_4K, SZ_4K, 0, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, 7 * SZ_4K, 0, &handle));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));

	/* PROT_NONE: a reservation without access. */
	ASSERT_EQ(0, mprotect(mem, 7 * SZ_4K, PROT_NONE));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, 7 * SZ_4K, 0, &handle));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, 7 * SZ_4K, READONLY, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	munmap(mem, size);
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* Address range of a line of /proc/self/maps that ends with @name. */
static bool find_mapping(const char *name, unsigned long *start, unsigned long *end)
{
	bool found = false;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		if (strlen(line) >= strlen(name) &&
		    !strcmp(line + strlen(line) - strlen(name), name) &&
		    sscanf(line, "%lx-%lx", start, end) == 2) {
			found = true;
			break;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

/* A page of any PCI BAR: kernels keep those that drivers have claimed for themselves. */
static void *map_pci_bar(void)
{
	const char *base = "/sys/bus/pci/devices";
	void *map = MAP_FAILED;
	struct dirent *entry;
	DIR *dir = opendir(base);
	char path[320];
	int bar, fd;

	while (dir && map == MAP_FAILED && (entry = readdir(dir))) {
		for (bar = 0; bar < 6 && map == MAP_FAILED; bar++) {
			snprintf(path, sizeof(path), "%s/%s/resource%d", base, entry->d_name, bar);
			fd = open(path, O_RDWR | O_CLOEXEC);
			if (fd < 0)
				continue;
			map = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
		}
	}
	if (dir)
		closedir(dir);
	return map;
}

/* Case 13: what is mapped but no memory of the application's own. */
VZE_TEST(userptr, not_the_applications_memory)
{
	static const char * const special[] = { "[vvar]", "[vdso]", "[vvar_vclock]" };
	static const uint32_t placements[] = { DRM_VZE_PLACEMENT_VRAM, DRM_VZE_PLACEMENT_SYSTEM };
	unsigned long start, end;
	uint32_t own, handle, flags;
	unsigned int i;
	void *map;
	int ret;

	for (flags = 0; flags <= READONLY; flags++) {
		for (i = 0; i < ARRAY_LEN(special); i++) {
			if (!find_mapping(special[i], &start, &end))
				continue;
			ret = vze_userptr(self->gpu.fd, (void *)start, end - start, flags, &handle);
			EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL) {
				TH_LOG("%s flags %u: %d", special[i], flags, ret);
			}
		}
		for (i = 0; i < ARRAY_LEN(placements); i++) {
			ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, placements[i], 0, &own));
			map = vze_gem_mmap(self->gpu.fd, own, SZ_64K, PROT_READ | PROT_WRITE);
			ASSERT_NE(MAP_FAILED, map);
			*(volatile char *)map = 1;
			ret = vze_userptr(self->gpu.fd, map, SZ_64K, flags, &handle);
			EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL) {
				TH_LOG("own object, placement %u flags %u: %d", placements[i],
				       flags, ret);
			}
			munmap(map, SZ_64K);
			EXPECT_EQ(0, vze_gem_close(self->gpu.fd, own));
		}
		map = map_pci_bar();
		if (map == MAP_FAILED) {
			TH_LOG("no PCI BAR can be mapped from sysfs here");
			continue;
		}
		ret = vze_userptr(self->gpu.fd, map, SZ_4K, flags, &handle);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL) {
			TH_LOG("PCI BAR, flags %u: %d", flags, ret);
		}
		munmap(map, SZ_4K);
		EXPECT_EQ(self->pinned, vze_vmpin());
	}
}

/* Case 11 (first half) and 2: read-only memory needs the flag, and stays read-only. */
VZE_TEST(userptr, read_only)
{
	const size_t size = 4 * SZ_4K;
	char *mem = vze_anon(size, SZ_4K);
	struct drm_vze_queue_state state;
	struct drm_prime_handle prime = {};
	struct drm_vze_share_create share;
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	vze_pattern_fill(mem, size, 5);
	ASSERT_EQ(0, mprotect(mem, size, PROT_READ));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	/* One read-only page among writable ones is enough. */
	ASSERT_EQ(0, mprotect(mem, SZ_4K, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, READONLY, &handle));

	/* No way to a writable mapping. */
	EXPECT_EQ(-EACCES, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA,
			     DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-EACCES, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA, size, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA + SZ_1M,
			     DRM_VZE_BIND_NO_ACCESS));
	EXPECT_EQ(-EACCES, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA + SZ_1M, size, 0));
	prime.handle = handle;
	prime.flags = DRM_CLOEXEC | DRM_RDWR;
	EXPECT_GT(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	prime.flags = DRM_CLOEXEC;
	EXPECT_GT(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	EXPECT_EQ(-EOPNOTSUPP, vze_share_create(self->gpu.fd, handle, 0, &share));
	EXPECT_EQ(-EOPNOTSUPP, vze_share_create(self->gpu.fd, handle, DRM_VZE_SHARE_READONLY,
						&share));

	/* Reading works, writing faults and changes nothing. */
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + SZ_4K, SZ_4K, 0));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &state));
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_FAULTED, state.state);
	EXPECT_EQ(VZE_HW_FAULT_READ_ONLY, state.reason);
	EXPECT_EQ(VZE_HW_ACCESS_WRITE, state.access);
	EXPECT_EQ(VZE_VA + SZ_4K, state.va);
	EXPECT_EQ(DRM_VZE_PLACEMENT_USERPTR, state.nearest_placement);
	EXPECT_EQ(-1, vze_pattern_check(mem, size, 5));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

/* Case 6 on the kernel's side, and 8: every overlap is an object of its own. */
VZE_TEST(userptr, overlaps)
{
	static const struct {
		unsigned int page;
		unsigned int pages;
	} other[] = {
		{ 4, 8 }, /* equal */
		{ 5, 2 }, /* inside */
		{ 0, 16 }, /* containing */
		{ 2, 4 }, /* left */
		{ 10, 4 }, /* right */
		{ 0, 4 }, /* touching */
		{ 12, 4 }, /* touching */
	};
	char *mem = vze_anon(16 * SZ_4K, SZ_4K);
	uint32_t first, second, third;
	unsigned int i;

	ASSERT_NE(NULL, mem);
	for (i = 0; i < ARRAY_LEN(other); i++) {
		size_t at = other[i].page * SZ_4K, size = other[i].pages * SZ_4K;

		ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem + 4 * SZ_4K, 8 * SZ_4K, 0, &first));
		ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem + at, size, 0, &second));
		EXPECT_NE(first, second);
		EXPECT_EQ(self->pinned + 8 * SZ_4K + size, vze_vmpin());
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, first, 0, 8 * SZ_4K, VZE_VA, 0));
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, second, 0, size, VZE_VA + SZ_2M,
				     0));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 8 * SZ_4K, i + 1));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_2M, size, i + 101));
		EXPECT_EQ(-1, vze_words_check(mem + at, size, i + 101));
		/* The first is closed: the second goes on. */
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, 8 * SZ_4K));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, first));
		EXPECT_EQ(-EINVAL, vze_gem_close(self->gpu.fd, first));
		EXPECT_EQ(self->pinned + size, vze_vmpin());
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_2M, size, i + 201));
		EXPECT_EQ(-1, vze_words_check(mem + at, size, i + 201));
		ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, 16 * SZ_4K, 0, &third));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA + SZ_2M, size));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, second));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, third));
		EXPECT_EQ(self->pinned, vze_vmpin());
	}
}

static int deep(int depth)
{
	volatile char room[512];

	room[0] = room[511] = depth;
	return depth ? deep(depth - 1) + room[511] : 0;
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	signals++;
}

/* Case 7: the page of a stack variable. */
static __attribute__((noinline)) int import_stack(struct vze_gpu *gpu)
{
	uint64_t word[3 * SZ_4K / 8];
	uint64_t *page = (uint64_t *)(((uintptr_t)word + SZ_4K - 1) & ~(SZ_4K - 1));
	uint32_t handle;
	int ret, i;

	memset(word, 0, sizeof(word));
	ret = vze_userptr(gpu->fd, page, SZ_4K, 0, &handle);
	if (!ret)
		ret = vze_map(gpu->fd, gpu->vm, handle, 0, SZ_4K, VZE_VA, 0);
	for (i = 0; !ret && i < 20; i++) {
		ret = vze_gpu_fill(gpu, VZE_VA, 256, i + 1);
		if (!ret && vze_words_check(page, 256, i + 1) != -1)
			ret = -EBADMSG;
		deep(2000);
		raise(SIGUSR1);
		if (!ret && vze_words_check(page, 256, i + 1) != -1)
			ret = -EBADMSG;
	}
	vze_unmap(gpu->fd, gpu->vm, VZE_VA, SZ_4K);
	vze_gem_close(gpu->fd, handle);
	return ret;
}

VZE_TEST(userptr, stack)
{
	signal(SIGUSR1, on_signal);
	EXPECT_EQ(0, import_stack(&self->gpu));
	EXPECT_EQ(20, signals);
}

/* Case 9: the mapping goes piece by piece while the import lives. */
VZE_TEST(userptr, munmap_under_the_import)
{
	const size_t size = 64 * SZ_1M;
	char *mem = vze_anon(size, SZ_2M), *again;
	uint32_t first, second;

	ASSERT_NE(NULL, mem);
	memset(mem, 0x11, size);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, 0, &first));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, first, 0, size, VZE_VA, 0));
	ASSERT_EQ(0, munmap(mem + size / 2, size / 2));
	/* The device still has the pages of both halves. */
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA, VZE_VA + size / 2, SZ_1M));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, 0x2222));
	EXPECT_EQ(-1, vze_words_check(mem, size / 2, 0x2222));
	ASSERT_EQ(0, munmap(mem, size / 2));

	again = mmap(mem, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ASSERT_EQ(mem, again);
	memset(again, 0x33, size);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, again, size, 0, &second));
	EXPECT_EQ(self->pinned + 2 * size, vze_vmpin());
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, second, 0, size, VZE_VA + SZ_1G, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_4K, 0x4444));
	EXPECT_EQ(-1, vze_words_check(again, size, 0x3333333333333333ULL));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + SZ_1G, size, 0x5555));
	EXPECT_EQ(-1, vze_words_check(again, size, 0x5555));

	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, 2 * SZ_1G));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, first));
	EXPECT_EQ(self->pinned + size, vze_vmpin());
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, second));
	EXPECT_EQ(self->pinned, vze_vmpin());
	munmap(again, size);
}

/* The zero page is not what gets pinned: a later write by the CPU is seen. */
VZE_TEST(userptr, untouched_memory)
{
	const size_t size = SZ_64K;
	uint64_t *mem = vze_anon(size, SZ_4K), *seen = vze_anon(size, SZ_4K);
	uint32_t source, target;

	ASSERT_NE(NULL, mem);
	ASSERT_NE(NULL, seen);
	/* Read first: the zero page stands in every entry. */
	EXPECT_EQ(-1, vze_words_check(mem, size, 0));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, READONLY, &source));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, seen, size, 0, &target));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, source, 0, size, VZE_VA,
			     DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, target, 0, size, VZE_VA + SZ_2M, 0));
	vze_pattern_fill(mem, size, 9);
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_2M, VZE_VA, size));
	EXPECT_EQ(-1, vze_pattern_check(seen, size, 9));
}

/* Whatever the application does not close, the end of the file gives back. */
VZE_TEST(userptr, closing_the_file_unpins)
{
	char *mem = vze_anon(SZ_1M, SZ_4K);
	uint32_t handle, vm;
	int fd2, i;

	ASSERT_NE(NULL, mem);
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, vze_vm_create(fd2, &vm));
	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, vze_userptr(fd2, mem, SZ_1M, i % 2, &handle));
		ASSERT_EQ(0, vze_map(fd2, vm, handle, 0, SZ_1M, VZE_VA + i * SZ_1M,
				     i % 2 ? DRM_VZE_BIND_READONLY : 0));
	}
	EXPECT_EQ(self->pinned + 16 * SZ_1M, vze_vmpin());
	close(fd2);
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "pinned_pages", 0));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

TEST_HARNESS_MAIN
