/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_SHARE_USER_H_
#define _VZE_SHARE_USER_H_

#include <linux/types.h>

struct vze_share_user;

struct vze_share_user *vze_share_user_get_current(void);
struct vze_share_user *vze_share_user_get(struct vze_share_user *user);
void vze_share_user_put(struct vze_share_user *user);
int vze_share_user_charge(struct vze_share_user *user, u64 shares, u64 segments);
void vze_share_user_uncharge(struct vze_share_user *user, u64 shares, u64 segments);

#endif /* _VZE_SHARE_USER_H_ */
