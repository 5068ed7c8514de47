// SPDX-License-Identifier: MIT
/*
 * Imports at and beyond the sizes where 31- and 32-bit arithmetic ends, of a small
 * memfd that is mapped again and again; failures in the middle; SIGKILL.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define PIECE	(32 * SZ_1M)

FIXTURE(big) {
	struct vze_gpu gpu;
	long pinned;
	int memfd;
};

FIXTURE_SETUP(big)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->pinned = vze_vmpin();
	self->memfd = vze_memfd(PIECE);
	ASSERT_LE(0, self->memfd);
}

FIXTURE_TEARDOWN(big)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
	close(self->memfd);
}

FIXTURE_VARIANT(big) {
	uint64_t size;
	/* faults in several pages at a time: what makes the largest one bearable */
	bool read_only;
};

FIXTURE_VARIANT_ADD(big, 2g_minus_4k) { .size = 2 * SZ_1G - SZ_4K };
FIXTURE_VARIANT_ADD(big, 2g) { .size = 2 * SZ_1G };
FIXTURE_VARIANT_ADD(big, 2g_plus_4k) { .size = 2 * SZ_1G + SZ_4K };
FIXTURE_VARIANT_ADD(big, 4g) { .size = 4 * SZ_1G };
FIXTURE_VARIANT_ADD(big, 6g) { .size = 6 * SZ_1G, .read_only = true };

VZE_TEST(big, import)
{
	const uint64_t last = variant->size - SZ_4K, out_va = VZE_VA + 64 * SZ_1G;
	struct drm_vze_gem_info info;
	uint32_t handle, out;
	uint64_t *page, *out_map;
	char *mem;

	if (variant->size > 2 * SZ_1G + SZ_4K && vze_kernel_is_checked())
		SKIP(return, "takes minutes on a kernel that checks each memory access");
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, out, 0, SZ_4K, out_va, 0));
	out_map = vze_gem_mmap(self->gpu.fd, out, SZ_4K, PROT_READ);
	ASSERT_NE(MAP_FAILED, out_map);
	mem = vze_alias(self->memfd, PIECE, variant->size);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, variant->size,
				 variant->read_only ? DRM_VZE_USERPTR_READONLY : 0, &handle));
	EXPECT_EQ(self->pinned + variant->size, vze_vmpin());
	ASSERT_EQ(0, vze_gem_info(self->gpu.fd, handle, &info));
	EXPECT_EQ(variant->size, info.size);
	EXPECT_EQ((uintptr_t)mem, info.user_addr);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, variant->size, VZE_VA,
			     variant->read_only ? DRM_VZE_BIND_READONLY : 0));

	/* The last page is the last page. */
	page = (uint64_t *)(mem + last);
	vze_pattern_fill(page, SZ_4K, 3);
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, out_va, VZE_VA + last, SZ_4K));
	EXPECT_EQ(-1, vze_pattern_check(out_map, SZ_4K, 3));
	if (!variant->read_only) {
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA + last, SZ_4K, 0x66));
		EXPECT_EQ(-1, vze_words_check(page, SZ_4K, 0x66));
	}
	/* And nothing is mapped behind it. */
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + variant->size, 8, 0));

	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, variant->size));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	munmap(mem, variant->size);
	munmap(out_map, SZ_4K);
}

FIXTURE(cut) {
	struct vze_gpu gpu;
	long pinned;
	int memfd;
};

FIXTURE_SETUP(cut)
{
	VZE_SETUP(&self->gpu);
	self->pinned = vze_vmpin();
	self->memfd = vze_memfd(PIECE);
	ASSERT_LE(0, self->memfd);
}

FIXTURE_TEARDOWN(cut)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
	close(self->memfd);
}

/* Case 3, second half: page k of n cannot be pinned. */
VZE_TEST(cut, one_page_fails)
{
	const uint64_t size = vze_rounds(8) * SZ_1G / 4 + SZ_4K;
	const uint64_t bad[] = {
		0, SZ_4K, 511 * SZ_4K, SZ_2M, PIECE - SZ_4K, size / 2 / SZ_2M * SZ_2M + 5 * SZ_4K, size - SZ_4K,
	};
	uint32_t handle;
	unsigned int i;
	char *mem;

	mem = vze_alias(self->memfd, PIECE, size);
	ASSERT_NE(MAP_FAILED, mem);
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		ASSERT_EQ(0, mprotect(mem + bad[i], SZ_4K, PROT_NONE));
		EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, size, 0, &handle)) {
			TH_LOG("page at 0x%llx", (unsigned long long)bad[i]);
		}
		EXPECT_EQ(self->pinned, vze_vmpin());
		EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "pinned_pages"));
		ASSERT_EQ(0, mprotect(mem + bad[i], SZ_4K, PROT_READ | PROT_WRITE));
	}
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(self->pinned + size, vze_vmpin());
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	munmap(mem, size);
}

/* Case 4: what the bookkeeping of 1 TiB would take is refused before anything is pinned. */
VZE_TEST(cut, one_tib)
{
	const uint64_t size = 1024 * SZ_1G;
	uint32_t handle;
	char *mem;

	mem = vze_alias(self->memfd, PIECE, size);
	if (mem == MAP_FAILED)
		SKIP(return, "1 TiB of address space cannot be had: %s", strerror(errno));
	EXPECT_EQ(-E2BIG, vze_userptr(self->gpu.fd, mem, size, 0, &handle));
	EXPECT_EQ(-E2BIG, vze_userptr(self->gpu.fd, mem, size, DRM_VZE_USERPTR_READONLY, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
	/* Nothing sticks to the next call. */
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_2M, 0, &handle));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	munmap(mem, size);
}

static int import_forever(void *arg)
{
	FIXTURE_DATA(cut) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);
	const uint64_t size = 8 * SZ_1G;
	uint32_t handle;
	char *mem = vze_alias(self->memfd, PIECE, size);

	if (fd < 0 || mem == MAP_FAILED)
		return 1;
	while (!vze_userptr(fd, mem, size, 0, &handle))
		if (vze_gem_close(fd, handle))
			return 2;
	return 3;
}

/* Case 12: SIGKILL while a very large import is under way, early and late in it. */
VZE_TEST(cut, killed)
{
	static const unsigned int after_ms[] = { 50, 200, 700, 1500 };
	unsigned int i;
	pid_t pid;

	for (i = 0; i < ARRAY_LEN(after_ms); i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(import_forever(self));
		vze_sleep_ms(after_ms[i]);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		EXPECT_EQ(-SIGKILL, vze_reap(pid));
		EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "pinned_pages", 0));
		EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "userptrs", 0));
	}
}

TEST_HARNESS_MAIN
