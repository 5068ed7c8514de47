// SPDX-License-Identifier: GPL-2.0
/*
 * Queues: hardware queues of the device in the hands of clients.
 *
 * A queue takes work until vze_queue_kill() gave it an error, for whatever reason: the
 * client destroyed it or went away, it faulted or hung, the device was lost or removed.
 * The kill stops the hardware queue first and then signals all fences, so that nobody
 * sees a fence signalled while the device may still work on the job. A queue never
 * works again after that.
 *
 * Locking order: vze_queue.kill_lock, vze_fault.lock, vze_vm.lock, vze_device.queues_lock,
 * vze_queue.lock. The last two are taken in hard interrupts; fences are signalled with
 * none of them held.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "vze_ctrl.h"
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_fault.h"
#include "vze_fence.h"
#include "vze_quarantine.h"
#include "vze_queue.h"
#include "vze_trace.h"
#include "vze_vm.h"

/* Runs and frees jobs of all schedulers. */
static struct workqueue_struct *vze_sched_wq;
/* Ends queues whose last reference went where one must not sleep. */
static struct workqueue_struct *vze_release_wq;

/**
 * vze_queue_module_init() - make the work queues
 *
 * Return: 0 or -ENOMEM.
 */
int vze_queue_module_init(void)
{
	vze_sched_wq = alloc_workqueue("vze-sched", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!vze_sched_wq)
		return -ENOMEM;
	vze_release_wq = alloc_workqueue("vze-release", WQ_UNBOUND, 0);
	if (!vze_release_wq) {
		destroy_workqueue(vze_sched_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * vze_queue_module_exit() - wait for what is left and drop the work queues
 */
void vze_queue_module_exit(void)
{
	destroy_workqueue(vze_release_wq);
	destroy_workqueue(vze_sched_wq);
}

/* ------------------------------------------------------------------ rings -- */

/**
 * vze_ring_entry() - CPU address of a ring entry
 * @ring: ring
 * @index: entries ever written
 */
struct vze_hw_ring_entry *vze_ring_entry(const struct vze_ring *ring, u32 index)
{
	const u32 per_page = VZE_HW_PAGE_SIZE / sizeof(struct vze_hw_ring_entry);
	u32 slot = index % VZE_RING_ENTRIES;
	struct vze_hw_ring_entry *page = page_address(ring->pages[slot / per_page]);

	return &page[slot % per_page];
}

static u64 ring_va(u32 hw_id, u32 page)
{
	return VZE_RING_VA + hw_id * VZE_RING_BYTES + page * VZE_HW_PAGE_SIZE;
}

/*
 * Makes the ring of a hardware queue. It stays mapped for the next queue that gets the
 * id, for unmapping it would cost an invalidation each time. A part that was made
 * before a failure is used by the next attempt.
 */
static int ring_prepare(struct vze_device *vdev, u32 hw_id)
{
	struct vze_ring *ring = &vdev->rings[hw_id];
	struct page *page;
	u32 i;
	int ret;

	for (i = 0; i < VZE_RING_PAGES; i++) {
		if (ring->pages[i])
			continue;
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		ret = vze_kernel_as_map_page(vdev, ring_va(hw_id, i), page);
		if (ret) {
			__free_page(page);
			return ret;
		}
		ring->pages[i] = page;
	}
	return 0;
}

/**
 * vze_queues_give_rings() - let go of the memory of all rings
 * @vdev: device whose hardware was shut off
 * @unused: the device acknowledged its reset; otherwise the pages are quarantined
 */
void vze_queues_give_rings(struct vze_device *vdev, bool unused)
{
	LIST_HEAD(quarantine);
	u32 hw_id, i;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		for (i = 0; i < VZE_RING_PAGES; i++) {
			struct page *page = vdev->rings[hw_id].pages[i];

			if (!page)
				continue;
			if (unused)
				__free_page(page);
			else
				list_add_tail(&page->lru, &quarantine);
			vdev->rings[hw_id].pages[i] = NULL;
		}
	}
	vze_quarantine_tables(vdev, &quarantine);
}

/**
 * vze_queues_init() - set up the tables of a device
 * @vdev: device with its identity
 *
 * Return: 0 or -ENOMEM.
 */
int vze_queues_init(struct vze_device *vdev)
{
	u32 n = vdev->ident.num_queues;

	spin_lock_init(&vdev->queues_lock);
	vdev->queues = kvcalloc(n, sizeof(*vdev->queues), GFP_KERNEL);
	vdev->queue_ids = bitmap_zalloc(n, GFP_KERNEL);
	vdev->rings = kvcalloc(n, sizeof(*vdev->rings), GFP_KERNEL);
	if (vdev->queues && vdev->queue_ids && vdev->rings)
		return 0;
	vze_queues_fini(vdev);
	return -ENOMEM;
}

/**
 * vze_queues_fini() - free the tables
 * @vdev: device without queues and rings
 */
void vze_queues_fini(struct vze_device *vdev)
{
	kvfree(vdev->rings);
	bitmap_free(vdev->queue_ids);
	kvfree(vdev->queues);
	vdev->rings = NULL;
	vdev->queue_ids = NULL;
	vdev->queues = NULL;
}

/* ------------------------------------------------------------- references -- */

static void queue_release(struct work_struct *work)
{
	struct vze_queue *queue = container_of(work, struct vze_queue, release_work);
	struct vze_device *vdev = queue->vdev;
	struct vze_file *file = queue->file;

	drm_sched_entity_fini(&queue->entity);
	drm_sched_fini(&queue->sched);
	vze_vm_put(queue->vm);
	mutex_destroy(&queue->kill_lock);
	mutex_destroy(&queue->submit_lock);
	kfree(queue);
	atomic64_dec(&vdev->counts.queues);
	drm_dev_put(&vdev->drm);
	/* The file may be gone after this. */
	if (atomic_dec_and_test(&file->num_queues))
		complete(&file->queues_gone);
}

static void queue_last_put(struct kref *ref)
{
	struct vze_queue *queue = container_of(ref, struct vze_queue, ref);

	queue_work(vze_release_wq, &queue->release_work);
}

/**
 * vze_queue_get() - take another reference
 * @queue: queue that the caller has a reference on
 */
struct vze_queue *vze_queue_get(struct vze_queue *queue)
{
	kref_get(&queue->ref);
	return queue;
}

/**
 * vze_queue_put() - drop a reference
 * @queue: queue; any context
 */
void vze_queue_put(struct vze_queue *queue)
{
	kref_put(&queue->ref, queue_last_put);
}

/**
 * vze_queue_lookup() - find a queue of a file
 * @file: file
 * @id: id that user space gave
 *
 * Return: the queue with a reference, or NULL.
 */
struct vze_queue *vze_queue_lookup(struct vze_file *file, u32 id)
{
	struct vze_queue *queue;

	xa_lock(&file->queues);
	queue = xa_load(&file->queues, id);
	if (queue)
		vze_queue_get(queue);
	xa_unlock(&file->queues);
	return queue;
}

/**
 * vze_queue_by_hw_id() - find the owner of a hardware queue
 * @vdev: device
 * @hw_id: hardware queue, also one that the device made up
 *
 * Any context. Return: the queue with a reference, or NULL.
 */
struct vze_queue *vze_queue_by_hw_id(struct vze_device *vdev, u32 hw_id)
{
	struct vze_queue *queue;
	unsigned long flags;

	if (hw_id >= vdev->ident.num_queues)
		return NULL;
	spin_lock_irqsave(&vdev->queues_lock, flags);
	queue = vdev->queues[hw_id];
	if (queue && !kref_get_unless_zero(&queue->ref))
		queue = NULL;
	spin_unlock_irqrestore(&vdev->queues_lock, flags);
	return queue;
}

/* ------------------------------------------------------------- completion -- */

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
 *
 * The caller looks at regular intervals, and only if the device's heartbeat moved in
 * between, so that a machine that stands still as a whole is not taken for a hang.
 */
void vze_queues_watchdog(struct vze_device *vdev, unsigned int limit)
{
	u32 hw_id;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		struct vze_queue *queue = vze_queue_by_hw_id(vdev, hw_id);

		if (!queue)
			continue;
		if (queue_is_late(queue, limit)) {
			atomic_inc(&vdev->lost_irqs);
			drm_err(&vdev->drm, "the interrupt of queue %u did not come\n", hw_id);
			vze_queue_retire(queue);
		}
		if (queue_is_stuck(queue, limit)) {
			drm_info(&vdev->drm, "queue %u hangs and is stopped\n", hw_id);
			vze_queue_kill(queue, -ETIME);
			vze_fault_dump(queue, "hang");
		}
		vze_queue_put(queue);
	}
}

/* ----------------------------------------------------------------- ioctls -- */

static int queue_take_hw_id(struct vze_queue *queue)
{
	struct vze_device *vdev = queue->vdev;
	u32 n = vdev->ident.num_queues;

	spin_lock_irq(&vdev->queues_lock);
	queue->hw_id = find_first_zero_bit(vdev->queue_ids, n);
	if (queue->hw_id < n)
		__set_bit(queue->hw_id, vdev->queue_ids);
	spin_unlock_irq(&vdev->queues_lock);
	return queue->hw_id < n ? 0 : -ENOSPC;
}

static void queue_give_hw_id(struct vze_queue *queue)
{
	struct vze_device *vdev = queue->vdev;

	spin_lock_irq(&vdev->queues_lock);
	__clear_bit(queue->hw_id, vdev->queue_ids);
	spin_unlock_irq(&vdev->queues_lock);
}

static int queue_start_hw(struct vze_queue *queue)
{
	struct vze_device *vdev = queue->vdev;
	int ret;

	ret = queue_take_hw_id(queue);
	if (ret)
		return ret;
	ret = ring_prepare(vdev, queue->hw_id);
	if (ret)
		goto err;

	queue->hw = &vdev->hw_queues[queue->hw_id];
	WRITE_ONCE(queue->hw->ring_tail, 0);
	ret = vze_ctrl_queue_create(vdev, queue->hw_id, queue->asid,
				    ring_va(queue->hw_id, 0), VZE_RING_ENTRIES);
	/* After a failure nothing says whether the hardware queue exists. */
	if (ret)
		return ret;
	queue->hw_alive = true;

	spin_lock_irq(&vdev->queues_lock);
	vdev->queues[queue->hw_id] = queue;
	spin_unlock_irq(&vdev->queues_lock);
	return 0;
err:
	queue_give_hw_id(queue);
	return ret;
}

static int queue_init_sched(struct vze_queue *queue)
{
	static const enum drm_sched_priority priorities[] = {
		[DRM_VZE_PRIORITY_LOW] = DRM_SCHED_PRIORITY_LOW,
		[DRM_VZE_PRIORITY_NORMAL] = DRM_SCHED_PRIORITY_NORMAL,
		[DRM_VZE_PRIORITY_HIGH] = DRM_SCHED_PRIORITY_HIGH,
	};
	const struct drm_sched_init_args args = {
		.ops = &vze_sched_ops,
		.submit_wq = vze_sched_wq,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = VZE_RING_ENTRIES,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "vze",
		.dev = queue->vdev->drm.dev,
	};
	struct drm_gpu_scheduler *sched = &queue->sched;
	int ret;

	ret = drm_sched_init(sched, &args);
	if (ret)
		return ret;
	ret = drm_sched_entity_init(&queue->entity, priorities[queue->priority], &sched, 1,
				    NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}

/* Makes a queue without its hardware; takes over the reference on @vm if it succeeds. */
static struct vze_queue *queue_alloc(struct vze_file *file, struct vze_vm *vm, u32 priority)
{
	struct vze_device *vdev = file->vdev;
	struct vze_queue *queue;
	int ret;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);

	kref_init(&queue->ref);
	queue->vdev = vdev;
	queue->file = file;
	queue->vm = vm;
	queue->asid = vm->asid;
	queue->priority = priority;
	queue->context = dma_fence_context_alloc(2);
	mutex_init(&queue->submit_lock);
	mutex_init(&queue->kill_lock);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->jobs);
	INIT_LIST_HEAD(&queue->fault_link);
	INIT_WORK(&queue->release_work, queue_release);

	ret = queue_init_sched(queue);
	if (ret) {
		mutex_destroy(&queue->kill_lock);
		mutex_destroy(&queue->submit_lock);
		kfree(queue);
		return ERR_PTR(ret);
	}
	drm_dev_get(&vdev->drm);
	atomic_inc(&file->num_queues);
	atomic64_inc(&vdev->counts.queues);
	return queue;
}

static int queue_create(struct vze_file *file, u32 vm_id, u32 priority, u32 *id)
{
	struct vze_queue *queue;
	struct vze_vm *vm;
	int ret;

	vm = vze_vm_lookup(file, vm_id);
	if (!vm)
		return -ENOENT;

	queue = queue_alloc(file, vm, priority);
	if (IS_ERR(queue)) {
		vze_vm_put(vm);
		return PTR_ERR(queue);
	}

	/* Reserves the id only, so that the last step cannot fail. */
	ret = xa_alloc(&file->queues, &queue->id, NULL, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_put;
	ret = queue_start_hw(queue);
	if (ret)
		goto err_id;

	*id = queue->id;
	xa_store(&file->queues, queue->id, queue, GFP_KERNEL);
	return 0;

err_id:
	xa_erase(&file->queues, queue->id);
err_put:
	vze_queue_put(queue);
	return ret;
}

/**
 * vze_queue_create_ioctl() - DRM_IOCTL_VZE_QUEUE_CREATE
 * @drm: device
 * @data: struct drm_vze_queue_create
 * @file: caller
 *
 * Return: 0 or an error of the uapi.
 */
int vze_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_queue_create *args = data;
	int ret, idx;

	if (args->flags || args->priority > DRM_VZE_PRIORITY_HIGH)
		return -EINVAL;
	if (vze_device_is_lost(to_vze(drm)) || !drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = queue_create(to_vze_file(file), args->vm_id, args->priority, &args->queue_id);
	drm_dev_exit(idx);
	return ret;
}

/* Takes a killed queue out of its file, with the reference that belongs to the id. */
static bool queue_drop_id(struct vze_file *file, struct vze_queue *queue)
{
	bool mine;

	xa_lock(&file->queues);
	mine = xa_load(&file->queues, queue->id) == queue;
	if (mine) {
		__xa_erase(&file->queues, queue->id);
		file->busy_ns += queue->busy_ns;
	}
	xa_unlock(&file->queues);
	if (mine)
		vze_queue_put(queue);
	return mine;
}

/**
 * vze_queue_destroy_ioctl() - DRM_IOCTL_VZE_QUEUE_DESTROY
 * @drm: device
 * @data: struct drm_vze_queue_destroy
 * @file: caller
 *
 * Return: 0 or an error of the uapi.
 */
int vze_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_queue_destroy *args = data;
	struct vze_file *vf = to_vze_file(file);
	struct vze_queue *queue;
	bool mine;

	if (args->pad)
		return -EINVAL;
	queue = vze_queue_lookup(vf, args->queue_id);
	if (!queue)
		return -ENOENT;
	vze_queue_kill(queue, -ECANCELED);
	mine = queue_drop_id(vf, queue);
	vze_queue_put(queue);
	return mine ? 0 : -ENOENT;
}

/**
 * vze_queue_state_ioctl() - DRM_IOCTL_VZE_QUEUE_STATE
 * @drm: device
 * @data: struct drm_vze_queue_state
 * @file: caller
 *
 * Return: 0 or an error of the uapi.
 */
int vze_queue_state_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_queue_state *args = data;
	struct vze_queue *queue;
	u32 id = args->queue_id;

	queue = vze_queue_lookup(to_vze_file(file), id);
	if (!queue)
		return -ENOENT;

	spin_lock_irq(&queue->lock);
	*args = queue->state;
	spin_unlock_irq(&queue->lock);
	args->queue_id = id;
	if (args->state == DRM_VZE_QUEUE_STATE_OK && vze_device_is_lost(queue->vdev))
		args->state = DRM_VZE_QUEUE_STATE_LOST;
	vze_queue_put(queue);
	return 0;
}

/**
 * vze_queues_file_close() - kill all queues of a file and wait until they are released
 * @file: file that nobody uses any more
 *
 * A killed queue depends on nothing outside the driver, so the wait is short.
 */
void vze_queues_file_close(struct vze_file *file)
{
	struct vze_queue *queue;
	unsigned long id;

	xa_for_each(&file->queues, id, queue) {
		vze_queue_kill(queue, -ECANCELED);
		queue_drop_id(file, queue);
	}
	if (!atomic_dec_and_test(&file->num_queues))
		wait_for_completion(&file->queues_gone);
}

/* ---------------------------------------------------------------- figures -- */

/**
 * vze_queues_busy_ns() - device time of a file
 * @file: file
 *
 * Return: ns that its queues were running, of those it has and of those it had.
 */
u64 vze_queues_busy_ns(struct vze_file *file)
{
	bool hw = vze_hw_enter(file->vdev);
	struct vze_queue *queue;
	unsigned long id;
	u64 sum;

	xa_lock(&file->queues);
	sum = file->busy_ns;
	xa_for_each(&file->queues, id, queue) {
		spin_lock_irq(&queue->lock);
		if (hw && queue->hw_alive)
			sum += READ_ONCE(queue->hw->busy_ns);
		else
			sum += queue->busy_ns;
		spin_unlock_irq(&queue->lock);
	}
	xa_unlock(&file->queues);
	if (hw)
		vze_hw_exit(file->vdev);
	return sum;
}

static const char *queue_hw_state_name(u32 state)
{
	static const char * const names[] = {
		[VZE_HW_QUEUE_ABSENT] = "absent",
		[VZE_HW_QUEUE_IDLE] = "idle",
		[VZE_HW_QUEUE_RUNNING] = "running",
		[VZE_HW_QUEUE_PARKED] = "parked",
		[VZE_HW_QUEUE_FAULTED] = "faulted",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "invalid";
}

static void queue_show(struct seq_file *m, struct vze_queue *queue)
{
	u32 tail, jobs;
	int error;
	u64 seqno;

	spin_lock_irq(&queue->lock);
	jobs = list_count_nodes(&queue->jobs);
	tail = queue->ring_tail;
	error = queue->error;
	spin_unlock_irq(&queue->lock);
	seqno = READ_ONCE(queue->seqno);

	seq_printf(m, "%5u %5u %5u %4u %-8s %10u %10u %10llu %6u %12llu %6d\n", queue->hw_id,
		   queue->id, queue->asid, queue->priority,
		   queue_hw_state_name(READ_ONCE(queue->hw->state)),
		   READ_ONCE(queue->hw->ring_head), tail, seqno, jobs,
		   READ_ONCE(queue->hw->busy_ns), error);
}

/**
 * vze_queues_show() - debugfs file vze_queues
 * @m: file
 * @unused: unused
 *
 * Return: 0 or -ENODEV.
 */
int vze_queues_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	u32 hw_id;

	if (!vze_hw_enter(vdev))
		return -ENODEV;
	seq_printf(m, "%5s %5s %5s %4s %-8s %10s %10s %10s %6s %12s %6s\n", "hw", "id", "asid",
		   "prio", "state", "head", "tail", "seqno", "jobs", "busy_ns", "error");
	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		struct vze_queue *queue = vze_queue_by_hw_id(vdev, hw_id);

		if (!queue)
			continue;
		queue_show(m, queue);
		vze_queue_put(queue);
	}
	vze_hw_exit(vdev);
	return 0;
}
