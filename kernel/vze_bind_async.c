// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous binds: committed by a worker when their waits are over. The ordinary ones keep
 * their order, the deferred ones do not.
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

/*
 * Has @bind to come after @before? Where both unmap, and one is deferred, they may do so in any
 * order: each takes out what it has removed from the tree, and nothing comes of an absent entry.
 */
static bool bind_comes_after(const struct vze_bind *bind, const struct vze_bind *before)
{
	u32 i, j;

	if (before->start >= bind->end || bind->start >= before->end)
		return false;
	if (before->deferred && !bind->maps)
		return false;
	if ((u64)before->num_ops * bind->num_ops > VZE_BIND_COMPARE)
		return true;
	for (i = 0; i < bind->num_ops; i++) {
		const struct drm_vze_bind_op *op = &bind->ops[i];

		if (before->deferred && op->op == DRM_VZE_BIND_UNMAP)
			continue;
		for (j = 0; j < before->num_ops; j++) {
			if (before->ops[j].addr < op->addr + op->range &&
			    op->addr < before->ops[j].addr + before->ops[j].range)
				return true;
		}
	}
	return false;
}

/* The last ordinary bind that is pending and that @bind has to come after, or NULL. */
static struct vze_bind *pending_before(struct vze_vm *vm, const struct vze_bind *bind)
{
	struct vze_bind *before;

	lockdep_assert_held(&vm->pending_lock);
	list_for_each_entry_reverse(before, &vm->pending, link) {
		if (bind_comes_after(bind, before))
			return before;
	}
	return NULL;
}

/* The first deferred bind that @bind has to come after, or the next one after @from. */
static struct vze_bind *deferred_before(struct vze_vm *vm, const struct vze_bind *bind,
					struct vze_bind *from)
{
	struct vze_bind *before;

	lockdep_assert_held(&vm->pending_lock);
	if (!bind->maps)
		return NULL;
	before = from ? vze_deferred_next(from, bind->start, bind->end) :
			vze_deferred_first(vm, bind->start, bind->end);
	while (before && !bind_comes_after(bind, before))
		before = vze_deferred_next(before, bind->start, bind->end);
	return before;
}

/**
 * vze_bind_conflict() - what a synchronous bind has to wait for
 * @vm: address space
 * @bind: bind whose operations are known
 *
 * Return: the fence of a pending bind in its way, with a reference, or NULL.
 */
struct dma_fence *vze_bind_conflict(struct vze_vm *vm, const struct vze_bind *bind)
{
	struct dma_fence *fence = NULL;
	struct vze_bind *before;

	spin_lock(&vm->pending_lock);
	before = pending_before(vm, bind) ?: deferred_before(vm, bind, NULL);
	if (before)
		fence = dma_fence_get(&before->fence->base);
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
	if (bind->deferred)
		vze_deferred_carried_out(bind);
	list_move_tail(&bind->link, &vm->finishing);
	spin_unlock(&vm->pending_lock);
	mutex_unlock(&vm->pt.lock);
	vze_fence_complete(bind->fence, ret);
	dma_fence_end_signalling(cookie);

	/*
	 * Only now the CPU's mappings: taking them away may wait for others' fences. The
	 * objects are held until that is done. A deferred bind has done it at the call.
	 */
	if (dead)
		vze_pt_cancel(&vm->pt, &bind->update);
	else if (!bind->deferred)
		vze_bind_zap(bind);
	spin_lock(&vm->pending_lock);
	list_del(&bind->link);
	spin_unlock(&vm->pending_lock);
	if (!dead && ret)
		vze_quarantine_vmas(vm->vdev, &bind->removed);
	vze_bind_free_removed(bind);
	if (bind->deferred) {
		spin_lock(&vm->pending_lock);
		vze_deferred_over(bind);
		spin_unlock(&vm->pending_lock);
	}
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
	for (bind = vze_deferred_first(vm, 0, VZE_VM_END); bind;
	     bind = vze_deferred_next(bind, 0, VZE_VM_END)) {
		list_splice_tail_init(&bind->removed, vmas);
		vze_deferred_over(bind);
	}
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

/* @fence is held by somebody until the call returns, and until it has signalled. */
static void bind_wait_for(struct vze_bind *bind, struct vze_bind_wait *wait,
			  struct dma_fence *fence)
{
	bind->fence->may_park |= vze_fence_waits_for_parked(fence);
	wait->bind = bind;
	atomic_inc(&bind->waiting);
	if (dma_fence_add_callback(fence, &wait->cb, bind_fence_signalled))
		atomic_dec(&bind->waiting);
}

/**
 * vze_bind_prepare_async() - what being asynchronous takes
 * @bind: bind with its syncobjs
 *
 * Return: 0 or -ENOMEM.
 */
int vze_bind_prepare_async(struct vze_bind *bind)
{
	bind->fence = vze_fence_alloc();
	if (!bind->fence)
		return -ENOMEM;
	atomic_set(&bind->waiting, 1);
	INIT_WORK(&bind->work, bind_work);
	return 0;
}

/**
 * vze_bind_prepare_waits() - room for all that a bind has to wait for
 * @bind: bind after vze_bind_prepare_async(); vze_vm.lock is held until it is submitted
 *
 * Binds in the way can only become fewer meanwhile.
 *
 * Return: 0 or -ENOMEM.
 */
int vze_bind_prepare_waits(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	struct vze_bind *before = NULL;

	lockdep_assert_held(&vm->lock);

	bind->max_waits = bind->syncs.num_waits + 1;
	spin_lock(&vm->pending_lock);
	while ((before = deferred_before(vm, bind, before)))
		bind->max_waits++;
	spin_unlock(&vm->pending_lock);
	bind->waits = kvcalloc(bind->max_waits, sizeof(*bind->waits), GFP_KERNEL_ACCOUNT);
	return bind->waits ? 0 : -ENOMEM;
}

/* Waits for the binds that this one comes after. Return: how many. */
static u32 bind_wait_for_binds(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	struct vze_bind *before = NULL;
	u32 num = 0;

	lockdep_assert_held(&vm->pending_lock);

	/* Ordinary binds are committed in order: the last one stands for those before it. */
	if (bind->deferred)
		before = pending_before(vm, bind);
	else if (!list_empty(&vm->pending))
		before = list_last_entry(&vm->pending, struct vze_bind, link);
	if (before)
		bind_wait_for(bind, &bind->waits[num++], &before->fence->base);

	before = NULL;
	while ((before = deferred_before(vm, bind, before)))
		bind_wait_for(bind, &bind->waits[num++], &before->fence->base);
	return num;
}

/**
 * vze_bind_submit() - hand a bind to its worker
 * @bind: prepared bind; vze_vm.lock is held
 *
 * It comes after others by waiting for their fences.
 */
void vze_bind_submit(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	u32 num, i;

	lockdep_assert_held(&vm->lock);

	vze_bind_settle(bind);
	vze_vm_get(vm);
	if (bind->deferred) {
		/* A timeline of its own: it ends when it ends. */
		vze_fence_init(bind->fence, dma_fence_context_alloc(1), 1);
		mutex_lock(&vm->pt.lock);
		vze_bind_count(bind);
		vze_pt_update_release(&vm->pt, &bind->update);
		mutex_unlock(&vm->pt.lock);
		vze_bind_zap(bind);
	} else {
		vze_fence_init(bind->fence, vm->fence_context, ++vm->fence_seqno);
		/* Reserving began with the hazards of those before, if any. */
		vm->hazard_start = bind->update.hazard_start;
		vm->hazard_end = bind->update.hazard_end;
	}

	spin_lock(&vm->pending_lock);
	num = bind_wait_for_binds(bind);
	if (bind->deferred)
		vze_deferred_add(bind);
	else
		list_add_tail(&bind->link, &vm->pending);
	spin_unlock(&vm->pending_lock);

	for (i = 0; i < bind->syncs.num_waits; i++)
		bind_wait_for(bind, &bind->waits[num + i], bind->syncs.entries[i].fence);
	/* Who waits for the fence looks at what it waits for: that is complete. */
	vze_syncs_signal(&bind->syncs, &bind->fence->base);
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
