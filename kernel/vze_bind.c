// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND: changing what an address space maps, all or nothing.
 *
 * A bind is prepared, then committed. Preparing happens under vze_vm.lock and may fail
 * at any operation: it changes the tree of mappings, journals what it took out and put
 * in, and reserves what the page tables will need. Undoing that is moving pointers.
 * Committing happens under vze_pt.lock, writes the page table entries, tells the device
 * once, and cannot fail for want of anything. A synchronous bind does both in one go.
 * An asynchronous one is committed by a worker after the fences it waits for and after
 * the asynchronous bind before it; the worker signals a fence, so it takes no lock
 * under which memory is allocated.
 *
 * The tree thus shows what all accepted binds lead to, so that each is checked against
 * the state that it will find. A synchronous bind first waits for pending ones in its
 * range, which keeps the page tables in the same order.
 *
 * A deferred bind only unmaps and may take as long as it likes. It is committed when the
 * fences are over that it waits for, and what was to be mapped in its range before; nobody
 * but who maps something in its range comes after it. See vze_bind_defer.c.
 */

#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vze_bind_prepared.h"
#include "vze_device.h"
#include "vze_fence.h"
#include "vze_quarantine.h"
#include "vze_vm.h"

static struct vze_bind *bind_alloc(struct vze_vm *vm)
{
	struct vze_bind *bind = kzalloc(sizeof(*bind), GFP_KERNEL_ACCOUNT);

	if (!bind)
		return NULL;
	bind->vm = vm;
	bind->ops = &bind->single;
	bind->ranges = bind->few;
	bind->max_ranges = ARRAY_SIZE(bind->few);
	bind->start = U64_MAX;
	bind->zap_start = U64_MAX;
	INIT_LIST_HEAD(&bind->inserted);
	INIT_LIST_HEAD(&bind->removed);
	INIT_LIST_HEAD(&bind->link);
	return bind;
}

/**
 * vze_bind_free() - free a bind that is over
 * @bind: bind, with nothing left in its journal
 */
void vze_bind_free(struct vze_bind *bind)
{
	if (bind->ranges != bind->few)
		kvfree(bind->ranges);
	if (bind->ops != &bind->single)
		kvfree(bind->ops);
	kvfree(bind->waits);
	kfree(bind);
}

/* What can be said about an operation without looking at anything else. */
static int op_check(const struct drm_vze_bind_op *op)
{
	static const u32 flags[] = {
		[DRM_VZE_BIND_MAP] = DRM_VZE_BIND_READONLY | DRM_VZE_BIND_NO_ACCESS,
		[DRM_VZE_BIND_UNMAP] = 0,
		[DRM_VZE_BIND_PROTECT] = DRM_VZE_BIND_READONLY,
	};
	u64 end;

	if (op->op >= ARRAY_SIZE(flags) || op->pad || (op->flags & ~flags[op->op]))
		return -EINVAL;
	if (!op->range || !PAGE_ALIGNED(op->range | op->addr | op->offset))
		return -EINVAL;
	if (op->addr < VZE_VM_START || check_add_overflow(op->addr, op->range, &end) ||
	    end > VZE_VM_END)
		return -EINVAL;
	if (op->op != DRM_VZE_BIND_MAP && (op->handle || op->offset))
		return -EINVAL;
	return 0;
}

/*
 * Takes vze_vm.lock for a bind whose operations are known. A synchronous bind gets it
 * when no pending one is in its way.
 */
static int bind_lock(struct vze_bind *bind, bool async)
{
	struct vze_vm *vm = bind->vm;
	struct dma_fence *fence;
	int ret;

	for (;;) {
		if (mutex_lock_interruptible(&vm->lock))
			return -EINTR;
		if (vm->dead) {
			mutex_unlock(&vm->lock);
			return -ENOENT;
		}
		fence = async ? NULL : vze_bind_conflict(vm, bind);
		if (!fence)
			break;
		mutex_unlock(&vm->lock);
		ret = dma_fence_wait(fence, true);
		dma_fence_put(fence);
		if (ret)
			return -EINTR;
	}

	vze_pt_update_init(&vm->pt, &bind->update);
	spin_lock(&vm->pending_lock);
	if (!list_empty(&vm->pending)) {
		bind->update.hazard_start = vm->hazard_start;
		bind->update.hazard_end = vm->hazard_end;
	}
	spin_unlock(&vm->pending_lock);
	return 0;
}

/**
 * vze_bind_count() - the mappings come and go
 * @bind: prepared bind; vze_pt.lock is held
 */
void vze_bind_count(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;

	lockdep_assert_held(&vm->pt.lock);
	vm->num_vmas += bind->vmas;
	atomic64_add(bind->vmas, &vm->vdev->counts.vmas);
}

/**
 * vze_bind_write() - write the page tables
 * @bind: prepared bind; vze_pt.lock is held
 *
 * Return: what vze_pt_commit() returned.
 */
int vze_bind_write(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;

	lockdep_assert_held(&vm->pt.lock);
	/* Counted when it was submitted: others may remove what it left before that. */
	if (!bind->deferred)
		vze_bind_count(bind);
	return vze_pt_commit(&vm->pt, &bind->update, bind->ranges, bind->num_ranges);
}

/**
 * vze_bind_zap() - take the CPU's pages of what was removed away
 * @bind: bind that has been written
 */
void vze_bind_zap(struct vze_bind *bind)
{
	if (bind->zap_start < bind->zap_end)
		vze_vm_zap(bind->vm, bind->zap_start, bind->zap_end);
}

/**
 * vze_bind_abort() - undo the preparation of a bind and free it
 * @bind: bind; vze_vm.lock is held and released
 */
void vze_bind_abort(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;

	lockdep_assert_held(&vm->lock);
	vze_bind_undo(bind);
	vze_pt_cancel(&vm->pt, &bind->update);
	mutex_unlock(&vm->lock);
	vze_bind_free(bind);
}

/**
 * vze_bind_commit() - carry a bind out and free it
 * @bind: prepared bind; vze_vm.lock is held and released
 *
 * Return: 0, or -EIO or -ENODEV when the device did not acknowledge: the change is made,
 * and what it replaced is quarantined.
 */
int vze_bind_commit(struct vze_bind *bind)
{
	struct vze_vm *vm = bind->vm;
	int ret;

	lockdep_assert_held(&vm->lock);
	vze_bind_settle(bind);
	mutex_lock(&vm->pt.lock);
	ret = vze_bind_write(bind);
	mutex_unlock(&vm->pt.lock);
	vze_bind_zap(bind);
	mutex_unlock(&vm->lock);

	if (ret)
		vze_quarantine_vmas(vm->vdev, &bind->removed);
	vze_bind_free_removed(bind);
	vze_bind_free(bind);
	return ret;
}

/**
 * vze_bind_prepare_map() - prepare the mapping of a whole object
 * @vm: address space, used by the caller until the bind is over
 * @bo: object
 * @addr: address, page aligned
 * @flags: DRM_VZE_BIND_*
 *
 * Return: a bind for vze_bind_commit() or vze_bind_abort(), with vze_vm.lock held; or
 * -EINVAL, -EACCES, -ENOENT, -ENOMEM, -EINTR.
 */
struct vze_bind *vze_bind_prepare_map(struct vze_vm *vm, struct vze_gem *bo, u64 addr, u32 flags)
{
	struct vze_bind *bind = bind_alloc(vm);
	int ret;

	if (!bind)
		return ERR_PTR(-ENOMEM);
	bind->single.op = DRM_VZE_BIND_MAP;
	bind->single.flags = flags;
	bind->single.addr = addr;
	bind->single.range = bo->base.size;
	bind->num_ops = 1;
	bind->maps = true;
	ret = op_check(&bind->single);
	if (ret)
		goto err_free;
	bind->start = addr;
	bind->end = addr + bo->base.size;
	ret = bind_lock(bind, false);
	if (ret)
		goto err_free;
	ret = vze_bind_prepare_object(bind, bo, addr, bo->base.size, 0, flags);
	if (ret) {
		vze_bind_abort(bind);
		return ERR_PTR(ret);
	}
	return bind;

err_free:
	vze_bind_free(bind);
	return ERR_PTR(ret);
}

static int bind_copy_ops(struct vze_bind *bind, u64 uptr, u32 num)
{
	const struct drm_vze_bind_op __user *user = u64_to_user_ptr(uptr);
	u32 i;

	if (num > DRM_VZE_MAX_BIND_OPS)
		return -EINVAL;
	if (num > 1) {
		bind->ops = kvmalloc_array(num, sizeof(*bind->ops), GFP_KERNEL_ACCOUNT);
		if (!bind->ops) {
			bind->ops = &bind->single;
			return -ENOMEM;
		}
	}
	if (copy_from_user(bind->ops, user, num * sizeof(*bind->ops)))
		return -EFAULT;
	bind->num_ops = num;

	for (i = 0; i < num; i++) {
		const struct drm_vze_bind_op *op = &bind->ops[i];
		int ret = op_check(op);

		if (ret)
			return ret;
		bind->start = min(bind->start, op->addr);
		bind->end = max(bind->end, op->addr + op->range);
		bind->maps |= op->op != DRM_VZE_BIND_UNMAP;
	}
	return bind->deferred && bind->maps ? -EINVAL : 0;
}

static int bind_run(struct vze_bind *bind, struct drm_file *file, bool async)
{
	struct vze_syncs syncs = bind->syncs;
	int ret = 0;
	u32 i;

	if (async)
		ret = vze_bind_prepare_async(bind);
	else
		ret = vze_syncs_wait(&bind->syncs);
	if (!ret)
		ret = bind_lock(bind, async);
	if (ret) {
		vze_fence_free(bind->fence);
		vze_syncs_cleanup(&syncs);
		vze_bind_free(bind);
		return ret;
	}

	if (async)
		ret = vze_bind_prepare_waits(bind);
	for (i = 0; !ret && i < bind->num_ops; i++)
		ret = vze_bind_prepare_op(bind, file, &bind->ops[i]);
	vze_bind_prepared(bind);
	if (ret) {
		vze_fence_free(bind->fence);
		vze_syncs_cleanup(&syncs);
		vze_bind_abort(bind);
		return ret;
	}

	if (async) {
		struct vze_vm *vm = bind->vm;

		vze_bind_submit(bind);
		mutex_unlock(&vm->lock);
		return 0;
	}
	ret = vze_bind_commit(bind);
	if (!ret && syncs.num_signals) {
		struct dma_fence *done = dma_fence_get_stub();

		vze_syncs_signal(&syncs, done);
		dma_fence_put(done);
	}
	vze_syncs_cleanup(&syncs);
	return ret;
}

/* A call without operations: to wait, and to signal. */
static int bind_syncs_only(const struct drm_vze_vm_bind *args, struct drm_file *file)
{
	struct dma_fence *done;
	struct vze_syncs syncs;
	int ret;

	if (args->flags || !args->num_syncs)
		return -EINVAL;
	ret = vze_syncs_parse(file, args->syncs, args->num_syncs, &syncs);
	if (ret)
		return ret;
	ret = vze_syncs_wait(&syncs);
	if (!ret) {
		done = dma_fence_get_stub();
		vze_syncs_signal(&syncs, done);
		dma_fence_put(done);
	}
	vze_syncs_cleanup(&syncs);
	return ret;
}

/**
 * vze_vm_bind_ioctl() - DRM_IOCTL_VZE_VM_BIND
 * @drm: device
 * @data: struct drm_vze_vm_bind
 * @file: caller
 */
int vze_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vze_vm_bind *args = data;
	struct vze_bind *bind;
	struct vze_vm *vm;
	int ret;

	if (args->flags && args->flags != DRM_VZE_VM_BIND_ASYNC &&
	    args->flags != DRM_VZE_VM_BIND_DEFER)
		return -EINVAL;
	vm = vze_vm_lookup(to_vze_file(file), args->vm_id);
	if (!vm)
		return -ENOENT;
	if (!args->num_ops) {
		ret = bind_syncs_only(args, file);
		goto out;
	}
	bind = bind_alloc(vm);
	if (!bind) {
		ret = -ENOMEM;
		goto out;
	}
	bind->deferred = args->flags == DRM_VZE_VM_BIND_DEFER;
	ret = bind_copy_ops(bind, args->ops, args->num_ops);
	if (!ret)
		ret = vze_syncs_parse(file, args->syncs, args->num_syncs, &bind->syncs);
	if (ret)
		vze_bind_free(bind);
	else
		ret = bind_run(bind, file, args->flags);
out:
	vze_vm_put(vm);
	return ret;
}
