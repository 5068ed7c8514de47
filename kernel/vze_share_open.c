// SPDX-License-Identifier: GPL-2.0
/*
 * SHARE_OPEN: who may, and a view for those.
 *
 * A token opens for the exporter's user and for who may trace that user's processes. A
 * descriptor opens for who has it. Either way everything that the share consists of
 * becomes one object with one mapping: the cost per segment is that of its page table
 * entries.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/string.h>

#include <crypto/utils.h>

#include "vze_bind.h"
#include "vze_device.h"
#include "vze_share_table.h"
#include "vze_vm.h"

static bool share_may_open(const struct vze_share *share)
{
	return uid_eq(current_euid(), share->uid) ||
	       ns_capable(share->user_ns, CAP_SYS_PTRACE);
}

/**
 * vze_share_lookup_token() - the LIVE share of a token, if the caller may open it
 * @vdev: device that it must be of
 * @token: id and secret
 * @result: the share with a reference
 *
 * The time that it takes does not depend on how much of the secret is right.
 *
 * Return: 0, -ENOENT, -EACCES or -EXDEV.
 */
int vze_share_lookup_token(struct vze_device *vdev, const struct drm_vze_share_token *token,
			   struct vze_share **result)
{
	struct vze_share *share;
	int ret = 0;

	mutex_lock(&vze_shares_lock);
	share = vze_share_find(token->id);
	if (!share || crypto_memneq(share->token.secret, token->secret, sizeof(token->secret)) ||
	    share->state != DRM_VZE_SHARE_STATE_LIVE)
		ret = -ENOENT;
	else if (!share_may_open(share))
		ret = -EACCES;
	else if (share->vdev != vdev)
		ret = -EXDEV;
	else
		vze_share_get(share);
	mutex_unlock(&vze_shares_lock);
	*result = ret ? NULL : share;
	return ret;
}

static int share_of_fd(struct vze_device *vdev, const struct drm_vze_share_open *args,
		       struct vze_share **result)
{
	struct vze_share *share;
	int ret;

	if (memchr_inv(args->token.secret, 0, sizeof(args->token.secret)))
		return -EINVAL;
	ret = vze_share_lookup_fd(args->fd, &share);
	if (ret)
		return ret;
	if (args->token.id && args->token.id != share->token.id)
		ret = -ENOENT;
	else if (share->vdev != vdev)
		ret = -EXDEV;
	if (ret)
		vze_share_put(share);
	else
		*result = share;
	return ret;
}

/*
 * Everything that can fail comes before the handle is there, and the handle before the
 * mapping takes effect.
 */
static int share_bind(struct drm_file *file, struct vze_gem *bo, struct drm_vze_share_open *args)
{
	u32 flags = args->flags & DRM_VZE_SHARE_OPEN_READONLY ? DRM_VZE_BIND_READONLY : 0;
	struct vze_bind *bind;
	struct vze_vm *vm;
	int ret;

	vm = vze_vm_lookup(to_vze_file(file), args->vm_id);
	if (!vm)
		return -ENOENT;
	bind = vze_bind_prepare_map(vm, bo, args->addr, flags);
	if (IS_ERR(bind)) {
		ret = PTR_ERR(bind);
		goto out;
	}
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	if (ret) {
		vze_bind_abort(bind);
		goto out;
	}
	ret = vze_bind_commit(bind);
	if (ret)
		drm_gem_handle_delete(file, args->handle);
out:
	vze_vm_put(vm);
	return ret;
}

/* The segments of a share that is LIVE; it may end at any time afterwards. */
static struct vze_segments *share_segments(struct vze_share *share)
{
	struct vze_segments *segments = NULL;

	mutex_lock(&vze_shares_lock);
	if (share->state == DRM_VZE_SHARE_STATE_LIVE)
		segments = vze_segments_get(share->segments);
	mutex_unlock(&vze_shares_lock);
	return segments;
}

static struct vze_gem_share *share_make_view(struct vze_share *share, bool readonly)
{
	struct vze_segments *segments = share_segments(share);
	struct vze_gem_share *view;
	int ret;

	if (!segments)
		return ERR_PTR(-ENOENT);
	view = vze_gem_share_create(share->vdev, segments, readonly);
	vze_segments_put(segments);
	if (IS_ERR(view))
		return view;
	/* A revocation finds the view from here on, whatever becomes of it. */
	ret = vze_share_view_open(share, view);
	if (ret) {
		drm_gem_object_put(&view->base.base);
		return ERR_PTR(ret);
	}
	return view;
}

static int share_open(struct drm_file *file, struct vze_share *share,
		      struct drm_vze_share_open *args)
{
	/* Who asks for reading only gets an object that the CPU cannot write either. */
	bool readonly = share->readonly || (args->flags & DRM_VZE_SHARE_OPEN_READONLY);
	bool bind = args->flags & DRM_VZE_SHARE_OPEN_BIND;
	struct vze_gem_share *view;
	int ret;

	if (bind && args->size != share->size)
		return -EINVAL;
	view = share_make_view(share, readonly);
	if (IS_ERR(view))
		return PTR_ERR(view);
	if (bind)
		ret = share_bind(file, &view->base, args);
	else
		ret = drm_gem_handle_create(file, &view->base.base, &args->handle);
	drm_gem_object_put(&view->base.base);
	if (ret)
		return ret;
	args->token.id = share->token.id;
	args->size = share->size;
	args->segments = share->num_segments;
	args->user_data = share->key.user_data;
	if (share->readonly)
		args->flags |= DRM_VZE_SHARE_OPEN_IS_READONLY;
	return 0;
}

/**
 * vze_share_open_ioctl() - DRM_IOCTL_VZE_SHARE_OPEN
 * @drm: device
 * @data: struct drm_vze_share_open
 * @file: caller
 */
int vze_share_open_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_open *args = data;
	struct vze_share *share;
	int ret;

	if (args->flags & ~(DRM_VZE_SHARE_OPEN_BIND | DRM_VZE_SHARE_OPEN_READONLY |
			    DRM_VZE_SHARE_OPEN_FD))
		return -EINVAL;
	if (!(args->flags & DRM_VZE_SHARE_OPEN_BIND) && (args->vm_id || args->addr))
		return -EINVAL;
	if ((!(args->flags & DRM_VZE_SHARE_OPEN_FD) && args->fd) || args->pad)
		return -EINVAL;

	if (args->flags & DRM_VZE_SHARE_OPEN_FD)
		ret = share_of_fd(to_vze(drm), args, &share);
	else
		ret = vze_share_lookup_token(to_vze(drm), &args->token, &share);
	if (ret)
		return ret;
	ret = share_open(file, share, args);
	vze_share_put(share);
	return ret;
}
