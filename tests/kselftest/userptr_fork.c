// SPDX-License-Identifier: MIT
/* Files and imports over fork(): whose memory, whose account, any order of exits. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(over_fork) {
	struct vze_gpu gpu;
	long pinned;
	char *mem;
	uint32_t handle;
};

FIXTURE_SETUP(over_fork)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->pinned = vze_vmpin();
	self->mem = vze_anon(SZ_1M, SZ_4K);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, self->mem, SZ_1M, 0, &self->handle));
}

FIXTURE_TEARDOWN(over_fork)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* The file is the parent's: its memory is not the child's, and the other way round. */
static int foreign_mm(void *arg)
{
	FIXTURE_DATA(over_fork) *self = arg;
	int fd = self->gpu.fd;
	struct drm_vze_share_create share;
	uint32_t handle, own;

	REQUIRE(1, vze_userptr(fd, self->mem, SZ_1M, 0, &handle) == -EPERM);
	REQUIRE(2, vze_map(fd, self->gpu.vm, self->handle, 0, SZ_1M, VZE_VA, 0) == -EPERM);
	REQUIRE(3, vze_vmpin() == 0);
	/* Memory of the driver's own may be mapped by whoever has the file. */
	REQUIRE(4, vze_gem_create(fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &own) == 0);
	REQUIRE(5, vze_map(fd, self->gpu.vm, own, 0, SZ_64K, VZE_VA, 0) == 0);
	REQUIRE(6, vze_gpu_fill(&self->gpu, VZE_VA, SZ_64K, 5) == 0);
	REQUIRE(7, vze_share_create(fd, own, 0, &share) == -EPERM);
	REQUIRE(8, vze_unmap(fd, self->gpu.vm, VZE_VA, SZ_64K) == 0);
	REQUIRE(9, vze_gem_close(fd, own) == 0);
	return 0;
}

VZE_TEST(over_fork, child_has_another_mm)
{
	EXPECT_EQ(0, vze_in_child(foreign_mm, self));
	EXPECT_EQ(self->pinned + SZ_1M, vze_vmpin());
}

static int close_handle(void *arg)
{
	FIXTURE_DATA(over_fork) *self = arg;

	REQUIRE(1, vze_gem_close(self->gpu.fd, self->handle) == 0);
	REQUIRE(2, vze_vmpin() == 0);
	return 0;
}

/* Case 22: the child closes the handle, the parent's account goes down. */
VZE_TEST(over_fork, child_closes_the_handle)
{
	EXPECT_EQ(self->pinned + SZ_1M, vze_vmpin());
	EXPECT_EQ(0, vze_in_child(close_handle, self));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

static int parent_of_orphan(void *arg)
{
	FIXTURE_DATA(over_fork) *self = arg;
	char *mem = vze_anon(SZ_1M, SZ_4K);
	int fd = vze_gpu_reopen(&self->gpu);
	int alive[2];
	uint32_t handle;
	char byte;
	pid_t pid;

	REQUIRE(1, mem && fd >= 0 && !pipe(alive));
	REQUIRE(2, vze_userptr(fd, mem, SZ_1M, 0, &handle) == 0);
	pid = fork();
	REQUIRE(3, pid >= 0);
	if (!pid) {
		/* Outlives the importer (end of file); its descriptor keeps the import. */
		close(alive[1]);
		_exit(read(alive[0], &byte, 1) ? 1 : 0);
	}
	return 0;
}

VZE_TEST(over_fork, parent_exits_first)
{
	EXPECT_EQ(0, vze_in_child(parent_of_orphan, self));
	/* The last descriptor is the orphan's: all of it goes with it. */
	EXPECT_EQ(SZ_1M / SZ_4K,
		  vze_figure_wait(&self->gpu, "vze_counts", "pinned_pages", SZ_1M / SZ_4K));
	EXPECT_EQ(1, vze_figure_wait(&self->gpu, "vze_counts", "userptrs", 1));
}

static int wait_for_kill(void *arg)
{
	pause();
	return 0;
}

/* The device sees the parent's pages also after a fork that shares them. */
VZE_TEST(over_fork, pages_stay_the_parents)
{
	pid_t pid;

	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->handle, 0, SZ_1M, VZE_VA, 0));
	vze_pattern_fill(self->mem, SZ_1M, 1);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wait_for_kill(NULL));
	vze_pattern_fill(self->mem, SZ_1M / 2, 2);
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + SZ_1M / 2, VZE_VA, SZ_1M / 2));
	EXPECT_EQ(-1, vze_pattern_check(self->mem + SZ_1M / 2, SZ_1M / 2, 2));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_1M, 3));
	EXPECT_EQ(-1, vze_words_check(self->mem, SZ_1M, 3));
	kill(pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_1M, 4));
	EXPECT_EQ(-1, vze_words_check(self->mem, SZ_1M, 4));
}

/* Creates, binds, imports and closes on a file that others use too. */
static int churn(FIXTURE_DATA(over_fork) *self, uint64_t va, int import_result)
{
	int fd = self->gpu.fd, i, ret;
	uint32_t object, import;

	for (i = 0; i < 200; i++) {
		REQUIRE(1, vze_gem_create(fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM + i % 2, 0,
					  &object) == 0);
		REQUIRE(2, vze_map(fd, self->gpu.vm, object, 0, SZ_64K, va, 0) == 0);
		ret = vze_userptr(fd, self->mem, SZ_64K, 0, &import);
		REQUIRE(3, ret == import_result);
		if (!ret)
			REQUIRE(4, vze_gem_close(fd, import) == 0);
		REQUIRE(5, vze_unmap(fd, self->gpu.vm, va, SZ_64K) == 0);
		REQUIRE(6, vze_gem_close(fd, object) == 0);
	}
	return 0;
}

/* Case 23: both sides at once on the one open file. */
VZE_TEST(over_fork, both_sides_at_once)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(churn(self, VZE_VA, -EPERM));
	EXPECT_EQ(0, churn(self, VZE_VA + SZ_1G, 0));
	EXPECT_EQ(0, vze_reap(pid));
	EXPECT_EQ(self->pinned + SZ_1M, vze_vmpin());
}

TEST_HARNESS_MAIN
