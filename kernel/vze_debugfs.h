/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_DEBUGFS_H_
#define _VZE_DEBUGFS_H_

#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>

#include "vze_device.h"

void vze_debugfs_init(struct vze_device *vdev);

/**
 * vze_debugfs_device() - device of a debugfs file
 * @m: as the show function got it
 */
static inline struct vze_device *vze_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_vze(entry->dev);
}

#endif /* _VZE_DEBUGFS_H_ */
