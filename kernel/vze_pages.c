// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of objects made of system memory.
 *
 * Pinned user memory needs one frame number per page for as long as it is mapped.
 * Kept as plain words they cost as much as the page table entries; kept per 2 MiB slot
 * and only where the frames are not contiguous, huge pages cost next to nothing and
 * any offset is found in a constant number of steps.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "vze_pages.h"

/**
 * vze_pages_init() - start an empty list of frames
 * @pages: list
 * @first: index of the first page
 * @num: number of pages
 */
void vze_pages_init(struct vze_pages *pages, unsigned long first, unsigned long num)
{
	xa_init_flags(&pages->slots, XA_FLAGS_ACCOUNT);
	pages->first = first;
	pages->end = first + num;
	pages->filled = first;
	pages->runs = 0;
	pages->next = 0;
}

/* First index of the slot that @index lies in, as far as the list covers it. */
static unsigned long slot_first(const struct vze_pages *pages, unsigned long index)
{
	return max(round_down(index, VZE_SLOT_PAGES), pages->first);
}

static unsigned long slot_end(const struct vze_pages *pages, unsigned long index)
{
	return min(round_down(index, VZE_SLOT_PAGES) + VZE_SLOT_PAGES, pages->end);
}

/**
 * vze_pages_slot_left() - pages that complete the slot being filled
 * @pages: list that is not yet full
 */
unsigned long vze_pages_slot_left(const struct vze_pages *pages)
{
	return slot_end(pages, pages->filled) - pages->filled;
}

/**
 * vze_pages_add_contiguous() - add the whole next slot, contiguous frames
 * @pages: list
 * @page: first page
 * @num: vze_pages_slot_left()
 *
 * Return: 0 or -ENOMEM.
 */
int vze_pages_add_contiguous(struct vze_pages *pages, struct page *page, unsigned long num)
{
	unsigned long pfn = page_to_pfn(page);
	int ret;

	ret = xa_err(xa_store(&pages->slots, pages->filled >> VZE_SLOT_SHIFT, xa_mk_value(pfn),
			      GFP_KERNEL_ACCOUNT));
	if (ret)
		return ret;
	pages->runs += pfn != pages->next;
	pages->next = pfn + num;
	pages->filled += num;
	return 0;
}

/**
 * vze_pages_add() - add the whole next slot
 * @pages: list
 * @list: its pages, in order
 * @num: vze_pages_slot_left()
 *
 * Return: 0 or -ENOMEM.
 */
int vze_pages_add(struct vze_pages *pages, struct page **list, unsigned long num)
{
	unsigned long pfn = page_to_pfn(list[0]);
	unsigned long next = pages->next;
	u32 runs = pages->runs;
	phys_addr_t *addrs;
	unsigned long i;
	int ret;

	/* The last page nearly always tells. If it fits, pointers say the same as frames. */
	i = 1;
	if (page_to_pfn(list[num - 1]) == pfn + num - 1) {
		while (i < num && list[i] == list[0] + i)
			i++;
	}
	if (i == num)
		return vze_pages_add_contiguous(pages, list[0], num);

	addrs = kmalloc_array(num, sizeof(*addrs), GFP_KERNEL_ACCOUNT);
	if (!addrs)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		pfn = page_to_pfn(list[i]);
		runs += pfn != next;
		next = pfn + 1;
		addrs[i] = PFN_PHYS(pfn);
	}
	ret = xa_err(xa_store(&pages->slots, pages->filled >> VZE_SLOT_SHIFT, addrs,
			      GFP_KERNEL_ACCOUNT));
	if (ret) {
		kfree(addrs);
		return ret;
	}
	pages->runs = runs;
	pages->next = next;
	pages->filled += num;
	return 0;
}

/**
 * vze_pages_run() - the piece of memory at an offset
 * @pages: full list
 * @offset: bytes from the first page, page aligned
 * @max: most bytes wanted
 * @run: result; contiguous pieces reach over slots as far as they go
 */
void vze_pages_run(const struct vze_pages *pages, u64 offset, u64 max, struct vze_run *run)
{
	unsigned long index = pages->first + (offset >> PAGE_SHIFT);
	unsigned long last = index + (max >> PAGE_SHIFT);
	unsigned long end = min(slot_end(pages, index), last);
	void *entry = xa_load((struct xarray *)&pages->slots, index >> VZE_SLOT_SHIFT);
	unsigned long pfn;

	run->bits = 0;
	if (!xa_is_value(entry)) {
		run->addrs = (const phys_addr_t *)entry + (index - slot_first(pages, index));
		run->addr = run->addrs[0];
		run->size = (u64)(end - index) << PAGE_SHIFT;
		return;
	}

	pfn = xa_to_value(entry) + (index - slot_first(pages, index));
	run->addrs = NULL;
	run->addr = PFN_PHYS(pfn);
	while (end < last) {
		entry = xa_load((struct xarray *)&pages->slots, end >> VZE_SLOT_SHIFT);
		if (!xa_is_value(entry) || xa_to_value(entry) != pfn + (end - index))
			break;
		end = min(slot_end(pages, end), last);
	}
	run->size = (u64)(end - index) << PAGE_SHIFT;
}

/**
 * vze_pages_visit() - look at all frames, slot by slot
 * @pages: list, full or not; it may be read at the same time
 * @contiguous: called for a slot of contiguous frames
 * @scattered: called for another slot
 * @data: handed on
 */
void vze_pages_visit(struct vze_pages *pages,
		     void (*contiguous)(struct page *page, unsigned long num, void *data),
		     void (*scattered)(const phys_addr_t *addrs, unsigned long num, void *data),
		     void *data)
{
	unsigned long slot, first, num;
	void *entry;

	xa_for_each(&pages->slots, slot, entry) {
		first = max(slot << VZE_SLOT_SHIFT, pages->first);
		num = slot_end(pages, first) - first;
		if (xa_is_value(entry))
			contiguous(pfn_to_page(xa_to_value(entry)), num, data);
		else
			scattered(entry, num, data);
		cond_resched();
	}
}

/**
 * vze_pages_fini() - free the list, not the frames
 * @pages: list, full or not
 */
void vze_pages_fini(struct vze_pages *pages)
{
	unsigned long slot;
	void *entry;

	xa_for_each(&pages->slots, slot, entry) {
		if (!xa_is_value(entry))
			kfree(entry);
		cond_resched();
	}
	xa_destroy(&pages->slots);
	pages->filled = pages->first;
}

/**
 * vze_pages_estimate() - most kernel memory that a list and its mapping can take
 * @num: pages
 *
 * Every page scattered: a word here and a page table entry, and the upper levels of
 * both.
 *
 * Return: bytes.
 */
u64 vze_pages_estimate(unsigned long num)
{
	u64 slots = (num >> VZE_SLOT_SHIFT) + 2;

	return slots * 2 * PAGE_SIZE + slots * 2 * sizeof(void *) + 4 * PAGE_SIZE;
}
