// SPDX-License-Identifier: GPL-2.0
/*
 * Fault ring: what the device says about queues that it stopped.
 *
 * A record is taken from the ring, made readable through QUEUE_STATE, and only then are
 * the fences of the queue signalled, so that who sees -EFAULT finds the reason.
 */
#include <linux/devcoredump.h>
#include <linux/vmalloc.h>

#include <drm/drm_print.h>
#include <drm/vze_drm.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_fault.h"
#include "vze_queue.h"

#define DUMP_SIZE	PAGE_SIZE

static void fault_stop(struct vze_device *vdev, struct vze_queue *queue,
		       const struct vze_hw_fault *record)
{
	lockdep_assert_held(&vdev->fault.lock);

	if (vze_queue_set_fault(queue, record))
		list_add_tail(&vze_queue_get(queue)->fault_link, &vdev->fault.stopped);
}

static void fault_take_record(struct vze_device *vdev, u32 index)
{
	struct vze_hw_fault record;
	struct vze_queue *queue;

	/* The device may write to the ring at any time: one copy, then only that. */
	memcpy(&record, &vdev->fault.ring[index % VZE_HW_FAULT_ENTRIES], sizeof(record));

	queue = vze_queue_by_hw_id(vdev, record.queue);
	if (!queue)
		return;
	if (queue->asid == record.asid)
		fault_stop(vdev, queue, &record);
	vze_queue_put(queue);
}

/* The ring was full and records were lost: the state of the queues tells whose. */
static void fault_find_stopped(struct vze_device *vdev)
{
	u32 hw_id;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		struct vze_queue *queue = vze_queue_by_hw_id(vdev, hw_id);

		if (!queue)
			continue;
		if (READ_ONCE(queue->hw->state) == VZE_HW_QUEUE_FAULTED)
			fault_stop(vdev, queue, NULL);
		vze_queue_put(queue);
	}
}

/**
 * vze_fault_drain() - take all records from the ring
 * @vdev: device
 *
 * For callers between vze_hw_enter() and vze_hw_exit(). The queues that faulted take no
 * more work when this returns; they are killed by a work item.
 */
void vze_fault_drain(struct vze_device *vdev)
{
	struct vze_fault *fault = &vdev->fault;
	u64 dropped;
	u32 head;

	mutex_lock(&fault->lock);
	/* The head before the records that it announces. */
	head = smp_load_acquire(&vdev->regs->fault_head);
	dropped = READ_ONCE(vdev->regs->faults_dropped);
	if (head - fault->tail > VZE_HW_FAULT_ENTRIES) {
		drm_err_ratelimited(&vdev->drm, "the fault ring is out of order\n");
		fault->tail = head;
		fault->dropped = ~dropped;
	}
	for (; fault->tail != head; fault->tail++)
		fault_take_record(vdev, fault->tail);
	/* The records have been read before the device may write there again. */
	smp_store_release(&vdev->regs->fault_tail, fault->tail);
	if (dropped != fault->dropped) {
		fault->dropped = dropped;
		fault_find_stopped(vdev);
	}
	if (!list_empty(&fault->stopped))
		queue_work(system_unbound_wq, &fault->work);
	mutex_unlock(&fault->lock);
}

static struct vze_queue *fault_next_stopped(struct vze_fault *fault)
{
	struct vze_queue *queue;

	mutex_lock(&fault->lock);
	queue = list_first_entry_or_null(&fault->stopped, struct vze_queue, fault_link);
	if (queue)
		list_del_init(&queue->fault_link);
	mutex_unlock(&fault->lock);
	return queue;
}

static void fault_report(struct vze_queue *queue)
{
	const struct drm_vze_queue_state *state = &queue->state;

	dev_info_ratelimited(queue->vdev->drm.dev,
			     "queue %u faulted: reason %u, access %u, address %#llx, command %u (opcode %u) of batch %#llx\n",
			     queue->hw_id, state->reason, state->access, state->va,
			     state->command, state->opcode, state->batch);
	vze_fault_dump(queue, "fault");
}

static void fault_work(struct work_struct *work)
{
	struct vze_fault *fault = container_of(work, struct vze_fault, work);
	struct vze_device *vdev = container_of(fault, struct vze_device, fault);
	struct vze_queue *queue;

	if (vze_hw_enter(vdev)) {
		vze_fault_drain(vdev);
		vze_hw_exit(vdev);
	}
	while ((queue = fault_next_stopped(fault))) {
		vze_queue_kill(queue, -EFAULT);
		fault_report(queue);
		vze_queue_put(queue);
	}
}

/**
 * vze_fault_init() - take the ring over
 * @vdev: device whose BARs are mapped
 *
 * Records for an earlier driver are skipped.
 */
void vze_fault_init(struct vze_device *vdev)
{
	struct vze_fault *fault = &vdev->fault;

	fault->ring = vdev->bar + VZE_HW_FAULT_OFFSET;
	mutex_init(&fault->lock);
	INIT_LIST_HEAD(&fault->stopped);
	INIT_WORK(&fault->work, fault_work);
	fault->tail = READ_ONCE(vdev->regs->fault_head);
	fault->dropped = READ_ONCE(vdev->regs->faults_dropped);
	WRITE_ONCE(vdev->regs->fault_tail, fault->tail);
}

/**
 * vze_fault_dump() - leave a device coredump of a stopped queue
 * @queue: killed queue
 * @what: what happened
 *
 * The kernel keeps the first dump until it is read or some minutes old; later ones are
 * dropped meanwhile.
 */
void vze_fault_dump(struct vze_queue *queue, const char *what)
{
	const struct drm_vze_queue_state *state = &queue->state;
	struct vze_device *vdev = queue->vdev;
	char *text = vzalloc(DUMP_SIZE);
	size_t len = 0;

	if (!text)
		return;
	len += scnprintf(text + len, DUMP_SIZE - len,
			 "vze: %s\nhw_version: %u.%u\nepoch: %#llx\nqueue: hw %u id %u asid %u\n",
			 what, vdev->ident.version_major, vdev->ident.version_minor,
			 vdev->ident.epoch, queue->hw_id, queue->id, queue->asid);
	len += scnprintf(text + len, DUMP_SIZE - len,
			 "ring: tail %u seqno %llu\nerror: %d\n", queue->ring_tail,
			 queue->ring_seqno, queue->error);
	len += scnprintf(text + len, DUMP_SIZE - len,
			 "va: %#llx\nbatch: %#llx\njob: %llu\ncommand: %u\nopcode: %u\nreason: %u\naccess: %u\n",
			 state->va, state->batch, state->seqno, state->command, state->opcode,
			 state->reason, state->access);
	len += scnprintf(text + len, DUMP_SIZE - len,
			 "nearest: kind %u placement %u addr %#llx size %#llx distance %llu\n",
			 state->nearest_kind, state->nearest_placement, state->nearest_addr,
			 state->nearest_size, state->nearest_distance);
	dev_coredumpv(vdev->drm.dev, text, len, GFP_KERNEL);
}
