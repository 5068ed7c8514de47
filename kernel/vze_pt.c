// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables of the device.
 *
 * The device reads the tables whenever it likes, without any lock. What it may see is
 * kept legal by three rules: an entry changes by one store; a table is complete before
 * the store that points at it; and anything but absent-to-present happens between
 * vze_tlb_begin() and vze_tlb_end(), with what was taken out kept until the latter has
 * returned 0. Splitting a large leaf is one such store: the new table says the same as
 * the leaf did.
 */

#include <linux/dma-fence.h>

#include "vze_device.h"
#include "vze_pt_entry.h"
#include "vze_quarantine.h"
#include "vze_tlb.h"

/**
 * vze_pt_table_alloc() - a page for a table, without entries
 *
 * Return: the page, or NULL.
 */
struct page *vze_pt_table_alloc(void)
{
	struct page *table = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

	if (table)
		set_page_private(table, 0);
	return table;
}

static void table_free(struct page *table)
{
	set_page_private(table, 0);
	__free_page(table);
}

/**
 * vze_pt_tables_count() - tables were put in or taken out
 * @pt: page tables
 * @num: how many
 */
void vze_pt_tables_count(struct vze_pt *pt, long num)
{
	pt->tables += num;
	if (!pt->kernel)
		atomic64_add(num, &pt->vdev->counts.pt_pages);
}

/**
 * vze_pt_free_tables() - give pages of tables back
 * @tables: list of pages that no device walks any more; empty afterwards
 */
void vze_pt_free_tables(struct list_head *tables)
{
	struct page *table, *next;

	list_for_each_entry_safe(table, next, tables, lru)
		table_free(table);
	INIT_LIST_HEAD(tables);
}

/**
 * vze_pt_init() - empty page tables
 * @pt: zeroed
 * @vdev: device
 * @asid: hardware address space they will belong to
 * @kernel: not counted
 *
 * Return: 0 or -ENOMEM.
 */
int vze_pt_init(struct vze_pt *pt, struct vze_device *vdev, u32 asid, bool kernel)
{
	pt->vdev = vdev;
	pt->asid = asid;
	pt->kernel = kernel;
	pt->prune_start = U64_MAX;
	pt->root = vze_pt_table_alloc();
	if (!pt->root)
		return -ENOMEM;
	mutex_init(&pt->lock);
	vze_pt_tables_count(pt, 1);

	/* Workers that signal fences take it: whoever holds it must not wait for memory. */
	if (IS_ENABLED(CONFIG_LOCKDEP)) {
		bool cookie = dma_fence_begin_signalling();

		mutex_lock(&pt->lock);
		mutex_unlock(&pt->lock);
		dma_fence_end_signalling(cookie);
	}
	return 0;
}

static void spares_free(struct vze_pt_update *update)
{
	vze_pt_free_tables(&update->spare);
	update->num_spare = 0;
}

/**
 * vze_pt_spare_take() - take one of the tables kept aside
 * @pt: page tables
 * @update: group
 *
 * Return: the table, or NULL, which vze_pt_reserve() rules out.
 */
struct page *vze_pt_spare_take(struct vze_pt *pt, struct vze_pt_update *update)
{
	struct page *table = list_first_entry_or_null(&update->spare, struct page, lru);

	/* Reserving counts the worst case, so this is a bug of vze_pt_reserve(). */
	if (WARN_ON_ONCE(!table))
		return NULL;
	list_del(&table->lru);
	update->num_spare--;
	vze_pt_tables_count(pt, 1);
	return table;
}

/* ----------------------------------------------------------------- window -- */

/* The table at @level for @va, if there is one. */
static struct page *table_find(struct vze_pt *pt, u64 va, int level)
{
	struct page *table = pt->root;
	int at;

	for (at = VZE_PT_ROOT_LEVEL; at > level; at--) {
		u64 entry = table_entries(table)[level_index(va, at)];

		if (!entry_present(entry) || entry_is_leaf(entry, at))
			return NULL;
		table = entry_table(entry);
	}
	return table;
}

/* Can clearing [start, end) leave the table at @level around @va without an entry? */
static bool table_may_empty(struct vze_pt *pt, u64 va, int level, u64 start, u64 end)
{
	struct page *table = table_find(pt, va, level);
	u64 base = round_down(va, level_size(level + 1));

	if (!table)
		return false;
	start = max(start, base);
	end = min(end, base + level_size(level + 1));
	return table_count(table) <= DIV_ROUND_UP_ULL(end - start, level_size(level));
}

/*
 * A walk that is under way may have read an entry that points at a table, so that a table
 * goes back only after the invalidation of all that it covers. Widens the range to
 * whole tables where they can become empty; others are then not taken out.
 */
static void window_widen(struct vze_pt *pt, u64 *start, u64 *end)
{
	u64 from = round_down(*start, level_size(1)), to = round_up(*end, level_size(1));
	int level;

	for (level = 1; level < VZE_PT_ROOT_LEVEL; level++) {
		u64 size = level_size(level + 1);
		bool low = IS_ALIGNED(from, level_size(level)) &&
			   table_may_empty(pt, from, level, from, to);
		bool high = IS_ALIGNED(to, level_size(level)) &&
			    table_may_empty(pt, to - 1, level, from, to);

		if (low)
			from = round_down(from, size);
		if (high)
			to = round_up(to, size);
		if (!low && !high)
			break;
	}
	*start = from;
	*end = to;
}

/* --------------------------------------------------------------- carrying -- */

/* The group is over. Return: whether none is on hold any more. */
static bool update_end(struct vze_pt *pt, struct vze_pt_update *update)
{
	if (update->held)
		pt->holds--;
	update->held = false;
	return !pt->holds;
}

static void freed_tables_release(struct vze_pt *pt, struct vze_pt_update *update, bool safe)
{
	if (safe)
		vze_pt_free_tables(&update->freed);
	else
		vze_quarantine_tables(pt->vdev, &update->freed);
}

/**
 * vze_pt_commit() - carry out a group of changes
 * @pt: page tables; the caller holds their lock
 * @update: group, all changes reserved
 * @ranges: the changes in order
 * @num: number of changes
 *
 * At most one invalidation for the whole group, none when nothing present changed.
 * Allocates nothing.
 *
 * Return: 0, or the error of vze_tlb_end(): the entries are changed, but the device may
 * still use the old ones, so that what they pointed at must be quarantined.
 */
int vze_pt_commit(struct vze_pt *pt, struct vze_pt_update *update,
		  const struct vze_pt_range *ranges, u64 num)
{
	u64 start = update->touch_start, end = update->touch_end;
	struct vze_tlb_window window;
	bool prune, drop, windowed;
	int ret = 0;
	u64 i;

	lockdep_assert_held(&pt->lock);

	prune = update_end(pt, update);
	drop = prune && update->changes == 1;
	if (prune)
		range_add(&start, &end, pt->prune_start, pt->prune_end);
	windowed = start < end;
	if (windowed) {
		if (prune)
			window_widen(pt, &start, &end);
		vze_tlb_begin(pt->vdev, pt->asid, start, end, &window);
	}

	for (i = 0; i < num; i++) {
		/* Who revokes marks the object and then comes for the lock. */
		if (ranges[i].bo && !vze_gem_is_revoked(ranges[i].bo))
			vze_pt_write_map(pt, update, &ranges[i]);
		else if (windowed)
			vze_pt_write_clear(pt, update, ranges[i].start,
					   ranges[i].start + ranges[i].size, drop);
	}

	if (windowed) {
		if (prune) {
			vze_pt_write_prune(pt, update, start, end);
			pt->prune_start = U64_MAX;
			pt->prune_end = 0;
		} else {
			range_add(&pt->prune_start, &pt->prune_end, start, end);
		}
		ret = vze_tlb_end(pt->vdev, &window);
		pt->invalidations++;
	}
	freed_tables_release(pt, update, !ret);
	spares_free(update);
	return ret;
}

/**
 * vze_pt_cancel() - forget a group of changes
 * @pt: page tables
 * @update: group that was not committed
 *
 * Tables that were put in for it go again, with an invalidation: the device may be
 * looking at one.
 */
void vze_pt_cancel(struct vze_pt *pt, struct vze_pt_update *update)
{
	mutex_lock(&pt->lock);
	range_add(&pt->prune_start, &pt->prune_end, update->built_start, update->built_end);
	update->touch_start = U64_MAX;
	update->touch_end = 0;
	if (pt->root && pt->prune_start < pt->prune_end)
		vze_pt_commit(pt, update, NULL, 0);
	else
		update_end(pt, update);
	mutex_unlock(&pt->lock);
	spares_free(update);
}

/**
 * vze_pt_clear_all() - take everything out
 * @pt: page tables; the caller holds their lock
 *
 * Return: 0, or the error of vze_tlb_end(), see vze_pt_commit().
 */
int vze_pt_clear_all(struct vze_pt *pt)
{
	struct vze_pt_update update;
	struct vze_tlb_window window;
	int ret;

	lockdep_assert_held(&pt->lock);

	if (!table_count(pt->root))
		return 0;
	INIT_LIST_HEAD(&update.freed);
	vze_tlb_begin(pt->vdev, pt->asid, 0, VZE_PT_END, &window);
	vze_pt_write_clear(pt, &update, 0, VZE_PT_END, true);
	pt->prune_start = U64_MAX;
	pt->prune_end = 0;
	ret = vze_tlb_end(pt->vdev, &window);
	pt->invalidations++;
	freed_tables_release(pt, &update, !ret);
	return ret;
}

/**
 * vze_pt_fini() - give the root back
 * @pt: page tables after vze_pt_clear_all()
 * @safe: the device has acknowledged that the address space is gone, or never knew it
 *
 * Updates that are still on hold can only be cancelled afterwards.
 */
void vze_pt_fini(struct vze_pt *pt, bool safe)
{
	struct page *root;
	LIST_HEAD(unsafe);

	mutex_lock(&pt->lock);
	root = pt->root;
	pt->root = NULL;
	vze_pt_tables_count(pt, -1);
	mutex_unlock(&pt->lock);

	if (safe) {
		table_free(root);
	} else {
		list_add(&root->lru, &unsafe);
		vze_quarantine_tables(pt->vdev, &unsafe);
	}
}

/**
 * vze_pt_map_page() - map one page of the kernel's, writable
 * @pt: page tables
 * @va: address where nothing is mapped
 * @page: page
 *
 * Return: 0 or -ENOMEM.
 */
int vze_pt_map_page(struct vze_pt *pt, u64 va, struct page *page)
{
	struct vze_run run = { .addr = page_to_phys(page), .size = PAGE_SIZE };
	struct vze_pt_update update;
	int ret;

	vze_pt_update_init(pt, &update);
	ret = vze_pt_run_reserve(pt, &update, va, run);
	if (ret) {
		vze_pt_cancel(pt, &update);
		return ret;
	}
	mutex_lock(&pt->lock);
	vze_pt_write_run(pt, &update, va, run, VZE_HW_PTE_WRITABLE);
	update_end(pt, &update);
	mutex_unlock(&pt->lock);
	spares_free(&update);
	return 0;
}

/**
 * vze_pt_unmap_page() - undo vze_pt_map_page()
 * @pt: page tables
 * @va: address
 *
 * Return: 0, or the error of vze_tlb_end(): the page must not go back.
 */
int vze_pt_unmap_page(struct vze_pt *pt, u64 va)
{
	struct vze_pt_range range = { .start = va, .size = PAGE_SIZE };
	struct vze_pt_update update;
	int ret;

	vze_pt_update_init(pt, &update);
	vze_pt_touch(&update, va, va + PAGE_SIZE);
	mutex_lock(&pt->lock);
	ret = vze_pt_commit(pt, &update, &range, 1);
	mutex_unlock(&pt->lock);
	return ret;
}
