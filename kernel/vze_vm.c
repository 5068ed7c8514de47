// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces: their life, and what others ask about them.
 */

#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vze_bind.h"
#include "vze_ctrl.h"
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_quarantine.h"
#include "vze_share.h"
#include "vze_user.h"
#include "vze_vm.h"

static struct kmem_cache *vma_cache;

/* All address spaces of all devices, in order. Taken outside of vze_vm.lock. */
static LIST_HEAD(all_vms);
static DEFINE_MUTEX(all_vms_lock);
static u64 last_vm_number;

/* --------------------------------------------------------------- mappings -- */

/**
 * vze_vma_alloc() - memory for a mapping
 *
 * Return: zeroed, or NULL.
 */
struct vze_vma *vze_vma_alloc(void)
{
	return kmem_cache_zalloc(vma_cache, GFP_KERNEL_ACCOUNT);
}

/**
 * vze_vma_alloc_bulk() - memory for several mappings
 * @num: how many
 * @vmas: result
 *
 * Return: @num, all zeroed, or 0.
 */
u32 vze_vma_alloc_bulk(u32 num, void **vmas)
{
	return kmem_cache_alloc_bulk(vma_cache, GFP_KERNEL_ACCOUNT | __GFP_ZERO, num, vmas);
}

/**
 * vze_vma_free() - give a mapping and its reference on the object back
 * @vma: mapping that is in no tree, and that the device has forgotten
 *
 * May free the object; may sleep.
 */
void vze_vma_free(struct vze_vma *vma)
{
	if (vma->base.gem.obj)
		drm_gem_object_put(vma->base.gem.obj);
	kmem_cache_free(vma_cache, vma);
}

/* ------------------------------------------------------------------- life -- */

static void vm_free(struct drm_gpuvm *base)
{
	struct vze_vm *vm = to_vze_vm(base);
	struct vze_device *vdev = vm->vdev;

	vze_user_discharge(vm->user, VZE_USER_VMS);
	mutex_destroy(&vm->pt.lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
	drm_dev_put(&vdev->drm);
}

static const struct drm_gpuvm_ops vm_ops = {
	.vm_free = vm_free,
	.sm_step_map = vze_bind_step_map,
	.sm_step_remap = vze_bind_step_remap,
	.sm_step_unmap = vze_bind_step_unmap,
};

static int vm_hardware_init(struct vze_vm *vm)
{
	struct vze_device *vdev = vm->vdev;
	int ret;

	ret = vze_asid_alloc(vdev, &vm->asid);
	if (ret)
		return ret;
	ret = vze_pt_init(&vm->pt, vdev, vm->asid, false);
	if (ret) {
		vze_asid_free(vdev, vm->asid);
		return ret;
	}
	ret = vze_ctrl_as_create(vdev, vm->asid, page_to_phys(vm->pt.root));
	if (ret) {
		/* A lost device may take the command later: id and root are gone for it. */
		vze_pt_fini(&vm->pt, false);
		mutex_destroy(&vm->pt.lock);
	}
	return ret;
}

static struct vze_vm *vm_create(struct vze_device *vdev, const struct vze_file *owner)
{
	struct drm_gem_object *r_obj;
	struct vze_vm *vm;
	int ret;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);
	vm->vdev = vdev;
	kref_init(&vm->users);
	mutex_init(&vm->lock);
	spin_lock_init(&vm->pending_lock);
	INIT_LIST_HEAD(&vm->pending);
	vm->deferred = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&vm->finishing);
	vm->fence_context = dma_fence_context_alloc(1);
	vze_prime_vm_init(vm);

	vm->user = vze_user_charge_current(VZE_USER_VMS);
	if (IS_ERR(vm->user)) {
		ret = PTR_ERR(vm->user);
		goto err_vm;
	}
	r_obj = drm_gpuvm_resv_object_alloc(&vdev->drm);
	if (!r_obj) {
		ret = -ENOMEM;
		goto err_charge;
	}
	ret = vm_hardware_init(vm);
	if (ret)
		goto err_resv;
	drm_gpuvm_init(&vm->base, "vze", 0, &vdev->drm, r_obj, VZE_VM_START,
		       VZE_VM_END - VZE_VM_START, 0, 0, &vm_ops);
	drm_gem_object_put(r_obj);
	drm_dev_get(&vdev->drm);

	mutex_lock(&all_vms_lock);
	vm->owner = owner;
	vm->number = ++last_vm_number;
	list_add_tail(&vm->link, &all_vms);
	mutex_unlock(&all_vms_lock);
	atomic64_inc(&vdev->counts.vms);
	return vm;

err_resv:
	drm_gem_object_put(r_obj);
err_charge:
	vze_user_discharge(vm->user, VZE_USER_VMS);
err_vm:
	mutex_destroy(&vm->lock);
	kfree(vm);
	return ERR_PTR(ret);
}

/*
 * Takes everything out of the address space and the address space out of the device. Its
 * queues are gone. What asynchronous binds still wait for does not matter any more:
 * they find the address space dead.
 */
static void vm_teardown(struct vze_vm *vm)
{
	struct vze_device *vdev = vm->vdev;
	struct drm_gpuva *va, *next;
	struct vze_vma *vma, *next_vma;
	LIST_HEAD(vmas);
	int ret, destroyed;

	mutex_lock(&vm->lock);
	if (vm->dead) {
		mutex_unlock(&vm->lock);
		return;
	}
	vze_prime_vm_forget(vm);
	drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
		drm_gpuva_remove(va);
		list_add_tail(&to_vze_vma(va)->dead, &vmas);
	}
	mutex_lock(&vm->pt.lock);
	vm->dead = true;
	vze_bind_abandon(vm, &vmas);
	ret = vze_pt_clear_all(&vm->pt);
	atomic64_sub(vm->num_vmas, &vdev->counts.vmas);
	vm->num_vmas = 0;
	mutex_unlock(&vm->pt.lock);
	mutex_unlock(&vm->lock);

	vze_vm_zap(vm, 0, VZE_VM_END);
	destroyed = vze_ctrl_as_destroy(vdev, vm->asid);
	/* After an acknowledged reset at remove the device knows nothing any more. */
	if (READ_ONCE(vdev->quiesced))
		destroyed = 0;
	vze_pt_fini(&vm->pt, !destroyed);
	if (!destroyed)
		vze_asid_free(vdev, vm->asid);

	if (ret)
		vze_quarantine_vmas(vdev, &vmas);
	list_for_each_entry_safe(vma, next_vma, &vmas, dead) {
		vze_vma_free(vma);
		cond_resched();
	}

	mutex_lock(&all_vms_lock);
	list_del(&vm->link);
	mutex_unlock(&all_vms_lock);
	atomic64_dec(&vdev->counts.vms);
}

static void vm_unused(struct kref *users)
{
	struct vze_vm *vm = container_of(users, struct vze_vm, users);

	vm_teardown(vm);
	drm_gpuvm_put(&vm->base);
}

/**
 * vze_vm_get() - use an address space
 * @vm: address space that the caller knows to be used
 */
struct vze_vm *vze_vm_get(struct vze_vm *vm)
{
	kref_get(&vm->users);
	return vm;
}

/**
 * vze_vm_put() - do not use an address space any more
 * @vm: address space, or NULL
 *
 * The last user takes it out of the device. May sleep; not where a fence waits for the
 * caller.
 */
void vze_vm_put(struct vze_vm *vm)
{
	if (vm)
		kref_put(&vm->users, vm_unused);
}

/**
 * vze_vm_next() - go through the address spaces of a device
 * @vdev: device
 * @number: 0 at first; set to the number of the result
 *
 * Those made after the beginning may be given or not. None is locked meanwhile.
 *
 * Return: the next one that is in use, to be given back by vze_vm_put(), or NULL.
 */
struct vze_vm *vze_vm_next(struct vze_device *vdev, u64 *number)
{
	struct vze_vm *vm, *found = NULL;

	mutex_lock(&all_vms_lock);
	list_for_each_entry(vm, &all_vms, link) {
		if (vm->number > *number && vm->vdev == vdev &&
		    kref_get_unless_zero(&vm->users)) {
			*number = vm->number;
			found = vm;
			break;
		}
	}
	mutex_unlock(&all_vms_lock);
	return found;
}

/**
 * vze_vm_lookup() - the address space of an id
 * @file: file
 * @id: its id
 *
 * Return: the address space, to be given back by vze_vm_put(), or NULL.
 */
struct vze_vm *vze_vm_lookup(struct vze_file *file, u32 id)
{
	struct vze_vm *vm;

	xa_lock(&file->vms);
	vm = xa_load(&file->vms, id);
	if (vm)
		vze_vm_get(vm);
	xa_unlock(&file->vms);
	return vm;
}

/**
 * vze_memory_file_open() - memory side of a new file
 * @file: file
 */
void vze_memory_file_open(struct vze_file *file)
{
	xa_init_flags(&file->vms, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&file->shares);
}

/* An address space of a file that is being closed, with a reference; each once. */
static struct vze_vm *vm_disown(const struct vze_file *file)
{
	struct vze_vm *vm, *found = NULL;

	mutex_lock(&all_vms_lock);
	list_for_each_entry(vm, &all_vms, link) {
		if (vm->owner != file)
			continue;
		vm->owner = NULL;
		if (kref_get_unless_zero(&vm->users)) {
			found = vm;
			break;
		}
	}
	mutex_unlock(&all_vms_lock);
	return found;
}

/**
 * vze_memory_file_close() - release what a file holds
 * @file: file, without queues and handles
 *
 * Address spaces are torn down whatever pending binds wait for, also those without an id,
 * which are there for such a bind only: nothing stays pinned.
 */
void vze_memory_file_close(struct vze_file *file)
{
	struct vze_vm *vm;
	unsigned long id;

	vze_shares_file_close(file);
	while ((vm = vm_disown(file))) {
		vm_teardown(vm);
		vze_vm_put(vm);
	}
	xa_for_each(&file->vms, id, vm) {
		xa_erase(&file->vms, id);
		vze_vm_put(vm);
	}
	xa_destroy(&file->vms);
}

/* ----------------------------------------------------------------- ioctls -- */

/**
 * vze_vm_create_ioctl() - DRM_IOCTL_VZE_VM_CREATE
 * @drm: device
 * @data: struct drm_vze_vm_create
 * @file: caller
 */
int vze_vm_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_vm_create *args = data;
	struct vze_vm *vm;
	int ret;

	if (args->flags)
		return -EINVAL;
	vm = vm_create(to_vze(drm), to_vze_file(file));
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	ret = xa_alloc(&to_vze_file(file)->vms, &args->vm_id, vm,
		       XA_LIMIT(1, DRM_VZE_MAX_VM_ID - 1), GFP_KERNEL_ACCOUNT);
	if (ret) {
		vze_vm_put(vm);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	return 0;
}

/**
 * vze_vm_destroy_ioctl() - DRM_IOCTL_VZE_VM_DESTROY
 * @drm: device
 * @data: struct drm_vze_vm_destroy
 * @file: caller
 */
int vze_vm_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_vm_destroy *args = data;
	struct vze_vm *vm;

	if (args->pad)
		return -EINVAL;
	vm = xa_erase(&to_vze_file(file)->vms, args->vm_id);
	if (!vm)
		return -ENOENT;
	vze_vm_put(vm);
	return 0;
}

/**
 * vze_vm_info_ioctl() - DRM_IOCTL_VZE_VM_INFO
 * @drm: device
 * @data: struct drm_vze_vm_info
 * @file: caller
 */
int vze_vm_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_vm_info *args = data;
	struct vze_vm *vm;

	if (args->pad)
		return -EINVAL;
	vm = vze_vm_lookup(to_vze_file(file), args->vm_id);
	if (!vm)
		return -ENOENT;
	mutex_lock(&vm->pt.lock);
	args->mappings = vm->num_vmas;
	args->pte_4k = vm->pt.leaves[0];
	args->pte_2m = vm->pt.leaves[1];
	args->pte_1g = vm->pt.leaves[2];
	args->pt_pages = vm->pt.tables;
	args->tlb_invalidations = vm->pt.invalidations;
	mutex_unlock(&vm->pt.lock);
	vze_vm_put(vm);
	return 0;
}

/* -------------------------------------------------------------- questions -- */

/**
 * vze_vm_resv() - reservation of an address space
 * @vm: address space
 *
 * Jobs add their fences to it as DMA_RESV_USAGE_BOOKKEEP; nothing of the memory's
 * safety depends on them.
 */
struct dma_resv *vze_vm_resv(struct vze_vm *vm)
{
	return drm_gpuvm_resv(&vm->base);
}

static const char *placement_name(u32 placement)
{
	static const char * const names[] = {
		[DRM_VZE_PLACEMENT_VRAM] = "vram",
		[DRM_VZE_PLACEMENT_SYSTEM] = "system",
		[DRM_VZE_PLACEMENT_USERPTR] = "userptr",
		[DRM_VZE_PLACEMENT_IMPORTED] = "imported",
		[DRM_VZE_PLACEMENT_SHARE] = "share",
	};

	return placement < ARRAY_SIZE(names) && names[placement] ? names[placement] : "?";
}

/**
 * vze_vms_deferred() - what a file's deferred unmaps wait with
 * @file: file
 * @sum: result
 *
 * Address spaces whose id was dropped are included.
 */
void vze_vms_deferred(struct vze_file *file, struct vze_deferred *sum)
{
	struct vze_vm *vm;
	int i;

	memset(sum, 0, sizeof(*sum));
	mutex_lock(&all_vms_lock);
	list_for_each_entry(vm, &all_vms, link) {
		if (vm->owner != file)
			continue;
		spin_lock(&vm->pending_lock);
		sum->num += vm->deferred_num;
		for (i = 0; i < VZE_REGION_COUNT; i++)
			sum->bytes[i] += vm->deferred_bytes[i];
		spin_unlock(&vm->pending_lock);
	}
	mutex_unlock(&all_vms_lock);
}

static void vm_show(struct seq_file *m, struct vze_vm *vm)
{
	struct drm_gpuva *va;

	mutex_lock(&vm->lock);
	mutex_lock(&vm->pt.lock);
	seq_printf(m, "vm asid %u: %llu mappings, leaves %llu x 4K %llu x 2M %llu x 1G, ",
		   vm->asid, vm->num_vmas, vm->pt.leaves[0], vm->pt.leaves[1], vm->pt.leaves[2]);
	seq_printf(m, "%llu tables, %llu invalidations\n", vm->pt.tables, vm->pt.invalidations);
	mutex_unlock(&vm->pt.lock);
	drm_gpuvm_for_each_va(va, &vm->base) {
		struct vze_gem *bo = to_vze_gem(va->gem.obj);
		u32 flags = to_vze_vma(va)->flags;

		seq_printf(m, "  0x%012llx-0x%012llx %s %s offset 0x%llx of %zu bytes\n",
			   va->va.addr, va->va.addr + va->va.range,
			   flags & DRM_VZE_BIND_NO_ACCESS ? "--" :
			   flags & DRM_VZE_BIND_READONLY ? "r-" : "rw",
			   placement_name(bo->placement), va->gem.offset, bo->base.size);
	}
	vze_bind_show_deferred(m, vm);
	mutex_unlock(&vm->lock);
}

/**
 * vze_vms_show() - debugfs vze_vms
 * @m: file
 * @unused: not used
 */
int vze_vms_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	struct vze_vm *vm;

	mutex_lock(&all_vms_lock);
	list_for_each_entry(vm, &all_vms, link) {
		if (vm->vdev == vdev)
			vm_show(m, vm);
	}
	mutex_unlock(&all_vms_lock);
	return 0;
}

/* ----------------------------------------------------------------- module -- */

/**
 * vze_memory_module_init() - what the memory side needs once
 *
 * Return: 0 or -ENOMEM.
 */
int vze_memory_module_init(void)
{
	int ret;

	vma_cache = KMEM_CACHE(vze_vma, SLAB_ACCOUNT);
	if (!vma_cache)
		return -ENOMEM;
	ret = vze_bind_module_init();
	if (ret)
		goto err_cache;
	ret = vze_share_module_init();
	if (ret)
		goto err_bind;
	return 0;

err_bind:
	vze_bind_module_exit();
err_cache:
	kmem_cache_destroy(vma_cache);
	return ret;
}

/**
 * vze_memory_module_exit() - undo vze_memory_module_init()
 */
void vze_memory_module_exit(void)
{
	vze_share_module_exit();
	vze_bind_module_exit();
	kmem_cache_destroy(vma_cache);
}
