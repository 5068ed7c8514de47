// SPDX-License-Identifier: GPL-2.0
/*
 * Shares: memory for other processes, by token. Their table, their states, their end.
 *
 * A share is found by its id, which is never used again, and opened by who knows its
 * secret. It holds an array of segments, made under the lock of the address space in
 * one go, so that it is a consistent picture. What was opened (a view) holds the same
 * array: a view costs one object, however many segments there are, and a segment costs 24
 * bytes, whoever has the share open, and 24 more until the share is over.
 *
 * The states are the user's business and described in the uapi; what they mean for memory
 * is at struct vze_share. Ending a share allocates nothing, so that every end is certain: it is
 * a change of state, a wake-up of who polls, and a reference less.
 */

#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/once.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include <drm/drm_drv.h>

#include "vze_device.h"
#include "vze_share_table.h"
#include "vze_trace.h"
#include "vze_user.h"

/* Everything about shares that changes; its place among locks is in vze_share_table.h. */
DEFINE_MUTEX(vze_shares_lock);
/* Id to share that is not over. */
static DEFINE_XARRAY(shares);
/* LIVE shares by key and segments. */
static DEFINE_HASHTABLE(share_keys, 12);
static u64 last_share_id;

/* Lets go of the views that shares were made of. */
static struct workqueue_struct *share_wq;

/* --------------------------------------------------------------- structure -- */

static void share_free_contents(struct vze_share *share)
{
	u32 i;

	vze_share_uses_free(share);
	for (i = 0; i < share->num_sources; i++)
		drm_gem_object_put(&share->sources[i].view->base.base);
	kvfree(share->sources);
	share->sources = NULL;
	share->num_sources = 0;
	vze_segments_put(share->segments);
	share->segments = NULL;
}

static void share_free(struct vze_share *share)
{
	if (share->charged)
		vze_user_uncharge(share->user, VZE_USER_SHARES, 1);
	vze_user_put(share->user);
	put_pid(share->pid);
	put_user_ns(share->user_ns);
	drm_dev_put(&share->vdev->drm);
	kfree(share);
}

static void share_release(struct kref *ref)
{
	share_free(container_of(ref, struct vze_share, ref));
}

/**
 * vze_share_get() - one more reference
 * @share: share
 */
void vze_share_get(struct vze_share *share)
{
	kref_get(&share->ref);
}

/**
 * vze_share_put() - drop a reference
 * @share: share
 */
void vze_share_put(struct vze_share *share)
{
	kref_put(&share->ref, share_release);
}

/**
 * vze_share_free_unpublished() - free a share that nobody knows
 * @share: share, with what it has so far
 */
void vze_share_free_unpublished(struct vze_share *share)
{
	share_free_contents(share);
	share_free(share);
}

/* ------------------------------------------------------------------- table -- */

static u64 hash_add_word(u64 hash, u64 factor, u64 word)
{
	return rol64(hash * factor, 32) ^ word;
}

/**
 * vze_share_hash() - prepare a share for being compared
 * @share: complete share
 *
 * Without vze_shares_lock: the effort is one for each segment. The factor is random, so that
 * nobody can make many shares that are only told apart by looking at all their segments.
 */
void vze_share_hash(struct vze_share *share)
{
	const struct vze_share_key *key = &share->key;
	const struct vze_segments *segments = share->segments;
	static u64 seed __read_mostly;
	u64 hash, factor;
	u32 i;

	get_random_once(&seed, sizeof(seed));
	factor = seed | 1;
	hash = (u64)(uintptr_t)key->file ^ (u64)(uintptr_t)key->what ^ key->addr ^ key->flags;
	hash = hash_add_word(hash, factor, key->size ^ key->user_data);
	for (i = 0; i < segments->num; i++) {
		const struct vze_segment *segment = &segments->segment[i];

		hash = hash_add_word(hash, factor, (u64)(uintptr_t)segment->bo);
		hash += segment->offset ^ rol64(segment->first, 20);
	}
	share->hash = hash_add_word(hash, factor, segments->size);
}

/**
 * vze_share_find() - the share of an id
 * @id: id
 *
 * Return: the share, valid while vze_shares_lock is held, or NULL.
 */
struct vze_share *vze_share_find(u64 id)
{
	lockdep_assert_held(&vze_shares_lock);
	return xa_load(&shares, id);
}

/**
 * vze_share_find_next() - go through all shares
 * @id: 0 at first; set to the id of the result
 *
 * Return: the share of the next larger id, valid while vze_shares_lock is held, or NULL.
 */
struct vze_share *vze_share_find_next(u64 *id)
{
	unsigned long index = *id;
	struct vze_share *share = xa_find_after(&shares, &index, ULONG_MAX, XA_PRESENT);

	lockdep_assert_held(&vze_shares_lock);
	*id = index;
	return share;
}

/**
 * vze_share_find_own() - the share of an id, if a file made it
 * @file: exporter
 * @id: id
 *
 * Return: the share, valid while vze_shares_lock is held, or NULL.
 */
struct vze_share *vze_share_find_own(struct vze_file *file, u64 id)
{
	struct vze_share *share = vze_share_find(id);

	return share && share->key.file == file ? share : NULL;
}

/**
 * vze_share_find_equal() - the LIVE share that a request is equal to
 * @wanted: complete share after vze_share_hash()
 *
 * Return: the share, valid while vze_shares_lock is held, or NULL.
 */
struct vze_share *vze_share_find_equal(const struct vze_share *wanted)
{
	struct vze_share *share;

	lockdep_assert_held(&vze_shares_lock);
	hash_for_each_possible(share_keys, share, key_link, wanted->hash) {
		if (share->hash == wanted->hash &&
		    !memcmp(&share->key, &wanted->key, sizeof(share->key)) &&
		    vze_segments_equal(share->segments, wanted->segments))
			return share;
	}
	return NULL;
}

static int share_check_sources(const struct vze_share *share)
{
	u32 i;

	for (i = 0; i < share->num_sources; i++) {
		const struct vze_gem_share *view = share->sources[i].view;

		if (vze_gem_is_revoked(&view->base) ||
		    view->share->state == DRM_VZE_SHARE_STATE_REVOKED)
			return -EACCES;
	}
	return 0;
}

/**
 * vze_share_publish() - let a complete share be found
 * @share: share after vze_share_hash() and vze_share_uses_link()
 *
 * Return: 0, -EACCES (made of a revoked view), -EDQUOT, -ENODEV or -ENOMEM; the share is
 * the caller's then.
 */
int vze_share_publish(struct vze_share *share)
{
	u64 id = last_share_id + 1;
	int ret;
	u32 i;

	lockdep_assert_held(&vze_shares_lock);
	/* Under the lock: vze_shares_unplug() comes after the mark, and finds what is here. */
	if (drm_dev_is_unplugged(&share->vdev->drm))
		return -ENODEV;
	ret = share_check_sources(share);
	if (ret)
		return ret;
	ret = vze_user_charge(share->user, VZE_USER_SHARES, 1);
	if (ret)
		return ret;
	share->charged = true;
	ret = xa_err(xa_store(&shares, id, share, GFP_KERNEL_ACCOUNT));
	if (ret)
		return ret;

	last_share_id = id;
	share->token.id = id;
	get_random_bytes(share->token.secret, sizeof(share->token.secret));
	share->size = share->segments->size;
	share->num_segments = share->segments->num;
	hash_add(share_keys, &share->key_link, share->hash);
	list_add_tail(&share->file_link, &share->key.file->shares);
	for (i = 0; i < share->num_sources; i++)
		list_add_tail(&share->sources[i].link, &share->sources[i].view->share->derived);
	atomic64_inc(&share->vdev->counts.shares);
	trace_vze_share(share->vdev->drm.dev, id, share->state, share->num_views, share->size,
			share->num_segments);
	return 0;
}

/* The exporter can ask for it and end it no more. */
static void share_unlist(struct vze_share *share)
{
	list_del(&share->file_link);
	/* A file that is opened later may stand at the same address. */
	share->key.file = NULL;
}

/* --------------------------------------------------------------------- end -- */

static void share_check_over(struct vze_share *share, struct list_head *over)
{
	u32 i;

	if (share->over || share->num_views || share->state == DRM_VZE_SHARE_STATE_LIVE)
		return;
	share->over = true;
	xa_erase(&shares, share->token.id);
	if (share->key.file)
		share_unlist(share);
	for (i = 0; i < share->num_sources; i++)
		list_del(&share->sources[i].link);
	list_add_tail(&share->file_link, over);
}

/**
 * vze_share_end() - move a share on to a state, unless it is past that
 * @share: share
 * @state: DRM_VZE_SHARE_STATE_*, not LIVE
 * @over: gets the share if it is over; for vze_shares_bury() without the lock
 *
 * Allocates nothing.
 */
void vze_share_end(struct vze_share *share, u32 state, struct list_head *over)
{
	lockdep_assert_held(&vze_shares_lock);
	if (share->state >= state)
		return;
	if (share->state == DRM_VZE_SHARE_STATE_LIVE) {
		hash_del(&share->key_link);
		atomic64_dec(&share->vdev->counts.shares);
	}
	WRITE_ONCE(share->state, state);
	trace_vze_share(share->vdev->drm.dev, share->token.id, state, share->num_views,
			share->size, share->num_segments);
	wake_up_poll(&share->wq, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
	share_check_over(share, over);
}

/**
 * vze_share_ended_views() - a view of a share is gone
 * @share: share
 * @over: as for vze_share_end()
 */
void vze_share_ended_views(struct vze_share *share, struct list_head *over)
{
	lockdep_assert_held(&vze_shares_lock);
	share_check_over(share, over);
}

static void share_work(struct work_struct *work)
{
	struct vze_share *share = container_of(work, struct vze_share, work);

	share_free_contents(share);
	vze_share_put(share);
}

/**
 * vze_shares_bury() - let go of the memory of shares that are over
 * @over: list by file_link; empty afterwards
 *
 * Without vze_shares_lock. May free objects; may sleep.
 */
void vze_shares_bury(struct list_head *over)
{
	struct vze_share *share, *next;

	list_for_each_entry_safe(share, next, over, file_link) {
		list_del(&share->file_link);
		/*
		 * The view that it was made of may be the last thing that keeps a share from
		 * being over, which was made of a view, and so on: not on one stack.
		 */
		if (share->num_sources) {
			INIT_WORK(&share->work, share_work);
			queue_work(share_wq, &share->work);
		} else {
			share_free_contents(share);
			vze_share_put(share);
		}
	}
}

/* While many shares end: others, who have fewer, wait for one only. */
static void bury_in_between(struct list_head *over)
{
	lockdep_assert_held(&vze_shares_lock);
	mutex_unlock(&vze_shares_lock);
	vze_shares_bury(over);
	cond_resched();
	mutex_lock(&vze_shares_lock);
}

/**
 * vze_shares_file_close() - an exporter's file is closed
 * @file: file
 */
void vze_shares_file_close(struct vze_file *file)
{
	struct vze_share *share;
	LIST_HEAD(over);

	mutex_lock(&vze_shares_lock);
	while ((share = list_first_entry_or_null(&file->shares, struct vze_share, file_link))) {
		vze_share_end(share, DRM_VZE_SHARE_STATE_DEAD, &over);
		/* With views it goes on, but nobody asks for it by its id any more. */
		if (share->key.file)
			share_unlist(share);
		bury_in_between(&over);
	}
	mutex_unlock(&vze_shares_lock);
}

/**
 * vze_shares_unplug() - a device is gone
 * @vdev: device, marked as unplugged
 */
void vze_shares_unplug(struct vze_device *vdev)
{
	struct vze_share *share;
	unsigned long id;
	LIST_HEAD(over);

	mutex_lock(&vze_shares_lock);
	xa_for_each(&shares, id, share) {
		if (share->vdev != vdev)
			continue;
		vze_share_end(share, DRM_VZE_SHARE_STATE_DEAD, &over);
		bury_in_between(&over);
	}
	mutex_unlock(&vze_shares_lock);
}

/**
 * vze_share_put_ioctl() - DRM_IOCTL_VZE_SHARE_PUT
 * @drm: device
 * @data: struct drm_vze_share_put
 * @file: caller
 */
int vze_share_put_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_share_put *args = data;
	struct vze_share *share;
	LIST_HEAD(over);

	mutex_lock(&vze_shares_lock);
	share = vze_share_find_own(to_vze_file(file), args->id);
	if (!share || share->state != DRM_VZE_SHARE_STATE_LIVE) {
		mutex_unlock(&vze_shares_lock);
		return -ENOENT;
	}
	if (!--share->puts)
		vze_share_end(share, DRM_VZE_SHARE_STATE_PUT, &over);
	mutex_unlock(&vze_shares_lock);
	vze_shares_bury(&over);
	return 0;
}

/**
 * vze_share_module_init() - what shares need once
 *
 * Return: 0 or -ENOMEM.
 */
int vze_share_module_init(void)
{
	share_wq = alloc_workqueue("vze-share", WQ_UNBOUND, 0);
	return share_wq ? 0 : -ENOMEM;
}

/**
 * vze_share_module_exit() - undo vze_share_module_init()
 */
void vze_share_module_exit(void)
{
	destroy_workqueue(share_wq);
}
