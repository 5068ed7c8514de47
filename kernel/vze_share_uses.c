// SPDX-License-Identifier: GPL-2.0
/*
 * Which shares an object is in.
 *
 * Closing a handle ends the exporter's shares of that object, and nobody else may have to
 * wait for that long: neither for who has many shares, nor for who has large ones. So each
 * object has a list of its uses, and the structures for that lie in one array of the
 * share. Entering and leaving a list costs a few stores for each piece.
 *
 * Whatever is done for each piece, or for each use of an object, is done in portions, between
 * which the lock is dropped. A use therefore can be found before its share can, and after the
 * share's end; both are told by the share.
 */

#include <linux/sched.h>
#include <linux/slab.h>

#include "vze_device.h"
#include "vze_share_table.h"

/* What is done with the lock held in one go; a few microseconds. */
#define USES_AT_ONCE	256

static void pause_after(u32 done)
{
	lockdep_assert_held(&vze_shares_lock);
	if (!done || done % USES_AT_ONCE)
		return;
	mutex_unlock(&vze_shares_lock);
	cond_resched();
	mutex_lock(&vze_shares_lock);
}

/**
 * vze_share_uses_alloc() - room for the uses of a share
 * @share: share that nobody knows
 * @max: pieces and views that it will be made of, at least one
 *
 * Return: 0 or -ENOMEM.
 */
int vze_share_uses_alloc(struct vze_share *share, u64 max)
{
	if (max == 1) {
		share->uses = &share->only_use;
		return 0;
	}
	share->uses = kvmalloc_array(max, sizeof(*share->uses), GFP_KERNEL_ACCOUNT);
	return share->uses ? 0 : -ENOMEM;
}

static void use_link(struct vze_share *share, struct vze_gem *bo)
{
	struct vze_share_use *use = &share->uses[share->num_uses];

	use->share = share;
	hlist_add_head(&use->link, &bo->share_uses);
	share->num_uses++;
	pause_after(share->num_uses);
}

/**
 * vze_share_uses_link() - from now on the objects know a share
 * @share: complete share that nobody knows
 *
 * Without vze_shares_lock. To be undone by vze_share_uses_free().
 */
void vze_share_uses_link(struct vze_share *share)
{
	const struct vze_segments *segments = share->segments;
	u32 i;

	mutex_lock(&vze_shares_lock);
	for (i = 0; i < segments->num; i++) {
		struct vze_gem *bo = segments->segment[i].bo;

		/* Pieces of one object in a row are one use. */
		if (!i || segments->segment[i - 1].bo != bo)
			use_link(share, bo);
	}
	for (i = 0; i < share->num_sources; i++)
		use_link(share, &share->sources[i].view->base);
	mutex_unlock(&vze_shares_lock);
}

/**
 * vze_share_uses_free() - the objects forget a share
 * @share: share that is over, or that was never known; its objects are still there
 *
 * Without vze_shares_lock.
 */
void vze_share_uses_free(struct vze_share *share)
{
	if (share->num_uses) {
		mutex_lock(&vze_shares_lock);
		while (share->num_uses) {
			hlist_del(&share->uses[--share->num_uses].link);
			pause_after(share->num_uses);
		}
		mutex_unlock(&vze_shares_lock);
	}
	if (share->uses != &share->only_use)
		kvfree(share->uses);
	share->uses = NULL;
}

/**
 * vze_shares_object_closed() - an exporter gives up its handle
 * @file: exporter, perhaps
 * @bo: object
 *
 * Ends the shares of the file that the object is in. One that comes to be meanwhile is
 * its maker's to look after, who asks for the handle once more.
 */
void vze_shares_object_closed(struct vze_file *file, struct vze_gem *bo)
{
	/* Stands behind the use that was looked at last, whatever else comes or goes. */
	struct vze_share_use mark = {};
	struct hlist_node *next;
	LIST_HEAD(over);
	u32 seen = 0;

	mutex_lock(&vze_shares_lock);
	hlist_add_head(&mark.link, &bo->share_uses);
	while ((next = mark.link.next)) {
		struct vze_share *share = hlist_entry(next, struct vze_share_use, link)->share;

		hlist_del(&mark.link);
		hlist_add_behind(&mark.link, next);
		/* No share: another thread's mark. */
		if (share && share->key.file == file && vze_share_is_published(share))
			vze_share_end(share, DRM_VZE_SHARE_STATE_DEAD, &over);
		pause_after(++seen);
	}
	hlist_del(&mark.link);
	mutex_unlock(&vze_shares_lock);
	vze_shares_bury(&over);
}
