// SPDX-License-Identifier: MIT
/* Faults: every reason that user space can cause, its record, and that it is contained. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE	SZ_64K
#define GAP	(VZE_VA + SZ_1G)
#define READ_ONLY (VZE_VA + 2 * SZ_1G)

FIXTURE(faults) {
	struct vze_gpu gpu;
	uint32_t data, queue2;
	struct vze_cs cs2;
	volatile uint64_t *word;
	struct drm_vze_queue_state state;
	struct drm_vze_query_device device;
};

FIXTURE_SETUP(faults)
{
	struct vze_gpu *gpu = &self->gpu;
	uint32_t size = sizeof(self->device);

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_query(gpu->fd, DRM_VZE_QUERY_DEVICE, &self->device, &size));
	ASSERT_EQ(0, vze_queue_create(gpu->fd, gpu->vm, &self->queue2));
	ASSERT_EQ(0, vze_cs_create(gpu, &self->cs2, VZE_VA_CS + SZ_2M, SZ_4K));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->data));
	self->word = vze_gem_mmap(gpu->fd, self->data, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->word);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->data, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->data, 0, SIZE, READ_ONLY,
			     DRM_VZE_BIND_READONLY));
}

FIXTURE_TEARDOWN(faults)
{
	munmap((void *)self->word, SIZE);
	munmap(self->cs2.base, SZ_4K);
	VZE_TEARDOWN(&self->gpu);
}

/*
 * Runs what is in the stream: it must fault, as @index-th command, with this record.
 * Then the other queue must still work, and the stopped one must take no more.
 */
#define EXPECT_FAULT(fault_reason, fault_access, fault_opcode, fault_va, index) do {		\
	struct drm_vze_queue_state *s = &self->state;						\
												\
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));		\
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, s));			\
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_FAULTED, s->state);					\
	EXPECT_EQ(fault_reason, s->reason);							\
	EXPECT_EQ(fault_access, s->access);							\
	EXPECT_EQ(fault_opcode, s->opcode);							\
	EXPECT_EQ(fault_va, s->va);								\
	EXPECT_EQ(index, s->command);								\
	EXPECT_EQ(self->gpu.cs.va, s->batch);							\
	EXPECT_EQ(1, s->seqno);									\
	EXPECT_EQ(-ECANCELED, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));		\
	EXPECT_EQ(-ECANCELED, vze_exec(self->gpu.fd, self->gpu.queue, NULL, NULL, 0, NULL));	\
	EXPECT_EQ(0, others_work(self));							\
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));						\
	vze_cs_reset(&self->gpu.cs);								\
} while (0)

static int others_work(FIXTURE_DATA(faults) *self)
{
	uint64_t value = self->word[100] + 1;
	struct drm_vze_queue_state state;
	int ret;

	vze_cs_reset(&self->cs2);
	vze_cs_add(&self->cs2, VZE_VA + 800, 1, 0);
	ret = vze_run(self->gpu.fd, self->queue2, &self->cs2);
	if (!ret)
		ret = vze_queue_state(self->gpu.fd, self->queue2, &state);
	if (!ret && state.state != DRM_VZE_QUEUE_STATE_OK)
		ret = -EBADMSG;
	return ret ? ret : self->word[100] == value ? 0 : -EBADMSG;
}

VZE_TEST(faults, not_present)
{
	struct vze_cs *cs = &self->gpu.cs;

	vze_cs_copy(cs, GAP, VZE_VA, 64);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_COPY, GAP, 0);
	vze_cs_plain(cs, VZE_HW_CMD_NOP);
	vze_cs_plain(cs, VZE_HW_CMD_NOP);
	vze_cs_copy(cs, VZE_VA, GAP + 5, 64);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_READ, VZE_HW_CMD_COPY, GAP + 5, 2);
	vze_cs_fill(cs, GAP + 8, 64, "x", 1);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_FILL, GAP + 8, 0);
	/* The first byte that is not there, past the end of what is. */
	vze_cs_fill(cs, VZE_VA + SIZE - 100, 200, "x", 1);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_FILL,
		     VZE_VA + SIZE, 0);
	vze_cs_copy(cs, VZE_VA, VZE_VA + SIZE - 3, 4);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_READ, VZE_HW_CMD_COPY,
		     VZE_VA + SIZE, 0);
	vze_cs_signal(cs, GAP, 1, 0);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_SEM_SIGNAL, GAP, 0);
	vze_cs_wait(cs, GAP, VZE_HW_WAIT_EQ, 0);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_READ, VZE_HW_CMD_SEM_WAIT, GAP, 0);
	vze_cs_timestamp(cs, GAP, 0);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_TIMESTAMP, GAP, 0);
	/* Address 0 is an address like any other. */
	vze_cs_copy(cs, 0, VZE_VA, 8);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_COPY, 0, 0);
}

VZE_TEST(faults, region)
{
	struct vze_hw_cmd_copy_region region = {
		.dst = VZE_VA, .src = GAP, .width = 16, .height = 4, .depth = 2,
		.dst_pitch = 16, .dst_slice = 64, .src_pitch = 16, .src_slice = 64,
	};

	vze_cs_region(&self->gpu.cs, &region);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_READ, VZE_HW_CMD_COPY_REGION, GAP, 0);
	/* The third row of the second slice begins behind the end. */
	region.src = VZE_VA;
	region.dst = VZE_VA + SIZE - 64 - 32;
	vze_cs_region(&self->gpu.cs, &region);
	EXPECT_FAULT(VZE_HW_FAULT_NOT_PRESENT, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_COPY_REGION,
		     VZE_VA + SIZE, 0);
}

VZE_TEST(faults, read_only)
{
	struct vze_cs *cs = &self->gpu.cs;

	self->word[0] = 0x55;
	vze_cs_fill(cs, READ_ONLY, 8, "x", 1);
	EXPECT_FAULT(VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_FILL, READ_ONLY, 0);
	vze_cs_copy(cs, READ_ONLY + 8, READ_ONLY, 8);
	EXPECT_FAULT(VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_COPY, READ_ONLY + 8,
		     0);
	vze_cs_signal(cs, READ_ONLY, 1, 0);
	EXPECT_FAULT(VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_SEM_SIGNAL, READ_ONLY,
		     0);
	vze_cs_add(cs, READ_ONLY, 1, 0);
	EXPECT_FAULT(VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_ATOMIC_ADD, READ_ONLY,
		     0);
	vze_cs_timestamp(cs, READ_ONLY, 0);
	EXPECT_FAULT(VZE_HW_FAULT_READ_ONLY, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_TIMESTAMP, READ_ONLY,
		     0);
	EXPECT_EQ(0x55, self->word[0]);
	/* Reading from there, and waiting there, is fine. */
	vze_cs_wait(cs, READ_ONLY, VZE_HW_WAIT_EQ, 0x55);
	vze_cs_copy(cs, VZE_VA + 8, READ_ONLY, 8);
	EXPECT_EQ(0, vze_run(self->gpu.fd, self->gpu.queue, cs));
	EXPECT_EQ(0x55, self->word[1]);
}

VZE_TEST(faults, non_canonical)
{
	static const uint64_t beyond[] = { 1ULL << 48, 1ULL << 63, ~0ULL << 12 };
	struct vze_cs *cs = &self->gpu.cs;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(beyond); i++) {
		vze_cs_copy(cs, beyond[i], VZE_VA, 8);
		EXPECT_FAULT(VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_COPY,
			     beyond[i], 0);
		vze_cs_copy(cs, VZE_VA, beyond[i], 8);
		EXPECT_FAULT(VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_READ, VZE_HW_CMD_COPY,
			     beyond[i], 0);
		vze_cs_signal(cs, beyond[i], 1, 0);
		EXPECT_FAULT(VZE_HW_FAULT_NON_CANONICAL, VZE_HW_ACCESS_WRITE,
			     VZE_HW_CMD_SEM_SIGNAL, beyond[i], 0);
	}
}

/* A range that runs over the end of the address space, or over the end of 64 bits. */
VZE_TEST(faults, range_beyond_the_end)
{
	struct vze_cs *cs = &self->gpu.cs;

	vze_cs_copy(cs, (1ULL << 48) - SZ_4K, VZE_VA, 2 * SZ_4K);
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, cs));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
	EXPECT_TRUE(self->state.reason == VZE_HW_FAULT_NON_CANONICAL ||
		    self->state.reason == VZE_HW_FAULT_NOT_PRESENT);
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	vze_cs_reset(cs);
	vze_cs_copy(cs, VZE_VA, ~0xfULL, 64);
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, cs));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
	EXPECT_EQ(VZE_HW_FAULT_NON_CANONICAL, self->state.reason);
	EXPECT_EQ(0, others_work(self));
}

VZE_TEST(faults, malformed)
{
	const uint64_t copy = VZE_HW_CMD_COPY | 4 << 16, fill = VZE_HW_CMD_FILL;
	const uint64_t region = VZE_HW_CMD_COPY_REGION | 10 << 16;
	const uint64_t flag = 1ULL << 32;
	const struct {
		uint32_t opcode;
		uint32_t count;
		uint64_t words[12];
	} table[] = {
		/* unknown opcodes */
		{ 10, 1, { 10 | 1 << 16 } },
		{ 0xffff, 1, { 0xffff | 1 << 16 } },
		/* lengths: none, too short, too long, past the end of the batch */
		{ VZE_HW_CMD_NOP, 1, { VZE_HW_CMD_NOP } },
		{ VZE_HW_CMD_NOP, 2, { VZE_HW_CMD_NOP | 2 << 16 } },
		{ VZE_HW_CMD_COPY, 4, { VZE_HW_CMD_COPY | 3 << 16, VZE_VA, VZE_VA + 8, 8 } },
		{ VZE_HW_CMD_COPY, 5, { VZE_HW_CMD_COPY | 5 << 16, VZE_VA, VZE_VA + 8, 8 } },
		{ VZE_HW_CMD_COPY, 3, { copy, VZE_VA, VZE_VA + 8 } },
		{ VZE_HW_CMD_TIMESTAMP, 3, { VZE_HW_CMD_TIMESTAMP | 3 << 16, VZE_VA } },
		{ VZE_HW_CMD_SEM_SIGNAL, 2, { VZE_HW_CMD_SEM_SIGNAL | 2 << 16, VZE_VA } },
		/* flags without meaning */
		{ VZE_HW_CMD_NOP, 1, { VZE_HW_CMD_NOP | 1 << 16 | flag } },
		{ VZE_HW_CMD_BARRIER, 1, { VZE_HW_CMD_BARRIER | 1 << 16 | flag } },
		{ VZE_HW_CMD_COPY, 4, { copy | flag, VZE_VA, VZE_VA + 8, 8 } },
		{ VZE_HW_CMD_SEM_SIGNAL, 3,
		  { VZE_HW_CMD_SEM_SIGNAL | 3 << 16 | flag << 1, VZE_VA, 1 } },
		{ VZE_HW_CMD_SEM_WAIT, 3, { VZE_HW_CMD_SEM_WAIT | 3 << 16 | flag, VZE_VA, 0 } },
		{ VZE_HW_CMD_SEM_WAIT, 3,
		  { VZE_HW_CMD_SEM_WAIT | 3 << 16 | (uint64_t)VZE_HW_CMD_WAIT_OP(6) << 32,
		    VZE_VA, 0 } },
		{ VZE_HW_CMD_SEM_WAIT, 3,
		  { VZE_HW_CMD_SEM_WAIT | 3 << 16 | (uint64_t)VZE_HW_CMD_WAIT_OP(7) << 32,
		    VZE_VA, 0 } },
		{ VZE_HW_CMD_SEM_WAIT, 3,
		  { VZE_HW_CMD_SEM_WAIT | 3 << 16 | flag << 7, VZE_VA, 0 } },
		/* sizes of nothing */
		{ VZE_HW_CMD_COPY, 4, { copy, VZE_VA, VZE_VA + 8, 0 } },
		{ VZE_HW_CMD_FILL, 5, { fill | 5 << 16, VZE_VA, 0, 1, 0x11 } },
		{ VZE_HW_CMD_FILL, 4, { fill | 4 << 16, VZE_VA, 8, 0 } },
		{ VZE_HW_CMD_COPY_REGION, 10,
		  { region, VZE_VA, VZE_VA + SZ_4K, 0, 1 | 1ULL << 32, 0, 0, 0, 0, 0 } },
		{ VZE_HW_CMD_COPY_REGION, 10,
		  { region, VZE_VA, VZE_VA + SZ_4K, 8, 0 | 1ULL << 32, 0, 0, 0, 0, 0 } },
		{ VZE_HW_CMD_COPY_REGION, 10, { region, VZE_VA, VZE_VA + SZ_4K, 8, 1 } },
		/* a fill whose length and pattern do not fit each other */
		{ VZE_HW_CMD_FILL, 5, { fill | 5 << 16, VZE_VA, 8, 9, 0x11 } },
		{ VZE_HW_CMD_FILL, 6, { fill | 6 << 16, VZE_VA, 8, 8, 0x11, 0x22 } },
		{ VZE_HW_CMD_FILL, 5, { fill | 5 << 16, VZE_VA, 8, 129, 0x11 } },
		{ VZE_HW_CMD_FILL, 5, { fill | 5 << 16, VZE_VA, 8, ~0U, 0x11 } },
		/* padding that is not zero */
		{ VZE_HW_CMD_FILL, 5, { fill | 5 << 16, VZE_VA, 8, 8 | 1ULL << 32, 0x11 } },
		{ VZE_HW_CMD_COPY_REGION, 10,
		  { region, VZE_VA, VZE_VA + SZ_4K, 8, 1 | 1ULL << 32, 0, 0, 0, 0, 1 } },
	};
	struct drm_vze_queue_state *state = &self->state;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		memset((void *)self->word, 0x3c, 64);
		vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
		vze_cs_words(&self->gpu.cs, table[i].words, table[i].count);
		EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs)) {
			TH_LOG("line %u", i);
		}
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, state));
		EXPECT_EQ(DRM_VZE_QUEUE_STATE_FAULTED, state->state);
		EXPECT_EQ(VZE_HW_FAULT_MALFORMED, state->reason) {
			TH_LOG("line %u", i);
		}
		EXPECT_EQ(1, state->command);
		EXPECT_EQ(self->gpu.cs.va + 8, state->va);
		EXPECT_EQ(self->gpu.cs.va, state->batch);
		EXPECT_TRUE(state->opcode == table[i].opcode || state->opcode == 0);
		/* Nothing of it was done. */
		EXPECT_EQ(-1, vze_words_check((void *)self->word, 64, 0x3c3c3c3c3c3c3c3cULL));
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		vze_cs_reset(&self->gpu.cs);
	}
	EXPECT_EQ(0, others_work(self));
}

VZE_TEST(faults, unaligned)
{
	struct vze_cs *cs = &self->gpu.cs;
	unsigned int i;

	for (i = 1; i < 8; i += 3) {
		vze_cs_signal(cs, VZE_VA + i, 1, 0);
		EXPECT_FAULT(VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_SEM_SIGNAL,
			     VZE_VA + i, 0);
		vze_cs_add(cs, VZE_VA + i, 1, 0);
		EXPECT_FAULT(VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_ATOMIC_ADD,
			     VZE_VA + i, 0);
		vze_cs_wait(cs, VZE_VA + i, VZE_HW_WAIT_EQ, 0);
		EXPECT_FAULT(VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_READ, VZE_HW_CMD_SEM_WAIT,
			     VZE_VA + i, 0);
		vze_cs_timestamp(cs, VZE_VA + i, 0);
		EXPECT_FAULT(VZE_HW_FAULT_UNALIGNED, VZE_HW_ACCESS_WRITE, VZE_HW_CMD_TIMESTAMP,
			     VZE_VA + i, 0);
	}
}

VZE_TEST(faults, too_large)
{
	struct vze_hw_cmd_copy_region region = {
		.dst = VZE_VA, .src = VZE_VA, .width = 1ULL << 40, .height = ~0U, .depth = ~0U,
	};
	uint64_t size[] = { self->device.max_transfer + 1, 1ULL << 63, ~0ULL };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(size); i++) {
		vze_cs_copy(&self->gpu.cs, VZE_VA, VZE_VA + 8, size[i]);
		EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
		EXPECT_EQ(VZE_HW_FAULT_TOO_LARGE, self->state.reason);
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		vze_cs_reset(&self->gpu.cs);
		vze_cs_fill(&self->gpu.cs, VZE_VA, size[i], "x", 1);
		EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
		EXPECT_EQ(VZE_HW_FAULT_TOO_LARGE, self->state.reason);
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		vze_cs_reset(&self->gpu.cs);
	}
	/* The product overflows 64 bits. */
	vze_cs_region(&self->gpu.cs, &region);
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
	EXPECT_EQ(VZE_HW_FAULT_TOO_LARGE, self->state.reason);
	EXPECT_EQ(0, others_work(self));
}

VZE_TEST(faults, fetch)
{
	struct vze_cs gone = self->gpu.cs;

	/* A batch that is not there at all, and one that runs over the end. */
	gone.va = GAP;
	gone.used = 2;
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &gone));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
	EXPECT_EQ(VZE_HW_FAULT_NOT_PRESENT, self->state.reason);
	EXPECT_EQ(VZE_HW_ACCESS_FETCH, self->state.access);
	EXPECT_EQ(GAP, self->state.va);
	EXPECT_EQ(GAP, self->state.batch);
	EXPECT_EQ(0, self->state.command);
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));

	memset((void *)self->gpu.cs.base, 0, SZ_1M);
	while (self->gpu.cs.used < SZ_1M / 8)
		vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
	gone.va = VZE_VA_CS + SZ_1M - 32;
	gone.used = 8;
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &gone));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &self->state));
	EXPECT_EQ(VZE_HW_FAULT_NOT_PRESENT, self->state.reason);
	EXPECT_EQ(VZE_HW_ACCESS_FETCH, self->state.access);
	EXPECT_EQ(VZE_VA_CS + SZ_1M, self->state.va);
	EXPECT_EQ(0, others_work(self));
}

VZE_TEST(faults, nearest_allocation)
{
	const uint64_t end = VZE_VA + SIZE;
	const struct {
		uint64_t va;
		uint32_t kind;
		uint64_t addr;
		uint64_t distance;
	} table[] = {
		{ end, DRM_VZE_NEAREST_AFTER, VZE_VA, 0 },
		{ end + 3, DRM_VZE_NEAREST_AFTER, VZE_VA, 3 },
		{ end + 5 * SZ_4K, DRM_VZE_NEAREST_AFTER, VZE_VA, 5 * SZ_4K },
		{ VZE_VA - 16, DRM_VZE_NEAREST_BEFORE, VZE_VA, 16 },
		{ VZE_VA - SZ_4K, DRM_VZE_NEAREST_BEFORE, VZE_VA, SZ_4K },
		{ READ_ONLY - 1000, DRM_VZE_NEAREST_BEFORE, READ_ONLY, 1000 },
		{ READ_ONLY + 0x123, DRM_VZE_NEAREST_INSIDE, READ_ONLY, 0x123 },
	};
	struct drm_vze_queue_state *s = &self->state;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		vze_cs_fill(&self->gpu.cs, table[i].va, 8, "x", 1);
		EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, s));
		EXPECT_EQ(table[i].va, s->va);
		EXPECT_EQ(table[i].kind, s->nearest_kind) {
			TH_LOG("line %u", i);
		}
		EXPECT_EQ(table[i].addr, s->nearest_addr);
		EXPECT_EQ(SIZE, s->nearest_size);
		EXPECT_EQ(table[i].distance, s->nearest_distance) {
			TH_LOG("line %u", i);
		}
		EXPECT_EQ(DRM_VZE_PLACEMENT_SYSTEM, s->nearest_placement);
		ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
		vze_cs_reset(&self->gpu.cs);
	}
}

/* Jobs behind the one that faults do not run, and say so. */
VZE_TEST(faults, jobs_behind)
{
	enum { JOBS = 10 };
	uint32_t syncobj[JOBS], i;
	struct vze_cs cs = self->gpu.cs;

	vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	vze_cs_fill(&cs, GAP, 8, "x", 1);
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &cs, syncobj[i]));
		cs.va += cs.used * 8;
		cs.base += cs.used;
		vze_cs_reset(&cs);
		vze_cs_add(&cs, VZE_VA + 8, 1, 0);
	}
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
		EXPECT_EQ(i ? -ECANCELED : -EFAULT, vze_syncobj_status(self->gpu.fd, syncobj[i])) {
			TH_LOG("job %u", i);
		}
	}
	EXPECT_EQ(0, self->word[1]);
	EXPECT_EQ(0, others_work(self));
}

/* Many queues fault at once; each has its own record, the device goes on. */
VZE_TEST(faults, many_at_once)
{
	enum { QUEUES = 64 };
	uint32_t queue[QUEUES], syncobj[QUEUES], i;
	struct vze_cs cs = self->gpu.cs;

	for (i = 0; i < QUEUES; i++) {
		ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue[i]));
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &syncobj[i]));
		vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
		vze_cs_fill(&cs, GAP + i * SZ_4K, 8, "x", 1);
		ASSERT_EQ(0, vze_submit(self->gpu.fd, queue[i], &cs, syncobj[i]));
		cs.va += cs.used * 8;
		cs.base += cs.used;
		vze_cs_reset(&cs);
	}
	self->word[0] = 1;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	for (i = 0; i < QUEUES; i++) {
		ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, syncobj[i], VZE_WAIT_MS));
		EXPECT_EQ(-EFAULT, vze_syncobj_status(self->gpu.fd, syncobj[i]));
		ASSERT_EQ(0, vze_queue_state(self->gpu.fd, queue[i], &self->state));
		EXPECT_EQ(DRM_VZE_QUEUE_STATE_FAULTED, self->state.state);
		EXPECT_EQ(GAP + i * SZ_4K, self->state.va);
		EXPECT_EQ(1, self->state.command);
	}
	EXPECT_EQ(0, others_work(self));
}

TEST_HARNESS_MAIN
