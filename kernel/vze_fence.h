/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_FENCE_H_
#define _VZE_FENCE_H_

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>

/**
 * struct vze_fence - a fence of this driver
 *
 * Its lock is its own, its names are constants and it holds a reference on the
 * module, so that it may outlive the queue, the file and the device.
 */
struct vze_fence {
	/** @base: the fence; first, for it is freed as a bare one */
	struct dma_fence base;
	/** @lock: lock of @base */
	spinlock_t lock;
	/** @link: for the list of its owner, who holds a reference meanwhile */
	struct list_head link;
	/**
	 * @gate: of a job: fence that holds the job back until its waits are over, with a
	 * reference, or NULL
	 */
	struct vze_fence *gate;
	/** @first: of a job: ring seqno of its first entry, 0 before it is in the ring */
	u64 first;
	/** @last: of a job: ring seqno of its last entry */
	u64 last;
	/** @owner: of a job: vze_vm.fence_context of its address space; of others 0 */
	u64 owner;
	/** @may_park: signals when some process pleases: nobody may wait for it implicitly */
	bool may_park;
};

static inline struct vze_fence *to_vze_fence(struct dma_fence *fence)
{
	return container_of(fence, struct vze_fence, base);
}

struct vze_fence *vze_fence_alloc(void);
void vze_fence_init(struct vze_fence *fence, u64 context, u64 seqno);
void vze_fence_init_gate(struct vze_fence *fence, u64 context, u64 seqno);
void vze_fence_free(struct vze_fence *fence);
void vze_fence_complete(struct vze_fence *fence, int error);
struct vze_fence *vze_fence_of(struct dma_fence *fence);
bool vze_fence_waits_for_parked(struct dma_fence *fence);

static inline void vze_fence_put(struct vze_fence *fence)
{
	if (fence)
		dma_fence_put(&fence->base);
}

#endif /* _VZE_FENCE_H_ */
