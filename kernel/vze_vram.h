/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_VRAM_H_
#define _VZE_VRAM_H_

#include <linux/list.h>
#include <linux/types.h>

struct seq_file;
struct vze_device;

int vze_vram_init(struct vze_device *vdev);

int vze_vram_alloc(struct vze_device *vdev, u64 size, struct list_head *blocks, u32 *num);
void vze_vram_free(struct vze_device *vdev, u64 size, struct list_head *blocks);
void vze_vram_usage(struct vze_device *vdev, u64 *size, u64 *free, u64 *largest);
void vze_gem_vram_show(struct seq_file *m, struct vze_device *vdev);
int vze_vram_show(struct seq_file *m, void *unused);

#endif /* _VZE_VRAM_H_ */
