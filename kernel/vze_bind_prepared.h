/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Binds in the making; for vze_bind*.c and vze_vm_revoke.c only.
 */
#ifndef _VZE_BIND_PREPARED_H_
#define _VZE_BIND_PREPARED_H_

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

#include <drm/vze_drm.h>

#include "vze_bind.h"
#include "vze_device.h"
#include "vze_pt.h"
#include "vze_sync.h"

struct vze_fence;

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
	/** @touch_start: the operation at hand replaces what the device knows from here on ... */
	u64 touch_start;
	/** @touch_end: ... up to here */
	u64 touch_end;
	/** @maps: some operation does not only unmap */
	bool maps;
	/** @bo: object that was looked up last, with a reference, or NULL */
	struct vze_gem *bo;
	/** @handle: its handle */
	u32 handle;
	/** @num_ready: number of @ready */
	u32 num_ready;
	/** @ready: mappings allocated in advance, for binds of many operations */
	void *ready[16];
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

	/** @deferred: a deferred free: unmaps, and keeps no order but where it must */
	bool deferred;
	/** @link: in vze_vm.pending unless @deferred, then in vze_vm.finishing */
	struct list_head link;
	/** @node: of @deferred: in vze_vm.deferred until it is carried out */
	struct rb_node node;
	/** @subtree_last: of @deferred: for the tree */
	u64 subtree_last;
	/** @accounted: of @deferred: its @bytes stand in the accounts; under vze_vm.pending_lock */
	bool accounted;
	/** @bytes: of @deferred: what it has removed, by region */
	u64 bytes[VZE_REGION_COUNT];
	/** @syncs: syncobjs, kept for the references on the fences */
	struct vze_syncs syncs;
	/** @fence: signalled when the bind is done */
	struct vze_fence *fence;
	/** @waits: one per fence to wait for, and for the binds that it comes after */
	struct vze_bind_wait *waits;
	/** @max_waits: number of @waits */
	u32 max_waits;
	/** @waiting: fences not signalled yet, and one for the submission itself */
	atomic_t waiting;
	/** @work: commits it */
	struct work_struct work;
};

int vze_bind_prepare_op(struct vze_bind *bind, struct drm_file *file,
			const struct drm_vze_bind_op *op);
int vze_bind_prepare_object(struct vze_bind *bind, struct vze_gem *bo, u64 addr, u64 range,
			    u64 offset, u32 flags);
void vze_bind_prepared(struct vze_bind *bind);
void vze_bind_undo(struct vze_bind *bind);
void vze_bind_settle(struct vze_bind *bind);
void vze_bind_free_removed(struct vze_bind *bind);

void vze_bind_count(struct vze_bind *bind);
int vze_bind_write(struct vze_bind *bind);
void vze_bind_zap(struct vze_bind *bind);
void vze_bind_free(struct vze_bind *bind);

int vze_bind_prepare_async(struct vze_bind *bind);
int vze_bind_prepare_waits(struct vze_bind *bind);
void vze_bind_submit(struct vze_bind *bind);
struct dma_fence *vze_bind_conflict(struct vze_vm *vm, const struct vze_bind *bind);

/* Deferred binds of an address space. */
void vze_deferred_add(struct vze_bind *bind);
void vze_deferred_carried_out(struct vze_bind *bind);
void vze_deferred_over(struct vze_bind *bind);
struct vze_bind *vze_deferred_first(struct vze_vm *vm, u64 start, u64 end);
struct vze_bind *vze_deferred_next(struct vze_bind *bind, u64 start, u64 end);

#endif /* _VZE_BIND_PREPARED_H_ */
