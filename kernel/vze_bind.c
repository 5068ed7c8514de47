// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND: changing what an address space maps, all or nothing.
 *
 * A bind is prepared, then committed. Preparing happens under vze_vm.lock and may fail
 * at any operation: it changes the tree of mappings, journals what it took out and put
 * in, and reserves what the page tables will need. Undoing that is moving pointers.
 * Committing happens under vze_pt.lock, writes the page table entries, tells the device
 * once, and cannot fail for want of anything. A synchronous bind does both in one go.
 * An asynchronous one is committed by a worker after the fences it waits for and after
 * the asynchronous bind before it; the worker signals a fence, so it takes no lock
 * under which memory is allocated.
 *
 * The tree thus shows what all accepted binds lead to, so that each is checked against
 * the state that it will find. A synchronous bind first waits for pending ones in its
 * range, which keeps the page tables in the same order.
 */

#include <linux/dma-fence.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "vze_bind.h"
#include "vze_compat.h"
#include "vze_device.h"
#include "vze_fence.h"
#include "vze_quarantine.h"
#include "vze_sync.h"
#include "vze_userptr.h"
#include "vze_vm.h"

/* Up to here two binds are compared operation by operation, above as a whole. */
#define VZE_BIND_COMPARE	4096

static struct workqueue_struct *bind_wq;

/**
 * struct vze_bind_wait - a fence that an asynchronous bind waits for
 */
struct vze_bind_wait {
	/** @cb: callback in the fence */
	struct dma_fence_cb cb;
	/** @bind: who waits */
	struct vze_bind *bind;
};

/**
 * struct vze_bind - a bind from its preparation to its end
 */
struct vze_bind {
	/** @vm: address space; a use of it if asynchronous */
	struct vze_vm *vm;
	/** @ops: operations */
	struct drm_vze_bind_op *ops;
	/** @num_ops: number of @ops */
	u32 num_ops;
	/** @flags: DRM_VZE_BIND_* of the operation at hand */
	u32 flags;
	/** @touched: the operation at hand replaces something that the device may know */
	bool touched;
	/** @single: @ops of a bind of one operation */
	struct drm_vze_bind_op single;
	/** @start: lowest address of all operations */
	u64 start;
	/** @end: first address after all operations */
	u64 end;

	/** @inserted: mappings made, by vze_vma.link; they may have been removed again */
	struct list_head inserted;
	/** @removed: mappings taken out of the tree, by vze_vma.dead */
	struct list_head removed;
	/** @vmas: by how much the number of mappings changes */
	s64 vmas;
	/** @zap_start: the CPU may have mapped what was removed from here on ... */
	u64 zap_start;
	/** @zap_end: ... up to here */
	u64 zap_end;
	/** @update: reservation in the page tables */
	struct vze_pt_update update;
	/** @ranges: changes of the page tables in order */
	struct vze_pt_range *ranges;
	/** @num_ranges: number of @ranges */
	u64 num_ranges;
	/** @max_ranges: room in @ranges */
	u64 max_ranges;
	/** @few: @ranges while there are few */
	struct vze_pt_range few[2];

	/* The rest belongs to asynchronous binds. */

	/** @link: in vze_vm.pending */
	struct list_head link;
	/** @syncs: syncobjs, kept for the references on the fences */
	struct vze_syncs syncs;
	/** @fence: signalled when the bind is done */
	struct vze_fence *fence;
	/** @waits: one per fence to wait for, and one for the bind before */
	struct vze_bind_wait *waits;
	/** @waiting: fences not signalled yet, and one for the submission itself */
	atomic_t waiting;
	/** @work: commits it */
	struct work_struct work;
};

/* ------------------------------------------------------- tree and journal -- */

static struct vze_bind *bind_alloc(struct vze_vm *vm)
{
	struct vze_bind *bind = kzalloc(sizeof(*bind), GFP_KERNEL_ACCOUNT);

	if (!bind)
		return NULL;
	bind->vm = vm;
	bind->ops = &bind->single;
	bind->ranges = bind->few;
	bind->max_ranges = ARRAY_SIZE(bind->few);
	bind->start = U64_MAX;
	bind->zap_start = U64_MAX;
	INIT_LIST_HEAD(&bind->inserted);
	INIT_LIST_HEAD(&bind->removed);
	INIT_LIST_HEAD(&bind->link);
	return bind;
}

static void bind_free(struct vze_bind *bind)
{
	if (bind->ranges != bind->few)
		kvfree(bind->ranges);
	if (bind->ops != &bind->single)
		kvfree(bind->ops);
	kfree(bind->waits);
	kfree(bind);
}

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

/* The new mapping holds its own reference on @obj. */
static int bind_insert(struct vze_bind *bind, u64 addr, u64 range, struct drm_gem_object *obj,
		       u64 offset, u32 flags)
{
	struct vze_vma *vma = vze_vma_alloc();
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
	bind->zap_start = min(bind->zap_start, start);
	bind->zap_end = max(bind->zap_end, end);
	if (!(vma->flags & DRM_VZE_BIND_NO_ACCESS)) {
		vze_pt_touch(&bind->update, start, end);
		bind->touched = true;
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

/* Puts the tree back as it was before the bind. */
static void bind_undo(struct vze_bind *bind)
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

/* The journal of a bind that will not be undone: what it made belongs to the tree alone. */
static void bind_settle(struct vze_bind *bind)
{
	struct vze_vma *vma, *next;

	list_for_each_entry_safe(vma, next, &bind->inserted, link)
		vma->link.next = NULL;
	INIT_LIST_HEAD(&bind->inserted);
}

static void bind_free_removed(struct vze_bind *bind)
{
	struct vze_vma *vma, *next;

	list_for_each_entry_safe(vma, next, &bind->removed, dead) {
		vze_vma_free(vma);
		cond_resched();
	}
	INIT_LIST_HEAD(&bind->removed);
}

/* ------------------------------------------------------------- operations -- */

static int prepare_map_object(struct vze_bind *bind, struct vze_gem *bo, u64 addr, u64 range,
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
	if (vze_userptr_is_foreign(bo))
		return -EPERM;

	bind->flags = flags;
	bind->touched = false;
	ret = vze_gpuvm_sm_map(&bind->vm->base, bind, addr, range, &bo->base, offset);
	if (ret)
		return ret;
	return change.bo || bind->touched ? bind_add_range(bind, &change) : 0;
}

static int prepare_map(struct vze_bind *bind, struct drm_file *file,
		       const struct drm_vze_bind_op *op)
{
	struct vze_gem *bo = vze_gem_lookup(file, op->handle);
	int ret;

	if (!bo)
		return -ENOENT;
	ret = prepare_map_object(bind, bo, op->addr, op->range, op->offset, op->flags);
	drm_gem_object_put(&bo->base);
	return ret;
}

static int prepare_unmap(struct vze_bind *bind, const struct drm_vze_bind_op *op)
{
	const struct vze_pt_range change = { .start = op->addr, .size = op->range };
	int ret;

	bind->touched = false;
	ret = drm_gpuvm_sm_unmap(&bind->vm->base, bind, op->addr, op->range);
	if (ret)
		return ret;
	return bind->touched ? bind_add_range(bind, &change) : 0;
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

static int prepare_op(struct vze_bind *bind, struct drm_file *file,
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

/* What can be said about an operation without looking at anything else. */
static int op_check(const struct drm_vze_bind_op *op)
{
	static const u32 flags[] = {
		[DRM_VZE_BIND_MAP] = DRM_VZE_BIND_READONLY | DRM_VZE_BIND_NO_ACCESS,
		[DRM_VZE_BIND_UNMAP] = 0,
		[DRM_VZE_BIND_PROTECT] = DRM_VZE_BIND_READONLY,
	};
	u64 end;

	if (op->op >= ARRAY_SIZE(flags) || op->pad || (op->flags & ~flags[op->op]))
		return -EINVAL;
	if (!op->range || !PAGE_ALIGNED(op->range | op->addr | op->offset))
		return -EINVAL;
	if (op->addr < VZE_VM_START || check_add_overflow(op->addr, op->range, &end) ||
	    end > VZE_VM_END)
		return -EINVAL;
	if (op->op != DRM_VZE_BIND_MAP && (op->handle || op->offset))
		return -EINVAL;
	return 0;
}

/* ---------------------------------------------------------------- pending -- */

static bool ops_meet(const struct vze_bind *a, const struct vze_bind *b)
{
	u32 i, j;

	if (a->start >= b->end || b->start >= a->end)
		return false;
	if ((u64)a->num_ops * b->num_ops > VZE_BIND_COMPARE)
		return true;
	for (i = 0; i < a->num_ops; i++) {
		for (j = 0; j < b->num_ops; j++) {
			if (a->ops[i].addr < b->ops[j].addr + b->ops[j].range &&
			    b->ops[j].addr < a->ops[i].addr + a->ops[i].range)
				return true;
		}
	}
	return false;
}

/* Fence of the last pending bind that this one has to come after, with a reference. */
static struct dma_fence *pending_conflict(struct vze_vm *vm, const struct vze_bind *bind)
{
	struct dma_fence *fence = NULL;
	struct vze_bind *other;

	spin_lock(&vm->pending_lock);
	list_for_each_entry_reverse(other, &vm->pending, link) {
		if (ops_meet(other, bind)) {
			fence = dma_fence_get(&other->fence->base);
			break;
		}
	}
	spin_unlock(&vm->pending_lock);
	return fence;
}

/*
 * Takes vze_vm.lock for a bind whose operations are known. A synchronous bind gets it
 * when no pending one is in its way.
 */
static int bind_lock(struct vze_bind *bind, bool async)
{
	struct vze_vm *vm = bind->vm;
	struct dma_fence *fence;
	int ret;

	for (;;) {
		if (mutex_lock_interruptible(&vm->lock))
			return -EINTR;
		if (vm->dead) {
			mutex_unlock(&vm->lock);
			return -ENOENT;
		}
		fence = async ? NULL : pending_conflict(vm, bind);
		if (!fence)
			break;
		mutex_unlock(&vm->lock);
		ret = dma_fence_wait(fence, true);
		dma_fence_put(fence);
		if (ret)
			return -EINTR;
	}

	vze_pt_update_init(&vm->pt, &bind->update);
	spin_lock(&vm->pending_lock);
	if (!list_empty(&vm->pending)) {
		bind->update.hazard_start = vm->hazard_start;
		bind->update.hazard_end = vm->hazard_end;
	}
	spin_unlock(&vm->pending_lock);
	return 0;
}

/* -------------------------------------------------------------- endings --- */

/* Writes the page tables. Returns what vze_pt_commit() returned. */
static int bind_write(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;

	lockdep_assert_held(&vm->pt.lock);
	vm->num_vmas += bind->vmas;
	atomic64_add(bind->vmas, &vm->vdev->counts.vmas);
	return vze_pt_commit(&vm->pt, &bind->update, bind->ranges, bind->num_ranges);
}

static void bind_zap(struct vze_bind *bind)
{
	if (bind->zap_start < bind->zap_end)
		vze_vm_zap(bind->vm, bind->zap_start, bind->zap_end);
}

/**
 * vze_bind_abort() - undo the preparation of a bind and free it
 * @bind: bind; vze_vm.lock is held and released
 */
void vze_bind_abort(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;

	lockdep_assert_held(&vm->lock);
	bind_undo(bind);
	vze_pt_cancel(&vm->pt, &bind->update);
	mutex_unlock(&vm->lock);
	bind_free(bind);
}

/**
 * vze_bind_commit() - carry a bind out and free it
 * @bind: prepared bind; vze_vm.lock is held and released
 *
 * Return: 0, or -EIO or -ENODEV when the device did not acknowledge: the change is made,
 * and what it replaced is quarantined.
 */
int vze_bind_commit(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	int ret;

	lockdep_assert_held(&vm->lock);
	bind_settle(bind);
	mutex_lock(&vm->pt.lock);
	ret = bind_write(bind);
	mutex_unlock(&vm->pt.lock);
	bind_zap(bind);
	mutex_unlock(&vm->lock);

	if (ret)
		vze_quarantine_vmas(vm->vdev, &bind->removed);
	bind_free_removed(bind);
	bind_free(bind);
	return ret;
}

/**
 * vze_bind_prepare_map() - prepare the mapping of a whole object
 * @vm: address space, used by the caller until the bind is over
 * @bo: object
 * @addr: address, page aligned
 * @flags: DRM_VZE_BIND_*
 *
 * Return: a bind for vze_bind_commit() or vze_bind_abort(), with vze_vm.lock held; or
 * -EINVAL, -EACCES, -ENOENT, -ENOMEM, -EINTR.
 */
struct vze_bind *vze_bind_prepare_map(struct vze_vm *vm, struct vze_gem *bo, u64 addr, u32 flags)
{
	struct vze_bind *bind = bind_alloc(vm);
	int ret;

	if (!bind)
		return ERR_PTR(-ENOMEM);
	bind->single.op = DRM_VZE_BIND_MAP;
	bind->single.flags = flags;
	bind->single.addr = addr;
	bind->single.range = bo->base.size;
	bind->num_ops = 1;
	ret = op_check(&bind->single);
	if (ret)
		goto err_free;
	bind->start = addr;
	bind->end = addr + bo->base.size;
	ret = bind_lock(bind, false);
	if (ret)
		goto err_free;
	ret = prepare_map_object(bind, bo, addr, bo->base.size, 0, flags);
	if (ret) {
		vze_bind_abort(bind);
		return ERR_PTR(ret);
	}
	return bind;

err_free:
	bind_free(bind);
	return ERR_PTR(ret);
}

/* ----------------------------------------------------------- asynchronous -- */

static void bind_work(struct work_struct *work)
{
	struct vze_bind *bind = container_of(work, struct vze_bind, work);
	struct vze_vm *vm = bind->vm;
	bool cookie, dead;
	int ret;

	cookie = dma_fence_begin_signalling();
	mutex_lock(&vm->pt.lock);
	dead = vm->dead;
	ret = dead ? -ECANCELED : bind_write(bind);
	spin_lock(&vm->pending_lock);
	list_del(&bind->link);
	spin_unlock(&vm->pending_lock);
	mutex_unlock(&vm->pt.lock);
	vze_fence_complete(bind->fence, ret);
	dma_fence_end_signalling(cookie);

	/*
	 * Only now the CPU's mappings: taking them away may wait for others' fences. The
	 * objects are held until that is done.
	 */
	if (dead) {
		vze_pt_cancel(&vm->pt, &bind->update);
	} else {
		bind_zap(bind);
		if (ret)
			vze_quarantine_vmas(vm->vdev, &bind->removed);
	}
	bind_free_removed(bind);
	vze_syncs_cleanup(&bind->syncs);
	vze_fence_put(bind->fence);
	bind_free(bind);
	vze_vm_put(vm);
}

/**
 * vze_bind_abandon() - the address space dies with binds pending
 * @vm: address space, dead; the caller holds vze_vm.lock and vze_pt.lock
 * @vmas: gets the mappings that the binds were to free
 */
void vze_bind_abandon(struct vze_vm *vm, struct list_head *vmas)
{
	struct vze_bind *bind;

	lockdep_assert_held(&vm->pt.lock);
	spin_lock(&vm->pending_lock);
	list_for_each_entry(bind, &vm->pending, link)
		list_splice_tail_init(&bind->removed, vmas);
	spin_unlock(&vm->pending_lock);
}

static void bind_wait_over(struct vze_bind *bind)
{
	if (atomic_dec_and_test(&bind->waiting))
		queue_work(bind_wq, &bind->work);
}

static void bind_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	bind_wait_over(container_of(cb, struct vze_bind_wait, cb)->bind);
}

static void bind_wait_for(struct vze_bind *bind, struct vze_bind_wait *wait,
			  struct dma_fence *fence)
{
	wait->bind = bind;
	atomic_inc(&bind->waiting);
	if (dma_fence_add_callback(fence, &wait->cb, bind_fence_signalled))
		atomic_dec(&bind->waiting);
}

/* Everything that can fail about being asynchronous. */
static int bind_prepare_async(struct vze_bind *bind)
{
	bind->waits = kcalloc(bind->syncs.num_waits + 1, sizeof(*bind->waits), GFP_KERNEL_ACCOUNT);
	bind->fence = vze_fence_alloc();
	if (!bind->waits || !bind->fence) {
		vze_fence_free(bind->fence);
		bind->fence = NULL;
		return -ENOMEM;
	}
	atomic_set(&bind->waiting, 1);
	INIT_WORK(&bind->work, bind_work);
	return 0;
}

/*
 * From here on the bind belongs to its worker. The one before is waited for by its
 * fence, so that binds are committed in order.
 */
static void bind_submit(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	struct vze_bind *before;
	struct dma_fence *last = NULL;
	u32 i;

	lockdep_assert_held(&vm->lock);

	bind_settle(bind);
	vze_vm_get(vm);
	vze_fence_init(bind->fence, vm->fence_context, ++vm->fence_seqno);

	spin_lock(&vm->pending_lock);
	if (!list_empty(&vm->pending)) {
		before = list_last_entry(&vm->pending, struct vze_bind, link);
		last = dma_fence_get(&before->fence->base);
	}
	list_add_tail(&bind->link, &vm->pending);
	spin_unlock(&vm->pending_lock);

	/* Reserving began with the hazards of those before, if any. */
	vm->hazard_start = bind->update.hazard_start;
	vm->hazard_end = bind->update.hazard_end;

	vze_syncs_signal(&bind->syncs, &bind->fence->base);
	for (i = 0; i < bind->syncs.num_waits; i++)
		bind_wait_for(bind, &bind->waits[i], bind->syncs.entries[i].fence);
	if (last) {
		bind_wait_for(bind, &bind->waits[i], last);
		dma_fence_put(last);
	}
	bind_wait_over(bind);
}

/* ------------------------------------------------------------------ ioctl -- */

static int bind_copy_ops(struct vze_bind *bind, u64 uptr, u32 num)
{
	const struct drm_vze_bind_op __user *user = u64_to_user_ptr(uptr);
	u32 i;

	if (!num || num > DRM_VZE_MAX_BIND_OPS)
		return -EINVAL;
	if (num > 1) {
		bind->ops = kvmalloc_array(num, sizeof(*bind->ops), GFP_KERNEL_ACCOUNT);
		if (!bind->ops) {
			bind->ops = &bind->single;
			return -ENOMEM;
		}
	}
	if (copy_from_user(bind->ops, user, num * sizeof(*bind->ops)))
		return -EFAULT;
	bind->num_ops = num;

	for (i = 0; i < num; i++) {
		const struct drm_vze_bind_op *op = &bind->ops[i];
		int ret = op_check(op);

		if (ret)
			return ret;
		bind->start = min(bind->start, op->addr);
		bind->end = max(bind->end, op->addr + op->range);
	}
	return 0;
}

static int bind_run(struct vze_bind *bind, struct drm_file *file, bool async)
{
	struct vze_syncs syncs = bind->syncs;
	int ret = 0;
	u32 i;

	if (async)
		ret = bind_prepare_async(bind);
	else
		ret = vze_syncs_wait(&bind->syncs);
	if (!ret)
		ret = bind_lock(bind, async);
	if (ret) {
		vze_fence_free(bind->fence);
		vze_syncs_cleanup(&syncs);
		bind_free(bind);
		return ret;
	}

	for (i = 0; !ret && i < bind->num_ops; i++)
		ret = prepare_op(bind, file, &bind->ops[i]);
	if (ret) {
		vze_fence_free(bind->fence);
		vze_syncs_cleanup(&syncs);
		vze_bind_abort(bind);
		return ret;
	}

	if (async) {
		struct vze_vm *vm = bind->vm;

		bind_submit(bind);
		mutex_unlock(&vm->lock);
		return 0;
	}
	ret = vze_bind_commit(bind);
	if (!ret && syncs.num_signals) {
		struct dma_fence *done = dma_fence_get_stub();

		vze_syncs_signal(&syncs, done);
		dma_fence_put(done);
	}
	vze_syncs_cleanup(&syncs);
	return ret;
}

/**
 * vze_vm_bind_ioctl() - DRM_IOCTL_VZE_VM_BIND
 * @drm: device
 * @data: struct drm_vze_vm_bind
 * @file: caller
 */
int vze_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_vm_bind *args = data;
	struct vze_bind *bind;
	struct vze_vm *vm;
	int ret;

	if (args->flags & ~DRM_VZE_VM_BIND_ASYNC)
		return -EINVAL;
	vm = vze_vm_lookup(to_vze_file(file), args->vm_id);
	if (!vm)
		return -ENOENT;
	bind = bind_alloc(vm);
	if (!bind) {
		ret = -ENOMEM;
		goto out;
	}
	ret = bind_copy_ops(bind, args->ops, args->num_ops);
	if (!ret)
		ret = vze_syncs_parse(file, args->syncs, args->num_syncs, &bind->syncs);
	if (ret)
		bind_free(bind);
	else
		ret = bind_run(bind, file, args->flags & DRM_VZE_VM_BIND_ASYNC);
out:
	vze_vm_put(vm);
	return ret;
}

/**
 * vze_bind_module_init() - workers of asynchronous binds
 *
 * Return: 0 or -ENOMEM.
 */
int vze_bind_module_init(void)
{
	/* Fences, and with them reclaim, may wait for these workers. */
	bind_wq = alloc_workqueue("vze-bind", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return bind_wq ? 0 : -ENOMEM;
}

/**
 * vze_bind_module_exit() - undo vze_bind_module_init()
 *
 * Pending binds hold the module through their fences, so there are none.
 */
void vze_bind_module_exit(void)
{
	destroy_workqueue(bind_wq);
}
