// SPDX-License-Identifier: GPL-2.0
/*
 * Memory objects: what all kinds have in common.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_share.h"
#include "vze_userptr.h"
#include "vze_vm.h"

/* Largest object: what an address space can map. */
#define VZE_GEM_MAX_SIZE	VZE_VM_END

/**
 * vze_gem_init() - the common part of a new object
 * @vdev: device
 * @bo: zeroed object; its flags may be set already
 * @size: bytes, page aligned
 * @placement: DRM_VZE_PLACEMENT_*
 * @ops: the kind's functions
 * @funcs: the kind's functions for GEM
 *
 * From here on drm_gem_object_put() undoes it, which calls @ops->release first: the
 * kind must be able to release what it has at any point.
 */
void vze_gem_init(struct vze_device *vdev, struct vze_gem *bo, u64 size, u32 placement,
		  const struct vze_gem_ops *ops, const struct drm_gem_object_funcs *funcs)
{
	drm_gem_private_object_init(&vdev->drm, &bo->base, size);
	bo->base.funcs = funcs;
	bo->ops = ops;
	bo->placement = placement;
	atomic64_inc(&vdev->counts.objects);
}

/**
 * vze_gem_free() - the last reference is gone
 * @obj: object
 */
void vze_gem_free(struct drm_gem_object *obj)
{
	struct vze_gem *bo = to_vze_gem(obj);
	struct vze_device *vdev = vze_gem_device(bo);

	bo->ops->release(bo);
	drm_gem_object_release(obj);
	kfree(bo);
	atomic64_dec(&vdev->counts.objects);
}

/**
 * vze_gem_close() - a file gives up its handle
 * @obj: object
 * @file: file; it has one handle per object at most, so this was its last
 */
void vze_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct vze_gem *bo = to_vze_gem(obj);

	if (!hlist_empty(&bo->share_uses))
		vze_shares_object_closed(to_vze_file(file), bo);
}

/**
 * vze_gem_publish() - give a new object to user space
 * @file: file
 * @bo: object; the caller's reference goes to the handle, or is dropped
 * @handle: result
 *
 * Return: 0 or -ENOMEM.
 */
int vze_gem_publish(struct drm_file *file, struct vze_gem *bo, u32 *handle)
{
	int ret = drm_gem_handle_create(file, &bo->base, handle);

	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * vze_gem_lookup() - the object of a handle
 * @file: file
 * @handle: its handle
 *
 * Return: the object with a reference, or NULL.
 */
struct vze_gem *vze_gem_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_vze_gem(obj) : NULL;
}

/**
 * vze_gem_create_ioctl() - DRM_IOCTL_VZE_GEM_CREATE
 * @drm: device
 * @data: struct drm_vze_gem_create
 * @file: caller
 */
int vze_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_gem_create *args = data;
	struct vze_device *vdev = to_vze(drm);
	struct vze_gem *bo;

	if (args->pad || (args->flags & ~(DRM_VZE_GEM_COMPRESSIBLE | DRM_VZE_GEM_EXPLICIT)))
		return -EINVAL;
	if (!args->size || !PAGE_ALIGNED(args->size) || args->size > VZE_GEM_MAX_SIZE)
		return -EINVAL;

	switch (args->placement) {
	case DRM_VZE_PLACEMENT_VRAM:
		bo = vze_gem_vram_create(vdev, args->size,
					 args->flags & DRM_VZE_GEM_COMPRESSIBLE ?
					 VZE_GEM_COMPRESSIBLE : 0);
		break;
	case DRM_VZE_PLACEMENT_SYSTEM:
		if (args->flags & DRM_VZE_GEM_COMPRESSIBLE)
			return -EINVAL;
		bo = vze_gem_system_create(vdev, args->size);
		break;
	default:
		return -EINVAL;
	}
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (args->flags & DRM_VZE_GEM_EXPLICIT)
		bo->flags |= VZE_GEM_EXPLICIT;
	return vze_gem_publish(file, bo, &args->handle);
}

/**
 * vze_gem_mmap_offset_ioctl() - DRM_IOCTL_VZE_GEM_MMAP_OFFSET
 * @drm: device
 * @data: struct drm_vze_gem_mmap_offset
 * @file: caller
 */
int vze_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_gem_mmap_offset *args = data;
	struct vze_gem *bo;
	int ret;

	if (args->flags)
		return -EINVAL;
	bo = vze_gem_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	if (bo->base.funcs->mmap) {
		ret = drm_gem_create_mmap_offset(&bo->base);
		args->offset = drm_vma_node_offset_addr(&bo->base.vma_node);
	} else {
		ret = -EOPNOTSUPP;
	}
	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * vze_gem_info_ioctl() - DRM_IOCTL_VZE_GEM_INFO
 * @drm: device
 * @data: struct drm_vze_gem_info
 * @file: caller
 */
int vze_gem_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_gem_info *args = data;
	struct vze_gem *bo = vze_gem_lookup(file, args->handle);

	if (!bo)
		return -ENOENT;
	args->placement = bo->placement;
	args->size = bo->base.size;
	args->flags = 0;
	if (bo->flags & VZE_GEM_READONLY)
		args->flags |= DRM_VZE_GEM_INFO_READONLY;
	if (bo->flags & VZE_GEM_COMPRESSIBLE)
		args->flags |= DRM_VZE_GEM_INFO_COMPRESSIBLE;
	args->segments = bo->segments;
	args->user_addr = vze_userptr_address(bo);
	drm_gem_object_put(&bo->base);
	return 0;
}
