// SPDX-License-Identifier: MIT
/* What a user may have in shares; who is exempt; what the limits count. */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define MANY	5

FIXTURE(share_limits) {
	struct vze_gpu gpu;
	long max_shares, max_segments;
};

FIXTURE_SETUP(share_limits)
{
	VZE_SETUP(&self->gpu);
	self->max_shares = vze_param_get("max_shares");
	self->max_segments = vze_param_get("max_share_segments");
	ASSERT_LT(0, self->max_shares);
	ASSERT_LT(0, self->max_segments);
}

FIXTURE_TEARDOWN(share_limits)
{
	EXPECT_EQ(0, vze_param_set_number("max_shares", self->max_shares));
	EXPECT_EQ(0, vze_param_set_number("max_share_segments", self->max_segments));
	VZE_TEARDOWN(&self->gpu);
}

static int make(int fd, uint32_t *handles, unsigned int num)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < num; i++)
		ret = vze_gem_create(fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &handles[i]);
	return ret;
}

static int number(void *arg)
{
	FIXTURE_DATA(share_limits) *self = arg;
	struct drm_vze_share_create share[MANY], again;
	uint32_t handles[MANY], view;
	int fd = vze_gpu_reopen(&self->gpu), other = vze_gpu_reopen(&self->gpu), watch, i;

	REQUIRE(1, fd >= 0 && other >= 0 && !vze_become_nobody());
	REQUIRE(2, !make(fd, handles, MANY));
	for (i = 0; i < MANY - 1; i++)
		REQUIRE(3, !vze_share_create(fd, handles[i], 0, &share[i]));
	REQUIRE(4, vze_share_create(fd, handles[i], 0, &share[i]) == -EDQUOT);
	/* An equal request makes nothing. */
	REQUIRE(5, !vze_share_create(fd, handles[0], 0, &again));
	/* The end of one makes room for one, */
	REQUIRE(6, !vze_gem_close(fd, handles[0]));
	REQUIRE(7, !vze_share_create(fd, handles[4], 0, &share[4]));
	/* but not as long as it is open somewhere, */
	REQUIRE(8, !vze_share_open(other, &share[4].token, &view, NULL));
	REQUIRE(9, !vze_share_put(fd, share[4].token.id));
	REQUIRE(10, vze_share_create(fd, handles[4], 0, &again) == -EDQUOT);
	REQUIRE(11, !vze_gem_close(other, view));
	REQUIRE(12, !vze_share_create(fd, handles[4], 0, &share[4]));
	/* or somebody has a descriptor of it. */
	watch = share_fd(other, &share[4].token);
	REQUIRE(13, watch >= 0 && !vze_share_put(fd, share[4].token.id));
	REQUIRE(14, vze_share_create(fd, handles[4], 0, &again) == -EDQUOT);
	REQUIRE(15, !close(watch));
	REQUIRE(16, !vze_share_create(fd, handles[4], 0, &share[4]));
	return 0;
}

VZE_TEST(share_limits, number_of_shares)
{
	EXPECT_EQ(0, vze_param_set_number("max_shares", MANY - 1));
	EXPECT_EQ(0, vze_in_child(number, self));
}

static int fill_up(int fd)
{
	struct drm_vze_share_create share;
	uint32_t handles[MANY];
	int i, ret = make(fd, handles, MANY);

	for (i = 0; !ret && i < MANY; i++)
		ret = vze_share_create(fd, handles[i], 0, &share);
	return ret;
}

struct full_user {
	FIXTURE_DATA(share_limits) *self;
	struct share_pipe ready;
};

/* At the limit, and stays there. */
static int full_user(struct full_user *user)
{
	int fd = vze_gpu_reopen(&user->self->gpu);

	REQUIRE(1, fd >= 0 && !vze_become_nobody());
	REQUIRE(2, fill_up(fd) == -EDQUOT);
	REQUIRE(3, !share_tell(&user->ready));
	pause();
	return 4;
}

static int another_user(void *arg)
{
	FIXTURE_DATA(share_limits) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);
	struct drm_vze_share_create share;
	uint32_t handles[MANY];
	int i;

	REQUIRE(1, fd >= 0 && !setgroups(0, NULL) && !setresuid(65533, 65533, 65533));
	REQUIRE(2, !make(fd, handles, MANY));
	for (i = 0; i < MANY - 1; i++)
		REQUIRE(3, !vze_share_create(fd, handles[i], 0, &share));
	REQUIRE(4, vze_share_create(fd, handles[i], 0, &share) == -EDQUOT);
	return 0;
}

/* One user at its limit is nobody else's concern; root is exempt. */
VZE_TEST(share_limits, of_one_user_only)
{
	struct full_user user = { .self = self };
	pid_t pid;

	EXPECT_EQ(0, vze_param_set_number("max_shares", MANY - 1));
	ASSERT_EQ(0, pipe(user.ready.fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(user.ready.fds[0]);
		_exit(full_user(&user));
	}
	close(user.ready.fds[1]);
	EXPECT_EQ(0, share_hear(&user.ready));
	EXPECT_EQ(0, vze_in_child(another_user, self));
	EXPECT_EQ(0, fill_up(self->gpu.fd));
	kill(pid, SIGKILL);
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	close(user.ready.fds[0]);
}

/* Segments count from their allocation to the last close, whoever has them. */
static int segments(void *arg)
{
	FIXTURE_DATA(share_limits) *self = arg;
	struct drm_vze_share_piece pieces[MANY] = {};
	struct drm_vze_share_create share, other_share;
	uint32_t handles[MANY], view;
	int fd = vze_gpu_reopen(&self->gpu), other = vze_gpu_reopen(&self->gpu), i;

	REQUIRE(1, fd >= 0 && other >= 0 && !vze_become_nobody());
	REQUIRE(2, !make(fd, handles, MANY));
	for (i = 0; i < MANY; i++) {
		pieces[i].handle = handles[i];
		pieces[i].size = SZ_4K;
	}
	REQUIRE(3, share_list(fd, pieces, MANY, 0, &share) == -EDQUOT);
	REQUIRE(4, !share_list(fd, pieces, MANY - 1, 0, &share));
	REQUIRE(5, share.segments == MANY - 1);
	REQUIRE(6, vze_share_create(fd, handles[4], 0, &other_share) == -EDQUOT);
	/* Opened any number of times they are the same. */
	REQUIRE(7, !vze_share_open(other, &share.token, &view, NULL));
	REQUIRE(8, !vze_share_open(fd, &share.token, &handles[0], NULL));
	REQUIRE(9, !vze_gem_close(fd, handles[0]));
	REQUIRE(10, !vze_share_put(fd, share.token.id));
	REQUIRE(11, vze_share_create(fd, handles[4], 0, &other_share) == -EDQUOT);
	REQUIRE(12, !vze_gem_close(other, view));
	REQUIRE(13, !vze_share_create(fd, handles[4], 0, &other_share));
	return 0;
}

VZE_TEST(share_limits, number_of_segments)
{
	EXPECT_EQ(0, vze_param_set_number("max_share_segments", MANY - 1));
	EXPECT_EQ(0, vze_in_child(segments, self));
	/* The same as root. */
	EXPECT_EQ(0, fill_up(self->gpu.fd));
}

/* A user's count ends with the user's last process, killed or not. */
static int killed(void *arg)
{
	FIXTURE_DATA(share_limits) *self = arg;
	struct drm_vze_share_create share;
	uint32_t handles[MANY];
	int fd = vze_gpu_reopen(&self->gpu), i;

	REQUIRE(1, fd >= 0 && !vze_become_nobody());
	REQUIRE(2, !make(fd, handles, MANY));
	for (i = 0; i < MANY - 1; i++)
		REQUIRE(3, !vze_share_create(fd, handles[i], 0, &share));
	raise(SIGKILL);
	return 4;
}

VZE_TEST(share_limits, nothing_stays_counted)
{
	int i;

	EXPECT_EQ(0, vze_param_set_number("max_shares", MANY - 1));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-SIGKILL, vze_in_child(killed, self));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "shares", 0));
}

TEST_HARNESS_MAIN
