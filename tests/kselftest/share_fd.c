// SPDX-License-Identifier: MIT
/* Share descriptors: opening by one, what one says, that it tells of every end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define SIZE	SZ_64K
#define SEED	0xf0UL
#define GONE	(POLLIN | POLLHUP)
/* As long as a test looks for something that should not come. */
#define QUIET_MS 50

FIXTURE(share_fd) {
	struct vze_gpu gpu;
	int exporter, importer;
	uint32_t handle;
	struct drm_vze_share_create share;
	int watch;
};

FIXTURE_SETUP(share_fd)
{
	VZE_SETUP(&self->gpu);
	self->exporter = vze_gpu_reopen(&self->gpu);
	self->importer = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->exporter);
	ASSERT_LE(0, self->importer);
	ASSERT_EQ(0, vze_gem_create(self->exporter, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->handle));
	ASSERT_EQ(0, share_fill(self->exporter, self->handle, SIZE, SEED));
	memset(&self->share, 0, sizeof(self->share));
	self->share.handle = self->handle;
	self->share.user_data = 0x1122334455667788ULL;
	ASSERT_EQ(0, vze_ioctl(self->exporter, DRM_IOCTL_VZE_SHARE_CREATE, &self->share));
	self->watch = share_fd(self->importer, &self->share.token);
	ASSERT_LE(0, self->watch);
}

FIXTURE_TEARDOWN(share_fd)
{
	close(self->watch);
	close(self->exporter);
	close(self->importer);
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(share_fd, says_what_it_is_of)
{
	struct drm_vze_share_info info;
	struct drm_vze_share_create read_only;
	int other;

	EXPECT_EQ(FD_CLOEXEC, fcntl(self->watch, F_GETFD));
	ASSERT_EQ(0, share_info(self->gpu.fd, self->watch, &info));
	EXPECT_EQ(self->share.token.id, info.id);
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(self->share.segments, info.segments);
	EXPECT_EQ(self->share.user_data, info.user_data);
	EXPECT_EQ(DRM_VZE_SHARE_STATE_LIVE, info.state);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.reserved);
	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, DRM_VZE_SHARE_READONLY,
				      &read_only));
	other = share_fd(self->exporter, &read_only.token);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, share_info(self->gpu.fd, other, &info));
	EXPECT_EQ(read_only.token.id, info.id);
	EXPECT_EQ(DRM_VZE_SHARE_INFO_READONLY, info.flags);
	EXPECT_EQ(0, info.user_data);
	close(other);
	/* There is nothing to read or write in it. */
	EXPECT_EQ(-1, read(self->watch, &info, sizeof(info)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->watch, &info, sizeof(info)));
}

VZE_TEST(share_fd, opens)
{
	struct drm_vze_share_open open = {
		.flags = DRM_VZE_SHARE_OPEN_FD, .fd = self->watch,
	};
	const struct drm_vze_share_open good = open;
	uint32_t handle;

	ASSERT_EQ(0, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	EXPECT_EQ(self->share.token.id, open.token.id);
	EXPECT_EQ(0, open.token.secret[0] | open.token.secret[7] | open.token.secret[15]);
	EXPECT_EQ(SIZE, open.size);
	EXPECT_EQ(self->share.user_data, open.user_data);
	EXPECT_EQ(-1, share_check(self->importer, open.handle, SIZE, SEED));
	/* The descriptor is the caller's still. */
	EXPECT_EQ(0, share_open_fd(self->importer, self->watch, self->share.token.id, &handle));
	EXPECT_NE(open.handle, handle);

	EXPECT_EQ(-ENOENT, share_open_fd(self->importer, self->watch, self->share.token.id + 1,
					 &handle));
	open = good;
	open.token.secret[15] = 1;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	open = good;
	open.flags = 0;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_OPEN, &open));
	EXPECT_EQ(-EBADF, share_open_fd(self->importer, -1, 0, &handle));
	EXPECT_EQ(-EBADF, share_open_fd(self->importer, 1 << 20, 0, &handle));
	EXPECT_EQ(-EINVAL, share_open_fd(self->importer, self->importer, 0, &handle));
	EXPECT_EQ(-EINVAL, share_open_fd(self->importer, STDERR_FILENO, 0, &handle));
}

VZE_TEST(share_fd, refused)
{
	struct drm_vze_share_fd args = { .token = self->share.token };
	const struct drm_vze_share_fd good = args;
	struct drm_vze_share_info info;
	struct rlimit limit, few;
	uint32_t view;

	args.token.secret[9] ^= 4;
	EXPECT_EQ(-ENOENT, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_FD, &args));
	args = good;
	args.handle = 1;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_FD, &args));
	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	args = good;
	args.handle = view;
	args.flags = DRM_VZE_SHARE_FD_HANDLE;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->importer, DRM_IOCTL_VZE_SHARE_FD, &args));
	EXPECT_EQ(-ENOENT, share_fd_of(self->importer, 0));
	EXPECT_EQ(-ENOENT, share_fd_of(self->importer, 1000));
	/* An object that is no view. */
	EXPECT_EQ(-EINVAL, share_fd_of(self->exporter, self->handle));

	EXPECT_EQ(-EBADF, share_info(self->importer, -1, &info));
	EXPECT_EQ(-EINVAL, share_info(self->importer, self->importer, &info));

	/* No descriptor to be had: said as it is, and nothing left behind. */
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	few = limit;
	few.rlim_cur = 3;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	EXPECT_EQ(-EMFILE, share_fd(self->importer, &self->share.token));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
}

VZE_TEST(share_fd, tells_of_put)
{
	uint32_t handle;

	EXPECT_EQ(0, share_events(self->watch, QUIET_MS));
	ASSERT_EQ(0, vze_share_put(self->exporter, self->share.token.id));
	EXPECT_EQ(GONE, share_events(self->watch, VZE_WAIT_MS));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_PUT, share_state(self->importer, self->watch));
	EXPECT_EQ(-ENOENT, share_open_fd(self->importer, self->watch, 0, &handle));
	/* Over, it does not change any more. */
	ASSERT_EQ(0, vze_gem_close(self->exporter, self->handle));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_PUT, share_state(self->importer, self->watch));
}

VZE_TEST(share_fd, tells_of_free)
{
	uint32_t view, handle;

	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	EXPECT_EQ(0, share_events(self->watch, QUIET_MS));
	ASSERT_EQ(0, vze_gem_close(self->exporter, self->handle));
	EXPECT_EQ(GONE, share_events(self->watch, VZE_WAIT_MS));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_DEAD, share_state(self->importer, self->watch));
	EXPECT_EQ(-ENOENT, share_open_fd(self->importer, self->watch, 0, &handle));
	EXPECT_EQ(-1, share_check(self->importer, view, SIZE, SEED));
}

/* The states only grow: what was put can still be revoked, and die. */
VZE_TEST(share_fd, states_in_their_order)
{
	struct drm_vze_share_revoke revoke;
	uint32_t view;

	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	ASSERT_EQ(0, vze_share_put(self->exporter, self->share.token.id));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_PUT, share_state(self->importer, self->watch));
	ASSERT_EQ(0, share_revoke(self->exporter, self->share.token.id, 0, &revoke));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_REVOKED, share_state(self->importer, self->watch));
	EXPECT_EQ(GONE, share_events(self->watch, VZE_WAIT_MS));
	ASSERT_EQ(0, vze_gem_close(self->exporter, self->handle));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_DEAD, share_state(self->importer, self->watch));
	ASSERT_EQ(0, share_revoke(self->exporter, self->share.token.id,
				  DRM_VZE_SHARE_REVOKE_UNMAP, &revoke));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_DEAD, share_state(self->importer, self->watch));
	EXPECT_EQ(GONE | POLLERR, share_events(self->watch, VZE_WAIT_MS));
}

/* A view gives a descriptor in every state; that of a dead share is readable at once. */
VZE_TEST(share_fd, of_a_view)
{
	struct drm_vze_share_info info;
	uint32_t view;
	int late;

	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	late = share_fd_of(self->importer, view);
	ASSERT_LE(0, late);
	ASSERT_EQ(0, share_info(self->importer, late, &info));
	EXPECT_EQ(self->share.token.id, info.id);
	EXPECT_EQ(0, share_events(late, QUIET_MS));
	close(late);
	ASSERT_EQ(0, vze_share_put(self->exporter, self->share.token.id));
	EXPECT_EQ(-ENOENT, share_fd(self->importer, &self->share.token));
	late = share_fd_of(self->importer, view);
	ASSERT_LE(0, late);
	EXPECT_EQ(GONE, share_events(late, VZE_WAIT_MS));
	close(late);
}

struct mortal {
	struct vze_gpu *gpu;
	struct share_pipe ready;
	struct drm_vze_share_token *token;
};

static int exporter_that_is_killed(struct mortal *mortal)
{
	struct drm_vze_share_create share;
	int fd = vze_gpu_reopen(mortal->gpu);
	uint32_t handle;

	REQUIRE(1, fd >= 0);
	REQUIRE(2, !vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	REQUIRE(3, !vze_share_create(fd, handle, 0, &share));
	*mortal->token = share.token;
	REQUIRE(4, !share_tell(&mortal->ready));
	pause();
	return 5;
}

/* Many wait, in many ways; none of them asks the exporter, who is killed. */
VZE_TEST(share_fd, tells_many_when_the_exporter_is_killed)
{
	struct mortal mortal = { .gpu = &self->gpu };
	struct epoll_event event = { .events = EPOLLIN };
	int watches[100], epoll, i;
	pid_t pid;

	mortal.token = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			    0);
	ASSERT_NE(MAP_FAILED, (void *)mortal.token);
	ASSERT_EQ(0, pipe(mortal.ready.fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(exporter_that_is_killed(&mortal));
	}
	close(mortal.ready.fds[1]);
	ASSERT_EQ(0, share_hear(&mortal.ready));
	close(mortal.ready.fds[0]);

	epoll = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, epoll);
	for (i = 0; i < ARRAY_LEN(watches); i++) {
		watches[i] = share_fd(self->importer, mortal.token);
		ASSERT_LE(0, watches[i]);
		event.data.u32 = i;
		ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, watches[i], &event));
	}
	EXPECT_EQ(0, epoll_wait(epoll, &event, 1, QUIET_MS));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, VZE_WAIT_MS));
	EXPECT_EQ(EPOLLIN | EPOLLHUP, event.events);
	for (i = 0; i < ARRAY_LEN(watches); i++) {
		EXPECT_EQ(GONE, share_events(watches[i], VZE_WAIT_MS));
		EXPECT_EQ(DRM_VZE_SHARE_STATE_DEAD, share_state(self->importer, watches[i]));
	}
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	for (i = 0; i < ARRAY_LEN(watches); i++)
		close(watches[i]);
	close(epoll);
	munmap(mortal.token, SZ_4K);
}

/* A descriptor keeps nothing but itself: neither memory nor the device's file. */
VZE_TEST(share_fd, outlives_everything)
{
	close(self->exporter);
	close(self->importer);
	EXPECT_EQ(GONE, share_events(self->watch, VZE_WAIT_MS));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "objects", 0));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
	EXPECT_EQ(DRM_VZE_SHARE_STATE_DEAD, share_state(self->gpu.fd, self->watch));
	self->exporter = -1;
	self->importer = -1;
}

TEST_HARNESS_MAIN
