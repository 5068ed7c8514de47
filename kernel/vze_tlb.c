// SPDX-License-Identifier: GPL-2.0
/*
 * Invalidation of the device's TLB, and the ids of address spaces.
 *
 * Whoever changes page table entries other than from absent to present brackets the
 * change by vze_tlb_begin() and vze_tlb_end(). Between the two the device may use the
 * old and the new translations. The pages (and page table pages) that the old ones
 * named may go back only when vze_tlb_end() has returned 0. Any error means that the
 * device did not acknowledge and may still read and write them, be it because its
 * process is stopped and may go on at any time: the caller keeps such pages pinned and
 * allocated (quarantined) until a reset of the device has been acknowledged.
 */
#include <linux/bitmap.h>

#include <drm/drm_print.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_tlb.h"
#include "vze_trace.h"

/* Of a window that was opened when there was no hardware any more. */
#define TLB_NO_SLOT	U32_MAX

/**
 * vze_tlb_init() - close all windows
 * @vdev: device whose BARs are mapped
 */
void vze_tlb_init(struct vze_device *vdev)
{
	struct vze_tlb *tlb = &vdev->tlb;
	u32 slot;

	tlb->windows = vdev->bar + VZE_HW_WINDOW_OFFSET;
	for (slot = 0; slot < VZE_HW_WINDOWS; slot++)
		WRITE_ONCE(tlb->windows[slot].state, VZE_HW_WINDOW_FREE);
	spin_lock_init(&tlb->lock);
	init_waitqueue_head(&tlb->wq);
	ida_init(&tlb->asids);
}

/**
 * vze_asid_alloc() - get an address space id
 * @vdev: device
 * @asid: out: never 0, which is the kernel's
 *
 * Return: 0, -ENOSPC or -ENOMEM.
 */
int vze_asid_alloc(struct vze_device *vdev, u32 *asid)
{
	int id = ida_alloc_range(&vdev->tlb.asids, 1, vdev->ident.num_address_spaces - 1,
				 GFP_KERNEL);

	if (id < 0)
		return id;
	*asid = id;
	return 0;
}

/**
 * vze_asid_free() - give an address space id back
 * @vdev: device
 * @asid: from vze_asid_alloc()
 *
 * Only after vze_ctrl_as_destroy() returned 0, or when the device never knew it.
 */
void vze_asid_free(struct vze_device *vdev, u32 asid)
{
	ida_free(&vdev->tlb.asids, asid);
}

static bool tlb_take_slot(struct vze_tlb *tlb, u32 *slot)
{
	bool taken;

	spin_lock(&tlb->lock);
	*slot = find_first_zero_bit(tlb->used, VZE_HW_WINDOWS);
	taken = *slot < VZE_HW_WINDOWS;
	if (taken)
		__set_bit(*slot, tlb->used);
	spin_unlock(&tlb->lock);
	return taken;
}

/**
 * vze_tlb_begin() - announce a change of page table entries
 * @vdev: device
 * @asid: address space
 * @start: first byte of the range, 4 KiB aligned
 * @end: first byte after the range, 4 KiB aligned
 * @w: out: the window, for vze_tlb_end()
 *
 * Sleeps until one of the windows is free; a thread has at most one open, or all
 * threads could wait for each other. Cannot fail and allocates nothing. When the
 * device is gone there is no window, and vze_tlb_end() says so.
 */
void vze_tlb_begin(struct vze_device *vdev, u32 asid, u64 start, u64 end,
		   struct vze_tlb_window *w)
{
	struct vze_tlb *tlb = &vdev->tlb;
	struct vze_hw_window *hw;

	might_sleep();

	w->slot = TLB_NO_SLOT;
	w->asid = asid;
	w->start = start;
	w->end = end;
	if (!vze_hw_enter(vdev))
		return;

	wait_event(tlb->wq, tlb_take_slot(tlb, &w->slot));
	hw = &tlb->windows[w->slot];
	hw->asid = asid;
	hw->start = start;
	hw->end = end;
	/* The range before the state that makes it count. */
	smp_store_release(&hw->state, VZE_HW_WINDOW_OPEN);
	/* The device must find the window open when it sees the first changed entry. */
	smp_mb();
}

/**
 * vze_tlb_end() - make the device forget the old translations
 * @vdev: device
 * @w: from vze_tlb_begin()
 *
 * Sleeps for the acknowledgment, allocates nothing, is legal inside
 * dma_fence_begin_signalling() sections.
 *
 * Return: 0: no translation of the range that existed at vze_tlb_begin() is used any
 * more. -ENODEV (the device is lost) or -EIO (it refused): the pages must be
 * quarantined.
 */
int vze_tlb_end(struct vze_device *vdev, struct vze_tlb_window *w)
{
	struct vze_tlb *tlb = &vdev->tlb;
	int ret = 0;

	if (w->slot == TLB_NO_SLOT)
		return vze_device_off_result(vdev);

	if (likely(!READ_ONCE(vze_skip_tlb_invalidate)))
		ret = vze_ctrl_tlb_invalidate(vdev, w->asid, w->start, w->end, w->slot);
	trace_vze_tlb_invalidate(vdev->drm.dev, w->asid, w->start, w->end, ret);

	/* The acknowledgment before the window closes. */
	smp_store_release(&tlb->windows[w->slot].state, VZE_HW_WINDOW_FREE);
	spin_lock(&tlb->lock);
	__clear_bit(w->slot, tlb->used);
	spin_unlock(&tlb->lock);
	if (wq_has_sleeper(&tlb->wq))
		wake_up(&tlb->wq);
	vze_hw_exit(vdev);
	return ret;
}
