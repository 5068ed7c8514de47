// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs of other drivers, and of other vze devices, as objects.
 *
 * The buffer is attached statically: the exporter keeps it where it is for as long as the
 * object lives, and one that moves its buffers pins it. The device could not follow a
 * move: its copies do not restart after a fault, and a parked job may refer to the memory
 * for hours. So there is no notification to handle.
 *
 * The device reaches the machine's RAM and nothing else, hence it takes part in no
 * peer-to-peer traffic, and a buffer elsewhere is refused. The page tables get the
 * DMA addresses; that these are physical ones is made sure at probe. The struct pages of the
 * exporter are none of our business.
 *
 * A dma-buf of this device leads back to the object that it was made of, and one of another
 * driver to the import that is there already, whichever file asked for it: a buffer is
 * attached and mapped once for a device. A second mapping of the same pages would be one
 * more thing to keep for the exporter, and the DMA API takes it for a fault.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_prime.h"

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
	/** @buf: the buffer, once in the tree; the attachment of @base holds it */
	struct dma_buf *buf;
	/** @node: in vze_imports.tree, from the end of the import to that of the mapping */
	struct rb_node node;
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

/* ------------------------------------------------------------------- table -- */

/**
 * vze_prime_imports_init() - a device without imports
 * @imports: of the device
 */
void vze_prime_imports_init(struct vze_imports *imports)
{
	spin_lock_init(&imports->lock);
	imports->tree = RB_ROOT;
	init_waitqueue_head(&imports->released);
}

static int imported_compare(const void *key, const struct rb_node *node)
{
	const struct dma_buf *buf = rb_entry(node, struct vze_gem_imported, node)->buf;

	if ((const struct dma_buf *)key == buf)
		return 0;
	return (const struct dma_buf *)key < buf ? -1 : 1;
}

static bool imported_less(struct rb_node *node, const struct rb_node *other)
{
	return imported_compare(rb_entry(node, struct vze_gem_imported, node)->buf, other) < 0;
}

/* Finds the import of a buffer; *@out is it, unless its last reference is gone already. */
static bool imports_find(struct vze_imports *imports, struct dma_buf *buf,
			 struct vze_gem_imported **out)
{
	struct rb_node *node;

	*out = NULL;
	spin_lock(&imports->lock);
	node = rb_find(buf, &imports->tree, imported_compare);
	if (node) {
		struct vze_gem_imported *imported = rb_entry(node, struct vze_gem_imported, node);

		if (kref_get_unless_zero(&imported->base.base.refcount))
			*out = imported;
	}
	spin_unlock(&imports->lock);
	return node;
}

/*
 * The import that there is of a buffer, with a reference, or NULL. Under the lock of
 * the device's names nobody else adds one. One that is being released unmaps the buffer
 * first: that takes none of the locks that an import has.
 */
static struct vze_gem_imported *imports_get(struct vze_imports *imports, struct dma_buf *buf)
{
	struct vze_gem_imported *imported;

	wait_event(imports->released, !imports_find(imports, buf, &imported) || imported);
	return imported;
}

static void imports_add(struct vze_imports *imports, struct vze_gem_imported *imported)
{
	imported->buf = imported->base.base.import_attach->dmabuf;
	spin_lock(&imports->lock);
	rb_add(&imported->node, &imports->tree, imported_less);
	spin_unlock(&imports->lock);
}

static void imports_remove(struct vze_imports *imports, struct vze_gem_imported *imported)
{
	spin_lock(&imports->lock);
	rb_erase(&imported->node, &imports->tree);
	spin_unlock(&imports->lock);
	wake_up_all(&imports->released);
}

/* ------------------------------------------------------------------ object -- */

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
	if (imported->buf)
		imports_remove(&vze_gem_device(bo)->imports, imported);
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
	ret = dma_buf_mmap(obj->import_attach->dmabuf, vma,
			   vma->vm_pgoff - drm_vma_node_start(&obj->vma_node));
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

/* ------------------------------------------------------------------ import -- */

static bool is_ram(u64 addr, u64 size)
{
	return region_intersects(addr, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) ==
	       REGION_INTERSECTS;
}

static int imported_index(struct vze_gem_imported *imported, struct sg_table *sgt, u64 size)
{
	struct vze_import_piece *piece = NULL;
	struct scatterlist *sg;
	u64 first = 0, next = 0;
	unsigned int i;

	imported->pieces = kvmalloc_array(sgt->nents, sizeof(*imported->pieces),
					  GFP_KERNEL_ACCOUNT);
	if (!imported->pieces)
		return -ENOMEM;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 addr = sg_dma_address(sg), len = sg_dma_len(sg);

		if (!PAGE_ALIGNED(addr | len))
			return -EINVAL;
		if (!is_ram(addr, len))
			return -EOPNOTSUPP;
		if (!piece || addr != next) {
			piece = &imported->pieces[imported->num++];
			piece->first = first;
			piece->addr = addr;
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
 * @sgt: the buffer, kept in place by the exporter
 *
 * Return: an object of placement IMPORTED, -EINVAL (not made of whole pages), -EOPNOTSUPP
 * (not in RAM) or -ENOMEM.
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

/**
 * vze_prime_import() - &drm_driver.gem_prime_import
 * @drm: device
 * @buf: dma-buf
 *
 * Called with drm_device.object_name_lock held.
 *
 * Return: an object with a reference; or the error of the exporter's attach or map, or
 * one of vze_prime_import_sg_table().
 */
struct drm_gem_object *vze_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct vze_imports *imports = &to_vze(drm)->imports;
	struct vze_gem_imported *imported;
	struct drm_gem_object *obj;

	lockdep_assert_held(&drm->object_name_lock);

	if (vze_prime_is_ours(buf)) {
		obj = buf->priv;
		if (obj->dev == drm) {
			drm_gem_object_get(obj);
			return obj;
		}
	}
	imported = imports_get(imports, buf);
	if (imported)
		return &imported->base.base;
	obj = drm_gem_prime_import(drm, buf);
	if (!IS_ERR(obj))
		imports_add(imports, to_vze_gem_imported(to_vze_gem(obj)));
	return obj;
}

/**
 * vze_prime_origin() - the object of a vze device that this one is
 * @bo: object
 *
 * Return: @bo, or what it is an import of; NULL for an import of another driver's.
 */
struct vze_gem *vze_prime_origin(struct vze_gem *bo)
{
	struct dma_buf *buf;

	if (bo->placement != DRM_VZE_PLACEMENT_IMPORTED)
		return bo;
	buf = bo->base.import_attach->dmabuf;
	return vze_prime_is_ours(buf) ? to_vze_gem(buf->priv) : NULL;
}
