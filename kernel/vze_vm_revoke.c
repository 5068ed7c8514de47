// SPDX-License-Identifier: GPL-2.0
/*
 * Taking the translations of revoked objects out of an address space.
 *
 * The mappings stay in the tree: only the page tables and the CPU's pages change, so that
 * nothing is split and nothing allocated. Where an asynchronous bind is pending, the
 * tables may still show mappings that have left the tree, and do not show yet some that are in
 * it. Both are looked at, and an entry goes if its target is what the mapping would have
 * put there. (What is mapped by somebody else's leave at the same address in between, of
 * the same memory, cannot be told from it and goes too; it faults.)
 */

#include "vze_bind_prepared.h"
#include "vze_device.h"
#include "vze_pt.h"
#include "vze_tlb.h"
#include "vze_vm.h"

/**
 * struct revoke_range - where mappings of revoked objects lie
 */
struct revoke_range {
	/** @start: first byte */
	u64 start;
	/** @end: first byte after the last */
	u64 end;
};

static void range_add_vma(struct vze_vm *vm, struct vze_vma *vma, void *data)
{
	struct revoke_range *range = data;

	range->start = min(range->start, vma->base.va.addr);
	range->end = max(range->end, vma->base.va.addr + vma->base.va.range);
}

static void take_out_vma(struct vze_vm *vm, struct vze_vma *vma, void *data)
{
	vze_pt_take_out(&vm->pt, to_vze_gem(vma->base.gem.obj), vma->base.gem.offset,
			vma->base.va.addr, vma->base.va.range);
}

static bool vma_is_revoked(const struct vze_vma *vma)
{
	return vze_gem_is_revoked(to_vze_gem(vma->base.gem.obj));
}

static void for_removed_by(struct vze_vm *vm, struct vze_bind *bind,
			   void (*fn)(struct vze_vm *vm, struct vze_vma *vma, void *data),
			   void *data)
{
	struct vze_vma *vma;

	list_for_each_entry(vma, &bind->removed, dead) {
		if (vma_is_revoked(vma))
			fn(vm, vma, data);
	}
}

static void for_removed(struct vze_vm *vm, const struct list_head *binds,
			void (*fn)(struct vze_vm *vm, struct vze_vma *vma, void *data), void *data)
{
	struct vze_bind *bind;

	list_for_each_entry(bind, binds, link)
		for_removed_by(vm, bind, fn, data);
}

static void for_deferred(struct vze_vm *vm,
			 void (*fn)(struct vze_vm *vm, struct vze_vma *vma, void *data), void *data)
{
	struct vze_bind *bind;

	for (bind = vze_deferred_first(vm, 0, VZE_VM_END); bind;
	     bind = vze_deferred_next(bind, 0, VZE_VM_END))
		for_removed_by(vm, bind, fn, data);
}

/*
 * With vze_vm.lock, under which binds become pending, and vze_pt.lock, under which they
 * cease to be.
 */
static void for_revoked(struct vze_vm *vm,
			void (*fn)(struct vze_vm *vm, struct vze_vma *vma, void *data), void *data)
{
	struct drm_gpuva *va;

	lockdep_assert_held(&vm->lock);
	lockdep_assert_held(&vm->pt.lock);
	for_removed(vm, &vm->pending, fn, data);
	for_deferred(vm, fn, data);
	drm_gpuvm_for_each_va(va, &vm->base) {
		if (vma_is_revoked(to_vze_vma(va)))
			fn(vm, to_vze_vma(va), data);
	}
}

/* The device's part. */
static int take_out_all(struct vze_vm *vm, struct revoke_range *range)
{
	struct vze_tlb_window window;
	int ret;

	for_revoked(vm, range_add_vma, range);
	if (range->start >= range->end)
		return 0;
	/* Also when nothing is left to take out: last time it may not have been acknowledged. */
	vze_tlb_begin(vm->vdev, vm->asid, range->start, range->end, &window);
	for_revoked(vm, take_out_vma, NULL);
	ret = vze_tlb_end(vm->vdev, &window);
	vm->pt.invalidations++;
	return ret;
}

/**
 * vze_vm_unmap_revoked() - take out the translations of all revoked objects
 * @vm: address space that the caller uses
 *
 * Allocates nothing. When it returns, the CPU has no page of such an object through this
 * address space.
 *
 * Return: 0, or the error of vze_tlb_end(): the device may still use them.
 */
int vze_vm_unmap_revoked(struct vze_vm *vm)
{
	struct revoke_range range = { .start = U64_MAX };
	int ret = 0;

	mutex_lock(&vm->lock);
	mutex_lock(&vm->pt.lock);
	if (!vm->dead)
		ret = take_out_all(vm, &range);
	mutex_unlock(&vm->pt.lock);

	/* Binds that have been carried out, but have not come to the CPU's pages yet. */
	spin_lock(&vm->pending_lock);
	for_removed(vm, &vm->finishing, range_add_vma, &range);
	spin_unlock(&vm->pending_lock);
	if (range.start < range.end)
		vze_vm_zap(vm, range.start, range.end);
	mutex_unlock(&vm->lock);
	return ret;
}
