// SPDX-License-Identifier: GPL-2.0
/*
 * Objects made of a process's own memory.
 *
 * The order of an import is fixed by what must not happen half way: estimate the kernel
 * memory, charge the pages, look at the VMAs, pin in batches. The order of a release
 * is given by the references: mappings hold the object until the device acknowledged
 * that it has forgotten them, so that the pages are never unpinned before.
 *
 * When a device was removed and has acknowledged its reset, the pages are given back at once:
 * the DRM core lets nobody close a handle any more, and the process may live for long. What
 * remains are the objects and their lists of frames, which mappings in page tables that no device
 * walks may still refer to.
 */

#include <linux/cred.h>
#include <linux/file.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vze_device.h"
#include "vze_drv.h"
#include "vze_gem.h"
#include "vze_userptr.h"

static unsigned long userptr_max_metadata;
module_param(userptr_max_metadata, ulong, 0644);
MODULE_PARM_DESC(userptr_max_metadata,
		 "Most bytes of kernel memory for the bookkeeping of all imports (0: 1/16 of RAM)");

/* Pages that are unpinned in one go where they are scattered; a list on the stack. */
#define UNPIN_BATCH	32UL

/* Sum of the estimates of all living imports, of all devices. */
static atomic64_t metadata_used;

/* Protects vze_userptr.link and vze_pin.users. Innermost. */
static DEFINE_SPINLOCK(users_lock);
/* All objects of all devices that keep pages pinned. */
static LIST_HEAD(users);

/**
 * struct vze_pin - pinned user memory
 *
 * Objects of several devices may have it: it is pinned and charged once. Constant
 * after its creation but for @users.
 */
struct vze_pin {
	/** @ref: one for each object */
	struct kref ref;
	/**
	 * @users: who keeps the pages pinned: objects, and whoever is making one; once 0 they are
	 * not and never will be
	 */
	unsigned int users;
	/** @vdev: in whose books the pages are; holds a reference on its drm_device */
	struct vze_device *vdev;
	/** @addr: address in @mm at creation */
	u64 addr;
	/** @readonly: pinned for reading only */
	bool readonly;
	/** @pages: the pinned pages; index is the virtual page number */
	struct vze_pages pages;
	/** @mm: who was charged in pinned_vm; held by mmgrab() as long as this structure is */
	struct mm_struct *mm;
	/** @user: who was charged in locked_vm, or NULL (CAP_IPC_LOCK) */
	struct user_struct *user;
	/** @charged: pages charged to @mm and @user */
	unsigned long charged;
	/** @metadata: estimate that was added to metadata_used */
	u64 metadata;
};

/**
 * struct vze_userptr - pinned user memory as an object of one device
 */
struct vze_userptr {
	/** @base: object; first */
	struct vze_gem base;
	/** @pin: the pages, with a reference; NULL only while it is made */
	struct vze_pin *pin;
	/** @link: in the list of users; empty: it keeps no page pinned (any more) */
	struct list_head link;
};

static struct vze_userptr *to_vze_userptr(const struct vze_gem *bo)
{
	return container_of(bo, struct vze_userptr, base);
}

static int metadata_reserve(struct vze_pin *pin, unsigned long num)
{
	u64 limit = READ_ONCE(userptr_max_metadata);
	u64 bytes = vze_pages_estimate(num);

	if (!limit)
		limit = (u64)totalram_pages() * PAGE_SIZE / 16;
	if (atomic64_add_return(bytes, &metadata_used) > limit) {
		atomic64_sub(bytes, &metadata_used);
		return -E2BIG;
	}
	pin->metadata = bytes;
	return 0;
}

static int pages_charge(struct vze_pin *pin, unsigned long num)
{
	if (!capable(CAP_IPC_LOCK)) {
		struct user_struct *user = current_user();
		unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
		long old = atomic_long_read(&user->locked_vm);

		do {
			if (num > limit || old > limit - num)
				return -EDQUOT;
		} while (!atomic_long_try_cmpxchg(&user->locked_vm, &old, old + num));
		pin->user = get_uid(user);
	}
	mmgrab(current->mm);
	pin->mm = current->mm;
	pin->charged = num;
	atomic64_add(num, &pin->mm->pinned_vm);
	return 0;
}

static void pages_uncharge(struct vze_pin *pin)
{
	if (pin->mm)
		atomic64_sub(pin->charged, &pin->mm->pinned_vm);
	if (pin->user) {
		atomic_long_sub(pin->charged, &pin->user->locked_vm);
		free_uid(pin->user);
	}
}

/*
 * Memory that belongs to a device or to the kernel is no memory to pin, even where
 * pinning would work: mappings of objects of this and other drivers (VM_MIXEDMAP), the
 * vdso and its like (operations without a file). What is swapped in between this
 * check and the pinning can only be what pin_user_pages() itself accepts.
 */
static int vmas_check(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;
	unsigned long next = start;
	int ret = 0;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > next ||
		    (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP)) ||
		    (vma->vm_ops && !vma->vm_file)) {
			ret = -EFAULT;
			break;
		}
		next = vma->vm_end;
	}
	mmap_read_unlock(mm);
	if (!ret && next < end)
		ret = -EFAULT;
	return ret;
}

/* What pin_user_pages_fast() answered, as the interface says it. */
static int pin_error(long ret)
{
	switch (ret) {
	case -ENOMEM:
		return -ENOMEM;
	case -EINTR:
	case -ERESTARTSYS:
		return -EINTR;
	default:
		return -EFAULT;
	}
}

/*
 * Pins slot by slot: a slot is 2 MiB at most, so that a fatal signal ends the import at
 * once and nobody waits for the CPU.
 */
static int pages_pin(struct vze_pin *pin, unsigned int gup_flags)
{
	struct vze_pages *pages = &pin->pages;
	atomic64_t *pinned = &pin->vdev->counts.pinned_pages;
	struct page **list;
	int ret = 0;

	BUILD_BUG_ON(VZE_SLOT_PAGES * sizeof(*list) > PAGE_SIZE);
	list = (struct page **)__get_free_page(GFP_KERNEL);
	if (!list)
		return -ENOMEM;

	while (pages->filled < pages->end) {
		unsigned long num = vze_pages_slot_left(pages);
		unsigned long have = 0;

		while (have < num) {
			unsigned long addr = (pages->filled + have) << PAGE_SHIFT;
			long got;

			if (fatal_signal_pending(current)) {
				ret = -EINTR;
				break;
			}
			got = pin_user_pages_fast(addr, num - have, gup_flags, list + have);
			/*
			 * A mapping that may only be written has a page that can be read as
			 * soon as there is one: do not let it depend on that.
			 */
			if (got == -EFAULT && !(gup_flags & FOLL_WRITE))
				got = pin_user_pages_fast(addr, num - have, gup_flags | FOLL_WRITE,
							  list + have);
			if (got <= 0) {
				ret = pin_error(got);
				break;
			}
			have += got;
		}
		if (!ret)
			ret = vze_pages_add(pages, list, num);
		if (ret) {
			unpin_user_pages(list, have);
			break;
		}
		atomic64_add(num, pinned);
		cond_resched();
	}
	free_page((unsigned long)list);
	return ret;
}

struct unpin_context {
	atomic64_t *pinned;
	bool dirty;
};

static void unpin_contiguous(struct page *page, unsigned long num, void *data)
{
	struct unpin_context *context = data;

	unpin_user_page_range_dirty_lock(page, num, context->dirty);
	atomic64_sub(num, context->pinned);
}

static void unpin_scattered(const phys_addr_t *addrs, unsigned long num, void *data)
{
	struct unpin_context *context = data;
	struct page *list[UNPIN_BATCH];
	unsigned long done, i, n;

	/* Not in place: somebody may still be looking up frames. */
	for (done = 0; done < num; done += n) {
		n = min(num - done, UNPIN_BATCH);
		for (i = 0; i < n; i++)
			list[i] = pfn_to_page(PHYS_PFN(addrs[done + i]));
		unpin_user_pages_dirty_lock(list, n, context->dirty);
	}
	atomic64_sub(num, context->pinned);
}

/* Once in the life of a pin. Sleeps. */
static void pages_unpin(struct vze_pin *pin)
{
	struct unpin_context context = {
		.pinned = &pin->vdev->counts.pinned_pages,
		.dirty = !pin->readonly,
	};

	vze_pages_visit(&pin->pages, unpin_contiguous, unpin_scattered, &context);
	pages_uncharge(pin);
}

static void pin_release(struct kref *ref)
{
	struct vze_pin *pin = container_of(ref, struct vze_pin, ref);

	vze_pages_fini(&pin->pages);
	atomic64_sub(pin->metadata, &metadata_used);
	if (pin->mm)
		mmdrop(pin->mm);
	drm_dev_put(&pin->vdev->drm);
	kfree(pin);
}

static void pin_put(struct vze_pin *pin)
{
	kref_put(&pin->ref, pin_release);
}

/* Begins to keep the pages; fails when they are unpinned already. */
static bool pin_use(struct vze_pin *pin)
{
	bool pinned;

	spin_lock(&users_lock);
	pinned = pin->users;
	if (pinned)
		pin->users++;
	spin_unlock(&users_lock);
	return pinned;
}

static void pin_unuse(struct vze_pin *pin)
{
	bool last;

	spin_lock(&users_lock);
	last = !--pin->users;
	spin_unlock(&users_lock);
	if (last)
		pages_unpin(pin);
}

/* The use of its pin becomes the object's, unless the device was removed. */
static bool user_add(struct vze_userptr *uptr)
{
	bool added;

	spin_lock(&users_lock);
	/* Who drops the users of a device that was unplugged takes the lock afterwards. */
	added = !drm_dev_is_unplugged(uptr->base.base.dev);
	if (added)
		list_add_tail(&uptr->link, &users);
	spin_unlock(&users_lock);
	return added;
}

/* Takes an object off the list. Return: whether it was there, and its use is the caller's. */
static bool user_remove(struct vze_userptr *uptr)
{
	bool removed;

	spin_lock(&users_lock);
	removed = !list_empty(&uptr->link);
	list_del_init(&uptr->link);
	spin_unlock(&users_lock);
	return removed;
}

/* The use of the first object of a list, and a reference on its pin; NULL: none is left. */
static struct vze_pin *user_take(struct list_head *list)
{
	struct vze_pin *pin = NULL;
	struct vze_userptr *uptr;

	spin_lock(&users_lock);
	uptr = list_first_entry_or_null(list, struct vze_userptr, link);
	if (uptr) {
		list_del_init(&uptr->link);
		/* The object may go at once, and its reference with it. */
		pin = uptr->pin;
		kref_get(&pin->ref);
	}
	spin_unlock(&users_lock);
	return pin;
}

/**
 * vze_userptrs_drop() - give back what the objects of a device that is gone keep pinned
 * @gone: was it this object's device, which is known to touch no memory any more?
 * @vdev: handed on
 *
 * What objects of other devices keep, too, stays pinned until the last of these goes.
 * Sleeps; objects may be released meanwhile.
 */
void vze_userptrs_drop(bool (*gone)(struct vze_device *owner, struct vze_device *vdev),
		       struct vze_device *vdev)
{
	struct vze_userptr *uptr, *next;
	struct vze_pin *pin;
	LIST_HEAD(list);

	spin_lock(&users_lock);
	list_for_each_entry_safe(uptr, next, &users, link) {
		if (gone(vze_gem_device(&uptr->base), vdev))
			list_move_tail(&uptr->link, &list);
	}
	spin_unlock(&users_lock);

	while ((pin = user_take(&list))) {
		pin_unuse(pin);
		pin_put(pin);
		cond_resched();
	}
}

static struct vze_pin *pin_create(struct vze_device *vdev, u64 addr, u64 size, bool readonly)
{
	unsigned long num = size >> PAGE_SHIFT;
	struct vze_pin *pin;
	int ret;

	pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	kref_init(&pin->ref);
	pin->users = 1;
	drm_dev_get(&vdev->drm);
	pin->vdev = vdev;
	pin->addr = addr;
	pin->readonly = readonly;
	vze_pages_init(&pin->pages, addr >> PAGE_SHIFT, num);

	ret = metadata_reserve(pin, num);
	if (!ret)
		ret = pages_charge(pin, num);
	if (!ret)
		ret = vmas_check(current->mm, addr, addr + size);
	if (!ret)
		ret = pages_pin(pin, FOLL_LONGTERM | (readonly ? 0 : FOLL_WRITE));
	if (ret) {
		pin_unuse(pin);
		pin_put(pin);
		return ERR_PTR(ret);
	}
	return pin;
}

static void userptr_run(struct vze_gem *bo, u64 offset, u64 max, struct vze_run *run)
{
	vze_pages_run(&to_vze_userptr(bo)->pin->pages, offset, max, run);
}

static void userptr_release(struct vze_gem *bo)
{
	struct vze_userptr *uptr = to_vze_userptr(bo);

	if (uptr->pin) {
		if (user_remove(uptr))
			pin_unuse(uptr->pin);
		pin_put(uptr->pin);
	}
	atomic64_dec(&vze_gem_device(bo)->counts.userptrs);
}

static const struct vze_gem_ops userptr_ops = {
	.run = userptr_run,
	.release = userptr_release,
};

static const struct drm_gem_object_funcs userptr_funcs = {
	.free = vze_gem_free,
	.close = vze_gem_close,
	.export = vze_gem_export,
};

/**
 * vze_userptr_address() - where a userptr object was at its creation
 * @bo: object of any kind
 *
 * Return: the address, or 0 for another kind.
 */
u64 vze_userptr_address(const struct vze_gem *bo)
{
	return bo->placement == DRM_VZE_PLACEMENT_USERPTR ? to_vze_userptr(bo)->pin->addr : 0;
}

/**
 * vze_userptr_is_foreign() - is it memory of another process?
 * @bo: object of any kind
 *
 * Pinned memory is mapped for the process only that pinned it.
 */
bool vze_userptr_is_foreign(const struct vze_gem *bo)
{
	return bo->placement == DRM_VZE_PLACEMENT_USERPTR &&
	       to_vze_userptr(bo)->pin->mm != current->mm;
}

/* The pages that an object of another file of this process has, if they are the same memory. */
static struct vze_pin *pin_of_source(const struct drm_vze_gem_userptr *args, bool readonly)
{
	struct drm_gem_object *obj;
	struct vze_pin *pin;
	struct vze_gem *bo;
	struct file *file;

	file = fget(args->source_fd);
	if (!file)
		return ERR_PTR(-EBADF);
	if (!vze_is_drm_file(file)) {
		pin = ERR_PTR(-EINVAL);
		goto out_file;
	}
	/* The file keeps the object's device. */
	obj = drm_gem_object_lookup(file->private_data, args->source_handle);
	if (!obj) {
		pin = ERR_PTR(-ENOENT);
		goto out_file;
	}

	bo = to_vze_gem(obj);
	if (bo->placement != DRM_VZE_PLACEMENT_USERPTR) {
		pin = ERR_PTR(-EINVAL);
	} else {
		pin = to_vze_userptr(bo)->pin;
		if (pin->mm != current->mm)
			pin = ERR_PTR(-EPERM);
		else if (pin->addr != args->addr || obj->size != args->size ||
			 pin->readonly != readonly)
			pin = ERR_PTR(-EINVAL);
		else if (!pin_use(pin))
			pin = ERR_PTR(-ENODEV);
		else
			kref_get(&pin->ref);
	}
	drm_gem_object_put(obj);
out_file:
	fput(file);
	return pin;
}

static struct vze_gem *userptr_create(struct vze_device *vdev,
				      const struct drm_vze_gem_userptr *args)
{
	bool readonly = args->flags & DRM_VZE_USERPTR_READONLY;
	struct vze_userptr *uptr;
	struct vze_pin *pin;

	uptr = kzalloc(sizeof(*uptr), GFP_KERNEL_ACCOUNT);
	if (!uptr)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&uptr->link);
	uptr->base.flags = readonly ? VZE_GEM_READONLY : 0;
	vze_gem_init(vdev, &uptr->base, args->size, DRM_VZE_PLACEMENT_USERPTR, &userptr_ops,
		     &userptr_funcs);
	atomic64_inc(&vdev->counts.userptrs);

	if (args->flags & DRM_VZE_USERPTR_FROM)
		pin = pin_of_source(args, readonly);
	else
		pin = pin_create(vdev, args->addr, args->size, readonly);
	if (IS_ERR(pin)) {
		drm_gem_object_put(&uptr->base.base);
		return ERR_CAST(pin);
	}
	uptr->pin = pin;
	uptr->base.segments = pin->pages.runs;
	if (!user_add(uptr)) {
		pin_unuse(pin);
		drm_gem_object_put(&uptr->base.base);
		return ERR_PTR(-ENODEV);
	}
	return &uptr->base;
}

/**
 * vze_gem_userptr_ioctl() - DRM_IOCTL_VZE_GEM_USERPTR
 * @drm: device
 * @data: struct drm_vze_gem_userptr
 * @file: caller
 */
int vze_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vze_gem_userptr *args = data;
	struct vze_gem *bo;

	if (args->flags & ~(DRM_VZE_USERPTR_READONLY | DRM_VZE_USERPTR_FROM))
		return -EINVAL;
	if (!(args->flags & DRM_VZE_USERPTR_FROM) && (args->source_fd || args->source_handle))
		return -EINVAL;
	if (!args->addr || !args->size || !PAGE_ALIGNED(args->addr | args->size))
		return -EINVAL;
	if (args->addr + args->size < args->addr || args->addr + args->size > TASK_SIZE_MAX ||
	    !access_ok(u64_to_user_ptr(args->addr), args->size))
		return -EINVAL;
	if (current->mm != to_vze_file(file)->mm)
		return -EPERM;

	bo = userptr_create(to_vze(drm), args);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	return vze_gem_publish(file, bo, &args->handle);
}
