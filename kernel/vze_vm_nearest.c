// SPDX-License-Identifier: GPL-2.0
/*
 * What a faulting address is near to, for whoever has to find the mistake.
 */

#include <linux/delay.h>

#include "vze_gem.h"
#include "vze_vm.h"

/* About 3 s of patience with the users of an address space. */
#define TRIES		300
#define PAUSE_MS	10

/* Mappings around @va: the one that begins at or before it, and the next. */
static void vm_neighbours(struct vze_vm *vm, u64 va, struct drm_gpuva **below,
			  struct drm_gpuva **above)
{
	struct rb_node *node = vm->base.rb.tree.rb_root.rb_node;

	*below = NULL;
	*above = NULL;
	while (node) {
		struct drm_gpuva *at = rb_entry(node, struct drm_gpuva, rb.node);

		if (at->va.addr <= va) {
			*below = at;
			node = node->rb_right;
		} else {
			*above = at;
			node = node->rb_left;
		}
	}
}

/*
 * Fences wait for who reports a fault, memory may wait for fences, and holders of the
 * lock may wait for memory: hence no more than some tries.
 */
static bool vm_lock_for_report(struct vze_vm *vm)
{
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (mutex_trylock(&vm->lock))
			return true;
		msleep(PAUSE_MS);
	}
	return false;
}

/**
 * vze_vm_nearest() - what a faulting address is near to
 * @vm: address space
 * @va: address
 * @out: its nearest_* fields are filled in; DRM_VZE_NEAREST_NONE when the address space
 *	was too busy to be looked at
 *
 * Sleeps, but not for long: it may be called where a fence waits for the caller.
 */
void vze_vm_nearest(struct vze_vm *vm, u64 va, struct drm_vze_queue_state *out)
{
	struct drm_gpuva *below, *above, *nearest;
	u64 past = U64_MAX, before = U64_MAX;

	out->nearest_kind = DRM_VZE_NEAREST_NONE;
	out->nearest_placement = 0;
	out->nearest_addr = 0;
	out->nearest_size = 0;
	out->nearest_distance = 0;

	if (!vm_lock_for_report(vm))
		return;
	vm_neighbours(vm, va, &below, &above);
	if (below && va - below->va.addr < below->va.range) {
		nearest = below;
		out->nearest_kind = DRM_VZE_NEAREST_INSIDE;
		out->nearest_distance = va - below->va.addr;
	} else {
		if (below)
			past = va - (below->va.addr + below->va.range);
		if (above)
			before = above->va.addr - va;
		nearest = past <= before ? below : above;
		if (nearest) {
			out->nearest_kind = nearest == below ? DRM_VZE_NEAREST_AFTER :
							       DRM_VZE_NEAREST_BEFORE;
			out->nearest_distance = min(past, before);
		}
	}
	if (nearest) {
		out->nearest_placement = to_vze_gem(nearest->gem.obj)->placement;
		out->nearest_addr = nearest->va.addr;
		out->nearest_size = nearest->va.range;
	}
	mutex_unlock(&vm->lock);
}
