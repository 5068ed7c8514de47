/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_PAGES_H_
#define _VZE_PAGES_H_

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* A slot covers one naturally aligned group of this many page indices (2 MiB). */
#define VZE_SLOT_SHIFT	9
#define VZE_SLOT_PAGES	BIT(VZE_SLOT_SHIFT)

/**
 * struct vze_pages - frames of an object made of system memory, stored compactly
 *
 * Indices are page numbers; user memory counts them from virtual address 0, so that
 * a huge page of the process falls into exactly one slot. A slot is one entry of
 * @slots: the frame number of its first page when its pages are contiguous (about
 * 9 bytes for 2 MiB), else a pointer to one word of physical address per page. No
 * allocation is larger than a page.
 *
 * Filled by one thread before the object is published, constant afterwards.
 */
struct vze_pages {
	/** @slots: index >> VZE_SLOT_SHIFT to a value entry or an array of phys_addr_t */
	struct xarray slots;
	/** @first: index of the first page */
	unsigned long first;
	/** @end: index after the last page */
	unsigned long end;
	/** @filled: index after the last page that was added */
	unsigned long filled;
	/** @runs: physically contiguous pieces */
	u32 runs;
	/** @next: frame that would continue the last run */
	unsigned long next;
};

/**
 * struct vze_run - a piece of an object as the page tables see it
 *
 * Either @size bytes from @addr on, or, when @addrs is set, one page at each
 * of the addresses there.
 */
struct vze_run {
	/** @addr: physical address, or offset into VRAM */
	u64 addr;
	/** @addrs: @size / PAGE_SIZE physical addresses, or NULL */
	const phys_addr_t *addrs;
	/** @size: bytes, at least one page */
	u64 size;
	/** @bits: VZE_HW_PTE_VRAM, or 0 */
	u64 bits;
};

void vze_pages_init(struct vze_pages *pages, unsigned long first, unsigned long num);
int vze_pages_add(struct vze_pages *pages, struct page **list, unsigned long num);
int vze_pages_add_contiguous(struct vze_pages *pages, struct page *page, unsigned long num);
void vze_pages_run(const struct vze_pages *pages, u64 offset, u64 max, struct vze_run *run);
void vze_pages_visit(struct vze_pages *pages,
		     void (*contiguous)(struct page *page, unsigned long num, void *data),
		     void (*scattered)(const phys_addr_t *addrs, unsigned long num, void *data),
		     void *data);
void vze_pages_fini(struct vze_pages *pages);
unsigned long vze_pages_slot_left(const struct vze_pages *pages);
u64 vze_pages_estimate(unsigned long num);

#endif /* _VZE_PAGES_H_ */
