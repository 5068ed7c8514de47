/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_DRV_H_
#define _VZE_DRV_H_

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct drm_printer;
struct file;
struct vze_device;

/* Module parameters. */
extern bool vze_skip_tlb_invalidate;
/* Default of the module parameter, and what holds for PUBLISH queues when that is 0. */
#define VZE_HANG_TIMEOUT_MS	10000
extern uint vze_hang_timeout_ms;
extern uint vze_heartbeat_timeout_ms;

void vze_fence_kick(struct vze_device *vdev);

int vze_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_fence_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_fence_wake_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

bool vze_is_drm_file(const struct file *file);
void vze_show_fdinfo(struct drm_printer *p, struct drm_file *file);

#endif /* _VZE_DRV_H_ */
