// SPDX-License-Identifier: GPL-2.0
/*
 * SHARE_CREATE: a share of an object, of a list of pieces, or of a range of a VM.
 *
 * A share is made complete before anybody can find it. Equal requests then give the one
 * that is there already.
 */

#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include <drm/drm_drv.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_share_table.h"
#include "vze_user.h"
#include "vze_vm.h"

/* What a segment costs, and how much more a source does, in segments. */
#define SEGMENT_COST	(sizeof(struct vze_segment) + sizeof(struct vze_share_use))
#define SOURCE_COST	(sizeof(struct vze_share_source) + sizeof(struct vze_share_use))
#define SOURCE_CHARGE	DIV_ROUND_UP(SOURCE_COST, SEGMENT_COST)
/* What kvmalloc() gives without a complaint: those whom no limit holds back may ask for more. */
#define MAX_PIECES	(INT_MAX / SEGMENT_COST)

static bool bo_can_be_shared(const struct vze_gem *bo)
{
	return bo->placement == DRM_VZE_PLACEMENT_VRAM ||
	       bo->placement == DRM_VZE_PLACEMENT_SYSTEM ||
	       bo->placement == DRM_VZE_PLACEMENT_SHARE;
}

/**
 * struct share_room - what the pieces of a share need
 */
struct share_room {
	/** @segments: segments */
	u64 segments;
	/** @sources: views */
	u64 sources;
};

static void room_add(struct share_room *room, const struct vze_gem *bo, u64 offset, u64 size)
{
	room->segments += vze_segments_count(bo, offset, size);
	room->sources += bo->placement == DRM_VZE_PLACEMENT_SHARE;
}

static int share_reserve(struct vze_share *share, const struct share_room *room)
{
	u64 charge = room->segments + room->sources * SOURCE_CHARGE;
	int ret;

	/* Before anything is allocated: the limit is what keeps that small. */
	ret = vze_user_charge(share->user, VZE_USER_SEGMENTS, charge);
	if (ret)
		return ret;
	if (room->segments + room->sources <= MAX_PIECES)
		share->segments = vze_segments_alloc(room->segments, share->user, charge);
	if (!share->segments) {
		vze_user_uncharge(share->user, VZE_USER_SEGMENTS, charge);
		return -ENOMEM;
	}
	ret = vze_share_uses_alloc(share, room->segments + room->sources);
	if (ret || !room->sources)
		return ret;
	share->sources = kvmalloc_array(room->sources, sizeof(*share->sources),
					GFP_KERNEL_ACCOUNT);
	return share->sources ? 0 : -ENOMEM;
}

static void share_add(struct vze_share *share, struct vze_gem *bo, u64 offset, u64 size)
{
	struct vze_share_source *source;

	share->readonly |= bo->flags & VZE_GEM_READONLY;
	vze_segments_add(share->segments, bo, offset, size);
	if (bo->placement != DRM_VZE_PLACEMENT_SHARE)
		return;
	/* Pieces of one view in a row are one source. */
	if (share->num_sources && &share->sources[share->num_sources - 1].view->base == bo)
		return;
	source = &share->sources[share->num_sources++];
	drm_gem_object_get(&bo->base);
	source->view = to_vze_gem_share(bo);
	source->share = share;
}

static int share_fill_object(struct vze_share *share, struct vze_gem *bo)
{
	struct share_room room = {};
	int ret;

	if (!bo_can_be_shared(bo))
		return -EOPNOTSUPP;
	room_add(&room, bo, 0, bo->base.size);
	ret = share_reserve(share, &room);
	if (!ret)
		share_add(share, bo, 0, bo->base.size);
	return ret;
}

static int share_fill_range(struct vze_share *share, struct vze_vm *vm, u64 addr, u64 size)
{
	u64 end = addr + size, next = addr;
	struct share_room room = {};
	struct drm_gpuva *va;
	int ret;

	lockdep_assert_held(&vm->lock);

	drm_gpuvm_for_each_va_range(va, &vm->base, addr, end) {
		const struct vze_gem *bo = to_vze_gem(va->gem.obj);

		if (va->va.addr > next)
			return -ENOENT;
		if (!bo_can_be_shared(bo))
			return -EOPNOTSUPP;
		next = va->va.addr + va->va.range;
		room_add(&room, bo, va->gem.offset, va->va.range);
	}
	if (next < end)
		return -ENOENT;

	ret = share_reserve(share, &room);
	if (ret)
		return ret;
	drm_gpuvm_for_each_va_range(va, &vm->base, addr, end) {
		u64 first = max(va->va.addr, addr);
		u64 last = min(va->va.addr + va->va.range, end);

		share_add(share, to_vze_gem(va->gem.obj), va->gem.offset + (first - va->va.addr),
			  last - first);
	}
	return 0;
}

static struct vze_share *share_alloc(struct vze_file *file, const void *what,
				     const struct drm_vze_share_create *args)
{
	struct vze_share *share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);

	if (!share)
		return ERR_PTR(-ENOMEM);
	share->user = vze_user_get_current();
	if (!share->user) {
		kfree(share);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&share->ref);
	share->key.file = file;
	share->key.what = what;
	share->key.addr = args->addr;
	share->key.size = args->flags & DRM_VZE_SHARE_RANGE ? args->size : 0;
	share->key.flags = args->flags;
	share->key.user_data = args->user_data;
	share->vdev = file->vdev;
	drm_dev_get(&file->vdev->drm);
	share->uid = current_euid();
	share->user_ns = get_user_ns(current_user_ns());
	share->pid = get_pid(task_tgid(current));
	get_task_comm(share->comm, current->group_leader);
	share->readonly = args->flags & DRM_VZE_SHARE_READONLY;
	INIT_LIST_HEAD(&share->derived);
	INIT_LIST_HEAD(&share->views);
	INIT_LIST_HEAD(&share->importers);
	INIT_LIST_HEAD(&share->revoke_link);
	init_waitqueue_head(&share->wq);
	return share;
}

/* Publishes a complete share, or counts one more create of an equal one. */
static int share_finish(struct vze_share *share, struct drm_vze_share_create *args)
{
	struct vze_share *equal;
	int ret = 0;

	vze_share_hash(share);
	mutex_lock(&vze_shares_lock);
	equal = vze_share_find_equal(share);
	if (!equal) {
		mutex_unlock(&vze_shares_lock);
		vze_share_uses_link(share);
		mutex_lock(&vze_shares_lock);
		equal = vze_share_find_equal(share);
	}
	if (!equal)
		ret = vze_share_publish(share);
	if (!ret) {
		struct vze_share *result = equal ?: share;

		result->puts++;
		args->segments = result->num_segments;
		args->size = result->size;
		args->token = result->token;
	}
	mutex_unlock(&vze_shares_lock);
	if (equal || ret)
		vze_share_free_unpublished(share);
	return ret;
}

/*
 * A handle that was closed before the share was there has not ended it. Looked at again, it
 * either is still there, or the share ends here.
 */
static int share_check_handle(struct vze_file *file, u32 handle, struct vze_gem *bo)
{
	struct vze_gem *again = vze_gem_lookup(file->drm_file, handle);
	int ret = 0;

	if (again != bo) {
		vze_shares_object_closed(file, bo);
		ret = -ENOENT;
	}
	if (again)
		drm_gem_object_put(&again->base);
	return ret;
}

static int share_create_object(struct vze_file *file, struct drm_vze_share_create *args)
{
	struct vze_share *share;
	struct vze_gem *bo;
	int ret;

	if (args->vm_id || args->addr)
		return -EINVAL;
	bo = vze_gem_lookup(file->drm_file, args->handle);
	if (!bo)
		return -ENOENT;
	share = share_alloc(file, bo, args);
	if (IS_ERR(share)) {
		ret = PTR_ERR(share);
		goto out;
	}
	ret = share_fill_object(share, bo);
	if (ret)
		vze_share_free_unpublished(share);
	else
		ret = share_finish(share, args);
	if (!ret)
		ret = share_check_handle(file, args->handle, bo);
out:
	drm_gem_object_put(&bo->base);
	return ret;
}

static int share_create_range(struct vze_file *file, struct drm_vze_share_create *args)
{
	struct vze_share *share;
	struct vze_vm *vm;
	int ret;

	if (args->handle || !args->size || !PAGE_ALIGNED(args->addr | args->size) ||
	    args->addr < VZE_VM_START || args->addr >= VZE_VM_END ||
	    args->size > VZE_VM_END - args->addr)
		return -EINVAL;
	vm = vze_vm_lookup(file, args->vm_id);
	if (!vm)
		return -ENOENT;
	share = share_alloc(file, vm, args);
	if (IS_ERR(share)) {
		ret = PTR_ERR(share);
		goto out;
	}
	if (mutex_lock_interruptible(&vm->lock)) {
		ret = -EINTR;
	} else {
		ret = share_fill_range(share, vm, args->addr, args->size);
		mutex_unlock(&vm->lock);
	}
	if (ret)
		vze_share_free_unpublished(share);
	else
		ret = share_finish(share, args);
out:
	vze_vm_put(vm);
	return ret;
}

/* -------------------------------------------------------------------- list -- */

/**
 * struct share_list - a list of pieces on its way into a share
 */
struct share_list {
	/** @num: number of @pieces */
	u32 num;
	/** @pieces: copy of the caller's */
	struct drm_vze_share_piece *pieces;
	/** @bos: their objects, with references; NULL from the first on that was not looked up */
	struct vze_gem **bos;
};

static void list_free(struct share_list *list)
{
	u32 i;

	for (i = 0; list->bos && i < list->num && list->bos[i]; i++) {
		drm_gem_object_put(&list->bos[i]->base);
		if (!(i % 1024))
			cond_resched();
	}
	kvfree(list->bos);
	kvfree(list->pieces);
}

static int list_copy(struct share_list *list, const struct drm_vze_share_create *args)
{
	list->num = args->num_pieces;
	list->pieces = kvmalloc_array(list->num, sizeof(*list->pieces), GFP_KERNEL_ACCOUNT);
	list->bos = kvcalloc(list->num, sizeof(*list->bos), GFP_KERNEL_ACCOUNT);
	if (!list->pieces || !list->bos)
		return -ENOMEM;
	if (copy_from_user(list->pieces, u64_to_user_ptr(args->pieces),
			   list->num * sizeof(*list->pieces)))
		return -EFAULT;
	return 0;
}

static int list_look_up(struct share_list *list, struct drm_file *file, struct share_room *room)
{
	u32 i;

	for (i = 0; i < list->num; i++) {
		const struct drm_vze_share_piece *piece = &list->pieces[i];
		struct vze_gem *bo;

		if (piece->pad || !piece->size || !PAGE_ALIGNED(piece->offset | piece->size))
			return -EINVAL;
		bo = vze_gem_lookup(file, piece->handle);
		if (!bo)
			return -ENOENT;
		list->bos[i] = bo;
		if (!bo_can_be_shared(bo))
			return -EOPNOTSUPP;
		if (piece->offset >= bo->base.size || piece->size > bo->base.size - piece->offset)
			return -EINVAL;
		room_add(room, bo, piece->offset, piece->size);
	}
	return 0;
}

static int list_check_handles(struct share_list *list, struct vze_file *file)
{
	u32 i;

	for (i = 0; i < list->num; i++) {
		int ret = share_check_handle(file, list->pieces[i].handle, list->bos[i]);

		if (ret)
			return ret;
	}
	return 0;
}

static int share_create_list(struct vze_file *file, struct drm_vze_share_create *args)
{
	struct share_room room = {};
	struct share_list list = {};
	struct vze_share *share;
	int ret;
	u32 i;

	if (args->handle || args->vm_id || args->addr || !args->num_pieces ||
	    args->num_pieces > DRM_VZE_MAX_SHARE_PIECES)
		return -EINVAL;
	ret = list_copy(&list, args);
	if (!ret)
		ret = list_look_up(&list, file->drm_file, &room);
	if (ret)
		goto out;
	share = share_alloc(file, NULL, args);
	if (IS_ERR(share)) {
		ret = PTR_ERR(share);
		goto out;
	}
	ret = share_reserve(share, &room);
	if (ret) {
		vze_share_free_unpublished(share);
		goto out;
	}
	for (i = 0; i < list.num; i++)
		share_add(share, list.bos[i], list.pieces[i].offset, list.pieces[i].size);
	ret = share_finish(share, args);
	if (!ret)
		ret = list_check_handles(&list, file);
out:
	list_free(&list);
	return ret;
}

/**
 * vze_share_create_ioctl() - DRM_IOCTL_VZE_SHARE_CREATE
 * @drm: device
 * @data: struct drm_vze_share_create
 * @file: caller
 */
int vze_share_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_create *args = data;
	u32 kind = args->flags & (DRM_VZE_SHARE_RANGE | DRM_VZE_SHARE_LIST);

	if ((args->flags & ~(DRM_VZE_SHARE_READONLY | kind)) || args->pad)
		return -EINVAL;
	if (!(kind & DRM_VZE_SHARE_LIST) && (args->pieces || args->num_pieces))
		return -EINVAL;
	if (current->mm != to_vze_file(file)->mm)
		return -EPERM;
	switch (kind) {
	case 0:
		return share_create_object(to_vze_file(file), args);
	case DRM_VZE_SHARE_RANGE:
		return share_create_range(to_vze_file(file), args);
	case DRM_VZE_SHARE_LIST:
		return share_create_list(to_vze_file(file), args);
	default:
		return -EINVAL;
	}
}
