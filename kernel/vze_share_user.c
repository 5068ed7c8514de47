// SPDX-License-Identifier: GPL-2.0
/*
 * What a user may have in shares.
 *
 * Shares and their segments are kernel memory that outlives processes: a segment array
 * lives as long as anybody has the share open. Both are therefore counted per user of
 * the exporter, over all devices, from before they are allocated until they are freed.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "vze_share_user.h"

static unsigned int max_shares = 65536;
module_param_named(max_shares, max_shares, uint, 0644);
MODULE_PARM_DESC(max_shares, "Most shares of one user (default 65536)");

static unsigned int max_share_segments = 4U << 20;
module_param_named(max_share_segments, max_share_segments, uint, 0644);
MODULE_PARM_DESC(max_share_segments,
		 "Most segments, of 48 bytes, in one user's shares (default 4194304)");

/**
 * struct vze_share_user - a user who has shares; protected by users_lock
 */
struct vze_share_user {
	/** @ref: shares and segment arrays */
	refcount_t ref;
	/** @uid: index in the table of users */
	kuid_t uid;
	/** @shares: charged now */
	u64 shares;
	/** @segments: charged now */
	u64 segments;
};

/* Innermost: nothing is locked under it. */
static DEFINE_MUTEX(users_lock);
/* User id to struct vze_share_user. */
static DEFINE_XARRAY(users);

static struct vze_share_user *user_make(kuid_t uid)
{
	struct vze_share_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	refcount_set(&user->ref, 1);
	user->uid = uid;
	if (xa_err(xa_store(&users, __kuid_val(uid), user, GFP_KERNEL_ACCOUNT))) {
		kfree(user);
		return NULL;
	}
	return user;
}

/**
 * vze_share_user_get_current() - the user that the caller acts for
 *
 * Return: the user of the effective user id with a reference, or NULL: no memory.
 */
struct vze_share_user *vze_share_user_get_current(void)
{
	kuid_t uid = current_euid();
	struct vze_share_user *user;

	mutex_lock(&users_lock);
	user = xa_load(&users, __kuid_val(uid));
	if (user)
		refcount_inc(&user->ref);
	else
		user = user_make(uid);
	mutex_unlock(&users_lock);
	return user;
}

/**
 * vze_share_user_get() - one more reference
 * @user: user
 */
struct vze_share_user *vze_share_user_get(struct vze_share_user *user)
{
	refcount_inc(&user->ref);
	return user;
}

/**
 * vze_share_user_put() - drop a reference; may sleep
 * @user: user, or NULL
 */
void vze_share_user_put(struct vze_share_user *user)
{
	if (!user || !refcount_dec_and_mutex_lock(&user->ref, &users_lock))
		return;
	xa_erase(&users, __kuid_val(user->uid));
	mutex_unlock(&users_lock);
	kfree(user);
}

static bool user_is_exempt(void)
{
	return capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
}

/**
 * vze_share_user_charge() - count what is about to be made
 * @user: user
 * @shares: shares
 * @segments: segments
 *
 * Return: 0, or -EDQUOT: nothing was counted.
 */
int vze_share_user_charge(struct vze_share_user *user, u64 shares, u64 segments)
{
	int ret = 0;

	mutex_lock(&users_lock);
	if ((user->shares + shares > READ_ONCE(max_shares) ||
	     user->segments + segments > READ_ONCE(max_share_segments)) && !user_is_exempt()) {
		ret = -EDQUOT;
	} else {
		user->shares += shares;
		user->segments += segments;
	}
	mutex_unlock(&users_lock);
	return ret;
}

/**
 * vze_share_user_uncharge() - what was counted is gone
 * @user: user
 * @shares: shares
 * @segments: segments
 */
void vze_share_user_uncharge(struct vze_share_user *user, u64 shares, u64 segments)
{
	mutex_lock(&users_lock);
	user->shares -= shares;
	user->segments -= segments;
	mutex_unlock(&users_lock);
}
