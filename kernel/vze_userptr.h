/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_USERPTR_H_
#define _VZE_USERPTR_H_

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct vze_device;
struct vze_gem;

int vze_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
u64 vze_userptr_address(const struct vze_gem *bo);
bool vze_userptr_is_foreign(const struct vze_gem *bo);
void vze_userptrs_drop(bool (*gone)(struct vze_device *owner, struct vze_device *vdev),
		       struct vze_device *vdev);

#endif /* _VZE_USERPTR_H_ */
