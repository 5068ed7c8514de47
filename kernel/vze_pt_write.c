// SPDX-License-Identifier: GPL-2.0
/*
 * Writing page table entries: mapping, splitting, clearing, taking out empty tables.
 *
 * All of it under vze_pt.lock, with everything reserved. Nothing allocates.
 */

#include "vze_pt_entry.h"

/* Replaces a leaf at @level by a table that says the same. */
static struct page *leaf_split(struct vze_pt *pt, struct vze_pt_update *update, u64 *entry,
			       int level)
{
	struct page *table = vze_pt_spare_take(pt, update);
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
	vze_pt_tables_count(pt, -1);
	list_add(&table->lru, &update->freed);
}

/* The table at @level for @va; splits leaves and puts in missing tables on the way. */
static struct page *table_get(struct vze_pt *pt, struct vze_pt_update *update, u64 va, int level)
{
	struct page *table = pt->root, *next;
	int at;

	if (!level && update->written_table && update->written == va >> VZE_HW_LEVEL_SHIFT(1))
		return update->written_table;
	for (at = VZE_PT_ROOT_LEVEL; at > level; at--) {
		u64 *entry = table_entries(table) + level_index(va, at);

		if (!entry_present(*entry)) {
			next = vze_pt_spare_take(pt, update);
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
	if (!level) {
		update->written = va >> VZE_HW_LEVEL_SHIFT(1);
		update->written_table = table;
	}
	return table;
}

static void map_small(struct vze_pt *pt, struct page *table, unsigned int index,
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

static void map_larger(struct vze_pt *pt, struct vze_pt_update *update, struct page *table,
		       int level, unsigned int index, u64 addr, unsigned int num, u64 bits)
{
	u64 *entries = table_entries(table) + index;
	u64 entry = addr | bits | VZE_HW_PTE_LEAF;
	unsigned int i;

	update->written_table = NULL;
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

/**
 * vze_pt_write_run() - map a piece of memory
 * @pt: page tables
 * @update: group
 * @va: address
 * @run: piece
 * @bits: VZE_HW_PTE_WRITABLE or 0
 */
void vze_pt_write_run(struct vze_pt *pt, struct vze_pt_update *update, u64 va, struct vze_run run,
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
			map_larger(pt, update, table, level, level_index(va, level), run.addr, num,
				   bits);
		else
			map_small(pt, table, level_index(va, 0), &run, num, bits);
		va += size;
		run_advance(&run, size);
	}
}

/**
 * vze_pt_write_map() - map a range of an object
 * @pt: page tables
 * @update: group
 * @range: range with an object
 */
void vze_pt_write_map(struct vze_pt *pt, struct vze_pt_update *update,
		      const struct vze_pt_range *range)
{
	struct vze_run run;
	u64 done;

	for (done = 0; done < range->size; done += run.size) {
		vze_gem_run(range->bo, range->offset + done, range->size - done, &run);
		vze_pt_write_run(pt, update, range->start + done, run, range->bits);
	}
}

static void clear_small(struct vze_pt *pt, struct page *table, u64 start, u64 end)
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
		clear_small(pt, table, start, end);
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

/**
 * vze_pt_write_clear() - make a range absent
 * @pt: page tables
 * @update: group
 * @start: first byte
 * @end: first byte after it
 * @drop: take out tables that are wholly inside at once; no other change relies on them
 */
void vze_pt_write_clear(struct vze_pt *pt, struct vze_pt_update *update, u64 start, u64 end,
			bool drop)
{
	update->written_table = NULL;
	table_clear(pt, update, pt->root, VZE_PT_ROOT_LEVEL, start, end, drop);
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
		vze_pt_tables_count(pt, -1);
		list_add(&child->lru, &update->freed);
	}
}

/**
 * vze_pt_write_prune() - take out empty tables
 * @pt: page tables
 * @update: group; gets the tables
 * @start: first byte of where to look
 * @end: first byte after it; tables that reach beyond stay
 */
void vze_pt_write_prune(struct vze_pt *pt, struct vze_pt_update *update, u64 start, u64 end)
{
	table_prune(pt, update, pt->root, VZE_PT_ROOT_LEVEL, start, end);
}
