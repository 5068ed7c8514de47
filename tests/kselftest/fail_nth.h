/* SPDX-License-Identifier: MIT */
/*
 * Failure injection: every allocation, and every copy from and to user space, that a
 * call makes fails once.
 *
 * A form is one way to make a call. The runner makes the n-th such point inside the call
 * fail, for n = 1, 2, ... until the call is through before its n-th. Each time the call has to
 * report the error and to leave everything as it was, and to work when it is repeated; or to work in
 * full although something failed, where the kernel knows a second way.
 *
 * fail-nth counts in the calling task only. Work that the module hands to workers allocates
 * nothing, which lockdep proves on the same kernel, so nothing is missed.
 */
#ifndef FAIL_NTH_H
#define FAIL_NTH_H

#include "vze_test.h"

/* Not an ioctl of vze_drm.h: one of the DRM core's, or another system call. */
#define VZE_FAIL_CORE	0x1000

/*
 * Every form, with the ioctl that it makes. Each has a definition FAIL_FORM(name) in the program of
 * its group; uapi_coverage wants one at least for every ioctl that the module knows.
 */
#define VZE_FAIL_GEM_FORMS(F)				\
	F(create_vram, DRM_VZE_GEM_CREATE)		\
	F(create_vram_pieces, DRM_VZE_GEM_CREATE)	\
	F(create_system, DRM_VZE_GEM_CREATE)		\
	F(userptr, DRM_VZE_GEM_USERPTR)			\
	F(userptr_huge, DRM_VZE_GEM_USERPTR)		\
	F(userptr_untouched, DRM_VZE_GEM_USERPTR)	\
	F(userptr_readonly, DRM_VZE_GEM_USERPTR)	\
	F(userptr_from, DRM_VZE_GEM_USERPTR)		\
	F(mmap_offset, DRM_VZE_GEM_MMAP_OFFSET)		\
	F(info, DRM_VZE_GEM_INFO)			\
	F(close, VZE_FAIL_CORE)				\
	F(mmap_system, VZE_FAIL_CORE)			\
	F(mmap_vram, VZE_FAIL_CORE)			\
	F(fault_system, DRM_VZE_FENCE_WAIT)		\
	F(fault_vram, DRM_VZE_FENCE_WAIT)		\
	F(query_device, DRM_VZE_QUERY)			\
	F(query_memory, DRM_VZE_QUERY)			\
	F(query_clock, DRM_VZE_QUERY)			\
	F(query_counters, DRM_VZE_QUERY)

#define VZE_FAIL_VM_FORMS(F)				\
	F(create, DRM_VZE_VM_CREATE)			\
	F(destroy, DRM_VZE_VM_DESTROY)			\
	F(info, DRM_VZE_VM_INFO)			\
	F(mmap, VZE_FAIL_CORE)				\
	F(fault, DRM_VZE_FENCE_WAIT)

#define VZE_FAIL_BIND_FORMS(F)				\
	F(map_small, DRM_VZE_VM_BIND)			\
	F(map_large, DRM_VZE_VM_BIND)			\
	F(map_userptr, DRM_VZE_VM_BIND)			\
	F(map_no_access, DRM_VZE_VM_BIND)		\
	F(map_over, DRM_VZE_VM_BIND)			\
	F(unmap, DRM_VZE_VM_BIND)			\
	F(unmap_split, DRM_VZE_VM_BIND)			\
	F(protect, DRM_VZE_VM_BIND)			\
	F(protect_split, DRM_VZE_VM_BIND)		\
	F(array, DRM_VZE_VM_BIND)			\
	F(array_long, DRM_VZE_VM_BIND)			\
	F(syncs, DRM_VZE_VM_BIND)			\
	F(async_map, DRM_VZE_VM_BIND)			\
	F(async_split, DRM_VZE_VM_BIND)			\
	F(async_behind, DRM_VZE_VM_BIND)		\
	F(deferred, DRM_VZE_VM_BIND)			\
	F(deferred_part, DRM_VZE_VM_BIND)		\
	F(behind_deferred, DRM_VZE_VM_BIND)		\
	F(wait_only, DRM_VZE_VM_BIND)

#define VZE_FAIL_EXEC_FORMS(F)				\
	F(one_batch, DRM_VZE_EXEC)			\
	F(many_batches, DRM_VZE_EXEC)			\
	F(no_batch, DRM_VZE_EXEC)			\
	F(syncs, DRM_VZE_EXEC)				\
	F(many_syncs, DRM_VZE_EXEC)			\
	F(queue_create, DRM_VZE_QUEUE_CREATE)		\
	F(queue_create_ring, DRM_VZE_QUEUE_CREATE)	\
	F(queue_destroy, DRM_VZE_QUEUE_DESTROY)		\
	F(queue_destroy_busy, DRM_VZE_QUEUE_DESTROY)	\
	F(queue_state, DRM_VZE_QUEUE_STATE)		\
	F(queue_state_faulted, DRM_VZE_QUEUE_STATE)	\
	F(fence_wait, DRM_VZE_FENCE_WAIT)		\
	F(fence_wait_queue, DRM_VZE_FENCE_WAIT)		\
	F(fence_wake, DRM_VZE_FENCE_WAKE)

#define VZE_FAIL_SHARE_FORMS(F)				\
	F(create, DRM_VZE_SHARE_CREATE)			\
	F(create_again, DRM_VZE_SHARE_CREATE)		\
	F(create_range, DRM_VZE_SHARE_CREATE)		\
	F(create_of_opened, DRM_VZE_SHARE_CREATE)	\
	F(open, DRM_VZE_SHARE_OPEN)			\
	F(open_bind, DRM_VZE_SHARE_OPEN)		\
	F(put, DRM_VZE_SHARE_PUT)			\
	F(put_one_of_two, DRM_VZE_SHARE_PUT)		\
	F(create_list, DRM_VZE_SHARE_CREATE)		\
	F(fd, DRM_VZE_SHARE_FD)				\
	F(open_fd, DRM_VZE_SHARE_OPEN)			\
	F(info, DRM_VZE_SHARE_INFO)			\
	F(importers, DRM_VZE_SHARE_IMPORTERS)		\
	F(revoke, DRM_VZE_SHARE_REVOKE)			\
	F(fault_opened, DRM_VZE_FENCE_WAIT)

#define VZE_FAIL_PRIME_FORMS(F)				\
	F(export, VZE_FAIL_CORE)			\
	F(export_again, VZE_FAIL_CORE)			\
	F(import_own, VZE_FAIL_CORE)		\
	F(import_file, VZE_FAIL_CORE)		\
	F(import_device, VZE_FAIL_CORE)		\
	F(import_udmabuf, VZE_FAIL_CORE)		\
	F(import_heap, VZE_FAIL_CORE)

/* Where vze_fail_probe() has the device copy to. */
#define VZE_FAIL_OUT	(VZE_VA_CS + SZ_1G)
/* In place of a word: the device faults at the address. */
#define VZE_FAIL_HOLE	0xdeadULL

#define VZE_FAIL_MAX_MAPS	8
#define VZE_FAIL_MAX_OPS	64
#define VZE_FAIL_MAX_PROBES	8
#define VZE_FAIL_MAX_SYNCS	40

/** struct vze_fail_probe - what the device reads at an address */
struct vze_fail_probe {
	uint64_t va;
	uint64_t word;
};

/** struct vze_fail - a file with what one form uses; anew for each form */
struct vze_fail {
	struct vze_gpu gpu;
	/* another file of the device and a file of the second device, or -1 */
	int fd2;
	struct vze_gpu other;
	/* for the form */
	uint32_t a, b, c;
	uint32_t syncs_in[2], syncs_out[2];
	uint64_t points_in, points_out;
	uint32_t parker;
	uint32_t flags;
	/* @map_size: of @map if it is to be unmapped when the form ends */
	uint64_t *map;
	size_t map_size;
	volatile uint64_t *word;
	char *mem;
	int buf;
	struct drm_vze_share_create share;
	struct drm_vze_share_token token;
	struct vze_cs cs;
	/* what the call made, and what it was made from */
	uint32_t made;
	uint64_t made64;
	void *made_map;
	uint64_t count;
	/* an operation array with what the device sees before and after it */
	struct drm_vze_bind_op ops[VZE_FAIL_MAX_OPS];
	unsigned int num_ops;
	struct drm_vze_sync syncs[VZE_FAIL_MAX_SYNCS];
	unsigned int num_syncs;
	struct vze_fail_probe before[VZE_FAIL_MAX_PROBES];
	struct vze_fail_probe after[VZE_FAIL_MAX_PROBES];
	unsigned int num_before, num_after;
	/* the runner's */
	uint64_t *out;
	struct {
		void *at;
		size_t size;
	} maps[VZE_FAIL_MAX_MAPS];
	unsigned int num_maps;
	char why[256];
};

/**
 * struct vze_fail_form - one way to make a call
 *
 * Functions that return a string return NULL or what is wrong. All but @call may be NULL.
 */
struct vze_fail_form {
	/* what failing allocations are reported as, if not as -ENOMEM */
	int error;
	/* devices that it needs, if more than one */
	unsigned int gpus;
	/* another ioctl that the module has to know, which came with what the form uses */
	unsigned int needs;
	/* every success leaves something until the end */
	bool grows;
	/* once, on a new file */
	int (*setup)(struct vze_fail *f);
	/* brings about what the call changes or uses up */
	int (*before)(struct vze_fail *f);
	/* one system call: 0 or -errno */
	int (*call)(struct vze_fail *f);
	/* the call has succeeded: is its effect right? */
	const char *(*done)(struct vze_fail *f);
	/* the call has failed: is everything as before, beyond what is counted? */
	const char *(*unchanged)(struct vze_fail *f);
	/* takes back what @before and the successful call have made */
	int (*after)(struct vze_fail *f);
};

/** struct vze_fail_stats - what the runner saw */
struct vze_fail_stats {
	/* calls that reported the injected failure and changed nothing */
	unsigned int failed;
	/* calls that did their work all the same */
	unsigned int worked;
	/* failed copies of the result by the DRM core, which the driver cannot undo */
	unsigned int core;
};

/* NULL, or why failures cannot be injected here. */
const char *vze_fail_unavailable(void);
/* NULL, or why the form cannot run: too few devices, or an older module. */
const char *vze_fail_cannot(const struct vze_fail_form *form, unsigned int nr, int fd);
/*
 * Runs a form from n = 1 to the end. @nr: the ioctl that it makes. Returns "" or what went
 * wrong; the result is valid until the next call.
 */
const char *vze_fail_run(const struct vze_fail_form *form, unsigned int nr,
			 struct vze_fail_stats *stats);

/* ------------------------------------------------------------ injection -- */

enum vze_fail_kind {
	VZE_FAIL_NONE,
	VZE_FAIL_SLAB,
	VZE_FAIL_PAGE,
	VZE_FAIL_COPY,
};

/* Prepares this task and the fault attributes, and back. 0 or -errno. */
int vze_inject_begin(void);
void vze_inject_end(void);
/* The @n-th point from now on fails. */
int vze_inject_arm(unsigned int n);
/*
 * Ends this: the kind of point that failed since, or VZE_FAIL_NONE, or -errno. @copies: number of
 * copies from and to user space since the failure.
 */
int vze_inject_disarm(unsigned int *copies);

/* ------------------------------------------------------- for the forms -- */

/* What is wrong, formatted. */
const char *vze_fail_why(struct vze_fail *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* CPU mapping of an object until the end of the form; NULL on failure. */
void *vze_fail_map(struct vze_fail *f, uint32_t handle, size_t size);
/* Anonymous memory until the end of the form; NULL on failure. */
void *vze_fail_anon(struct vze_fail *f, size_t size, size_t align);
/* Compares what the device reads with what it should. */
const char *vze_fail_probe(struct vze_fail *f, const struct vze_fail_probe *probes,
			   unsigned int num);
/*
 * A mapping of @fd whose page tables do not exist yet, at an address that the CPU knows
 * for nothing else. NULL with errno.
 */
#define VZE_FAIL_FRESH	((char *)0x600000000000ULL)
void *vze_fail_fresh_map(int fd, size_t size, int prot, uint64_t offset);
/*
 * The kernel reads the word at @addr: what its fault handler cannot do is an error of
 * the call. A fault of the process itself would be repeated by the kernel after a complaint.
 */
int vze_fail_kernel_reads(struct vze_fail *f, const void *addr, uint64_t value);

#define FAIL_FORM(name) static const struct vze_fail_form form_##name

#define VZE_FAIL_TEST(form, number)					\
VZE_TEST(fail_nth, form)						\
{									\
	const char *reason = vze_fail_cannot(&form_##form, number, self->gpu.fd); \
	struct vze_fail_stats stats = {};				\
									\
	if (reason)							\
		SKIP(return, "%s", reason);				\
	EXPECT_STREQ("", vze_fail_run(&form_##form, number, &stats));	\
	TH_LOG("%s: %u failures reported, %u worked around, %u copies of the result", \
	       #form, stats.failed, stats.worked, stats.core);		\
}

/* The program of a group: the fixture and a test for each form. */
#define VZE_FAIL_PROGRAM(forms)						\
FIXTURE(fail_nth) {							\
	struct vze_gpu gpu;						\
};									\
									\
FIXTURE_SETUP(fail_nth)							\
{									\
	const char *reason = vze_fail_unavailable();			\
									\
	if (reason)							\
		SKIP(return, "%s", reason);				\
	VZE_SETUP(&self->gpu);						\
}									\
									\
FIXTURE_TEARDOWN(fail_nth)						\
{									\
	VZE_TEARDOWN(&self->gpu);					\
}									\
									\
forms(VZE_FAIL_TEST)							\
									\
TEST_HARNESS_MAIN

#endif /* FAIL_NTH_H */
