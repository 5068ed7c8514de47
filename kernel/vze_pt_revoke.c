// SPDX-License-Identifier: GPL-2.0
/*
 * Taking single translations out of page tables, by what they point at.
 */

#include "vze_pt_entry.h"

/*
 * The entry for @va that is a leaf, or NULL; @level gets its level, or that of the absent
 * entry.
 */
static u64 *leaf_find(struct vze_pt *pt, u64 va, struct page **table, int *level)
{
	*table = pt->root;
	for (*level = VZE_PT_ROOT_LEVEL;; (*level)--) {
		u64 *entry = table_entries(*table) + level_index(va, *level);

		if (!entry_present(*entry))
			return NULL;
		if (entry_is_leaf(*entry, *level))
			return entry;
		*table = entry_table(*entry);
	}
}

/* Where a leaf at @level sends @va. */
static u64 leaf_target(u64 entry, int level, u64 va)
{
	u64 base = entry & VZE_HW_PTE_ADDR_MASK & ~(level_size(level) - 1);

	return base + (va & (level_size(level) - 1));
}

static bool leaf_matches(u64 entry, int level, u64 va, const struct vze_run *run)
{
	u64 addr = run->addrs ? run->addrs[0] : run->addr;

	return leaf_target(entry, level, va) == addr &&
	       (entry & VZE_HW_PTE_VRAM) == (run->bits & VZE_HW_PTE_VRAM);
}

static void take_out_run(struct vze_pt *pt, struct vze_run run, u64 va)
{
	while (run.size) {
		struct page *table;
		u64 step;
		int level;
		u64 *entry = leaf_find(pt, va, &table, &level);

		if (entry && leaf_matches(*entry, level, va, &run)) {
			/*
			 * A leaf is made of one piece of one mapping. It reaches beyond this one
			 * only where a pending bind has cut that mapping: all of it is the same
			 * object's.
			 */
			WRITE_ONCE(*entry, 0);
			table_count_add(table, -1);
			pt->leaves[level]--;
		}
		step = level_size(level) - (va & (level_size(level) - 1));
		step = min(step, run.size);
		va += step;
		run_advance(&run, step);
	}
}

/**
 * vze_pt_take_out() - take out the translations of a mapping, where it has them
 * @pt: page tables; the caller holds their lock
 * @bo: object
 * @offset: first byte in @bo
 * @va: address
 * @size: bytes
 *
 * Between vze_tlb_begin() and vze_tlb_end() for the whole range. Takes no table out;
 * those that are empty now go with the next bind nearby.
 */
void vze_pt_take_out(struct vze_pt *pt, struct vze_gem *bo, u64 offset, u64 va, u64 size)
{
	struct vze_run run;
	u64 done;

	lockdep_assert_held(&pt->lock);
	for (done = 0; done < size; done += run.size) {
		vze_gem_run(bo, offset + done, size - done, &run);
		take_out_run(pt, run, va + done);
	}
	range_add(&pt->prune_start, &pt->prune_end, va, va + size);
}
