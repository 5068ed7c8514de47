// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_SHARE_*: one object, handed to other processes by value. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE	(SZ_2M + SZ_64K)

FIXTURE(share) {
	struct vze_gpu gpu;
	uint32_t handle;
	struct drm_vze_share_create share;
	uint64_t seed;
};

FIXTURE_VARIANT(share) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(share, vram) { .placement = DRM_VZE_PLACEMENT_VRAM };
FIXTURE_VARIANT_ADD(share, system) { .placement = DRM_VZE_PLACEMENT_SYSTEM };

/* Fills the object by the CPU. */
static int fill(int fd, uint32_t handle, uint64_t seed)
{
	void *map = vze_gem_mmap(fd, handle, SIZE, PROT_READ | PROT_WRITE);

	if (map == MAP_FAILED)
		return -errno;
	vze_pattern_fill(map, SIZE, seed);
	munmap(map, SIZE);
	return 0;
}

FIXTURE_SETUP(share)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &self->handle));
	self->seed = variant->placement * 1000;
	ASSERT_EQ(0, fill(self->gpu.fd, self->handle, self->seed));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, 0, &self->share));
}

FIXTURE_TEARDOWN(share)
{
	VZE_TEARDOWN(&self->gpu);
}

/* Opens the share in a process of its own and looks at it in every way. */
static int opener(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	struct drm_vze_gem_info info;
	struct vze_gpu gpu;
	uint32_t handle, out, again;
	uint64_t size = 0;
	char *map, *out_map;

	REQUIRE(1, !vze_gpu_open(&gpu, self->gpu.index) && !vze_gpu_start(&gpu));
	REQUIRE(2, !vze_share_open(gpu.fd, &self->share.token, &handle, &size));
	REQUIRE(3, size == SIZE);
	REQUIRE(4, !vze_gem_info(gpu.fd, handle, &info));
	REQUIRE(5, info.placement == DRM_VZE_PLACEMENT_SHARE && info.size == SIZE);
	map = vze_gem_mmap(gpu.fd, handle, SIZE, PROT_READ | PROT_WRITE);
	REQUIRE(6, map != MAP_FAILED);
	REQUIRE(7, vze_pattern_check(map, SIZE, self->seed) == -1);
	REQUIRE(8, !vze_gem_create(gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &out));
	out_map = vze_gem_mmap(gpu.fd, out, SIZE, PROT_READ | PROT_WRITE);
	REQUIRE(9, out_map != MAP_FAILED);
	REQUIRE(10, !vze_map(gpu.fd, gpu.vm, handle, 0, SIZE, VZE_VA, 0));
	REQUIRE(11, !vze_map(gpu.fd, gpu.vm, out, 0, SIZE, VZE_VA + SZ_1G, 0));
	REQUIRE(12, !vze_gpu_copy(&gpu, VZE_VA + SZ_1G, VZE_VA, SIZE));
	REQUIRE(13, vze_pattern_check(out_map, SIZE, self->seed) == -1);
	/* Writes by CPU and device, for the exporter to see. */
	((uint64_t *)map)[1] = 0x1111;
	REQUIRE(14, !vze_gpu_fill(&gpu, VZE_VA + SIZE - 8, 8, 0x2222));
	/* Every open makes a handle of its own. */
	REQUIRE(15, !vze_share_open(gpu.fd, &self->share.token, &again, &size));
	REQUIRE(16, again != handle);
	REQUIRE(17, !vze_gem_close(gpu.fd, handle));
	REQUIRE(18, !vze_map(gpu.fd, gpu.vm, again, 0, SIZE, VZE_VA + 2 * SZ_1G, 0));
	REQUIRE(19, !vze_gpu_copy(&gpu, VZE_VA + SZ_1G, VZE_VA + 2 * SZ_1G, 16));
	REQUIRE(20, ((uint64_t *)out_map)[1] == 0x1111);
	return 0;
}

VZE_TEST(share, second_process)
{
	uint64_t *map;

	EXPECT_NE(0, self->share.token.id);
	EXPECT_EQ(SIZE, self->share.size);
	EXPECT_LE(1, self->share.segments);
	EXPECT_EQ(0, vze_in_child(opener, self));
	map = vze_gem_mmap(self->gpu.fd, self->handle, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0x1111, map[1]);
	EXPECT_EQ(0x2222, map[SIZE / 8 - 1]);
	munmap(map, SIZE);
}

static int read_only_opener(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	struct drm_vze_share_open open = { .token = self->share.token };
	struct drm_vze_gem_info info;
	struct vze_gpu gpu;
	uint64_t *map;

	REQUIRE(1, !vze_gpu_open(&gpu, self->gpu.index) && !vze_gpu_start(&gpu));
	REQUIRE(2, !vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	REQUIRE(3, open.flags & DRM_VZE_SHARE_OPEN_IS_READONLY);
	REQUIRE(4, !vze_gem_info(gpu.fd, open.handle, &info));
	REQUIRE(5, info.flags & DRM_VZE_GEM_INFO_READONLY);
	/* Every way to write is shut. */
	REQUIRE(6, vze_gem_mmap(gpu.fd, open.handle, SIZE, PROT_READ | PROT_WRITE) == MAP_FAILED);
	map = vze_gem_mmap(gpu.fd, open.handle, SIZE, PROT_READ);
	REQUIRE(7, map != MAP_FAILED);
	REQUIRE(8, mprotect(map, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES);
	REQUIRE(9, vze_pattern_check(map, SIZE, self->seed) == -1);
	REQUIRE(10, vze_map(gpu.fd, gpu.vm, open.handle, 0, SIZE, VZE_VA, 0) == -EACCES);
	REQUIRE(11, !vze_map(gpu.fd, gpu.vm, open.handle, 0, SIZE, VZE_VA, DRM_VZE_BIND_READONLY));
	REQUIRE(12, vze_protect(gpu.fd, gpu.vm, VZE_VA, SIZE, 0) == -EACCES);
	REQUIRE(13, vze_gpu_fill(&gpu, VZE_VA, 8, 1) == -EFAULT);
	open.flags = DRM_VZE_SHARE_OPEN_BIND;
	open.vm_id = gpu.vm;
	open.addr = VZE_VA + SZ_1G;
	open.size = SIZE;
	REQUIRE(14, vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open) == -EACCES);
	open.flags |= DRM_VZE_SHARE_OPEN_READONLY;
	REQUIRE(15, !vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	REQUIRE(16, !vze_gpu_new_queue(&gpu));
	REQUIRE(17, vze_gpu_fill(&gpu, VZE_VA + SZ_1G, 8, 1) == -EFAULT);
	return 0;
}

VZE_TEST(share, read_only)
{
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, DRM_VZE_SHARE_READONLY,
				      &self->share));
	EXPECT_EQ(0, vze_in_child(read_only_opener, self));
}

static int opener_with_bind(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	struct drm_vze_share_open open = {
		.token = self->share.token, .flags = DRM_VZE_SHARE_OPEN_BIND, .addr = VZE_VA,
		.size = SIZE,
	};
	const struct drm_vze_share_open good = open;
	struct drm_vze_vm_info before, after;
	struct vze_gpu gpu;
	uint64_t *map;

	REQUIRE(1, !vze_gpu_open(&gpu, self->gpu.index) && !vze_gpu_start(&gpu));
	REQUIRE(2, !vze_vm_info(gpu.fd, gpu.vm, &before));
	open.vm_id = gpu.vm + 1000;
	REQUIRE(3, vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open) == -ENOENT);
	open = good;
	open.vm_id = gpu.vm;
	open.size = SIZE - SZ_4K;
	REQUIRE(4, vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open) == -EINVAL);
	open.size = SIZE;
	open.addr = VZE_VA + 1;
	REQUIRE(5, vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open) == -EINVAL);
	open.addr = VZE_VA_END - SZ_4K;
	REQUIRE(6, vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open) == -EINVAL);
	REQUIRE(7, !vze_vm_info(gpu.fd, gpu.vm, &after) && before.mappings == after.mappings);
	open.addr = VZE_VA;
	REQUIRE(8, !vze_ioctl(gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	REQUIRE(9, open.size == SIZE && open.handle && open.segments >= 1);
	REQUIRE(10, !vze_gpu_copy(&gpu, VZE_VA, VZE_VA + SZ_1M, SZ_64K));
	map = vze_gem_mmap(gpu.fd, open.handle, SIZE, PROT_READ);
	REQUIRE(11, map != MAP_FAILED && !memcmp(map, (char *)map + SZ_1M, SZ_64K));
	return 0;
}

VZE_TEST(share, open_and_bind_in_one_call)
{
	EXPECT_EQ(0, vze_in_child(opener_with_bind, self));
}

static int open_fails(FIXTURE_DATA(share) *self, int result)
{
	struct drm_vze_share_token token = self->share.token;
	int fd = vze_gpu_reopen(&self->gpu);
	uint32_t handle;
	int ret;

	if (fd < 0)
		return fd;
	ret = vze_share_open(fd, &token, &handle, NULL);
	close(fd);
	return ret == result ? 0 : ret ? ret : 1;
}

VZE_TEST(share, tokens)
{
	struct drm_vze_share_token token;
	uint32_t handle;
	unsigned int i;

	for (i = 0; i < sizeof(token.secret) * 8; i += 7) {
		token = self->share.token;
		token.secret[i / 8] ^= 1 << i % 8;
		EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &token, &handle, NULL));
	}
	token = self->share.token;
	token.id++;
	EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &token, &handle, NULL));
	memset(&token, 0, sizeof(token));
	EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &token, &handle, NULL));
	memset(&token, 0xff, sizeof(token));
	EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &token, &handle, NULL));
	/* In the exporter itself it works as well. */
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &self->share.token, &handle, NULL));
	EXPECT_NE(self->handle, handle);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

/* Equal requests are one share with a count; others are another share. */
VZE_TEST(share, equal_requests)
{
	struct drm_vze_share_create again, read_only;
	uint64_t id = self->share.token.id;
	int fd2;

	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, 0, &again));
	EXPECT_EQ(0, memcmp(&self->share.token, &again.token, sizeof(again.token)));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, DRM_VZE_SHARE_READONLY,
				      &read_only));
	EXPECT_NE(id, read_only.token.id);
	EXPECT_EQ(2, vze_figure(&self->gpu, "vze_counts", "shares"));

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, vze_share_put(fd2, id));
	close(fd2);
	EXPECT_EQ(-ENOENT, vze_share_put(self->gpu.fd, 0));
	EXPECT_EQ(-ENOENT, vze_share_put(self->gpu.fd, ~0ULL));

	EXPECT_EQ(0, vze_share_put(self->gpu.fd, id));
	EXPECT_EQ(0, open_fails(self, 0));
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, id));
	EXPECT_EQ(0, open_fails(self, -ENOENT));
	EXPECT_EQ(-ENOENT, vze_share_put(self->gpu.fd, id));
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, read_only.token.id));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "shares", 0));
	/* An identity is never used twice. */
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, 0, &again));
	EXPECT_LT(read_only.token.id, again.token.id);
}

/* How the exporter ends it: put, free of the object, close of the file, in this order. */
VZE_TEST(share, what_is_open_stays)
{
	int fd2 = vze_gpu_reopen(&self->gpu), exporter, round;
	uint32_t opened, handle;
	char *map;

	ASSERT_LE(0, fd2);
	for (round = 0; round < 3; round++) {
		exporter = vze_gpu_reopen(&self->gpu);
		ASSERT_LE(0, exporter);
		ASSERT_EQ(0, vze_gem_create(exporter, SIZE, variant->placement, 0, &handle));
		ASSERT_EQ(0, fill(exporter, handle, 77 + round));
		ASSERT_EQ(0, vze_share_create(exporter, handle, 0, &self->share));
		ASSERT_EQ(0, vze_share_open(fd2, &self->share.token, &opened, NULL));
		if (round == 0)
			ASSERT_EQ(0, vze_share_put(exporter, self->share.token.id));
		if (round <= 1)
			ASSERT_EQ(0, vze_gem_close(exporter, handle));
		if (round == 2)
			close(exporter);
		EXPECT_EQ(0, open_fails(self, -ENOENT)) {
			TH_LOG("round %d", round);
		}
		/* Case 27: memory that the exporter gets now is other memory. */
		if (round <= 1) {
			ASSERT_EQ(0, vze_gem_create(exporter, SIZE, variant->placement, 0,
						    &handle));
			ASSERT_EQ(0, fill(exporter, handle, 99));
			close(exporter);
		}
		map = vze_gem_mmap(fd2, opened, SIZE, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 77 + round));
		munmap(map, SIZE);
		EXPECT_EQ(0, vze_gem_close(fd2, opened));
	}
	close(fd2);
}

static int open_and_hang_around(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	struct vze_gpu gpu;
	uint32_t handle;

	REQUIRE(1, !vze_gpu_open(&gpu, self->gpu.index) && !vze_gpu_start(&gpu));
	REQUIRE(2, !vze_share_open(gpu.fd, &self->share.token, &handle, NULL));
	REQUIRE(3, !vze_map(gpu.fd, gpu.vm, handle, 0, SIZE, VZE_VA, 0));
	kill(getppid(), SIGUSR1);
	pause();
	return 4;
}

/* Case 28: the opener is killed; the exporter's free gives all back. */
VZE_TEST(share, opener_killed)
{
	sigset_t set;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(open_and_hang_around(self));
	ASSERT_EQ(0, sigwait(&set, &sig));
	EXPECT_EQ(SIGUSR1, sig);
	kill(pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "objects", 0));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", 0));
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Cases 24 and 26: again and again, also failing ones; nothing is used up. */
VZE_TEST(share, opened_and_closed_again_and_again)
{
	struct drm_vze_share_token bad = self->share.token;
	uint32_t handle, kept;
	int fds = count_fds(), rounds = vze_rounds(10000), i;

	bad.secret[3] ^= 1;
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &self->share.token, &kept, NULL));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, vze_share_open(self->gpu.fd, &self->share.token, &handle, NULL));
		ASSERT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &bad, &handle, NULL));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	}
	EXPECT_EQ(fds, count_fds());
	EXPECT_EQ(0, fill(self->gpu.fd, kept, 1));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, kept));
}

/* An opened share is an object: it can be shared on. */
VZE_TEST(share, shared_on)
{
	struct drm_vze_share_create on;
	int fd2 = vze_gpu_reopen(&self->gpu);
	uint32_t opened, again;
	char *map;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, vze_share_open(fd2, &self->share.token, &opened, NULL));
	ASSERT_EQ(0, vze_share_create(fd2, opened, 0, &on));
	EXPECT_NE(self->share.token.id, on.token.id);
	EXPECT_EQ(SIZE, on.size);
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &on.token, &again, NULL));
	map = vze_gem_mmap(self->gpu.fd, again, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, self->seed));
	munmap(map, SIZE);
	/* What was read-only stays so along the way. */
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, DRM_VZE_SHARE_READONLY,
				      &self->share));
	ASSERT_EQ(0, vze_share_open(fd2, &self->share.token, &opened, NULL));
	if (!vze_share_create(fd2, opened, 0, &on)) {
		ASSERT_EQ(0, vze_share_open(self->gpu.fd, &on.token, &again, NULL));
		EXPECT_EQ(MAP_FAILED, vze_gem_mmap(self->gpu.fd, again, SIZE,
						   PROT_READ | PROT_WRITE));
	}
	close(fd2);
}

FIXTURE(share_errors) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(share_errors)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(share_errors)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(share_errors, bad_objects)
{
	struct drm_vze_share_create share;
	char *mem = vze_anon(SZ_4K, SZ_4K);
	uint32_t handle;

	ASSERT_NE(NULL, mem);
	EXPECT_EQ(-ENOENT, vze_share_create(self->gpu.fd, 0, 0, &share));
	EXPECT_EQ(-ENOENT, vze_share_create(self->gpu.fd, 77, 0, &share));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_4K, 0, &handle));
	EXPECT_EQ(-EOPNOTSUPP, vze_share_create(self->gpu.fd, handle, 0, &share));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
}

FIXTURE(two_gpus) {
	struct vze_gpu gpu[2];
};

FIXTURE_SETUP(two_gpus)
{
	VZE_SETUP_GPUS(&self->gpu[0], 0, 2);
	VZE_SETUP_GPUS(&self->gpu[1], 1, 2);
}

FIXTURE_TEARDOWN(two_gpus)
{
	VZE_TEARDOWN(&self->gpu[0]);
	VZE_TEARDOWN(&self->gpu[1]);
}

VZE_TEST(two_gpus, share_of_another_device)
{
	struct drm_vze_share_create share;
	uint32_t handle;

	ASSERT_EQ(0, vze_gem_create(self->gpu[0].fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, vze_share_create(self->gpu[0].fd, handle, 0, &share));
	EXPECT_EQ(-EXDEV, vze_share_open(self->gpu[1].fd, &share.token, &handle, NULL));
}

TEST_HARNESS_MAIN
