// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays of syncobjs and jobs, as EXEC and VM_BIND take them.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_syncobj.h>
#include <drm/vze_drm.h>

#include "vze_device.h"
#include "vze_queue.h"
#include "vze_sync.h"

/* The user's array is read in pieces, so that its size costs no kernel memory. */
#define SYNC_BATCH	16

static int sync_find_job(struct drm_file *file, const struct drm_vze_sync *arg,
			 struct dma_fence **fence)
{
	struct vze_queue *queue = vze_queue_lookup(to_vze_file(file), arg->handle);
	struct dma_fence *found;

	if (!queue)
		return -ENOENT;
	found = vze_queue_job_fence(queue, arg->point);
	vze_queue_put(queue);
	if (IS_ERR(found))
		return PTR_ERR(found);
	*fence = found;
	return 0;
}

static int sync_add_wait(struct drm_file *file, const struct drm_vze_sync *arg,
			 struct vze_syncs *syncs)
{
	struct vze_sync *sync = &syncs->entries[syncs->num_waits];
	int ret;

	if (arg->flags & DRM_VZE_SYNC_QUEUE)
		ret = sync_find_job(file, arg, &sync->fence);
	else
		ret = drm_syncobj_find_fence(file, arg->handle, arg->point, 0, &sync->fence);
	if (ret)
		return ret;
	syncs->num_waits++;
	return 0;
}

static int sync_add_signal(struct drm_file *file, const struct drm_vze_sync *arg,
			   struct vze_sync *sync)
{
	sync->syncobj = drm_syncobj_find(file, arg->handle);
	if (!sync->syncobj)
		return -ENOENT;
	sync->point = arg->point;
	if (!(arg->flags & DRM_VZE_SYNC_TIMELINE))
		return 0;
	sync->chain = dma_fence_chain_alloc();
	if (!sync->chain) {
		drm_syncobj_put(sync->syncobj);
		return -ENOMEM;
	}
	return 0;
}

static int sync_check(const struct drm_vze_sync *arg)
{
	if (arg->flags == DRM_VZE_SYNC_QUEUE)
		return 0;
	if (arg->flags & ~(DRM_VZE_SYNC_SIGNAL | DRM_VZE_SYNC_TIMELINE))
		return -EINVAL;
	/* Point 0 of a timeline is its latest fence: a thing to wait for, not to signal. */
	if (arg->flags & DRM_VZE_SYNC_TIMELINE)
		return arg->point || !(arg->flags & DRM_VZE_SYNC_SIGNAL) ? 0 : -EINVAL;
	return arg->point ? -EINVAL : 0;
}

static int syncs_add(struct drm_file *file, const struct drm_vze_sync *arg, u32 count,
		     struct vze_syncs *syncs)
{
	struct vze_sync *sync;
	int ret = sync_check(arg);

	if (ret)
		return ret;
	if (!(arg->flags & DRM_VZE_SYNC_SIGNAL))
		return sync_add_wait(file, arg, syncs);

	/* Signals are filled in from the end, in the order in which they came. */
	sync = &syncs->entries[count - 1 - syncs->num_signals];
	ret = sync_add_signal(file, arg, sync);
	if (!ret)
		syncs->num_signals++;
	return ret;
}

/**
 * vze_syncs_parse() - look up everything that a syncobj array names
 * @file: whose syncobjs and queues
 * @uptr: user pointer to struct drm_vze_sync
 * @count: number of entries
 * @syncs: out: for vze_syncs_cleanup() if the call succeeds
 *
 * Return: 0, -EINVAL (count, flags, a wait for a syncobj that has no fence or for a job that
 * was not submitted), -ENOENT (handle), -EFAULT, -ENOMEM.
 */
int vze_syncs_parse(struct drm_file *file, u64 uptr, u32 count, struct vze_syncs *syncs)
{
	const struct drm_vze_sync __user *user = u64_to_user_ptr(uptr);
	struct drm_vze_sync args[SYNC_BATCH];
	u32 i, done;
	int ret;

	memset(syncs, 0, sizeof(*syncs));
	if (count > DRM_VZE_MAX_SYNCS)
		return -EINVAL;
	if (!count)
		return 0;

	syncs->entries = kvcalloc(count, sizeof(*syncs->entries), GFP_KERNEL_ACCOUNT);
	if (!syncs->entries)
		return -ENOMEM;
	syncs->count = count;

	for (done = 0; done < count; done += SYNC_BATCH) {
		u32 n = min_t(u32, count - done, SYNC_BATCH);

		if (copy_from_user(args, user + done, n * sizeof(*args))) {
			ret = -EFAULT;
			goto err;
		}
		for (i = 0; i < n; i++) {
			ret = syncs_add(file, &args[i], count, syncs);
			if (ret)
				goto err;
		}
	}
	return 0;
err:
	vze_syncs_cleanup(syncs);
	return ret;
}

/**
 * vze_syncs_wait() - sleep until all waits are over
 * @syncs: parsed array
 *
 * An error on a fence is not passed on: it ends the wait like a success.
 * Return: 0 or -EINTR.
 */
int vze_syncs_wait(const struct vze_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->num_waits; i++) {
		if (dma_fence_wait(syncs->entries[i].fence, true))
			return -EINTR;
	}
	return 0;
}

/**
 * vze_syncs_signal() - hang a fence on every syncobj that is to be signalled
 * @syncs: parsed array, once
 * @fence: fence that stands for the operation; may be signalled already
 *
 * Cannot fail.
 */
void vze_syncs_signal(struct vze_syncs *syncs, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < syncs->num_signals; i++) {
		struct vze_sync *sync = &syncs->entries[syncs->count - 1 - i];

		if (sync->chain) {
			drm_syncobj_add_point(sync->syncobj, sync->chain, fence, sync->point);
			sync->chain = NULL;
		} else {
			drm_syncobj_replace_fence(sync->syncobj, fence);
		}
	}
}

/**
 * vze_syncs_cleanup() - give everything back
 * @syncs: parsed array; cleaning up again does nothing
 */
void vze_syncs_cleanup(struct vze_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->num_waits; i++)
		dma_fence_put(syncs->entries[i].fence);
	for (i = 0; i < syncs->num_signals; i++) {
		struct vze_sync *sync = &syncs->entries[syncs->count - 1 - i];

		dma_fence_chain_free(sync->chain);
		drm_syncobj_put(sync->syncobj);
	}
	kvfree(syncs->entries);
	memset(syncs, 0, sizeof(*syncs));
}
