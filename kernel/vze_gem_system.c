// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in system memory.
 *
 * Ordinary pages, so that everything the kernel can do with a process's memory
 * (process_vm_readv, O_DIRECT, ptrace) works on their CPU mappings; huge ones where the
 * machine has them, so that the device gets large leaves.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "vze_device.h"
#include "vze_gem.h"

/**
 * struct vze_gem_system - an object in system memory
 */
struct vze_gem_system {
	/** @base: object; first */
	struct vze_gem base;
	/** @pages: its pages, counted from 0 */
	struct vze_pages pages;
};

static struct vze_gem_system *to_vze_gem_system(struct vze_gem *bo)
{
	return container_of(bo, struct vze_gem_system, base);
}

static void system_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	vze_pages_run(&to_vze_gem_system(bo)->pages, offset, max, run);
}

/* An allocation of several pages never crosses a slot and is freed by its head. */
static void put_contiguous(struct page *page, unsigned long num, void *unused)
{
	unsigned long i = 0;

	while (i < num) {
		struct folio *folio = page_folio(page + i);

		i += folio_nr_pages(folio);
		folio_put(folio);
	}
}

static void put_scattered(const phys_addr_t *addrs, unsigned long num, void *unused)
{
	unsigned long i = 0;

	while (i < num) {
		struct folio *folio = page_folio(pfn_to_page(PHYS_PFN(addrs[i])));

		i += folio_nr_pages(folio);
		folio_put(folio);
	}
}

static void system_release(struct vze_gem *bo)
{
	struct vze_pages *pages = &to_vze_gem_system(bo)->pages;

	vze_pages_visit(pages, put_contiguous, put_scattered, NULL);
	vze_pages_fini(pages);
}

static const struct vze_gem_ops system_ops = {
	.run = system_run,
	.release = system_release,
};

static const struct drm_gem_object_funcs system_funcs = {
	.free = vze_gem_free,
	.close = vze_gem_close,
	.export = vze_gem_export,
	.vmap = vze_gem_vmap,
	.vunmap = vze_gem_vunmap,
	.mmap = vze_gem_mmap_object,
	.vm_ops = &vze_gem_vm_ops,
};

/* Orders worth a try, largest first; a failure of the last is out of memory. */
static const unsigned int orders[] = { VZE_SLOT_SHIFT, 4, 0 };

/* Fills one slot; @list has room for it. */
static int slot_alloc(struct vze_pages *pages, struct page **list, unsigned long num)
{
	unsigned long have = 0, i;
	unsigned int try = 0;

	while (have < num) {
		unsigned int order = orders[try];
		gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
		struct page *page;

		if (num - have < 1UL << order) {
			try++;
			continue;
		}
		if (order)
			gfp |= __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN;
		page = alloc_pages(gfp, order);
		if (!page) {
			if (++try < ARRAY_SIZE(orders))
				continue;
			break;
		}
		for (i = 0; i < 1UL << order; i++)
			list[have++] = page + i;
	}
	if (have == num && !vze_pages_add(pages, list, num))
		return 0;

	for (i = 0; i < have;) {
		struct folio *folio = page_folio(list[i]);

		i += folio_nr_pages(folio);
		folio_put(folio);
	}
	return -ENOMEM;
}

static int pages_alloc(struct vze_pages *pages)
{
	struct page **list = (struct page **)__get_free_page(GFP_KERNEL);
	int ret = 0;

	if (!list)
		return -ENOMEM;
	while (!ret && pages->filled < pages->end) {
		ret = slot_alloc(pages, list, vze_pages_slot_left(pages));
		if (fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	free_page((unsigned long)list);
	return ret;
}

/**
 * vze_gem_system_create() - allocate an object in system memory
 * @vdev: device
 * @size: bytes, page aligned
 *
 * Return: the object, or -ENOMEM, or -EINTR after a fatal signal.
 */
struct vze_gem *vze_gem_system_create(struct vze_device *vdev, u64 size)
{
	struct vze_gem_system *system;
	int ret;

	/* Without this a mistyped size would first drive everybody else out of memory. */
	if (size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);
	system = kzalloc(sizeof(*system), GFP_KERNEL_ACCOUNT);
	if (!system)
		return ERR_PTR(-ENOMEM);
	vze_pages_init(&system->pages, 0, size >> PAGE_SHIFT);
	vze_gem_init(vdev, &system->base, size, DRM_VZE_PLACEMENT_SYSTEM, &system_ops,
		     &system_funcs);
	ret = pages_alloc(&system->pages);
	if (ret) {
		drm_gem_object_put(&system->base.base);
		return ERR_PTR(ret);
	}
	system->base.segments = system->pages.runs;
	return &system->base;
}
