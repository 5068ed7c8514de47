// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings of address spaces.
 *
 * One VMA shows whatever the address space maps at the same addresses, so that any
 * number of objects needs one VMA only. The fault handler finds the mapping under
 * vze_vm.lock and puts its pages in before it lets go; who changes mappings does so
 * under the same lock and takes the CPU's pages away before the object can go. A page
 * in a process's tables thus always belongs to a mapping that is there.
 *
 * A child of fork(2) does not inherit these VMAs (VM_DONTCOPY): the address space
 * belongs to the driver of one process, and a child that lived on with its memory would
 * keep it, pinned pages included, past the parent's end.
 *
 * A VMA made without PROT_WRITE stays without: only there pages of read-only objects
 * can be put in.
 */

#include <linux/mm.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_vm.h"

#define VM_MMAP_ADDR_MASK	((1ULL << DRM_VZE_VM_MMAP_ID_SHIFT) - 1)

/*
 * All files of a device share one inode: its offsets say which address space by the hardware
 * id instead of the file's, so that taking pages away does not meet those of others.
 */
static u64 vm_mmap_offset(struct vze_vm *vm, u64 va)
{
	return DRM_VZE_VM_MMAP_OFFSET(vm->asid, va);
}

/**
 * vze_vm_zap() - take the CPU's pages in a range away
 * @vm: address space
 * @start: first byte
 * @end: first byte after it
 *
 * After the mappings left the tree, before their objects are let go. Not where fences
 * are signalled.
 */
void vze_vm_zap(struct vze_vm *vm, u64 start, u64 end)
{
	/* Who mmaps later faults later, and then finds the tree changed. */
	if (!atomic_read(&vm->cpu_vmas))
		return;
	unmap_mapping_range(vm->vdev->drm.anon_inode->i_mapping, vm_mmap_offset(vm, start),
			    end - start, 1);
}

static void vm_mmap_open(struct vm_area_struct *vma)
{
	struct vze_vm *vm = vma->vm_private_data;

	drm_gpuvm_get(&vm->base);
	atomic_inc(&vm->cpu_vmas);
}

static void vm_mmap_close(struct vm_area_struct *vma)
{
	struct vze_vm *vm = vma->vm_private_data;

	atomic_dec(&vm->cpu_vmas);
	drm_gpuvm_put(&vm->base);
}

static u64 vma_device_address(struct vm_area_struct *vma, unsigned long addr)
{
	return (((u64)vma->vm_pgoff << PAGE_SHIFT) & VM_MMAP_ADDR_MASK) + (addr - vma->vm_start);
}

static vm_fault_t vm_mmap_fault(struct vm_fault *vmf)
{
	struct vze_vm *vm = vmf->vma->vm_private_data;
	u64 addr = vma_device_address(vmf->vma, vmf->address & PAGE_MASK);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct drm_gpuva *va;

	/* Who is killed while it waits finds that out on its way back to user space. */
	if (mutex_lock_killable(&vm->lock))
		return VM_FAULT_NOPAGE;
	va = drm_gpuva_find_first(&vm->base, addr, PAGE_SIZE);
	if (va) {
		u64 skip = addr - va->va.addr;

		ret = vze_gem_fault_run(to_vze_gem(va->gem.obj), vmf, va->gem.offset + skip,
					va->va.range - skip);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

static int vm_mmap_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			  int write)
{
	struct vze_vm *vm = vma->vm_private_data;
	u64 at = vma_device_address(vma, addr);
	struct drm_gpuva *va;
	int ret = -EFAULT;

	mutex_lock(&vm->lock);
	va = drm_gpuva_find_first(&vm->base, at, 1);
	if (va) {
		u64 skip = at - va->va.addr;

		len = min_t(u64, len, va->va.range - skip);
		ret = vze_gem_access(to_vze_gem(va->gem.obj), va->gem.offset + skip, buf, len,
				     write);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

static const struct vm_operations_struct vm_mmap_ops = {
	.open = vm_mmap_open,
	.close = vm_mmap_close,
	.fault = vm_mmap_fault,
	.access = vm_mmap_access,
};

/**
 * vze_vm_mmap() - mmap at an offset from DRM_VZE_VM_MMAP_BASE on
 * @file: file
 * @vma: VMA
 *
 * Return: 0, -ENOENT (no such address space), -EINVAL (a private mapping, another address
 * than the offset says, a length out of range).
 */
int vze_vm_mmap(struct vze_file *file, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 va = offset & VM_MMAP_ADDR_MASK;
	u64 id = (offset & ~DRM_VZE_VM_MMAP_BASE) >> DRM_VZE_VM_MMAP_ID_SHIFT;
	struct vze_vm *vm;

	if (!(vma->vm_flags & VM_SHARED) || id >= DRM_VZE_MAX_VM_ID || vma->vm_start != va ||
	    vma->vm_end - vma->vm_start > VZE_VM_END - va)
		return -EINVAL;
	vm = vze_vm_lookup(file, id);
	if (!vm)
		return -ENOENT;

	if (!(vma->vm_flags & VM_WRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTCOPY);
	vma->vm_pgoff = vm_mmap_offset(vm, va) >> PAGE_SHIFT;
	vma->vm_ops = &vm_mmap_ops;
	vma->vm_private_data = vm;
	vm_mmap_open(vma);
	vze_vm_put(vm);
	return 0;
}
