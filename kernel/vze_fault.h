/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_FAULT_H_
#define _VZE_FAULT_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/vze_hw.h>

struct vze_device;
struct vze_queue;

/**
 * struct vze_fault - driver side of the fault ring
 */
struct vze_fault {
	/** @ring: the ring in BAR2 */
	struct vze_hw_fault *ring;
	/** @lock: held while records are taken from the ring */
	struct mutex lock;
	/** @tail: records ever taken */
	u32 tail;
	/** @dropped: value of vze_hw_regs.faults_dropped when last looked at */
	u64 dropped;
	/** @stopped: queues whose fault is recorded and that must be killed, by fault_link */
	struct list_head stopped;
	/** @work: takes records; scheduled by the interrupt */
	struct work_struct work;
};

void vze_fault_init(struct vze_device *vdev);
void vze_fault_drain(struct vze_device *vdev);
void vze_fault_dump(struct vze_queue *queue, const char *what);

#endif /* _VZE_FAULT_H_ */
