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
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_fence.h"
#include "vze_queue.h"
#include "vze_ring.h"
#include "vze_user.h"
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

/**
 * vze_queue_discharge() - the user may have another queue instead
 * @queue: queue; nobody else ends it meanwhile
 */
void vze_queue_discharge(struct vze_queue *queue)
{
	vze_user_discharge(queue->user, VZE_USER_QUEUES);
	queue->user = NULL;
}

static void queue_release(struct work_struct *work)
{
	struct vze_queue *queue = container_of(work, struct vze_queue, release_work);
	struct vze_device *vdev = queue->vdev;
	struct vze_file *file = queue->file;

	drm_sched_entity_fini(&queue->entity);
	drm_sched_fini(&queue->sched);
	vze_vm_put(queue->vm);
	vze_queue_discharge(queue);
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
 * vze_queue_job_fence() - what to wait for until a job is over
 * @queue: queue
 * @seqno: the job, 0: the last one so far
 *
 * A job that is not on the list any more does nothing any more, even where its fence is yet to
 * be signalled.
 *
 * Return: a fence with a reference, or -EINVAL when there has been no such job yet.
 */
struct dma_fence *vze_queue_job_fence(struct vze_queue *queue, u64 seqno)
{
	struct dma_fence *found = NULL;
	struct vze_fence *fence;

	spin_lock_irq(&queue->lock);
	/* Moves with the lock held. */
	if (seqno > queue->seqno)
		found = ERR_PTR(-EINVAL);
	seqno = seqno ?: queue->seqno;
	list_for_each_entry(fence, &queue->jobs, link) {
		if (fence->base.seqno >= seqno) {
			found = &fence->base;
			break;
		}
	}
	if (!IS_ERR_OR_NULL(found))
		dma_fence_get(found);
	spin_unlock_irq(&queue->lock);
	return found ?: dma_fence_get_stub();
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
	static const u32 hw_priorities[] = {
		[DRM_VZE_PRIORITY_LOW] = VZE_HW_PRIORITY_LOW,
		[DRM_VZE_PRIORITY_NORMAL] = VZE_HW_PRIORITY_NORMAL,
		[DRM_VZE_PRIORITY_HIGH] = VZE_HW_PRIORITY_HIGH,
	};
	struct vze_device *vdev = queue->vdev;
	int ret;

	ret = queue_take_hw_id(queue);
	if (ret)
		return ret;
	ret = vze_ring_prepare(vdev, queue->hw_id);
	if (ret)
		goto err;

	queue->hw = &vdev->hw_queues[queue->hw_id];
	WRITE_ONCE(queue->hw->ring_tail, 0);
	ret = vze_ctrl_queue_create(vdev, queue->hw_id, queue->asid,
				    vze_ring_va(queue->hw_id, 0), VZE_RING_ENTRIES,
				    hw_priorities[queue->priority]);
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
static struct vze_queue *queue_alloc(struct vze_file *file, struct vze_vm *vm,
				     const struct drm_vze_queue_create *args)
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
	queue->priority = args->priority;
	queue->publish = args->flags & DRM_VZE_QUEUE_PUBLISH;
	queue->context = dma_fence_context_alloc(2);
	mutex_init(&queue->submit_lock);
	mutex_init(&queue->kill_lock);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->jobs);
	INIT_LIST_HEAD(&queue->fault_link);
	INIT_WORK(&queue->release_work, queue_release);

	queue->user = vze_user_charge_current(VZE_USER_QUEUES);
	if (IS_ERR(queue->user)) {
		ret = PTR_ERR(queue->user);
		goto err_free;
	}
	ret = queue_init_sched(queue);
	if (ret)
		goto err_charge;
	drm_dev_get(&vdev->drm);
	atomic_inc(&file->num_queues);
	atomic64_inc(&vdev->counts.queues);
	return queue;

err_charge:
	vze_queue_discharge(queue);
err_free:
	mutex_destroy(&queue->kill_lock);
	mutex_destroy(&queue->submit_lock);
	kfree(queue);
	return ERR_PTR(ret);
}

static int queue_create(struct vze_file *file, struct drm_vze_queue_create *args)
{
	struct vze_queue *queue;
	struct vze_vm *vm;
	int ret;

	vm = vze_vm_lookup(file, args->vm_id);
	if (!vm)
		return -ENOENT;

	queue = queue_alloc(file, vm, args);
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

	args->queue_id = queue->id;
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

	if ((args->flags & ~DRM_VZE_QUEUE_PUBLISH) || args->priority > DRM_VZE_PRIORITY_HIGH)
		return -EINVAL;
	if (vze_device_is_lost(to_vze(drm)) || !drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = queue_create(to_vze_file(file), args);
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
