// SPDX-License-Identifier: GPL-2.0
/*
 * Views of shares and the processes that opened them; what the exporter and debugfs are told.
 */

#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_share_table.h"

static u64 importer_bytes(const struct vze_share *share, const struct vze_share_importer *importer)
{
	u64 bytes;

	return check_mul_overflow(share->size, (u64)importer->views, &bytes) ? U64_MAX : bytes;
}

static struct vze_share_importer *importer_find(struct vze_share *share, struct pid *pid)
{
	struct vze_share_importer *importer;

	list_for_each_entry(importer, &share->importers, link) {
		if (importer->pid == pid)
			return importer;
	}
	return NULL;
}

static struct vze_share_importer *importer_alloc(struct pid *pid)
{
	struct vze_share_importer *importer = kzalloc(sizeof(*importer), GFP_KERNEL_ACCOUNT);

	if (!importer)
		return NULL;
	importer->pid = get_pid(pid);
	get_task_comm(importer->comm, current->group_leader);
	return importer;
}

static void importer_free(struct vze_share_importer *importer)
{
	if (!importer)
		return;
	put_pid(importer->pid);
	kfree(importer);
}

static void view_link(struct vze_share *share, struct vze_gem_share *view,
		      struct vze_share_importer *importer)
{
	vze_share_get(share);
	view->share = share;
	view->importer = importer;
	importer->views++;
	share->num_views++;
	list_add_tail(&view->link, &share->views);
}

/**
 * vze_share_view_open() - enter a new view into its share
 * @share: share
 * @view: view of it that nobody else knows
 *
 * Return: 0, -ENOENT (the share is not LIVE any more) or -ENOMEM.
 */
int vze_share_view_open(struct vze_share *share, struct vze_gem_share *view)
{
	struct vze_share_importer *importer = NULL, *fresh = NULL;
	struct pid *pid = task_tgid(current);
	int ret = 0;

	mutex_lock(&vze_shares_lock);
	importer = importer_find(share, pid);
	if (!importer) {
		mutex_unlock(&vze_shares_lock);
		fresh = importer_alloc(pid);
		if (!fresh)
			return -ENOMEM;
		mutex_lock(&vze_shares_lock);
		importer = importer_find(share, pid);
	}
	if (share->state != DRM_VZE_SHARE_STATE_LIVE) {
		ret = -ENOENT;
	} else {
		if (!importer) {
			importer = fresh;
			fresh = NULL;
			list_add_tail(&importer->link, &share->importers);
			share->num_importers++;
		}
		view_link(share, view, importer);
	}
	mutex_unlock(&vze_shares_lock);
	importer_free(fresh);
	return ret;
}

/**
 * vze_share_view_release() - a view is gone
 * @view: view, entered or not
 *
 * May let go of the memory of its share; may sleep.
 */
void vze_share_view_release(struct vze_gem_share *view)
{
	struct vze_share *share = view->share;
	struct vze_share_importer *importer = view->importer;
	LIST_HEAD(over);

	if (!share)
		return;
	mutex_lock(&vze_shares_lock);
	list_del(&view->link);
	share->num_views--;
	if (--importer->views) {
		importer = NULL;
	} else {
		list_del(&importer->link);
		share->num_importers--;
	}
	vze_share_ended_views(share, &over);
	mutex_unlock(&vze_shares_lock);
	importer_free(importer);
	vze_shares_bury(&over);
	vze_share_put(share);
}

/* ----------------------------------------------------------------- listing -- */

/* Fills @out with at most @room importers. */
static u32 importers_fill(const struct vze_share *share, struct drm_vze_share_importer *out,
			  u32 room)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	const struct vze_share_importer *importer;
	u32 num = 0;

	list_for_each_entry(importer, &share->importers, link) {
		if (num == room)
			break;
		out[num].pid = pid_nr_ns(importer->pid, ns);
		out[num].views = importer->views;
		out[num].bytes = importer_bytes(share, importer);
		num++;
	}
	return num;
}

/**
 * vze_share_importers_ioctl() - DRM_IOCTL_VZE_SHARE_IMPORTERS
 * @drm: device
 * @data: struct drm_vze_share_importers
 * @file: caller
 */
int vze_share_importers_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_importers *args = data;
	struct drm_vze_share_importer *out = NULL;
	struct vze_share *share;
	u32 room = 0, num = 0;
	int ret = 0;

	for (;;) {
		mutex_lock(&vze_shares_lock);
		share = vze_share_find_own(to_vze_file(file), args->id);
		if (!share) {
			mutex_unlock(&vze_shares_lock);
			ret = -ENOENT;
			goto out;
		}
		/* Memory of users is not touched under the lock, so once more with room for all. */
		if (room >= min(args->num, share->num_importers))
			break;
		room = min(args->num, share->num_importers);
		mutex_unlock(&vze_shares_lock);
		kvfree(out);
		out = kvmalloc_array(room, sizeof(*out), GFP_KERNEL_ACCOUNT);
		if (!out)
			return -ENOMEM;
	}
	if (room)
		num = importers_fill(share, out, room);
	args->num = share->num_importers;
	args->state = share->state;
	args->puts = share->state == DRM_VZE_SHARE_STATE_LIVE ? share->puts : 0;
	mutex_unlock(&vze_shares_lock);
	if (num && copy_to_user(u64_to_user_ptr(args->importers), out, num * sizeof(*out)))
		ret = -EFAULT;
out:
	kvfree(out);
	return ret;
}

/* ----------------------------------------------------------------- debugfs -- */

static const char *state_name(const struct vze_share *share)
{
	static const char * const names[] = {
		[DRM_VZE_SHARE_STATE_LIVE] = "live",
		[DRM_VZE_SHARE_STATE_PUT] = "put",
		[DRM_VZE_SHARE_STATE_REVOKED] = "revoked",
		[DRM_VZE_SHARE_STATE_DEAD] = "dead",
	};

	return names[share->state];
}

static void share_show(struct seq_file *m, const struct vze_share *share)
{
	const struct vze_share_importer *importer;

	seq_printf(m, "share %llu uid %u pid %d (%s) %s%s %s: ", share->token.id,
		   from_kuid_munged(&init_user_ns, share->uid), pid_nr(share->pid), share->comm,
		   state_name(share), share->unmapped ? " unmapped" : "",
		   share->readonly ? "r-" : "rw");
	seq_printf(m, "%llu bytes in %u segments, %llu puts due, %u views\n", share->size,
		   share->num_segments, share->puts, share->num_views);
	list_for_each_entry(importer, &share->importers, link)
		seq_printf(m, "  importer pid %d (%s): %u views, %llu bytes\n",
			   pid_nr(importer->pid), importer->comm, importer->views,
			   importer_bytes(share, importer));
}

/**
 * vze_shares_show() - debugfs vze_shares
 * @m: file
 * @unused: not used
 *
 * All shares that are LIVE or have views, and no secret.
 */
int vze_shares_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	struct vze_share *share;
	u64 id = 0;

	mutex_lock(&vze_shares_lock);
	while ((share = vze_share_find_next(&id))) {
		if (share->vdev == vdev)
			share_show(m, share);
	}
	mutex_unlock(&vze_shares_lock);
	return 0;
}
