/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_VM_H_
#define _VZE_VM_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/drm_gpuvm.h>
#include <drm/vze_drm.h>

#include "vze_gem.h"
#include "vze_prime.h"
#include "vze_pt.h"

struct dma_resv;
struct page;
struct seq_file;
struct vze_device;
struct vze_file;

/* Addresses that VM_BIND takes: [VZE_VM_START, VZE_VM_END). */
#define VZE_VM_START	0x1000ULL
#define VZE_VM_END	BIT_ULL(47)

/**
 * struct vze_deferred - deferred unmaps that are not over
 */
struct vze_deferred {
	/** @num: how many */
	u64 num;
	/** @bytes: what they unmap, by region */
	u64 bytes[VZE_REGION_COUNT];
};

/**
 * struct vze_vma - a mapping
 *
 * Holds a reference on its object. Never changes while it is in the tree: what looks
 * like a change replaces it.
 */
struct vze_vma {
	/** @base: address, range, object, offset; first */
	struct drm_gpuva base;
	/** @flags: DRM_VZE_BIND_READONLY, DRM_VZE_BIND_NO_ACCESS */
	u32 flags;
	/** @link: in the bind that made it, until that is over */
	struct list_head link;
	/** @dead: in the bind that took it out of the tree, or in quarantine */
	struct list_head dead;
};

/**
 * struct vze_vm - an address space
 *
 * Lock order: mmap_lock, then @lock, then @pt.lock. @lock may be held while memory is
 * allocated, @pt.lock not. Workers that signal fences take @pt.lock only.
 *
 * The tree of mappings is what all binds accepted so far lead to; asynchronous ones
 * change the page tables later, in order, and deferred ones in an order of their own.
 */
struct vze_vm {
	/** @base: tree of mappings; its reference count keeps the memory of this structure */
	struct drm_gpuvm base;
	/** @vdev: device */
	struct vze_device *vdev;
	/** @asid: hardware address space */
	u32 asid;
	/** @user: who is charged for it */
	struct vze_user *user;
	/** @users: id in the file, queues, pending binds; the address space goes with the last */
	struct kref users;
	/** @lock: the tree, and the order of binds */
	struct mutex lock;
	/** @pt: page tables */
	struct vze_pt pt;
	/** @dead: torn down; protected by @lock and @pt.lock together */
	bool dead;
	/**
	 * @owner: file that made it, to be compared only, NULL when that was closed; protected by
	 * the lock of the list of all address spaces
	 */
	const struct vze_file *owner;
	/**
	 * @num_vmas: mappings that have been carried out, without those in @deferred; protected
	 * by @pt.lock
	 */
	u64 num_vmas;
	/** @cpu_vmas: CPU mappings made by mmap(2) */
	atomic_t cpu_vmas;
	/** @prime: objects with implicit fences, owned by vze_prime_sync.c */
	struct vze_prime_vm prime;

	/** @pending_lock: protects @pending, @deferred, @finishing and the accounts */
	spinlock_t pending_lock;
	/** @pending: asynchronous binds that have not been carried out, in order */
	struct list_head pending;
	/** @deferred: deferred binds that have not been carried out, by range */
	struct rb_root_cached deferred;
	/** @finishing: binds that have been, but what they removed is still to be let go of */
	struct list_head finishing;
	/** @deferred_num: deferred binds whose memory has not been let go of */
	u64 deferred_num;
	/** @deferred_bytes: what they removed, by region */
	u64 deferred_bytes[VZE_REGION_COUNT];
	/** @fence_context: of asynchronous binds */
	u64 fence_context;
	/** @fence_seqno: of the last asynchronous bind; protected by @lock */
	u64 fence_seqno;
	/** @hazard_start: pending binds may put large leaves from here on ... */
	u64 hazard_start;
	/** @hazard_end: ... up to here, see struct vze_pt_update; protected by @lock */
	u64 hazard_end;
	/** @link: in the list of all address spaces, by @number */
	struct list_head link;
	/** @number: order of creation, never used again */
	u64 number;
};

static inline struct vze_vm *to_vze_vm(struct drm_gpuvm *base)
{
	return container_of(base, struct vze_vm, base);
}

static inline struct vze_vma *to_vze_vma(struct drm_gpuva *base)
{
	return container_of(base, struct vze_vma, base);
}

struct vze_vma *vze_vma_alloc(void);
u32 vze_vma_alloc_bulk(u32 num, void **vmas);
void vze_vma_free(struct vze_vma *vma);

/* Who uses the address space (queues). The last put tears it down; may sleep. */
struct vze_vm *vze_vm_lookup(struct vze_file *file, u32 id);
struct vze_vm *vze_vm_get(struct vze_vm *vm);
void vze_vm_put(struct vze_vm *vm);
struct vze_vm *vze_vm_next(struct vze_device *vdev, u64 *number);

struct dma_resv *vze_vm_resv(struct vze_vm *vm);
void vze_vm_nearest(struct vze_vm *vm, u64 va, struct drm_vze_queue_state *out);
int vze_vm_mmap(struct vze_file *file, struct vm_area_struct *vma);
void vze_vm_zap(struct vze_vm *vm, u64 start, u64 end);
int vze_vm_unmap_revoked(struct vze_vm *vm);
void vze_vms_deferred(struct vze_file *file, struct vze_deferred *sum);

int vze_kernel_as_init(struct vze_device *vdev);
void vze_kernel_as_fini(struct vze_device *vdev);
int vze_kernel_as_map_page(struct vze_device *vdev, u64 va, struct page *page);
int vze_kernel_as_unmap_page(struct vze_device *vdev, u64 va);

void vze_memory_file_open(struct vze_file *file);
void vze_memory_file_close(struct vze_file *file);
int vze_vms_show(struct seq_file *m, void *unused);

int vze_vm_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_vm_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_vm_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

int vze_memory_module_init(void);
void vze_memory_module_exit(void);

#endif /* _VZE_VM_H_ */
