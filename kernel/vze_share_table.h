/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares as a structure; for vze_share*.c only.
 */
#ifndef _VZE_SHARE_TABLE_H_
#define _VZE_SHARE_TABLE_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/vze_drm.h>

#include "vze_gem_share.h"
#include "vze_share.h"

struct pid;
struct user_namespace;
struct vze_device;
struct vze_file;
struct vze_gem;
struct vze_user;

/**
 * struct vze_share_key - what was shared; requests of equal keys and segments are equal
 *
 * Compared as bytes: no holes.
 */
struct vze_share_key {
	/** @file: exporter; NULL once the share left its list */
	struct vze_file *file;
	/** @what: object, or address space of a range; not dereferenced */
	const void *what;
	/** @addr: of a range */
	u64 addr;
	/** @size: of a range */
	u64 size;
	/** @flags: DRM_VZE_SHARE_* */
	u64 flags;
	/** @user_data: as given */
	u64 user_data;
};

/**
 * struct vze_share_source - a view that a share was made of
 */
struct vze_share_source {
	/** @view: view, with a reference */
	struct vze_gem_share *view;
	/** @share: the share made of it */
	struct vze_share *share;
	/** @link: in vze_share.derived of the share that @view was opened of */
	struct list_head link;
};

/**
 * struct vze_share_use - an object is in a share
 */
struct vze_share_use {
	/** @link: in vze_gem.share_uses */
	struct hlist_node link;
	/** @share: the share, perhaps not known yet or over; NULL: a mark in the list */
	struct vze_share *share;
};

/**
 * struct vze_share_importer - a process that has views of a share
 */
struct vze_share_importer {
	/** @link: in vze_share.importers */
	struct list_head link;
	/** @pid: the process */
	struct pid *pid;
	/** @comm: its name when it opened the first */
	char comm[TASK_COMM_LEN];
	/** @views: how many it has, at least one */
	u32 views;
};

/**
 * struct vze_share - a share
 *
 * Life. It is found by its id from the moment it is made until it is over: not LIVE and
 * without views. Then it lets go of the memory. The structure stays while descriptors refer to
 * it. It stands in its exporter's list until it is over or the exporter's file is closed.
 *
 * What can change is protected by vze_shares_lock. @state is read without it, too.
 */
struct vze_share {
	/** @ref: until it is over; views; descriptors */
	struct kref ref;
	/** @token: id and secret */
	struct drm_vze_share_token token;
	/** @key: what was asked for */
	struct vze_share_key key;
	/** @hash: of @key and the segments */
	u64 hash;
	/** @key_link: in the table of keys, while LIVE */
	struct hlist_node key_link;
	/** @file_link: in vze_file.shares, later on its way to the end */
	struct list_head file_link;
	/** @vdev: device, with a reference on its DRM device */
	struct vze_device *vdev;
	/** @uid: effective user of the exporter */
	kuid_t uid;
	/** @user_ns: where CAP_SYS_PTRACE opens it, too */
	struct user_namespace *user_ns;
	/** @user: who is charged for it */
	struct vze_user *user;
	/** @pid: exporter */
	struct pid *pid;
	/** @comm: its name */
	char comm[TASK_COMM_LEN];
	/** @size: bytes */
	u64 size;
	/** @num_segments: pieces */
	u32 num_segments;
	/** @state: DRM_VZE_SHARE_STATE_* */
	u32 state;
	/** @readonly: openers may only read */
	bool readonly;
	/** @charged: counted as a share of @user */
	bool charged;
	/** @over: see above */
	bool over;
	/** @unmapped: views were, or are being, unmapped by a revocation */
	bool unmapped;
	/** @puts: SHARE_CREATEs that were not put yet */
	u64 puts;
	/** @segments: the memory, until it is over */
	struct vze_segments *segments;
	/** @num_sources: number of @sources */
	u32 num_sources;
	/** @sources: views that it was made of, until it is over */
	struct vze_share_source *sources;
	/** @num_uses: number of @uses that are in their object's list */
	u32 num_uses;
	/** @uses: one for each object, until it is over; owned by vze_share_uses.c */
	struct vze_share_use *uses;
	/** @only_use: @uses of a share of one object */
	struct vze_share_use only_use;
	/** @derived: struct vze_share_source of shares that were made of views of this one */
	struct list_head derived;
	/** @views: struct vze_gem_share */
	struct list_head views;
	/** @num_views: number of @views */
	u32 num_views;
	/** @num_importers: number of @importers */
	u32 num_importers;
	/** @importers: struct vze_share_importer */
	struct list_head importers;
	/** @revoke_link: in the list of one revocation; protected by the revocations' lock */
	struct list_head revoke_link;
	/** @wq: who polls a descriptor */
	wait_queue_head_t wq;
	/** @work: lets go of @sources */
	struct work_struct work;
};

/*
 * Taken inside of mmap_lock and vze_vm.lock: an object may be released under both. Memory
 * of users is not touched under it, no object is let go, and no other lock of this driver is
 * taken but that of the charges.
 */
extern struct mutex vze_shares_lock;

/**
 * vze_share_is_published() - can a share be found, or could it once?
 * @share: share; vze_shares_lock is held
 */
static inline bool vze_share_is_published(const struct vze_share *share)
{
	return share->token.id;
}

/* The table and the states: vze_share.c. */
void vze_share_get(struct vze_share *share);
void vze_share_put(struct vze_share *share);
void vze_share_free_unpublished(struct vze_share *share);
struct vze_share *vze_share_find(u64 id);
struct vze_share *vze_share_find_next(u64 *id);
struct vze_share *vze_share_find_own(struct vze_file *file, u64 id);
void vze_share_hash(struct vze_share *share);
struct vze_share *vze_share_find_equal(const struct vze_share *wanted);
int vze_share_publish(struct vze_share *share);
void vze_share_end(struct vze_share *share, u32 state, struct list_head *over);
void vze_share_ended_views(struct vze_share *share, struct list_head *over);
void vze_shares_bury(struct list_head *over);

/* Which shares an object is in: vze_share_uses.c. */
int vze_share_uses_alloc(struct vze_share *share, u64 max);
void vze_share_uses_link(struct vze_share *share);
void vze_share_uses_free(struct vze_share *share);

/* Views and who has them: vze_share_importers.c. */
int vze_share_view_open(struct vze_share *share, struct vze_gem_share *view);

/* Permission: vze_share_open.c. Descriptors: vze_share_fd.c. */
int vze_share_lookup_token(struct vze_device *vdev, const struct drm_vze_share_token *token,
			   struct vze_share **share);
int vze_share_lookup_fd(int fd, struct vze_share **share);

#endif /* _VZE_SHARE_TABLE_H_ */
