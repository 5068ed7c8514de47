// SPDX-License-Identifier: MIT
/* Failure injection: jobs, queues and user fences. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

#define WORD_AT		(VZE_VA_CS + 4 * SZ_2M)
#define PARK_AT		(VZE_VA_CS + SZ_2M)
#define MANY_BATCHES	64

static struct drm_vze_batch batches[MANY_BATCHES];
static unsigned int num_batches;

/* Every batch adds one to a word, which so counts the batches that ever ran. */
static int setup_exec(struct vze_fail *f)
{
	int ret = vze_gem_create(f->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->a);

	if (ret)
		return ret;
	f->word = vze_fail_map(f, f->a, SZ_4K);
	if (!f->word)
		return -ENOMEM;
	ret = vze_map(f->gpu.fd, f->gpu.vm, f->a, 0, SZ_4K, WORD_AT, 0);
	if (!ret)
		ret = vze_queue_create(f->gpu.fd, f->gpu.vm, &f->parker);
	if (!ret)
		ret = vze_cs_create(&f->gpu, &f->cs, PARK_AT, SZ_4K);
	return ret;
}

static int use_batches(struct vze_fail *f, unsigned int num)
{
	unsigned int i;

	vze_cs_add(&f->cs, WORD_AT, 1, 0);
	memset(batches, 0, sizeof(batches));
	for (i = 0; i < num; i++) {
		batches[i].addr = f->cs.va;
		batches[i].size = f->cs.used * 8;
	}
	num_batches = num;
	return 0;
}

static int call_exec(struct vze_fail *f)
{
	struct drm_vze_exec args = {
		.queue_id = f->parker,
		.num_batches = num_batches,
		.num_syncs = f->num_syncs,
		.batches = num_batches ? (uintptr_t)batches : 0,
		.syncs = (uintptr_t)f->syncs,
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_EXEC, &args);

	f->made64 = args.seqno;
	return ret;
}

/*
 * The word when the queue has done all its work, which one more job without batches tells. Its
 * number tells how many jobs there were.
 */
static const char *ran(struct vze_fail *f, uint64_t expected)
{
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL };
	uint64_t seqno = 0;
	int ret = vze_syncobj_create(f->gpu.fd, false, &sync.handle);

	if (!ret)
		ret = vze_exec(f->gpu.fd, f->parker, NULL, &sync, 1, &seqno);
	if (!ret)
		ret = vze_syncobj_wait(f->gpu.fd, sync.handle, VZE_WAIT_MS);
	if (!ret)
		ret = vze_syncobj_destroy(f->gpu.fd, sync.handle);
	if (ret)
		return vze_fail_why(f, "waiting for the queue: %d", ret);
	if (seqno != ++f->count)
		return vze_fail_why(f, "%llu jobs, not %llu", (unsigned long long)seqno,
				    (unsigned long long)f->count);
	return f->word[0] == expected ? NULL :
	       vze_fail_why(f, "%llu batches ran, not %llu", (unsigned long long)f->word[0],
			    (unsigned long long)expected);
}

/* A job that failed to be submitted has used up no number. */
static const char *done_exec(struct vze_fail *f)
{
	f->count++;
	if (f->made64 != f->count)
		return vze_fail_why(f, "seqno %llu, not %llu", (unsigned long long)f->made64,
				    (unsigned long long)f->count);
	f->points_in += num_batches;
	return ran(f, f->points_in);
}

static const char *unchanged_exec(struct vze_fail *f)
{
	return ran(f, f->points_in);
}

static int setup_one_batch(struct vze_fail *f)
{
	int ret = setup_exec(f);

	return ret ? ret : use_batches(f, 1);
}

FAIL_FORM(one_batch) = {
	.setup = setup_one_batch,
	.call = call_exec,
	.done = done_exec,
	.unchanged = unchanged_exec,
};

static int setup_many_batches(struct vze_fail *f)
{
	int ret = setup_exec(f);

	return ret ? ret : use_batches(f, MANY_BATCHES);
}

FAIL_FORM(many_batches) = {
	.setup = setup_many_batches,
	.call = call_exec,
	.done = done_exec,
	.unchanged = unchanged_exec,
};

static int setup_no_batch(struct vze_fail *f)
{
	int ret = setup_exec(f);

	return ret ? ret : use_batches(f, 0);
}

FAIL_FORM(no_batch) = {
	.setup = setup_no_batch,
	.call = call_exec,
	.done = done_exec,
	.unchanged = unchanged_exec,
};

/* -------------------------------------------------------- with syncobjs -- */

/* Waits for a binary syncobj and a timeline of the CPU, signals one of each. */
static int setup_syncs(struct vze_fail *f)
{
	int ret = setup_one_batch(f);
	unsigned int i;

	for (i = 0; !ret && i < 2; i++) {
		ret = vze_syncobj_create(f->gpu.fd, !i, &f->syncs_in[i]);
		if (!ret)
			ret = vze_syncobj_create(f->gpu.fd, false, &f->syncs_out[i]);
	}
	f->syncs[0].handle = f->syncs_in[0];
	f->syncs[1].handle = f->syncs_in[1];
	f->syncs[1].flags = DRM_VZE_SYNC_TIMELINE;
	f->syncs[1].point = 1;
	f->syncs[2].handle = f->syncs_out[0];
	f->syncs[2].flags = DRM_VZE_SYNC_SIGNAL;
	f->syncs[3].handle = f->syncs_out[1];
	f->syncs[3].flags = DRM_VZE_SYNC_SIGNAL | DRM_VZE_SYNC_TIMELINE;
	f->num_syncs = 4;
	return ret ? ret : vze_timeline_signal(f->gpu.fd, f->syncs_in[1], 1);
}

/* The array is read in pieces: more than one. */
static int setup_many_syncs(struct vze_fail *f)
{
	int ret = setup_syncs(f);

	while (f->num_syncs < VZE_FAIL_MAX_SYNCS)
		f->syncs[f->num_syncs++] = f->syncs[0];
	return ret;
}

static int before_syncs(struct vze_fail *f)
{
	f->syncs[3].point = ++f->points_out;
	return vze_syncobj_reset(f->gpu.fd, f->syncs_out[0]);
}

static const char *done_syncs(struct vze_fail *f)
{
	const char *why = done_exec(f);
	int ret;

	if (why)
		return why;
	ret = vze_syncobj_wait(f->gpu.fd, f->syncs_out[0], VZE_WAIT_MS);
	if (!ret)
		ret = vze_timeline_wait(f->gpu.fd, f->syncs_out[1], f->points_out, VZE_WAIT_MS);
	return ret ? vze_fail_why(f, "waiting for what is signalled: %d", ret) : NULL;
}

static const char *unchanged_syncs(struct vze_fail *f)
{
	int ret = vze_syncobj_wait(f->gpu.fd, f->syncs_out[0], 1);

	if (ret == -ETIME)
		ret = vze_timeline_wait(f->gpu.fd, f->syncs_out[1], f->points_out, 1);
	if (ret != -ETIME)
		return vze_fail_why(f, "waiting for what is not signalled: %d", ret);
	return unchanged_exec(f);
}

FAIL_FORM(syncs) = {
	.setup = setup_syncs,
	.before = before_syncs,
	.call = call_exec,
	.done = done_syncs,
	.unchanged = unchanged_syncs,
};

FAIL_FORM(many_syncs) = {
	.setup = setup_many_syncs,
	.before = before_syncs,
	.call = call_exec,
	.done = done_syncs,
	.unchanged = unchanged_syncs,
};

/* --------------------------------------------------------------- queues -- */

static int call_queue_create(struct vze_fail *f)
{
	return vze_queue_create(f->gpu.fd, f->gpu.vm, &f->made);
}

static const char *done_queue_create(struct vze_fail *f)
{
	int ret = vze_run(f->gpu.fd, f->made, &f->cs);

	return ret ? vze_fail_why(f, "a job on the new queue: %d", ret) : NULL;
}

static int destroy_made(struct vze_fail *f)
{
	return vze_queue_destroy(f->gpu.fd, f->made);
}

FAIL_FORM(queue_create) = {
	.setup = setup_one_batch,
	.call = call_queue_create,
	.done = done_queue_create,
	.after = destroy_made,
};

/*
 * The first queue with its hardware id, as long as ids are left that no queue ever had:
 * the id's ring is made, too.
 */
FAIL_FORM(queue_create_ring) = {
	.setup = setup_one_batch,
	.grows = true,
	.call = call_queue_create,
	.done = done_queue_create,
};

static const char *done_queue_destroy(struct vze_fail *f)
{
	struct drm_vze_queue_state state;
	int ret = vze_queue_state(f->gpu.fd, f->made, &state);

	return ret == -ENOENT ? NULL : vze_fail_why(f, "state of the queue: %d", ret);
}

FAIL_FORM(queue_destroy) = {
	.setup = setup_one_batch,
	.before = call_queue_create,
	.call = destroy_made,
	.done = done_queue_destroy,
};

static int setup_busy(struct vze_fail *f)
{
	int ret = setup_exec(f);

	vze_cs_wait(&f->cs, WORD_AT, VZE_HW_WAIT_EQ, 1);
	return ret ? ret : vze_syncobj_create(f->gpu.fd, false, &f->syncs_out[0]);
}

static int before_busy(struct vze_fail *f)
{
	int ret = vze_syncobj_reset(f->gpu.fd, f->syncs_out[0]);

	if (!ret)
		ret = call_queue_create(f);
	return ret ? ret : vze_submit(f->gpu.fd, f->made, &f->cs, f->syncs_out[0]);
}

static const char *done_busy(struct vze_fail *f)
{
	int ret = vze_syncobj_wait(f->gpu.fd, f->syncs_out[0], VZE_WAIT_MS);

	if (!ret)
		ret = vze_syncobj_status(f->gpu.fd, f->syncs_out[0]);
	return ret == -ECANCELED ? done_queue_destroy(f) :
	       vze_fail_why(f, "the fence of the stopped job: %d", ret);
}

FAIL_FORM(queue_destroy_busy) = {
	.setup = setup_busy,
	.before = before_busy,
	.call = destroy_made,
	.done = done_busy,
};

static int call_queue_state(struct vze_fail *f)
{
	struct drm_vze_queue_state state;
	int ret = vze_queue_state(f->gpu.fd, f->parker, &state);

	f->made = state.state;
	f->made64 = state.va;
	return ret;
}

static const char *done_queue_state(struct vze_fail *f)
{
	return f->made == DRM_VZE_QUEUE_STATE_OK ? NULL : vze_fail_why(f, "state %u", f->made);
}

FAIL_FORM(queue_state) = {
	.setup = setup_exec,
	.call = call_queue_state,
	.done = done_queue_state,
};

static int setup_faulted(struct vze_fail *f)
{
	int ret = setup_exec(f);

	vze_cs_add(&f->cs, VZE_VA, 1, 0);
	if (!ret)
		ret = vze_run(f->gpu.fd, f->parker, &f->cs);
	return ret == -EFAULT ? 0 : ret ? ret : -EPROTO;
}

static const char *done_faulted(struct vze_fail *f)
{
	return f->made == DRM_VZE_QUEUE_STATE_FAULTED && f->made64 == VZE_VA ? NULL :
	       vze_fail_why(f, "state %u, fault at %#llx", f->made,
			    (unsigned long long)f->made64);
}

FAIL_FORM(queue_state_faulted) = {
	.setup = setup_faulted,
	.call = call_queue_state,
	.done = done_faulted,
};

/* ---------------------------------------------------------- user fences -- */

static int call_fence_wait(struct vze_fail *f)
{
	return vze_fence_wait(f->gpu.fd, (const void *)f->word, VZE_HW_WAIT_EQ, 0, 0, -1);
}

FAIL_FORM(fence_wait) = {
	.setup = setup_exec,
	.call = call_fence_wait,
};

/* Sleeps until a job has stored to the word. */
static int before_fence_wait_queue(struct vze_fail *f)
{
	return call_exec(f);
}

static int call_fence_wait_queue(struct vze_fail *f)
{
	return vze_fence_wait(f->gpu.fd, (const void *)f->word, VZE_HW_WAIT_GE,
			      f->points_in + 1, f->parker, -1);
}

static int after_fence_wait_queue(struct vze_fail *f)
{
	f->points_in++;
	return vze_run(f->gpu.fd, f->parker, NULL);
}

FAIL_FORM(fence_wait_queue) = {
	.setup = setup_one_batch,
	.before = before_fence_wait_queue,
	.call = call_fence_wait_queue,
	.after = after_fence_wait_queue,
};

static int call_fence_wake(struct vze_fail *f)
{
	return vze_fence_wake(f->gpu.fd);
}

FAIL_FORM(fence_wake) = {
	.call = call_fence_wake,
};

VZE_FAIL_PROGRAM(VZE_FAIL_EXEC_FORMS)
