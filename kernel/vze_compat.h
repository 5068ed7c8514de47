/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the module builds for, 6.12 to 7.2. The rest of
 * the module is written for the newest one as far as possible.
 */
#ifndef _VZE_COMPAT_H_
#define _VZE_COMPAT_H_

#include <linux/version.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gpuvm.h>

/* Until 6.13 the DRM core warns about a driver without a date. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define VZE_DRIVER_DATE .date = "20260101",
#else
#define VZE_DRIVER_DATE
#endif

/**
 * vze_drm_wedged() - tell user space that the device needs to be bound anew
 * @drm: device
 *
 * Older kernels have no event for this; there the kernel log says it.
 */
static inline void vze_drm_wedged(struct drm_device *drm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	drm_dev_wedged_event(drm, DRM_WEDGE_RECOVERY_REBIND, NULL);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	drm_dev_wedged_event(drm, DRM_WEDGE_RECOVERY_REBIND);
#endif
}

/* The name of a namespace of symbols became a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define VZE_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define VZE_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

/**
 * vze_gpuvm_sm_map() - split and merge steps for a new mapping
 * @gpuvm: address space
 * @priv: handed to the steps
 * @addr: address of the new mapping
 * @range: its size
 * @obj: object to map
 * @offset: first byte in @obj
 *
 * Newer kernels take a structure.
 */
static inline int vze_gpuvm_sm_map(struct drm_gpuvm *gpuvm, void *priv, u64 addr, u64 range,
				   struct drm_gem_object *obj, u64 offset)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	struct drm_gpuvm_map_req req = {
		.map.va.addr = addr,
		.map.va.range = range,
		.map.gem.obj = obj,
		.map.gem.offset = offset,
	};

	return drm_gpuvm_sm_map(gpuvm, priv, &req);
#else
	return drm_gpuvm_sm_map(gpuvm, priv, addr, range, obj, offset);
#endif
}

#endif /* _VZE_COMPAT_H_ */
