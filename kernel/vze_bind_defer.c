// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred binds: memory that is freed while work still uses it.
 *
 * Each stands for itself: it unmaps when the work that it waits for has ended, however long
 * others have to wait. Three things make that possible. Its mappings have left the tree at the
 * call and are its own from then on, so that nobody else can take them for something of
 * theirs. Unmapping relies on nothing in the page tables but its spares, and so can come before or
 * after whatever happens elsewhere, see struct vze_pt_update. And whoever maps something
 * in its range comes after it, so that it never meets another's translation there. To find these
 * quickly among any number of deferred binds, an address space keeps them in an interval tree.
 *
 * From the submission on nothing is allocated, and no call of any process is needed: the
 * last fence queues the worker, which lets go of the objects.
 */

#include <linux/interval_tree_generic.h>
#include <linux/seq_file.h>

#include "vze_bind_prepared.h"
#include "vze_gem.h"
#include "vze_vm.h"

static u64 deferred_start(const struct vze_bind *bind)
{
	return bind->start;
}

static u64 deferred_last(const struct vze_bind *bind)
{
	return bind->end - 1;
}

INTERVAL_TREE_DEFINE(struct vze_bind, node, u64, subtree_last, deferred_start, deferred_last,
		     static, deferred)

/**
 * vze_deferred_first() - the first deferred bind in a range that was not carried out
 * @vm: address space; vze_vm.pending_lock is held, or vze_vm.lock and vze_pt.lock together
 * @start: first byte
 * @end: first byte after it
 *
 * Return: a bind with its first and last address around some byte of the range, or NULL.
 */
struct vze_bind *vze_deferred_first(struct vze_vm *vm, u64 start, u64 end)
{
	return deferred_iter_first(&vm->deferred, start, end - 1);
}

/**
 * vze_deferred_next() - the next one
 * @bind: from vze_deferred_first() or this function, the locks held since
 * @start: first byte
 * @end: first byte after it
 */
struct vze_bind *vze_deferred_next(struct vze_bind *bind, u64 start, u64 end)
{
	return deferred_iter_next(bind, start, end - 1);
}

/**
 * vze_deferred_add() - a deferred bind begins to wait
 * @bind: bind whose mappings have left the tree; vze_vm.pending_lock is held
 */
void vze_deferred_add(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	int i;

	lockdep_assert_held(&vm->pending_lock);
	deferred_insert(bind, &vm->deferred);
	bind->accounted = true;
	vm->deferred_num++;
	for (i = 0; i < VZE_REGION_COUNT; i++) {
		vm->deferred_bytes[i] += bind->bytes[i];
		atomic64_add(bind->bytes[i], &vm->vdev->counts.deferred[i]);
	}
}

/**
 * vze_deferred_carried_out() - its range is free for others
 * @bind: bind; vze_vm.pending_lock is held
 *
 * Its memory is still to be let go of.
 */
void vze_deferred_carried_out(struct vze_bind *bind)
{
	lockdep_assert_held(&bind->vm->pending_lock);
	deferred_remove(bind, &bind->vm->deferred);
}

/**
 * vze_deferred_over() - take it out of the accounts
 * @bind: bind that has let go of its memory, or that was relieved of it; vze_vm.pending_lock is
 *	held
 *
 * Doing it again changes nothing.
 */
void vze_deferred_over(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	int i;

	lockdep_assert_held(&vm->pending_lock);
	if (!bind->accounted)
		return;
	bind->accounted = false;
	vm->deferred_num--;
	for (i = 0; i < VZE_REGION_COUNT; i++) {
		vm->deferred_bytes[i] -= bind->bytes[i];
		atomic64_sub(bind->bytes[i], &vm->vdev->counts.deferred[i]);
	}
}

/**
 * vze_bind_show_deferred() - deferred binds, for debugfs
 * @m: file
 * @vm: address space
 */
void vze_bind_show_deferred(struct seq_file *m, struct vze_vm *vm)
{
	struct vze_bind *bind;

	spin_lock(&vm->pending_lock);
	if (vm->deferred_num)
		seq_printf(m, "  %llu deferred: %llu bytes of vram, %llu of system\n",
			   vm->deferred_num, vm->deferred_bytes[VZE_REGION_VRAM],
			   vm->deferred_bytes[VZE_REGION_SYSTEM]);
	for (bind = vze_deferred_first(vm, 0, VZE_VM_END); bind;
	     bind = vze_deferred_next(bind, 0, VZE_VM_END))
		seq_printf(m, "  0x%012llx-0x%012llx deferred, %llu bytes of vram, %llu of system\n",
			   bind->start, bind->end, bind->bytes[VZE_REGION_VRAM],
			   bind->bytes[VZE_REGION_SYSTEM]);
	spin_unlock(&vm->pending_lock);
}
