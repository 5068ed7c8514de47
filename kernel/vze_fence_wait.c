// SPDX-License-Identifier: GPL-2.0
/*
 * FENCE_WAIT and FENCE_WAKE: sleeping until a word in memory has a value.
 *
 * The word belongs to user space and can be stored to by the device, by this process
 * and by others, without the kernel seeing it. vze_device.fence_seq moves whenever one of
 * them says that it may have done so; a waiter reads the number, then the word, and
 * sleeps only while the number is still the same.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/processor.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/vze_drm.h>

#include "vze_device.h"
#include "vze_drv.h"
#include "vze_queue.h"

/* A command that is about to end is not worth a sleep. */
#define FENCE_SPIN_NS		(5 * NSEC_PER_USEC)
/* Timeouts may be this late, so that the timers of many waiters can be one. */
#define FENCE_SLACK_NS		(50 * NSEC_PER_USEC)

/**
 * vze_fence_kick() - let all FENCE_WAITs look at their words again
 * @vdev: device
 *
 * Any context.
 */
void vze_fence_kick(struct vze_device *vdev)
{
	atomic_inc(&vdev->fence_seq);
	/* Pairs with the waiter, who is in the queue before it looks at the number. */
	smp_mb__after_atomic();
	/* Ordered by the barrier above. */
	if (waitqueue_active(&vdev->fence_wq))
		wake_up_all(&vdev->fence_wq);
}

static bool fence_compare(u64 word, u32 op, u64 value)
{
	switch (op) {
	case VZE_HW_WAIT_EQ:
		return word == value;
	case VZE_HW_WAIT_NE:
		return word != value;
	case VZE_HW_WAIT_GE:
		return word >= value;
	case VZE_HW_WAIT_GT:
		return word > value;
	case VZE_HW_WAIT_LE:
		return word <= value;
	default:
		return word < value;
	}
}

/* Return: 1 fulfilled, 0 not yet, or why there is no point in waiting on. */
static int fence_check(struct vze_device *vdev, struct vze_queue *queue,
		       const struct drm_vze_fence_wait *args)
{
	u64 __user *addr = u64_to_user_ptr(args->addr);
	u64 word;
	int error;

	error = queue ? READ_ONCE(queue->error) : 0;
	/*
	 * The error before the word: a queue stops after its last store, so a word that
	 * is wrong after the stop stays wrong.
	 */
	smp_rmb();
	if (get_user(word, addr))
		return -EFAULT;
	if (fence_compare(word, args->op, args->value))
		return 1;
	if (vze_device_is_lost(vdev) || drm_dev_is_unplugged(&vdev->drm))
		return -ENODEV;
	if (error)
		return error == -ENODEV ? -ENODEV : -ECANCELED;
	return 0;
}

/*
 * Sleeps until @seq is no longer the number of the device. Return: 0, -ETIME, or
 * -ERESTARTSYS.
 */
static int fence_sleep(struct vze_device *vdev, int seq, s64 timeout_ns)
{
	ktime_t expires = timeout_ns;
	DEFINE_WAIT(wait);
	int ret = 0;

	prepare_to_wait(&vdev->fence_wq, &wait, TASK_INTERRUPTIBLE);
	if (atomic_read(&vdev->fence_seq) != seq) {
		finish_wait(&vdev->fence_wq, &wait);
		return 0;
	}
	if (signal_pending(current))
		ret = -ERESTARTSYS;
	else if (!schedule_hrtimeout_range(timeout_ns < 0 ? NULL : &expires, FENCE_SLACK_NS,
					   HRTIMER_MODE_ABS))
		ret = -ETIME;
	finish_wait(&vdev->fence_wq, &wait);
	return ret;
}

static int fence_wait(struct vze_device *vdev, struct vze_queue *queue,
		      const struct drm_vze_fence_wait *args)
{
	u64 spin_end = ktime_get_ns() + FENCE_SPIN_NS;
	bool late = false;
	int ret;

	for (;;) {
		int seq = atomic_read_acquire(&vdev->fence_seq);

		ret = fence_check(vdev, queue, args);
		if (ret)
			return ret < 0 ? ret : 0;
		if (late || !args->timeout_ns)
			return -ETIME;

		if (ktime_get_ns() < spin_end && !need_resched()) {
			cpu_relax();
			continue;
		}
		ret = fence_sleep(vdev, seq, args->timeout_ns);
		if (ret == -ETIME)
			late = true;
		else if (ret)
			return ret;
	}
}

/**
 * vze_fence_wait_ioctl() - DRM_IOCTL_VZE_FENCE_WAIT
 * @drm: device
 * @data: struct drm_vze_fence_wait
 * @file: caller
 *
 * Return: 0, an error of the uapi, or -ERESTARTSYS: the timeout being absolute, the call
 * can simply be repeated.
 */
int vze_fence_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_fence_wait *args = data;
	struct vze_queue *queue = NULL;
	int ret;

	if (args->addr % sizeof(u64) || args->op > VZE_HW_WAIT_LT)
		return -EINVAL;
	if (args->queue_id) {
		queue = vze_queue_lookup(to_vze_file(file), args->queue_id);
		if (!queue)
			return -ENOENT;
	}
	ret = fence_wait(to_vze(drm), queue, args);
	if (queue)
		vze_queue_put(queue);
	return ret;
}

/**
 * vze_fence_wake_ioctl() - DRM_IOCTL_VZE_FENCE_WAKE
 * @drm: device
 * @data: struct drm_vze_fence_wake
 * @file: caller
 *
 * Return: 0 or -EINVAL.
 */
int vze_fence_wake_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_fence_wake *args = data;
	struct vze_device *vdev = to_vze(drm);

	if (args->flags || args->pad)
		return -EINVAL;
	if (vze_hw_enter(vdev)) {
		vze_device_doorbell(vdev, VZE_HW_DB_WAKE);
		vze_hw_exit(vdev);
	}
	vze_fence_kick(vdev);
	return 0;
}
