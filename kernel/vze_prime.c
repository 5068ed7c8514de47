// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs of our objects.
 *
 * What is exported: objects in system memory and in VRAM, and opened shares, unless they
 * are read-only. Whoever attaches to a dma-buf may write to it, whatever the mode of the
 * descriptor is (that one limits mmap only), so a read-only object has none. Memory that is
 * pinned from a process never leaves it.
 *
 * What an importer gets: system memory is attached and mapped for any device that
 * reaches the pages themselves and sees what the CPU sees. One that would be given a
 * bounce buffer, or that needs caches to be cleaned, is refused when it maps: our device
 * and the CPU work on the pages at any time, so there is no moment for a copy. That is
 * also why begin and end of CPU access have no caches to care for. VRAM is refused at
 * the attach. It has no struct pages, and peers cannot reach it: the memory behind the BAR
 * belongs to the process of one virtual GPU, and another device of that kind reaches
 * the guest's RAM only. mmap and vmap work on VRAM as well, through the BAR.
 *
 * Objects never move while they live: no importer ever has to be told so.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_prime.h>

#include "vze_compat.h"
#include "vze_device.h"
#include "vze_gem.h"
#include "vze_prime.h"

VZE_IMPORT_NS(DMA_BUF);

/* Longest entry of a scatter list whose device has no limit: page aligned in 32 bits. */
#define SG_MAX_BYTES	SZ_1G

/* ------------------------------------------------------------------ pages -- */

static bool object_has_vram(struct vze_gem *bo)
{
	struct vze_run run;
	u64 done;

	for (done = 0; done < bo->base.size; done += run.size) {
		vze_gem_run(bo, done, bo->base.size - done, &run);
		if (run.bits & VZE_HW_PTE_VRAM)
			return true;
	}
	return false;
}

/*
 * Goes through system memory in contiguous pieces of at most @max bytes, and puts them
 * into @sg unless that is NULL. Returns their number.
 */
static unsigned int object_pieces(struct vze_gem *bo, u64 max, struct scatterlist *sg)
{
	unsigned int num = 0;
	struct vze_run run;
	u64 done;

	for (done = 0; done < bo->base.size; done += run.size) {
		u64 at = 0, size, addr;

		vze_gem_run(bo, done, bo->base.size - done, &run);
		for (; at < run.size; at += size) {
			if (run.addrs) {
				const phys_addr_t *addrs = &run.addrs[at >> PAGE_SHIFT];
				u64 left = min(run.size - at, max);

				addr = addrs[0];
				for (size = PAGE_SIZE; size < left &&
				     addrs[size >> PAGE_SHIFT] == addr + size; size += PAGE_SIZE)
					;
			} else {
				addr = run.addr + at;
				size = min(run.size - at, max);
			}
			if (sg) {
				sg_set_page(sg, pfn_to_page(PHYS_PFN(addr)), size, 0);
				sg = sg_next(sg);
			}
			num++;
		}
	}
	return num;
}

/* ------------------------------------------------------- dma-buf functions -- */

static int export_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	struct vze_gem *bo = to_vze_gem(buf->priv);

	if (vze_gem_is_revoked(bo))
		return -EACCES;
	return object_has_vram(bo) ? -EOPNOTSUPP : 0;
}

static struct sg_table *export_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct vze_gem *bo = to_vze_gem(attach->dmabuf->priv);
	u64 max = min_t(u64, dma_get_max_seg_size(attach->dev), SG_MAX_BYTES) & PAGE_MASK;
	struct scatterlist *sg;
	struct sg_table *sgt;
	unsigned int i;
	int ret;

	if (vze_gem_is_revoked(bo))
		return ERR_PTR(-EACCES);
	max = max ?: PAGE_SIZE;
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, object_pieces(bo, max, NULL), GFP_KERNEL);
	if (ret)
		goto err_free;
	object_pieces(bo, max, sgt->sgl);

	ret = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto err_table;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (dma_need_sync(attach->dev, sg_dma_address(sg))) {
			ret = -EOPNOTSUPP;
			goto err_unmap;
		}
	}
	return sgt;

err_unmap:
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
err_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

/*
 * Waits for what is still writing (and before a CPU write, for what is reading), then makes
 * sure that the CPU finds the bytes.
 */
static int export_begin_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct vze_gem *bo = to_vze_gem(buf->priv);
	bool write = dir == DMA_BIDIRECTIONAL || dir == DMA_TO_DEVICE;
	struct vze_run run;
	u64 done;
	long ret;

	ret = dma_resv_wait_timeout(buf->resv, dma_resv_usage_rw(write), true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;
	for (done = 0; done < bo->base.size; done += run.size) {
		ret = vze_gem_expose(bo, done, bo->base.size - done, &run);
		if (ret)
			return ret;
	}
	return 0;
}

static const struct dma_buf_ops export_ops = {
	.attach = export_attach,
	.map_dma_buf = export_map,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = export_begin_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/**
 * vze_prime_is_ours() - is it a dma-buf of a vze object?
 * @buf: dma-buf; if so, its priv is the GEM object
 */
bool vze_prime_is_ours(const struct dma_buf *buf)
{
	return buf->ops == &export_ops;
}

/**
 * vze_gem_export() - &drm_gem_object_funcs.export of all kinds
 * @obj: object
 * @flags: DRM_CLOEXEC, DRM_RDWR
 *
 * Return: the dma-buf, -EOPNOTSUPP (userptr), -EACCES (read-only), -ENOMEM.
 */
struct dma_buf *vze_gem_export(struct drm_gem_object *obj, int flags)
{
	struct vze_gem *bo = to_vze_gem(obj);
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &export_ops,
		.size = obj->size,
		.flags = flags,
		.resv = obj->resv,
		.priv = obj,
	};
	struct dma_buf *buf;

	if (bo->placement == DRM_VZE_PLACEMENT_USERPTR)
		return ERR_PTR(-EOPNOTSUPP);
	if (bo->flags & VZE_GEM_READONLY)
		return ERR_PTR(-EACCES);
	buf = drm_gem_dmabuf_export(obj->dev, &info);
	if (!IS_ERR(buf))
		vze_prime_shared(bo);
	return buf;
}

/* ------------------------------------------------------------------- vmap -- */

static void *vmap_system(struct vze_gem *bo)
{
	unsigned long num = bo->base.size >> PAGE_SHIFT, at = 0, i;
	struct vze_run run;
	struct page **pages;
	void *vaddr;

	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	while (at < num) {
		vze_gem_run(bo, (u64)at << PAGE_SHIFT, (u64)(num - at) << PAGE_SHIFT, &run);
		for (i = 0; i < run.size >> PAGE_SHIFT; i++) {
			phys_addr_t phys = run.addrs ? run.addrs[i] : run.addr + i * PAGE_SIZE;

			pages[at++] = pfn_to_page(PHYS_PFN(phys));
		}
	}
	vaddr = vmap(pages, num, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return vaddr ?: ERR_PTR(-ENOMEM);
}

/* A mapping of the BAR of its own, which stays valid when the driver lets go of it. */
static void *vmap_vram(struct vze_gem *bo)
{
	unsigned long num = bo->base.size >> PAGE_SHIFT, at = 0, i;
	struct vze_run run;
	unsigned long *pfns;
	void *vaddr;
	int ret;

	pfns = kvmalloc_array(num, sizeof(*pfns), GFP_KERNEL);
	if (!pfns)
		return ERR_PTR(-ENOMEM);
	while (at < num) {
		ret = vze_gem_expose(bo, (u64)at << PAGE_SHIFT, (u64)(num - at) << PAGE_SHIFT,
				     &run);
		if (ret) {
			kvfree(pfns);
			return ERR_PTR(ret);
		}
		for (i = 0; i < run.size >> PAGE_SHIFT; i++)
			pfns[at++] = PHYS_PFN(run.addr) + i;
	}
	vaddr = vmap_pfn(pfns, num, PAGE_KERNEL);
	kvfree(pfns);
	return vaddr ?: ERR_PTR(-ENOMEM);
}

/**
 * vze_gem_vmap() - &drm_gem_object_funcs.vmap
 * @obj: object
 * @map: result
 *
 * Return: 0, -EOPNOTSUPP (an opened share with VRAM in it), -ENODEV or -ENOMEM.
 */
int vze_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct vze_gem *bo = to_vze_gem(obj);
	void *vaddr;

	if (bo->placement == DRM_VZE_PLACEMENT_VRAM)
		vaddr = vmap_vram(bo);
	else if (object_has_vram(bo))
		vaddr = ERR_PTR(-EOPNOTSUPP);
	else
		vaddr = vmap_system(bo);
	if (IS_ERR(vaddr))
		return PTR_ERR(vaddr);
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
