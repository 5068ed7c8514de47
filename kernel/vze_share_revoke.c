// SPDX-License-Identifier: GPL-2.0
/*
 * SHARE_REVOKE: the exporter takes a share back.
 *
 * First every share and view concerned is marked, under the lock of the shares: from then
 * on nothing new can come into being, neither a view nor a share made of one, nor a
 * mapping of a view. Then what exists is taken away: the CPU's pages view by view, and the
 * device's translations address space by address space. Whatever was under way when the
 * mark was set holds a lock that the second part passes through: vze_gem_share.handing_out
 * (faults), vze_vm.lock (binds being prepared, faults through the address space) or
 * vze_pt.lock (asynchronous binds being carried out, which look for the mark under it). None of
 * it allocates memory.
 *
 * The importers' mappings stay in their trees and go on holding the views, and these the
 * objects: whoever unmaps or closes them later does what he always does.
 */

#include <linux/poll.h>

#include <drm/drm_gem.h>

#include "vze_device.h"
#include "vze_share_table.h"
#include "vze_vm.h"

/* One revocation at a time: it owns vze_share.revoke_link and vze_gem_share.zapped. */
static DEFINE_MUTEX(revoke_lock);

/* Marks the views of a share, and adds what was made of them to the list. */
static void revoke_views(struct vze_share *share, struct drm_vze_share_revoke *args)
{
	struct vze_gem_share *view;

	WRITE_ONCE(share->unmapped, true);
	list_for_each_entry(view, &share->views, link) {
		WRITE_ONCE(view->base.flags, view->base.flags | VZE_GEM_REVOKED);
		view->zapped = false;
		args->views++;
		args->exported += READ_ONCE(view->base.exported);
	}
	wake_up_poll(&share->wq, EPOLLIN | EPOLLRDNORM | EPOLLHUP | EPOLLERR);
}

static void revoke_add(struct vze_share *share, struct list_head *revoked)
{
	if (!list_empty(&share->revoke_link))
		return;
	vze_share_get(share);
	list_add_tail(&share->revoke_link, revoked);
}

/* The list grows while it is gone through: shares of views of shares of views. */
static void revoke_mark(struct vze_share *first, struct drm_vze_share_revoke *args,
			struct list_head *revoked, struct list_head *over)
{
	struct vze_share_source *source;
	struct vze_share *share;

	lockdep_assert_held(&vze_shares_lock);
	revoke_add(first, revoked);
	list_for_each_entry(share, revoked, revoke_link) {
		list_for_each_entry(source, &share->derived, link)
			revoke_add(source->share, revoked);
		if (args->flags & DRM_VZE_SHARE_REVOKE_UNMAP)
			revoke_views(share, args);
		vze_share_end(share, DRM_VZE_SHARE_STATE_REVOKED, over);
	}
}

/* A view whose pages the CPU may have, with a reference; each is given once. */
static struct vze_gem_share *next_view(struct vze_share *share)
{
	struct vze_gem_share *view;

	lockdep_assert_held(&vze_shares_lock);
	/* Those that were given are at the end; none is added any more. */
	while ((view = list_first_entry_or_null(&share->views, struct vze_gem_share, link)) &&
	       !view->zapped) {
		view->zapped = true;
		list_move_tail(&view->link, &share->views);
		/* A view without references has no mappings either. */
		if (kref_get_unless_zero(&view->base.base.refcount))
			return view;
	}
	return NULL;
}

static void zap_views(struct vze_share *share)
{
	struct vze_gem_share *view;

	for (;;) {
		mutex_lock(&vze_shares_lock);
		view = next_view(share);
		mutex_unlock(&vze_shares_lock);
		if (!view)
			return;
		vze_gem_share_zap(view);
		drm_gem_object_put(&view->base.base);
		cond_resched();
	}
}

static int unmap_all(struct vze_device *vdev)
{
	struct vze_vm *vm;
	u64 number = 0;
	int ret = 0;

	while ((vm = vze_vm_next(vdev, &number))) {
		int error = vze_vm_unmap_revoked(vm);

		ret = ret ?: error;
		vze_vm_put(vm);
		cond_resched();
	}
	return ret;
}

/**
 * vze_share_revoke_ioctl() - DRM_IOCTL_VZE_SHARE_REVOKE
 * @drm: device
 * @data: struct drm_vze_share_revoke
 * @file: caller
 */
int vze_share_revoke_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_revoke *args = data;
	struct vze_share *share, *next;
	LIST_HEAD(revoked);
	LIST_HEAD(over);
	int ret = 0;

	if ((args->flags & ~DRM_VZE_SHARE_REVOKE_UNMAP) || args->pad)
		return -EINVAL;
	args->views = 0;
	args->exported = 0;

	if (mutex_lock_interruptible(&revoke_lock))
		return -EINTR;
	mutex_lock(&vze_shares_lock);
	share = vze_share_find_own(to_vze_file(file), args->id);
	if (share)
		revoke_mark(share, args, &revoked, &over);
	else
		ret = -ENOENT;
	mutex_unlock(&vze_shares_lock);

	if (args->views) {
		list_for_each_entry(share, &revoked, revoke_link)
			zap_views(share);
		ret = unmap_all(to_vze(drm));
	}
	vze_shares_bury(&over);
	list_for_each_entry_safe(share, next, &revoked, revoke_link) {
		list_del_init(&share->revoke_link);
		vze_share_put(share);
	}
	mutex_unlock(&revoke_lock);
	return ret;
}
