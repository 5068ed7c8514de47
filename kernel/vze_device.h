/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_DEVICE_H_
#define _VZE_DEVICE_H_

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/pci.h>
#include <linux/percpu-refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/vze_hw.h>

#include "vze_ctrl.h"
#include "vze_fault.h"
#include "vze_prime.h"
#include "vze_tlb.h"

struct vze_kernel_as;
struct vze_queue;
struct vze_ring;
struct vze_vram;

/**
 * enum vze_region - where memory lies, for accounts
 */
enum vze_region {
	VZE_REGION_VRAM,
	/** system memory; a view of a share counts here, wherever its segments lie */
	VZE_REGION_SYSTEM,
	VZE_REGION_COUNT,
};

/**
 * struct vze_counts - what clients hold at the moment
 *
 * Shown in debugfs (vze_counts). All are 0 when no client is left; the kernel's
 * own address space is not counted.
 */
struct vze_counts {
	/** @objects: GEM objects */
	atomic64_t objects;
	/** @userptrs: GEM objects of pinned user memory */
	atomic64_t userptrs;
	/** @pinned_pages: pinned pages of 4 KiB, also quarantined ones */
	atomic64_t pinned_pages;
	/** @vms: address spaces */
	atomic64_t vms;
	/** @vmas: mappings in all address spaces */
	atomic64_t vmas;
	/** @pt_pages: pages of page tables */
	atomic64_t pt_pages;
	/** @queues: queues */
	atomic64_t queues;
	/** @shares: live shares */
	atomic64_t shares;
	/** @vram_used: bytes of VRAM that objects hold */
	atomic64_t vram_used;
	/** @deferred: bytes of mappings in deferred unmaps that are not over */
	atomic64_t deferred[VZE_REGION_COUNT];
};

/**
 * struct vze_device - one virtual GPU
 *
 * Lives as long as anything holds a reference on @drm. What points into the BARs
 * (@bar and all that is computed from it) is valid until remove only: code that can
 * run later uses it between vze_hw_enter() and vze_hw_exit(), or between
 * drm_dev_enter() and drm_dev_exit(). The former works longer: remove first unplugs
 * the DRM device, then stops the queues, and only then shuts the hardware off.
 */
struct vze_device {
	/** @drm: base; first */
	struct drm_device drm;
	/** @pdev: the PCI function */
	struct pci_dev *pdev;
	/** @ident: checked private copy of the identity page; constant after probe */
	struct vze_hw_ident ident;
	/** @bar: BAR2, mapped write-back: ordinary memory */
	void *bar;
	/** @bar_phys: physical address of BAR2 */
	resource_size_t bar_phys;
	/** @bar_size: size of BAR2 in bytes */
	resource_size_t bar_size;
	/** @doorbell: the doorbell register in BAR0 */
	void __iomem *doorbell;
	/** @regs: the register page in @bar */
	struct vze_hw_regs *regs;
	/** @hw_counters: the counters in @bar, VZE_HW_COUNTER_COUNT words */
	u64 *hw_counters;
	/** @hw_queues: the queue registers in @bar */
	struct vze_hw_queue *hw_queues;

	/** @hw_ref: held by who touches the BARs or runs a control command */
	struct percpu_ref hw_ref;
	/** @hw_gone: @hw_ref has been killed and nobody holds it any more */
	struct completion hw_gone;
	/** @hw_off: remove is done with the hardware; @quiesced says how it ended */
	struct completion hw_off;
	/**
	 * @quiesced: the device acknowledged its reset at remove: it holds no
	 * translation and touches no memory any more. Valid after @hw_off.
	 */
	bool quiesced;

	/** @ctrl: the control ring */
	struct vze_ctrl ctrl;
	/** @tlb: windows and address space ids */
	struct vze_tlb tlb;
	/** @fault: the fault ring */
	struct vze_fault fault;

	/** @queues_lock: protects @queues; taken in hard interrupts */
	spinlock_t queues_lock;
	/** @queues: queue that owns a hardware queue id, or NULL; ident.num_queues entries */
	struct vze_queue **queues;
	/** @queue_ids: hardware queue ids in use */
	unsigned long *queue_ids;
	/** @rings: ring memory of each hardware queue id, made at first use, kept until remove */
	struct vze_ring *rings;

	/** @counts: what clients hold */
	struct vze_counts counts;
	/** @vram: the VRAM allocator, owned by vze_vram.c */
	struct vze_vram *vram;
	/** @vram_objects_lock: protects @vram_objects */
	spinlock_t vram_objects_lock;
	/** @vram_objects: objects in VRAM, for debugfs; owned by vze_gem_vram.c */
	struct list_head vram_objects;
	/** @imports: other drivers' buffers that are here, owned by vze_prime_import.c */
	struct vze_imports imports;
	/** @kernel_as: address space 0, owned by vze_kernel_as.c */
	struct vze_kernel_as *kernel_as;

	/** @fence_wq: FENCE_WAIT sleeps here */
	wait_queue_head_t fence_wq;
	/** @fence_seq: moves whenever the words that FENCE_WAITs look at may have changed */
	atomic_t fence_seq;

	/** @lost: the device stopped answering; never becomes false again */
	bool lost;
	/** @heartbeat_work: watches the heartbeat; never blocks */
	struct delayed_work heartbeat_work;
	/** @heartbeat_last: last value seen */
	u64 heartbeat_last;
	/** @heartbeat_missed: periods since @heartbeat_last moved */
	unsigned int heartbeat_missed;
	/** @lost_work: carries out what a lost device means for its clients */
	struct work_struct lost_work;
	/** @watchdog_work: finds queues that hang */
	struct delayed_work watchdog_work;
	/** @watchdog_heartbeat: heartbeat when the watchdog last looked */
	u64 watchdog_heartbeat;
	/** @lost_irqs: interrupts that should have come and did not */
	atomic_t lost_irqs;
};

/**
 * struct vze_file - one open DRM file
 */
struct vze_file {
	/** @vdev: the device */
	struct vze_device *vdev;
	/** @drm_file: the DRM core's side */
	struct drm_file *drm_file;
	/**
	 * @mm: address space of the process that opened the file, held by mmgrab();
	 * user memory is pinned for this one only
	 */
	struct mm_struct *mm;
	/** @vms: vm_id to struct vze_vm, owned by vze_vm.c */
	struct xarray vms;
	/** @shares: shares that it made, owned by vze_share.c */
	struct list_head shares;
	/** @queues: queue_id to struct vze_queue, owned by vze_queue.c */
	struct xarray queues;
	/** @num_queues: queues not yet released, destroyed ones included; plus 1 while open */
	atomic_t num_queues;
	/** @queues_gone: @num_queues reached 0 */
	struct completion queues_gone;
	/** @busy_ns: device time of destroyed queues; protected by the lock of @queues */
	u64 busy_ns;
};

static inline struct vze_device *to_vze(struct drm_device *drm)
{
	return container_of(drm, struct vze_device, drm);
}

static inline struct vze_file *to_vze_file(struct drm_file *file)
{
	return file->driver_priv;
}

/**
 * vze_device_is_lost() - has the device stopped answering?
 * @vdev: device
 */
static inline bool vze_device_is_lost(struct vze_device *vdev)
{
	return READ_ONCE(vdev->lost);
}

/**
 * vze_hw_enter() - begin to use the hardware
 * @vdev: device
 *
 * Return: true, and vze_hw_exit() must follow; false when the hardware is being
 * removed. May be called in any context and nested; between the two calls nothing may
 * wait for remove. A lost device can still be entered: its BARs are there.
 */
static inline bool vze_hw_enter(struct vze_device *vdev)
{
	return percpu_ref_tryget(&vdev->hw_ref);
}

/**
 * vze_hw_exit() - end what vze_hw_enter() began
 * @vdev: device
 */
static inline void vze_hw_exit(struct vze_device *vdev)
{
	percpu_ref_put(&vdev->hw_ref);
}

void vze_device_lost(struct vze_device *vdev, const char *reason);
void vze_device_doorbell(struct vze_device *vdev, u32 vector);
int vze_device_off_result(struct vze_device *vdev);
int vze_device_init(struct vze_device *vdev);
int vze_device_start(struct vze_device *vdev);
void vze_device_stop(struct vze_device *vdev);

#endif /* _VZE_DEVICE_H_ */
