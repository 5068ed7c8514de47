// SPDX-License-Identifier: GPL-2.0
/*
 * Share descriptors: a share as a file.
 *
 * A descriptor opens its share and tells of its end. It refers to the structure of the share
 * only, which has the wait queue: nothing is registered anywhere, any number of
 * descriptors can wait, and the end of the share has nothing to allocate for them. What
 * made or opened the share may be gone long before the descriptor.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_share_table.h"

static int share_fd_release(struct inode *inode, struct file *file)
{
	vze_share_put(file->private_data);
	return 0;
}

static __poll_t share_fd_poll(struct file *file, poll_table *wait)
{
	struct vze_share *share = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &share->wq, wait);
	if (READ_ONCE(share->state) != DRM_VZE_SHARE_STATE_LIVE)
		events |= EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	if (READ_ONCE(share->unmapped))
		events |= EPOLLERR;
	return events;
}

static void share_fd_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct vze_share *share = file->private_data;

	seq_printf(m, "vze-share-id:\t%llu\n", share->token.id);
	seq_printf(m, "vze-share-size:\t%llu\n", share->size);
	seq_printf(m, "vze-share-state:\t%u\n", READ_ONCE(share->state));
}

static const struct file_operations share_fd_fops = {
	.owner = THIS_MODULE,
	.release = share_fd_release,
	.poll = share_fd_poll,
	.show_fdinfo = share_fd_show_fdinfo,
	.llseek = noop_llseek,
};

/**
 * vze_share_lookup_fd() - the share of a descriptor
 * @fd: descriptor of the caller
 * @result: the share with a reference, in any state
 *
 * Return: 0, -EBADF or -EINVAL (not a share descriptor).
 */
int vze_share_lookup_fd(int fd, struct vze_share **result)
{
	struct file *file = fget(fd);
	int ret = 0;

	if (!file)
		return -EBADF;
	if (file->f_op == &share_fd_fops) {
		*result = file->private_data;
		vze_share_get(*result);
	} else {
		ret = -EINVAL;
	}
	fput(file);
	return ret;
}

static int share_of_view(struct drm_file *file, u32 handle, struct vze_share **result)
{
	struct vze_gem *bo = vze_gem_lookup(file, handle);
	int ret = 0;

	if (!bo)
		return -ENOENT;
	if (bo->placement == DRM_VZE_PLACEMENT_SHARE) {
		*result = to_vze_gem_share(bo)->share;
		vze_share_get(*result);
	} else {
		ret = -EINVAL;
	}
	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * vze_share_fd_ioctl() - DRM_IOCTL_VZE_SHARE_FD
 * @drm: device
 * @data: struct drm_vze_share_fd
 * @file: caller
 */
int vze_share_fd_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_fd *args = data;
	struct vze_share *share;
	int ret;

	if ((args->flags & ~DRM_VZE_SHARE_FD_HANDLE) || args->pad)
		return -EINVAL;
	if (args->flags & DRM_VZE_SHARE_FD_HANDLE) {
		if (memchr_inv(&args->token, 0, sizeof(args->token)))
			return -EINVAL;
		ret = share_of_view(file, args->handle, &share);
	} else {
		if (args->handle)
			return -EINVAL;
		ret = vze_share_lookup_token(to_vze(drm), &args->token, &share);
	}
	if (ret)
		return ret;

	/* On success the file has the reference. */
	ret = anon_inode_getfd("[vze-share]", &share_fd_fops, share, O_RDONLY | O_CLOEXEC);
	if (ret < 0) {
		vze_share_put(share);
		return ret;
	}
	args->fd = ret;
	return 0;
}

/**
 * vze_share_info_ioctl() - DRM_IOCTL_VZE_SHARE_INFO
 * @drm: device
 * @data: struct drm_vze_share_info
 * @file: caller
 */
int vze_share_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_info *args = data;
	struct vze_share *share;
	int ret;

	if (args->pad)
		return -EINVAL;
	ret = vze_share_lookup_fd(args->fd, &share);
	if (ret)
		return ret;
	args->flags = 0;
	if (share->readonly)
		args->flags |= DRM_VZE_SHARE_INFO_READONLY;
	mutex_lock(&vze_shares_lock);
	args->state = share->state;
	if (share->unmapped)
		args->flags |= DRM_VZE_SHARE_INFO_UNMAPPED;
	mutex_unlock(&vze_shares_lock);
	args->id = share->token.id;
	args->size = share->size;
	args->user_data = share->key.user_data;
	args->segments = share->num_segments;
	args->reserved = 0;
	vze_share_put(share);
	return 0;
}
