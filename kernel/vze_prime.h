/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_PRIME_H_
#define _VZE_PRIME_H_

#include <linux/dma-buf.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/drm_exec.h>

struct dma_fence;
struct drm_device;
struct drm_gem_object;
struct vze_gem;
struct vze_prime_set;
struct vze_vm;

/* vze_prime.c: objects of ours for others. */
bool vze_prime_is_ours(const struct dma_buf *buf);

/* vze_prime_import.c: others' objects for us. */

/**
 * struct vze_imports - the imports of a device
 */
struct vze_imports {
	/** @lock: protects @tree */
	spinlock_t lock;
	/** @tree: struct vze_gem_imported by dma-buf */
	struct rb_root tree;
	/** @released: one has left @tree */
	wait_queue_head_t released;
};

void vze_prime_imports_init(struct vze_imports *imports);
struct drm_gem_object *vze_prime_import(struct drm_device *drm, struct dma_buf *buf);
struct drm_gem_object *vze_prime_import_sg_table(struct drm_device *drm,
						 struct dma_buf_attachment *attach,
						 struct sg_table *sgt);
struct vze_gem *vze_prime_origin(struct vze_gem *bo);

/* vze_prime_sync.c: the fences that others find on our objects, and we on theirs. */

/**
 * struct vze_prime_vm - which objects of an address space have implicit fences
 */
struct vze_prime_vm {
	/** @lock: protects what follows; changed with vze_vm.lock held, too */
	spinlock_t lock;
	/** @epoch: of the moment at which @set was made, 0: make it again */
	u64 epoch;
	/** @set: the objects, with a reference; NULL when there are none */
	struct vze_prime_set *set;
};

/**
 * struct vze_prime_fences - fences that a job waits for implicitly
 */
struct vze_prime_fences {
	/** @list: fences, with references */
	struct dma_fence **list;
	/** @num: number of fences */
	u32 num;
	/** @max: room in @list */
	u32 max;
};

/**
 * struct vze_prime_job - the implicit side of a submission, for the time of the ioctl
 */
struct vze_prime_job {
	/** @set: objects, with a reference, or NULL */
	struct vze_prime_set *set;
	/** @exec: locks, when @locked */
	struct drm_exec exec;
	/** @locked: the reservations of @set and of the address space are locked, with room */
	bool locked;
};

void vze_prime_vm_init(struct vze_vm *vm);
void vze_prime_vm_changed(struct vze_vm *vm, struct vze_gem *bo);
void vze_prime_vm_forget(struct vze_vm *vm);
void vze_prime_shared(struct vze_gem *bo);

int vze_prime_job_begin(struct vze_prime_job *prime, struct vze_vm *vm, bool publish,
			struct vze_prime_fences *waits);
void vze_prime_job_publish(struct vze_prime_job *prime, struct dma_fence *fence);
void vze_prime_job_end(struct vze_prime_job *prime);
void vze_prime_fences_put(struct vze_prime_fences *fences);

#endif /* _VZE_PRIME_H_ */
