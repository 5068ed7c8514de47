// SPDX-License-Identifier: GPL-2.0
/*
 * Shares: memory for other processes of the same user, by token.
 *
 * A share is found by its id, which is never used again, and opened by who knows its
 * secret. It holds an array of segments, made under the lock of the address space in
 * one go, so that it is a consistent picture. It can be opened while it is in the table;
 * the last put, the close of an exporter's handle and the close of the exporter's file
 * take it out. What was opened before stays: it holds the segments itself.
 *
 * The objects that the exporter shared (the sources) count how often they are in a
 * share that lives, so that closing a handle looks for shares only when there are some.
 */

#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include <crypto/utils.h>

#include "vze_bind.h"
#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_gem.h"
#include "vze_gem_share.h"
#include "vze_share.h"
#include "vze_vm.h"

static unsigned int max_shares = 65536;
module_param_named(max_shares, max_shares, uint, 0644);
MODULE_PARM_DESC(max_shares, "Most living shares of one user (default 65536)");

/**
 * struct vze_share_key - what was shared; equal requests give the same share
 */
struct vze_share_key {
	/** @file: exporter; the share does not outlive it */
	struct vze_file *file;
	/** @what: object, or address space of a range; not dereferenced */
	const void *what;
	/** @addr: of a range */
	u64 addr;
	/** @size: of a range */
	u64 size;
	/** @flags: DRM_VZE_SHARE_* */
	u64 flags;
};

/**
 * struct vze_share - a share that can be opened
 *
 * In @shares, in its file's list and in the table of keys; protected by shares_lock.
 */
struct vze_share {
	/** @token: id and secret */
	struct drm_vze_share_token token;
	/** @key: what was asked for */
	struct vze_share_key key;
	/** @key_link: in share_keys */
	struct hlist_node key_link;
	/** @file_link: in vze_file.shares */
	struct list_head file_link;
	/** @vdev: device */
	struct vze_device *vdev;
	/** @uid: user of the exporter */
	kuid_t uid;
	/** @user_ns: where CAP_SYS_PTRACE opens it, too */
	struct user_namespace *user_ns;
	/** @puts: SHARE_CREATEs that were not put yet */
	u64 puts;
	/** @readonly: openers may only read */
	bool readonly;
	/** @segments: the memory */
	struct vze_segments *segments;
	/** @num_composites: number of @composites */
	u32 num_composites;
	/** @composites: sources that are opened shares, with references */
	struct vze_gem **composites;
};

static DEFINE_MUTEX(shares_lock);
static DEFINE_XARRAY(shares);
static DEFINE_HASHTABLE(share_keys, 10);
/* User id to number of living shares. */
static DEFINE_XARRAY(shares_of_user);
static u64 last_share_id;

/* ---------------------------------------------------------------- sources -- */

static void share_count_sources(struct vze_share *share, int num)
{
	u32 i;

	lockdep_assert_held(&shares_lock);
	for (i = 0; i < share->segments->num; i++)
		atomic_add(num, &share->segments->segment[i].bo->shared);
	for (i = 0; i < share->num_composites; i++)
		atomic_add(num, &share->composites[i]->shared);
}

static bool share_has_source(const struct vze_share *share, const struct vze_gem *bo)
{
	u32 i;

	for (i = 0; i < share->num_composites; i++) {
		if (share->composites[i] == bo)
			return true;
	}
	for (i = 0; i < share->segments->num; i++) {
		if (share->segments->segment[i].bo == bo)
			return true;
	}
	return false;
}

/* --------------------------------------------------------------- counting -- */

static unsigned long user_shares(kuid_t uid)
{
	void *entry = xa_load(&shares_of_user, __kuid_val(uid));

	return entry ? xa_to_value(entry) : 0;
}

static int user_count(kuid_t uid, long num)
{
	unsigned long count = user_shares(uid) + num;

	if (!count) {
		xa_erase(&shares_of_user, __kuid_val(uid));
		return 0;
	}
	return xa_err(xa_store(&shares_of_user, __kuid_val(uid), xa_mk_value(count),
			       GFP_KERNEL_ACCOUNT));
}

/* ------------------------------------------------------------ life, death -- */

static void share_free(struct vze_share *share)
{
	u32 i;

	for (i = 0; i < share->num_composites; i++)
		drm_gem_object_put(&share->composites[i]->base);
	kvfree(share->composites);
	vze_segments_put(share->segments);
	put_user_ns(share->user_ns);
	kfree(share);
}

/* Nobody can open it any more. The caller frees @dead without the lock. */
static void share_kill(struct vze_share *share, struct list_head *dead)
{
	lockdep_assert_held(&shares_lock);
	xa_erase(&shares, share->token.id);
	hash_del(&share->key_link);
	list_move_tail(&share->file_link, dead);
	share_count_sources(share, -1);
	/* Shrinking a value allocates nothing. */
	user_count(share->uid, -1);
	atomic64_dec(&share->vdev->counts.shares);
}

static void shares_free(struct list_head *dead)
{
	struct vze_share *share, *next;

	list_for_each_entry_safe(share, next, dead, file_link)
		share_free(share);
}

/**
 * vze_shares_object_closed() - an exporter gives up its handle
 * @file: exporter, perhaps
 * @bo: object
 */
void vze_shares_object_closed(struct vze_file *file, struct vze_gem *bo)
{
	struct vze_share *share, *next;
	LIST_HEAD(dead);

	mutex_lock(&shares_lock);
	list_for_each_entry_safe(share, next, &file->shares, file_link) {
		if (share_has_source(share, bo))
			share_kill(share, &dead);
	}
	mutex_unlock(&shares_lock);
	shares_free(&dead);
}

/**
 * vze_shares_file_close() - an exporter's file is closed
 * @file: file
 */
void vze_shares_file_close(struct vze_file *file)
{
	struct vze_share *share, *next;
	LIST_HEAD(dead);

	mutex_lock(&shares_lock);
	list_for_each_entry_safe(share, next, &file->shares, file_link)
		share_kill(share, &dead);
	mutex_unlock(&shares_lock);
	shares_free(&dead);
}

/* --------------------------------------------------------------- creating -- */

static bool bo_can_be_shared(const struct vze_gem *bo)
{
	return bo->placement == DRM_VZE_PLACEMENT_VRAM ||
	       bo->placement == DRM_VZE_PLACEMENT_SYSTEM ||
	       bo->placement == DRM_VZE_PLACEMENT_SHARE;
}

static void share_add_source(struct vze_share *share, struct vze_gem *bo, u64 offset, u64 size)
{
	share->readonly |= bo->flags & VZE_GEM_READONLY;
	vze_segments_add(share->segments, bo, offset, size);
	if (bo->placement == DRM_VZE_PLACEMENT_SHARE) {
		drm_gem_object_get(&bo->base);
		share->composites[share->num_composites++] = bo;
	}
}

static int share_reserve(struct vze_share *share, u64 segments, u32 composites)
{
	if (segments > INT_MAX)
		return -ENOMEM;
	share->segments = vze_segments_alloc(segments);
	if (!share->segments)
		return -ENOMEM;
	if (!composites)
		return 0;
	share->composites = kvmalloc_array(composites, sizeof(*share->composites),
					   GFP_KERNEL_ACCOUNT);
	return share->composites ? 0 : -ENOMEM;
}

static int share_fill_object(struct vze_share *share, struct vze_gem *bo)
{
	int ret;

	if (!bo_can_be_shared(bo))
		return -EOPNOTSUPP;
	ret = share_reserve(share, vze_segments_count(bo, 0, bo->base.size),
			    bo->placement == DRM_VZE_PLACEMENT_SHARE);
	if (!ret)
		share_add_source(share, bo, 0, bo->base.size);
	return ret;
}

static int share_fill_range(struct vze_share *share, struct vze_vm *vm, u64 addr, u64 size)
{
	u64 end = addr + size, next = addr, segments = 0;
	struct drm_gpuva *va;
	u32 composites = 0;
	int ret;

	lockdep_assert_held(&vm->lock);

	drm_gpuvm_for_each_va_range(va, &vm->base, addr, end) {
		struct vze_gem *bo = to_vze_gem(va->gem.obj);

		if (va->va.addr > next)
			return -ENOENT;
		if (!bo_can_be_shared(bo))
			return -EOPNOTSUPP;
		next = va->va.addr + va->va.range;
		segments += vze_segments_count(bo, va->gem.offset, va->va.range);
		composites += bo->placement == DRM_VZE_PLACEMENT_SHARE;
	}
	if (next < end)
		return -ENOENT;

	ret = share_reserve(share, segments, composites);
	if (ret)
		return ret;
	drm_gpuvm_for_each_va_range(va, &vm->base, addr, end) {
		u64 first = max(va->va.addr, addr);
		u64 last = min(va->va.addr + va->va.range, end);

		share_add_source(share, to_vze_gem(va->gem.obj),
				 va->gem.offset + (first - va->va.addr), last - first);
	}
	return 0;
}

static u32 key_hash(const struct vze_share_key *key)
{
	return hash_64((u64)(uintptr_t)key->file ^ hash_ptr(key->what, 32) ^ key->addr ^
		       key->size ^ key->flags, 32);
}

static struct vze_share *share_find_equal(const struct vze_share *wanted)
{
	struct vze_share *share;

	lockdep_assert_held(&shares_lock);
	hash_for_each_possible(share_keys, share, key_link, key_hash(&wanted->key)) {
		if (!memcmp(&share->key, &wanted->key, sizeof(share->key)) &&
		    vze_segments_equal(share->segments, wanted->segments))
			return share;
	}
	return NULL;
}

static int share_publish(struct vze_share *share)
{
	int ret;

	lockdep_assert_held(&shares_lock);
	if (user_shares(share->uid) >= READ_ONCE(max_shares))
		return -EDQUOT;
	share->token.id = last_share_id + 1;
	get_random_bytes(share->token.secret, sizeof(share->token.secret));
	ret = user_count(share->uid, 1);
	if (ret)
		return ret;
	ret = xa_err(xa_store(&shares, share->token.id, share, GFP_KERNEL_ACCOUNT));
	if (ret) {
		user_count(share->uid, -1);
		return ret;
	}
	last_share_id++;
	hash_add(share_keys, &share->key_link, key_hash(&share->key));
	list_add_tail(&share->file_link, &share->key.file->shares);
	share_count_sources(share, 1);
	atomic64_inc(&share->vdev->counts.shares);
	return 0;
}

static struct vze_share *share_alloc(struct vze_file *file, const void *what,
				     const struct drm_vze_share_create *args)
{
	struct vze_share *share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);

	if (!share)
		return NULL;
	share->key.file = file;
	share->key.what = what;
	share->key.addr = args->addr;
	share->key.size = args->flags & DRM_VZE_SHARE_RANGE ? args->size : 0;
	share->key.flags = args->flags;
	share->vdev = file->vdev;
	share->uid = current_euid();
	share->user_ns = get_user_ns(current_user_ns());
	share->readonly = args->flags & DRM_VZE_SHARE_READONLY;
	return share;
}

/* Publishes a complete share, or counts one more create of an equal one. */
static int share_finish(struct vze_share *share, struct drm_vze_share_create *args)
{
	struct vze_share *equal;
	int ret = 0;

	mutex_lock(&shares_lock);
	equal = share_find_equal(share);
	if (!equal)
		ret = share_publish(share);
	if (!ret) {
		const struct vze_share *result = equal ?: share;

		(equal ?: share)->puts++;
		args->segments = result->segments->num;
		args->size = result->segments->size;
		args->token = result->token;
	}
	mutex_unlock(&shares_lock);
	if (equal || ret)
		share_free(share);
	return ret;
}

static int share_create_object(struct vze_file *file, struct drm_vze_share_create *args)
{
	struct vze_gem *bo, *again;
	struct vze_share *share;
	int ret;

	if (args->vm_id || args->addr)
		return -EINVAL;
	bo = vze_gem_lookup(file->drm_file, args->handle);
	if (!bo)
		return -ENOENT;
	share = share_alloc(file, bo, args);
	ret = share ? share_fill_object(share, bo) : -ENOMEM;
	if (ret) {
		if (share)
			share_free(share);
	} else {
		ret = share_finish(share, args);
	}
	if (!ret) {
		/* A handle that was closed meanwhile may have been too early to kill it. */
		again = vze_gem_lookup(file->drm_file, args->handle);
		if (again != bo) {
			vze_shares_object_closed(file, bo);
			ret = -ENOENT;
		}
		if (again)
			drm_gem_object_put(&again->base);
	}
	drm_gem_object_put(&bo->base);
	return ret;
}

static int share_create_range(struct vze_file *file, struct drm_vze_share_create *args)
{
	struct vze_share *share;
	struct vze_vm *vm;
	int ret;

	if (args->handle || !args->size || !PAGE_ALIGNED(args->addr | args->size) ||
	    args->addr < VZE_VM_START || args->addr >= VZE_VM_END ||
	    args->size > VZE_VM_END - args->addr)
		return -EINVAL;
	vm = vze_vm_lookup(file, args->vm_id);
	if (!vm)
		return -ENOENT;
	share = share_alloc(file, vm, args);
	if (!share) {
		ret = -ENOMEM;
		goto out;
	}
	if (mutex_lock_interruptible(&vm->lock)) {
		ret = -EINTR;
	} else {
		ret = share_fill_range(share, vm, args->addr, args->size);
		mutex_unlock(&vm->lock);
	}
	if (ret)
		share_free(share);
	else
		ret = share_finish(share, args);
out:
	vze_vm_put(vm);
	return ret;
}

/**
 * vze_share_create_ioctl() - DRM_IOCTL_VZE_SHARE_CREATE
 * @drm: device
 * @data: struct drm_vze_share_create
 * @file: caller
 */
int vze_share_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_create *args = data;

	if (args->flags & ~(DRM_VZE_SHARE_READONLY | DRM_VZE_SHARE_RANGE))
		return -EINVAL;
	if (current->mm != to_vze_file(file)->mm)
		return -EPERM;
	if (args->flags & DRM_VZE_SHARE_RANGE)
		return share_create_range(to_vze_file(file), args);
	return share_create_object(to_vze_file(file), args);
}

/* ---------------------------------------------------------------- opening -- */

/* Checks the token and takes the segments. */
static struct vze_segments *share_take(struct vze_device *vdev,
				       const struct drm_vze_share_token *token, bool *readonly)
{
	struct vze_segments *segments;
	struct vze_share *share;

	mutex_lock(&shares_lock);
	share = xa_load(&shares, token->id);
	if (!share || crypto_memneq(share->token.secret, token->secret, sizeof(token->secret))) {
		segments = ERR_PTR(-ENOENT);
	} else if (!uid_eq(current_euid(), share->uid) &&
		   !ns_capable(share->user_ns, CAP_SYS_PTRACE)) {
		segments = ERR_PTR(-EACCES);
	} else if (share->vdev != vdev) {
		segments = ERR_PTR(-EXDEV);
	} else {
		segments = vze_segments_get(share->segments);
		*readonly = share->readonly;
	}
	mutex_unlock(&shares_lock);
	return segments;
}

/*
 * Everything that can fail comes before the handle is there, and the handle before the
 * mapping takes effect.
 */
static int share_bind(struct drm_file *file, struct vze_gem *bo, struct drm_vze_share_open *args)
{
	u32 flags = args->flags & DRM_VZE_SHARE_OPEN_READONLY ? DRM_VZE_BIND_READONLY : 0;
	struct vze_bind *bind;
	struct vze_vm *vm;
	int ret;

	vm = vze_vm_lookup(to_vze_file(file), args->vm_id);
	if (!vm)
		return -ENOENT;
	bind = vze_bind_prepare_map(vm, bo, args->addr, flags);
	if (IS_ERR(bind)) {
		ret = PTR_ERR(bind);
		goto out;
	}
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	if (ret) {
		vze_bind_abort(bind);
		goto out;
	}
	ret = vze_bind_commit(bind);
	if (ret)
		drm_gem_handle_delete(file, args->handle);
out:
	vze_vm_put(vm);
	return ret;
}

static int share_open(struct drm_file *file, struct vze_segments *segments, bool readonly,
		      struct drm_vze_share_open *args)
{
	/* Who asks for reading only gets an object that the CPU cannot write either. */
	bool bo_readonly = readonly || (args->flags & DRM_VZE_SHARE_OPEN_READONLY);
	bool bind = args->flags & DRM_VZE_SHARE_OPEN_BIND;
	struct vze_gem *bo;
	int ret;

	if (bind && args->size != segments->size)
		return -EINVAL;
	bo = vze_gem_share_create(to_vze_file(file)->vdev, segments, bo_readonly);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (bind)
		ret = share_bind(file, bo, args);
	else
		ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	drm_gem_object_put(&bo->base);
	if (ret)
		return ret;
	args->size = segments->size;
	args->segments = segments->num;
	if (readonly)
		args->flags |= DRM_VZE_SHARE_OPEN_IS_READONLY;
	return 0;
}

/**
 * vze_share_open_ioctl() - DRM_IOCTL_VZE_SHARE_OPEN
 * @drm: device
 * @data: struct drm_vze_share_open
 * @file: caller
 */
int vze_share_open_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_share_open *args = data;
	struct vze_segments *segments;
	bool readonly;
	int ret;

	if (args->flags & ~(DRM_VZE_SHARE_OPEN_BIND | DRM_VZE_SHARE_OPEN_READONLY))
		return -EINVAL;
	if (!(args->flags & DRM_VZE_SHARE_OPEN_BIND) && (args->vm_id || args->addr))
		return -EINVAL;

	segments = share_take(to_vze(drm), &args->token, &readonly);
	if (IS_ERR(segments))
		return PTR_ERR(segments);
	ret = share_open(file, segments, readonly, args);
	vze_segments_put(segments);
	return ret;
}

/**
 * vze_share_put_ioctl() - DRM_IOCTL_VZE_SHARE_PUT
 * @drm: device
 * @data: struct drm_vze_share_put
 * @file: caller
 */
int vze_share_put_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_share_put *args = data;
	struct vze_share *share;
	LIST_HEAD(dead);

	mutex_lock(&shares_lock);
	share = xa_load(&shares, args->id);
	if (!share || share->key.file != to_vze_file(file)) {
		mutex_unlock(&shares_lock);
		return -ENOENT;
	}
	if (!--share->puts)
		share_kill(share, &dead);
	mutex_unlock(&shares_lock);
	shares_free(&dead);
	return 0;
}

/**
 * vze_shares_show() - debugfs vze_shares
 * @m: file
 * @unused: not used
 */
int vze_shares_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	struct vze_share *share;
	unsigned long id;

	mutex_lock(&shares_lock);
	xa_for_each(&shares, id, share) {
		if (share->vdev != vdev)
			continue;
		seq_printf(m, "share %llu uid %u %s: %llu bytes in %u segments, %llu puts due\n",
			   share->token.id, from_kuid_munged(&init_user_ns, share->uid),
			   share->readonly ? "r-" : "rw", share->segments->size,
			   share->segments->num, share->puts);
	}
	mutex_unlock(&shares_lock);
	return 0;
}
