// SPDX-License-Identifier: MIT
/* RLIMIT_MEMLOCK: pages are charged to the user before any is pinned. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define LIMIT	SZ_64K

FIXTURE(limit) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(limit)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(limit)
{
	VZE_TEARDOWN(&self->gpu);
}

/* A normal user's process with a file of its own: descriptor or -errno. */
static int open_as_nobody(struct vze_gpu *gpu, rlim_t limit)
{
	struct rlimit memlock = { limit, limit };
	int fd = vze_gpu_reopen(gpu), ret;

	if (fd < 0)
		return fd;
	if (setrlimit(RLIMIT_MEMLOCK, &memlock))
		return -errno;
	ret = vze_become_nobody();
	return ret ? ret : fd;
}

/* Case 10. Returns the number of the step that failed, 0: none. */
static int limited(void *arg)
{
	char *mem = vze_anon(SZ_1M, SZ_4K);
	int fd = open_as_nobody(arg, LIMIT);
	uint32_t handle, more;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, vze_userptr(fd, mem, SZ_1M, 0, &handle) == -EDQUOT);
	REQUIRE(3, vze_vmpin() == 0);
	REQUIRE(4, vze_userptr(fd, mem, LIMIT + SZ_4K, 0, &handle) == -EDQUOT);
	REQUIRE(5, vze_userptr(fd, mem, LIMIT, 0, &handle) == 0);
	REQUIRE(6, vze_vmpin() == LIMIT);
	REQUIRE(7, vze_userptr(fd, mem + LIMIT, SZ_4K, 0, &more) == -EDQUOT);
	REQUIRE(8, vze_vmpin() == LIMIT);
	REQUIRE(9, vze_gem_close(fd, handle) == 0);
	REQUIRE(10, vze_vmpin() == 0);
	REQUIRE(11, vze_userptr(fd, mem, SZ_4K, 0, &handle) == 0);
	REQUIRE(12, vze_userptr(fd, mem, LIMIT - SZ_4K, DRM_VZE_USERPTR_READONLY, &more) == 0);
	REQUIRE(13, vze_userptr(fd, mem, SZ_4K, 0, &more) == -EDQUOT);
	/* A failure after the charge gives it back. */
	REQUIRE(14, vze_gem_close(fd, more) == 0);
	munmap(mem + SZ_4K, SZ_4K);
	REQUIRE(15, vze_userptr(fd, mem, LIMIT - SZ_4K, 0, &more) == -EFAULT);
	REQUIRE(16, vze_userptr(fd, mem + 2 * SZ_4K, LIMIT - SZ_4K, 0, &more) == 0);
	/* The rest is for the end of the file. */
	return 0;
}

VZE_TEST(limit, normal_user)
{
	EXPECT_EQ(0, vze_in_child(limited, &self->gpu));
	/* What the first process had is not charged any more. */
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "pinned_pages", 0));
	EXPECT_EQ(0, vze_in_child(limited, &self->gpu));
}

static int unlimited(void *arg)
{
	char *mem = vze_anon(SZ_1M, SZ_4K);
	int fd = open_as_nobody(arg, RLIM_INFINITY);
	uint32_t handle;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, vze_userptr(fd, mem, SZ_1M, 0, &handle) == 0);
	REQUIRE(3, vze_vmpin() == SZ_1M);
	return 0;
}

VZE_TEST(limit, normal_user_without_limit)
{
	EXPECT_EQ(0, vze_in_child(unlimited, &self->gpu));
}

static int no_lock_at_all(void *arg)
{
	char *mem = vze_anon(SZ_4K, SZ_4K);
	int fd = open_as_nobody(arg, 0);
	uint32_t handle;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, vze_userptr(fd, mem, SZ_4K, 0, &handle) == -EDQUOT);
	REQUIRE(3, vze_vmpin() == 0);
	return 0;
}

VZE_TEST(limit, zero)
{
	EXPECT_EQ(0, vze_in_child(no_lock_at_all, &self->gpu));
}

static int privileged(void *arg)
{
	struct rlimit memlock = { LIMIT, LIMIT };
	char *mem = vze_anon(SZ_1M, SZ_4K);
	int fd = vze_gpu_reopen(arg);
	uint32_t handle;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, !setrlimit(RLIMIT_MEMLOCK, &memlock));
	REQUIRE(3, vze_userptr(fd, mem, SZ_1M, 0, &handle) == 0);
	REQUIRE(4, vze_vmpin() == SZ_1M);
	REQUIRE(5, vze_gem_close(fd, handle) == 0);
	REQUIRE(6, vze_vmpin() == 0);
	return 0;
}

VZE_TEST(limit, cap_ipc_lock)
{
	EXPECT_EQ(0, vze_in_child(privileged, &self->gpu));
}

struct pair {
	struct vze_gpu *gpu;
	/* from the first process to the second, and back */
	int ready[2], done[2];
};

static int holder(void *arg)
{
	struct pair *pair = arg;
	char *mem = vze_anon(LIMIT, SZ_4K);
	int fd = open_as_nobody(pair->gpu, LIMIT);
	uint32_t handle;
	char byte = 0;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, vze_userptr(fd, mem, LIMIT, 0, &handle) == 0);
	REQUIRE(3, write(pair->ready[1], &byte, 1) == 1);
	REQUIRE(4, read(pair->done[0], &byte, 1) == 1);
	REQUIRE(5, vze_gem_close(fd, handle) == 0);
	REQUIRE(6, write(pair->ready[1], &byte, 1) == 1);
	REQUIRE(7, read(pair->done[0], &byte, 1) == 1);
	return 0;
}

static int latecomer(void *arg)
{
	struct pair *pair = arg;
	char *mem = vze_anon(LIMIT, SZ_4K);
	int fd = open_as_nobody(pair->gpu, LIMIT);
	uint32_t handle;
	char byte = 0;

	REQUIRE(1, mem && fd >= 0);
	REQUIRE(2, read(pair->ready[0], &byte, 1) == 1);
	REQUIRE(3, vze_userptr(fd, mem, SZ_4K, 0, &handle) == -EDQUOT);
	REQUIRE(4, write(pair->done[1], &byte, 1) == 1);
	REQUIRE(5, read(pair->ready[0], &byte, 1) == 1);
	REQUIRE(6, vze_userptr(fd, mem, LIMIT, 0, &handle) == 0);
	REQUIRE(7, write(pair->done[1], &byte, 1) == 1);
	return 0;
}

/* The limit is the user's, not the process'. */
VZE_TEST(limit, two_processes_of_a_user)
{
	struct pair pair = { .gpu = &self->gpu };
	pid_t first, second;

	ASSERT_EQ(0, pipe(pair.ready));
	ASSERT_EQ(0, pipe(pair.done));
	first = fork();
	ASSERT_LE(0, first);
	if (!first)
		_exit(holder(&pair));
	second = fork();
	ASSERT_LE(0, second);
	if (!second)
		_exit(latecomer(&pair));
	/* The end of one lets the other's read end. */
	close(pair.ready[0]);
	close(pair.ready[1]);
	close(pair.done[0]);
	close(pair.done[1]);
	EXPECT_EQ(0, vze_reap(second));
	EXPECT_EQ(0, vze_reap(first));
}

TEST_HARNESS_MAIN
