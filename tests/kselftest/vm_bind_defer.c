// SPDX-License-Identifier: MIT
/* VM_BIND with DEFER: what it waits for, and what else has to wait; waiting for jobs. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "defer.h"

/* One that waits for a short job does not care for one that came before and waits for long. */
VZE_TEST(defer, short_behind_long)
{
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SIZE));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, self->done[LONG]));
	ASSERT_EQ(0, defer(self, TARGET + SIZE, SIZE, SHORT, self->done[SHORT]));
	ASSERT_EQ(0, open_gate(self, SHORT));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(self->used + SIZE, vze_figure_wait(&self->gpu, "vze_counts", "vram_used",
						     self->used + SIZE));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 100));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SIZE, 1));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SIZE, 8, 1));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
}

/* Nor do ordinary asynchronous binds and deferred ones elsewhere wait for each other. */
VZE_TEST(defer, beside_asynchronous_binds)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = self->other, .range = SZ_64K,
		.addr = TARGET + 2 * SIZE,
	};
	struct drm_vze_sync syncs[2] = {
		{ .flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[LONG],
		  .point = self->seqno[LONG] },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done[LONG] },
	};

	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SIZE));
	/* An ordinary one waits for long, a deferred one passes it. */
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       syncs, 2));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, SHORT, self->done[SHORT]));
	ASSERT_EQ(0, open_gate(self, SHORT));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 0));
	ASSERT_EQ(0, open_gate(self, LONG));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));

	/* A deferred one waits for long, an ordinary one passes it. */
	self->words[LONG] = 0;
	ASSERT_EQ(0, park(self, LONG));
	ASSERT_EQ(0, defer(self, TARGET + SIZE, SIZE, LONG, self->done[LONG]));
	op.addr += SIZE;
	syncs[1].handle = self->done[SHORT];
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       syncs + 1, 1));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, op.addr, SZ_64K, 1));
	/* And so does a synchronous one. */
	EXPECT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->other, 0, SZ_64K, op.addr + SIZE,
			     0));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 0));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));
}

/* What has been waited for is the job that was named, not what came after it on its queue. */
VZE_TEST(defer, waits_for_the_named_job)
{
	uint64_t first = self->seqno[SHORT];

	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SIZE));
	/* Behind the first job a second one, which goes on to wait for something else. */
	vze_cs_wait(&self->park[SHORT], WORDS + 64, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, park(self, SHORT));
	EXPECT_EQ(first + 1, self->seqno[SHORT]);
	/* Point 0 is the last one so far. */
	self->seqno[SHORT] = 0;
	ASSERT_EQ(0, defer(self, TARGET + SIZE, SIZE, SHORT, self->done[LONG]));
	self->seqno[SHORT] = first;
	ASSERT_EQ(0, defer(self, TARGET, SIZE, SHORT, self->done[SHORT]));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], 100));
	ASSERT_EQ(0, open_gate(self, SHORT));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 100));
	self->words[8] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));
	/* One that has ended long ago is no wait. */
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, SHORT, self->done[SHORT]));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
}

/* The CPU has lost the memory when the call returns, also what it had touched before. */
VZE_TEST(defer, cpu_loses_it_at_once)
{
	uint64_t *map = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), value;
	uint64_t addr = (uintptr_t)map;

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, map_new(self, addr, SIZE));
	ASSERT_EQ(map, mmap(map, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    self->gpu.fd, DRM_VZE_VM_MMAP_OFFSET(self->gpu.vm, addr)));
	map[0] = 0x2222;
	ASSERT_EQ(0, defer(self, addr, SIZE, LONG, 0));
	EXPECT_EQ(-SIGBUS, vze_peek(map, &value));
	EXPECT_EQ(-SIGBUS, vze_poke(map + 512, 1));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, addr, 8));
	EXPECT_EQ(0x2222, self->words[SZ_4K / 8]);
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
	EXPECT_EQ(-SIGBUS, vze_peek(map, &value));
	/* The view is as good as new for the next object. */
	ASSERT_EQ(0, map_new(self, addr, SIZE));
	EXPECT_EQ(0, vze_peek(map, &value));
	EXPECT_EQ(0, value);
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, addr, SIZE));
	munmap(map, SIZE);
}

static void on_alarm(int sig)
{
}

/* Nobody gets the addresses before: a mapping waits, or comes behind. */
VZE_TEST(defer, addresses_are_reserved)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { { 0, 100000 }, { 0, 100000 } }, off = {};
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = self->other, .range = SZ_64K,
		.addr = TARGET + SZ_1M,
	};
	const struct drm_vze_sync sync = {
		.flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done[SHORT],
	};

	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SIZE, 0x3333));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, self->done[LONG]));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	EXPECT_EQ(-EINTR, vze_vm_bind(self->gpu.fd, self->gpu.vm, &op, 1));
	setitimer(ITIMER_REAL, &off, NULL);
	/* There is nothing there any more to be protected, and to be unmapped is no wait. */
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, TARGET, SIZE));
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       &sync, 1));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], 100));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, op.addr, 8));
	EXPECT_EQ(0x3333, self->words[SZ_4K / 8]);
	ASSERT_EQ(0, open_gate(self, LONG));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], 0));
	/* It took its own mapping, not the one that is there now. */
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, op.addr, 8));
	EXPECT_EQ(0, self->words[SZ_4K / 8]);
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
}

/* Behind an ordinary bind that is yet to map what is to be unmapped. */
VZE_TEST(defer, comes_after_the_map_that_it_undoes)
{
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = self->other, .range = SIZE, .addr = TARGET,
	};
	const struct drm_vze_sync sync = {
		.flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[LONG],
	};

	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       &sync, 1));
	/* A part of what will become a large leaf. */
	ASSERT_EQ(0, defer(self, TARGET + SZ_64K, SZ_4K, SHORT, self->done[SHORT]));
	ASSERT_EQ(0, open_gate(self, SHORT));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], 100));
	ASSERT_EQ(0, open_gate(self, LONG));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET + SZ_64K + SZ_4K, SZ_64K, 1));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SZ_64K, 8, 1));
}

/*
 * Parts of one large leaf are taken in every order: the tables are split by whoever comes
 * first, and everybody's spares suffice.
 */
VZE_TEST(defer, parts_of_a_large_leaf)
{
	uint64_t word;
	int turn;

	for (turn = 0; turn < 2; turn++) {
		self->words[LONG] = 0;
		self->words[SHORT] = 0;
		ASSERT_EQ(0, park(self, LONG));
		ASSERT_EQ(0, park(self, SHORT));
		ASSERT_EQ(0, map_new(self, TARGET, 2 * SIZE));
		ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, 2 * SIZE, 0x4444));
		ASSERT_EQ(0, defer(self, TARGET + SZ_64K, SZ_4K, LONG, 0));
		ASSERT_EQ(0, defer(self, TARGET + SZ_1M, SIZE, SHORT, 0));
		if (turn) {
			/* A neighbour inside the same leaf, at once, and another with other access. */
			ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, TARGET, SZ_64K));
			ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm,
						 TARGET + 2 * SZ_64K, SZ_64K,
						 DRM_VZE_BIND_READONLY));
		}
		ASSERT_EQ(0, open_gate(self, turn ? SHORT : LONG));
		EXPECT_EQ(turn ? SZ_4K : SIZE, vze_figure_wait(&self->gpu, "vze_counts",
							       "deferred_vram",
							       turn ? SZ_4K : SIZE));
		ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K,
					  turn ? TARGET + SZ_64K : TARGET + SIZE, 8));
		word = self->words[SZ_4K / 8];
		EXPECT_EQ(0x4444, word);
		ASSERT_EQ(0, open_gate(self, turn ? LONG : SHORT));
		EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", 0));
		EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET + SZ_64K + SZ_4K, SZ_4K, 1));
		EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET + SZ_1M + SIZE, SZ_1M, 1));
		EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SZ_64K, 8, 1));
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SZ_1M + SIZE - 8, 8, 1));
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, TARGET, 2 * SIZE));
		EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used",
						      self->used));
	}
}

/* A range that reaches over what is deferred already: only what is left of it is taken. */
VZE_TEST(defer, over_a_deferred_range)
{
	ASSERT_EQ(0, map_new(self, TARGET, SIZE));
	ASSERT_EQ(0, map_new(self, TARGET + SIZE, SIZE));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, 2 * SIZE, 0x5555));
	ASSERT_EQ(0, defer(self, TARGET, SIZE, LONG, self->done[LONG]));
	ASSERT_EQ(0, defer(self, TARGET, 2 * SIZE, SHORT, self->done[SHORT]));
	ASSERT_EQ(0, open_gate(self, SHORT));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
	EXPECT_EQ(SIZE, vze_figure_wait(&self->gpu, "vze_counts", "deferred_vram", SIZE));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, WORDS + SZ_4K, TARGET + SIZE - 8, 8));
	EXPECT_EQ(0x5555, self->words[SZ_4K / 8]);
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET + SIZE, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	ASSERT_EQ(0, open_gate(self, LONG));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[LONG], VZE_WAIT_MS));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, TARGET, 8, 1));
}

static void *open_gate_later(void *arg)
{
	FIXTURE_DATA(defer) *self = arg;

	vze_sleep_ms(300);
	open_gate(self, SHORT);
	return NULL;
}

/* Without operations the call waits and signals. */
VZE_TEST(defer, only_to_wait)
{
	struct drm_vze_sync syncs[2] = {
		{ .flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[SHORT],
		  .point = self->seqno[SHORT] },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done[SHORT] },
	};
	pthread_t thread;

	EXPECT_EQ(-EINVAL, vze_vm_bind(self->gpu.fd, self->gpu.vm, NULL, 0));
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC,
					     NULL, 0, syncs, 2));
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_DEFER,
					     NULL, 0, syncs, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_gate_later, self));
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, 0, NULL, 0, syncs, 2));
	EXPECT_EQ(1, self->words[SHORT]);
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], 0));
	pthread_join(thread, NULL);
}

/* A job may wait for another queue's job in the same way. */
VZE_TEST(defer, job_behind_a_job)
{
	struct drm_vze_sync syncs[2] = {
		{ .flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[SHORT],
		  .point = self->seqno[SHORT] },
		{ .flags = DRM_VZE_SYNC_SIGNAL, .handle = self->done[SHORT] },
	};

	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, NULL, syncs, 2, NULL));
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], 100));
	ASSERT_EQ(0, open_gate(self, SHORT));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done[SHORT], VZE_WAIT_MS));
}

VZE_TEST(defer, errors)
{
	struct drm_vze_bind_op ops[2] = {
		{ .op = DRM_VZE_BIND_UNMAP, .range = SZ_64K, .addr = TARGET },
		{ .op = DRM_VZE_BIND_MAP, .handle = self->other, .range = SZ_64K, .addr = TARGET },
	};
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_QUEUE, .handle = self->queue[LONG] };
	int fd = self->gpu.fd, fd2 = vze_gpu_reopen(&self->gpu);
	uint32_t vm = self->gpu.vm, vm2;
	const struct {
		uint32_t flags, handle;
		uint64_t point;
		int result;
	} bad[] = {
		{ DRM_VZE_SYNC_QUEUE | DRM_VZE_SYNC_SIGNAL, self->queue[LONG], 0, -EINVAL },
		{ DRM_VZE_SYNC_QUEUE | DRM_VZE_SYNC_TIMELINE, self->queue[LONG], 1, -EINVAL },
		{ DRM_VZE_SYNC_QUEUE, self->queue[LONG], self->seqno[LONG] + 1, -EINVAL },
		{ DRM_VZE_SYNC_QUEUE, self->queue[LONG], ~0ULL, -EINVAL },
		{ DRM_VZE_SYNC_QUEUE, 0, 0, -ENOENT },
		{ DRM_VZE_SYNC_QUEUE, 12345, 0, -ENOENT },
		{ DRM_VZE_SYNC_QUEUE, self->done[LONG] + 4096, 0, -ENOENT },
	};
	unsigned int i;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, map_new(self, TARGET, SZ_64K));
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER | DRM_VZE_VM_BIND_ASYNC,
					     ops, 1, NULL, 0));
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, ops, 2, NULL, 0));
	ops[1].op = DRM_VZE_BIND_PROTECT;
	ops[1].handle = 0;
	EXPECT_EQ(-EINVAL, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, ops, 2, NULL, 0));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		sync.flags = bad[i].flags;
		sync.handle = bad[i].handle;
		sync.point = bad[i].point;
		EXPECT_EQ(bad[i].result, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, ops, 1,
							   &sync, 1)) {
			TH_LOG("case %u", i);
		}
		EXPECT_EQ(bad[i].result, vze_exec(fd, self->gpu.queue, NULL, &sync, 1, NULL)) {
			TH_LOG("case %u", i);
		}
	}
	/* A queue of another file. */
	ASSERT_EQ(0, vze_vm_create(fd2, &vm2));
	sync.flags = DRM_VZE_SYNC_QUEUE;
	sync.handle = self->queue[SHORT];
	sync.point = 0;
	EXPECT_EQ(-ENOENT, vze_vm_bind_syncs(fd2, vm2, DRM_VZE_VM_BIND_DEFER, ops, 1, &sync, 1));
	close(fd2);
	/* Nothing has happened to the mapping, and there is no wait left. */
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, TARGET, SZ_64K, 1));
	EXPECT_EQ(0, pending_vram(self));
	/* Nothing to wait for, and nothing to unmap: fine. */
	EXPECT_EQ(0, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, ops, 1, NULL, 0));
	EXPECT_EQ(0, vze_vm_bind_syncs(fd, vm, DRM_VZE_VM_BIND_DEFER, ops, 1, NULL, 0));
	EXPECT_EQ(self->used, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", self->used));
}

TEST_HARNESS_MAIN
