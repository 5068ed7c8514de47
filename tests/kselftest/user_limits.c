// SPDX-License-Identifier: MIT
/* How many address spaces and queues a user may have: over all files, and nobody else's concern. */
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define MANY	5

FIXTURE(user_limits) {
	struct vze_gpu gpu;
	long max_vms, max_queues;
};

FIXTURE_SETUP(user_limits)
{
	VZE_SETUP(&self->gpu);
	self->max_vms = vze_param_get("max_vms");
	self->max_queues = vze_param_get("max_queues");
	ASSERT_LT(0, self->max_vms);
	ASSERT_LT(0, self->max_queues);
}

FIXTURE_TEARDOWN(user_limits)
{
	EXPECT_EQ(0, vze_param_set_number("max_vms", self->max_vms));
	EXPECT_EQ(0, vze_param_set_number("max_queues", self->max_queues));
	VZE_TEARDOWN(&self->gpu);
}

static int become(uid_t uid)
{
	return setgroups(0, NULL) || setresuid(uid, uid, uid) ? -errno : 0;
}

/* Address spaces in two files up to the limit; what ends makes room. */
static int some_vms(FIXTURE_DATA(user_limits) *self, uid_t uid)
{
	int fd[2] = { vze_gpu_reopen(&self->gpu), vze_gpu_reopen(&self->gpu) };
	uint32_t vm[MANY], more, queue;
	int i;

	REQUIRE(1, fd[0] >= 0 && fd[1] >= 0 && !become(uid));
	for (i = 0; i < MANY; i++)
		REQUIRE(2, !vze_vm_create(fd[i % 2], &vm[i]));
	for (i = 0; i < 3; i++)
		REQUIRE(3, vze_vm_create(fd[i % 2], &more) == -EDQUOT);
	/* A queue holds its address space. */
	REQUIRE(4, !vze_queue_create(fd[1], vm[1], &queue));
	REQUIRE(5, !vze_vm_destroy(fd[1], vm[1]));
	REQUIRE(6, vze_vm_create(fd[1], &more) == -EDQUOT);
	REQUIRE(7, !vze_queue_destroy(fd[1], queue));
	/* It lets go of it when the last of its jobs has been freed, by a worker. */
	for (i = 0; i < 1000 && vze_vm_create(fd[1], &more) == -EDQUOT; i++)
		vze_sleep_ms(10);
	REQUIRE(8, i < 1000);
	/* So does closing a file. */
	REQUIRE(9, !close(fd[0]));
	for (i = 0; i < MANY; i += 2)
		REQUIRE(10, !vze_vm_create(fd[1], &more));
	REQUIRE(11, vze_vm_create(fd[1], &more) == -EDQUOT);
	return 0;
}

static int vms_of_one(void *arg)
{
	return some_vms(arg, 65534);
}

static int vms_of_another(void *arg)
{
	return some_vms(arg, 65533);
}

/* While one user is at its limit, another has all of its own. */
static int both_users(void *arg)
{
	FIXTURE_DATA(user_limits) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu), i;
	uint32_t vm;

	REQUIRE(20, fd >= 0 && !seteuid(65534));
	for (i = 0; i < MANY; i++)
		REQUIRE(21, !vze_vm_create(fd, &vm));
	REQUIRE(22, vze_vm_create(fd, &vm) == -EDQUOT);
	REQUIRE(23, !seteuid(0));
	i = vze_in_child(vms_of_another, arg);
	/* Root is exempt, and what others have does not become its. */
	REQUIRE(24, !vze_vm_create(fd, &vm));
	return i;
}

VZE_TEST(user_limits, address_spaces)
{
	EXPECT_EQ(0, vze_param_set_number("max_vms", MANY));
	EXPECT_EQ(0, vze_in_child(vms_of_one, self));
	EXPECT_EQ(0, vze_in_child(both_users, self));
}

static int some_queues(void *arg)
{
	FIXTURE_DATA(user_limits) *self = arg;
	int fd = vze_gpu_reopen(&self->gpu), i;
	uint32_t vm, queue[MANY], more;

	REQUIRE(1, fd >= 0 && !vze_become_nobody());
	REQUIRE(2, !vze_vm_create(fd, &vm));
	for (i = 0; i < MANY; i++)
		REQUIRE(3, !vze_queue_create(fd, vm, &queue[i]));
	REQUIRE(4, vze_queue_create(fd, vm, &more) == -EDQUOT);
	/* One goes, one comes, at once. */
	for (i = 0; i < 100; i++) {
		REQUIRE(5, !vze_queue_destroy(fd, queue[i % MANY]));
		REQUIRE(6, !vze_queue_create(fd, vm, &queue[i % MANY]));
	}
	REQUIRE(7, vze_queue_create(fd, vm, &more) == -EDQUOT);
	return 0;
}

VZE_TEST(user_limits, queues)
{
	EXPECT_EQ(0, vze_param_set_number("max_queues", MANY));
	EXPECT_EQ(0, vze_in_child(some_queues, self));
}

TEST_HARNESS_MAIN
