// SPDX-License-Identifier: MIT
/* Imports while others import the same memory, change its access, or move its pages. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(stress) {
	struct vze_gpu gpu;
	long pinned;
};

FIXTURE_SETUP(stress)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->pinned = vze_vmpin();
}

FIXTURE_TEARDOWN(stress)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned, vze_vmpin());
}

#define SHARED_SIZE	(64 * SZ_1M)

struct importer {
	struct vze_gpu *gpu;
	int memfd;
};

static int import_again_and_again(void *arg)
{
	struct importer *importer = arg;
	int fd = vze_gpu_reopen(importer->gpu), rounds = vze_rounds(20), i;
	void *mem = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, importer->memfd, 0);
	uint32_t handle;

	if (fd < 0 || mem == MAP_FAILED)
		return 1;
	for (i = 0; i < rounds; i++) {
		if (vze_userptr(fd, mem, SHARED_SIZE, 0, &handle))
			return 2;
		if (vze_vmpin() != SHARED_SIZE)
			return 3;
		if (vze_gem_close(fd, handle))
			return 4;
	}
	return vze_vmpin() ? 5 : 0;
}

/* Case 5: eight processes, one memfd. */
VZE_TEST(stress, same_memory_by_many)
{
	struct importer importer = { .gpu = &self->gpu, .memfd = vze_memfd(SHARED_SIZE) };
	pid_t pid[8];
	unsigned int i;

	ASSERT_LE(0, importer.memfd);
	for (i = 0; i < ARRAY_LEN(pid); i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(import_again_and_again(&importer));
	}
	for (i = 0; i < ARRAY_LEN(pid); i++)
		EXPECT_EQ(0, vze_reap(pid[i]));
	close(importer.memfd);
}

struct toggler {
	void *mem;
	volatile bool stop;
};

static void *toggle(void *arg)
{
	struct toggler *toggler = arg;

	while (!toggler->stop) {
		mprotect(toggler->mem, SZ_64K, PROT_READ);
		mprotect(toggler->mem, SZ_64K, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* Case 11: the access changes while imports run: each one works or is refused, wholly. */
VZE_TEST(stress, access_toggled)
{
	struct toggler toggler = { .mem = vze_anon(SZ_64K, SZ_4K) };
	unsigned int refused = 0, done = 0, rounds = vze_rounds(5000), i;
	pthread_t thread;
	uint32_t handle;
	int ret;

	ASSERT_NE(NULL, toggler.mem);
	ASSERT_EQ(0, pthread_create(&thread, NULL, toggle, &toggler));
	for (i = 0; i < rounds; i++) {
		ret = vze_userptr(self->gpu.fd, toggler.mem, SZ_64K, 0, &handle);
		if (ret == -EFAULT) {
			refused++;
			EXPECT_EQ(self->pinned, vze_vmpin());
			continue;
		}
		ASSERT_EQ(0, ret);
		done++;
		EXPECT_EQ(self->pinned + SZ_64K, vze_vmpin());
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	}
	toggler.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(rounds, refused + done);
	/* Read-only now, and for good. */
	ASSERT_EQ(0, mprotect(toggler.mem, SZ_64K, PROT_READ));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, toggler.mem, SZ_64K, 0, &handle));
}

static void *compact(void *arg)
{
	struct toggler *toggler = arg;

	while (!toggler->stop) {
		vze_write_file("/proc/sys/vm/compact_memory", "1");
		vze_sleep_ms(5);
	}
	return NULL;
}

/* Case 18: pages are moved all around, those of an import are not. */
VZE_TEST(stress, memory_compacted)
{
	const size_t size = 16 * SZ_1M;
	struct toggler toggler = {};
	pthread_t thread;
	uint64_t round;
	uint32_t handle;
	int memfd;
	char *mem[2];
	int i;

	memfd = vze_memfd(size);
	ASSERT_LE(0, memfd);
	mem[0] = vze_anon(size, SZ_4K);
	mem[1] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	ASSERT_NE(NULL, mem[0]);
	ASSERT_NE(MAP_FAILED, mem[1]);
	ASSERT_EQ(0, pthread_create(&thread, NULL, compact, &toggler));
	for (round = 1; round <= 10; round++) {
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem[i], size, 0, &handle));
			ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, size, VZE_VA,
					     0));
			ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, size, round * 2 + i));
			EXPECT_EQ(-1, vze_words_check(mem[i], size, round * 2 + i));
			vze_pattern_fill(mem[i], size / 2, round);
			ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA + size / 2, VZE_VA,
						  size / 2));
			EXPECT_EQ(-1, vze_pattern_check(mem[i] + size / 2, size / 2, round));
			ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, size));
			ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
			/* What the device wrote stays when the pages may move again. */
			EXPECT_EQ(-1, vze_pattern_check(mem[i] + size / 2, size / 2, round));
		}
	}
	toggler.stop = true;
	pthread_join(thread, NULL);
	close(memfd);
}

static volatile sig_atomic_t num_signals;

static void count_signal(int number)
{
	num_signals++;
}

/* Signals that come between the batches of an import neither end it nor spoil it. */
VZE_TEST(stress, signals_meanwhile)
{
	const struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	const struct itimerval never = { 0 };
	const struct sigaction count = { .sa_handler = count_signal };
	struct sigaction old;
	int i, seen = 0;

	ASSERT_EQ(0, sigaction(SIGALRM, &count, &old));
	for (i = 0; i < 20 && seen < 10; i++) {
		/* Untouched: each batch has pages to make. */
		void *mem = vze_anon(SHARED_SIZE, SZ_4K);
		uint32_t handle;
		int ret, before;

		ASSERT_NE(NULL, mem);
		ASSERT_EQ(0, madvise(mem, SHARED_SIZE, MADV_NOHUGEPAGE));
		before = num_signals;
		setitimer(ITIMER_REAL, &often, NULL);
		ret = vze_userptr(self->gpu.fd, mem, SHARED_SIZE, 0, &handle);
		setitimer(ITIMER_REAL, &never, NULL);
		seen += num_signals - before;
		ASSERT_EQ(0, ret);
		EXPECT_EQ(self->pinned + SHARED_SIZE, vze_vmpin());
		ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SHARED_SIZE, VZE_VA,
				     0));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SHARED_SIZE, 0x5161 + i));
		EXPECT_EQ(-1, vze_words_check(mem, SHARED_SIZE, 0x5161 + i));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SHARED_SIZE));
		EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
		munmap(mem, SHARED_SIZE);
	}
	EXPECT_LE(10, seen);
	sigaction(SIGALRM, &old, NULL);
}

FIXTURE(two_gpus) {
	struct vze_gpu gpu[2];
	long pinned;
};

FIXTURE_SETUP(two_gpus)
{
	int i;

	for (i = 0; i < 2; i++) {
		VZE_SETUP_GPUS(&self->gpu[i], i, 2);
		ASSERT_EQ(0, vze_gpu_start(&self->gpu[i]));
	}
	self->pinned = vze_vmpin();
}

FIXTURE_TEARDOWN(two_gpus)
{
	VZE_TEARDOWN(&self->gpu[0]);
	VZE_TEARDOWN(&self->gpu[1]);
	EXPECT_EQ(self->pinned, vze_vmpin());
}

/* Case 1 with two devices: the memory is one to both. */
VZE_TEST(two_gpus, same_memory)
{
	uint32_t handle[2];
	uint64_t *mem = vze_anon(SZ_64K, SZ_4K);
	int i;

	ASSERT_NE(NULL, mem);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vze_userptr(self->gpu[i].fd, mem, SZ_64K, 0, &handle[i]));
		ASSERT_EQ(0, vze_map(self->gpu[i].fd, self->gpu[i].vm, handle[i], 0, SZ_64K,
				     VZE_VA, 0));
	}
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu[0], VZE_VA, SZ_64K / 2, 0x11));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu[1], VZE_VA + SZ_64K / 2, VZE_VA, SZ_64K / 2));
	EXPECT_EQ(-1, vze_words_check(mem, SZ_64K, 0x11));
	/* One lets go, the other goes on. */
	ASSERT_EQ(0, vze_unmap(self->gpu[0].fd, self->gpu[0].vm, VZE_VA, SZ_64K));
	ASSERT_EQ(0, vze_gem_close(self->gpu[0].fd, handle[0]));
	EXPECT_EQ(self->pinned + SZ_64K, vze_vmpin());
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu[1], VZE_VA, SZ_64K, 0x22));
	EXPECT_EQ(-1, vze_words_check(mem, SZ_64K, 0x22));
}

TEST_HARNESS_MAIN
