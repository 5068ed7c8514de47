// SPDX-License-Identifier: GPL-2.0
/*
 * Address space 0, the kernel's own: the rings of the queues are mapped in it.
 */

#include <linux/mm.h>

#include <drm/drm_managed.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_pt.h"
#include "vze_vm.h"

/**
 * struct vze_kernel_as - address space 0: rings of queues
 */
struct vze_kernel_as {
	/** @pt: page tables */
	struct vze_pt pt;
};

/**
 * vze_kernel_as_init() - make address space 0 known to the device
 * @vdev: device that answers
 *
 * Return: 0, -ENOMEM, or the error of vze_ctrl_as_create().
 */
int vze_kernel_as_init(struct vze_device *vdev)
{
	struct vze_kernel_as *as;
	int ret;

	as = drmm_kzalloc(&vdev->drm, sizeof(*as), GFP_KERNEL);
	if (!as)
		return -ENOMEM;
	ret = vze_pt_init(&as->pt, vdev, 0, true);
	if (ret)
		return ret;
	ret = vze_ctrl_as_create(vdev, 0, page_to_phys(as->pt.root));
	if (ret) {
		vze_pt_fini(&as->pt, false);
		return ret;
	}
	vdev->kernel_as = as;
	return 0;
}

/**
 * vze_kernel_as_fini() - give the tables of address space 0 back
 * @vdev: device whose hardware is shut off
 */
void vze_kernel_as_fini(struct vze_device *vdev)
{
	struct vze_kernel_as *as = vdev->kernel_as;

	if (!as)
		return;
	mutex_lock(&as->pt.lock);
	vze_pt_clear_all(&as->pt);
	mutex_unlock(&as->pt.lock);
	vze_pt_fini(&as->pt, vdev->quiesced);
	vdev->kernel_as = NULL;
}

/**
 * vze_kernel_as_map_page() - map a page into address space 0, writable
 * @vdev: device
 * @va: address where nothing is mapped
 * @page: page
 *
 * Return: 0 or -ENOMEM.
 */
int vze_kernel_as_map_page(struct vze_device *vdev, u64 va, struct page *page)
{
	return vze_pt_map_page(&vdev->kernel_as->pt, va, page);
}

/**
 * vze_kernel_as_unmap_page() - undo vze_kernel_as_map_page()
 * @vdev: device
 * @va: address
 *
 * Return: 0, or an error after which the page must not go back.
 */
int vze_kernel_as_unmap_page(struct vze_device *vdev, u64 va)
{
	return vze_pt_unmap_page(&vdev->kernel_as->pt, va);
}
