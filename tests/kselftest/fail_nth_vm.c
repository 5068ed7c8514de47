// SPDX-License-Identifier: MIT
/* Failure injection: address spaces and their CPU mappings. */
#include <errno.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"

/* ------------------------------------------------------------- whole VMs -- */

static int setup_object(struct vze_fail *f)
{
	return vze_gem_create(f->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &f->a);
}

static int call_create(struct vze_fail *f)
{
	return vze_vm_create(f->gpu.fd, &f->made);
}

static const char *done_create(struct vze_fail *f)
{
	int ret = vze_map(f->gpu.fd, f->made, f->a, 0, SZ_64K, VZE_VA, 0);

	return ret ? vze_fail_why(f, "mapping in the new VM: %d", ret) : NULL;
}

static int after_create(struct vze_fail *f)
{
	return vze_vm_destroy(f->gpu.fd, f->made);
}

FAIL_FORM(create) = {
	.setup = setup_object,
	.call = call_create,
	.done = done_create,
	.after = after_create,
};

static int before_destroy(struct vze_fail *f)
{
	int ret = vze_vm_create(f->gpu.fd, &f->made);

	return ret ? ret : vze_map(f->gpu.fd, f->made, f->a, 0, SZ_64K, VZE_VA, 0);
}

static const char *done_destroy(struct vze_fail *f)
{
	struct drm_vze_vm_info info;
	int ret = vze_vm_info(f->gpu.fd, f->made, &info);

	return ret == -ENOENT ? NULL : vze_fail_why(f, "info of the VM: %d", ret);
}

FAIL_FORM(destroy) = {
	.setup = setup_object,
	.before = before_destroy,
	.call = after_create,
	.done = done_destroy,
};

static int call_info(struct vze_fail *f)
{
	struct drm_vze_vm_info info;
	int ret = vze_vm_info(f->gpu.fd, f->gpu.vm, &info);

	f->made64 = info.mappings;
	return ret;
}

static const char *done_info(struct vze_fail *f)
{
	/* The runner's and that of the command stream. */
	return f->made64 == 2 ? NULL : vze_fail_why(f, "a wrong number of mappings");
}

FAIL_FORM(info) = {
	.call = call_info,
	.done = done_info,
};

/* ---------------------------------------------------------- CPU mappings -- */

static int setup_mmap(struct vze_fail *f)
{
	int ret = setup_object(f);

	if (ret)
		return ret;
	f->map = vze_fail_map(f, f->a, SZ_64K);
	if (!f->map)
		return -ENOMEM;
	vze_pattern_fill(f->map, SZ_64K, 5);
	return vze_map(f->gpu.fd, f->gpu.vm, f->a, 0, SZ_64K, (uintptr_t)VZE_FAIL_FRESH, 0);
}

static int call_mmap(struct vze_fail *f)
{
	f->made_map = vze_fail_fresh_map(f->gpu.fd, SZ_64K, PROT_READ | PROT_WRITE,
					 DRM_VZE_VM_MMAP_OFFSET(f->gpu.vm,
								(uintptr_t)VZE_FAIL_FRESH));
	return f->made_map ? 0 : -errno;
}

static const char *done_mmap(struct vze_fail *f)
{
	return vze_pattern_check(f->made_map, SZ_64K, 5) == -1 ? NULL :
	       vze_fail_why(f, "the mapping shows something else");
}

static int after_mmap(struct vze_fail *f)
{
	return munmap(f->made_map, SZ_64K) ? -errno : 0;
}

FAIL_FORM(mmap) = {
	.setup = setup_mmap,
	.call = call_mmap,
	.done = done_mmap,
	.after = after_mmap,
};

static int call_fault(struct vze_fail *f)
{
	return vze_fail_kernel_reads(f, f->made_map, f->map[0]);
}

FAIL_FORM(fault) = {
	.error = -EFAULT,
	.setup = setup_mmap,
	.before = call_mmap,
	.call = call_fault,
	.done = done_mmap,
	.after = after_mmap,
};

VZE_FAIL_PROGRAM(VZE_FAIL_VM_FORMS)
