// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings of objects.
 *
 * System memory goes into the process's tables as ordinary pages, several at a fault,
 * VRAM as frames of the BAR. Both can stand in one VMA (VM_MIXEDMAP): one mapping of an
 * address space or of an opened share serves objects of any kind.
 *
 * A read-only object must not become writable later: its pages are only put into VMAs
 * that mprotect(2) cannot make writable.
 */

#include <linux/dma-buf.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_vma_manager.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_gem_share.h"
#include "vze_vm.h"

/* Most pages that one fault maps. */
#define VZE_FAULT_PAGES		64

/**
 * vze_gem_cpu_mappable() - can the pages of an object stand in a process's tables?
 * @bo: object
 */
bool vze_gem_cpu_mappable(const struct vze_gem *bo)
{
	switch (bo->placement) {
	case DRM_VZE_PLACEMENT_VRAM:
	case DRM_VZE_PLACEMENT_SYSTEM:
	case DRM_VZE_PLACEMENT_SHARE:
		return true;
	default:
		return false;
	}
}

static vm_fault_t insert_vram(struct vze_device *vdev, struct vm_fault *vmf, u64 phys,
			      unsigned long num)
{
	unsigned long pfn = PHYS_PFN(phys);
	unsigned long addr = vmf->address & PAGE_MASK;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long i;
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return VM_FAULT_SIGBUS;
	for (i = 0; i < num; i++) {
		vm_fault_t one = vmf_insert_pfn(vmf->vma, addr + i * PAGE_SIZE, pfn + i);

		/* Only the first page was asked for. */
		if (!i)
			ret = one;
		if (one != VM_FAULT_NOPAGE)
			break;
	}
	drm_dev_exit(idx);
	return ret;
}

static vm_fault_t insert_pages(struct vm_fault *vmf, const struct vze_run *run, unsigned long num)
{
	unsigned long addr = vmf->address & PAGE_MASK;
	struct page *pages[VZE_FAULT_PAGES];
	unsigned long left = num, i;
	int ret;

	for (i = 0; i < num; i++) {
		phys_addr_t phys = run->addrs ? run->addrs[i] : run->addr + i * PAGE_SIZE;

		pages[i] = pfn_to_page(PHYS_PFN(phys));
	}
	/* Stops at a page that is there already; it need not be the first. */
	ret = vm_insert_pages(vmf->vma, addr, pages, &left);
	if (!ret || ret == -EBUSY || left < num)
		return VM_FAULT_NOPAGE;
	return ret == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static vm_fault_t insert_run(struct vze_gem *bo, struct vm_fault *vmf, u64 offset, u64 max)
{
	unsigned long addr = vmf->address & PAGE_MASK;
	struct vze_run run;
	unsigned long num;

	if (!vze_gem_cpu_mappable(bo))
		return VM_FAULT_SIGBUS;
	if ((bo->flags & VZE_GEM_READONLY) && (vmf->vma->vm_flags & (VM_WRITE | VM_MAYWRITE)))
		return VM_FAULT_SIGBUS;

	max = min3(max, (u64)(vmf->vma->vm_end - addr), (u64)(pmd_addr_end(addr, 0) - addr));
	max = min_t(u64, max, VZE_FAULT_PAGES * PAGE_SIZE);
	if (vze_gem_expose(bo, offset, max, &run))
		return VM_FAULT_SIGBUS;
	num = run.size >> PAGE_SHIFT;
	if (run.bits & VZE_HW_PTE_VRAM)
		return insert_vram(vze_gem_device(bo), vmf, run.addr, num);
	return insert_pages(vmf, &run, num);
}

/**
 * vze_gem_fault_run() - map pages of an object at a faulting address and behind it
 * @bo: object
 * @vmf: fault; the VMA is VM_MIXEDMAP, or VM_PFNMAP for an object in VRAM
 * @offset: byte of the object that belongs at the faulting page
 * @max: bytes of the object from there on that may be mapped behind it
 *
 * The caller makes sure that the object keeps its place there until the pages are in.
 */
vm_fault_t vze_gem_fault_run(struct vze_gem *bo, struct vm_fault *vmf, u64 offset, u64 max)
{
	vm_fault_t ret;

	if (bo->placement != DRM_VZE_PLACEMENT_SHARE)
		return insert_run(bo, vmf, offset, max);
	if (!vze_gem_share_begin_fault(to_vze_gem_share(bo)))
		return VM_FAULT_SIGBUS;
	ret = insert_run(bo, vmf, offset, max);
	vze_gem_share_end_fault(to_vze_gem_share(bo));
	return ret;
}

static u64 vma_object_offset(struct vm_area_struct *vma, unsigned long addr)
{
	struct drm_gem_object *obj = vma->vm_private_data;

	return (u64)(vma->vm_pgoff - drm_vma_node_start(&obj->vma_node)) * PAGE_SIZE +
	       (addr - vma->vm_start);
}

static vm_fault_t gem_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	u64 offset = vma_object_offset(vmf->vma, vmf->address & PAGE_MASK);

	if (offset >= obj->size)
		return VM_FAULT_SIGBUS;
	return vze_gem_fault_run(to_vze_gem(obj), vmf, offset, obj->size - offset);
}

/**
 * vze_gem_access() - read or write VRAM of an object for a debugger
 * @bo: object
 * @offset: first byte
 * @buf: data
 * @len: bytes
 * @write: direction
 *
 * Pages of system memory do not come here.
 *
 * Return: bytes, or a negative error.
 */
int vze_gem_access(struct vze_gem *bo, u64 offset, void *buf, int len, int write)
{
	struct vze_device *vdev = vze_gem_device(bo);
	u64 page = round_down(offset, PAGE_SIZE);
	struct vze_run run;
	char *at;
	int idx;

	if (!vze_gem_cpu_mappable(bo) || vze_gem_is_revoked(bo) || offset >= bo->base.size ||
	    (write && (bo->flags & VZE_GEM_READONLY)))
		return -EFAULT;
	len = min_t(u64, len, page + PAGE_SIZE - offset);
	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	if (vze_gem_expose(bo, page, PAGE_SIZE, &run) || !(run.bits & VZE_HW_PTE_VRAM)) {
		drm_dev_exit(idx);
		return -EFAULT;
	}
	at = (char *)vdev->bar + (run.addr - vdev->bar_phys) + (offset - page);
	if (write)
		memcpy(at, buf, len);
	else
		memcpy(buf, at, len);
	drm_dev_exit(idx);
	return len;
}

static int gem_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len, int write)
{
	struct drm_gem_object *obj = vma->vm_private_data;

	return vze_gem_access(to_vze_gem(obj), vma_object_offset(vma, addr), buf, len, write);
}

const struct vm_operations_struct vze_gem_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = gem_fault,
	.access = gem_access,
};

/**
 * vze_gem_mmap_object() - &drm_gem_object_funcs.mmap of all kinds that can be mapped
 * @obj: object
 * @vma: VMA, with a reference on @obj that goes away if this fails
 *
 * Return: 0, -EINVAL (a private mapping), -EACCES (writable, of a read-only object).
 */
int vze_gem_mmap_object(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct vze_gem *bo = to_vze_gem(obj);

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (bo->flags & VZE_GEM_READONLY) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	/* Pages of VRAM are no memory of the kernel's: VM_PFNMAP says so to all. */
	if (bo->placement == DRM_VZE_PLACEMENT_VRAM)
		vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	else
		vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND);
	return 0;
}

/* Like drm_gem_mmap(), but for any part of an object. */
static int mmap_object(struct drm_file *file, struct vm_area_struct *vma)
{
	struct drm_vma_offset_manager *manager = file->minor->dev->vma_offset_manager;
	struct drm_vma_offset_node *node;
	struct drm_gem_object *obj = NULL;
	u64 skip;
	int ret;

	drm_vma_offset_lock_lookup(manager);
	node = drm_vma_offset_lookup_locked(manager, vma->vm_pgoff, vma_pages(vma));
	if (node) {
		obj = container_of(node, struct drm_gem_object, vma_node);
		/* An object being freed is still here until it gets the lock. */
		if (!kref_get_unless_zero(&obj->refcount))
			obj = NULL;
	}
	drm_vma_offset_unlock_lookup(manager);
	if (!obj)
		return -EINVAL;

	skip = (u64)(vma->vm_pgoff - drm_vma_node_start(node)) << PAGE_SHIFT;
	if (drm_vma_node_is_allowed(node, file))
		ret = drm_gem_mmap_obj(obj, obj->size - skip, vma);
	else
		ret = -EACCES;
	drm_gem_object_put(obj);
	return ret;
}

/**
 * vze_mmap() - mmap of the DRM file
 * @filp: file
 * @vma: VMA
 *
 * Offsets from DRM_VZE_VM_MMAP_BASE on are address spaces, others objects.
 */
int vze_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct drm_file *file = filp->private_data;

	if (drm_dev_is_unplugged(file->minor->dev))
		return -ENODEV;
	if (vma->vm_pgoff < DRM_VZE_VM_MMAP_BASE >> PAGE_SHIFT)
		return mmap_object(file, vma);
	return vze_vm_mmap(to_vze_file(file), vma);
}
