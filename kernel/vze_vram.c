// SPDX-License-Identifier: GPL-2.0
/*
 * VRAM: what of it belongs to whom, and that it is clean when it changes hands.
 *
 * The buddy allocator of the DRM core works on offsets into VRAM; blocks are aligned
 * to their size, so that large allocations get large leaves by themselves.
 *
 * Only memory that reads as zeros is free in the allocator. What is given back, and all of
 * VRAM at first, is kept aside (dirty), still allocated as far as the allocator knows, until
 * the device has cleared it, which is a change of its pages' states and moves no bytes. A worker
 * sees to that a little later, for many blocks at once; an allocation that would fail
 * without them, or be torn into pieces, does it itself. Thus neither an allocation nor a free
 * normally waits for the device, and no order of events hands out a page that still shows
 * what another client had there. Should the device be lost, what is dirty stays so.
 *
 * Cleared pages, and compressed ones, show their bytes to the device only. Whoever lets the
 * CPU have them exposes them first: the device then writes the bytes and keeps the pages plain
 * until they are cleared the next time.
 *
 * Locks: @lock may be held while the device is waited for and memory is allocated; @dirty_lock
 * is innermost, so that memory can be given back wherever an object can be released.
 */

#include <linux/bitmap.h>
#include <linux/gpu_buddy.h>
#include <linux/list_sort.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include "vze_ctrl.h"
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_vram.h"

/* Memory that is freed piece by piece is collected for this long before it is cleared. */
#define CLEAR_DELAY_MS		20U

/* Most bytes that the device writes in one go, while others wait for the control ring. */
#define EXPOSE_STEP		((u64)SZ_2M)

/**
 * struct vze_vram - the VRAM of one device
 */
struct vze_vram {
	/** @vdev: device */
	struct vze_device *vdev;
	/** @lock: protects @mm; held by whoever clears */
	struct mutex lock;
	/** @mm: blocks; the free ones are clear */
	struct gpu_buddy mm;
	/** @dirty_lock: protects what follows */
	spinlock_t dirty_lock;
	/** @dirty: blocks that were given back and are not clear yet */
	struct list_head dirty;
	/** @dirty_bytes: their size, those included that are just being cleared */
	u64 dirty_bytes;
	/** @exposed: a bit for each page: it is kept plain since it was cleared last */
	unsigned long *exposed;
	/** @clear_work: clears what is dirty */
	struct delayed_work clear_work;
};

/* --------------------------------------------------------------- clearing -- */

static int block_compare(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 left = gpu_buddy_block_offset(list_entry(a, struct gpu_buddy_block, link));
	u64 right = gpu_buddy_block_offset(list_entry(b, struct gpu_buddy_block, link));

	return left < right ? -1 : left > right;
}

static int vram_clear_ranges(struct vze_vram *vram, const struct vze_ctrl_range *ranges, u32 num)
{
	int ret = vze_ctrl_clear(vram->vdev, ranges, num);
	u32 i;

	if (ret)
		return ret;
	spin_lock(&vram->dirty_lock);
	for (i = 0; i < num; i++)
		bitmap_clear(vram->exposed, ranges[i].offset >> PAGE_SHIFT,
			     ranges[i].size >> PAGE_SHIFT);
	spin_unlock(&vram->dirty_lock);
	return 0;
}

/* Has a list of blocks cleared; neighbours in one command. */
static int vram_clear_blocks(struct vze_vram *vram, struct list_head *blocks)
{
	struct vze_ctrl_range ranges[VZE_CTRL_MAX_RANGES];
	struct gpu_buddy_block *block;
	u32 num = 0;
	int ret;

	list_sort(NULL, blocks, block_compare);
	list_for_each_entry(block, blocks, link) {
		u64 offset = gpu_buddy_block_offset(block);
		u64 size = gpu_buddy_block_size(&vram->mm, block);

		if (num && ranges[num - 1].offset + ranges[num - 1].size == offset) {
			ranges[num - 1].size += size;
			continue;
		}
		if (num == VZE_CTRL_MAX_RANGES) {
			ret = vram_clear_ranges(vram, ranges, num);
			if (ret)
				return ret;
			num = 0;
			cond_resched();
		}
		ranges[num].offset = offset;
		ranges[num++].size = size;
	}
	return vram_clear_ranges(vram, ranges, num);
}

/* Makes all that is dirty free. After an error it is dirty as before. */
static int vram_clear(struct vze_vram *vram)
{
	struct gpu_buddy_block *block;
	LIST_HEAD(blocks);
	u64 bytes = 0;
	int ret;

	lockdep_assert_held(&vram->lock);

	spin_lock(&vram->dirty_lock);
	list_splice_init(&vram->dirty, &blocks);
	spin_unlock(&vram->dirty_lock);
	if (list_empty(&blocks))
		return 0;

	list_for_each_entry(block, &blocks, link)
		bytes += gpu_buddy_block_size(&vram->mm, block);
	ret = vram_clear_blocks(vram, &blocks);

	spin_lock(&vram->dirty_lock);
	if (ret)
		list_splice(&blocks, &vram->dirty);
	else
		vram->dirty_bytes -= bytes;
	spin_unlock(&vram->dirty_lock);
	if (!ret)
		gpu_buddy_free_list(&vram->mm, &blocks, 0);
	return ret;
}

static void clear_work(struct work_struct *work)
{
	struct vze_vram *vram = container_of(to_delayed_work(work), struct vze_vram, clear_work);

	mutex_lock(&vram->lock);
	/* A device that is lost or gone: nothing will be allocated any more. */
	vram_clear(vram);
	mutex_unlock(&vram->lock);
}

/* ------------------------------------------------------------- life cycle -- */

static void vram_fini(struct drm_device *drm, void *data)
{
	struct vze_vram *vram = data;

	cancel_delayed_work_sync(&vram->clear_work);
	gpu_buddy_free_list(&vram->mm, &vram->dirty, 0);
	gpu_buddy_fini(&vram->mm);
	kvfree(vram->exposed);
	mutex_destroy(&vram->lock);
}

/**
 * vze_vram_init() - take charge of the VRAM at probe
 * @vdev: device whose identity was checked; it need not run yet
 *
 * Return: 0 or -ENOMEM.
 */
int vze_vram_init(struct vze_device *vdev)
{
	u64 size = vdev->ident.vram_size;
	struct vze_vram *vram;
	int ret;

	vram = drmm_kzalloc(&vdev->drm, sizeof(*vram), GFP_KERNEL);
	if (!vram)
		return -ENOMEM;
	vram->vdev = vdev;
	mutex_init(&vram->lock);
	spin_lock_init(&vram->dirty_lock);
	INIT_LIST_HEAD(&vram->dirty);
	spin_lock_init(&vdev->vram_objects_lock);
	INIT_LIST_HEAD(&vdev->vram_objects);
	INIT_DELAYED_WORK(&vram->clear_work, clear_work);
	vram->exposed = kvcalloc(BITS_TO_LONGS(size >> PAGE_SHIFT), sizeof(long), GFP_KERNEL);
	if (!vram->exposed)
		return -ENOMEM;
	ret = gpu_buddy_init(&vram->mm, size, SZ_4K);
	if (ret) {
		kvfree(vram->exposed);
		return ret;
	}
	vdev->vram = vram;
	ret = drmm_add_action_or_reset(&vdev->drm, vram_fini, vram);
	if (ret)
		return ret;

	/* Nobody knows what is in there. */
	ret = gpu_buddy_alloc_blocks(&vram->mm, 0, size, size, SZ_4K, &vram->dirty, 0);
	if (!ret)
		vram->dirty_bytes = size;
	return ret;
}

/* -------------------------------------------------------------- allocation -- */

static int vram_take(struct vze_vram *vram, u64 size, struct list_head *blocks, u32 *num)
{
	int ret = gpu_buddy_alloc_blocks(&vram->mm, 0, vram->mm.size, size, SZ_4K, blocks, 0);

	/* Any mixture of blocks would do: what it lacked was kernel memory to split one. */
	if (ret == -ENOSPC && size <= vram->mm.avail)
		ret = -ENOMEM;
	if (!ret)
		*num = list_count_nodes(blocks);
	return ret;
}

/**
 * vze_vram_alloc() - allocate VRAM that reads as zeros
 * @vdev: device
 * @size: bytes, page aligned
 * @blocks: empty list; gets the blocks in order of their place in the object
 * @num: number of blocks
 *
 * Return: 0, -ENOSPC (full), -ENOMEM, -EIO or -ENODEV.
 */
int vze_vram_alloc(struct vze_device *vdev, u64 size, struct list_head *blocks, u32 *num)
{
	struct vze_vram *vram = vdev->vram;
	int ret;

	if (vze_device_is_lost(vdev))
		return -ENODEV;
	if (size > vdev->ident.vram_size)
		return -ENOSPC;

	mutex_lock(&vram->lock);
	ret = vram_take(vram, size, blocks, num);
	/* One block for each bit of the size is the best there is; more mean torn memory. */
	if (READ_ONCE(vram->dirty_bytes) &&
	    (ret == -ENOSPC || (!ret && *num > hweight64(size >> PAGE_SHIFT)))) {
		gpu_buddy_free_list(&vram->mm, blocks, 0);
		ret = vram_clear(vram);
		if (!ret)
			ret = vram_take(vram, size, blocks, num);
	}
	if (!ret)
		atomic64_add(size, &vdev->counts.vram_used);
	mutex_unlock(&vram->lock);
	return ret;
}

/**
 * vze_vram_free() - give VRAM back
 * @vdev: device
 * @size: as allocated
 * @blocks: as allocated
 *
 * No mapping of it may be left in the device or in a process. Does not sleep.
 */
void vze_vram_free(struct vze_device *vdev, u64 size, struct list_head *blocks)
{
	struct vze_vram *vram = vdev->vram;

	spin_lock(&vram->dirty_lock);
	list_splice_tail_init(blocks, &vram->dirty);
	vram->dirty_bytes += size;
	atomic64_sub(size, &vdev->counts.vram_used);
	spin_unlock(&vram->dirty_lock);
	queue_delayed_work(system_unbound_wq, &vram->clear_work, msecs_to_jiffies(CLEAR_DELAY_MS));
}

/* --------------------------------------------------------------- exposure -- */

static bool vram_is_exposed(struct vze_vram *vram, unsigned long first, unsigned long end)
{
	bool exposed;

	spin_lock(&vram->dirty_lock);
	exposed = find_next_zero_bit(vram->exposed, end, first) >= end;
	spin_unlock(&vram->dirty_lock);
	return exposed;
}

/**
 * vze_vram_expose() - let the CPU see the bytes of allocated memory
 * @vdev: device
 * @offset: first byte in VRAM, page aligned
 * @size: bytes, page aligned
 *
 * Whatever the device has done to the pages stands in memory afterwards, and whatever it
 * does from then on will, work included that is under way: see VZE_HW_RESOLVE_KEEP. Holds
 * until the memory is freed. The caller keeps it from being freed meanwhile.
 *
 * Waits for the device, the first time only; not for work that runs there.
 *
 * Return: 0, -EIO, -ENODEV, or -EINTR (the caller is being killed; only for more than 2 MiB).
 */
int vze_vram_expose(struct vze_device *vdev, u64 offset, u64 size)
{
	struct vze_vram *vram = vdev->vram;
	bool again = false;
	u64 step;
	int ret;

	for (; size; offset += step, size -= step) {
		unsigned long first = offset >> PAGE_SHIFT;

		step = min(size, EXPOSE_STEP);
		if (vram_is_exposed(vram, first, first + (step >> PAGE_SHIFT)))
			continue;
		if (again && fatal_signal_pending(current))
			return -EINTR;
		again = true;
		ret = vze_ctrl_keep_plain(vdev, offset, step);
		if (ret)
			return ret;
		spin_lock(&vram->dirty_lock);
		bitmap_set(vram->exposed, first, step >> PAGE_SHIFT);
		spin_unlock(&vram->dirty_lock);
	}
	return 0;
}

/* ----------------------------------------------------------------- figures -- */

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
 * @usage: result
 *
 * Clears what is dirty, as an allocation in need would.
 */
void vze_vram_usage(struct vze_device *vdev, struct vze_vram_usage *usage)
{
	struct vze_vram *vram = vdev->vram;

	mutex_lock(&vram->lock);
	/* What a lost device leaves dirty is still nobody's. */
	vram_clear(vram);
	usage->size = vram->mm.size;
	usage->largest = vram_largest(vram);
	spin_lock(&vram->dirty_lock);
	usage->free = vram->mm.avail + vram->dirty_bytes;
	usage->used = atomic64_read(&vdev->counts.vram_used);
	spin_unlock(&vram->dirty_lock);
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
	struct vze_vram *vram = vdev->vram;
	struct vze_vram_usage usage;
	u64 dirty;

	spin_lock(&vram->dirty_lock);
	dirty = vram->dirty_bytes;
	spin_unlock(&vram->dirty_lock);
	vze_vram_usage(vdev, &usage);
	seq_printf(m, "size %llu\nfree %llu\nlargest %llu\ndirty %llu\n", usage.size, usage.free,
		   usage.largest, dirty);
	vze_gem_vram_show(m, vdev);
	return 0;
}
