/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Binds in the making; for vze_bind.c, vze_bind_ops.c, vze_bind_async.c and
 * vze_vm_revoke.c only.
 */
#ifndef _VZE_BIND_PREPARED_H_
#define _VZE_BIND_PREPARED_H_

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include <drm/vze_drm.h>

#include "vze_bind.h"
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
	/** @touched: the operation at hand replaces something that the device may know */
	bool touched;
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

	/** @link: in vze_vm.pending, then in vze_vm.finishing */
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

int vze_bind_prepare_op(struct vze_bind *bind, struct drm_file *file,
			const struct drm_vze_bind_op *op);
int vze_bind_prepare_object(struct vze_bind *bind, struct vze_gem *bo, u64 addr, u64 range,
			    u64 offset, u32 flags);
void vze_bind_prepared(struct vze_bind *bind);
void vze_bind_undo(struct vze_bind *bind);
void vze_bind_settle(struct vze_bind *bind);
void vze_bind_free_removed(struct vze_bind *bind);

int vze_bind_write(struct vze_bind *bind);
void vze_bind_zap(struct vze_bind *bind);
void vze_bind_free(struct vze_bind *bind);

int vze_bind_prepare_async(struct vze_bind *bind);
void vze_bind_submit(struct vze_bind *bind);
struct dma_fence *vze_bind_conflict(struct vze_vm *vm, const struct vze_bind *bind);

#endif /* _VZE_BIND_PREPARED_H_ */
