/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_GEM_H_
#define _VZE_GEM_H_

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include <drm/drm_gem.h>
#include <drm/vze_drm.h>

#include "vze_device.h"
#include "vze_pages.h"

struct seq_file;
struct vze_gem;

/* Internal object flag: no mapping of it, by device or CPU, may be writable. */
#define VZE_GEM_READONLY	BIT(0)
/* Internal object flag: created with DRM_VZE_GEM_COMPRESSIBLE. */
#define VZE_GEM_COMPRESSIBLE	BIT(1)
/* Internal object flag: created with DRM_VZE_GEM_EXPLICIT. */
#define VZE_GEM_EXPLICIT	BIT(2)
/*
 * Internal object flag: a view that its exporter took back, see vze_share_revoke.c. The
 * only one that is set while the object is known.
 */
#define VZE_GEM_REVOKED		BIT(3)

/**
 * struct vze_gem_ops - what differs between the kinds of objects
 */
struct vze_gem_ops {
	/**
	 * @run: describe the piece that starts @offset bytes into the object, at most
	 * @max bytes of it. Both are multiples of the page size and lie inside. Must not
	 * sleep or allocate: it runs where fences are signalled.
	 */
	void (*run)(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run);
	/** @release: free the memory and what the kind added; the base goes afterwards */
	void (*release)(struct vze_gem *bo);
};

/**
 * struct vze_gem - a memory object
 *
 * The physical layout never changes while the object lives. References: handles,
 * mappings in address spaces (dropped only after the device acknowledged the
 * invalidation), CPU VMAs, dma-bufs, shares.
 */
struct vze_gem {
	/** @base: GEM part; first */
	struct drm_gem_object base;
	/** @ops: the kind's functions */
	const struct vze_gem_ops *ops;
	/** @placement: DRM_VZE_PLACEMENT_* */
	u32 placement;
	/** @flags: VZE_GEM_* */
	u32 flags;
	/** @segments: physically contiguous pieces */
	u32 segments;
	/** @share_uses: struct vze_share_use; changed with the shares' lock held */
	struct hlist_head share_uses;
	/** @exported: a dma-buf was made of it at some time, see vze_prime_sync.c */
	bool exported;
};

static inline struct vze_gem *to_vze_gem(struct drm_gem_object *obj)
{
	return container_of(obj, struct vze_gem, base);
}

static inline struct vze_device *vze_gem_device(const struct vze_gem *bo)
{
	return container_of_const(bo->base.dev, struct vze_device, drm);
}

/**
 * vze_gem_region() - in whose accounts an object stands
 * @bo: object
 */
static inline enum vze_region vze_gem_region(const struct vze_gem *bo)
{
	return bo->placement == DRM_VZE_PLACEMENT_VRAM ? VZE_REGION_VRAM : VZE_REGION_SYSTEM;
}

/**
 * vze_gem_is_revoked() - must nothing be mapped of an object any more?
 * @bo: object
 */
static inline bool vze_gem_is_revoked(const struct vze_gem *bo)
{
	return READ_ONCE(bo->flags) & VZE_GEM_REVOKED;
}

/**
 * vze_gem_run() - how a piece of an object lies in memory
 * @bo: object
 * @offset: first byte, page aligned, inside
 * @max: most bytes wanted, page aligned, at least one page and inside
 * @run: result, at least one page
 */
static inline void vze_gem_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	bo->ops->run(bo, offset, max, run);
}

void vze_gem_init(struct vze_device *vdev, struct vze_gem *bo, u64 size, u32 placement,
		  const struct vze_gem_ops *ops, const struct drm_gem_object_funcs *funcs);
int vze_gem_publish(struct drm_file *file, struct vze_gem *bo, u32 *handle);
struct vze_gem *vze_gem_lookup(struct drm_file *file, u32 handle);

struct vze_gem *vze_gem_vram_create(struct vze_device *vdev, u64 size, u32 flags);
struct vze_gem *vze_gem_system_create(struct vze_device *vdev, u64 size);

/* Shared by the kinds' struct drm_gem_object_funcs. */
extern const struct vm_operations_struct vze_gem_vm_ops;
void vze_gem_free(struct drm_gem_object *obj);
void vze_gem_close(struct drm_gem_object *obj, struct drm_file *file);
int vze_gem_mmap_object(struct drm_gem_object *obj, struct vm_area_struct *vma);
struct dma_buf *vze_gem_export(struct drm_gem_object *obj, int flags);
int vze_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map);
void vze_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map);

int vze_gem_expose(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run);
vm_fault_t vze_gem_fault_run(struct vze_gem *bo, struct vm_fault *vmf, u64 offset, u64 max);
bool vze_gem_cpu_mappable(const struct vze_gem *bo);
int vze_gem_access(struct vze_gem *bo, u64 offset, void *buf, int len, int write);

int vze_mmap(struct file *filp, struct vm_area_struct *vma);

int vze_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_gem_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _VZE_GEM_H_ */
