// SPDX-License-Identifier: GPL-2.0
/*
 * VRAM: what of it belongs to whom.
 *
 * The buddy allocator of the DRM core works on offsets into VRAM; blocks are aligned
 * to their size, so that large allocations get large leaves by themselves.
 */

#include <linux/gpu_buddy.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_vram.h"

/**
 * struct vze_vram - the VRAM of one device
 */
struct vze_vram {
	/** @lock: protects all of it */
	struct mutex lock;
	/** @mm: free and used blocks */
	struct gpu_buddy mm;
};

static void vram_fini(struct drm_device *drm, void *data)
{
	struct vze_vram *vram = data;

	gpu_buddy_fini(&vram->mm);
	mutex_destroy(&vram->lock);
}

/**
 * vze_vram_init() - take charge of the VRAM at probe
 * @vdev: device whose identity was checked
 *
 * Return: 0 or -ENOMEM.
 */
int vze_vram_init(struct vze_device *vdev)
{
	struct vze_vram *vram;
	int ret;

	vram = drmm_kzalloc(&vdev->drm, sizeof(*vram), GFP_KERNEL);
	if (!vram)
		return -ENOMEM;
	ret = gpu_buddy_init(&vram->mm, vdev->ident.vram_size, SZ_4K);
	if (ret)
		return ret;
	mutex_init(&vram->lock);
	vdev->vram = vram;
	return drmm_add_action_or_reset(&vdev->drm, vram_fini, vram);
}

/* The memory is that of the device process; it is gone for good with the BAR. */
static int vram_clear(struct vze_device *vdev, struct list_head *blocks)
{
	struct vze_vram *vram = vdev->vram;
	struct gpu_buddy_block *block;
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	list_for_each_entry(block, blocks, link) {
		char *to = (char *)vdev->bar + vdev->ident.vram_offset +
			   gpu_buddy_block_offset(block);
		u64 left = gpu_buddy_block_size(&vram->mm, block);

		while (left) {
			u64 step = min_t(u64, left, SZ_2M);

			memset(to, 0, step);
			to += step;
			left -= step;
			cond_resched();
		}
	}
	drm_dev_exit(idx);
	return 0;
}

/**
 * vze_vram_alloc() - allocate VRAM, filled with zeros
 * @vdev: device
 * @size: bytes, page aligned
 * @blocks: empty list; gets the blocks in order of their place in the object
 * @num: number of blocks
 *
 * Return: 0, -ENOSPC (full), -ENOMEM or -ENODEV.
 */
int vze_vram_alloc(struct vze_device *vdev, u64 size, struct list_head *blocks, u32 *num)
{
	struct vze_vram *vram = vdev->vram;
	int ret;

	if (size > vdev->ident.vram_size)
		return -ENOSPC;
	mutex_lock(&vram->lock);
	ret = gpu_buddy_alloc_blocks(&vram->mm, 0, vdev->ident.vram_size, size, SZ_4K, blocks, 0);
	mutex_unlock(&vram->lock);
	if (ret)
		return ret;

	atomic64_add(size, &vdev->counts.vram_used);
	ret = vram_clear(vdev, blocks);
	if (ret) {
		vze_vram_free(vdev, size, blocks);
		return ret;
	}
	*num = list_count_nodes(blocks);
	return 0;
}

/**
 * vze_vram_free() - give VRAM back
 * @vdev: device
 * @size: as allocated
 * @blocks: as allocated
 *
 * No mapping of it may be left in the device or in a process.
 */
void vze_vram_free(struct vze_device *vdev, u64 size, struct list_head *blocks)
{
	struct vze_vram *vram = vdev->vram;

	mutex_lock(&vram->lock);
	gpu_buddy_free_list(&vram->mm, blocks, 0);
	mutex_unlock(&vram->lock);
	atomic64_sub(size, &vdev->counts.vram_used);
}

/* Power of two that can be had in one block at the moment. */
static u64 vram_largest(struct vze_vram *vram)
{
	u64 size = vram->mm.avail ? rounddown_pow_of_two(vram->mm.avail) : 0;
	LIST_HEAD(blocks);

	lockdep_assert_held(&vram->lock);
	for (; size >= SZ_4K; size >>= 1) {
		if (!gpu_buddy_alloc_blocks(&vram->mm, 0, vram->mm.size, size, size, &blocks, 0)) {
			gpu_buddy_free_list(&vram->mm, &blocks, 0);
			return size;
		}
	}
	return 0;
}

/**
 * vze_vram_usage() - figures of the moment
 * @vdev: device
 * @size: bytes of VRAM
 * @free: bytes free
 * @largest: largest free block
 */
void vze_vram_usage(struct vze_device *vdev, u64 *size, u64 *free, u64 *largest)
{
	struct vze_vram *vram = vdev->vram;

	mutex_lock(&vram->lock);
	*size = vram->mm.size;
	*free = vram->mm.avail;
	*largest = vram_largest(vram);
	mutex_unlock(&vram->lock);
}

/**
 * vze_vram_show() - debugfs vze_vram
 * @m: file
 * @unused: not used
 */
int vze_vram_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	u64 size, free, largest;

	vze_vram_usage(vdev, &size, &free, &largest);
	seq_printf(m, "size %llu\nfree %llu\nlargest %llu\n", size, free, largest);
	vze_gem_vram_show(m, vdev);
	return 0;
}
