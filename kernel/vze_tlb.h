/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_TLB_H_
#define _VZE_TLB_H_

#include <linux/bitmap.h>
#include <linux/idr.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/vze_hw.h>

struct vze_device;

/**
 * struct vze_tlb - the device's invalidation windows and address space ids
 */
struct vze_tlb {
	/** @windows: the window array in BAR2 */
	struct vze_hw_window *windows;
	/** @lock: protects @used */
	spinlock_t lock;
	/** @used: slots of @windows that are taken */
	DECLARE_BITMAP(used, VZE_HW_WINDOWS);
	/** @wq: waits for a free slot */
	wait_queue_head_t wq;
	/** @asids: address space ids in use; 0 is the kernel's */
	struct ida asids;
};

/**
 * struct vze_tlb_window - an open window, on the stack of who changes page tables
 */
struct vze_tlb_window {
	/** @slot: slot of the window array */
	u32 slot;
	/** @asid: address space */
	u32 asid;
	/** @start: first byte, 4 KiB aligned */
	u64 start;
	/** @end: first byte after the range, 4 KiB aligned */
	u64 end;
};

void vze_tlb_init(struct vze_device *vdev);

int vze_asid_alloc(struct vze_device *vdev, u32 *asid);
void vze_asid_free(struct vze_device *vdev, u32 asid);

void vze_tlb_begin(struct vze_device *vdev, u32 asid, u64 start, u64 end,
		   struct vze_tlb_window *w);
int vze_tlb_end(struct vze_device *vdev, struct vze_tlb_window *w);

#endif /* _VZE_TLB_H_ */
