/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_SHARE_H_
#define _VZE_SHARE_H_

struct drm_device;
struct drm_file;
struct seq_file;
struct vze_file;
struct vze_gem;

void vze_shares_object_closed(struct vze_file *file, struct vze_gem *bo);
void vze_shares_file_close(struct vze_file *file);
int vze_shares_show(struct seq_file *m, void *unused);

int vze_share_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_open_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_put_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _VZE_SHARE_H_ */
