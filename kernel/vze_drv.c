// SPDX-License-Identifier: GPL-2.0
/*
 * The driver: PCI binding, DRM driver, files, module.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/vze_drm.h>
#include <drm/vze_hw.h>

#include "vze_bind.h"
#include "vze_compat.h"
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_gem.h"
#include "vze_prime.h"
#include "vze_queue.h"
#include "vze_share.h"
#include "vze_userptr.h"
#include "vze_vm.h"

bool vze_skip_tlb_invalidate;
module_param_named(skip_tlb_invalidate, vze_skip_tlb_invalidate, bool, 0600);
MODULE_PARM_DESC(skip_tlb_invalidate,
		 "Do not invalidate the device's TLB; for tests of the device's strict mode only");

uint vze_hang_timeout_ms = VZE_HANG_TIMEOUT_MS;
module_param_named(hang_timeout_ms, vze_hang_timeout_ms, uint, 0600);
MODULE_PARM_DESC(hang_timeout_ms,
		 "Stop a queue that runs without progress for this long, 0: never, but for PUBLISH queues (default 10000)");

uint vze_heartbeat_timeout_ms = 15000;
module_param_named(heartbeat_timeout_ms, vze_heartbeat_timeout_ms, uint, 0600);
MODULE_PARM_DESC(heartbeat_timeout_ms,
		 "Give up a device without a heartbeat for this long (default 15000)");

/* ------------------------------------------------------------------ files -- */

static int vze_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct vze_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;

	file->vdev = to_vze(drm);
	file->drm_file = drm_file;
	xa_init_flags(&file->queues, XA_FLAGS_ALLOC1);
	atomic_set(&file->num_queues, 1);
	init_completion(&file->queues_gone);
	mmgrab(current->mm);
	file->mm = current->mm;
	vze_memory_file_open(file);
	drm_file->driver_priv = file;
	return 0;
}

static void vze_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct vze_file *file = to_vze_file(drm_file);

	/* Queues use address spaces: first their work, then the memory. */
	vze_queues_file_close(file);
	vze_memory_file_close(file);
	mmdrop(file->mm);
	xa_destroy(&file->queues);
	kfree(file);
}

/* ------------------------------------------------------------- DRM driver -- */

static const struct drm_ioctl_desc vze_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VZE_QUERY, vze_query_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_GEM_CREATE, vze_gem_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_GEM_USERPTR, vze_gem_userptr_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_GEM_MMAP_OFFSET, vze_gem_mmap_offset_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_GEM_INFO, vze_gem_info_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_VM_CREATE, vze_vm_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_VM_DESTROY, vze_vm_destroy_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_VM_BIND, vze_vm_bind_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_VM_INFO, vze_vm_info_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_QUEUE_CREATE, vze_queue_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_QUEUE_DESTROY, vze_queue_destroy_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_QUEUE_STATE, vze_queue_state_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_EXEC, vze_exec_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_FENCE_WAIT, vze_fence_wait_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_FENCE_WAKE, vze_fence_wake_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_CREATE, vze_share_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_OPEN, vze_share_open_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_PUT, vze_share_put_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_FD, vze_share_fd_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_INFO, vze_share_info_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_IMPORTERS, vze_share_importers_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VZE_SHARE_REVOKE, vze_share_revoke_ioctl, DRM_RENDER_ALLOW),
};

/*
 * Memory passes between files by dma-buf and by share, which take a descriptor or a secret.
 * The numbers of GEM names can be guessed by whoever may use the primary node, and they
 * would lead to what neither of the two gives away: imports of a process's own memory.
 */
static bool is_gem_name_ioctl(unsigned int cmd)
{
	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE)
		return false;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(DRM_IOCTL_GEM_FLINK):
	case _IOC_NR(DRM_IOCTL_GEM_OPEN):
		return true;
	default:
		return false;
	}
}

static long vze_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return is_gem_name_ioctl(cmd) ? -EOPNOTSUPP : drm_ioctl(file, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long vze_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return is_gem_name_ioctl(cmd) ? -EOPNOTSUPP : drm_compat_ioctl(file, cmd, arg);
}
#else
#define vze_compat_ioctl NULL
#endif

static const struct file_operations vze_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = vze_ioctl,
	.compat_ioctl = vze_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = vze_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/**
 * vze_is_drm_file() - is it an open file of a vze device?
 * @file: any open file
 *
 * Return: true if its private_data is a struct drm_file of this driver.
 */
bool vze_is_drm_file(const struct file *file)
{
	return file->f_op == &vze_fops;
}

static const struct drm_driver vze_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE | DRIVER_GEM_GPUVA,
	.name = VZE_DRIVER_NAME,
	.desc = "Virtual Level Zero GPU",
	VZE_DRIVER_DATE
	.major = VZE_UAPI_VERSION_MAJOR,
	.minor = VZE_UAPI_VERSION_MINOR,
	.open = vze_open,
	.postclose = vze_postclose,
	.show_fdinfo = vze_show_fdinfo,
	.gem_prime_import = vze_prime_import,
	.gem_prime_import_sg_table = vze_prime_import_sg_table,
	.ioctls = vze_ioctls,
	.num_ioctls = ARRAY_SIZE(vze_ioctls),
	.fops = &vze_fops,
};

/* -------------------------------------------------------------------- PCI -- */

static int vze_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vze_device *vdev;
	int ret;

	vdev = devm_drm_dev_alloc(&pdev->dev, &vze_driver, struct vze_device, drm);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	vdev->pdev = pdev;
	pci_set_drvdata(pdev, vdev);

	ret = vze_device_init(vdev);
	if (ret)
		return ret;
	ret = vze_device_start(vdev);
	if (ret)
		return ret;
	vze_debugfs_init(vdev);
	ret = drm_dev_register(&vdev->drm, 0);
	if (ret) {
		vze_device_stop(vdev);
		return ret;
	}
	drm_info(&vdev->drm, "%s, interface %u.%u, %llu MiB of VRAM, %u queues\n",
		 vdev->ident.name, vdev->ident.version_major, vdev->ident.version_minor,
		 vdev->ident.vram_size >> 20, vdev->ident.num_queues);
	return 0;
}

static void vze_pci_remove(struct pci_dev *pdev)
{
	struct vze_device *vdev = pci_get_drvdata(pdev);

	drm_dev_unplug(&vdev->drm);
	vze_shares_unplug(vdev);
	vze_device_stop(vdev);
}

static void vze_pci_shutdown(struct pci_dev *pdev)
{
	/* The device must not write to memory that the next kernel uses. */
	vze_pci_remove(pdev);
}

static const struct pci_device_id vze_pci_ids[] = {
	{ PCI_DEVICE(VZE_HW_PCI_VENDOR, VZE_HW_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vze_pci_ids);

static struct pci_driver vze_pci_driver = {
	.name = KBUILD_MODNAME,
	.id_table = vze_pci_ids,
	.probe = vze_pci_probe,
	.remove = vze_pci_remove,
	.shutdown = vze_pci_shutdown,
};

/* ----------------------------------------------------------------- module -- */

static int __init vze_init(void)
{
	int ret;

	ret = vze_queue_module_init();
	if (ret)
		return ret;
	ret = vze_memory_module_init();
	if (ret)
		goto err_queue;
	ret = pci_register_driver(&vze_pci_driver);
	if (ret)
		goto err_memory;
	return 0;

err_memory:
	vze_memory_module_exit();
err_queue:
	vze_queue_module_exit();
	return ret;
}

static void __exit vze_exit(void)
{
	pci_unregister_driver(&vze_pci_driver);
	vze_queue_module_exit();
	vze_memory_module_exit();
}

module_init(vze_init);
module_exit(vze_exit);

MODULE_DESCRIPTION("DRM driver of the vze virtual Level Zero GPU");
MODULE_LICENSE("GPL");
