/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_QUARANTINE_H_
#define _VZE_QUARANTINE_H_

struct list_head;
struct vze_device;

void vze_quarantine_vmas(struct vze_device *vdev, struct list_head *vmas);
void vze_quarantine_tables(struct vze_device *vdev, struct list_head *tables);
void vze_quarantine_release(struct vze_device *vdev);

#endif /* _VZE_QUARANTINE_H_ */
