// SPDX-License-Identifier: MIT
/* Who may open a share: users, namespaces, what state the exporter is in. Cases 30 and 31. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define SIZE	SZ_64K
#define SEED	0x5eedUL

FIXTURE(permission) {
	struct vze_gpu gpu;
	uint32_t handle;
	struct drm_vze_share_create share;
	int share_fd;
};

FIXTURE_SETUP(permission)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->handle));
	ASSERT_EQ(0, share_fill(self->gpu.fd, self->handle, SIZE, SEED));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle, 0, &self->share));
	self->share_fd = share_fd(self->gpu.fd, &self->share.token);
	ASSERT_LE(0, self->share_fd);
}

FIXTURE_TEARDOWN(permission)
{
	if (self->share_fd >= 0)
		close(self->share_fd);
	VZE_TEARDOWN(&self->gpu);
}

/* Opens by token in a file of its own and looks at every byte. */
static int opens(FIXTURE_DATA(permission) *self, int fd)
{
	uint32_t handle;
	int ret = vze_share_open(fd, &self->share.token, &handle, NULL);

	if (ret)
		return ret;
	return share_check(fd, handle, SIZE, SEED) == -1 ? 0 : -EILSEQ;
}

/* Another user: not by token, in no way; by a descriptor that was given to it, yes. */
static int stranger(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	struct drm_vze_share_token token = self->share.token;
	int fd = vze_gpu_reopen(&self->gpu);
	uint32_t handle;

	REQUIRE(1, fd >= 0 && !vze_become_nobody());
	REQUIRE(2, opens(self, fd) == -EACCES);
	REQUIRE(3, share_fd(fd, &token) == -EACCES);
	/* Knowing less gives nothing that tells it from a share that is not there. */
	token.secret[0] ^= 1;
	REQUIRE(4, vze_share_open(fd, &token, &handle, NULL) == -ENOENT);
	REQUIRE(5, !share_open_fd(fd, self->share_fd, self->share.token.id, &handle));
	REQUIRE(6, share_check(fd, handle, SIZE, SEED) == -1);
	return 0;
}

VZE_TEST(permission, another_user)
{
	EXPECT_EQ(0, vze_in_child(stranger, self));
}

/* Becomes another user who keeps one capability. */
static int become_nobody_with(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (prctl(PR_SET_KEEPCAPS, 1) || vze_become_nobody())
		return -errno;
	data[capability / 32].permitted = 1U << capability % 32;
	data[capability / 32].effective = 1U << capability % 32;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int tracer(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0 && !become_nobody_with(CAP_SYS_PTRACE));
	REQUIRE(2, !opens(self, fd));
	return 0;
}

static int administrator(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0 && !become_nobody_with(CAP_SYS_ADMIN));
	REQUIRE(2, opens(self, fd) == -EACCES);
	return 0;
}

VZE_TEST(permission, capabilities)
{
	EXPECT_EQ(0, vze_in_child(tracer, self));
	EXPECT_EQ(0, vze_in_child(administrator, self));
}

/* All capabilities in a namespace of its own are none in the exporter's. */
static int stranger_in_user_ns(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0 && !vze_become_nobody());
	if (unshare(CLONE_NEWUSER))
		return 200;
	REQUIRE(2, opens(self, fd) == -EACCES);
	return 0;
}

VZE_TEST(permission, another_user_in_a_user_namespace)
{
	int ret = vze_in_child(stranger_in_user_ns, self);

	if (ret == 200)
		SKIP(return, "users may not make user namespaces here");
	EXPECT_EQ(0, ret);
}

/* The same user in another user namespace is the same user. */
static int self_in_user_ns(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0);
	if (unshare(CLONE_NEWUSER))
		return 200;
	REQUIRE(2, !opens(self, fd));
	return 0;
}

VZE_TEST(permission, same_user_in_a_user_namespace)
{
	int ret = vze_in_child(self_in_user_ns, self);

	if (ret == 200)
		SKIP(return, "this kernel has no user namespaces");
	EXPECT_EQ(0, ret);
}

struct other_way {
	FIXTURE_DATA(permission) *self;
	struct share_pipe ready, done;
	struct drm_vze_share_token *token;
};

/* Exports as another user in a user namespace of its own, and waits. */
static int exporter_in_user_ns(struct other_way *way)
{
	struct drm_vze_share_create share;
	uint32_t handle;
	int fd;

	if (vze_become_nobody())
		return 1;
	if (unshare(CLONE_NEWUSER))
		return 200;
	fd = vze_gpu_reopen(&way->self->gpu);
	REQUIRE(2, fd >= 0);
	REQUIRE(3, !vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle));
	REQUIRE(4, !share_fill(fd, handle, SIZE, SEED));
	REQUIRE(5, !vze_share_create(fd, handle, 0, &share));
	*way->token = share.token;
	REQUIRE(6, !share_tell(&way->ready) && !share_hear(&way->done));
	return 0;
}

/* Who has CAP_SYS_PTRACE in the namespace that the exporter's is part of opens it. */
VZE_TEST(permission, exporter_in_a_user_namespace)
{
	struct other_way way = { .self = self };
	uint32_t handle;
	pid_t pid;
	int ret;

	/* A user must be able to open the device for this. */
	ASSERT_EQ(0, chmod(self->gpu.node, 0666));
	way.token = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)way.token);
	ASSERT_EQ(0, pipe(way.ready.fds));
	ASSERT_EQ(0, pipe(way.done.fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(way.ready.fds[0]);
		close(way.done.fds[1]);
		_exit(exporter_in_user_ns(&way));
	}
	close(way.ready.fds[1]);
	close(way.done.fds[0]);
	if (!share_hear(&way.ready)) {
		EXPECT_EQ(0, vze_share_open(self->gpu.fd, way.token, &handle, NULL));
		EXPECT_EQ(-1, share_check(self->gpu.fd, handle, SIZE, SEED));
		EXPECT_EQ(0, share_tell(&way.done));
	}
	close(way.done.fds[1]);
	close(way.ready.fds[0]);
	ret = vze_reap(pid);
	EXPECT_EQ(0, chmod(self->gpu.node, 0660));
	munmap(way.token, SZ_4K);
	if (ret == 200)
		SKIP(return, "users may not make user namespaces here");
	EXPECT_EQ(0, ret);
}

/* The first process of a new PID namespace; knows nobody outside. */
static int in_pid_ns(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0 && getpid() == 1);
	REQUIRE(2, !opens(self, fd));
	return 0;
}

static int make_pid_ns(void *arg)
{
	REQUIRE(100, !unshare(CLONE_NEWPID));
	return vze_in_child(in_pid_ns, arg);
}

VZE_TEST(permission, another_pid_namespace)
{
	EXPECT_EQ(0, vze_in_child(make_pid_ns, self));
}

/* Exports from a PID namespace, and sees an importer there that it has no number for. */
static int exporter_in_pid_ns(void *arg)
{
	struct other_way *way = arg;
	struct drm_vze_share_importer importer = { .pid = 77 };
	struct drm_vze_share_importers args;
	struct drm_vze_share_create share;
	int fd = vze_gpu_reopen(&way->self->gpu);
	uint32_t handle;

	REQUIRE(1, fd >= 0 && getpid() == 1);
	REQUIRE(2, !vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle));
	REQUIRE(3, !share_fill(fd, handle, SIZE, SEED));
	REQUIRE(4, !vze_share_create(fd, handle, 0, &share));
	*way->token = share.token;
	REQUIRE(5, !share_tell(&way->ready) && !share_hear(&way->done));
	REQUIRE(6, !share_importers(fd, share.token.id, &importer, 1, &args));
	REQUIRE(7, args.num == 1 && importer.pid == 0 && importer.views == 1);
	REQUIRE(8, importer.bytes == SIZE);
	return 0;
}

static int make_pid_ns_of_exporter(void *arg)
{
	REQUIRE(100, !unshare(CLONE_NEWPID));
	return vze_in_child(exporter_in_pid_ns, arg);
}

VZE_TEST(permission, exporter_in_a_pid_namespace)
{
	struct other_way way = { .self = self };
	uint32_t handle;
	pid_t pid;

	way.token = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)way.token);
	ASSERT_EQ(0, pipe(way.ready.fds));
	ASSERT_EQ(0, pipe(way.done.fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(way.ready.fds[0]);
		close(way.done.fds[1]);
		_exit(make_pid_ns_of_exporter(&way));
	}
	close(way.ready.fds[1]);
	close(way.done.fds[0]);
	if (!share_hear(&way.ready)) {
		EXPECT_EQ(0, vze_share_open(self->gpu.fd, way.token, &handle, NULL));
		EXPECT_EQ(-1, share_check(self->gpu.fd, handle, SIZE, SEED));
		EXPECT_EQ(0, share_tell(&way.done));
	}
	EXPECT_EQ(0, vze_reap(pid));
	close(way.done.fds[1]);
	close(way.ready.fds[0]);
	munmap(way.token, SZ_4K);
}

/* Every way to reach into another process is shut; the token needs none of them. */
static int deny_tracing(void)
{
#define DENY(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(ptrace), DENY(pidfd_open), DENY(pidfd_getfd), DENY(process_vm_readv),
		DENY(process_vm_writev), DENY(kcmp), DENY(recvmsg), DENY(recvmmsg),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(filter), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

static int confined(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0);
	if (deny_tracing())
		return 200;
	REQUIRE(2, !opens(self, fd));
	return 0;
}

static int confined_call(void *arg)
{
	if (deny_tracing())
		return 200;
	syscall(__NR_pidfd_open, getpid(), 0);
	return 1;
}

VZE_TEST(permission, tracing_calls_denied)
{
	int ret = vze_in_child(confined_call, self);

	if (ret == 200)
		SKIP(return, "this kernel has no seccomp filters");
	EXPECT_EQ(-SIGSYS, ret);
	EXPECT_EQ(0, vze_in_child(confined, self));
}

static int plain(void *arg)
{
	FIXTURE_DATA(permission) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu);

	REQUIRE(1, fd >= 0);
	REQUIRE(2, !opens(self, fd));
	return 0;
}

VZE_TEST(permission, exporter_not_dumpable)
{
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 0));
	EXPECT_EQ(0, vze_in_child(plain, self));
	EXPECT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
}

/* Exports, tells, and is stopped from then on. */
static int stopped_exporter(struct other_way *way)
{
	struct drm_vze_share_create share;
	uint32_t handle;
	int fd = vze_gpu_reopen(&way->self->gpu);

	REQUIRE(1, fd >= 0);
	REQUIRE(2, !vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	REQUIRE(3, !share_fill(fd, handle, SIZE, SEED));
	REQUIRE(4, !vze_share_create(fd, handle, 0, &share));
	*way->token = share.token;
	REQUIRE(5, !raise(SIGSTOP));
	pause();
	return 6;
}

VZE_TEST(permission, exporter_stopped)
{
	struct other_way way = { .self = self };
	uint32_t handle;
	uint64_t size;
	pid_t pid;
	int status;

	way.token = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)way.token);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(stopped_exporter(&way));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	/* It is not asked and not waited for. */
	EXPECT_EQ(0, vze_share_open(self->gpu.fd, way.token, &handle, &size));
	EXPECT_EQ(-1, share_check(self->gpu.fd, handle, SIZE, SEED));
	/* Killed while it is stopped: what is open stays, nothing more can be opened. */
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(-SIGKILL, vze_reap(pid));
	EXPECT_EQ(-1, share_check(self->gpu.fd, handle, SIZE, SEED));
	EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, way.token, &handle, &size));
	munmap(way.token, SZ_4K);
}

TEST_HARNESS_MAIN
