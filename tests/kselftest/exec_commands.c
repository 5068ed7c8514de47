// SPDX-License-Identifier: MIT
/* Every command of vze_hw.h with the values it must leave in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE	(2 * SZ_2M)
#define SRC	VZE_VA
#define DST	(VZE_VA + SZ_1G)
#define GUARD	0xa5

FIXTURE(commands) {
	struct vze_gpu gpu;
	uint32_t handle[2];
	uint8_t *src, *dst;
};

FIXTURE_VARIANT(commands) {
	uint32_t src;
	uint32_t dst;
};

FIXTURE_VARIANT_ADD(commands, system_to_vram) {
	.src = DRM_VZE_PLACEMENT_SYSTEM, .dst = DRM_VZE_PLACEMENT_VRAM,
};

FIXTURE_VARIANT_ADD(commands, vram_to_system) {
	.src = DRM_VZE_PLACEMENT_VRAM, .dst = DRM_VZE_PLACEMENT_SYSTEM,
};

FIXTURE_SETUP(commands)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SIZE, variant->src, 0, &self->handle[0]));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SIZE, variant->dst, 0, &self->handle[1]));
	self->src = vze_gem_mmap(gpu->fd, self->handle[0], SIZE, PROT_READ | PROT_WRITE);
	self->dst = vze_gem_mmap(gpu->fd, self->handle[1], SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->src);
	ASSERT_NE(MAP_FAILED, self->dst);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->handle[0], 0, SIZE, SRC, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->handle[1], 0, SIZE, DST, 0));
	vze_pattern_fill(self->src, SIZE, 1);
	memset(self->dst, GUARD, SIZE);
}

FIXTURE_TEARDOWN(commands)
{
	munmap(self->src, SIZE);
	munmap(self->dst, SIZE);
	VZE_TEARDOWN(&self->gpu);
}

static int run(FIXTURE_DATA(commands) *self)
{
	int ret = vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs);

	vze_cs_reset(&self->gpu.cs);
	return ret;
}

/* Whether @size bytes from @at equal @expected and the bytes around are untouched. */
static bool written(FIXTURE_DATA(commands) *self, size_t at, const void *expected, size_t size)
{
	size_t i;

	for (i = at < 64 ? 0 : at - 64; i < at; i++)
		if (self->dst[i] != GUARD)
			return false;
	for (i = at + size; i < at + size + 64 && i < SIZE; i++)
		if (self->dst[i] != GUARD)
			return false;
	return !memcmp(self->dst + at, expected, size);
}

VZE_TEST(commands, copy)
{
	static const size_t starts[] = { 0, 1, 3, 7, 8, 63, 4095, 4096, SZ_2M - 5, SZ_2M - 4096 };
	static const size_t sizes[] = { 1, 2, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 70001 };
	unsigned int from, to, size;

	for (from = 0; from < ARRAY_LEN(starts); from++) {
		for (size = 0; size < ARRAY_LEN(sizes); size++) {
			to = (from * 3 + size) % ARRAY_LEN(starts);
			vze_cs_copy(&self->gpu.cs, DST + starts[to], SRC + starts[from],
				    sizes[size]);
			ASSERT_EQ(0, run(self));
			EXPECT_TRUE(written(self, starts[to], self->src + starts[from],
					    sizes[size])) {
				TH_LOG("%zu bytes from %zu to %zu", sizes[size], starts[from],
				       starts[to]);
			}
			memset(self->dst + starts[to], GUARD, sizes[size]);
		}
	}
	vze_cs_copy(&self->gpu.cs, DST, SRC, SIZE);
	ASSERT_EQ(0, run(self));
	EXPECT_EQ(-1, vze_pattern_check(self->dst, SIZE, 1));
}

VZE_TEST(commands, fill)
{
	static const size_t sizes[] = { 1, 5, 128, 1000, 4096, 70003 };
	uint8_t pattern[VZE_HW_MAX_PATTERN], *expected = malloc(SZ_1M);
	unsigned int length, i, k;

	ASSERT_NE(NULL, expected);
	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = i * 7 + 1;
	for (length = 1; length <= VZE_HW_MAX_PATTERN; length++) {
		size_t size = sizes[length % ARRAY_LEN(sizes)], at = length * 131;

		for (k = 0; k < size; k++)
			expected[k] = pattern[k % length];
		vze_cs_fill(&self->gpu.cs, DST + at, size, pattern, length);
		ASSERT_EQ(0, run(self));
		EXPECT_TRUE(written(self, at, expected, size)) {
			TH_LOG("pattern of %u bytes over %zu", length, size);
		}
		memset(self->dst + at, GUARD, size);
	}
	vze_cs_fill(&self->gpu.cs, DST, SIZE, pattern, 8);
	ASSERT_EQ(0, run(self));
	EXPECT_EQ(-1, vze_words_check(self->dst, SIZE, *(uint64_t *)pattern));
	free(expected);
}

/* What COPY_REGION must do, byte by byte. */
static void reference_region(uint8_t *dst, const uint8_t *src,
			     const struct vze_hw_cmd_copy_region *r)
{
	uint32_t y, z;

	for (z = 0; z < r->depth; z++)
		for (y = 0; y < r->height; y++)
			memcpy(dst + (r->dst - DST) + z * r->dst_slice + y * r->dst_pitch,
			       src + (r->src - SRC) + z * r->src_slice + y * r->src_pitch,
			       r->width);
}

VZE_TEST(commands, copy_region)
{
	static const struct vze_hw_cmd_copy_region regions[] = {
		{ .dst = DST, .src = SRC, .width = 1, .height = 1, .depth = 1 },
		{ .dst = DST + 5, .src = SRC + 3, .width = 100, .height = 10, .depth = 1,
		  .dst_pitch = 256, .src_pitch = 128 },
		{ .dst = DST + 1, .src = SRC, .width = 64, .height = 8, .depth = 4,
		  .dst_pitch = 100, .dst_slice = 1000, .src_pitch = 64, .src_slice = 4096 },
		/* a single row again and again */
		{ .dst = DST, .src = SRC + 9, .width = 33, .height = 50, .depth = 2,
		  .dst_pitch = 40, .dst_slice = 3000, .src_pitch = 0, .src_slice = 0 },
		/* rows that cross pages and large leaves */
		{ .dst = DST + SZ_2M - 5000, .src = SRC + 100, .width = 5000, .height = 5,
		  .depth = 2, .dst_pitch = 8192, .dst_slice = 65536, .src_pitch = 5001,
		  .src_slice = 50000 },
		/* dense: one piece in the end */
		{ .dst = DST + 7, .src = SRC + 7, .width = 1000, .height = 100, .depth = 10,
		  .dst_pitch = 1000, .dst_slice = 100000, .src_pitch = 1000,
		  .src_slice = 100000 },
		/* pitches of 1 byte read overlapping rows */
		{ .dst = DST, .src = SRC, .width = 16, .height = 64, .depth = 1,
		  .dst_pitch = 16, .src_pitch = 1 },
	};
	uint8_t *expected = malloc(SIZE);
	unsigned int i;

	ASSERT_NE(NULL, expected);
	for (i = 0; i < ARRAY_LEN(regions); i++) {
		memset(self->dst, GUARD, SIZE);
		memset(expected, GUARD, SIZE);
		reference_region(expected, self->src, &regions[i]);
		vze_cs_region(&self->gpu.cs, &regions[i]);
		ASSERT_EQ(0, run(self));
		EXPECT_EQ(0, memcmp(expected, self->dst, SIZE)) {
			TH_LOG("region %u", i);
		}
	}
	free(expected);
}

VZE_TEST(commands, signal_and_add)
{
	volatile uint64_t *word = (void *)self->dst;
	int i;

	for (i = 0; i < 2; i++) {
		uint32_t flags = i ? VZE_HW_CMD_NOTIFY : 0;

		word[0] = 5;
		word[1] = ~0ULL;
		word[2] = 0x77;
		vze_cs_signal(&self->gpu.cs, DST, 0x1122334455667788ULL, flags);
		vze_cs_add(&self->gpu.cs, DST + 8, 2, flags);
		vze_cs_add(&self->gpu.cs, DST + 16, -7ULL, flags);
		ASSERT_EQ(0, run(self));
		EXPECT_EQ(0x1122334455667788ULL, word[0]);
		EXPECT_EQ(1, word[1]);
		EXPECT_EQ(0x70, word[2]);
	}
}

VZE_TEST(commands, wait_operations)
{
	static const struct {
		uint32_t op;
		uint64_t word;
		uint64_t value;
		bool fulfilled;
	} table[] = {
		{ VZE_HW_WAIT_EQ, 5, 5, true }, { VZE_HW_WAIT_EQ, 5, 6, false },
		{ VZE_HW_WAIT_NE, 5, 6, true }, { VZE_HW_WAIT_NE, 5, 5, false },
		{ VZE_HW_WAIT_GE, 5, 5, true }, { VZE_HW_WAIT_GE, 4, 5, false },
		{ VZE_HW_WAIT_GT, 6, 5, true }, { VZE_HW_WAIT_GT, 5, 5, false },
		{ VZE_HW_WAIT_LE, 5, 5, true }, { VZE_HW_WAIT_LE, 6, 5, false },
		{ VZE_HW_WAIT_LT, 4, 5, true }, { VZE_HW_WAIT_LT, 5, 5, false },
		/* unsigned: -1 is the largest */
		{ VZE_HW_WAIT_GT, ~0ULL, 1, true }, { VZE_HW_WAIT_LT, ~0ULL, 1, false },
		{ VZE_HW_WAIT_GE, 1ULL << 63, 1ULL << 62, true },
		{ VZE_HW_WAIT_LE, 1ULL << 63, 1ULL << 62, false },
	};
	/* A value that makes each unfulfilled one true. */
	static const uint64_t release[] = {
		[VZE_HW_WAIT_EQ] = 6, [VZE_HW_WAIT_NE] = 6, [VZE_HW_WAIT_GE] = 5,
		[VZE_HW_WAIT_GT] = 6, [VZE_HW_WAIT_LE] = 5, [VZE_HW_WAIT_LT] = 0,
	};
	volatile uint64_t *word = (void *)self->dst;
	uint32_t syncobj;
	unsigned int i;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj));
	for (i = 0; i < ARRAY_LEN(table); i++) {
		word[0] = table[i].word;
		word[1] = 0;
		vze_cs_reset(&self->gpu.cs);
		vze_cs_wait(&self->gpu.cs, DST, table[i].op, table[i].value);
		vze_cs_signal(&self->gpu.cs, DST + 8, 1, 0);
		ASSERT_EQ(0, vze_syncobj_reset(self->gpu.fd, syncobj));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, syncobj));
		if (!table[i].fulfilled) {
			EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, syncobj, 150)) {
				TH_LOG("line %u went on", i);
			}
			EXPECT_EQ(0, word[1]);
			word[0] = release[table[i].op];
			ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
		}
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj, VZE_WAIT_MS)) {
			TH_LOG("line %u", i);
		}
		EXPECT_EQ(1, word[1]);
	}
}

VZE_TEST(commands, timestamp)
{
	volatile uint64_t *word = (void *)self->dst;
	struct drm_vze_query_clock before, after;
	uint32_t size = sizeof(before);
	unsigned int i;

	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_CLOCK, &before, &size));
	for (i = 0; i < 10; i++) {
		vze_cs_timestamp(&self->gpu.cs, DST + i * 8, i % 2 ? VZE_HW_CMD_NOTIFY : 0);
		vze_cs_copy(&self->gpu.cs, DST + SZ_64K, SRC, SZ_64K);
	}
	ASSERT_EQ(0, run(self));
	size = sizeof(after);
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_CLOCK, &after, &size));
	EXPECT_LE(before.device, word[0]);
	for (i = 1; i < 10; i++)
		EXPECT_LE(word[i - 1], word[i]);
	EXPECT_LE(word[9], after.device);
}

/* The effects of a command are visible to the next one. */
VZE_TEST(commands, one_after_the_other)
{
	unsigned int i;
	uint64_t value;

	for (i = 0; i < 200; i++) {
		value = i;
		vze_cs_fill(&self->gpu.cs, DST, SZ_64K, &value, 8);
		if (i % 3 == 0)
			vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_BARRIER);
		if (i % 5 == 0)
			vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
		vze_cs_copy(&self->gpu.cs, DST + SZ_64K + i * 8, DST + SZ_64K - 8, 8);
	}
	ASSERT_EQ(0, run(self));
	for (i = 0; i < 200; i++)
		EXPECT_EQ(i, ((uint64_t *)(self->dst + SZ_64K))[i]);
}

TEST_HARNESS_MAIN
