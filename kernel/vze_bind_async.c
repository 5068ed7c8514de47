// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous binds: committed by a worker, in order, when their waits are over.
 *
 * The worker signals a fence. Until it has, it takes vze_pt.lock only, allocates nothing
 * and leaves the CPU's mappings alone.
 */

#include <linux/slab.h>

#include "vze_bind_prepared.h"
#include "vze_device.h"
#include "vze_fence.h"
#include "vze_quarantine.h"
#include "vze_vm.h"

/* Up to here two binds are compared operation by operation, above as a whole. */
#define VZE_BIND_COMPARE	4096

static struct workqueue_struct *bind_wq;

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

/**
 * vze_bind_conflict() - what a synchronous bind has to wait for
 * @vm: address space
 * @bind: bind whose operations are known
 *
 * Return: the fence of the last pending bind in its way, with a reference, or NULL.
 */
struct dma_fence *vze_bind_conflict(struct vze_vm *vm, const struct vze_bind *bind)
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

static void bind_work(struct work_struct *work)
{
	struct vze_bind *bind = container_of(work, struct vze_bind, work);
	struct vze_vm *vm = bind->vm;
	bool cookie, dead;
	int ret;

	cookie = dma_fence_begin_signalling();
	mutex_lock(&vm->pt.lock);
	dead = vm->dead;
	ret = dead ? -ECANCELED : vze_bind_write(bind);
	spin_lock(&vm->pending_lock);
	list_move_tail(&bind->link, &vm->finishing);
	spin_unlock(&vm->pending_lock);
	mutex_unlock(&vm->pt.lock);
	vze_fence_complete(bind->fence, ret);
	dma_fence_end_signalling(cookie);

	/*
	 * Only now the CPU's mappings: taking them away may wait for others' fences. The
	 * objects are held until that is done.
	 */
	if (dead)
		vze_pt_cancel(&vm->pt, &bind->update);
	else
		vze_bind_zap(bind);
	spin_lock(&vm->pending_lock);
	list_del(&bind->link);
	spin_unlock(&vm->pending_lock);
	if (!dead && ret)
		vze_quarantine_vmas(vm->vdev, &bind->removed);
	vze_bind_free_removed(bind);
	vze_syncs_cleanup(&bind->syncs);
	vze_fence_put(bind->fence);
	vze_bind_free(bind);
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

/**
 * vze_bind_prepare_async() - everything that can fail about being asynchronous
 * @bind: bind with its syncobjs
 *
 * Return: 0 or -ENOMEM.
 */
int vze_bind_prepare_async(struct vze_bind *bind)
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

/**
 * vze_bind_submit() - hand a bind to its worker
 * @bind: prepared bind; vze_vm.lock is held
 *
 * The one before is waited for by its fence, so that binds are committed in order.
 */
void vze_bind_submit(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	struct vze_bind *before;
	struct dma_fence *last = NULL;
	u32 i;

	lockdep_assert_held(&vm->lock);

	vze_bind_settle(bind);
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

	bind->fence->may_park = last && vze_fence_waits_for_parked(last);
	for (i = 0; i < bind->syncs.num_waits; i++)
		bind->fence->may_park |= vze_fence_waits_for_parked(bind->syncs.entries[i].fence);

	vze_syncs_signal(&bind->syncs, &bind->fence->base);
	for (i = 0; i < bind->syncs.num_waits; i++)
		bind_wait_for(bind, &bind->waits[i], bind->syncs.entries[i].fence);
	if (last) {
		bind_wait_for(bind, &bind->waits[i], last);
		dma_fence_put(last);
	}
	bind_wait_over(bind);
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
