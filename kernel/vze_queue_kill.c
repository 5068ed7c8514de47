// SPDX-License-Identifier: GPL-2.0
/*
 * How the work of a queue ends: jobs complete, or the queue is killed because it was
 * destroyed, faulted, hung, or lost its device.
 */
#include <drm/drm_print.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_fault.h"
#include "vze_fence.h"
#include "vze_queue.h"
#include "vze_trace.h"
#include "vze_vm.h"

static struct vze_fence *queue_take_first(struct vze_queue *queue)
{
	struct vze_fence *fence;

	lockdep_assert_held(&queue->lock);

	fence = list_first_entry_or_null(&queue->jobs, struct vze_fence, link);
	if (fence)
		list_del_init(&fence->link);
	return fence;
}

static struct vze_fence *queue_take_completed(struct vze_queue *queue)
{
	struct vze_fence *fence;

	lockdep_assert_held(&queue->lock);

	/* Once the hardware queue was given back, its registers speak of somebody else. */
	if (!queue->hw_alive)
		return NULL;
	fence = list_first_entry_or_null(&queue->jobs, struct vze_fence, link);
	/* What the job wrote is visible to who sees the fence signalled. */
	if (!fence || !fence->first || fence->last > smp_load_acquire(&queue->hw->seqno))
		return NULL;
	return queue_take_first(queue);
}

/**
 * vze_queue_retire() - signal the fences of completed jobs
 * @queue: queue
 *
 * Any context. The caller keeps the BARs mapped.
 */
void vze_queue_retire(struct vze_queue *queue)
{
	struct vze_fence *fence;
	unsigned long flags;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	for (;;) {
		spin_lock_irqsave(&queue->lock, flags);
		fence = queue_take_completed(queue);
		spin_unlock_irqrestore(&queue->lock, flags);
		if (!fence)
			break;
		trace_vze_job_done(queue->vdev->drm.dev, queue->hw_id, fence->base.seqno, 0);
		vze_fence_complete(fence, 0);
		vze_fence_put(fence);
	}
	dma_fence_end_signalling(cookie);
}

/*
 * What befell the queue befell the job that was running; the jobs behind it were only
 * given up. A lost device spares none.
 */
static int queue_error_of_job(struct vze_queue *queue, struct vze_fence *fence, int error)
{
	if (error == -ENODEV || (fence->first && !queue->failed))
		return error;
	return -ECANCELED;
}

static void queue_fail_jobs(struct vze_queue *queue, int error)
{
	struct vze_fence *fence;
	bool cookie;
	int result;

	cookie = dma_fence_begin_signalling();
	for (;;) {
		spin_lock_irq(&queue->lock);
		fence = queue_take_first(queue);
		spin_unlock_irq(&queue->lock);
		if (!fence)
			break;
		result = queue_error_of_job(queue, fence, error);
		queue->failed = true;
		trace_vze_job_done(queue->vdev->drm.dev, queue->hw_id, fence->base.seqno, result);
		vze_fence_complete(fence, result);
		vze_fence_put(fence);
	}
	dma_fence_end_signalling(cookie);
}

/**
 * vze_queues_irq() - interrupt VZE_HW_IRQ_QUEUE
 * @vdev: device
 */
void vze_queues_irq(struct vze_device *vdev)
{
	u32 word, words = DIV_ROUND_UP(vdev->ident.num_queues, 64);
	bool moved = false;

	for (word = 0; word < words; word++) {
		u64 *irq = &vdev->regs->queue_irq[word];
		unsigned long bits, bit;

		if (!READ_ONCE(*irq))
			continue;
		bits = xchg(irq, 0);
		for_each_set_bit(bit, &bits, 64) {
			struct vze_queue *queue = vze_queue_by_hw_id(vdev, word * 64 + bit);

			if (!queue)
				continue;
			vze_queue_retire(queue);
			vze_queue_put(queue);
			moved = true;
		}
	}
	if (moved)
		vze_fence_kick(vdev);
}

/* ------------------------------------------------------------------- kill -- */

static u32 queue_state_of_error(int error)
{
	switch (error) {
	case -EFAULT:
		return DRM_VZE_QUEUE_STATE_FAULTED;
	case -ETIME:
		return DRM_VZE_QUEUE_STATE_HUNG;
	case -ENODEV:
		return DRM_VZE_QUEUE_STATE_LOST;
	default:
		return DRM_VZE_QUEUE_STATE_OK;
	}
}

/* The first reason stays. */
static int queue_set_error(struct vze_queue *queue, int error)
{
	spin_lock_irq(&queue->lock);
	if (!queue->error) {
		queue->error = error;
		queue->state.state = queue_state_of_error(error);
	}
	error = queue->error;
	spin_unlock_irq(&queue->lock);
	return error;
}

/* Stops the hardware queue and gives it back. */
static void queue_stop_hw(struct vze_queue *queue)
{
	struct vze_device *vdev = queue->vdev;
	bool hw = vze_hw_enter(vdev);
	int ret;

	lockdep_assert_held(&queue->kill_lock);

	ret = vze_ctrl_queue_destroy(vdev, queue->hw_id);
	if (hw) {
		/* A fault of it is in the ring by now; the next owner must not find it. */
		if (!ret)
			vze_fault_drain(vdev);
		vze_queue_retire(queue);
	}

	spin_lock_irq(&queue->lock);
	if (hw)
		queue->busy_ns = READ_ONCE(queue->hw->busy_ns);
	queue->hw_alive = false;
	spin_unlock_irq(&queue->lock);

	spin_lock_irq(&vdev->queues_lock);
	vdev->queues[queue->hw_id] = NULL;
	/* The id of a queue that may still be running is not given to anybody. */
	if (!ret)
		__clear_bit(queue->hw_id, vdev->queue_ids);
	spin_unlock_irq(&vdev->queues_lock);
	vze_queue_discharge(queue);

	if (hw)
		vze_hw_exit(vdev);
}

/**
 * vze_queue_kill() - stop a queue for good
 * @queue: queue
 * @error: -EFAULT, -ETIME, -ENODEV or -ECANCELED: what the fences of its jobs get
 *
 * Sleeps. When it returns the device does not work for the queue any more (unless it is
 * lost) and all fences are signalled. Killing again does nothing.
 */
void vze_queue_kill(struct vze_queue *queue, int error)
{
	mutex_lock(&queue->kill_lock);
	error = queue_set_error(queue, error);
	if (queue->hw_alive) {
		trace_vze_queue_kill(queue->vdev->drm.dev, queue->hw_id, error);
		queue_stop_hw(queue);
	}
	queue_fail_jobs(queue, error);
	mutex_unlock(&queue->kill_lock);
	vze_fence_kick(queue->vdev);
}

/**
 * vze_queues_kill_all() - kill every queue of a device
 * @vdev: device
 * @error: see vze_queue_kill()
 */
void vze_queues_kill_all(struct vze_device *vdev, int error)
{
	u32 hw_id;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		struct vze_queue *queue = vze_queue_by_hw_id(vdev, hw_id);

		if (!queue)
			continue;
		vze_queue_kill(queue, error);
		vze_queue_put(queue);
	}
}

/**
 * vze_queue_set_fault() - record a fault
 * @queue: queue that the device stopped
 * @record: what the device says, or NULL if the record was lost
 *
 * Return: true if this is the reason for which the queue takes no more work, and it
 * must be killed with -EFAULT; false if it was killed before.
 */
bool vze_queue_set_fault(struct vze_queue *queue, const struct vze_hw_fault *record)
{
	struct drm_vze_queue_state state = { .state = DRM_VZE_QUEUE_STATE_FAULTED };
	struct vze_fence *fence;
	bool first = false;

	/* Jobs before the faulting one have completed. */
	vze_queue_retire(queue);

	if (record) {
		state.va = record->va;
		state.batch = record->batch;
		state.command = record->command;
		state.opcode = record->opcode;
		state.reason = record->reason;
		state.access = record->access;
		vze_vm_nearest(queue->vm, record->va, &state);
	}

	spin_lock_irq(&queue->lock);
	if (!queue->error) {
		first = true;
		if (record) {
			list_for_each_entry(fence, &queue->jobs, link) {
				if (fence->first && record->seqno >= fence->first &&
				    record->seqno <= fence->last)
					state.seqno = fence->base.seqno;
			}
		}
		queue->error = -EFAULT;
		queue->state = state;
	}
	spin_unlock_irq(&queue->lock);
	if (first)
		trace_vze_fault(queue->vdev->drm.dev, queue->hw_id, queue->asid, &state);
	return first;
}

/* --------------------------------------------------------------- watchdog -- */

static bool queue_is_stuck(struct vze_queue *queue, unsigned int limit)
{
	u64 progress = READ_ONCE(queue->hw->progress);
	bool busy;

	spin_lock_irq(&queue->lock);
	busy = !queue->error && !list_empty(&queue->jobs);
	spin_unlock_irq(&queue->lock);

	/* A parked queue waits legally, for as long as it takes. */
	if (!busy || progress != queue->progress ||
	    READ_ONCE(queue->hw->state) != VZE_HW_QUEUE_RUNNING) {
		queue->progress = progress;
		queue->stuck = 0;
		return false;
	}
	return ++queue->stuck >= limit;
}

/*
 * Others wait for the jobs of a PUBLISH queue. Being woken and parking again is no progress:
 * the job is to end.
 */
static bool queue_parks_too_long(struct vze_queue *queue, unsigned int limit)
{
	u64 seqno = READ_ONCE(queue->hw->seqno);

	if (seqno != queue->parked_seqno) {
		queue->parked_seqno = seqno;
		queue->parked = 0;
	}
	if (READ_ONCE(queue->hw->state) == VZE_HW_QUEUE_PARKED)
		queue->parked++;
	return queue->parked >= limit;
}

/*
 * Does the device say that a job is complete, and no interrupt came? Nothing is to rely on
 * this: it is reported, and put right only so that nobody waits for ever.
 */
static bool queue_is_late(struct vze_queue *queue, unsigned int limit)
{
	struct vze_fence *first;
	bool late;

	spin_lock_irq(&queue->lock);
	first = list_first_entry_or_null(&queue->jobs, struct vze_fence, link);
	late = queue->hw_alive && first && first->first &&
	       first->last <= READ_ONCE(queue->hw->seqno);
	spin_unlock_irq(&queue->lock);

	queue->late = late ? queue->late + 1 : 0;
	return queue->late >= limit;
}

/**
 * vze_queues_watchdog() - one look at all queues
 * @vdev: device
 * @limit: looks without progress after which a running queue is killed
 * @tolerant: leave queues alone for which nobody waits implicitly
 *
 * The caller looks at regular intervals, and only if the device's heartbeat moved in
 * between, so that a machine that stands still as a whole is not taken for a hang.
 */
void vze_queues_watchdog(struct vze_device *vdev, unsigned int limit, bool tolerant)
{
	u32 hw_id;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		struct vze_queue *queue = vze_queue_by_hw_id(vdev, hw_id);

		if (!queue)
			continue;
		if (tolerant && !queue->publish) {
			vze_queue_put(queue);
			continue;
		}
		if (queue_is_late(queue, limit)) {
			atomic_inc(&vdev->lost_irqs);
			drm_err(&vdev->drm, "the interrupt of queue %u did not come\n", hw_id);
			vze_queue_retire(queue);
		}
		if (queue_is_stuck(queue, limit) ||
		    (queue->publish && queue_parks_too_long(queue, limit))) {
			drm_info(&vdev->drm, "queue %u hangs and is stopped\n", hw_id);
			vze_queue_kill(queue, -ETIME);
			vze_fault_dump(queue, "hang");
		}
		vze_queue_put(queue);
	}
}
