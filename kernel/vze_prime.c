// SPDX-License-Identifier: GPL-2.0
/*
 * dma-buf: objects of ours for others, and others' for us.
 *
 * Memory that is pinned from a process never leaves it, and what is read-only stays
 * so: neither is exported. VRAM can be exported for mmap and vmap, which work through the
 * BAR; another device cannot reach it, so attaching is refused. Two files of one
 * device that pass an object as a dma-buf share the object itself.
 */

#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_prime.h>

#include "vze_compat.h"
#include "vze_device.h"
#include "vze_gem.h"

VZE_IMPORT_NS(DMA_BUF);

/* ----------------------------------------------------------------- export -- */

/**
 * vze_gem_export() - &drm_gem_object_funcs.export of all kinds
 * @obj: object
 * @flags: as drm_gem_prime_export() takes them
 *
 * Return: the dma-buf, -EOPNOTSUPP (userptr), -EACCES (read-only).
 */
struct dma_buf *vze_gem_export(struct drm_gem_object *obj, int flags)
{
	struct vze_gem *bo = to_vze_gem(obj);

	if (bo->placement == DRM_VZE_PLACEMENT_USERPTR)
		return ERR_PTR(-EOPNOTSUPP);
	if (bo->flags & VZE_GEM_READONLY)
		return ERR_PTR(-EACCES);
	return drm_gem_prime_export(obj, flags);
}

/**
 * vze_gem_pin_pages() - &drm_gem_object_funcs.pin of what may contain VRAM
 * @obj: object
 *
 * Return: 0, or -EOPNOTSUPP when some of it is VRAM.
 */
int vze_gem_pin_pages(struct drm_gem_object *obj)
{
	struct vze_run run;
	u64 done;

	for (done = 0; done < obj->size; done += run.size) {
		vze_gem_run(to_vze_gem(obj), done, obj->size - done, &run);
		if (run.bits & VZE_HW_PTE_VRAM)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* All pages of an object, or -EOPNOTSUPP when some of it is VRAM. */
static struct page **object_pages(struct vze_gem *bo)
{
	unsigned long num = bo->base.size >> PAGE_SHIFT, at = 0, i;
	struct vze_run run;
	struct page **pages;

	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	while (at < num) {
		vze_gem_run(bo, (u64)at << PAGE_SHIFT, (u64)(num - at) << PAGE_SHIFT, &run);
		if (run.bits & VZE_HW_PTE_VRAM) {
			kvfree(pages);
			return ERR_PTR(-EOPNOTSUPP);
		}
		for (i = 0; i < run.size >> PAGE_SHIFT; i++) {
			phys_addr_t phys = run.addrs ? run.addrs[i] : run.addr + i * PAGE_SIZE;

			pages[at++] = pfn_to_page(PHYS_PFN(phys));
		}
	}
	return pages;
}

/**
 * vze_gem_get_sg_table() - &drm_gem_object_funcs.get_sg_table
 * @obj: object
 *
 * Return: its pages, or -EOPNOTSUPP when some of it is VRAM, or -ENOMEM.
 */
struct sg_table *vze_gem_get_sg_table(struct drm_gem_object *obj)
{
	struct page **pages = object_pages(to_vze_gem(obj));
	struct sg_table *sgt;

	if (IS_ERR(pages))
		return ERR_CAST(pages);
	sgt = drm_prime_pages_to_sg(obj->dev, pages, obj->size >> PAGE_SHIFT);
	kvfree(pages);
	return sgt;
}

static void *vmap_vram(struct vze_gem *bo)
{
	struct vze_device *vdev = vze_gem_device(bo);
	unsigned long num = bo->base.size >> PAGE_SHIFT, at = 0, i;
	struct vze_run run;
	unsigned long *pfns;
	void *vaddr;

	pfns = kvmalloc_array(num, sizeof(*pfns), GFP_KERNEL);
	if (!pfns)
		return NULL;
	while (at < num) {
		unsigned long pfn;

		vze_gem_run(bo, (u64)at << PAGE_SHIFT, (u64)(num - at) << PAGE_SHIFT, &run);
		pfn = PHYS_PFN(vdev->bar_phys + vdev->ident.vram_offset + run.addr);
		for (i = 0; i < run.size >> PAGE_SHIFT; i++)
			pfns[at++] = pfn + i;
	}
	/* Its own mapping of the BAR, which stays valid when the driver lets go of it. */
	vaddr = vmap_pfn(pfns, num, PAGE_KERNEL);
	kvfree(pfns);
	return vaddr;
}

/**
 * vze_gem_vmap() - &drm_gem_object_funcs.vmap
 * @obj: object
 * @map: result
 *
 * Return: 0, -EOPNOTSUPP (both VRAM and system memory) or -ENOMEM.
 */
int vze_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct vze_gem *bo = to_vze_gem(obj);
	struct page **pages;
	void *vaddr;

	if (bo->placement == DRM_VZE_PLACEMENT_VRAM) {
		vaddr = vmap_vram(bo);
	} else {
		pages = object_pages(bo);
		if (IS_ERR(pages))
			return PTR_ERR(pages);
		vaddr = vmap(pages, obj->size >> PAGE_SHIFT, VM_MAP, PAGE_KERNEL);
		kvfree(pages);
	}
	if (!vaddr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

/**
 * vze_gem_vunmap() - &drm_gem_object_funcs.vunmap
 * @obj: object
 * @map: from vze_gem_vmap()
 */
void vze_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	vunmap(map->vaddr);
	iosys_map_clear(map);
}

/* ----------------------------------------------------------------- import -- */

/**
 * struct vze_import_piece - a contiguous piece of an imported buffer
 */
struct vze_import_piece {
	/** @first: offset in the object */
	u64 first;
	/** @addr: physical address */
	u64 addr;
};

/**
 * struct vze_gem_imported - another driver's buffer
 */
struct vze_gem_imported {
	/** @base: object; first */
	struct vze_gem base;
	/** @sgt: the mapping for our device; its DMA addresses are physical ones */
	struct sg_table *sgt;
	/** @num: number of @pieces */
	u32 num;
	/** @pieces: sorted by @first */
	struct vze_import_piece *pieces;
};

static struct vze_gem_imported *to_vze_gem_imported(struct vze_gem *bo)
{
	return container_of(bo, struct vze_gem_imported, base);
}

static void imported_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	struct vze_gem_imported *imported = to_vze_gem_imported(bo);
	u32 low = 0, high = imported->num;
	u64 end;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (imported->pieces[mid].first <= offset)
			low = mid;
		else
			high = mid;
	}
	end = low + 1 < imported->num ? imported->pieces[low + 1].first : bo->base.size;
	run->addrs = NULL;
	run->addr = imported->pieces[low].addr + (offset - imported->pieces[low].first);
	run->size = min(end - offset, max);
	run->bits = 0;
}

static void imported_release(struct vze_gem *bo)
{
	struct vze_gem_imported *imported = to_vze_gem_imported(bo);

	kvfree(imported->pieces);
	/* Without @sgt the import failed, and the DRM core cleans up. */
	if (imported->sgt)
		drm_prime_gem_destroy(&bo->base, imported->sgt);
}

static const struct vze_gem_ops imported_ops = {
	.run = imported_run,
	.release = imported_release,
};

static int imported_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* The VMA becomes the exporter's; it holds the dma-buf by its file. */
	vma->vm_private_data = NULL;
	ret = dma_buf_mmap(obj->dma_buf, vma, vma->vm_pgoff - drm_vma_node_start(&obj->vma_node));
	if (ret)
		return ret;
	vm_flags_set(vma, VM_DONTEXPAND);
	drm_gem_object_put(obj);
	return 0;
}

static const struct drm_gem_object_funcs imported_funcs = {
	.free = vze_gem_free,
	.close = vze_gem_close,
	.mmap = imported_mmap,
};

static int imported_index(struct vze_gem_imported *imported, struct sg_table *sgt, u64 size)
{
	struct scatterlist *sg;
	u64 first = 0, next = U64_MAX;
	unsigned int i;

	imported->pieces = kvmalloc_array(sgt->nents, sizeof(*imported->pieces),
					  GFP_KERNEL_ACCOUNT);
	if (!imported->pieces)
		return -ENOMEM;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 addr = sg_dma_address(sg), len = sg_dma_len(sg);

		if (!PAGE_ALIGNED(addr | len))
			return -EINVAL;
		if (addr != next) {
			imported->pieces[imported->num].first = first;
			imported->pieces[imported->num].addr = addr;
			imported->num++;
		}
		first += len;
		next = addr + len;
	}
	return first >= size && imported->num ? 0 : -EINVAL;
}

/**
 * vze_prime_import_sg_table() - &drm_driver.gem_prime_import_sg_table
 * @drm: device
 * @attach: attachment
 * @sgt: its pages, pinned by the exporter
 *
 * Return: an object of placement IMPORTED, -EINVAL (not made of pages) or -ENOMEM.
 */
struct drm_gem_object *vze_prime_import_sg_table(struct drm_device *drm,
						 struct dma_buf_attachment *attach,
						 struct sg_table *sgt)
{
	u64 size = attach->dmabuf->size;
	struct vze_gem_imported *imported;
	int ret;

	if (!size || !PAGE_ALIGNED(size))
		return ERR_PTR(-EINVAL);
	imported = kzalloc(sizeof(*imported), GFP_KERNEL_ACCOUNT);
	if (!imported)
		return ERR_PTR(-ENOMEM);
	imported->base.base.resv = attach->dmabuf->resv;
	vze_gem_init(to_vze(drm), &imported->base, size, DRM_VZE_PLACEMENT_IMPORTED,
		     &imported_ops, &imported_funcs);
	ret = imported_index(imported, sgt, size);
	if (ret) {
		drm_gem_object_put(&imported->base.base);
		return ERR_PTR(ret);
	}
	imported->sgt = sgt;
	imported->base.segments = imported->num;
	return &imported->base.base;
}
