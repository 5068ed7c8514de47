// SPDX-License-Identifier: GPL-2.0
/*
 * Control ring: the commands that the driver gives to the device itself.
 *
 * Any number of threads post at the same time. A command is in the ring from
 * ctrl_post() until its poster has read the result; the device completes commands in
 * order, the posters read in any order, hence the bitmap of busy entries.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/processor.h>

#include <drm/drm_print.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_trace.h"

/* A command that the device answers at once is not worth an interrupt. */
#define CTRL_POLL_NS		(5 * NSEC_PER_USEC)

/*
 * How long to sleep before a completion without an interrupt is looked for. Such a
 * loss is reported; it is the heartbeat that decides about a device that is silent.
 */
#define CTRL_RECHECK		(30 * HZ)

struct ctrl_command {
	u32 opcode;
	u32 id;
	u64 arg[4];
	u64 out;
};

static u32 ctrl_slot(u32 seq)
{
	return seq % VZE_HW_CTRL_ENTRIES;
}

/* Writes the command into the ring if its entry is free. */
static bool ctrl_post(struct vze_device *vdev, const struct ctrl_command *cmd, u32 *seq)
{
	struct vze_ctrl *ctrl = &vdev->ctrl;
	struct vze_hw_ctrl_entry *entry;
	bool posted = false;

	spin_lock(&ctrl->lock);
	if (!test_bit(ctrl_slot(ctrl->tail), ctrl->busy)) {
		*seq = ctrl->tail++;
		__set_bit(ctrl_slot(*seq), ctrl->busy);
		entry = &ctrl->ring[ctrl_slot(*seq)];
		entry->opcode = cmd->opcode;
		entry->id = cmd->id;
		memcpy(entry->arg, cmd->arg, sizeof(entry->arg));
		entry->out = 0;
		entry->result = VZE_HW_RESULT_PENDING;
		entry->pad = 0;
		entry->pad2 = 0;
		/* The entry before the tail that announces it. */
		smp_store_release(&vdev->regs->ctrl_tail, ctrl->tail);
		posted = true;
	}
	spin_unlock(&ctrl->lock);
	return posted;
}

/* Has the device completed entry @seq? A head beyond the tail counts as not moved. */
static bool ctrl_done(struct vze_device *vdev, u32 seq)
{
	/* The head before the result that it announces. */
	u32 head = smp_load_acquire(&vdev->regs->ctrl_head);

	return head - seq - 1 < VZE_HW_CTRL_ENTRIES;
}

static bool ctrl_poll(struct vze_device *vdev, u32 seq)
{
	u64 end = ktime_get_ns() + CTRL_POLL_NS;

	do {
		if (ctrl_done(vdev, seq))
			return true;
		cpu_relax();
	} while (ktime_get_ns() < end);
	return false;
}

static void ctrl_wait(struct vze_device *vdev, u32 seq)
{
	struct vze_ctrl *ctrl = &vdev->ctrl;
	long left;

	if (ctrl_poll(vdev, seq))
		return;
	do {
		left = wait_event_timeout(ctrl->wq,
					  ctrl_done(vdev, seq) || vze_device_is_lost(vdev),
					  CTRL_RECHECK);
	} while (!left);
	if (left == 1 && ctrl_done(vdev, seq)) {
		atomic_inc(&vdev->lost_irqs);
		drm_err(&vdev->drm, "the interrupt of a control command did not come\n");
	}
}

/*
 * Puts a command into the ring, as soon as an entry is free. What the caller has posted
 * already must be on its way then, or nobody may ever free one.
 */
static int ctrl_put(struct vze_device *vdev, const struct ctrl_command *cmd, u32 *seq)
{
	struct vze_ctrl *ctrl = &vdev->ctrl;

	if (vze_device_is_lost(vdev))
		return -ENODEV;
	if (ctrl_post(vdev, cmd, seq))
		return 0;
	vze_device_doorbell(vdev, VZE_HW_DB_CTRL);
	wait_event(ctrl->wq, vze_device_is_lost(vdev) || ctrl_post(vdev, cmd, seq));
	return vze_device_is_lost(vdev) ? -ENODEV : 0;
}

/* Waits for the command in entry @seq, and gives the entry back. */
static int ctrl_finish(struct vze_device *vdev, struct ctrl_command *cmd, u32 seq)
{
	struct vze_ctrl *ctrl = &vdev->ctrl;
	struct vze_hw_ctrl_entry *entry;
	u32 result;
	int ret;

	ctrl_wait(vdev, seq);

	entry = &ctrl->ring[ctrl_slot(seq)];
	if (!ctrl_done(vdev, seq)) {
		/* Lost: the entry stays busy, for the device may still answer it. */
		ret = -ENODEV;
	} else {
		result = READ_ONCE(entry->result);
		cmd->out = READ_ONCE(entry->out);
		ret = result == VZE_HW_RESULT_OK ? 0 : -EIO;
		if (ret)
			drm_err(&vdev->drm,
				"the device refused control command %u (id %u, %#llx, %#llx): result %u\n",
				cmd->opcode, cmd->id, cmd->arg[0], cmd->arg[1], result);
		spin_lock(&ctrl->lock);
		__clear_bit(ctrl_slot(seq), ctrl->busy);
		spin_unlock(&ctrl->lock);
		if (wq_has_sleeper(&ctrl->wq))
			wake_up_all(&ctrl->wq);
	}
	trace_vze_ctrl(vdev->drm.dev, cmd->opcode, cmd->id, cmd->arg[0], cmd->arg[1], ret);
	return ret;
}

/*
 * Runs a command. The caller is between vze_hw_enter() and vze_hw_exit(), or is remove
 * after it has shut everybody else out.
 */
static int ctrl_run(struct vze_device *vdev, struct ctrl_command *cmd)
{
	u32 seq;
	int ret;

	might_sleep();
	ret = ctrl_put(vdev, cmd, &seq);
	if (ret)
		return ret;
	vze_device_doorbell(vdev, VZE_HW_DB_CTRL);
	return ctrl_finish(vdev, cmd, seq);
}

/* A command that needs the device to be there. */
static int ctrl_command(struct vze_device *vdev, struct ctrl_command *cmd)
{
	int ret;

	if (!vze_hw_enter(vdev))
		return -ENODEV;
	ret = ctrl_run(vdev, cmd);
	vze_hw_exit(vdev);
	return ret;
}

/* A command that takes something away: done already if the device was reset at remove. */
static int ctrl_teardown(struct vze_device *vdev, struct ctrl_command *cmd)
{
	int ret;

	if (!vze_hw_enter(vdev))
		return vze_device_off_result(vdev);
	ret = ctrl_run(vdev, cmd);
	vze_hw_exit(vdev);
	return ret;
}

/**
 * vze_ctrl_irq() - interrupt VZE_HW_IRQ_CTRL
 * @vdev: device
 */
void vze_ctrl_irq(struct vze_device *vdev)
{
	if (wq_has_sleeper(&vdev->ctrl.wq))
		wake_up_all(&vdev->ctrl.wq);
}

/**
 * vze_ctrl_init() - take the ring over
 * @vdev: device whose BARs are mapped
 *
 * An earlier driver may have left commands in the ring that the device works on; the
 * ring goes on behind them.
 */
void vze_ctrl_init(struct vze_device *vdev)
{
	struct vze_ctrl *ctrl = &vdev->ctrl;

	ctrl->ring = vdev->bar + VZE_HW_CTRL_OFFSET;
	spin_lock_init(&ctrl->lock);
	init_waitqueue_head(&ctrl->wq);
	ctrl->tail = READ_ONCE(vdev->regs->ctrl_tail);
}

/**
 * vze_ctrl_as_create() - give the device an address space
 * @vdev: device
 * @asid: id from vze_asid_alloc(), or 0
 * @root: physical address of the root table
 *
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_as_create(struct vze_device *vdev, u32 asid, phys_addr_t root)
{
	struct ctrl_command cmd = {
		.opcode = VZE_HW_CTRL_AS_CREATE, .id = asid, .arg[0] = root,
	};

	return ctrl_command(vdev, &cmd);
}

/**
 * vze_ctrl_as_destroy() - take an address space away from the device
 * @vdev: device
 * @asid: its id; every queue of it has been destroyed
 *
 * Return: 0: the device uses neither its tables nor its pages any more; -EIO or
 * -ENODEV: that is not proved.
 */
int vze_ctrl_as_destroy(struct vze_device *vdev, u32 asid)
{
	struct ctrl_command cmd = { .opcode = VZE_HW_CTRL_AS_DESTROY, .id = asid };

	return ctrl_teardown(vdev, &cmd);
}

/**
 * vze_ctrl_tlb_invalidate() - drop translations, see vze_tlb_end()
 * @vdev: device
 * @asid: address space
 * @start: first byte
 * @end: first byte after the range
 * @slot: open window
 *
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_tlb_invalidate(struct vze_device *vdev, u32 asid, u64 start, u64 end, u32 slot)
{
	struct ctrl_command cmd = {
		.opcode = VZE_HW_CTRL_TLB_INVALIDATE, .id = asid, .arg = { start, end, slot },
	};

	return ctrl_teardown(vdev, &cmd);
}

/**
 * vze_ctrl_queue_create() - start a hardware queue
 * @vdev: device
 * @queue: hardware queue id
 * @asid: its address space
 * @ring: address of its ring in address space 0
 * @entries: ring entries
 * @priority: VZE_HW_PRIORITY_*
 *
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_queue_create(struct vze_device *vdev, u32 queue, u32 asid, u64 ring, u32 entries,
			  u32 priority)
{
	struct ctrl_command cmd = {
		.opcode = VZE_HW_CTRL_QUEUE_CREATE,
		.id = queue,
		.arg = { asid, ring, entries, priority },
	};

	return ctrl_command(vdev, &cmd);
}

/**
 * vze_ctrl_queue_destroy() - stop a hardware queue wherever it is and drop it
 * @vdev: device
 * @queue: hardware queue id
 *
 * Return: 0: it touches no memory any more; -EIO or -ENODEV: that is not proved.
 */
int vze_ctrl_queue_destroy(struct vze_device *vdev, u32 queue)
{
	struct ctrl_command cmd = { .opcode = VZE_HW_CTRL_QUEUE_DESTROY, .id = queue };

	return ctrl_teardown(vdev, &cmd);
}

/**
 * vze_ctrl_keep_plain() - from now on memory says what a range of VRAM holds
 * @vdev: device
 * @offset: first byte in VRAM, 4 KiB aligned
 * @size: bytes, 4 KiB aligned; the device writes as many at worst, in front of all other
 *	control commands
 *
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_keep_plain(struct vze_device *vdev, u64 offset, u64 size)
{
	struct ctrl_command cmd = {
		.opcode = VZE_HW_CTRL_RESOLVE, .arg = { offset, size, VZE_HW_RESOLVE_KEEP },
	};

	return ctrl_command(vdev, &cmd);
}

static struct ctrl_command clear_command(const struct vze_ctrl_range *range)
{
	struct ctrl_command cmd = {
		.opcode = VZE_HW_CTRL_CLEAR, .arg = { range->offset, range->size },
	};

	return cmd;
}

/**
 * vze_ctrl_clear() - make VRAM read as zeros
 * @vdev: device
 * @ranges: ranges that nobody uses
 * @num: how many, at most VZE_CTRL_MAX_RANGES
 *
 * With one doorbell, and mostly one interrupt. One caller at a time: the entries of several
 * would fill the ring, with each waiting for room.
 *
 * Return: 0, -EIO or -ENODEV; after an error nothing is known of any of the ranges.
 */
int vze_ctrl_clear(struct vze_device *vdev, const struct vze_ctrl_range *ranges, u32 num)
{
	u32 seqs[VZE_CTRL_MAX_RANGES], posted;
	struct ctrl_command cmd;
	int ret = 0, one;

	BUILD_BUG_ON(2 * ARRAY_SIZE(seqs) > VZE_HW_CTRL_ENTRIES);
	might_sleep();
	if (!vze_hw_enter(vdev))
		return -ENODEV;
	for (posted = 0; posted < num; posted++) {
		cmd = clear_command(&ranges[posted]);
		ret = ctrl_put(vdev, &cmd, &seqs[posted]);
		if (ret)
			break;
	}
	if (posted)
		vze_device_doorbell(vdev, VZE_HW_DB_CTRL);
	/* The last one first: then there is nothing to wait for at the others. */
	while (posted--) {
		cmd = clear_command(&ranges[posted]);
		one = ctrl_finish(vdev, &cmd, seqs[posted]);
		ret = ret ?: one;
	}
	vze_hw_exit(vdev);
	return ret;
}

/**
 * vze_ctrl_read_clock() - read the device clock
 * @vdev: device
 * @clock: out: in units of 1/ident.timestamp_hz s
 *
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_read_clock(struct vze_device *vdev, u64 *clock)
{
	struct ctrl_command cmd = { .opcode = VZE_HW_CTRL_READ_CLOCK };
	int ret = ctrl_command(vdev, &cmd);

	*clock = cmd.out;
	return ret;
}

/**
 * vze_ctrl_device_reset() - destroy every queue and address space, empty the TLB
 * @vdev: device
 *
 * For probe and remove, when nobody else uses the hardware.
 * Return: 0, -EIO or -ENODEV.
 */
int vze_ctrl_device_reset(struct vze_device *vdev)
{
	struct ctrl_command cmd = { .opcode = VZE_HW_CTRL_DEVICE_RESET };

	return ctrl_run(vdev, &cmd);
}
