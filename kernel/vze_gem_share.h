/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_GEM_SHARE_H_
#define _VZE_GEM_SHARE_H_

#include <linux/kref.h>
#include <linux/types.h>

struct vze_device;
struct vze_gem;

/**
 * struct vze_segment - a piece of an object
 */
struct vze_segment {
	/** @bo: object, with a reference; not an opened share */
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
	/** @ref: the share, and each time it was opened */
	struct kref ref;
	/** @num: number of segments */
	u32 num;
	/** @max: room for segments */
	u32 max;
	/** @size: bytes of all of them */
	u64 size;
	/** @segment: sorted by @first */
	struct vze_segment segment[];
};

struct vze_segments *vze_segments_alloc(u32 max);
struct vze_segments *vze_segments_get(struct vze_segments *segments);
void vze_segments_put(struct vze_segments *segments);
u32 vze_segments_count(const struct vze_gem *bo, u64 offset, u64 size);
void vze_segments_add(struct vze_segments *segments, struct vze_gem *bo, u64 offset, u64 size);
bool vze_segments_equal(const struct vze_segments *a, const struct vze_segments *b);

struct vze_gem *vze_gem_share_create(struct vze_device *vdev, struct vze_segments *segments,
				     bool readonly);

#endif /* _VZE_GEM_SHARE_H_ */
