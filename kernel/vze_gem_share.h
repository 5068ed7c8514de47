/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_GEM_SHARE_H_
#define _VZE_GEM_SHARE_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include "vze_gem.h"

struct vze_device;
struct vze_share;
struct vze_share_importer;
struct vze_user;

/**
 * struct vze_segment - a piece of an object
 */
struct vze_segment {
	/** @bo: object, with a reference; not a view */
	struct vze_gem *bo;
	/** @offset: first byte in @bo */
	u64 offset;
	/** @first: bytes before it in the array; it ends where the next begins */
	u64 first;
};

/**
 * struct vze_segments - memory that is shared, constant once complete
 */
struct vze_segments {
	/** @ref: the share, and each of its views */
	struct kref ref;
	/** @num: number of segments */
	u32 num;
	/** @max: room for segments */
	u32 max;
	/** @size: bytes of all of them */
	u64 size;
	/** @user: who is charged for it */
	struct vze_user *user;
	/** @charged: segments that @user is charged for */
	u64 charged;
	/** @segment: sorted by @first */
	struct vze_segment segment[];
};

/**
 * struct vze_gem_share - a view: an opened share
 */
struct vze_gem_share {
	/** @base: object; first */
	struct vze_gem base;
	/** @segments: what it consists of */
	struct vze_segments *segments;
	/** @hint: segment that was looked up last; a guess, checked before use */
	u32 hint;
	/** @zapped: a revocation took the CPU's pages away; protected by the shares' lock */
	bool zapped;
	/**
	 * @handing_out: held for reading while pages are put into a process. A revocation
	 * takes it once for writing between its mark and the taking away.
	 */
	struct rw_semaphore handing_out;
	/** @share: what it was opened of, with a reference; NULL before that is known */
	struct vze_share *share;
	/** @importer: who opened it */
	struct vze_share_importer *importer;
	/** @link: in vze_share.views; protected by the shares' lock */
	struct list_head link;
};

static inline struct vze_gem_share *to_vze_gem_share(const struct vze_gem *bo)
{
	return container_of(bo, struct vze_gem_share, base);
}

struct vze_segments *vze_segments_alloc(u32 max, struct vze_user *user, u64 charged);
struct vze_segments *vze_segments_get(struct vze_segments *segments);
void vze_segments_put(struct vze_segments *segments);
u32 vze_segments_count(const struct vze_gem *bo, u64 offset, u64 size);
void vze_segments_add(struct vze_segments *segments, struct vze_gem *bo, u64 offset, u64 size);
bool vze_segments_equal(const struct vze_segments *a, const struct vze_segments *b);

struct vze_gem_share *vze_gem_share_create(struct vze_device *vdev, struct vze_segments *segments,
					   bool readonly);
bool vze_gem_share_begin_fault(struct vze_gem_share *view);
void vze_gem_share_end_fault(struct vze_gem_share *view);
void vze_gem_share_zap(struct vze_gem_share *view);

#endif /* _VZE_GEM_SHARE_H_ */
