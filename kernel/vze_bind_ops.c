// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of VM_BIND on the tree of mappings, with a journal to undo them.
 *
 * All of it under vze_vm.lock.
 */

#include <linux/slab.h>

#include "vze_bind_prepared.h"
#include "vze_compat.h"
#include "vze_userptr.h"
#include "vze_vm.h"

static int bind_add_range(struct vze_bind *bind, const struct vze_pt_range *range)
{
	if (bind->num_ranges == bind->max_ranges) {
		u64 max = max_t(u64, bind->max_ranges * 2, bind->num_ops);
		struct vze_pt_range *more = kvmalloc_array(max, sizeof(*more), GFP_KERNEL_ACCOUNT);

		if (!more)
			return -ENOMEM;
		memcpy(more, bind->ranges, bind->num_ranges * sizeof(*more));
		if (bind->ranges != bind->few)
			kvfree(bind->ranges);
		bind->ranges = more;
		bind->max_ranges = max;
	}
	bind->ranges[bind->num_ranges++] = *range;
	return vze_pt_reserve(&bind->vm->pt, &bind->update, range);
}

static void op_begin(struct vze_bind *bind)
{
	bind->touch_start = U64_MAX;
	bind->touch_end = 0;
}

/* The operation at hand has replaced something that the device may know. */
static bool op_touched(const struct vze_bind *bind)
{
	return bind->touch_start < bind->touch_end;
}

static struct vze_vma *bind_vma(struct vze_bind *bind)
{
	if (bind->num_ops == 1)
		return vze_vma_alloc();
	if (!bind->num_ready)
		bind->num_ready = vze_vma_alloc_bulk(ARRAY_SIZE(bind->ready), bind->ready);
	return bind->num_ready ? bind->ready[--bind->num_ready] : NULL;
}

/* The new mapping holds its own reference on @obj. */
static int bind_insert(struct vze_bind *bind, u64 addr, u64 range, struct drm_gem_object *obj,
		       u64 offset, u32 flags)
{
	struct vze_vma *vma = bind_vma(bind);
	int ret;

	if (!vma)
		return -ENOMEM;
	drm_gem_object_get(obj);
	vma->base.va.addr = addr;
	vma->base.va.range = range;
	vma->base.gem.obj = obj;
	vma->base.gem.offset = offset;
	vma->flags = flags;
	ret = drm_gpuva_insert(&bind->vm->base, &vma->base);
	if (ret) {
		vze_vma_free(vma);
		return ret;
	}
	list_add_tail(&vma->link, &bind->inserted);
	bind->vmas++;
	vze_prime_vm_changed(bind->vm, to_vze_gem(obj));
	return 0;
}

/* Removes a mapping of which [start, end) changes for device and CPU. */
static void bind_remove(struct vze_bind *bind, struct vze_vma *vma, u64 start, u64 end)
{
	start = max(start, vma->base.va.addr);
	end = min(end, vma->base.va.addr + vma->base.va.range);

	drm_gpuva_remove(&vma->base);
	list_add_tail(&vma->dead, &bind->removed);
	bind->vmas--;
	vze_prime_vm_changed(bind->vm, to_vze_gem(vma->base.gem.obj));
	bind->bytes[vze_gem_region(to_vze_gem(vma->base.gem.obj))] += end - start;
	bind->zap_start = min(bind->zap_start, start);
	bind->zap_end = max(bind->zap_end, end);
	if (!(vma->flags & DRM_VZE_BIND_NO_ACCESS)) {
		vze_pt_touch(&bind->update, start, end);
		bind->touch_start = min(bind->touch_start, start);
		bind->touch_end = max(bind->touch_end, end);
	}
}

/**
 * vze_bind_step_map() - &drm_gpuvm_ops.sm_step_map
 * @op: step
 * @priv: bind
 */
int vze_bind_step_map(struct drm_gpuva_op *op, void *priv)
{
	const struct drm_gpuva_op_map *map = &op->map;
	struct vze_bind *bind = priv;

	return bind_insert(bind, map->va.addr, map->va.range, map->gem.obj, map->gem.offset,
			   bind->flags);
}

/**
 * vze_bind_step_remap() - &drm_gpuvm_ops.sm_step_remap
 * @op: step
 * @priv: bind
 */
int vze_bind_step_remap(struct drm_gpuva_op *op, void *priv)
{
	const struct drm_gpuva_op_remap *remap = &op->remap;
	struct vze_vma *vma = to_vze_vma(remap->unmap->va);
	struct vze_bind *bind = priv;
	u64 start, range;
	int ret = 0;

	drm_gpuva_op_remap_to_unmap_range(remap, &start, &range);
	bind_remove(bind, vma, start, start + range);
	if (remap->prev)
		ret = bind_insert(bind, remap->prev->va.addr, remap->prev->va.range,
				  remap->prev->gem.obj, remap->prev->gem.offset, vma->flags);
	if (!ret && remap->next)
		ret = bind_insert(bind, remap->next->va.addr, remap->next->va.range,
				  remap->next->gem.obj, remap->next->gem.offset, vma->flags);
	return ret;
}

/**
 * vze_bind_step_unmap() - &drm_gpuvm_ops.sm_step_unmap
 * @op: step
 * @priv: bind
 */
int vze_bind_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	bind_remove(priv, to_vze_vma(op->unmap.va), 0, U64_MAX);
	return 0;
}

/**
 * vze_bind_prepared() - all operations are prepared, or one could not be
 * @bind: bind
 *
 * Gives back what only preparing needed.
 */
void vze_bind_prepared(struct vze_bind *bind)
{
	if (bind->bo)
		drm_gem_object_put(&bind->bo->base);
	bind->bo = NULL;
	while (bind->num_ready)
		vze_vma_free(bind->ready[--bind->num_ready]);
}

/**
 * vze_bind_undo() - put the tree back as it was before the bind
 * @bind: bind, prepared up to any point
 */
void vze_bind_undo(struct vze_bind *bind)
{
	struct vze_vma *vma, *next;

	list_for_each_entry(vma, &bind->inserted, link) {
		if (!vma->dead.next)
			drm_gpuva_remove(&vma->base);
	}
	list_for_each_entry_safe(vma, next, &bind->removed, dead) {
		if (vma->link.next)
			continue;
		vma->dead.next = NULL;
		/* Fits: it was there before. */
		WARN_ON_ONCE(drm_gpuva_insert(&bind->vm->base, &vma->base));
	}
	list_for_each_entry_safe(vma, next, &bind->inserted, link)
		vze_vma_free(vma);
}

/**
 * vze_bind_settle() - the bind will not be undone
 * @bind: prepared bind; what it made belongs to the tree alone from here on
 */
void vze_bind_settle(struct vze_bind *bind)
{
	struct vze_vma *vma, *next;

	list_for_each_entry_safe(vma, next, &bind->inserted, link)
		vma->link.next = NULL;
	INIT_LIST_HEAD(&bind->inserted);
}

/**
 * vze_bind_free_removed() - let go of what the bind replaced
 * @bind: bind that the device has acknowledged, and after the CPU's pages are gone
 */
void vze_bind_free_removed(struct vze_bind *bind)
{
	struct vze_vma *vma, *next;

	list_for_each_entry_safe(vma, next, &bind->removed, dead) {
		vze_vma_free(vma);
		cond_resched();
	}
	INIT_LIST_HEAD(&bind->removed);
}

/**
 * vze_bind_prepare_object() - map a part of an object
 * @bind: bind
 * @bo: object; the mapping takes its own reference
 * @addr: address
 * @range: bytes
 * @offset: first byte in @bo
 * @flags: DRM_VZE_BIND_*
 *
 * Return: 0, -EINVAL (not inside the object), -EACCES (read-only, revoked), -EPERM (memory
 * of another process) or -ENOMEM; after an error the bind is undone as a whole.
 */
int vze_bind_prepare_object(struct vze_bind *bind, struct vze_gem *bo, u64 addr, u64 range,
			    u64 offset, u32 flags)
{
	struct vze_pt_range change = {
		.start = addr,
		.size = range,
		.bo = flags & DRM_VZE_BIND_NO_ACCESS ? NULL : bo,
		.offset = offset,
		.bits = flags & DRM_VZE_BIND_READONLY ? 0 : VZE_HW_PTE_WRITABLE,
	};
	int ret;

	if (offset > bo->base.size || range > bo->base.size - offset)
		return -EINVAL;
	if ((bo->flags & VZE_GEM_READONLY) &&
	    !(flags & (DRM_VZE_BIND_READONLY | DRM_VZE_BIND_NO_ACCESS)))
		return -EACCES;
	if (vze_gem_is_revoked(bo) && !(flags & DRM_VZE_BIND_NO_ACCESS))
		return -EACCES;
	if (vze_userptr_is_foreign(bo))
		return -EPERM;

	bind->flags = flags;
	op_begin(bind);
	if (drm_gpuvm_interval_empty(&bind->vm->base, addr, range))
		ret = bind_insert(bind, addr, range, &bo->base, offset, flags);
	else
		ret = vze_gpuvm_sm_map(&bind->vm->base, bind, addr, range, &bo->base, offset);
	if (ret)
		return ret;
	return change.bo || op_touched(bind) ? bind_add_range(bind, &change) : 0;
}

static int prepare_map(struct vze_bind *bind, struct drm_file *file,
		       const struct drm_vze_bind_op *op)
{
	/* Many pieces of one object in a row are common. */
	if (!bind->bo || bind->handle != op->handle) {
		if (bind->bo)
			drm_gem_object_put(&bind->bo->base);
		bind->bo = vze_gem_lookup(file, op->handle);
		bind->handle = op->handle;
		if (!bind->bo)
			return -ENOENT;
	}
	return vze_bind_prepare_object(bind, bind->bo, op->addr, op->range, op->offset,
				       op->flags);
}

static int prepare_unmap(struct vze_bind *bind, const struct drm_vze_bind_op *op)
{
	struct vze_pt_range change = {};
	int ret;

	op_begin(bind);
	ret = drm_gpuvm_sm_unmap(&bind->vm->base, bind, op->addr, op->range);
	if (ret || !op_touched(bind))
		return ret;
	/* Not all of the range: beside its own, a deferred bind's translations may be there. */
	change.start = bind->touch_start;
	change.size = bind->touch_end - bind->touch_start;
	return bind_add_range(bind, &change);
}

/* Gives [start, end) of a mapping other flags. */
static int protect_vma(struct vze_bind *bind, struct vze_vma *vma, u64 start, u64 end, u32 flags)
{
	struct drm_gem_object *obj = vma->base.gem.obj;
	u64 addr = vma->base.va.addr, vma_end = addr + vma->base.va.range;
	u64 offset = vma->base.gem.offset;
	struct vze_pt_range change = {
		.bo = to_vze_gem(obj),
		.bits = flags & DRM_VZE_BIND_READONLY ? 0 : VZE_HW_PTE_WRITABLE,
	};
	int ret = 0;

	if (vma->flags == flags)
		return 0;
	if (!(flags & DRM_VZE_BIND_READONLY) && (to_vze_gem(obj)->flags & VZE_GEM_READONLY))
		return -EACCES;

	start = max(start, addr);
	end = min(end, vma_end);
	change.start = start;
	change.size = end - start;
	change.offset = offset + (start - addr);

	bind_remove(bind, vma, start, end);
	if (addr < start)
		ret = bind_insert(bind, addr, start - addr, obj, offset, vma->flags);
	if (!ret)
		ret = bind_insert(bind, start, end - start, obj, change.offset, flags);
	if (!ret && end < vma_end)
		ret = bind_insert(bind, end, vma_end - end, obj, offset + (end - addr),
				  vma->flags);
	/* The same translations are written once more, with other access: no gap. */
	return ret ?: bind_add_range(bind, &change);
}

static int prepare_protect(struct vze_bind *bind, const struct drm_vze_bind_op *op)
{
	u64 end = op->addr + op->range, next = op->addr;
	struct drm_gpuva *va, *following;
	int ret;

	drm_gpuvm_for_each_va_range(va, &bind->vm->base, op->addr, end) {
		if (va->va.addr > next)
			return -ENOENT;
		next = va->va.addr + va->va.range;
	}
	if (next < end)
		return -ENOENT;

	drm_gpuvm_for_each_va_range_safe(va, following, &bind->vm->base, op->addr, end) {
		ret = protect_vma(bind, to_vze_vma(va), op->addr, end, op->flags);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * vze_bind_prepare_op() - prepare one operation
 * @bind: bind
 * @file: whose handles
 * @op: operation, checked
 *
 * Return: 0 or an error as VM_BIND describes it.
 */
int vze_bind_prepare_op(struct vze_bind *bind, struct drm_file *file,
			const struct drm_vze_bind_op *op)
{
	switch (op->op) {
	case DRM_VZE_BIND_MAP:
		return prepare_map(bind, file, op);
	case DRM_VZE_BIND_UNMAP:
		return prepare_unmap(bind, op);
	default:
		return prepare_protect(bind, op);
	}
}
