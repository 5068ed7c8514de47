/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_VRAM_H_
#define _VZE_VRAM_H_

#include <linux/list.h>
#include <linux/types.h>

struct seq_file;
struct vze_device;

/**
 * struct vze_vram_usage - figures of a moment
 */
struct vze_vram_usage {
	/** @size: bytes of VRAM */
	u64 size;
	/** @used: bytes that objects hold */
	u64 used;
	/** @free: bytes that can be allocated, those that wait to be cleared included */
	u64 free;
	/** @largest: largest block that can be allocated */
	u64 largest;
};

int vze_vram_init(struct vze_device *vdev);

int vze_vram_alloc(struct vze_device *vdev, u64 size, struct list_head *blocks, u32 *num);
void vze_vram_free(struct vze_device *vdev, u64 size, struct list_head *blocks);
int vze_vram_expose(struct vze_device *vdev, u64 offset, u64 size);
void vze_vram_usage(struct vze_device *vdev, struct vze_vram_usage *usage);
void vze_gem_vram_show(struct seq_file *m, struct vze_device *vdev);
int vze_vram_show(struct seq_file *m, void *unused);

#endif /* _VZE_VRAM_H_ */
