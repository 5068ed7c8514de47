// SPDX-License-Identifier: GPL-2.0
/*
 * The device: its BARs, identity, interrupts and health, from probe to remove.
 *
 * A device goes through these states. Started: everything works. Lost: it stopped
 * answering; control commands fail at once, the queues are killed, memory that it may
 * still use is quarantined; there is no way back but to bind it anew. Stopped (remove, or
 * a probe that fails): the queues are killed, then nobody may enter the hardware any
 * more, then the device is reset. If it acknowledges that, it is known to touch no
 * memory (quiesced), and whatever is still held by open files can be freed later
 * without it.
 */
#include <linux/cc_platform.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/swiotlb.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "vze_compat.h"
#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_fault.h"
#include "vze_quarantine.h"
#include "vze_queue.h"
#include "vze_ring.h"
#include "vze_tlb.h"
#include "vze_vm.h"
#include "vze_vram.h"

#define BAR_DOORBELL		0
#define BAR_MEMORY		2

#define HEARTBEAT_PERIOD_MS	500U
#define WATCHDOG_MIN_MS		100U
#define WATCHDOG_MAX_MS		1000U
/* The watchdog looks about this often within vze_hang_timeout_ms. */
#define WATCHDOG_LOOKS		8U

/* --------------------------------------------------------------- identity -- */

static int ident_check(struct vze_device *vdev)
{
	const struct vze_hw_ident *ident = &vdev->ident;

	if (ident->bar_size != vdev->bar_size ||
	    ident->vram_offset < VZE_HW_VRAM_MIN_OFFSET ||
	    !IS_ALIGNED(ident->vram_offset, SZ_2M) ||
	    !ident->vram_size || !IS_ALIGNED(ident->vram_size, SZ_2M) ||
	    ident->vram_offset > ident->bar_size ||
	    ident->vram_size > ident->bar_size - ident->vram_offset) {
		dev_err(vdev->drm.dev,
			"VRAM of %#llx bytes at %#llx does not fit into BAR2 of %#llx bytes\n",
			ident->vram_size, ident->vram_offset, (u64)vdev->bar_size);
		return -ENODEV;
	}
	if (!ident->num_queues || ident->num_queues > VZE_HW_MAX_QUEUES ||
	    ident->num_address_spaces < 2 ||
	    ident->num_address_spaces > VZE_HW_MAX_ADDRESS_SPACES) {
		dev_err(vdev->drm.dev, "%u queues and %u address spaces are out of range\n",
			ident->num_queues, ident->num_address_spaces);
		return -ENODEV;
	}
	if (ident->va_bits != VZE_HW_VA_BITS || !(ident->page_sizes & VZE_HW_PAGE_SIZE) ||
	    !is_power_of_2(ident->max_transfer) || ident->max_transfer < VZE_HW_PAGE_SIZE ||
	    !ident->timestamp_hz) {
		dev_err(vdev->drm.dev,
			"address width %u, page sizes %#llx, transfer size %#llx or clock rate %llu make no sense\n",
			ident->va_bits, ident->page_sizes, ident->max_transfer,
			ident->timestamp_hz);
		return -ENODEV;
	}
	return 0;
}

/* Takes a private copy of the identity page and judges it. */
static int ident_read(struct vze_device *vdev)
{
	struct vze_hw_ident *ident = &vdev->ident;
	struct device *dev = vdev->drm.dev;

	memcpy(ident, vdev->bar + VZE_HW_IDENT_OFFSET, sizeof(*ident));
	ident->name[sizeof(ident->name) - 1] = '\0';

	if (ident->magic != VZE_HW_MAGIC) {
		dev_info(dev, "this is plain ivshmem memory, not a vze device\n");
		return -ENODEV;
	}
	if (ident->version_major != VZE_HW_VERSION_MAJOR ||
	    ident->version_minor < VZE_HW_VERSION_MINOR) {
		dev_err(dev, "the device has interface version %u.%u, this driver needs %u.%u\n",
			ident->version_major, ident->version_minor, VZE_HW_VERSION_MAJOR,
			VZE_HW_VERSION_MINOR);
		return -ENODEV;
	}
	return ident_check(vdev);
}

/* ------------------------------------------------------------------- BARs -- */

/*
 * The device knows guest-physical addresses only; nothing may stand between them and
 * the addresses that the driver puts into page tables.
 */
static int dma_check(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY) {
		dev_err(dev, "an IOMMU translates the device's addresses, which it cannot use; boot with iommu=pt\n");
		return -ENODEV;
	}
	if (is_swiotlb_force_bounce(dev) || cc_platform_has(CC_ATTR_MEM_ENCRYPT)) {
		dev_err(dev, "DMA goes through bounce buffers, which the device cannot use\n");
		return -ENODEV;
	}
	return 0;
}

static int bars_map(struct vze_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	struct device *dev = &pdev->dev;
	resource_size_t doorbell = pci_resource_start(pdev, BAR_DOORBELL);
	void __iomem *bar0;

	vdev->bar_phys = pci_resource_start(pdev, BAR_MEMORY);
	vdev->bar_size = pci_resource_len(pdev, BAR_MEMORY);
	if (pci_resource_len(pdev, BAR_DOORBELL) < VZE_HW_BAR0_DOORBELL + sizeof(u32) ||
	    !(pci_resource_flags(pdev, BAR_MEMORY) & IORESOURCE_MEM) ||
	    vdev->bar_size < VZE_HW_VRAM_MIN_OFFSET) {
		dev_info(dev, "this is plain ivshmem memory of %#llx bytes, not a vze device\n",
			 (u64)vdev->bar_size);
		return -ENODEV;
	}

	if (!devm_request_mem_region(dev, doorbell, pci_resource_len(pdev, BAR_DOORBELL),
				     KBUILD_MODNAME) ||
	    !devm_request_mem_region(dev, vdev->bar_phys, vdev->bar_size, KBUILD_MODNAME)) {
		dev_err(dev, "another driver uses the BARs\n");
		return -EBUSY;
	}
	bar0 = devm_ioremap(dev, doorbell, pci_resource_len(pdev, BAR_DOORBELL));
	if (!bar0)
		return -ENOMEM;
	vdev->doorbell = bar0 + VZE_HW_BAR0_DOORBELL;
	vdev->bar = devm_memremap(dev, vdev->bar_phys, vdev->bar_size, MEMREMAP_WB);
	if (IS_ERR(vdev->bar))
		return PTR_ERR(vdev->bar);

	vdev->regs = vdev->bar + VZE_HW_REGS_OFFSET;
	vdev->hw_counters = vdev->bar + VZE_HW_COUNTERS_OFFSET;
	vdev->hw_queues = vdev->bar + VZE_HW_QUEUE_OFFSET;
	return 0;
}

/**
 * vze_device_doorbell() - tell the device that there is something to do
 * @vdev: device
 * @vector: VZE_HW_DB_*
 *
 * Any context, between vze_hw_enter() and vze_hw_exit().
 */
void vze_device_doorbell(struct vze_device *vdev, u32 vector)
{
	/* What the bell announces lies in ordinary memory, which writel() does not order. */
	smp_mb();
	writel(VZE_HW_DOORBELL_VALUE(vector), vdev->doorbell);
}

/* ------------------------------------------------------------- interrupts -- */

static irqreturn_t ctrl_irq(int irq, void *data)
{
	vze_ctrl_irq(data);
	return IRQ_HANDLED;
}

static irqreturn_t queue_irq(int irq, void *data)
{
	vze_queues_irq(data);
	return IRQ_HANDLED;
}

static irqreturn_t fault_irq(int irq, void *data)
{
	struct vze_device *vdev = data;

	queue_work(system_unbound_wq, &vdev->fault.work);
	return IRQ_HANDLED;
}

static void irqs_free(struct vze_device *vdev, u32 num)
{
	while (num--)
		free_irq(pci_irq_vector(vdev->pdev, num), vdev);
	pci_free_irq_vectors(vdev->pdev);
}

static int irqs_request(struct vze_device *vdev)
{
	static const struct {
		irq_handler_t handler;
		const char *name;
	} irqs[VZE_HW_IRQ_COUNT] = {
		[VZE_HW_IRQ_CTRL] = { ctrl_irq, "vze-ctrl" },
		[VZE_HW_IRQ_QUEUE] = { queue_irq, "vze-queue" },
		[VZE_HW_IRQ_FAULT] = { fault_irq, "vze-fault" },
	};
	struct pci_dev *pdev = vdev->pdev;
	u32 i;
	int ret;

	ret = pci_alloc_irq_vectors(pdev, VZE_HW_IRQ_COUNT, VZE_HW_IRQ_COUNT, PCI_IRQ_MSIX);
	if (ret < 0) {
		dev_err(&pdev->dev, "no %u MSI-X vectors: %d\n", VZE_HW_IRQ_COUNT, ret);
		return ret;
	}
	for (i = 0; i < VZE_HW_IRQ_COUNT; i++) {
		ret = request_irq(pci_irq_vector(pdev, i), irqs[i].handler, 0, irqs[i].name,
				  vdev);
		if (ret) {
			irqs_free(vdev, i);
			return ret;
		}
	}
	return 0;
}

/* ----------------------------------------------------------------- health -- */

/**
 * vze_device_lost() - the device no longer answers
 * @vdev: device
 * @reason: for the log
 *
 * Any context. Everybody who waits for the device is woken and gets -ENODEV.
 */
void vze_device_lost(struct vze_device *vdev, const char *reason)
{
	if (xchg(&vdev->lost, true))
		return;
	drm_err(&vdev->drm, "the device is lost: %s\n", reason);
	wake_up_all(&vdev->ctrl.wq);
	queue_work(system_unbound_wq, &vdev->lost_work);
}

static void lost_work(struct work_struct *work)
{
	struct vze_device *vdev = container_of(work, struct vze_device, lost_work);

	vze_queues_kill_all(vdev, -ENODEV);
	vze_fence_kick(vdev);
	vze_drm_wedged(&vdev->drm);
}

/*
 * Counts periods, not time: when the whole machine stands still, neither the device nor
 * this work item runs.
 */
static void heartbeat_work(struct work_struct *work)
{
	struct vze_device *vdev = container_of(to_delayed_work(work), struct vze_device,
					       heartbeat_work);
	u64 heartbeat = READ_ONCE(vdev->regs->heartbeat);
	unsigned int limit = max(READ_ONCE(vze_heartbeat_timeout_ms) / HEARTBEAT_PERIOD_MS, 2U);

	switch (READ_ONCE(vdev->regs->device_state)) {
	case VZE_HW_STATE_STARTING:
	case VZE_HW_STATE_RUNNING:
		break;
	case VZE_HW_STATE_STOPPED:
		vze_device_lost(vdev, "its process ended");
		return;
	default:
		vze_device_lost(vdev, "its registers read as nonsense");
		return;
	}
	if (heartbeat != vdev->heartbeat_last) {
		vdev->heartbeat_last = heartbeat;
		WRITE_ONCE(vdev->heartbeat_missed, 0);
	} else {
		WRITE_ONCE(vdev->heartbeat_missed, vdev->heartbeat_missed + 1);
		if (vdev->heartbeat_missed >= limit) {
			vze_device_lost(vdev, "no heartbeat");
			return;
		}
	}
	queue_delayed_work(system_unbound_wq, &vdev->heartbeat_work,
			   msecs_to_jiffies(HEARTBEAT_PERIOD_MS));
}

static void watchdog_work(struct work_struct *work)
{
	struct vze_device *vdev = container_of(to_delayed_work(work), struct vze_device,
					       watchdog_work);
	u32 wanted = READ_ONCE(vze_hang_timeout_ms);
	u32 timeout = wanted ?: VZE_HANG_TIMEOUT_MS;
	u32 period = clamp(timeout / WATCHDOG_LOOKS, WATCHDOG_MIN_MS, WATCHDOG_MAX_MS);
	u64 heartbeat;

	if (!vze_hw_enter(vdev))
		return;
	heartbeat = READ_ONCE(vdev->regs->heartbeat);
	if (heartbeat != vdev->watchdog_heartbeat && !vze_device_is_lost(vdev))
		vze_queues_watchdog(vdev, max(timeout / period, 2U), !wanted);
	vdev->watchdog_heartbeat = heartbeat;
	vze_hw_exit(vdev);
	queue_delayed_work(system_unbound_wq, &vdev->watchdog_work, msecs_to_jiffies(period));
}

/* ----------------------------------------------------------- start, stop -- */

/**
 * vze_device_off_result() - how the hardware was shut off
 * @vdev: device whose hardware vze_hw_enter() refused
 *
 * Sleeps until remove is done with the hardware.
 * Return: 0: the device is known to touch no memory any more; -ENODEV: it is not.
 */
int vze_device_off_result(struct vze_device *vdev)
{
	wait_for_completion(&vdev->hw_off);
	return vdev->quiesced ? 0 : -ENODEV;
}

static void hw_ref_release(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct vze_device, hw_ref)->hw_gone);
}

static void hw_ref_exit(struct drm_device *drm, void *unused)
{
	percpu_ref_exit(&to_vze(drm)->hw_ref);
}

static void tables_free(struct drm_device *drm, void *unused)
{
	vze_queues_fini(to_vze(drm));
}

/*
 * What open files use after remove, freed with the last reference on the DRM device.
 */
static int managed_init(struct vze_device *vdev)
{
	int ret;

	ret = percpu_ref_init(&vdev->hw_ref, hw_ref_release, 0, GFP_KERNEL);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(&vdev->drm, hw_ref_exit, NULL);
	if (ret)
		return ret;

	ret = vze_queues_init(vdev);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(&vdev->drm, tables_free, NULL);
	if (ret)
		return ret;

	return vze_vram_init(vdev);
}

/**
 * vze_device_init() - find out whether this is a device for us, and set everything up
 * that does not need its cooperation
 * @vdev: new device; @vdev->pdev is set
 *
 * Return: 0, -ENODEV with a line in the log that says why, or another error.
 */
int vze_device_init(struct vze_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	int ret;

	init_completion(&vdev->hw_gone);
	init_completion(&vdev->hw_off);
	init_waitqueue_head(&vdev->fence_wq);
	vze_prime_imports_init(&vdev->imports);
	INIT_DELAYED_WORK(&vdev->heartbeat_work, heartbeat_work);
	INIT_DELAYED_WORK(&vdev->watchdog_work, watchdog_work);
	INIT_WORK(&vdev->lost_work, lost_work);

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = bars_map(vdev);
	if (ret)
		return ret;
	ret = ident_read(vdev);
	if (ret)
		return ret;
	ret = dma_check(&pdev->dev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	return managed_init(vdev);
}

static void hw_shut_off(struct vze_device *vdev)
{
	percpu_ref_kill(&vdev->hw_ref);
	wait_for_completion(&vdev->hw_gone);
	/* Nobody else posts commands any more: the reset is the last one. */
	vdev->quiesced = !vze_ctrl_device_reset(vdev);
	complete_all(&vdev->hw_off);
	vze_rings_give(vdev, vdev->quiesced);
	if (vdev->quiesced)
		vze_quarantine_release(vdev);
}

static void works_stop(struct vze_device *vdev)
{
	cancel_delayed_work_sync(&vdev->watchdog_work);
	cancel_delayed_work_sync(&vdev->heartbeat_work);
	irqs_free(vdev, VZE_HW_IRQ_COUNT);
	flush_work(&vdev->lost_work);
	/* Not cancelled: it holds references on the queues that it has to kill. */
	flush_work(&vdev->fault.work);
}

/**
 * vze_device_start() - bring the hardware up
 * @vdev: device after vze_device_init()
 *
 * Return: 0 or an error, in which case everything is stopped again.
 */
int vze_device_start(struct vze_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	int ret;

	if (READ_ONCE(vdev->regs->device_state) == VZE_HW_STATE_STOPPED) {
		dev_err(&pdev->dev, "the process behind the device has ended\n");
		return -ENODEV;
	}
	vze_ctrl_init(vdev);
	vze_tlb_init(vdev);
	vze_fault_init(vdev);

	pci_set_master(pdev);
	ret = irqs_request(vdev);
	if (ret)
		goto err_master;

	vdev->heartbeat_last = READ_ONCE(vdev->regs->heartbeat);
	queue_delayed_work(system_unbound_wq, &vdev->heartbeat_work,
			   msecs_to_jiffies(HEARTBEAT_PERIOD_MS));
	queue_delayed_work(system_unbound_wq, &vdev->watchdog_work,
			   msecs_to_jiffies(WATCHDOG_MAX_MS));

	ret = vze_ctrl_device_reset(vdev);
	if (ret) {
		dev_err(&pdev->dev, "the device did not reset: %d\n", ret);
		goto err_hw;
	}
	/* What an earlier life of this device may have used is free now. */
	vze_quarantine_release(vdev);
	ret = vze_kernel_as_init(vdev);
	if (ret)
		goto err_hw;
	return 0;

err_hw:
	hw_shut_off(vdev);
	works_stop(vdev);
err_master:
	pci_clear_master(pdev);
	return ret;
}

/**
 * vze_device_stop() - let go of the hardware
 * @vdev: started device; new ioctls are shut out or do not come yet
 *
 * Works for a lost device, too. Files may still be open afterwards.
 */
void vze_device_stop(struct vze_device *vdev)
{
	/* Pulled out: do not wait for the heartbeat to say so. */
	if (!pci_device_is_present(vdev->pdev))
		vze_device_lost(vdev, "it was removed");
	vze_queues_kill_all(vdev, -ENODEV);
	hw_shut_off(vdev);
	works_stop(vdev);
	vze_kernel_as_fini(vdev);
	vze_fence_kick(vdev);
	pci_clear_master(vdev->pdev);
}
