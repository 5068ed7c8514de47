// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in VRAM.
 */

#include <linux/gpu_buddy.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_vram.h"

/**
 * struct vze_vram_block - a piece of an object in VRAM
 */
struct vze_vram_block {
	/** @first: offset in the object */
	u64 first;
	/** @offset: offset in VRAM */
	u64 offset;
};

/**
 * struct vze_gem_vram - an object in VRAM
 */
struct vze_gem_vram {
	/** @base: object; first */
	struct vze_gem base;
	/** @list: the allocator's blocks */
	struct list_head list;
	/** @link: in vze_device.vram_objects */
	struct list_head link;
	/** @num: number of @blocks */
	u32 num;
	/** @blocks: sorted by @first; adjacent pieces are one */
	struct vze_vram_block *blocks;
	/** @single: @blocks of an object in one piece */
	struct vze_vram_block single;
};

static struct vze_gem_vram *to_vze_gem_vram(struct vze_gem *bo)
{
	return container_of(bo, struct vze_gem_vram, base);
}

static void vram_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	struct vze_gem_vram *vram = to_vze_gem_vram(bo);
	u32 low = 0, high = vram->num;
	u64 end;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (vram->blocks[mid].first <= offset)
			low = mid;
		else
			high = mid;
	}
	end = low + 1 < vram->num ? vram->blocks[low + 1].first : bo->base.size;
	run->addrs = NULL;
	run->addr = vram->blocks[low].offset + (offset - vram->blocks[low].first);
	run->size = min(end - offset, max);
	run->bits = VZE_HW_PTE_VRAM;
	if (bo->flags & VZE_GEM_COMPRESSIBLE)
		run->bits |= VZE_HW_PTE_COMPRESSIBLE;
}

static void vram_release(struct vze_gem *bo)
{
	struct vze_gem_vram *vram = to_vze_gem_vram(bo);
	struct vze_device *vdev = vze_gem_device(bo);

	if (!list_empty(&vram->link)) {
		spin_lock(&vdev->vram_objects_lock);
		list_del(&vram->link);
		spin_unlock(&vdev->vram_objects_lock);
	}
	if (vram->blocks != &vram->single)
		kvfree(vram->blocks);
	if (!list_empty(&vram->list))
		vze_vram_free(vdev, bo->base.size, &vram->list);
}

static const struct vze_gem_ops vram_ops = {
	.run = vram_run,
	.release = vram_release,
};

static const struct drm_gem_object_funcs vram_funcs = {
	.free = vze_gem_free,
	.close = vze_gem_close,
	.export = vze_gem_export,
	.vmap = vze_gem_vmap,
	.vunmap = vze_gem_vunmap,
	.mmap = vze_gem_mmap_object,
	.vm_ops = &vze_gem_vm_ops,
};

/* The buddy lists blocks; look-ups want an array. */
static int vram_index(struct vze_gem_vram *vram, u32 num)
{
	struct gpu_buddy_block *block;
	u64 first = 0, next = U64_MAX;

	if (num > 1) {
		vram->blocks = kvmalloc_array(num, sizeof(*vram->blocks), GFP_KERNEL_ACCOUNT);
		if (!vram->blocks) {
			vram->blocks = &vram->single;
			return -ENOMEM;
		}
	}
	list_for_each_entry(block, &vram->list, link) {
		u64 offset = gpu_buddy_block_offset(block);
		u64 size = SZ_4K << gpu_buddy_block_order(block);

		if (offset != next) {
			vram->blocks[vram->num].first = first;
			vram->blocks[vram->num].offset = offset;
			vram->num++;
		}
		first += size;
		next = offset + size;
	}
	return 0;
}

/**
 * vze_gem_vram_create() - allocate an object in VRAM
 * @vdev: device
 * @size: bytes, page aligned
 * @flags: VZE_GEM_COMPRESSIBLE or 0
 *
 * Return: the object, or -ENOSPC, -ENOMEM, -EIO, -ENODEV.
 */
struct vze_gem *vze_gem_vram_create(struct vze_device *vdev, u64 size, u32 flags)
{
	struct vze_gem_vram *vram;
	u32 num;
	int ret;

	vram = kzalloc(sizeof(*vram), GFP_KERNEL_ACCOUNT);
	if (!vram)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&vram->list);
	INIT_LIST_HEAD(&vram->link);
	vram->blocks = &vram->single;
	/* A hint, which a device without compression is not to be troubled with. */
	if (vdev->ident.features & VZE_HW_FEATURE_COMPRESSION)
		vram->base.flags = flags;
	vze_gem_init(vdev, &vram->base, size, DRM_VZE_PLACEMENT_VRAM, &vram_ops, &vram_funcs);

	ret = vze_vram_alloc(vdev, size, &vram->list, &num);
	if (!ret)
		ret = vram_index(vram, num);
	if (ret) {
		drm_gem_object_put(&vram->base.base);
		return ERR_PTR(ret);
	}
	vram->base.segments = vram->num;

	spin_lock(&vdev->vram_objects_lock);
	list_add_tail(&vram->link, &vdev->vram_objects);
	spin_unlock(&vdev->vram_objects_lock);
	return &vram->base;
}

/**
 * vze_gem_expose() - where the CPU finds a piece of an object
 * @bo: object
 * @offset: first byte, page aligned, inside
 * @max: most bytes wanted, page aligned, at least one page and inside
 * @run: result, at least one page; its addresses are physical ones, also for VRAM
 *
 * Bytes of VRAM leave the device through here and nowhere else, be it to a process, a kernel
 * mapping, a debugger or a dma-buf. Whoever wants them calls it again for each new mapping
 * and keeps no address beyond its use, so that this is the place to make sure
 * that they are what a reader outside the device expects. Mappings in address spaces of the
 * device need nothing of the kind.
 *
 * Return: 0, -ENODEV when it is VRAM of a device that was removed or is lost, -EIO, or -EINTR,
 * see vze_vram_expose(), which does not come for up to 2 MiB.
 */
int vze_gem_expose(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	struct vze_device *vdev = vze_gem_device(bo);
	int ret;

	/* Who wants a page mostly wants the next ones, too. */
	vze_gem_run(bo, offset, min(bo->base.size - offset, max(max, SZ_2M)), run);
	if (run->bits & VZE_HW_PTE_VRAM) {
		if (drm_dev_is_unplugged(&vdev->drm))
			return -ENODEV;
		ret = vze_vram_expose(vdev, run->addr, run->size);
		if (ret)
			return ret;
		run->addr += vdev->bar_phys + vdev->ident.vram_offset;
	}
	run->size = min(run->size, max);
	return 0;
}

/**
 * vze_gem_vram_show() - the map of VRAM, for debugfs
 * @m: file
 * @vdev: device
 */
void vze_gem_vram_show(struct seq_file *m, struct vze_device *vdev)
{
	struct vze_gem_vram *vram;
	u32 i;

	spin_lock(&vdev->vram_objects_lock);
	list_for_each_entry(vram, &vdev->vram_objects, link) {
		for (i = 0; i < vram->num; i++) {
			u64 end = i + 1 < vram->num ? vram->blocks[i + 1].first :
						      vram->base.base.size;

			seq_printf(m, "block 0x%010llx 0x%010llx of object of %zu bytes\n",
				   vram->blocks[i].offset, end - vram->blocks[i].first,
				   vram->base.base.size);
		}
	}
	spin_unlock(&vdev->vram_objects_lock);
}
