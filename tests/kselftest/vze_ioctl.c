// SPDX-License-Identifier: MIT
/* The ioctls of the vze selftests, each as a function that returns 0 or -errno. */
#include <errno.h>
#include <linux/sync_file.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vze_test.h"

int (*vze_ioctl_entry)(int fd, unsigned long request, void *arg);

int vze_ioctl(int fd, unsigned long request, void *arg)
{
	if (vze_ioctl_entry)
		return vze_ioctl_entry(fd, request, arg);
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int vze_query(int fd, uint32_t query, void *data, uint32_t *size)
{
	struct drm_vze_query args = {
		.query = query,
		.size = *size,
		.data = (uintptr_t)data,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_QUERY, &args);

	*size = args.size;
	return ret;
}

int vze_gem_create(int fd, uint64_t size, uint32_t placement, uint32_t flags, uint32_t *handle)
{
	struct drm_vze_gem_create args = {
		.size = size,
		.placement = placement,
		.flags = flags,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_GEM_CREATE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

int vze_userptr(int fd, const void *addr, uint64_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_vze_gem_userptr args = {
		.addr = (uintptr_t)addr,
		.size = size,
		.flags = flags,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_GEM_USERPTR, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

int vze_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return vze_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

int vze_gem_info(int fd, uint32_t handle, struct drm_vze_gem_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return vze_ioctl(fd, DRM_IOCTL_VZE_GEM_INFO, info);
}

int vze_gem_mmap_offset(int fd, uint32_t handle, uint64_t *offset)
{
	struct drm_vze_gem_mmap_offset args = { .handle = handle };
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_GEM_MMAP_OFFSET, &args);

	if (!ret)
		*offset = args.offset;
	return ret;
}

void *vze_gem_mmap(int fd, uint32_t handle, uint64_t size, int prot)
{
	uint64_t offset;
	int ret = vze_gem_mmap_offset(fd, handle, &offset);

	if (ret) {
		errno = -ret;
		return MAP_FAILED;
	}
	return mmap(NULL, size, prot, MAP_SHARED, fd, offset);
}

int vze_vm_create(int fd, uint32_t *vm)
{
	struct drm_vze_vm_create args = {};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_VM_CREATE, &args);

	if (!ret)
		*vm = args.vm_id;
	return ret;
}

int vze_vm_destroy(int fd, uint32_t vm)
{
	struct drm_vze_vm_destroy args = { .vm_id = vm };

	return vze_ioctl(fd, DRM_IOCTL_VZE_VM_DESTROY, &args);
}

int vze_vm_info(int fd, uint32_t vm, struct drm_vze_vm_info *info)
{
	memset(info, 0, sizeof(*info));
	info->vm_id = vm;
	return vze_ioctl(fd, DRM_IOCTL_VZE_VM_INFO, info);
}

int vze_vm_bind_syncs(int fd, uint32_t vm, uint32_t flags, const struct drm_vze_bind_op *ops,
		      uint32_t num_ops, const struct drm_vze_sync *syncs, uint32_t num_syncs)
{
	struct drm_vze_vm_bind args = {
		.vm_id = vm,
		.flags = flags,
		.num_ops = num_ops,
		.num_syncs = num_syncs,
		.ops = (uintptr_t)ops,
		.syncs = (uintptr_t)syncs,
	};

	return vze_ioctl(fd, DRM_IOCTL_VZE_VM_BIND, &args);
}

int vze_vm_bind(int fd, uint32_t vm, const struct drm_vze_bind_op *ops, uint32_t num_ops)
{
	return vze_vm_bind_syncs(fd, vm, 0, ops, num_ops, NULL, 0);
}

int vze_map(int fd, uint32_t vm, uint32_t handle, uint64_t offset, uint64_t range, uint64_t addr,
	    uint32_t flags)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_MAP,
		.flags = flags,
		.handle = handle,
		.offset = offset,
		.range = range,
		.addr = addr,
	};

	return vze_vm_bind(fd, vm, &op, 1);
}

int vze_unmap(int fd, uint32_t vm, uint64_t addr, uint64_t range)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_UNMAP,
		.range = range,
		.addr = addr,
	};

	return vze_vm_bind(fd, vm, &op, 1);
}

int vze_protect(int fd, uint32_t vm, uint64_t addr, uint64_t range, uint32_t flags)
{
	struct drm_vze_bind_op op = {
		.op = DRM_VZE_BIND_PROTECT,
		.flags = flags,
		.range = range,
		.addr = addr,
	};

	return vze_vm_bind(fd, vm, &op, 1);
}

int vze_queue_create(int fd, uint32_t vm, uint32_t *queue)
{
	struct drm_vze_queue_create args = {
		.vm_id = vm,
		.priority = DRM_VZE_PRIORITY_NORMAL,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_QUEUE_CREATE, &args);

	if (!ret)
		*queue = args.queue_id;
	return ret;
}

int vze_queue_destroy(int fd, uint32_t queue)
{
	struct drm_vze_queue_destroy args = { .queue_id = queue };

	return vze_ioctl(fd, DRM_IOCTL_VZE_QUEUE_DESTROY, &args);
}

int vze_queue_state(int fd, uint32_t queue, struct drm_vze_queue_state *state)
{
	memset(state, 0, sizeof(*state));
	state->queue_id = queue;
	return vze_ioctl(fd, DRM_IOCTL_VZE_QUEUE_STATE, state);
}

int vze_queue_wait_state(int fd, uint32_t queue, uint32_t state)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;
	struct drm_vze_queue_state seen;
	int ret;

	while (!(ret = vze_queue_state(fd, queue, &seen)) && seen.state != state &&
	       vze_now_ms() < end)
		vze_sleep_ms(5);
	return ret ? ret : (int)seen.state;
}

int vze_fence_wait(int fd, const void *addr, uint32_t op, uint64_t value, uint32_t queue,
		   int64_t timeout_ns)
{
	struct drm_vze_fence_wait args = {
		.addr = (uintptr_t)addr,
		.value = value,
		.op = op,
		.queue_id = queue,
		.timeout_ns = timeout_ns,
	};

	return vze_ioctl(fd, DRM_IOCTL_VZE_FENCE_WAIT, &args);
}

int vze_fence_wake(int fd)
{
	struct drm_vze_fence_wake args = {};

	return vze_ioctl(fd, DRM_IOCTL_VZE_FENCE_WAKE, &args);
}

int vze_share_create(int fd, uint32_t handle, uint32_t flags, struct drm_vze_share_create *share)
{
	memset(share, 0, sizeof(*share));
	share->handle = handle;
	share->flags = flags;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_CREATE, share);
}

int vze_share_open(int fd, const struct drm_vze_share_token *token, uint32_t *handle,
		   uint64_t *size)
{
	struct drm_vze_share_open args = { .token = *token };
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_OPEN, &args);

	if (!ret) {
		*handle = args.handle;
		if (size)
			*size = args.size;
	}
	return ret;
}

int vze_share_put(int fd, uint64_t id)
{
	struct drm_vze_share_put args = { .id = id };

	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_PUT, &args);
}

int vze_syncobj_create(int fd, bool signaled, uint32_t *handle)
{
	struct drm_syncobj_create args = {
		.flags = signaled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

int vze_syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	return vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

static int syncobj_array(int fd, unsigned long request, uint32_t handle)
{
	struct drm_syncobj_array args = {
		.handles = (uintptr_t)&handle,
		.count_handles = 1,
	};

	return vze_ioctl(fd, request, &args);
}

int vze_syncobj_reset(int fd, uint32_t handle)
{
	return syncobj_array(fd, DRM_IOCTL_SYNCOBJ_RESET, handle);
}

int vze_syncobj_signal(int fd, uint32_t handle)
{
	return syncobj_array(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, handle);
}

int vze_syncobj_wait(int fd, uint32_t handle, unsigned int ms)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&handle,
		.count_handles = 1,
		.timeout_nsec = vze_deadline(ms),
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

int vze_timeline_signal(int fd, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	return vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &args);
}

int vze_timeline_wait(int fd, uint32_t handle, uint64_t point, unsigned int ms)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = vze_deadline(ms),
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

int vze_timeline_query(int fd, uint32_t handle, uint64_t *point)
{
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)point,
		.count_handles = 1,
	};

	return vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &args);
}

int vze_syncobj_status(int fd, uint32_t handle)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = {};
	int ret = vze_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	if (ret)
		return ret;
	ret = vze_ioctl(args.fd, SYNC_IOC_FILE_INFO, &info);
	close(args.fd);
	return ret ? ret : info.status;
}
