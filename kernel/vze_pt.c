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
#include <linux/mm.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_pt.h"
#include "vze_quarantine.h"
#include "vze_tlb.h"

#define ROOT_LEVEL	(VZE_HW_LEVELS - 1)

static u64 level_size(int level)
{
	return 1ULL << VZE_HW_LEVEL_SHIFT(level);
}

static unsigned int level_index(u64 va, int level)
{
	return (va >> VZE_HW_LEVEL_SHIFT(level)) & (VZE_HW_ENTRIES - 1);
}

static u64 *table_entries(struct page *table)
{
	return page_address(table);
}

/* Present entries of a table. */
static unsigned int table_count(const struct page *table)
{
	return page_private(table);
}

static void table_count_add(struct page *table, int num)
{
	set_page_private(table, page_private(table) + num);
}

static bool entry_present(u64 entry)
{
	return entry & VZE_HW_PTE_PRESENT;
}

/* Of a present entry at @level. */
static bool entry_is_leaf(u64 entry, int level)
{
	return !level || (entry & VZE_HW_PTE_LEAF);
}

static struct page *entry_table(u64 entry)
{
	return pfn_to_page(PHYS_PFN(entry & VZE_HW_PTE_ADDR_MASK));
}

static void entry_point_at(u64 *entry, struct page *table)
{
	/* The table's contents before the entry that makes them visible. */
	smp_wmb();
	WRITE_ONCE(*entry, page_to_phys(table) | VZE_HW_PTE_PRESENT);
}

static void range_add(u64 *range_start, u64 *range_end, u64 start, u64 end)
{
	*range_start = min(*range_start, start);
	*range_end = max(*range_end, end);
}

static struct page *table_alloc(void)
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

static void tables_count(struct vze_pt *pt, long num)
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
	pt->root = table_alloc();
	if (!pt->root)
		return -ENOMEM;
	mutex_init(&pt->lock);
	tables_count(pt, 1);

	/* Workers that signal fences take it: whoever holds it must not wait for memory. */
	if (IS_ENABLED(CONFIG_LOCKDEP)) {
		bool cookie = dma_fence_begin_signalling();

		mutex_lock(&pt->lock);
		mutex_unlock(&pt->lock);
		dma_fence_end_signalling(cookie);
	}
	return 0;
}

/* -------------------------------------------------------------- splitting -- */

static void spares_free(struct vze_pt_update *update)
{
	vze_pt_free_tables(&update->spare);
	update->num_spare = 0;
}

static struct page *spare_take(struct vze_pt *pt, struct vze_pt_update *update)
{
	struct page *table = list_first_entry_or_null(&update->spare, struct page, lru);

	/* Reserving counts the worst case, so this is a bug of vze_pt_reserve(). */
	if (WARN_ON_ONCE(!table))
		return NULL;
	list_del(&table->lru);
	update->num_spare--;
	tables_count(pt, 1);
	return table;
}

/* Replaces a leaf at @level by a table that says the same. */
static struct page *leaf_split(struct vze_pt *pt, struct vze_pt_update *update, u64 *entry,
			       int level)
{
	struct page *table = spare_take(pt, update);
	u64 leaf = *entry, step = level_size(level - 1);
	unsigned int i;
	u64 *to;

	if (!table)
		return NULL;
	if (level == 1)
		leaf &= ~VZE_HW_PTE_LEAF;
	to = table_entries(table);
	for (i = 0; i < VZE_HW_ENTRIES; i++)
		to[i] = leaf + i * step;
	set_page_private(table, VZE_HW_ENTRIES);
	pt->leaves[level]--;
	pt->leaves[level - 1] += VZE_HW_ENTRIES;
	entry_point_at(entry, table);
	return table;
}

/* Takes out everything below an entry that no longer points at @table. */
static void subtree_drop(struct vze_pt *pt, struct vze_pt_update *update, struct page *table,
			 int level)
{
	u64 *entries = table_entries(table);
	unsigned int i;

	if (!level) {
		pt->leaves[0] -= table_count(table);
	} else {
		for (i = 0; i < VZE_HW_ENTRIES; i++) {
			if (!entry_present(entries[i]))
				continue;
			if (entry_is_leaf(entries[i], level))
				pt->leaves[level]--;
			else
				subtree_drop(pt, update, entry_table(entries[i]), level - 1);
		}
	}
	tables_count(pt, -1);
	list_add(&table->lru, &update->freed);
}

/* ---------------------------------------------------------------- mapping -- */

/* Level of the largest leaf that can stand at the beginning of a piece. */
static int leaf_level(u64 va, const struct vze_run *run)
{
	int level;

	if (run->addrs)
		return 0;
	for (level = ROOT_LEVEL - 1; level > 0; level--) {
		if (run->size >= level_size(level) &&
		    IS_ALIGNED(va | run->addr, level_size(level)))
			return level;
	}
	return 0;
}

/* Bytes of a piece that go into one table at @level, beginning at @va. */
static u64 leaf_stretch(u64 va, const struct vze_run *run, int level)
{
	u64 room = level_size(level + 1) - (va & (level_size(level + 1) - 1));
	u64 size = min(room, run->size);

	/* What lies before the first place of a larger leaf is cut off by @room. */
	return round_down(size, level_size(level));
}

static void run_advance(struct vze_run *run, u64 size)
{
	run->addr += size;
	run->size -= size;
	if (run->addrs)
		run->addrs += size >> PAGE_SHIFT;
}

/* The table at @level for @va; splits leaves and puts in missing tables on the way. */
static struct page *table_get(struct vze_pt *pt, struct vze_pt_update *update, u64 va, int level)
{
	struct page *table = pt->root, *next;
	int at;

	for (at = ROOT_LEVEL; at > level; at--) {
		u64 *entry = table_entries(table) + level_index(va, at);

		if (!entry_present(*entry)) {
			next = spare_take(pt, update);
			if (!next)
				return NULL;
			entry_point_at(entry, next);
			table_count_add(table, 1);
		} else if (entry_is_leaf(*entry, at)) {
			next = leaf_split(pt, update, entry, at);
			if (!next)
				return NULL;
		} else {
			next = entry_table(*entry);
		}
		table = next;
	}
	return table;
}

static void map_pages(struct vze_pt *pt, struct page *table, unsigned int index,
		      const struct vze_run *run, unsigned int num, u64 bits)
{
	u64 *entries = table_entries(table) + index;
	unsigned int present = 0, i;

	/* Mapping into emptiness is what happens nearly always: no need to look. */
	if (table_count(table)) {
		for (i = 0; i < num; i++)
			present += entries[i] & VZE_HW_PTE_PRESENT;
	}
	if (run->addrs) {
		for (i = 0; i < num; i++)
			WRITE_ONCE(entries[i], run->addrs[i] | bits);
	} else {
		u64 entry = run->addr | bits;

		for (i = 0; i < num; i++, entry += VZE_HW_PAGE_SIZE)
			WRITE_ONCE(entries[i], entry);
	}
	table_count_add(table, num - present);
	pt->leaves[0] += num - present;
}

static void map_large(struct vze_pt *pt, struct vze_pt_update *update, struct page *table,
		      int level, unsigned int index, u64 addr, unsigned int num, u64 bits)
{
	u64 *entries = table_entries(table) + index;
	u64 entry = addr | bits | VZE_HW_PTE_LEAF;
	unsigned int i;

	for (i = 0; i < num; i++, entry += level_size(level)) {
		u64 old = entries[i];

		WRITE_ONCE(entries[i], entry);
		if (!entry_present(old)) {
			table_count_add(table, 1);
			pt->leaves[level]++;
		} else if (!entry_is_leaf(old, level)) {
			pt->leaves[level]++;
			subtree_drop(pt, update, entry_table(old), level - 1);
		}
	}
}

static void run_map(struct vze_pt *pt, struct vze_pt_update *update, u64 va, struct vze_run run,
		    u64 bits)
{
	bits |= run.bits | VZE_HW_PTE_PRESENT;
	while (run.size) {
		int level = leaf_level(va, &run);
		u64 size = leaf_stretch(va, &run, level);
		unsigned int num = size >> VZE_HW_LEVEL_SHIFT(level);
		struct page *table = table_get(pt, update, va, level);

		if (!table)
			return;
		if (level)
			map_large(pt, update, table, level, level_index(va, level), run.addr, num,
				  bits);
		else
			map_pages(pt, table, level_index(va, 0), &run, num, bits);
		va += size;
		run_advance(&run, size);
	}
}

static void range_map(struct vze_pt *pt, struct vze_pt_update *update,
		      const struct vze_pt_range *range)
{
	struct vze_run run;
	u64 done;

	for (done = 0; done < range->size; done += run.size) {
		vze_gem_run(range->bo, range->offset + done, range->size - done, &run);
		run_map(pt, update, range->start + done, run, range->bits);
	}
}

/* --------------------------------------------------------------- clearing -- */

static void clear_pages(struct vze_pt *pt, struct page *table, u64 start, u64 end)
{
	u64 *entries = table_entries(table) + level_index(start, 0);
	unsigned int num = (end - start) >> PAGE_SHIFT, cleared = 0, i;

	for (i = 0; i < num; i++) {
		cleared += entries[i] & VZE_HW_PTE_PRESENT;
		WRITE_ONCE(entries[i], 0);
	}
	table_count_add(table, -cleared);
	pt->leaves[0] -= cleared;
}

/* Clears [start, end), which lies in what @table covers. */
static void table_clear(struct vze_pt *pt, struct vze_pt_update *update, struct page *table,
			int level, u64 start, u64 end, bool drop)
{
	u64 size = level_size(level), next;
	u64 *entry = table_entries(table) + level_index(start, level);

	if (!level) {
		clear_pages(pt, table, start, end);
		return;
	}
	for (; start < end; start = next, entry++) {
		struct page *child;

		next = min(round_down(start, size) + size, end);
		if (!entry_present(*entry))
			continue;
		if (entry_is_leaf(*entry, level)) {
			if (next - start < size) {
				child = leaf_split(pt, update, entry, level);
				if (child) {
					table_clear(pt, update, child, level - 1, start, next,
						    drop);
					continue;
				}
			}
			pt->leaves[level]--;
		} else {
			child = entry_table(*entry);
			if (next - start < size || !drop) {
				table_clear(pt, update, child, level - 1, start, next, drop);
				continue;
			}
			subtree_drop(pt, update, child, level - 1);
		}
		WRITE_ONCE(*entry, 0);
		table_count_add(table, -1);
	}
}

/* Takes out empty tables that lie wholly inside [start, end). */
static void table_prune(struct vze_pt *pt, struct vze_pt_update *update, struct page *table,
			int level, u64 start, u64 end)
{
	u64 size = level_size(level), next;
	u64 *entry = table_entries(table) + level_index(start, level);

	for (; start < end; start = next, entry++) {
		struct page *child;

		next = min(round_down(start, size) + size, end);
		if (!entry_present(*entry) || entry_is_leaf(*entry, level))
			continue;
		child = entry_table(*entry);
		if (level > 1)
			table_prune(pt, update, child, level - 1, start, next);
		if (table_count(child) || next - start < size)
			continue;
		WRITE_ONCE(*entry, 0);
		table_count_add(table, -1);
		tables_count(pt, -1);
		list_add(&child->lru, &update->freed);
	}
}

/* ----------------------------------------------------------------- window -- */

/* The table at @level for @va, if there is one. */
static struct page *table_find(struct vze_pt *pt, u64 va, int level)
{
	struct page *table = pt->root;
	int at;

	for (at = ROOT_LEVEL; at > level; at--) {
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

	for (level = 1; level < ROOT_LEVEL; level++) {
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

/* -------------------------------------------------------------- reserving -- */

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
	update->hazard_start = U64_MAX;
	update->built_start = U64_MAX;
	update->touch_start = U64_MAX;

	mutex_lock(&pt->lock);
	pt->holds++;
	mutex_unlock(&pt->lock);
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
		struct page *table = table_alloc();

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
		for (below = level + 1; below < ROOT_LEVEL; below++)
			need_count(update, va, below);
	}
	for (at = ROOT_LEVEL; at > level; at--) {
		entry = table_entries(table) + level_index(va, at);
		if (!entry_present(*entry)) {
			if (!num)
				return true;
			if (update->num_spare <= update->need)
				return false;
			next = spare_take(pt, update);
			entry_point_at(entry, next);
			table_count_add(table, 1);
			range_add(&update->built_start, &update->built_end,
				  round_down(va, level_size(at)),
				  round_down(va, level_size(at)) + level_size(at));
		} else if (entry_is_leaf(*entry, at)) {
			for (below = at; below > level; below--)
				need_count(update, va, below);
			return true;
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

static int run_reserve(struct vze_pt *pt, struct vze_pt_update *update, u64 va,
		       struct vze_run run)
{
	int ret;

	while (run.size) {
		int level = leaf_level(va, &run);
		u64 size = leaf_stretch(va, &run, level);

		ret = path_reserve(pt, update, va, level, size >> VZE_HW_LEVEL_SHIFT(level));
		if (ret)
			return ret;
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

	if (IS_ALIGNED(va, level_size(ROOT_LEVEL - 1)))
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
		ret = run_reserve(pt, update, range->start + done, run);
		if (ret)
			return ret;
	}
	return 0;
}

/* --------------------------------------------------------------- carrying -- */

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

	prune = !--pt->holds;
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
		if (ranges[i].bo)
			range_map(pt, update, &ranges[i]);
		else if (windowed)
			table_clear(pt, update, pt->root, ROOT_LEVEL, ranges[i].start,
				    ranges[i].start + ranges[i].size, drop);
	}

	if (windowed) {
		if (prune) {
			table_prune(pt, update, pt->root, ROOT_LEVEL, start, end);
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
		pt->holds--;
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
	table_clear(pt, &update, pt->root, ROOT_LEVEL, 0, VZE_PT_END, true);
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
	tables_count(pt, -1);
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
	ret = run_reserve(pt, &update, va, run);
	if (ret) {
		vze_pt_cancel(pt, &update);
		return ret;
	}
	mutex_lock(&pt->lock);
	run_map(pt, &update, va, run, VZE_HW_PTE_WRITABLE);
	pt->holds--;
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
