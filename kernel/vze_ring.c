// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: kernel memory in which a hardware queue finds its jobs, mapped in address
 * space 0. They belong to hardware queues, not to the queues that use these for a while.
 */
#include <linux/mm.h>

#include "vze_device.h"
#include "vze_quarantine.h"
#include "vze_ring.h"
#include "vze_vm.h"

/**
 * vze_ring_entry() - CPU address of a ring entry
 * @ring: ring
 * @index: entries ever written
 */
struct vze_hw_ring_entry *vze_ring_entry(const struct vze_ring *ring, u32 index)
{
	const u32 per_page = VZE_HW_PAGE_SIZE / sizeof(struct vze_hw_ring_entry);
	u32 slot = index % VZE_RING_ENTRIES;
	struct vze_hw_ring_entry *page = page_address(ring->pages[slot / per_page]);

	return &page[slot % per_page];
}

/**
 * vze_ring_va() - address of a page of a ring in address space 0
 * @hw_id: hardware queue
 * @page: page of its ring
 */
u64 vze_ring_va(u32 hw_id, u32 page)
{
	return VZE_RING_VA + hw_id * VZE_RING_BYTES + page * VZE_HW_PAGE_SIZE;
}

/**
 * vze_ring_prepare() - make the ring of a hardware queue, unless it is there
 * @vdev: device
 * @hw_id: hardware queue that the caller owns
 *
 * It stays mapped for the next queue that gets the id, for unmapping it would cost an
 * invalidation each time. A part that was made before a failure is used by the next
 * attempt.
 *
 * Return: 0, -ENOMEM, or the error of mapping it.
 */
int vze_ring_prepare(struct vze_device *vdev, u32 hw_id)
{
	struct vze_ring *ring = &vdev->rings[hw_id];
	struct page *page;
	u32 i;
	int ret;

	for (i = 0; i < VZE_RING_PAGES; i++) {
		if (ring->pages[i])
			continue;
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		ret = vze_kernel_as_map_page(vdev, vze_ring_va(hw_id, i), page);
		if (ret) {
			__free_page(page);
			return ret;
		}
		ring->pages[i] = page;
	}
	return 0;
}

/**
 * vze_rings_give() - let go of the memory of all rings
 * @vdev: device whose hardware was shut off
 * @unused: the device acknowledged its reset; otherwise the pages are quarantined
 */
void vze_rings_give(struct vze_device *vdev, bool unused)
{
	LIST_HEAD(quarantine);
	u32 hw_id, i;

	for (hw_id = 0; hw_id < vdev->ident.num_queues; hw_id++) {
		for (i = 0; i < VZE_RING_PAGES; i++) {
			struct page *page = vdev->rings[hw_id].pages[i];

			if (!page)
				continue;
			if (unused)
				__free_page(page);
			else
				list_add_tail(&page->lru, &quarantine);
			vdev->rings[hw_id].pages[i] = NULL;
		}
	}
	vze_quarantine_tables(vdev, &quarantine);
}
