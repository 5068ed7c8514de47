// SPDX-License-Identifier: GPL-2.0
/*
 * Fences of jobs, of binds and of gates.
 *
 * A fence that user space got hold of (through a syncobj or a sync_file) can live
 * longer than everything else of this driver. It therefore refers to nothing but
 * itself, and to the module, whose code and names it needs.
 */
#include <linux/dma-fence-unwrap.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "vze_fence.h"

static const char *vze_fence_driver_name(struct dma_fence *fence)
{
	return "vze";
}

static const char *vze_fence_timeline_name(struct dma_fence *fence)
{
	return "vze-queue";
}

static void vze_fence_release(struct dma_fence *base)
{
	vze_fence_put(to_vze_fence(base)->gate);
	/* Unloading waits for RCU readers before this code goes. */
	rcu_read_lock();
	dma_fence_free(base);
	module_put(THIS_MODULE);
	rcu_read_unlock();
}

static const struct dma_fence_ops vze_fence_ops = {
	.get_driver_name = vze_fence_driver_name,
	.get_timeline_name = vze_fence_timeline_name,
	.release = vze_fence_release,
};

static void fence_init(struct vze_fence *fence, u64 context, u64 seqno)
{
	__module_get(THIS_MODULE);
	INIT_LIST_HEAD(&fence->link);
	dma_fence_init(&fence->base, &vze_fence_ops, &fence->lock, context, seqno);
}

/**
 * vze_fence_alloc() - memory for a fence
 *
 * Return: a fence for vze_fence_init() or vze_fence_free(), or NULL.
 */
struct vze_fence *vze_fence_alloc(void)
{
	return kzalloc(sizeof(struct vze_fence), GFP_KERNEL_ACCOUNT);
}

/**
 * vze_fence_free() - give back a fence that was never initialised
 * @fence: from vze_fence_alloc(), or NULL
 */
void vze_fence_free(struct vze_fence *fence)
{
	kfree(fence);
}

/**
 * vze_fence_init() - make it a fence with one reference
 * @fence: from vze_fence_alloc()
 * @context: fence context
 * @seqno: number in the context
 *
 * For callers that are called through the module's file operations, and so can rely on
 * the module to be there.
 */
void vze_fence_init(struct vze_fence *fence, u64 context, u64 seqno)
{
	spin_lock_init(&fence->lock);
	fence_init(fence, context, seqno);
}

/**
 * vze_fence_init_gate() - the same for a fence that other fences signal
 * @fence: from vze_fence_alloc()
 * @context: fence context
 * @seqno: number in the context
 *
 * Such a fence is signalled with the lock of another fence held, hence its own class
 * of lock. Nobody but the scheduler may see it.
 */
void vze_fence_init_gate(struct vze_fence *fence, u64 context, u64 seqno)
{
	spin_lock_init(&fence->lock);
	fence_init(fence, context, seqno);
}

/**
 * vze_fence_complete() - signal a fence, and open its gate if it has one
 * @fence: fence; signalling it again changes nothing
 * @error: 0, or a negative error that the waiters find in it
 */
void vze_fence_complete(struct vze_fence *fence, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&fence->lock, flags);
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->base.flags)) {
		if (error)
			dma_fence_set_error(&fence->base, error);
		dma_fence_signal_locked(&fence->base);
	}
	spin_unlock_irqrestore(&fence->lock, flags);

	if (fence->gate)
		vze_fence_complete(fence->gate, 0);
}

/**
 * vze_fence_of() - is it a fence of this driver?
 * @fence: any fence; containers of fences are not looked into
 *
 * Return: the fence as one of this driver, or NULL.
 */
struct vze_fence *vze_fence_of(struct dma_fence *fence)
{
	const struct dma_fence_ops *ops;

	/* Compared only. Newer kernels let go of it when the fence has signalled. */
	ops = (const struct dma_fence_ops __force *)READ_ONCE(fence->ops);
	return ops == &vze_fence_ops ? to_vze_fence(fence) : NULL;
}

/**
 * vze_fence_waits_for_parked() - may a job that parks hold it up?
 * @fence: any fence, containers too
 *
 * What other drivers' fences depend on is theirs to know.
 */
bool vze_fence_waits_for_parked(struct dma_fence *fence)
{
	struct dma_fence_unwrap iter;
	struct dma_fence *part;
	bool may_park = false;

	/* To the end: the walk holds a reference until then. */
	dma_fence_unwrap_for_each(part, &iter, fence) {
		struct vze_fence *ours = vze_fence_of(part);

		if (ours && ours->may_park && !dma_fence_is_signaled(part))
			may_park = true;
	}
	return may_park;
}
