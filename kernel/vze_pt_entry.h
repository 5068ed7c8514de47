/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entries of page tables; for vze_pt*.c only.
 */
#ifndef _VZE_PT_ENTRY_H_
#define _VZE_PT_ENTRY_H_

#include <linux/io.h>
#include <linux/mm.h>

#include "vze_gem.h"
#include "vze_pt.h"

#define VZE_PT_ROOT_LEVEL	(VZE_HW_LEVELS - 1)

static inline u64 level_size(int level)
{
	return 1ULL << VZE_HW_LEVEL_SHIFT(level);
}

static inline unsigned int level_index(u64 va, int level)
{
	return (va >> VZE_HW_LEVEL_SHIFT(level)) & (VZE_HW_ENTRIES - 1);
}

static inline u64 *table_entries(struct page *table)
{
	return page_address(table);
}

/* Present entries of a table. */
static inline unsigned int table_count(const struct page *table)
{
	return page_private(table);
}

static inline void table_count_add(struct page *table, int num)
{
	set_page_private(table, page_private(table) + num);
}

static inline bool entry_present(u64 entry)
{
	return entry & VZE_HW_PTE_PRESENT;
}

/* Of a present entry at @level. */
static inline bool entry_is_leaf(u64 entry, int level)
{
	return !level || (entry & VZE_HW_PTE_LEAF);
}

static inline struct page *entry_table(u64 entry)
{
	return pfn_to_page(PHYS_PFN(entry & VZE_HW_PTE_ADDR_MASK));
}

static inline void entry_point_at(u64 *entry, struct page *table)
{
	/* The table's contents before the entry that makes them visible. */
	smp_wmb();
	WRITE_ONCE(*entry, page_to_phys(table) | VZE_HW_PTE_PRESENT);
}

static inline void range_add(u64 *range_start, u64 *range_end, u64 start, u64 end)
{
	*range_start = min(*range_start, start);
	*range_end = max(*range_end, end);
}

/* Level of the largest leaf that can stand at the beginning of a piece. */
static inline int leaf_level(u64 va, const struct vze_run *run)
{
	int level;

	if (run->addrs)
		return 0;
	for (level = VZE_PT_ROOT_LEVEL - 1; level > 0; level--) {
		if (run->size >= level_size(level) &&
		    IS_ALIGNED(va | run->addr, level_size(level)))
			return level;
	}
	return 0;
}

/* Bytes of a piece that go into one table at @level, beginning at @va. */
static inline u64 leaf_stretch(u64 va, const struct vze_run *run, int level)
{
	u64 room = level_size(level + 1) - (va & (level_size(level + 1) - 1));
	u64 size = min(room, run->size);

	/* What lies before the first place of a larger leaf is cut off by @room. */
	return round_down(size, level_size(level));
}

static inline void run_advance(struct vze_run *run, u64 size)
{
	run->addr += size;
	run->size -= size;
	if (run->addrs)
		run->addrs += size >> PAGE_SHIFT;
}

struct page *vze_pt_table_alloc(void);
void vze_pt_tables_count(struct vze_pt *pt, long num);
struct page *vze_pt_spare_take(struct vze_pt *pt, struct vze_pt_update *update);
int vze_pt_run_reserve(struct vze_pt *pt, struct vze_pt_update *update, u64 va,
		       struct vze_run run);

void vze_pt_write_run(struct vze_pt *pt, struct vze_pt_update *update, u64 va,
		      struct vze_run run, u64 bits);
void vze_pt_write_map(struct vze_pt *pt, struct vze_pt_update *update,
		      const struct vze_pt_range *range);
void vze_pt_write_clear(struct vze_pt *pt, struct vze_pt_update *update, u64 start, u64 end,
			bool drop);
void vze_pt_write_prune(struct vze_pt *pt, struct vze_pt_update *update, u64 start, u64 end);

#endif /* _VZE_PT_ENTRY_H_ */
