/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_CTRL_H_
#define _VZE_CTRL_H_

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/vze_hw.h>

struct vze_device;

/**
 * struct vze_ctrl - driver side of the control ring
 */
struct vze_ctrl {
	/** @ring: the ring in BAR2 */
	struct vze_hw_ctrl_entry *ring;
	/** @lock: protects @tail and @busy */
	spinlock_t lock;
	/** @tail: entries ever written */
	u32 tail;
	/** @busy: entries whose result the poster has not yet read */
	DECLARE_BITMAP(busy, VZE_HW_CTRL_ENTRIES);
	/** @wq: posters wait here for their completion or for a free entry */
	wait_queue_head_t wq;
};

/**
 * struct vze_ctrl_range - a range of VRAM, 4 KiB aligned
 */
struct vze_ctrl_range {
	/** @offset: first byte */
	u64 offset;
	/** @size: bytes */
	u64 size;
};

/* Most ranges of vze_ctrl_clear(). */
#define VZE_CTRL_MAX_RANGES	32

void vze_ctrl_init(struct vze_device *vdev);
void vze_ctrl_irq(struct vze_device *vdev);

/*
 * Commands. All sleep, none can be interrupted, none allocates memory, so that they
 * are legal inside dma_fence_begin_signalling() sections. They return 0, -EIO (the
 * device refused, a bug of the driver or the device), or -ENODEV (the device is lost
 * or unplugged).
 */
int vze_ctrl_as_create(struct vze_device *vdev, u32 asid, phys_addr_t root);
int vze_ctrl_as_destroy(struct vze_device *vdev, u32 asid);
int vze_ctrl_tlb_invalidate(struct vze_device *vdev, u32 asid, u64 start, u64 end, u32 slot);
int vze_ctrl_queue_create(struct vze_device *vdev, u32 queue, u32 asid, u64 ring, u32 entries,
			  u32 priority);
int vze_ctrl_queue_destroy(struct vze_device *vdev, u32 queue);
int vze_ctrl_keep_plain(struct vze_device *vdev, u64 offset, u64 size);
int vze_ctrl_clear(struct vze_device *vdev, const struct vze_ctrl_range *ranges, u32 num);
int vze_ctrl_read_clock(struct vze_device *vdev, u64 *clock);
int vze_ctrl_device_reset(struct vze_device *vdev);

#endif /* _VZE_CTRL_H_ */
