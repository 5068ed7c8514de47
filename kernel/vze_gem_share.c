// SPDX-License-Identifier: GPL-2.0
/*
 * Pieces of objects as one object.
 *
 * What a share holds is an array of segments, in order, each with a reference on its
 * object. A share and its views hold the same array. A view is an object like any other:
 * mapping it is one mapping, of however many segments.
 *
 * Segments only ever name objects that have memory of their own: a share of a view takes
 * that one's segments.
 *
 * A view can be revoked: nothing is mapped of it from then on. The array stays until the
 * view is freed.
 */

#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_vma_manager.h>

#include "vze_device.h"
#include "vze_gem.h"
#include "vze_gem_share.h"
#include "vze_share.h"
#include "vze_user.h"

/* --------------------------------------------------------------- segments -- */

/**
 * vze_segments_alloc() - room for segments
 * @max: most segments that will be added
 * @user: who has been charged for them
 * @charged: how many were charged; given back when the array is freed
 *
 * Return: an empty array with one reference, or NULL.
 */
struct vze_segments *vze_segments_alloc(u32 max, struct vze_user *user, u64 charged)
{
	struct vze_segments *segments;

	segments = kvmalloc(struct_size(segments, segment, max), GFP_KERNEL_ACCOUNT);
	if (!segments)
		return NULL;
	kref_init(&segments->ref);
	segments->size = 0;
	segments->num = 0;
	segments->max = max;
	segments->user = vze_user_get(user);
	segments->charged = charged;
	return segments;
}

static void segments_free(struct kref *ref)
{
	struct vze_segments *segments = container_of(ref, struct vze_segments, ref);
	u32 i;

	for (i = 0; i < segments->num; i++) {
		drm_gem_object_put(&segments->segment[i].bo->base);
		if (!(i % 1024))
			cond_resched();
	}
	vze_user_uncharge(segments->user, VZE_USER_SEGMENTS, segments->charged);
	vze_user_put(segments->user);
	kvfree(segments);
}

/**
 * vze_segments_get() - one more reference
 * @segments: array
 */
struct vze_segments *vze_segments_get(struct vze_segments *segments)
{
	kref_get(&segments->ref);
	return segments;
}

/**
 * vze_segments_put() - drop a reference; may free objects, may sleep
 * @segments: array, or NULL
 */
void vze_segments_put(struct vze_segments *segments)
{
	if (segments)
		kref_put(&segments->ref, segments_free);
}

static void segment_add(struct vze_segments *segments, struct vze_gem *bo, u64 offset, u64 size)
{
	struct vze_segment *segment = &segments->segment[segments->num];

	if (segments->num && segment[-1].bo == bo &&
	    segment[-1].offset + (segments->size - segment[-1].first) == offset) {
		segments->size += size;
		return;
	}
	if (WARN_ON_ONCE(segments->num == segments->max))
		return;
	drm_gem_object_get(&bo->base);
	segment->bo = bo;
	segment->offset = offset;
	segment->first = segments->size;
	segments->num++;
	segments->size += size;
}

static u32 segment_find(const struct vze_segments *segments, u64 offset, u32 hint)
{
	const struct vze_segment *segment = segments->segment;
	u32 low = 0, high = segments->num;

	/* Whoever goes through from the front needs the same one again, or the next. */
	if (hint < high && segment[hint].first <= offset) {
		low = hint;
		if (low + 1 == high || segment[low + 1].first > offset)
			return low;
		if (low + 2 == high || segment[low + 2].first > offset)
			return low + 1;
	}
	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (segment[mid].first <= offset)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static u64 segment_end(const struct vze_segments *segments, u32 index)
{
	return index + 1 < segments->num ? segments->segment[index + 1].first : segments->size;
}

/**
 * vze_segments_count() - segments that a piece of an object makes
 * @bo: object
 * @offset: first byte
 * @size: bytes
 */
u32 vze_segments_count(const struct vze_gem *bo, u64 offset, u64 size)
{
	const struct vze_segments *segments;

	if (bo->placement != DRM_VZE_PLACEMENT_SHARE)
		return 1;
	segments = to_vze_gem_share(bo)->segments;
	return segment_find(segments, offset + size - 1, 0) -
	       segment_find(segments, offset, 0) + 1;
}

/**
 * vze_segments_add() - add a piece of an object
 * @segments: array with room for vze_segments_count() more
 * @bo: object
 * @offset: first byte
 * @size: bytes
 */
void vze_segments_add(struct vze_segments *segments, struct vze_gem *bo, u64 offset, u64 size)
{
	const struct vze_segments *from;
	u32 at;

	if (bo->placement != DRM_VZE_PLACEMENT_SHARE) {
		segment_add(segments, bo, offset, size);
		return;
	}
	from = to_vze_gem_share(bo)->segments;
	for (at = segment_find(from, offset, 0); size; at++) {
		u64 step = min(segment_end(from, at) - offset, size);

		segment_add(segments, from->segment[at].bo,
			    from->segment[at].offset + (offset - from->segment[at].first), step);
		offset += step;
		size -= step;
	}
}

/**
 * vze_segments_equal() - do two arrays describe the same memory?
 * @a: array
 * @b: array
 */
bool vze_segments_equal(const struct vze_segments *a, const struct vze_segments *b)
{
	return a->size == b->size && a->num == b->num &&
	       !memcmp(a->segment, b->segment, a->num * sizeof(a->segment[0]));
}

/* ----------------------------------------------------------------- object -- */

static void share_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	struct vze_gem_share *share = to_vze_gem_share(bo);
	const struct vze_segments *segments = share->segments;
	u32 at = segment_find(segments, offset, READ_ONCE(share->hint));
	const struct vze_segment *segment = &segments->segment[at];

	WRITE_ONCE(share->hint, at);
	max = min(max, segment_end(segments, at) - offset);
	vze_gem_run(segment->bo, segment->offset + (offset - segment->first), max, run);
}

static void share_release(struct vze_gem *bo)
{
	struct vze_gem_share *view = to_vze_gem_share(bo);

	vze_share_view_release(view);
	vze_segments_put(view->segments);
}

static const struct vze_gem_ops share_ops = {
	.run = share_run,
	.release = share_release,
};

static struct dma_buf *share_export(struct drm_gem_object *obj, int flags)
{
	struct vze_gem_share *view = to_vze_gem_share(to_vze_gem(obj));
	int ret;

	if (vze_gem_is_revoked(&view->base))
		return ERR_PTR(-EACCES);
	/* What is mapped through the dma-buf can be found by this only, and it must not move. */
	ret = drm_gem_create_mmap_offset(obj);
	if (ret)
		return ERR_PTR(ret);
	return vze_gem_export(obj, flags);
}

static int share_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	return vze_gem_is_revoked(to_vze_gem(obj)) ? -EACCES : vze_gem_vmap(obj, map);
}

static const struct drm_gem_object_funcs share_funcs = {
	.free = vze_gem_free,
	.close = vze_gem_close,
	.export = share_export,
	.vmap = share_vmap,
	.vunmap = vze_gem_vunmap,
	.mmap = vze_gem_mmap_object,
	.vm_ops = &vze_gem_vm_ops,
};

/**
 * vze_gem_share_create() - make a view of segments
 * @vdev: device of all of them
 * @segments: array; the view takes its own reference
 * @readonly: nobody may write through it
 *
 * Return: the view or -ENOMEM.
 */
struct vze_gem_share *vze_gem_share_create(struct vze_device *vdev, struct vze_segments *segments,
					   bool readonly)
{
	struct vze_gem_share *view;

	view = kzalloc(sizeof(*view), GFP_KERNEL_ACCOUNT);
	if (!view)
		return ERR_PTR(-ENOMEM);
	view->base.flags = readonly ? VZE_GEM_READONLY : 0;
	view->base.segments = segments->num;
	view->segments = vze_segments_get(segments);
	init_rwsem(&view->handing_out);
	vze_gem_init(vdev, &view->base, segments->size, DRM_VZE_PLACEMENT_SHARE, &share_ops,
		     &share_funcs);
	return view;
}

/* -------------------------------------------------------------- revocation -- */

/**
 * vze_gem_share_begin_fault() - pages of a view are about to be put into a process
 * @view: view
 *
 * Return: true, and vze_gem_share_end_fault() must follow; false when it is revoked.
 */
bool vze_gem_share_begin_fault(struct vze_gem_share *view)
{
	down_read(&view->handing_out);
	if (!vze_gem_is_revoked(&view->base))
		return true;
	up_read(&view->handing_out);
	return false;
}

/**
 * vze_gem_share_end_fault() - they are in
 * @view: view
 */
void vze_gem_share_end_fault(struct vze_gem_share *view)
{
	up_read(&view->handing_out);
}

static struct dma_buf *share_dma_buf(struct vze_gem_share *view)
{
	struct drm_gem_object *obj = &view->base.base;
	struct dma_buf *dma_buf;

	mutex_lock(&obj->dev->object_name_lock);
	dma_buf = obj->dma_buf;
	if (dma_buf)
		get_dma_buf(dma_buf);
	mutex_unlock(&obj->dev->object_name_lock);
	return dma_buf;
}

/**
 * vze_gem_share_zap() - take the pages of a revoked view away from all processes
 * @view: view that is marked as revoked
 *
 * Those that have it mapped as an object or as a dma-buf; address spaces are for
 * vze_vm_unmap_revoked().
 */
void vze_gem_share_zap(struct vze_gem_share *view)
{
	struct drm_gem_object *obj = &view->base.base;
	struct dma_buf *dma_buf;

	/* Faults that did not see the mark end here; those that follow see it. */
	down_write(&view->handing_out);
	up_write(&view->handing_out);

	drm_vma_node_unmap(&obj->vma_node, obj->dev->anon_inode->i_mapping);
	dma_buf = share_dma_buf(view);
	if (!dma_buf)
		return;
	unmap_mapping_range(dma_buf->file->f_mapping, drm_vma_node_offset_addr(&obj->vma_node),
			    obj->size, 1);
	dma_buf_put(dma_buf);
}
