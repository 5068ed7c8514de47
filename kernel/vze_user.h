/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_USER_H_
#define _VZE_USER_H_

#include <linux/types.h>

struct vze_user;

/**
 * enum vze_user_kind - what is counted per user
 * @VZE_USER_SHARES: shares
 * @VZE_USER_SEGMENTS: segments of shares
 * @VZE_USER_VMS: address spaces
 * @VZE_USER_QUEUES: queues
 * @VZE_USER_KINDS: number of the above
 */
enum vze_user_kind {
	VZE_USER_SHARES,
	VZE_USER_SEGMENTS,
	VZE_USER_VMS,
	VZE_USER_QUEUES,
	VZE_USER_KINDS
};

struct vze_user *vze_user_get_current(void);
struct vze_user *vze_user_get(struct vze_user *user);
void vze_user_put(struct vze_user *user);
int vze_user_charge(struct vze_user *user, enum vze_user_kind kind, u64 num);
void vze_user_uncharge(struct vze_user *user, enum vze_user_kind kind, u64 num);
struct vze_user *vze_user_charge_current(enum vze_user_kind kind);
void vze_user_discharge(struct vze_user *user, enum vze_user_kind kind);

#endif /* _VZE_USER_H_ */
