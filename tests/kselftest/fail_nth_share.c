// SPDX-License-Identifier: MIT
/* Failure injection: shares. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

#define SIZE	(2 * SZ_64K)

/* An object in VRAM and one in system memory, mapped one behind the other. */
static int setup_objects(struct vze_fail *f)
{
	int ret = vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &f->a);

	if (!ret)
		ret = vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->b);
	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, f->a, 0, SZ_64K, VZE_VA, 0);
	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, f->b, 0, SZ_64K, VZE_VA + SZ_64K, 0);
	if (!ret)
		ret = vze_gpu_fill(&f->gpu, VZE_VA, SZ_64K, 0xaaaa);
	return ret ? ret : vze_gpu_fill(&f->gpu, VZE_VA + SZ_64K, SZ_64K, 0xbbbb);
}

/* --------------------------------------------------------------- shares -- */

static const char *done_create(struct vze_fail *f)
{
	uint32_t handle;
	uint64_t size;
	int ret = vze_share_open(f->gpu.fd, &f->share.token, &handle, &size);

	if (ret || size != f->share.size)
		return vze_fail_why(f, "opening: %d, size %#llx, not %#llx", ret,
				    (unsigned long long)size, (unsigned long long)f->share.size);
	ret = vze_gem_close(f->gpu.fd, handle);
	return ret ? vze_fail_why(f, "closing: %d", ret) : NULL;
}

static int call_put(struct vze_fail *f)
{
	return vze_share_put(f->gpu.fd, f->share.token.id);
}

static int call_create(struct vze_fail *f)
{
	return vze_share_create(f->gpu.fd, f->a, 0, &f->share);
}

FAIL_FORM(create) = {
	.setup = setup_objects,
	.call = call_create,
	.done = done_create,
	.after = call_put,
};

/* One more of what is shared already: the same share. */
static int setup_create_again(struct vze_fail *f)
{
	int ret = setup_objects(f);

	if (!ret)
		ret = call_create(f);
	f->token = f->share.token;
	f->made64 = f->share.token.id;
	return ret;
}

static const char *done_create_again(struct vze_fail *f)
{
	return f->share.token.id == f->made64 ? done_create(f) :
	       vze_fail_why(f, "another share");
}

static const char *ended(struct vze_fail *f)
{
	uint32_t handle;
	int ret = vze_share_open(f->gpu.fd, &f->share.token, &handle, NULL);

	return ret == -ENOENT ? NULL : vze_fail_why(f, "opening what has ended: %d", ret);
}

/* One put ends the share, so the failed call was not counted. And from the start once more. */
static const char *unchanged_create_again(struct vze_fail *f)
{
	const char *why;
	int ret = vze_share_put(f->gpu.fd, f->made64);

	if (ret)
		return vze_fail_why(f, "putting the share: %d", ret);
	f->share.token = f->token;
	why = ended(f);
	if (why)
		return why;
	ret = call_create(f);
	f->token = f->share.token;
	f->made64 = f->share.token.id;
	return ret ? vze_fail_why(f, "creating it anew: %d", ret) : NULL;
}

FAIL_FORM(create_again) = {
	.setup = setup_create_again,
	.call = call_create,
	.done = done_create_again,
	.unchanged = unchanged_create_again,
	.after = call_put,
};

static int call_create_range(struct vze_fail *f)
{
	memset(&f->share, 0, sizeof(f->share));
	f->share.flags = DRM_VZE_SHARE_RANGE | DRM_VZE_SHARE_READONLY;
	f->share.vm_id = f->gpu.vm;
	f->share.addr = VZE_VA + SZ_4K;
	f->share.size = SIZE - 2 * SZ_4K;
	return vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &f->share);
}

static const char *done_create_range(struct vze_fail *f)
{
	return f->share.segments == 2 ? done_create(f) :
	       vze_fail_why(f, "%u segments", f->share.segments);
}

FAIL_FORM(create_range) = {
	.setup = setup_objects,
	.call = call_create_range,
	.done = done_create_range,
	.after = call_put,
};

/* A share of an opened share. */
static int setup_create_of_opened(struct vze_fail *f)
{
	int ret = setup_objects(f);

	if (!ret)
		ret = call_create_range(f);
	return ret ? ret : vze_share_open(f->gpu.fd, &f->share.token, &f->c, NULL);
}

static int call_create_of_opened(struct vze_fail *f)
{
	return vze_share_create(f->gpu.fd, f->c, 0, &f->share);
}

FAIL_FORM(create_of_opened) = {
	.setup = setup_create_of_opened,
	.call = call_create_of_opened,
	.done = done_create_range,
	.after = call_put,
};

static int setup_open(struct vze_fail *f)
{
	int ret = setup_objects(f);

	return ret ? ret : call_create_range(f);
}

static int call_open(struct vze_fail *f)
{
	return vze_share_open(f->gpu.fd, &f->share.token, &f->made, &f->made64);
}

static const char *seen_at(struct vze_fail *f, uint64_t va)
{
	const struct vze_fail_probe probes[] = {
		{ va, 0xaaaa },
		{ va + SZ_64K - SZ_4K, 0xbbbb },
		{ va + SIZE - 2 * SZ_4K - 8, 0xbbbb },
	};

	return vze_fail_probe(f, probes, ARRAY_LEN(probes));
}

#define OPENED_AT	(VZE_VA + 1024 * SZ_1G)

static const char *done_open(struct vze_fail *f)
{
	const char *why;
	int ret = vze_map(f->gpu.fd, f->gpu.vm, f->made, 0, f->made64, OPENED_AT,
			  DRM_VZE_BIND_READONLY);

	if (ret)
		return vze_fail_why(f, "mapping what was opened: %d", ret);
	why = seen_at(f, OPENED_AT);
	ret = vze_unmap(f->gpu.fd, f->gpu.vm, OPENED_AT, f->made64);
	return why || !ret ? why : vze_fail_why(f, "unmapping: %d", ret);
}

static int close_made(struct vze_fail *f)
{
	return vze_gem_close(f->gpu.fd, f->made);
}

FAIL_FORM(open) = {
	.setup = setup_open,
	.call = call_open,
	.done = done_open,
	.after = close_made,
};

static int call_open_bind(struct vze_fail *f)
{
	struct drm_vze_share_open args = {
		.token = f->share.token,
		.flags = DRM_VZE_SHARE_OPEN_BIND | DRM_VZE_SHARE_OPEN_READONLY,
		.vm_id = f->gpu.vm,
		.addr = OPENED_AT,
		.size = f->share.size,
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &args);

	f->made = args.handle;
	return ret;
}

static const char *done_open_bind(struct vze_fail *f)
{
	return seen_at(f, OPENED_AT);
}

static int after_open_bind(struct vze_fail *f)
{
	int ret = vze_unmap(f->gpu.fd, f->gpu.vm, OPENED_AT, f->share.size);

	return ret ? ret : close_made(f);
}

FAIL_FORM(open_bind) = {
	.setup = setup_open,
	.call = call_open_bind,
	.done = done_open_bind,
	.after = after_open_bind,
};

FAIL_FORM(put) = {
	.setup = setup_objects,
	.before = call_create_range,
	.call = call_put,
	.done = ended,
};

static int before_put_one_of_two(struct vze_fail *f)
{
	int ret = call_create(f);

	return ret ? ret : call_create(f);
}

FAIL_FORM(put_one_of_two) = {
	.setup = setup_objects,
	.before = before_put_one_of_two,
	.call = call_put,
	.done = done_create,
	.after = call_put,
};

/* Pieces of two objects, in another order than they are mapped. */
static int call_create_list(struct vze_fail *f)
{
	const struct drm_vze_share_piece pieces[] = {
		{ .handle = f->b, .offset = SZ_4K, .size = SZ_4K },
		{ .handle = f->a, .offset = 0, .size = SZ_64K },
		{ .handle = f->b, .offset = 4 * SZ_4K, .size = 2 * SZ_4K },
	};

	memset(&f->share, 0, sizeof(f->share));
	f->share.flags = DRM_VZE_SHARE_LIST;
	f->share.pieces = (uintptr_t)pieces;
	f->share.num_pieces = ARRAY_LEN(pieces);
	return vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &f->share);
}

static const char *done_create_list(struct vze_fail *f)
{
	return f->share.segments == 3 ? done_create(f) :
	       vze_fail_why(f, "%u segments", f->share.segments);
}

FAIL_FORM(create_list) = {
	.needs = DRM_VZE_SHARE_FD,
	.setup = setup_objects,
	.call = call_create_list,
	.done = done_create_list,
	.after = call_put,
};

/* ----------------------------------------------- descriptors of shares -- */

static int call_fd(struct vze_fail *f)
{
	struct drm_vze_share_fd args = { .token = f->share.token };
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_FD, &args);

	f->made64 = args.fd;
	return ret;
}

static int share_info(struct vze_fail *f, int fd, struct drm_vze_share_info *info)
{
	memset(info, 0, sizeof(*info));
	info->fd = fd;
	return vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_INFO, info);
}

static const char *done_fd(struct vze_fail *f)
{
	struct drm_vze_share_info info;
	int ret = share_info(f, f->made64, &info);

	if (ret || info.id != f->share.token.id || info.state != DRM_VZE_SHARE_STATE_LIVE)
		return vze_fail_why(f, "info: %d, share %llu, state %u", ret,
				    (unsigned long long)info.id, info.state);
	return NULL;
}

static int after_fd(struct vze_fail *f)
{
	return close(f->made64) ? -errno : 0;
}

FAIL_FORM(fd) = {
	.setup = setup_open,
	.call = call_fd,
	.done = done_fd,
	.after = after_fd,
};

static int setup_fd(struct vze_fail *f)
{
	int ret = setup_open(f);

	if (!ret)
		ret = call_fd(f);
	f->buf = f->made64;
	return ret;
}

static int call_open_fd(struct vze_fail *f)
{
	struct drm_vze_share_open args = {
		.flags = DRM_VZE_SHARE_OPEN_FD,
		.fd = f->buf,
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_OPEN, &args);

	f->made = args.handle;
	f->made64 = args.size;
	return ret;
}

FAIL_FORM(open_fd) = {
	.needs = DRM_VZE_SHARE_FD,
	.setup = setup_fd,
	.call = call_open_fd,
	.done = done_open,
	.after = close_made,
};

static int call_info(struct vze_fail *f)
{
	struct drm_vze_share_info info;
	int ret = share_info(f, f->buf, &info);

	f->made64 = info.id;
	return ret;
}

static const char *done_info(struct vze_fail *f)
{
	return f->made64 == f->share.token.id ? NULL : vze_fail_why(f, "another share");
}

FAIL_FORM(info) = {
	.setup = setup_fd,
	.call = call_info,
	.done = done_info,
};

/* ------------------------------------------------ importers, revocation -- */

static int setup_importers(struct vze_fail *f)
{
	int ret = setup_open(f);

	return ret ? ret : call_open(f);
}

static int call_importers(struct vze_fail *f)
{
	struct drm_vze_share_importer importer[4] = {};
	struct drm_vze_share_importers args = {
		.id = f->share.token.id,
		.importers = (uintptr_t)importer,
		.num = ARRAY_LEN(importer),
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_IMPORTERS, &args);

	f->count = args.num;
	f->flags = importer[0].pid;
	return ret;
}

static const char *done_importers(struct vze_fail *f)
{
	return f->count == 1 && f->flags == (uint32_t)getpid() ? NULL :
	       vze_fail_why(f, "%llu importers, process %u", (unsigned long long)f->count,
			    f->flags);
}

FAIL_FORM(importers) = {
	.setup = setup_importers,
	.call = call_importers,
	.done = done_importers,
};

/* A view that device and CPU have mapped. */
static int before_revoke(struct vze_fail *f)
{
	uint64_t offset;
	int ret = call_create_range(f);

	if (!ret)
		ret = call_open_bind(f);
	if (!ret)
		ret = vze_gem_mmap_offset(f->gpu.fd, f->made, &offset);
	if (ret)
		return ret;
	f->made_map = vze_fail_fresh_map(f->gpu.fd, SZ_64K, PROT_READ, offset);
	return f->made_map ? vze_fail_kernel_reads(f, f->made_map, 0xaaaa) : -errno;
}

static int call_revoke(struct vze_fail *f)
{
	struct drm_vze_share_revoke args = {
		.id = f->share.token.id,
		.flags = DRM_VZE_SHARE_REVOKE_UNMAP,
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_SHARE_REVOKE, &args);

	f->count = args.views;
	return ret;
}

static const char *unchanged_revoke(struct vze_fail *f)
{
	uint32_t handle;
	int ret = vze_share_open(f->gpu.fd, &f->share.token, &handle, NULL);

	if (!ret)
		ret = vze_gem_close(f->gpu.fd, handle);
	if (!ret)
		ret = vze_fail_kernel_reads(f, f->made_map, 0xaaaa);
	return ret ? vze_fail_why(f, "the share is not as it was: %d", ret) :
	       seen_at(f, OPENED_AT);
}

static const char *done_revoke(struct vze_fail *f)
{
	const struct vze_fail_probe gone = { OPENED_AT, VZE_FAIL_HOLE };
	const char *why = ended(f);
	int ret;

	if (why)
		return why;
	if (f->count != 1)
		return vze_fail_why(f, "%llu views", (unsigned long long)f->count);
	ret = vze_fail_kernel_reads(f, f->made_map, 0xaaaa);
	if (ret != -EFAULT)
		return vze_fail_why(f, "the CPU reads: %d", ret);
	return vze_fail_probe(f, &gone, 1);
}

static int after_revoke(struct vze_fail *f)
{
	munmap(f->made_map, SZ_64K);
	return after_open_bind(f);
}

FAIL_FORM(revoke) = {
	.setup = setup_objects,
	.before = before_revoke,
	.call = call_revoke,
	.done = done_revoke,
	.unchanged = unchanged_revoke,
	.after = after_revoke,
};

/* The CPU's mapping of an opened share. */
static int setup_fault_opened(struct vze_fail *f)
{
	int ret = setup_objects(f);

	if (!ret)
		ret = call_create(f);
	if (!ret)
		ret = call_open(f);
	return ret ? ret : vze_gem_mmap_offset(f->gpu.fd, f->made, &f->made64);
}

static int before_fault_opened(struct vze_fail *f)
{
	f->made_map = vze_fail_fresh_map(f->gpu.fd, SZ_64K, PROT_READ | PROT_WRITE, f->made64);
	return f->made_map ? 0 : -errno;
}

static int call_fault_opened(struct vze_fail *f)
{
	return vze_fail_kernel_reads(f, f->made_map, 0xaaaa);
}

static const char *done_fault_opened(struct vze_fail *f)
{
	return vze_words_check(f->made_map, SZ_64K, 0xaaaa) == -1 ? NULL :
	       vze_fail_why(f, "the mapping shows something else");
}

static int after_fault_opened(struct vze_fail *f)
{
	return munmap(f->made_map, SZ_64K) ? -errno : 0;
}

FAIL_FORM(fault_opened) = {
	.error = -EFAULT,
	.setup = setup_fault_opened,
	.before = before_fault_opened,
	.call = call_fault_opened,
	.done = done_fault_opened,
	.after = after_fault_opened,
};

VZE_FAIL_PROGRAM(VZE_FAIL_SHARE_FORMS)
