/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_BIND_H_
#define _VZE_BIND_H_

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct drm_gpuva_op;
struct list_head;
struct seq_file;
struct vze_bind;
struct vze_gem;
struct vze_vm;

int vze_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* One mapping in two steps, for who must not fail after the first (SHARE_OPEN). */
struct vze_bind *vze_bind_prepare_map(struct vze_vm *vm, struct vze_gem *bo, u64 addr, u32 flags);
int vze_bind_commit(struct vze_bind *bind);
void vze_bind_abort(struct vze_bind *bind);

/* &drm_gpuvm_ops of all address spaces; the private pointer is a struct vze_bind. */
int vze_bind_step_map(struct drm_gpuva_op *op, void *priv);
int vze_bind_step_remap(struct drm_gpuva_op *op, void *priv);
int vze_bind_step_unmap(struct drm_gpuva_op *op, void *priv);

void vze_bind_show_deferred(struct seq_file *m, struct vze_vm *vm);
void vze_bind_abandon(struct vze_vm *vm, struct list_head *vmas);
int vze_bind_module_init(void);
void vze_bind_module_exit(void);

#endif /* _VZE_BIND_H_ */
