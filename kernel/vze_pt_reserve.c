// SPDX-License-Identifier: GPL-2.0
/*
 * Reserving for changes of page tables: the part that may fail.
 *
 * Missing tables are put in here, empty. What splitting large leaves can take is counted,
 * for the worst case, and kept aside.
 */

#include <linux/sched/mm.h>

#include "vze_pt_entry.h"

/**
 * vze_pt_update_init() - begin a group of changes
 * @pt: page tables
 * @update: group
 */
void vze_pt_update_init(struct vze_pt *pt, struct vze_pt_update *update)
{
	memset(update, 0, sizeof(*update));
	INIT_LIST_HEAD(&update->spare);
	INIT_LIST_HEAD(&update->freed);
	memset(update->counted, 0xff, sizeof(update->counted));
	update->reserved = U64_MAX;
	update->hazard_start = U64_MAX;
	update->built_start = U64_MAX;
	update->touch_start = U64_MAX;

	update->held = true;
	mutex_lock(&pt->lock);
	pt->holds++;
	mutex_unlock(&pt->lock);
}

/**
 * vze_pt_update_release() - take a group off hold that waits for long
 * @pt: page tables; the caller holds their lock
 * @update: group, all of whose changes unmap and are reserved
 */
void vze_pt_update_release(struct vze_pt *pt, struct vze_pt_update *update)
{
	lockdep_assert_held(&pt->lock);
	update->held = false;
	pt->holds--;
}

/**
 * vze_pt_touch() - the device may hold translations of a range that changes
 * @update: group
 * @start: first byte
 * @end: first byte after it
 *
 * For every present translation that the group removes, replaces or protects.
 */
void vze_pt_touch(struct vze_pt_update *update, u64 start, u64 end)
{
	range_add(&update->touch_start, &update->touch_end, start, end);
}

/* A table can be needed in the place of the entry for @va at @level. */
static void need_count(struct vze_pt_update *update, u64 va, int level)
{
	u64 key = va >> VZE_HW_LEVEL_SHIFT(level);

	if (update->counted[level] == key)
		return;
	update->counted[level] = key;
	update->need++;
}

static int spares_fill(struct vze_pt_update *update, unsigned int num)
{
	while (update->num_spare < num) {
		struct page *table = vze_pt_table_alloc();

		if (!table)
			return -ENOMEM;
		list_add(&table->lru, &update->spare);
		update->num_spare++;
	}
	return 0;
}

/*
 * Walks to the table at @level, counts what splitting needs and, with @num, puts in missing
 * tables for @num entries there. Returns false when it needs one more spare for that.
 */
static bool path_walk(struct vze_pt *pt, struct vze_pt_update *update, u64 va, int level,
		      unsigned int num)
{
	struct page *table = pt->root, *next;
	unsigned int i;
	int at, below;
	u64 *entry;

	lockdep_assert_held(&pt->lock);

	if (va >= update->hazard_start && va < update->hazard_end) {
		for (below = level + 1; below < VZE_PT_ROOT_LEVEL; below++)
			need_count(update, va, below);
	}
	for (at = VZE_PT_ROOT_LEVEL; at > level; at--) {
		entry = table_entries(table) + level_index(va, at);
		if (entry_present(*entry) && entry_is_leaf(*entry, at)) {
			for (below = at; below > level; below--)
				need_count(update, va, below);
			return true;
		}
		if (!entry_present(*entry)) {
			if (!num)
				return true;
			if (update->num_spare <= update->need)
				return false;
			next = vze_pt_spare_take(pt, update);
			entry_point_at(entry, next);
			table_count_add(table, 1);
			range_add(&update->built_start, &update->built_end,
				  round_down(va, level_size(at)),
				  round_down(va, level_size(at)) + level_size(at));
		} else {
			next = entry_table(*entry);
		}
		table = next;
	}
	if (!level)
		return true;

	/* Tables that large leaves replace are freed, which takes an invalidation. */
	entry = table_entries(table) + level_index(va, level);
	for (i = 0; i < num; i++, va += level_size(level)) {
		if (entry_present(entry[i]))
			vze_pt_touch(update, va, va + level_size(level));
	}
	return true;
}

static int path_reserve(struct vze_pt *pt, struct vze_pt_update *update, u64 va, int level,
			unsigned int num)
{
	bool done;
	int ret;

	do {
		mutex_lock(&pt->lock);
		done = path_walk(pt, update, va, level, num);
		mutex_unlock(&pt->lock);
		ret = spares_fill(update, update->need + !done);
	} while (!ret && !done);
	return ret;
}

/**
 * vze_pt_run_reserve() - make sure that a piece can be mapped
 * @pt: page tables
 * @update: group
 * @va: address
 * @run: piece
 *
 * Return: 0 or -ENOMEM.
 */
int vze_pt_run_reserve(struct vze_pt *pt, struct vze_pt_update *update, u64 va,
		       struct vze_run run)
{
	int ret;

	while (run.size) {
		int level = leaf_level(va, &run);
		u64 size = leaf_stretch(va, &run, level);

		/* Many small changes often meet the same table. */
		if (level || update->reserved != va >> VZE_HW_LEVEL_SHIFT(1)) {
			ret = path_reserve(pt, update, va, level,
					   size >> VZE_HW_LEVEL_SHIFT(level));
			if (ret)
				return ret;
			update->reserved = level ? U64_MAX : va >> VZE_HW_LEVEL_SHIFT(1);
		}
		if (level) {
			range_add(&update->hazard_start, &update->hazard_end, va, va + size);
			/* What was counted may have to be split once more. */
			memset(update->counted, 0xff, sizeof(update->counted));
		}
		va += size;
		run_advance(&run, size);
	}
	return 0;
}

/* A range that is cleared can begin and end inside a large leaf. */
static int edge_reserve(struct vze_pt *pt, struct vze_pt_update *update, u64 va)
{
	int level = 0;

	if (IS_ALIGNED(va, level_size(VZE_PT_ROOT_LEVEL - 1)))
		return 0;
	if (IS_ALIGNED(va, level_size(1)))
		level = 1;
	return path_reserve(pt, update, va, level, 0);
}

/**
 * vze_pt_reserve() - make sure that a change cannot fail
 * @pt: page tables
 * @update: group that it belongs to
 * @range: change; the object's reference is the caller's business until the commit
 *
 * Reserves in the order in which the changes will be carried out; the caller keeps
 * other groups from being reserved in between.
 *
 * Return: 0 or -ENOMEM, after which the caller cancels the group.
 */
int vze_pt_reserve(struct vze_pt *pt, struct vze_pt_update *update,
		   const struct vze_pt_range *range)
{
	struct vze_run run;
	u64 done;
	int ret;

	might_alloc(GFP_KERNEL);
	update->changes++;
	if (!range->bo) {
		ret = edge_reserve(pt, update, range->start);
		if (!ret)
			ret = edge_reserve(pt, update, range->start + range->size);
		return ret;
	}
	for (done = 0; done < range->size; done += run.size) {
		vze_gem_run(range->bo, range->offset + done, range->size - done, &run);
		ret = vze_pt_run_reserve(pt, update, range->start + done, run);
		if (ret)
			return ret;
	}
	return 0;
}

