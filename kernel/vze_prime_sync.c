// SPDX-License-Identifier: GPL-2.0
/*
 * Implicit fences: jobs and the reservations of dma-bufs.
 *
 * EXEC does not say which memory its batches touch. The unit is therefore the address
 * space: a job may touch every object that is mapped there at the time of the EXEC, and
 * writes those that have a writable mapping. It waits for what other drivers and other
 * address spaces have put on their reservations: writers, and readers too where it may
 * write. Jobs of one address space are ordered by their submitter and do not wait for
 * each other.
 *
 * Objects take part that are imports of other drivers' dma-bufs, and ours of which a
 * dma-buf was made, on every vze device that has them. Not those that were created
 * EXPLICIT, so that a client which passes its own memory between its own devices pays
 * nothing, and not opened shares, whose users order their work themselves.
 *
 * Publishing is another matter. Whatever is on a reservation must come to an end by
 * itself, for others wait for it: drivers, reclaim, other users. A job that may park
 * on a semaphore ends when some process pleases. The rules:
 *
 *  - Jobs of ordinary queues may park. They wait, and publish nothing.
 *  - Jobs of PUBLISH queues put their fence on the reservations before EXEC returns. They must
 *    not park: the watchdog takes a parked PUBLISH queue for one that hangs, also where
 *    hangs are tolerated otherwise. Nor may they depend on what may park: an
 *    EXEC that waits for such a fence is refused.
 *
 * To wait and to publish are one step under the locks of all reservations, taken with
 * drm_exec together with that of the address space. Nothing but EXEC takes several.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "vze_fence.h"
#include "vze_gem.h"
#include "vze_prime.h"
#include "vze_vm.h"

/*
 * Room that a fence needs on a reservation: two objects may share one, and the same
 * fence stands there as a writer's and as a reader's then.
 */
#define FENCE_SLOTS	2

/**
 * struct vze_prime_entry - an object with implicit fences
 */
struct vze_prime_entry {
	/** @obj: object, with a reference */
	struct drm_gem_object *obj;
	/** @write: some mapping of it is writable */
	bool write;
};

/**
 * struct vze_prime_set - all of them in an address space; constant
 */
struct vze_prime_set {
	/** @ref: the address space, and EXECs under way */
	struct kref ref;
	/** @num: number of entries */
	u32 num;
	/** @entry: sorted by address of the object, each once */
	struct vze_prime_entry entry[] __counted_by(num);
};

/* Moves when an object that may be mapped somewhere begins to take part. */
static atomic64_t prime_epoch = ATOMIC64_INIT(1);

static bool object_takes_part(struct vze_gem *bo)
{
	struct vze_gem *origin = vze_prime_origin(bo);

	if (!origin)
		return true;
	return READ_ONCE(origin->exported) && origin->placement != DRM_VZE_PLACEMENT_SHARE &&
	       !(origin->flags & VZE_GEM_EXPLICIT);
}

/**
 * vze_prime_shared() - a dma-buf of an object has been made
 * @bo: object; the caller excludes others who do the same with it
 */
void vze_prime_shared(struct vze_gem *bo)
{
	if (bo->exported)
		return;
	WRITE_ONCE(bo->exported, true);
	/* Who sees the new epoch sees the flag; pairs with the read in set_get(). */
	if (object_takes_part(bo))
		atomic64_inc_return(&prime_epoch);
}

/* ------------------------------------------------------------------- sets -- */

static void set_free(struct kref *ref)
{
	struct vze_prime_set *set = container_of(ref, struct vze_prime_set, ref);
	u32 i;

	for (i = 0; i < set->num; i++)
		drm_gem_object_put(set->entry[i].obj);
	kvfree(set);
}

static void set_put(struct vze_prime_set *set)
{
	if (set)
		kref_put(&set->ref, set_free);
}

static int entry_compare(const void *a, const void *b)
{
	const struct vze_prime_entry *left = a, *right = b;

	return left->obj < right->obj ? -1 : left->obj > right->obj;
}

/* Lists what takes part in an address space; *@out is NULL when nothing does. */
static int set_make(struct vze_vm *vm, struct vze_prime_set **out)
{
	struct vze_prime_set *set;
	struct drm_gpuva *va;
	u32 found = 0, num = 0, i;

	lockdep_assert_held(&vm->lock);

	*out = NULL;
	drm_gpuvm_for_each_va(va, &vm->base) {
		if (object_takes_part(to_vze_gem(va->gem.obj)))
			found++;
	}
	if (!found)
		return 0;
	set = kvzalloc(struct_size(set, entry, found), GFP_KERNEL_ACCOUNT);
	if (!set)
		return -ENOMEM;
	kref_init(&set->ref);
	set->num = found;

	/* An export meanwhile moves the epoch, so that what is left out here comes next time. */
	drm_gpuvm_for_each_va(va, &vm->base) {
		u32 flags = to_vze_vma(va)->flags;

		if ((flags & DRM_VZE_BIND_NO_ACCESS) || num == found ||
		    !object_takes_part(to_vze_gem(va->gem.obj)))
			continue;
		set->entry[num].obj = va->gem.obj;
		set->entry[num++].write = !(flags & DRM_VZE_BIND_READONLY);
	}

	sort(set->entry, num, sizeof(set->entry[0]), entry_compare, NULL);
	for (i = 0, found = 0; i < num; i++) {
		if (found && set->entry[found - 1].obj == set->entry[i].obj) {
			set->entry[found - 1].write |= set->entry[i].write;
			continue;
		}
		set->entry[found] = set->entry[i];
		drm_gem_object_get(set->entry[found++].obj);
	}
	set->num = found;
	if (found)
		*out = set;
	else
		kvfree(set);
	return 0;
}

/* The set of an address space, with a reference, or NULL; made anew when it is outdated. */
static int set_get(struct vze_vm *vm, struct vze_prime_set **out)
{
	struct vze_prime_vm *prime = &vm->prime;
	struct vze_prime_set *old;
	bool current_set;
	u64 epoch;
	int ret;

	epoch = atomic64_read_acquire(&prime_epoch);
	spin_lock(&prime->lock);
	current_set = prime->epoch == epoch;
	*out = current_set ? prime->set : NULL;
	if (*out)
		kref_get(&(*out)->ref);
	spin_unlock(&prime->lock);
	if (current_set)
		return 0;

	if (mutex_lock_interruptible(&vm->lock))
		return -EINTR;
	epoch = atomic64_read_acquire(&prime_epoch);
	ret = set_make(vm, out);
	if (!ret) {
		if (*out)
			kref_get(&(*out)->ref);
		spin_lock(&prime->lock);
		old = prime->set;
		prime->set = *out;
		prime->epoch = epoch;
		spin_unlock(&prime->lock);
		set_put(old);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

/**
 * vze_prime_vm_init() - nothing is known about a new address space
 * @vm: address space
 */
void vze_prime_vm_init(struct vze_vm *vm)
{
	spin_lock_init(&vm->prime.lock);
}

/**
 * vze_prime_vm_forget() - let go of the objects
 * @vm: address space; vze_vm.lock is held
 *
 * While the mappings hold references of their own, so that no object goes here.
 */
void vze_prime_vm_forget(struct vze_vm *vm)
{
	struct vze_prime_set *set;

	lockdep_assert_held(&vm->lock);

	spin_lock(&vm->prime.lock);
	set = vm->prime.set;
	vm->prime.set = NULL;
	vm->prime.epoch = 0;
	spin_unlock(&vm->prime.lock);
	set_put(set);
}

/**
 * vze_prime_vm_changed() - a mapping of an object comes or goes
 * @vm: address space; vze_vm.lock is held
 * @bo: object, still referenced by the mapping
 */
void vze_prime_vm_changed(struct vze_vm *vm, struct vze_gem *bo)
{
	if (object_takes_part(bo))
		vze_prime_vm_forget(vm);
}

/* ------------------------------------------------------------------- jobs -- */

/**
 * vze_prime_fences_put() - let go of fences
 * @fences: fences; empty afterwards
 */
void vze_prime_fences_put(struct vze_prime_fences *fences)
{
	while (fences->num)
		dma_fence_put(fences->list[--fences->num]);
	kvfree(fences->list);
	fences->list = NULL;
	fences->max = 0;
}

static bool must_wait(struct vze_vm *vm, struct dma_fence *fence)
{
	struct vze_fence *ours = vze_fence_of(fence);

	return !(ours && ours->owner == vm->fence_context) && !dma_fence_is_signaled(fence);
}

/* Takes @num references over, whatever comes of it. */
static int fences_add(struct vze_prime_fences *waits, struct vze_vm *vm, struct dma_fence **from,
		      u32 num)
{
	struct dma_fence **list;
	u32 keep = 0, i;

	for (i = 0; i < num; i++) {
		if (must_wait(vm, from[i]))
			from[keep++] = from[i];
		else
			dma_fence_put(from[i]);
	}
	if (!keep)
		return 0;
	if (keep > waits->max - waits->num) {
		u32 max = max(waits->num + keep, 2 * waits->max);

		list = kvmalloc_array(max, sizeof(*list), GFP_KERNEL_ACCOUNT);
		if (!list) {
			for (i = 0; i < keep; i++)
				dma_fence_put(from[i]);
			return -ENOMEM;
		}
		memcpy(list, waits->list, waits->num * sizeof(*list));
		kvfree(waits->list);
		waits->list = list;
		waits->max = max;
	}
	memcpy(waits->list + waits->num, from, keep * sizeof(*from));
	waits->num += keep;
	return 0;
}

static int set_fences(const struct vze_prime_set *set, struct vze_vm *vm,
		      struct vze_prime_fences *waits)
{
	struct dma_fence **fences;
	unsigned int num;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < set->num; i++) {
		const struct vze_prime_entry *entry = &set->entry[i];

		ret = dma_resv_get_fences(entry->obj->resv, dma_resv_usage_rw(entry->write),
					  &num, &fences);
		if (ret)
			break;
		ret = fences_add(waits, vm, fences, num);
		kfree(fences);
	}
	return ret;
}

static int set_lock(struct vze_prime_job *prime, struct vze_vm *vm)
{
	const struct vze_prime_set *set = prime->set;
	int ret = 0;
	u32 i;

	drm_exec_init(&prime->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      set->num + 1);
	drm_exec_until_all_locked(&prime->exec) {
		ret = drm_exec_prepare_obj(&prime->exec, vm->base.r_obj, FENCE_SLOTS);
		for (i = 0; !ret && i < set->num; i++)
			ret = drm_exec_prepare_obj(&prime->exec, set->entry[i].obj, FENCE_SLOTS);
		drm_exec_retry_on_contention(&prime->exec);
	}
	if (ret)
		drm_exec_fini(&prime->exec);
	else
		prime->locked = true;
	return ret;
}

/**
 * vze_prime_job_begin() - before a job is made
 * @prime: for the other functions; nothing to end after an error
 * @vm: address space of the job
 * @publish: its fence will be given to vze_prime_job_publish()
 * @waits: empty; gets what the job has to wait for
 *
 * With @publish, and if there are objects at all, their reservations and that of the
 * address space are locked, and have room for the fence, until vze_prime_job_end().
 *
 * Return: 0, -ENOMEM or -EINTR.
 */
int vze_prime_job_begin(struct vze_prime_job *prime, struct vze_vm *vm, bool publish,
			struct vze_prime_fences *waits)
{
	int ret;

	prime->locked = false;
	ret = set_get(vm, &prime->set);
	if (ret || !prime->set)
		return ret;
	if (publish)
		ret = set_lock(prime, vm);
	if (!ret)
		ret = set_fences(prime->set, vm, waits);
	if (ret) {
		vze_prime_fences_put(waits);
		vze_prime_job_end(prime);
	}
	return ret;
}

/**
 * vze_prime_job_publish() - let others wait for a job
 * @prime: from vze_prime_job_begin()
 * @fence: fence of the job; it does not park
 *
 * Cannot fail; does nothing unless the reservations are locked.
 */
void vze_prime_job_publish(struct vze_prime_job *prime, struct dma_fence *fence)
{
	u32 i;

	if (!prime->locked)
		return;
	for (i = 0; i < prime->set->num; i++) {
		const struct vze_prime_entry *entry = &prime->set->entry[i];

		dma_resv_add_fence(entry->obj->resv, fence,
				   entry->write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}
}

/**
 * vze_prime_job_end() - after a job was pushed, or could not be made
 * @prime: from vze_prime_job_begin()
 */
void vze_prime_job_end(struct vze_prime_job *prime)
{
	if (prime->locked)
		drm_exec_fini(&prime->exec);
	prime->locked = false;
	set_put(prime->set);
	prime->set = NULL;
}
