// SPDX-License-Identifier: GPL-2.0
/*
 * EXEC: jobs, from the ioctl through the scheduler into the hardware ring.
 *
 * A job has one fence. It is made at the ioctl, is what user space gets, and is what the
 * scheduler waits for as the hardware's fence. It is signalled when the last ring entry
 * of the job has completed, or when the queue is killed; in the latter case without
 * regard to what the job was waiting for.
 *
 * The job's waits are not dependencies of the scheduler, which would not let go of them
 * when the queue is killed. They count down to a gate, a fence of its own that the
 * scheduler depends on and that the kill opens too. The job then comes to vze_run_job(),
 * which fails it. So whatever happens, all jobs of a killed queue are freed at once.
 *
 * Locking order: dma_resv of the VM, together with those of shared objects (see
 * vze_prime_sync.c), vze_queue.submit_lock, vze_queue.lock.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>
#include <drm/vze_drm.h>

#include "vze_device.h"
#include "vze_fence.h"
#include "vze_queue.h"
#include "vze_ring.h"
#include "vze_sync.h"
#include "vze_trace.h"
#include "vze_vm.h"

struct vze_job;

/**
 * struct vze_job_wait - one fence that a job waits for
 */
struct vze_job_wait {
	/** @cb: on the fence */
	struct dma_fence_cb cb;
	/** @job: whose wait */
	struct vze_job *job;
	/** @fence: the fence, held by vze_job.syncs or vze_job.implicit */
	struct dma_fence *fence;
	/** @armed: @cb was added */
	bool armed;
};

/**
 * struct vze_job - what one EXEC submitted
 *
 * Belongs to the scheduler after the push and ends in vze_free_job().
 */
struct vze_job {
	/** @base: the scheduler's part */
	struct drm_sched_job base;
	/** @queue: with a reference */
	struct vze_queue *queue;
	/** @fence: with a reference */
	struct vze_fence *fence;
	/** @waits: one for each wait of @syncs and each fence of @implicit */
	struct vze_job_wait *waits;
	/** @num_waits: number of @waits */
	u32 num_waits;
	/** @pending: waits that are not over, plus one while they are armed */
	atomic_t pending;
	/** @syncs: holds the fences that are waited for */
	struct vze_syncs syncs;
	/** @implicit: what is waited for because of the memory that is mapped */
	struct vze_prime_fences implicit;
	/** @num_batches: number of @batches */
	u32 num_batches;
	/** @batches: what to run */
	struct drm_vze_batch batches[] __counted_by(num_batches);
};

static struct vze_job *to_vze_job(struct drm_sched_job *base)
{
	return container_of(base, struct vze_job, base);
}

/* ------------------------------------------------------------------ gates -- */

static void job_wait_over(struct vze_job *job)
{
	if (atomic_dec_and_test(&job->pending))
		vze_fence_complete(job->fence->gate, 0);
}

static void job_wait_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	job_wait_over(container_of(cb, struct vze_job_wait, cb)->job);
}

static void job_arm_waits(struct vze_job *job)
{
	u32 i;

	if (!job->fence->gate)
		return;

	atomic_set(&job->pending, 1);
	for (i = 0; i < job->num_waits; i++) {
		struct vze_job_wait *wait = &job->waits[i];

		/* An earlier job of the same queue: the ring keeps the order. */
		if (wait->fence->context == job->fence->base.context)
			continue;
		wait->job = job;
		atomic_inc(&job->pending);
		if (dma_fence_add_callback(wait->fence, &wait->cb, job_wait_cb))
			atomic_dec(&job->pending);
		else
			wait->armed = true;
	}
	job_wait_over(job);
}

static void job_disarm_waits(struct vze_job *job)
{
	u32 i;

	for (i = 0; i < job->num_waits; i++) {
		if (job->waits[i].armed)
			dma_fence_remove_callback(job->waits[i].fence, &job->waits[i].cb);
	}
}

/* -------------------------------------------------------------- scheduler -- */

/*
 * Ends a job that will not run. The fence is on the queue's list unless the kill has
 * taken it; whoever takes it off the list owns the list's reference.
 */
static void job_fail(struct vze_job *job, int error)
{
	struct vze_queue *queue = job->queue;
	bool listed;

	spin_lock_irq(&queue->lock);
	listed = !list_empty(&job->fence->link);
	list_del_init(&job->fence->link);
	spin_unlock_irq(&queue->lock);

	vze_fence_complete(job->fence, error);
	if (listed)
		vze_fence_put(job->fence);
}

/* What a job gets from a queue that was stopped before the job ran, or 0. */
static int queue_refusal(struct vze_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (!queue->error || queue->error == -ENODEV)
		return queue->error;
	return -ECANCELED;
}

static void ring_write(struct vze_queue *queue, u64 batch, u32 size)
{
	struct vze_hw_ring_entry *entry;

	entry = vze_ring_entry(&queue->vdev->rings[queue->hw_id], queue->ring_tail++);
	memset(entry, 0, sizeof(*entry));
	entry->batch = batch;
	entry->size = size;
	entry->seqno = ++queue->ring_seqno;
}

/*
 * Puts the job into the ring. That it has room is what the scheduler's credits say: an
 * entry is a credit, and it comes back when the job's fence is signalled.
 */
static int job_submit(struct vze_job *job)
{
	struct vze_queue *queue = job->queue;
	struct vze_device *vdev = queue->vdev;
	u32 i;

	spin_lock_irq(&queue->lock);
	if (queue->error) {
		int error = queue_refusal(queue);

		spin_unlock_irq(&queue->lock);
		return error;
	}
	job->fence->first = queue->ring_seqno + 1;
	for (i = 0; i < job->num_batches; i++)
		ring_write(queue, job->batches[i].addr, job->batches[i].size);
	if (!job->num_batches)
		ring_write(queue, 0, 0);
	job->fence->last = queue->ring_seqno;
	/* The entries before the tail that announces them. */
	smp_store_release(&queue->hw->ring_tail, queue->ring_tail);
	spin_unlock_irq(&queue->lock);

	set_bit(queue->hw_id % 64,
		(unsigned long *)&vdev->regs->queue_doorbell[queue->hw_id / 64]);
	vze_device_doorbell(vdev, VZE_HW_DB_QUEUE);
	return 0;
}

static struct dma_fence *vze_run_job(struct drm_sched_job *base)
{
	struct vze_job *job = to_vze_job(base);
	struct vze_queue *queue = job->queue;
	int ret = -ENODEV;

	if (vze_hw_enter(queue->vdev)) {
		ret = job_submit(job);
		vze_hw_exit(queue->vdev);
	}
	trace_vze_job_run(queue->vdev->drm.dev, queue->hw_id, job->fence->base.seqno,
			  job->fence->first, job->fence->last, ret);
	if (ret) {
		job_fail(job, ret);
		return ERR_PTR(ret);
	}
	return dma_fence_get(&job->fence->base);
}

/* Frees a job that the scheduler has let go of, or never had. */
static void job_free(struct vze_job *job)
{
	job_disarm_waits(job);
	kvfree(job->waits);
	vze_prime_fences_put(&job->implicit);
	vze_syncs_cleanup(&job->syncs);
	vze_fence_put(job->fence);
	vze_queue_put(job->queue);
	kvfree(job);
}

static void vze_free_job(struct drm_sched_job *base)
{
	drm_sched_job_cleanup(base);
	job_free(to_vze_job(base));
}

/*
 * There is no timedout_job: a job may legally park for hours, so the schedulers have no
 * timeout, and the watchdog in vze_queue.c finds what hangs.
 */
const struct drm_sched_backend_ops vze_sched_ops = {
	.run_job = vze_run_job,
	.free_job = vze_free_job,
};

/* ------------------------------------------------------------------ ioctl -- */

static int job_read_batches(struct vze_job *job, u64 uptr)
{
	u32 i;

	if (copy_from_user(job->batches, u64_to_user_ptr(uptr),
			   array_size(job->num_batches, sizeof(*job->batches))))
		return -EFAULT;

	for (i = 0; i < job->num_batches; i++) {
		const struct drm_vze_batch *batch = &job->batches[i];
		u64 end;

		if (batch->pad || batch->addr % 8 || batch->size % 8 ||
		    check_add_overflow(batch->addr, (u64)batch->size, &end) ||
		    end > BIT_ULL(VZE_HW_VA_BITS))
			return -EINVAL;
	}
	return 0;
}

static int job_alloc_fences(struct vze_job *job)
{
	struct vze_queue *queue = job->queue;
	u32 num = job->syncs.num_waits + job->implicit.num, i;
	struct vze_fence *fence, *gate;

	fence = vze_fence_alloc();
	if (!fence)
		return -ENOMEM;

	if (num) {
		gate = vze_fence_alloc();
		if (!gate) {
			vze_fence_free(fence);
			return -ENOMEM;
		}
		vze_fence_init_gate(gate, queue->context + 1,
				    atomic64_inc_return(&queue->gates));
		fence->gate = gate;
		job->waits = kvcalloc(num, sizeof(*job->waits), GFP_KERNEL_ACCOUNT);
		if (!job->waits) {
			vze_fence_put(gate);
			vze_fence_free(fence);
			return -ENOMEM;
		}
		for (i = 0; i < num; i++)
			job->waits[i].fence = i < job->syncs.num_waits ?
				job->syncs.entries[i].fence :
				job->implicit.list[i - job->syncs.num_waits];
		job->num_waits = num;
	}
	job->fence = fence;
	return 0;
}

/* Undoes job_alloc_fences() while the job's fence is not yet initialised. */
static void job_drop_fences(struct vze_job *job)
{
	vze_fence_put(job->fence->gate);
	vze_fence_free(job->fence);
	job->fence = NULL;
}

/*
 * Gives the job its number and puts its fence on the queue's list. From here on the job
 * cannot fail any more, but it can be killed.
 */
static int job_enter_queue(struct vze_job *job)
{
	struct vze_queue *queue = job->queue;
	int error;

	lockdep_assert_held(&queue->submit_lock);

	spin_lock_irq(&queue->lock);
	error = queue_refusal(queue);
	if (!error) {
		vze_fence_init(job->fence, queue->context, ++queue->seqno);
		job->fence->owner = queue->vm->fence_context;
		job->fence->may_park = !queue->publish;
		dma_fence_get(&job->fence->base);
		list_add_tail(&job->fence->link, &queue->jobs);
	}
	spin_unlock_irq(&queue->lock);

	return error;
}

/* @prime has locked the reservation already when there is more than this one to lock. */
static int job_lock_resv(struct vze_prime_job *prime, struct dma_resv *resv)
{
	int ret;

	if (prime->locked)
		return 0;
	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	ret = dma_resv_reserve_fences(resv, 1);
	if (ret)
		dma_resv_unlock(resv);
	return ret;
}

static int job_push(struct vze_job *job, struct vze_prime_job *prime, u64 *seqno)
{
	struct vze_queue *queue = job->queue;
	struct dma_resv *resv = vze_vm_resv(queue->vm);
	bool cookie;
	int ret;

	ret = job_lock_resv(prime, resv);
	if (ret)
		return ret;

	mutex_lock(&queue->submit_lock);
	ret = job_enter_queue(job);
	if (ret)
		goto out_submit;

	cookie = dma_fence_begin_signalling();
	drm_sched_job_arm(&job->base);
	/*
	 * Only bookkeeping: a job may park for as long as it likes, so nothing that
	 * others wait for implicitly may depend on it, unless its queue says otherwise.
	 */
	dma_resv_add_fence(resv, &job->fence->base, DMA_RESV_USAGE_BOOKKEEP);
	vze_prime_job_publish(prime, &job->fence->base);
	vze_syncs_signal(&job->syncs, &job->fence->base);
	job_arm_waits(job);
	*seqno = job->fence->base.seqno;
	trace_vze_exec(queue->vdev->drm.dev, queue->hw_id, *seqno, job->num_batches,
		       job->syncs.num_waits, job->syncs.num_signals);
	drm_sched_entity_push_job(&job->base);
	dma_fence_end_signalling(cookie);
out_submit:
	mutex_unlock(&queue->submit_lock);
	if (!prime->locked)
		dma_resv_unlock(resv);
	return ret;
}

static int job_init(struct vze_job *job, struct drm_file *file)
{
	struct vze_fence *gate;
	int ret;

	ret = job_alloc_fences(job);
	if (ret)
		return ret;

	ret = drm_sched_job_init(&job->base, &job->queue->entity, max(job->num_batches, 1U),
				 NULL, file->client_id);
	if (ret)
		goto err_fences;

	gate = job->fence->gate;
	if (gate) {
		/* Takes the reference over, even if it fails. */
		dma_fence_get(&gate->base);
		ret = drm_sched_job_add_dependency(&job->base, &gate->base);
		if (ret)
			goto err_job;
	}
	return 0;

err_job:
	drm_sched_job_cleanup(&job->base);
err_fences:
	job_drop_fences(job);
	return ret;
}

/* A PUBLISH queue makes others wait: it must not wait for what may park itself. */
static int job_check_waits(struct vze_job *job)
{
	u32 i;

	if (!job->queue->publish)
		return 0;
	for (i = 0; i < job->syncs.num_waits; i++) {
		if (vze_fence_waits_for_parked(job->syncs.entries[i].fence))
			return -EDEADLK;
	}
	return 0;
}

static int job_submit_all(struct vze_job *job, struct drm_file *file, u64 *seqno)
{
	struct vze_queue *queue = job->queue;
	struct vze_prime_job prime;
	int ret;

	ret = vze_prime_job_begin(&prime, queue->vm, queue->publish, &job->implicit);
	if (ret)
		return ret;
	ret = job_init(job, file);
	if (ret)
		goto out;
	ret = job_push(job, &prime, seqno);
	if (ret) {
		drm_sched_job_cleanup(&job->base);
		job_drop_fences(job);
	}
out:
	vze_prime_job_end(&prime);
	return ret;
}

/**
 * vze_exec_ioctl() - DRM_IOCTL_VZE_EXEC
 * @drm: device
 * @data: struct drm_vze_exec
 * @file: caller
 *
 * Return: 0 or an error of the uapi.
 */
int vze_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_exec *args = data;
	struct vze_queue *queue;
	struct vze_job *job;
	int ret;

	if (args->flags || args->num_batches > DRM_VZE_MAX_BATCHES)
		return -EINVAL;

	queue = vze_queue_lookup(to_vze_file(file), args->queue_id);
	if (!queue)
		return -ENOENT;

	job = kvzalloc(struct_size(job, batches, args->num_batches), GFP_KERNEL_ACCOUNT);
	if (!job) {
		ret = -ENOMEM;
		goto out_queue;
	}
	/*
	 * A reference of its own: a job that is pushed may be over and freed, with the last
	 * reference on a queue that was destroyed meanwhile, before the locks are released.
	 */
	job->queue = vze_queue_get(queue);
	job->num_batches = args->num_batches;

	ret = job_read_batches(job, args->batches);
	if (ret)
		goto err_free;
	ret = vze_syncs_parse(file, args->syncs, args->num_syncs, &job->syncs);
	if (ret)
		goto err_free;
	ret = job_check_waits(job);
	if (ret)
		goto err_free;
	ret = job_submit_all(job, file, &args->seqno);
	if (!ret)
		goto out_queue;

err_free:
	job_free(job);
out_queue:
	vze_queue_put(queue);
	return ret;
}
