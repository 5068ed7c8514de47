// SPDX-License-Identifier: GPL-2.0
/*
 * What one user may have, over all devices.
 *
 * Shares and their segments are kernel memory that outlives processes: a segment array
 * lives as long as anybody has the share open. Address spaces and queues are few, and the
 * device's. All are counted for the user who asked for them, from before they are made until
 * they are gone.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "vze_user.h"

static unsigned int limits[VZE_USER_KINDS] = {
	[VZE_USER_SHARES] = 65536,
	[VZE_USER_SEGMENTS] = 4U << 20,
	[VZE_USER_VMS] = 768,
	[VZE_USER_QUEUES] = 768,
};

module_param_named(max_shares, limits[VZE_USER_SHARES], uint, 0644);
MODULE_PARM_DESC(max_shares, "Most shares of one user (default 65536)");
module_param_named(max_share_segments, limits[VZE_USER_SEGMENTS], uint, 0644);
MODULE_PARM_DESC(max_share_segments,
		 "Most segments, of 48 bytes, in one user's shares (default 4194304)");
module_param_named(max_vms, limits[VZE_USER_VMS], uint, 0644);
MODULE_PARM_DESC(max_vms, "Most address spaces of one user (default 768)");
module_param_named(max_queues, limits[VZE_USER_QUEUES], uint, 0644);
MODULE_PARM_DESC(max_queues, "Most queues of one user (default 768)");

/**
 * struct vze_user - a user who has something; protected by users_lock
 */
struct vze_user {
	/** @ref: whatever is counted */
	refcount_t ref;
	/** @link: in the table of users */
	struct hlist_node link;
	/** @uid: who it is */
	kuid_t uid;
	/** @charged: what it has */
	u64 charged[VZE_USER_KINDS];
};

/* Innermost, and no memory is allocated under it: queues end where fences wait for that. */
static DEFINE_SPINLOCK(users_lock);
static DEFINE_HASHTABLE(users, 6);

static struct vze_user *user_find(kuid_t uid)
{
	struct vze_user *user;

	lockdep_assert_held(&users_lock);
	hash_for_each_possible(users, user, link, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid)) {
			refcount_inc(&user->ref);
			return user;
		}
	}
	return NULL;
}

/**
 * vze_user_get_current() - the user that the caller acts for
 *
 * Return: the user of the effective user id with a reference, or NULL: no memory.
 */
struct vze_user *vze_user_get_current(void)
{
	kuid_t uid = current_euid();
	struct vze_user *user, *fresh;

	spin_lock(&users_lock);
	user = user_find(uid);
	spin_unlock(&users_lock);
	if (user)
		return user;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	refcount_set(&fresh->ref, 1);
	fresh->uid = uid;
	spin_lock(&users_lock);
	user = user_find(uid);
	if (!user)
		hash_add(users, &fresh->link, __kuid_val(uid));
	spin_unlock(&users_lock);
	if (!user)
		return fresh;
	kfree(fresh);
	return user;
}

/**
 * vze_user_get() - one more reference
 * @user: user
 */
struct vze_user *vze_user_get(struct vze_user *user)
{
	refcount_inc(&user->ref);
	return user;
}

/**
 * vze_user_put() - drop a reference
 * @user: user, or NULL
 */
void vze_user_put(struct vze_user *user)
{
	bool last;

	if (!user)
		return;
	spin_lock(&users_lock);
	last = refcount_dec_and_test(&user->ref);
	if (last)
		hash_del(&user->link);
	spin_unlock(&users_lock);
	if (last)
		kfree(user);
}

static bool user_is_exempt(void)
{
	return capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
}

static bool user_charge(struct vze_user *user, enum vze_user_kind kind, u64 num, bool exempt)
{
	bool charged;

	spin_lock(&users_lock);
	charged = exempt || user->charged[kind] + num <= READ_ONCE(limits[kind]);
	if (charged)
		user->charged[kind] += num;
	spin_unlock(&users_lock);
	return charged;
}

/**
 * vze_user_charge() - count what is about to be made
 * @user: user
 * @kind: what it is
 * @num: how many
 *
 * Return: 0, or -EDQUOT: nothing was counted.
 */
int vze_user_charge(struct vze_user *user, enum vze_user_kind kind, u64 num)
{
	if (user_charge(user, kind, num, false))
		return 0;
	return user_is_exempt() && user_charge(user, kind, num, true) ? 0 : -EDQUOT;
}

/**
 * vze_user_uncharge() - what was counted is gone
 * @user: user
 * @kind: what it is
 * @num: how many
 */
void vze_user_uncharge(struct vze_user *user, enum vze_user_kind kind, u64 num)
{
	spin_lock(&users_lock);
	user->charged[kind] -= num;
	spin_unlock(&users_lock);
}

/**
 * vze_user_charge_current() - count one thing that the caller's user is about to have
 * @kind: what it is
 *
 * Return: the user, for vze_user_discharge(); -EDQUOT or -ENOMEM.
 */
struct vze_user *vze_user_charge_current(enum vze_user_kind kind)
{
	struct vze_user *user = vze_user_get_current();
	int ret;

	if (!user)
		return ERR_PTR(-ENOMEM);
	ret = vze_user_charge(user, kind, 1);
	if (ret) {
		vze_user_put(user);
		return ERR_PTR(ret);
	}
	return user;
}

/**
 * vze_user_discharge() - undo vze_user_charge_current()
 * @user: user, or NULL
 * @kind: what it was
 */
void vze_user_discharge(struct vze_user *user, enum vze_user_kind kind)
{
	if (!user)
		return;
	vze_user_uncharge(user, kind, 1);
	vze_user_put(user);
}
