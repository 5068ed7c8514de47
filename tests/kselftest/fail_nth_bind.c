// SPDX-License-Identifier: MIT
/* Failure injection: VM_BIND. */
#include <errno.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

/*
 * What is mapped before each call: an object in VRAM of two large leaves at A_AT, one in system
 * memory at B_AT. NEW_AT is far off, where no table exists.
 */
#define OBJECT		(2 * SZ_2M)
#define A_AT		VZE_VA
#define B_AT		(VZE_VA + 3 * SZ_2M)
#define NEW_AT		(VZE_VA + 1024 * SZ_1G)
#define IN_A		0xaaaaULL
#define IN_B		0xbbbbULL
#define WORD_AT		(VZE_VA_CS + 4 * SZ_2M)
#define PARK_AT		(VZE_VA_CS + SZ_2M)

static int layout(struct vze_fail *f)
{
	const struct drm_vze_bind_op ops[] = {
		{ .op = DRM_VZE_BIND_UNMAP, .range = 2048 * SZ_1G, .addr = VZE_VA },
		{ .op = DRM_VZE_BIND_MAP, .handle = f->a, .range = OBJECT, .addr = A_AT },
		{ .op = DRM_VZE_BIND_MAP, .handle = f->b, .range = OBJECT, .addr = B_AT },
	};

	return vze_vm_bind(f->gpu.fd, f->gpu.vm, ops, ARRAY_LEN(ops));
}

static void before_is(struct vze_fail *f, uint64_t va, uint64_t word)
{
	f->before[f->num_before++] = (struct vze_fail_probe) { va, word };
}

static void after_is(struct vze_fail *f, uint64_t va, uint64_t word)
{
	f->after[f->num_after++] = (struct vze_fail_probe) { va, word };
}

static int setup_bind(struct vze_fail *f)
{
	int ret = vze_gem_create(f->gpu.fd, OBJECT, DRM_VZE_PLACEMENT_VRAM, 0, &f->a);

	if (!ret)
		ret = vze_gem_create(f->gpu.fd, OBJECT, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->b);
	if (!ret)
		ret = layout(f);
	if (!ret)
		ret = vze_gpu_fill(&f->gpu, A_AT, OBJECT, IN_A);
	if (!ret)
		ret = vze_gpu_fill(&f->gpu, B_AT, OBJECT, IN_B);
	before_is(f, A_AT, IN_A);
	before_is(f, A_AT + SZ_2M + SZ_64K, IN_A);
	before_is(f, A_AT + OBJECT - 8, IN_A);
	before_is(f, B_AT, IN_B);
	before_is(f, B_AT + OBJECT - 8, IN_B);
	return ret;
}

static void add_op(struct vze_fail *f, uint32_t op, uint32_t flags, uint32_t handle,
		   uint64_t offset, uint64_t range, uint64_t addr)
{
	f->ops[f->num_ops++] = (struct drm_vze_bind_op) {
		.op = op, .flags = flags, .handle = handle,
		.offset = offset, .range = range, .addr = addr,
	};
}

static int call_bind(struct vze_fail *f)
{
	return vze_vm_bind_syncs(f->gpu.fd, f->gpu.vm, f->flags, f->ops, f->num_ops, f->syncs,
				 f->num_syncs);
}

static const char *done_bind(struct vze_fail *f)
{
	return vze_fail_probe(f, f->after, f->num_after);
}

static const char *unchanged_bind(struct vze_fail *f)
{
	return vze_fail_probe(f, f->before, f->num_before);
}

#define BIND_FORM(name)				\
FAIL_FORM(name) = {				\
	.setup = setup_##name,			\
	.call = call_bind,			\
	.done = done_bind,			\
	.unchanged = unchanged_bind,		\
	.after = layout,			\
}

static int setup_map_small(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, SZ_4K, SZ_64K, NEW_AT + SZ_4K);
	before_is(f, NEW_AT + SZ_4K, VZE_FAIL_HOLE);
	after_is(f, NEW_AT + SZ_4K, IN_B);
	return ret;
}

BIND_FORM(map_small);

static int setup_map_large(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_MAP, 0, f->a, 0, OBJECT, NEW_AT);
	after_is(f, NEW_AT, IN_A);
	after_is(f, NEW_AT + OBJECT - 8, IN_A);
	return ret;
}

BIND_FORM(map_large);

static int setup_map_userptr(struct vze_fail *f)
{
	int ret = setup_bind(f);

	f->mem = vze_fail_anon(f, SZ_64K, SZ_64K);
	if (!f->mem)
		return -ENOMEM;
	memset(f->mem, 0x77, SZ_64K);
	if (!ret)
		ret = vze_userptr(f->gpu.fd, f->mem, SZ_64K, 0, &f->c);
	add_op(f, DRM_VZE_BIND_MAP, 0, f->c, 0, SZ_64K, NEW_AT);
	after_is(f, NEW_AT, 0x7777777777777777ULL);
	return ret;
}

BIND_FORM(map_userptr);

static int setup_map_no_access(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_MAP, DRM_VZE_BIND_NO_ACCESS, f->b, 0, SZ_64K, A_AT + SZ_64K);
	after_is(f, A_AT + SZ_64K, VZE_FAIL_HOLE);
	after_is(f, A_AT, IN_A);
	return ret;
}

BIND_FORM(map_no_access);

/* Into the middle of a large leaf, which is split, and of a mapping, which becomes two. */
static int setup_map_over(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, 0, SZ_64K, A_AT + SZ_2M + SZ_64K);
	after_is(f, A_AT + SZ_2M + SZ_64K, IN_B);
	after_is(f, A_AT + SZ_2M + 2 * SZ_64K, IN_A);
	after_is(f, A_AT + SZ_2M + SZ_64K - 8, IN_A);
	return ret;
}

BIND_FORM(map_over);

static int setup_unmap(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, OBJECT, B_AT);
	after_is(f, B_AT, VZE_FAIL_HOLE);
	after_is(f, A_AT, IN_A);
	return ret;
}

BIND_FORM(unmap);

static int setup_unmap_split(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, SZ_4K, A_AT + SZ_2M + SZ_64K);
	after_is(f, A_AT + SZ_2M + SZ_64K, VZE_FAIL_HOLE);
	after_is(f, A_AT + SZ_2M + SZ_64K - 8, IN_A);
	after_is(f, A_AT + SZ_2M + SZ_64K + SZ_4K, IN_A);
	return ret;
}

BIND_FORM(unmap_split);

/* A whole mapping, and a part of one: the device may read it but not write. */
static const char *done_protect(struct vze_fail *f)
{
	const struct drm_vze_bind_op *op = &f->ops[0];
	const char *why = vze_fail_probe(f, f->after, f->num_after);
	int ret;

	if (why)
		return why;
	ret = vze_gpu_fill(&f->gpu, op->addr, 8, 1);
	if (ret != -EFAULT)
		return vze_fail_why(f, "writing to what is read-only: %d", ret);
	ret = vze_gpu_new_queue(&f->gpu);
	return ret ? vze_fail_why(f, "no new queue: %d", ret) : NULL;
}

static const char *unchanged_protect(struct vze_fail *f)
{
	const struct drm_vze_bind_op *op = &f->ops[0];
	int ret = vze_gpu_fill(&f->gpu, op->addr, 8, f->after[0].word);

	if (ret)
		return vze_fail_why(f, "writing to what is writable: %d", ret);
	return vze_fail_probe(f, f->before, f->num_before);
}

static int setup_protect(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_PROTECT, DRM_VZE_BIND_READONLY, 0, 0, OBJECT, B_AT);
	after_is(f, B_AT, IN_B);
	return ret;
}

FAIL_FORM(protect) = {
	.setup = setup_protect,
	.call = call_bind,
	.done = done_protect,
	.unchanged = unchanged_protect,
	.after = layout,
};

static int setup_protect_split(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_PROTECT, DRM_VZE_BIND_READONLY, 0, 0, SZ_64K,
	       A_AT + SZ_2M + SZ_64K);
	after_is(f, A_AT + SZ_2M + SZ_64K, IN_A);
	return ret;
}

FAIL_FORM(protect_split) = {
	.setup = setup_protect_split,
	.call = call_bind,
	.done = done_protect,
	.unchanged = unchanged_protect,
	.after = layout,
};

/* Every kind of operation, some on what an earlier one has made. */
static int setup_array(struct vze_fail *f)
{
	int ret = setup_bind(f);

	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, SZ_2M, SZ_2M, A_AT);
	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, SZ_4K, A_AT + SZ_2M + SZ_64K);
	add_op(f, DRM_VZE_BIND_MAP, 0, f->a, 0, SZ_2M, A_AT + OBJECT);
	add_op(f, DRM_VZE_BIND_PROTECT, DRM_VZE_BIND_READONLY, 0, 0, SZ_64K, B_AT + SZ_4K);
	add_op(f, DRM_VZE_BIND_MAP, DRM_VZE_BIND_NO_ACCESS, f->a, 0, SZ_64K, B_AT + SZ_1M);
	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, 16 * SZ_2M, A_AT);
	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, 0, OBJECT, NEW_AT);
	add_op(f, DRM_VZE_BIND_MAP, 0, f->a, 0, SZ_4K, A_AT);
	after_is(f, A_AT, IN_A);
	after_is(f, A_AT + SZ_4K, VZE_FAIL_HOLE);
	after_is(f, NEW_AT, IN_B);
	return ret;
}

BIND_FORM(array);

static int setup_array_long(struct vze_fail *f)
{
	int ret = setup_bind(f);
	unsigned int i;

	for (i = 0; i < VZE_FAIL_MAX_OPS; i++)
		add_op(f, DRM_VZE_BIND_MAP, 0, f->b, i * SZ_4K, SZ_4K, NEW_AT + i * 2 * SZ_4K);
	after_is(f, NEW_AT, IN_B);
	after_is(f, NEW_AT + (VZE_FAIL_MAX_OPS - 1) * 2 * SZ_4K, IN_B);
	return ret;
}

BIND_FORM(array_long);

/* -------------------------------------------------------- with syncobjs -- */

/* A binary syncobj and a timeline are to be signalled; @wait is waited for. */
static int setup_syncs(struct vze_fail *f)
{
	int ret = setup_map_over(f);

	if (!ret)
		ret = vze_syncobj_create(f->gpu.fd, true, &f->syncs_in[0]);
	if (!ret)
		ret = vze_syncobj_create(f->gpu.fd, false, &f->syncs_out[0]);
	if (!ret)
		ret = vze_syncobj_create(f->gpu.fd, false, &f->syncs_out[1]);
	f->syncs[0].handle = f->syncs_in[0];
	f->syncs[1].handle = f->syncs_out[0];
	f->syncs[1].flags = DRM_VZE_SYNC_SIGNAL;
	f->syncs[2].handle = f->syncs_out[1];
	f->syncs[2].flags = DRM_VZE_SYNC_SIGNAL | DRM_VZE_SYNC_TIMELINE;
	f->num_syncs = 3;
	return ret;
}

static int before_syncs(struct vze_fail *f)
{
	f->syncs[2].point = ++f->points_out;
	return vze_syncobj_reset(f->gpu.fd, f->syncs_out[0]);
}

static const char *not_signalled(struct vze_fail *f)
{
	int ret = vze_syncobj_wait(f->gpu.fd, f->syncs_out[0], 1);

	if (ret == -ETIME)
		ret = vze_timeline_wait(f->gpu.fd, f->syncs_out[1], f->points_out, 1);
	return ret == -ETIME ? NULL : vze_fail_why(f, "waiting for what is not signalled: %d", ret);
}

static const char *signalled(struct vze_fail *f)
{
	int ret = vze_syncobj_wait(f->gpu.fd, f->syncs_out[0], VZE_WAIT_MS);

	if (!ret)
		ret = vze_timeline_wait(f->gpu.fd, f->syncs_out[1], f->points_out, VZE_WAIT_MS);
	if (ret)
		return vze_fail_why(f, "waiting for what is signalled: %d", ret);
	ret = vze_syncobj_status(f->gpu.fd, f->syncs_out[0]);
	return ret == 1 ? NULL : vze_fail_why(f, "the fence has the error %d", ret);
}

static const char *done_syncs(struct vze_fail *f)
{
	const char *why = signalled(f);

	return why ? why : done_bind(f);
}

static const char *unchanged_syncs(struct vze_fail *f)
{
	const char *why = not_signalled(f);

	return why ? why : unchanged_bind(f);
}

FAIL_FORM(syncs) = {
	.setup = setup_syncs,
	.before = before_syncs,
	.call = call_bind,
	.done = done_syncs,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* Asynchronous binds wait for a parked job. */
static int setup_async_split(struct vze_fail *f)
{
	int ret = setup_syncs(f);

	f->flags = DRM_VZE_VM_BIND_ASYNC;
	if (!ret)
		ret = vze_gem_create(f->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->c);
	f->word = vze_fail_map(f, f->c, SZ_4K);
	if (!ret && !f->word)
		ret = -ENOMEM;
	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, f->c, 0, SZ_4K, WORD_AT, 0);
	if (!ret)
		ret = vze_queue_create(f->gpu.fd, f->gpu.vm, &f->parker);
	if (!ret)
		ret = vze_cs_create(&f->gpu, &f->cs, PARK_AT, SZ_4K);
	if (!ret)
		vze_cs_wait(&f->cs, WORD_AT, VZE_HW_WAIT_EQ, 1);
	return ret;
}

static int setup_async_map(struct vze_fail *f)
{
	int ret = setup_async_split(f);

	f->num_ops = 0;
	f->num_after = 0;
	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, SZ_4K, SZ_64K, NEW_AT + SZ_4K);
	after_is(f, NEW_AT + SZ_4K, IN_B);
	return ret;
}

static int before_async(struct vze_fail *f)
{
	int ret = before_syncs(f);

	f->word[0] = 0;
	if (!ret)
		ret = vze_syncobj_reset(f->gpu.fd, f->syncs_in[0]);
	return ret ? ret : vze_submit(f->gpu.fd, f->parker, &f->cs, f->syncs_in[0]);
}

/* Nothing has happened until the gate is opened. */
static const char *done_async(struct vze_fail *f)
{
	const char *why = unchanged_syncs(f);
	int ret;

	if (why)
		return why;
	f->word[0] = 1;
	ret = vze_fence_wake(f->gpu.fd);
	if (ret)
		return vze_fail_why(f, "opening the gate: %d", ret);
	return done_syncs(f);
}

FAIL_FORM(async_map) = {
	.setup = setup_async_map,
	.before = before_async,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

FAIL_FORM(async_split) = {
	.setup = setup_async_split,
	.before = before_async,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* Behind a pending bind that will map a large leaf where this one maps small ones. */
static int setup_async_behind(struct vze_fail *f)
{
	int ret = setup_async_split(f);

	f->num_ops = 0;
	f->num_after = 0;
	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, 0, SZ_64K, NEW_AT + SZ_64K);
	after_is(f, NEW_AT, IN_A);
	after_is(f, NEW_AT + SZ_64K, IN_B);
	after_is(f, NEW_AT + SZ_2M - 8, IN_A);
	return ret;
}

static int before_async_behind(struct vze_fail *f)
{
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP, .handle = f->a, .range = SZ_2M, .addr = NEW_AT,
	};
	int ret = before_async(f);

	return ret ? ret : vze_vm_bind_syncs(f->gpu.fd, f->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
					     f->syncs, 1);
}

FAIL_FORM(async_behind) = {
	.setup = setup_async_behind,
	.before = before_async_behind,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* A deferred free: the mapping is all that is left of the object. */
static int setup_deferred(struct vze_fail *f)
{
	int ret = setup_async_split(f);

	f->flags = DRM_VZE_VM_BIND_DEFER;
	f->num_ops = 0;
	f->num_after = 0;
	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, SZ_64K, NEW_AT);
	after_is(f, NEW_AT, VZE_FAIL_HOLE);
	before_is(f, NEW_AT, 0);
	return ret;
}

static int before_deferred(struct vze_fail *f)
{
	uint32_t handle;
	int ret = before_async(f);

	if (!ret)
		ret = vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &handle);
	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, handle, 0, SZ_64K, NEW_AT, 0);
	return ret ? ret : vze_gem_close(f->gpu.fd, handle);
}

FAIL_FORM(deferred) = {
	.setup = setup_deferred,
	.before = before_deferred,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* A part of a large leaf, behind a bind that is yet to map it, and behind a job. */
static int setup_deferred_part(struct vze_fail *f)
{
	int ret = setup_deferred(f);

	f->num_ops = 0;
	f->num_before = 0;
	f->num_after = 0;
	f->syncs[0].flags = DRM_VZE_SYNC_QUEUE;
	f->syncs[0].handle = f->parker;
	add_op(f, DRM_VZE_BIND_UNMAP, 0, 0, 0, SZ_64K, NEW_AT + SZ_64K);
	before_is(f, A_AT, IN_A);
	before_is(f, NEW_AT + SZ_64K, VZE_FAIL_HOLE);
	after_is(f, NEW_AT, IN_A);
	after_is(f, NEW_AT + SZ_64K, VZE_FAIL_HOLE);
	after_is(f, NEW_AT + 2 * SZ_64K, IN_A);
	return ret;
}

FAIL_FORM(deferred_part) = {
	.setup = setup_deferred_part,
	.before = before_async_behind,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* A map that comes after a deferred free of its range. */
static int setup_behind_deferred(struct vze_fail *f)
{
	int ret = setup_async_split(f);

	f->num_ops = 0;
	f->num_after = 0;
	add_op(f, DRM_VZE_BIND_MAP, 0, f->b, 0, SZ_64K, NEW_AT);
	before_is(f, NEW_AT, 0);
	after_is(f, NEW_AT, IN_B);
	return ret;
}

static int before_behind_deferred(struct vze_fail *f)
{
	const struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_UNMAP, .range = SZ_64K, .addr = NEW_AT,
	};
	int ret = before_deferred(f);

	return ret ? ret : vze_vm_bind_syncs(f->gpu.fd, f->gpu.vm, DRM_VZE_VM_BIND_DEFER, &op, 1,
					     f->syncs, 1);
}

FAIL_FORM(behind_deferred) = {
	.setup = setup_behind_deferred,
	.before = before_behind_deferred,
	.call = call_bind,
	.done = done_async,
	.unchanged = unchanged_syncs,
	.after = layout,
};

/* No operation: the call waits for a job that has ended, and signals. */
static int setup_wait_only(struct vze_fail *f)
{
	int ret = setup_syncs(f);

	f->num_ops = 0;
	f->num_after = 0;
	after_is(f, A_AT, IN_A);
	f->syncs[0].flags = DRM_VZE_SYNC_QUEUE;
	return ret;
}

/* The probes of what is not mapped take queues. */
static int before_wait_only(struct vze_fail *f)
{
	f->syncs[0].handle = f->gpu.queue;
	return before_syncs(f);
}

FAIL_FORM(wait_only) = {
	.setup = setup_wait_only,
	.before = before_wait_only,
	.call = call_bind,
	.done = done_syncs,
	.unchanged = unchanged_syncs,
	.after = layout,
};

VZE_FAIL_PROGRAM(VZE_FAIL_BIND_FORMS)
