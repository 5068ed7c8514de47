/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_SHARE_H_
#define _VZE_SHARE_H_

struct drm_device;
struct drm_file;
struct seq_file;
struct vze_device;
struct vze_file;
struct vze_gem;
struct vze_gem_share;

void vze_shares_object_closed(struct vze_file *file, struct vze_gem *bo);
void vze_shares_file_close(struct vze_file *file);
void vze_shares_unplug(struct vze_device *vdev);
void vze_share_view_release(struct vze_gem_share *view);
int vze_shares_show(struct seq_file *m, void *unused);

int vze_share_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_open_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_put_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_fd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_importers_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_share_revoke_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

int vze_share_module_init(void);
void vze_share_module_exit(void);

#endif /* _VZE_SHARE_H_ */
