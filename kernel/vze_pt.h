/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_PT_H_
#define _VZE_PT_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/vze_hw.h>

struct seq_file;
struct vze_device;
struct vze_gem;

/* The whole address space, for windows and walks. */
#define VZE_PT_END	BIT_ULL(VZE_HW_VA_BITS)

/**
 * struct vze_pt - page tables of one address space
 *
 * Tables are ordinary pages; the number of present entries of a table is kept in
 * its page's private word. The device walks the tables at any time: a table is
 * complete before an entry points at it, an entry changes by one store, and a table
 * that was taken out goes back only after the invalidation was acknowledged.
 */
struct vze_pt {
	/** @vdev: device */
	struct vze_device *vdev;
	/** @asid: hardware address space */
	u32 asid;
	/**
	 * @lock: protects the entries. Taken where fences are signalled, so nothing is
	 * allocated under it. Innermost but for the device's own locks.
	 */
	struct mutex lock;
	/** @root: level 3 table */
	struct page *root;
	/** @leaves: present leaves of each level (0: 4 KiB, 1: 2 MiB, 2: 1 GiB) */
	u64 leaves[VZE_HW_LEVELS - 1];
	/** @tables: pages of tables, root included */
	u64 tables;
	/** @invalidations: invalidations sent to the device */
	u64 invalidations;
	/** @holds: updates that are reserved and neither carried out nor cancelled */
	unsigned int holds;
	/** @prune_start: empty tables may lie from here on ... */
	u64 prune_start;
	/** @prune_end: ... up to here; they are freed when no update is on hold */
	u64 prune_end;
	/** @kernel: the kernel's own address space: not counted in vze_counts */
	bool kernel;
};

/**
 * struct vze_pt_range - one change, in the order in which changes are carried out
 */
struct vze_pt_range {
	/** @start: first byte */
	u64 start;
	/** @size: bytes */
	u64 size;
	/** @bo: object to map, or NULL: nothing is mapped there afterwards */
	struct vze_gem *bo;
	/** @offset: first byte in @bo */
	u64 offset;
	/** @bits: %VZE_HW_PTE_WRITABLE or 0 */
	u64 bits;
};

/**
 * struct vze_pt_update - a group of changes: reserved first, then carried out
 *
 * vze_pt_update_init(); vze_pt_reserve() for each change in their order and
 * vze_pt_touch() for what they replace; then either vze_pt_commit(), which cannot fail
 * for want of memory, or vze_pt_cancel().
 *
 * Reserving puts in the tables that are missing, empty, which the device cannot tell from
 * their absence. Tables for splitting large leaves are kept aside in @spare. While
 * any update is on hold no table is freed but those that a larger leaf replaces, and
 * where that can happen (the hazard range) more is kept aside.
 *
 * A group that maps nothing relies on no table, only on the spares for the large leaves at
 * the edges of its ranges, and those nobody but a change of the same range can make more of:
 * it may be taken off hold (vze_pt_update_release()) and be carried out at any time before or after
 * other groups, except those that map something in its ranges.
 */
struct vze_pt_update {
	/** @spare: pages for tables that can be needed when a large leaf is split */
	struct list_head spare;
	/** @num_spare: pages in @spare */
	unsigned int num_spare;
	/** @need: pages that the changes reserved so far can need */
	unsigned int need;
	/** @counted: per level, entry (address >> shift) last counted in @need */
	u64 counted[VZE_HW_LEVELS - 1];
	/** @reserved: 2 MiB region whose small leaves were reserved last */
	u64 reserved;
	/** @written: 2 MiB region of @written_table */
	u64 written;
	/** @written_table: level 0 table that was written last, or NULL */
	struct page *written_table;
	/** @hazard_start: earlier changes may put large leaves from here on ... */
	u64 hazard_start;
	/** @hazard_end: ... up to here, where a table that exists now may then be gone */
	u64 hazard_end;
	/** @built_start: tables were put in from here on ... */
	u64 built_start;
	/** @built_end: ... up to here */
	u64 built_end;
	/** @touch_start: the device may hold translations that change from here on ... */
	u64 touch_start;
	/** @touch_end: ... up to here; nothing is invalidated when it is empty */
	u64 touch_end;
	/** @changes: number of changes reserved */
	u64 changes;
	/** @held: counted in vze_pt.holds */
	bool held;
	/** @freed: tables taken out, not free before the acknowledgment */
	struct list_head freed;
};

int vze_pt_init(struct vze_pt *pt, struct vze_device *vdev, u32 asid, bool kernel);
void vze_pt_fini(struct vze_pt *pt, bool safe);

void vze_pt_update_init(struct vze_pt *pt, struct vze_pt_update *update);
int vze_pt_reserve(struct vze_pt *pt, struct vze_pt_update *update,
		   const struct vze_pt_range *range);
void vze_pt_update_release(struct vze_pt *pt, struct vze_pt_update *update);
void vze_pt_touch(struct vze_pt_update *update, u64 start, u64 end);
int vze_pt_commit(struct vze_pt *pt, struct vze_pt_update *update,
		  const struct vze_pt_range *ranges, u64 num);
void vze_pt_cancel(struct vze_pt *pt, struct vze_pt_update *update);
int vze_pt_clear_all(struct vze_pt *pt);
void vze_pt_take_out(struct vze_pt *pt, struct vze_gem *bo, u64 offset, u64 va, u64 size);
int vze_pt_map_page(struct vze_pt *pt, u64 va, struct page *page);
int vze_pt_unmap_page(struct vze_pt *pt, u64 va);
void vze_pt_free_tables(struct list_head *tables);

#endif /* _VZE_PT_H_ */
