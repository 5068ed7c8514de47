// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_FENCE_WAIT and _FENCE_WAKE. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(fence_wait) {
	struct vze_gpu gpu;
	uint32_t data;
	volatile uint64_t *word;
};

FIXTURE_SETUP(fence_wait)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
				    &self->data));
	self->word = vze_gem_mmap(self->gpu.fd, self->data, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->data, 0, SZ_4K, VZE_VA, 0));
}

FIXTURE_TEARDOWN(fence_wait)
{
	munmap((void *)self->word, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

static int wait_word(FIXTURE_DATA(fence_wait) *self, uint32_t op, uint64_t value, uint32_t queue,
		     int64_t timeout)
{
	return vze_fence_wait(self->gpu.fd, (void *)self->word, op, value, queue, timeout);
}

VZE_TEST(fence_wait, comparisons)
{
	static const struct {
		uint32_t op;
		uint64_t word;
		uint64_t value;
		int result;
	} table[] = {
		{ VZE_HW_WAIT_EQ, 5, 5, 0 }, { VZE_HW_WAIT_EQ, 5, 6, -ETIME },
		{ VZE_HW_WAIT_NE, 5, 6, 0 }, { VZE_HW_WAIT_NE, 5, 5, -ETIME },
		{ VZE_HW_WAIT_GE, 5, 5, 0 }, { VZE_HW_WAIT_GE, 4, 5, -ETIME },
		{ VZE_HW_WAIT_GT, 6, 5, 0 }, { VZE_HW_WAIT_GT, 5, 5, -ETIME },
		{ VZE_HW_WAIT_LE, 5, 5, 0 }, { VZE_HW_WAIT_LE, 6, 5, -ETIME },
		{ VZE_HW_WAIT_LT, 4, 5, 0 }, { VZE_HW_WAIT_LT, 5, 5, -ETIME },
		{ VZE_HW_WAIT_GT, ~0ULL, 1, 0 }, { VZE_HW_WAIT_LT, ~0ULL, 1, -ETIME },
		{ VZE_HW_WAIT_LE, 1ULL << 63, 1ULL << 62, -ETIME },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		self->word[0] = table[i].word;
		EXPECT_EQ(table[i].result, wait_word(self, table[i].op, table[i].value, 0, 0)) {
			TH_LOG("line %u", i);
		}
		/* A time that is over, and one that comes. */
		EXPECT_EQ(table[i].result, wait_word(self, table[i].op, table[i].value, 0, 1));
		EXPECT_EQ(table[i].result, wait_word(self, table[i].op, table[i].value, 0,
						     vze_deadline(20)));
		if (!table[i].result)
			EXPECT_EQ(0, wait_word(self, table[i].op, table[i].value, 0, -1));
	}
}

VZE_TEST(fence_wait, bad_arguments)
{
	uint64_t *mem = vze_anon(SZ_4K, SZ_4K);
	int fd = self->gpu.fd;
	uint32_t op;
	unsigned int i;

	ASSERT_NE(NULL, mem);
	for (i = 1; i < 8; i++)
		EXPECT_EQ(-EINVAL, vze_fence_wait(fd, (char *)mem + i, VZE_HW_WAIT_EQ, 0, 0, 0));
	for (op = VZE_HW_WAIT_LT + 1; op < 40; op++)
		EXPECT_EQ(-EINVAL, vze_fence_wait(fd, mem, op, 0, 0, 0));
	EXPECT_EQ(-EINVAL, vze_fence_wait(fd, mem, ~0U, 0, 0, 0));
	EXPECT_EQ(-ENOENT, vze_fence_wait(fd, mem, VZE_HW_WAIT_EQ, 1, self->gpu.queue + 1000, 0));
	EXPECT_EQ(-ENOENT, vze_fence_wait(fd, mem, VZE_HW_WAIT_EQ, 1, ~0U, 0));
	EXPECT_EQ(-EFAULT, vze_fence_wait(fd, NULL, VZE_HW_WAIT_EQ, 0, 0, 0));
	EXPECT_EQ(-EFAULT, vze_fence_wait(fd, (void *)0xffff888000000000ULL, VZE_HW_WAIT_EQ, 0, 0,
					  0));
	EXPECT_EQ(-EFAULT, vze_fence_wait(fd, (void *)~7ULL, VZE_HW_WAIT_EQ, 0, 0, 0));
	munmap(mem, SZ_4K);
	EXPECT_EQ(-EFAULT, vze_fence_wait(fd, mem, VZE_HW_WAIT_EQ, 0, 0, 0));
	EXPECT_EQ(-EFAULT, vze_fence_wait(fd, mem, VZE_HW_WAIT_EQ, 0, 0, vze_deadline(VZE_WAIT_MS)));
	/* Memory that can only be read is enough. */
	mem = mmap(NULL, SZ_4K, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT_EQ(0, vze_fence_wait(fd, mem, VZE_HW_WAIT_EQ, 0, 0, 0));
}

/* A NOTIFY of the device wakes. */
VZE_TEST(fence_wait, device_notifies)
{
	uint64_t i;

	for (i = 1; i <= 100; i++) {
		vze_cs_reset(&self->gpu.cs);
		if (i % 2)
			vze_cs_signal(&self->gpu.cs, VZE_VA, i, VZE_HW_CMD_NOTIFY);
		else
			vze_cs_add(&self->gpu.cs, VZE_VA, 1, VZE_HW_CMD_NOTIFY);
		/* The job itself goes on until the next round: only NOTIFY can wake. */
		vze_cs_wait(&self->gpu.cs, VZE_VA + 64, VZE_HW_WAIT_GE, i);
		ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, NULL, 0, NULL));
		ASSERT_EQ(0, wait_word(self, VZE_HW_WAIT_GE, i, self->gpu.queue,
				       vze_deadline(VZE_WAIT_MS)));
		EXPECT_EQ(i, self->word[0]);
		self->word[8] = i;
		ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
		/* The words of the job are used until it has ended. */
		ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, NULL));
	}
}

/* Without NOTIFY, the end of the job does. */
VZE_TEST(fence_wait, end_of_a_job)
{
	uint64_t i;

	for (i = 1; i <= 20; i++) {
		vze_cs_reset(&self->gpu.cs);
		vze_cs_signal(&self->gpu.cs, VZE_VA, i, 0);
		ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, NULL, 0, NULL));
		ASSERT_EQ(0, wait_word(self, VZE_HW_WAIT_EQ, i, 0, vze_deadline(VZE_WAIT_MS)));
		ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, NULL));
	}
}

struct waker {
	int fd;
	volatile uint64_t *word;
};

static void *store_and_wake(void *arg)
{
	struct waker *waker = arg;

	vze_sleep_ms(200);
	*waker->word = 1;
	vze_fence_wake(waker->fd);
	return NULL;
}

/* Any memory will do, and another file's FENCE_WAKE is as good. */
VZE_TEST(fence_wait, cpu_wakes)
{
	int fd2 = vze_gpu_reopen(&self->gpu), round;
	volatile uint64_t *mem = vze_anon(SZ_4K, SZ_4K);
	struct waker waker;
	pthread_t thread;

	ASSERT_LE(0, fd2);
	ASSERT_NE(NULL, (void *)mem);
	for (round = 0; round < 4; round++) {
		waker.word = round % 2 ? self->word : mem;
		waker.fd = round / 2 ? fd2 : self->gpu.fd;
		*waker.word = 0;
		ASSERT_EQ(0, pthread_create(&thread, NULL, store_and_wake, &waker));
		EXPECT_EQ(0, vze_fence_wait(self->gpu.fd, (void *)waker.word, VZE_HW_WAIT_EQ, 1, 0,
					    round % 2 ? -1 : vze_deadline(VZE_WAIT_MS)));
		EXPECT_EQ(1, *waker.word);
		pthread_join(thread, NULL);
	}
	close(fd2);
}

/* Wakes the device's parked queue as well. */
VZE_TEST(fence_wait, wake_reaches_the_device)
{
	uint32_t syncobj;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	vze_cs_wait(&self->gpu.cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj, 100));
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS));
}

/* The queue that should have stored the word stops: no waiting for ever. */
VZE_TEST(fence_wait, queue_stops)
{
	uint32_t other;

	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &other));
	vze_cs_fill(&self->gpu.cs, VZE_VA + SZ_1G, 8, "x", 1);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 1, VZE_HW_CMD_NOTIFY);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, NULL, 0, NULL));
	EXPECT_EQ(-ECANCELED, wait_word(self, VZE_HW_WAIT_EQ, 1, self->gpu.queue,
					vze_deadline(VZE_WAIT_MS)));
	/* Again, on the queue that has stopped already. */
	EXPECT_EQ(-ECANCELED, wait_word(self, VZE_HW_WAIT_EQ, 1, self->gpu.queue, -1));
	/* Another queue has nothing to do with it. */
	EXPECT_EQ(-ETIME, wait_word(self, VZE_HW_WAIT_EQ, 1, other, vze_deadline(100)));
	EXPECT_EQ(-ETIME, wait_word(self, VZE_HW_WAIT_EQ, 1, 0, vze_deadline(100)));
	/* A word that fulfils the comparison needs no queue. */
	self->word[0] = 1;
	EXPECT_EQ(0, wait_word(self, VZE_HW_WAIT_EQ, 1, self->gpu.queue, -1));
}

static void on_alarm(int sig)
{
}

VZE_TEST(fence_wait, interrupted)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { { 0, 100000 }, { 0, 100000 } }, off = {};

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	EXPECT_EQ(-EINTR, wait_word(self, VZE_HW_WAIT_EQ, 1, 0, -1));
	EXPECT_EQ(-EINTR, wait_word(self, VZE_HW_WAIT_EQ, 1, self->gpu.queue,
				    vze_deadline(VZE_WAIT_MS)));
	setitimer(ITIMER_REAL, &off, NULL);
}

static void *wait_forever(void *arg)
{
	FIXTURE_DATA(fence_wait) *self = arg;

	return (void *)(long)wait_word(self, VZE_HW_WAIT_EQ, 1, 0, -1);
}

VZE_TEST(fence_wait, many_waiters)
{
	pthread_t threads[32];
	void *result;
	int i;

	for (i = 0; i < ARRAY_LEN(threads); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_forever, self));
	vze_sleep_ms(200);
	vze_cs_signal(&self->gpu.cs, VZE_VA, 1, VZE_HW_CMD_NOTIFY);
	ASSERT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	for (i = 0; i < ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], &result);
		EXPECT_EQ(0, (long)result);
	}
}

TEST_HARNESS_MAIN
