/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_RING_H_
#define _VZE_RING_H_

#include <linux/types.h>

#include <drm/vze_drm.h>
#include <drm/vze_hw.h>

struct vze_device;

/* Entries of a hardware ring; a job takes one per batch. */
#define VZE_RING_ENTRIES	DRM_VZE_MAX_BATCHES
#define VZE_RING_BYTES		(VZE_RING_ENTRIES * sizeof(struct vze_hw_ring_entry))
#define VZE_RING_PAGES		(VZE_RING_BYTES / VZE_HW_PAGE_SIZE)

/* Addresses of rings in address space 0: one behind the other from here. */
#define VZE_RING_VA		0x100000000ULL

/**
 * struct vze_ring - ring memory of a hardware queue, mapped in address space 0
 */
struct vze_ring {
	/** @pages: its pages, or NULL before the first use of the hardware queue */
	struct page *pages[VZE_RING_PAGES];
};

struct vze_hw_ring_entry *vze_ring_entry(const struct vze_ring *ring, u32 index);
u64 vze_ring_va(u32 hw_id, u32 page);
int vze_ring_prepare(struct vze_device *vdev, u32 hw_id);
void vze_rings_give(struct vze_device *vdev, bool unused);

#endif /* _VZE_RING_H_ */
