// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of queues for fdinfo and debugfs.
 */
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_queue.h"

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
