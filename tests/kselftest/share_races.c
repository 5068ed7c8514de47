// SPDX-License-Identifier: MIT
/*
 * Exporters and importers at full speed, and such that die at any moment.
 *
 * VZE_RACE_SECONDS says for how long each test goes on (10 unless set).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define EXPORTERS	4
#define IMPORTERS	4
#define OBJECTS		8
#define SIZE		SZ_64K
#define RANGE		(OBJECTS * SIZE)

/* One exporter's newest share; a sequence number that is odd while it is written. */
struct offer {
	uint32_t sequence;
	struct drm_vze_share_token token;
	uint64_t seed;
};

/* Seen by all processes of a race. */
struct board {
	int stop;
	uint64_t opened, missed, exported;
	struct offer offers[EXPORTERS];
};

FIXTURE(share_races) {
	struct vze_gpu gpu;
	struct board *board;
	unsigned int ms;
};

FIXTURE_SETUP(share_races)
{
	const char *seconds = getenv("VZE_RACE_SECONDS");

	VZE_SETUP(&self->gpu);
	self->ms = (seconds ? atoi(seconds) : 10) * 1000;
	self->board = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->board);
}

FIXTURE_TEARDOWN(share_races)
{
	if (self->board)
		munmap(self->board, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

static uint64_t signature(uint64_t seed, unsigned int page)
{
	return seed * 0x9e3779b97f4a7c15ULL + page;
}

static void offer_write(struct offer *offer, const struct drm_vze_share_token *token,
			uint64_t seed)
{
	__atomic_store_n(&offer->sequence, offer->sequence | 1, __ATOMIC_SEQ_CST);
	offer->token = *token;
	offer->seed = seed;
	__atomic_store_n(&offer->sequence, offer->sequence + 1, __ATOMIC_SEQ_CST);
}

static bool offer_read(struct offer *offer, struct offer *copy)
{
	uint32_t before = __atomic_load_n(&offer->sequence, __ATOMIC_SEQ_CST);

	*copy = *offer;
	return before && !(before & 1) &&
	       __atomic_load_n(&offer->sequence, __ATOMIC_SEQ_CST) == before;
}

/*
 * Makes objects, writes its signature into every page, offers them as one range, and ends
 * the share in one of the ways there are. Runs until it is stopped or killed.
 */
static int exporter(struct vze_gpu *parent, struct board *board, unsigned int index)
{
	uint32_t vm, handles[OBJECTS];
	uint64_t seed = getpid() * 1000003ULL, base = VZE_VA + index * SZ_1G;
	unsigned int i, page, round;
	int fd = vze_gpu_reopen(parent);
	uint64_t *map;

	REQUIRE(1, fd >= 0 && !vze_vm_create(fd, &vm));
	map = mmap((void *)base, RANGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   DRM_VZE_VM_MMAP_OFFSET(vm, base));
	REQUIRE(2, map == (void *)base);
	for (round = 0; !board->stop; round++, seed++) {
		struct drm_vze_share_create share;
		struct drm_vze_share_revoke revoke;

		for (i = 0; i < OBJECTS; i++) {
			REQUIRE(3, !vze_gem_create(fd, SIZE, DRM_VZE_PLACEMENT_VRAM + i % 2, 0,
						   &handles[i]));
			REQUIRE(4, !vze_map(fd, vm, handles[i], 0, SIZE, base + i * SIZE, 0));
		}
		for (page = 0; page < RANGE / SZ_4K; page++)
			map[page * 512] = signature(seed, page);
		REQUIRE(5, !share_range(fd, vm, base, RANGE, 0, &share));
		offer_write(&board->offers[index], &share.token, seed);
		__atomic_fetch_add(&board->exported, 1, __ATOMIC_RELAXED);
		vze_sleep_ms(round % 4);
		switch (round % 4) {
		case 0:
			REQUIRE(6, !vze_share_put(fd, share.token.id));
			break;
		case 1:
			REQUIRE(7, !share_revoke(fd, share.token.id, 0, &revoke));
			break;
		case 2:
			REQUIRE(8, !share_revoke(fd, share.token.id, DRM_VZE_SHARE_REVOKE_UNMAP,
						 &revoke));
			break;
		}
		for (i = 0; i < OBJECTS; i++)
			REQUIRE(9, !vze_gem_close(fd, handles[i]));
		/* The range is mapped still: what is mapped over it next takes its place. */
	}
	return 0;
}

/*
 * Opens what is offered and looks at every page: it finds what the token stands for, or
 * nothing at all, never anything else.
 */
static int importer(struct vze_gpu *parent, struct board *board, unsigned int index)
{
	struct offer offer;
	unsigned int turn = index, page;
	uint64_t word;
	uint32_t view, vm;
	int fd = vze_gpu_reopen(parent), ret;

	REQUIRE(1, fd >= 0 && !vze_vm_create(fd, &vm));
	while (!board->stop) {
		uint64_t *map;

		if (!offer_read(&board->offers[turn++ % EXPORTERS], &offer))
			continue;
		ret = share_open_at(fd, &offer.token, vm, VZE_VA, RANGE, &view);
		if (ret) {
			REQUIRE(2, ret == -ENOENT || ret == -EACCES);
			__atomic_fetch_add(&board->missed, 1, __ATOMIC_RELAXED);
			/* Leaves the processor to who makes the next offer. */
			vze_sleep_ms(1);
			continue;
		}
		map = vze_gem_mmap(fd, view, RANGE, PROT_READ);
		REQUIRE(3, map != MAP_FAILED);
		for (page = 0; page < RANGE / SZ_4K; page++) {
			ret = vze_peek(&map[page * 512], &word);
			/* Taken back: from here on there is nothing. */
			if (ret == -SIGBUS)
				break;
			REQUIRE(4, !ret && word == signature(offer.seed, page));
		}
		munmap(map, RANGE);
		REQUIRE(5, !vze_unmap(fd, vm, VZE_VA, RANGE));
		REQUIRE(6, !vze_gem_close(fd, view));
		__atomic_fetch_add(&board->opened, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static pid_t start(FIXTURE_DATA(share_races) *self,
		   int (*fn)(struct vze_gpu *parent, struct board *board, unsigned int index),
		   unsigned int index)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(fn(&self->gpu, self->board, index));
}

VZE_TEST(share_races, exporters_against_importers)
{
	pid_t pids[EXPORTERS + IMPORTERS];
	int i;

	for (i = 0; i < EXPORTERS; i++)
		pids[i] = start(self, exporter, i);
	for (i = 0; i < IMPORTERS; i++)
		pids[EXPORTERS + i] = start(self, importer, i);
	vze_sleep_ms(self->ms);
	self->board->stop = 1;
	for (i = 0; i < ARRAY_LEN(pids); i++) {
		EXPECT_EQ(0, vze_reap(pids[i])) {
			TH_LOG("%s %d", i < EXPORTERS ? "exporter" : "importer", i % EXPORTERS);
		}
	}
	TH_LOG("%llu exports, %llu opens, %llu came too late",
	       (unsigned long long)self->board->exported,
	       (unsigned long long)self->board->opened, (unsigned long long)self->board->missed);
	EXPECT_LT(0, self->board->exported);
	EXPECT_LT(0, self->board->opened);
}

/* Case 28, at every moment of export, open, use and close, on both sides. */
VZE_TEST(share_races, killed_at_any_moment)
{
	uint64_t end = vze_now_ms() + self->ms;
	unsigned int seed = 1, kills = 0;
	pid_t exporters[2], importers[2];
	int i;

	for (i = 0; i < 2; i++) {
		exporters[i] = start(self, exporter, i);
		importers[i] = start(self, importer, i);
	}
	while (vze_now_ms() < end) {
		bool kill_exporter = rand_r(&seed) % 2;
		pid_t *pid;

		i = rand_r(&seed) % 2;
		pid = kill_exporter ? &exporters[i] : &importers[i];
		vze_sleep_ms(rand_r(&seed) % 60);
		kill(*pid, SIGKILL);
		ASSERT_EQ(-SIGKILL, vze_reap(*pid));
		kills++;
		*pid = start(self, kill_exporter ? exporter : importer, i);
	}
	self->board->stop = 1;
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, vze_reap(exporters[i]));
		EXPECT_EQ(0, vze_reap(importers[i]));
	}
	TH_LOG("%u kills, %llu exports, %llu opens", kills,
	       (unsigned long long)self->board->exported,
	       (unsigned long long)self->board->opened);
	EXPECT_LT(0, self->board->opened);
}

TEST_HARNESS_MAIN
