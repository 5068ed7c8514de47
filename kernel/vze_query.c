// SPDX-License-Identifier: GPL-2.0
/*
 * QUERY: properties and figures of the device.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/vze_drm.h>

#include "vze_ctrl.h"
#include "vze_device.h"
#include "vze_drv.h"
#include "vze_vram.h"

/* Both clocks are read this often; the closest pair counts. */
#define CLOCK_TRIES	3

static void query_device(struct vze_device *vdev, struct drm_vze_query_device *out)
{
	const struct vze_hw_ident *ident = &vdev->ident;
	struct pci_dev *pdev = vdev->pdev;

	memset(out, 0, sizeof(*out));
	out->hw_version = ident->version_major << 16 | ident->version_minor;
	out->num_queues = ident->num_queues;
	out->features = ident->features & (VZE_HW_FEATURE_STRICT | VZE_HW_FEATURE_COMPRESSION);
	out->vram_size = ident->vram_size;
	out->max_transfer = ident->max_transfer;
	out->page_sizes = ident->page_sizes;
	out->timestamp_hz = ident->timestamp_hz;
	out->va_bits = ident->va_bits;
	out->num_engines = ident->num_engines;
	out->pci_domain = pci_domain_nr(pdev->bus);
	out->pci_bus = pdev->bus->number;
	out->pci_device = PCI_SLOT(pdev->devfn);
	out->pci_function = PCI_FUNC(pdev->devfn);
	out->pci_vendor_id = pdev->vendor;
	out->pci_device_id = pdev->device;
	memcpy(out->uuid, ident->uuid, sizeof(out->uuid));
	strscpy(out->name, ident->name, sizeof(out->name));
}

static void query_memory(struct vze_device *vdev, struct drm_vze_query_memory *out)
{
	struct vze_vram_usage vram;

	memset(out, 0, sizeof(*out));
	vze_vram_usage(vdev, &vram);
	out->vram_size = vram.size;
	if (!vze_device_is_lost(vdev)) {
		out->vram_free = vram.free;
		out->vram_largest = vram.largest;
	}
	out->vram_pending = atomic64_read(&vdev->counts.deferred[VZE_REGION_VRAM]);
	out->system_pending = atomic64_read(&vdev->counts.deferred[VZE_REGION_SYSTEM]);
	out->system_size = (u64)totalram_pages() << PAGE_SHIFT;
	out->system_free = (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
}

static int query_clock(struct vze_device *vdev, struct drm_vze_query_clock *out)
{
	u64 before, after, best = U64_MAX, device;
	int i, ret;

	for (i = 0; i < CLOCK_TRIES; i++) {
		before = ktime_get_ns();
		ret = vze_ctrl_read_clock(vdev, &device);
		after = ktime_get_ns();
		if (ret)
			return ret;
		if (after - before >= best)
			continue;
		best = after - before;
		out->device = device;
		out->cpu = before + best / 2;
	}
	return 0;
}

static void query_counters(struct vze_device *vdev, u64 *out)
{
	u32 i;

	memset(out, 0, VZE_HW_COUNTER_COUNT * sizeof(*out));
	if (!vze_hw_enter(vdev))
		return;
	for (i = 0; i < VZE_HW_COUNTER_COUNT; i++)
		out[i] = READ_ONCE(vdev->hw_counters[i]);
	vze_hw_exit(vdev);
}

/**
 * vze_query_ioctl() - DRM_IOCTL_VZE_QUERY
 * @drm: device
 * @data: struct drm_vze_query
 * @file: caller
 *
 * Return: 0 or an error of the uapi.
 */
int vze_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vze_device *vdev = to_vze(drm);
	struct drm_vze_query *args = data;
	union {
		struct drm_vze_query_device device;
		struct drm_vze_query_memory memory;
		struct drm_vze_query_clock clock;
		u64 counters[VZE_HW_COUNTER_COUNT];
	} answer;
	u32 size;
	int ret = 0;

	switch (args->query) {
	case DRM_VZE_QUERY_DEVICE:
		query_device(vdev, &answer.device);
		size = sizeof(answer.device);
		break;
	case DRM_VZE_QUERY_MEMORY:
		query_memory(vdev, &answer.memory);
		size = sizeof(answer.memory);
		break;
	case DRM_VZE_QUERY_CLOCK:
		size = sizeof(answer.clock);
		/* Asking for the size does not need the device. */
		if (args->size)
			ret = query_clock(vdev, &answer.clock);
		break;
	case DRM_VZE_QUERY_COUNTERS:
		query_counters(vdev, answer.counters);
		size = sizeof(answer.counters);
		break;
	default:
		return -EINVAL;
	}
	if (ret)
		return ret;

	if (args->size && copy_to_user(u64_to_user_ptr(args->data), &answer,
				       min(args->size, size)))
		return -EFAULT;
	args->size = size;
	return 0;
}
