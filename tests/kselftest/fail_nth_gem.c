// SPDX-License-Identifier: MIT
/* Failure injection: objects, their CPU mappings, and queries. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

/* ---------------------------------------------------------------- created -- */

#define ONE_PIECE	SZ_64K
/* Three blocks of the buddy allocator. */
#define THREE_PIECES	(7 * SZ_4K)
/* A huge page, one of 64 KiB, and single ones: all ways to get memory. */
#define ALL_ORDERS	(SZ_2M + SZ_64K + 2 * SZ_4K)

static const char *created(struct vze_fail *f, uint64_t size, uint32_t placement)
{
	struct drm_vze_gem_info info;
	const char *why = NULL;
	void *map;
	int ret = vze_gem_info(f->gpu.fd, f->made, &info);

	if (ret || info.size != size || info.placement != placement)
		return vze_fail_why(f, "info: %d, size %#llx, placement %u", ret,
				    (unsigned long long)info.size, info.placement);
	map = vze_gem_mmap(f->gpu.fd, f->made, size, PROT_READ | PROT_WRITE);
	if (map == MAP_FAILED)
		return vze_fail_why(f, "the object cannot be mapped: %d", -errno);
	if (vze_words_check(map, size, 0) != -1)
		why = vze_fail_why(f, "the object is not zero");
	vze_pattern_fill(map, size, 1);
	if (!why && vze_pattern_check(map, size, 1) != -1)
		why = vze_fail_why(f, "the object does not keep what is written");
	munmap(map, size);
	return why;
}

static int close_made(struct vze_fail *f)
{
	return vze_gem_close(f->gpu.fd, f->made);
}

static int call_create_vram(struct vze_fail *f)
{
	return vze_gem_create(f->gpu.fd, ONE_PIECE, DRM_VZE_PLACEMENT_VRAM, 0, &f->made);
}

static const char *done_create_vram(struct vze_fail *f)
{
	return created(f, ONE_PIECE, DRM_VZE_PLACEMENT_VRAM);
}

FAIL_FORM(create_vram) = {
	.call = call_create_vram,
	.done = done_create_vram,
	.after = close_made,
};

static int call_create_vram_pieces(struct vze_fail *f)
{
	return vze_gem_create(f->gpu.fd, THREE_PIECES, DRM_VZE_PLACEMENT_VRAM, 0, &f->made);
}

static const char *done_create_vram_pieces(struct vze_fail *f)
{
	return created(f, THREE_PIECES, DRM_VZE_PLACEMENT_VRAM);
}

FAIL_FORM(create_vram_pieces) = {
	.call = call_create_vram_pieces,
	.done = done_create_vram_pieces,
	.after = close_made,
};

static int call_create_system(struct vze_fail *f)
{
	return vze_gem_create(f->gpu.fd, ALL_ORDERS, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->made);
}

static const char *done_create_system(struct vze_fail *f)
{
	return created(f, ALL_ORDERS, DRM_VZE_PLACEMENT_SYSTEM);
}

FAIL_FORM(create_system) = {
	.call = call_create_system,
	.done = done_create_system,
	.after = close_made,
};

/* ---------------------------------------------------------------- userptr -- */

#define USER_SIZE	(SZ_2M + SZ_64K)
#define UNTOUCHED	SZ_64K

static int user_memory(struct vze_fail *f, int advice)
{
	f->mem = vze_fail_anon(f, USER_SIZE, SZ_2M);
	if (!f->mem || madvise(f->mem, USER_SIZE, advice))
		return -ENOMEM;
	vze_pattern_fill(f->mem, USER_SIZE, 2);
	return 0;
}

static int user_small(struct vze_fail *f)
{
	return user_memory(f, MADV_NOHUGEPAGE);
}

static int user_huge(struct vze_fail *f)
{
	return user_memory(f, MADV_HUGEPAGE);
}

/* The device reads the user's memory, at its two ends. */
static const char *imported(struct vze_fail *f, uint64_t size, uint32_t flags)
{
	const uint64_t *mem = (const uint64_t *)f->mem;
	const struct vze_fail_probe probes[] = {
		{ VZE_VA, mem[0] },
		{ VZE_VA + size - 8, mem[size / 8 - 1] },
	};
	struct drm_vze_gem_info info;
	const char *why;
	int ret = vze_gem_info(f->gpu.fd, f->made, &info);

	if (ret || info.size != size || info.placement != DRM_VZE_PLACEMENT_USERPTR ||
	    info.user_addr != (uintptr_t)f->mem)
		return vze_fail_why(f, "info: %d, size %#llx, placement %u", ret,
				    (unsigned long long)info.size, info.placement);
	ret = vze_map(f->gpu.fd, f->gpu.vm, f->made, 0, size, VZE_VA, flags);
	if (ret)
		return vze_fail_why(f, "the object cannot be mapped: %d", ret);
	why = vze_fail_probe(f, probes, ARRAY_LEN(probes));
	ret = vze_unmap(f->gpu.fd, f->gpu.vm, VZE_VA, size);
	if (!why && ret)
		why = vze_fail_why(f, "unmapping: %d", ret);
	return why;
}

static int call_userptr(struct vze_fail *f)
{
	return vze_userptr(f->gpu.fd, f->mem, USER_SIZE, 0, &f->made);
}

static const char *done_userptr(struct vze_fail *f)
{
	return imported(f, USER_SIZE, 0);
}

FAIL_FORM(userptr) = {
	.setup = user_small,
	.call = call_userptr,
	.done = done_userptr,
	.after = close_made,
};

FAIL_FORM(userptr_huge) = {
	.setup = user_huge,
	.call = call_userptr,
	.done = done_userptr,
	.after = close_made,
};

/* Pages that come into being while they are pinned. */
static int before_userptr_untouched(struct vze_fail *f)
{
	return madvise(f->mem, UNTOUCHED, MADV_DONTNEED) ? -errno : 0;
}

static int call_userptr_untouched(struct vze_fail *f)
{
	return vze_userptr(f->gpu.fd, f->mem, UNTOUCHED, 0, &f->made);
}

static const char *done_userptr_untouched(struct vze_fail *f)
{
	vze_pattern_fill(f->mem, UNTOUCHED, 3);
	return imported(f, UNTOUCHED, 0);
}

FAIL_FORM(userptr_untouched) = {
	.setup = user_small,
	.before = before_userptr_untouched,
	.call = call_userptr_untouched,
	.done = done_userptr_untouched,
	.after = close_made,
};

static int setup_userptr_readonly(struct vze_fail *f)
{
	int ret = user_small(f);

	return ret ? ret : mprotect(f->mem, USER_SIZE, PROT_READ) ? -errno : 0;
}

static int call_userptr_readonly(struct vze_fail *f)
{
	return vze_userptr(f->gpu.fd, f->mem, USER_SIZE, DRM_VZE_USERPTR_READONLY, &f->made);
}

static const char *done_userptr_readonly(struct vze_fail *f)
{
	return imported(f, USER_SIZE, DRM_VZE_BIND_READONLY);
}

FAIL_FORM(userptr_readonly) = {
	.setup = setup_userptr_readonly,
	.call = call_userptr_readonly,
	.done = done_userptr_readonly,
	.after = close_made,
};

static int setup_userptr_from(struct vze_fail *f)
{
	int ret = user_small(f);

	f->fd2 = vze_gpu_reopen(&f->gpu);
	if (!ret && f->fd2 < 0)
		ret = f->fd2;
	return ret ? ret : vze_userptr(f->fd2, f->mem, USER_SIZE, 0, &f->a);
}

static int call_userptr_from(struct vze_fail *f)
{
	struct drm_vze_gem_userptr args = {
		.addr = (uintptr_t)f->mem,
		.size = USER_SIZE,
		.flags = DRM_VZE_USERPTR_FROM,
		.source_fd = f->fd2,
		.source_handle = f->a,
	};
	int ret = vze_ioctl(f->gpu.fd, DRM_IOCTL_VZE_GEM_USERPTR, &args);

	f->made = args.handle;
	return ret;
}

FAIL_FORM(userptr_from) = {
	.setup = setup_userptr_from,
	.call = call_userptr_from,
	.done = done_userptr,
	.after = close_made,
};

/* ----------------------------------------------------- handles and mapping -- */

static int object(struct vze_fail *f, uint32_t placement)
{
	int ret = vze_gem_create(f->gpu.fd, SZ_64K, placement, 0, &f->a);

	if (ret)
		return ret;
	f->map = vze_fail_map(f, f->a, SZ_64K);
	if (!f->map)
		return -ENOMEM;
	vze_pattern_fill(f->map, SZ_64K, 4);
	return vze_gem_mmap_offset(f->gpu.fd, f->a, &f->made64);
}

static int system_object(struct vze_fail *f)
{
	return object(f, DRM_VZE_PLACEMENT_SYSTEM);
}

static int vram_object(struct vze_fail *f)
{
	return object(f, DRM_VZE_PLACEMENT_VRAM);
}

/* An object whose offset was never asked for. */
static int before_mmap_offset(struct vze_fail *f)
{
	f->made64 = 0;
	return vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->made);
}

static int call_mmap_offset(struct vze_fail *f)
{
	return vze_gem_mmap_offset(f->gpu.fd, f->made, &f->made64);
}

static const char *done_mmap_offset(struct vze_fail *f)
{
	void *map = mmap(NULL, SZ_64K, PROT_READ | PROT_WRITE, MAP_SHARED, f->gpu.fd, f->made64);

	if (map == MAP_FAILED)
		return vze_fail_why(f, "the offset cannot be mapped: %d", -errno);
	munmap(map, SZ_64K);
	return created(f, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM);
}

FAIL_FORM(mmap_offset) = {
	.before = before_mmap_offset,
	.call = call_mmap_offset,
	.done = done_mmap_offset,
	.after = close_made,
};

static int call_info(struct vze_fail *f)
{
	struct drm_vze_gem_info info;
	int ret = vze_gem_info(f->gpu.fd, f->a, &info);

	f->made64 = info.size;
	return ret;
}

static const char *done_info(struct vze_fail *f)
{
	return f->made64 == SZ_64K ? NULL : vze_fail_why(f, "a wrong size");
}

FAIL_FORM(info) = {
	.setup = vram_object,
	.call = call_info,
	.done = done_info,
};

/* The last handle of an object that is mapped and shared: must work whatever fails. */
static int before_close(struct vze_fail *f)
{
	int ret = vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_VRAM, 0, &f->made);

	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, f->made, 0, SZ_64K, VZE_VA, 0);
	return ret ? ret : vze_share_create(f->gpu.fd, f->made, 0, &f->share);
}

static const char *unchanged_close(struct vze_fail *f)
{
	uint32_t handle;
	int ret = vze_share_open(f->gpu.fd, &f->share.token, &handle, NULL);

	if (ret)
		return vze_fail_why(f, "the share: %d", ret);
	ret = vze_gem_close(f->gpu.fd, handle);
	return ret ? vze_fail_why(f, "closing the opened share: %d", ret) : NULL;
}

static const char *done_close(struct vze_fail *f)
{
	const struct vze_fail_probe still = { VZE_VA, 0 };
	uint32_t handle;
	int ret = vze_share_open(f->gpu.fd, &f->share.token, &handle, NULL);

	if (ret != -ENOENT)
		return vze_fail_why(f, "opening the share: %d", ret);
	return vze_fail_probe(f, &still, 1);
}

static int after_close(struct vze_fail *f)
{
	return vze_unmap(f->gpu.fd, f->gpu.vm, VZE_VA, SZ_64K);
}

FAIL_FORM(close) = {
	.before = before_close,
	.call = close_made,
	.done = done_close,
	.unchanged = unchanged_close,
	.after = after_close,
};

static int call_mmap(struct vze_fail *f)
{
	f->made_map = vze_fail_fresh_map(f->gpu.fd, SZ_64K, PROT_READ | PROT_WRITE, f->made64);
	return f->made_map ? 0 : -errno;
}

static const char *done_mmap(struct vze_fail *f)
{
	return vze_pattern_check(f->made_map, SZ_64K, 4) == -1 ? NULL :
	       vze_fail_why(f, "the mapping shows something else");
}

static int unmap_made(struct vze_fail *f)
{
	return munmap(f->made_map, SZ_64K) ? -errno : 0;
}

FAIL_FORM(mmap_system) = {
	.setup = system_object,
	.call = call_mmap,
	.done = done_mmap,
	.after = unmap_made,
};

FAIL_FORM(mmap_vram) = {
	.setup = vram_object,
	.call = call_mmap,
	.done = done_mmap,
	.after = unmap_made,
};

/* The first access to a mapping, by the kernel for FENCE_WAIT. */
static int call_fault(struct vze_fail *f)
{
	return vze_fail_kernel_reads(f, f->made_map, f->map[0]);
}

FAIL_FORM(fault_system) = {
	.error = -EFAULT,
	.setup = system_object,
	.before = call_mmap,
	.call = call_fault,
	.done = done_mmap,
	.after = unmap_made,
};

FAIL_FORM(fault_vram) = {
	.error = -EFAULT,
	.setup = vram_object,
	.before = call_mmap,
	.call = call_fault,
	.done = done_mmap,
	.after = unmap_made,
};

/* ----------------------------------------------------------------- queries -- */

static union {
	struct drm_vze_query_device device;
	struct drm_vze_query_memory memory;
	struct drm_vze_query_clock clock;
	uint64_t counters[VZE_HW_COUNTER_COUNT];
} answer;

static int query(struct vze_fail *f, uint32_t what)
{
	uint32_t size = sizeof(answer);

	memset(&answer, 0, sizeof(answer));
	return vze_query(f->gpu.fd, what, &answer, &size);
}

static int call_query_device(struct vze_fail *f)
{
	return query(f, DRM_VZE_QUERY_DEVICE);
}

static const char *done_query_device(struct vze_fail *f)
{
	return answer.device.va_bits == VZE_HW_VA_BITS ? NULL : vze_fail_why(f, "no answer");
}

FAIL_FORM(query_device) = {
	.call = call_query_device,
	.done = done_query_device,
};

static int call_query_memory(struct vze_fail *f)
{
	return query(f, DRM_VZE_QUERY_MEMORY);
}

static const char *done_query_memory(struct vze_fail *f)
{
	return answer.memory.vram_size && answer.memory.system_size ? NULL :
	       vze_fail_why(f, "no answer");
}

FAIL_FORM(query_memory) = {
	.call = call_query_memory,
	.done = done_query_memory,
};

static int call_query_clock(struct vze_fail *f)
{
	return query(f, DRM_VZE_QUERY_CLOCK);
}

static const char *done_query_clock(struct vze_fail *f)
{
	return answer.clock.device && answer.clock.cpu ? NULL : vze_fail_why(f, "no answer");
}

FAIL_FORM(query_clock) = {
	.call = call_query_clock,
	.done = done_query_clock,
};

static int call_query_counters(struct vze_fail *f)
{
	return query(f, DRM_VZE_QUERY_COUNTERS);
}

static const char *done_query_counters(struct vze_fail *f)
{
	return answer.counters[VZE_HW_COUNTER_INTERRUPTS] ? NULL : vze_fail_why(f, "no answer");
}

FAIL_FORM(query_counters) = {
	.call = call_query_counters,
	.done = done_query_counters,
};

VZE_FAIL_PROGRAM(VZE_FAIL_GEM_FORMS)
