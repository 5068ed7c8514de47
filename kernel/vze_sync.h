/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_SYNC_H_
#define _VZE_SYNC_H_

#include <linux/types.h>

struct dma_fence;
struct dma_fence_chain;
struct drm_file;
struct drm_syncobj;

/**
 * struct vze_sync - one parsed entry of a syncobj array
 */
struct vze_sync {
	/** @fence: of a wait: what to wait for, with a reference; may be signalled already */
	struct dma_fence *fence;
	/** @syncobj: of a signal: with a reference */
	struct drm_syncobj *syncobj;
	/** @chain: of a signal of a timeline: allocated beforehand, NULL once used */
	struct dma_fence_chain *chain;
	/** @point: of a signal of a timeline */
	u64 point;
};

/**
 * struct vze_syncs - parsed syncobj array of EXEC or VM_BIND
 *
 * Life: vze_syncs_parse(); then any of the others; vze_syncs_cleanup() in the end,
 * also after vze_syncs_signal(). The first @num_waits of @entries are waits; the
 * signals stand in the last @num_signals, the first one at the very end.
 */
struct vze_syncs {
	/** @entries: waits, then signals */
	struct vze_sync *entries;
	/** @count: number of @entries */
	u32 count;
	/** @num_waits: number of waits */
	u32 num_waits;
	/** @num_signals: number of signals */
	u32 num_signals;
};

int vze_syncs_parse(struct drm_file *file, u64 uptr, u32 count, struct vze_syncs *syncs);
int vze_syncs_wait(const struct vze_syncs *syncs);
void vze_syncs_signal(struct vze_syncs *syncs, struct dma_fence *fence);
void vze_syncs_cleanup(struct vze_syncs *syncs);

#endif /* _VZE_SYNC_H_ */
