/* SPDX-License-Identifier: MIT */
/*
 * What the selftests of the vze module share: finding the device, ioctls that
 * return -errno, command streams, jobs, debugfs figures, the leak check.
 *
 * Every function that can fail returns 0 or a negative errno unless it says
 * otherwise, and none prints: the test asserts the value.
 */
#ifndef VZE_TEST_H
#define VZE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <drm/vze_drm.h>
#include <drm/vze_hw.h>

#define SZ_4K		0x1000UL
#define SZ_64K		0x10000UL
#define SZ_1M		0x100000UL
#define SZ_2M		0x200000UL
#define SZ_1G		0x40000000UL
#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * The machine may stand still for ten seconds: nothing here waits for less
 * than this, and every test may take as long as VZE_TEST_SECONDS.
 */
#define VZE_WAIT_MS	60000
#define VZE_TEST_SECONDS 400

/* Device addresses: command streams from here, the tests' own data from there. */
#define VZE_VA_CS	0x1000000000ULL
#define VZE_VA		0x2000000000ULL
#define VZE_VA_END	(1ULL << 47)

/* In a child: leaves its function with a number that tells which condition it was. */
#define REQUIRE(line, condition) do { if (!(condition)) return line; } while (0)

#define VZE_MAX_FIGURES	32

/** struct vze_figures - "key value" lines of a debugfs file */
struct vze_figures {
	int count;
	struct {
		char name[32];
		unsigned long long value;
	} entry[VZE_MAX_FIGURES];
};

/** struct vze_cs - a command stream: a system object mapped for CPU and device */
struct vze_cs {
	uint32_t handle;
	uint64_t va;
	uint64_t *base;
	/* words (8 bytes) used and available */
	uint32_t used;
	uint32_t size;
};

/** struct vze_gpu - one open file of a device, and what most tests make on it */
struct vze_gpu {
	int fd;
	unsigned int index;
	char node[32];
	char pci[32];
	char debugfs[64];
	struct vze_figures before;
	unsigned long long stale_before;
	char leaks[512];
	/* made by vze_gpu_start() */
	uint32_t vm;
	uint32_t queue;
	struct vze_cs cs;
};

/* --------------------------------------------------------------- devices -- */

/* Number of render nodes of the module. */
unsigned int vze_num_gpus(void);
/* NULL, or why a test that needs @gpus devices cannot run here. */
const char *vze_cannot_run(unsigned int gpus);
/* Opens device @index and notes its figures for vze_gpu_leaks(). */
int vze_gpu_open(struct vze_gpu *gpu, unsigned int index);
/* Another file of the same device: descriptor or -errno. */
int vze_gpu_reopen(const struct vze_gpu *gpu);
/* Address space, queue and command stream. */
int vze_gpu_start(struct vze_gpu *gpu);
void vze_gpu_close(struct vze_gpu *gpu);
/*
 * What the module still holds beyond what it held at vze_gpu_open(), and stale
 * uses of the TLB since: "" when nothing. Waits for releases that are under way.
 */
const char *vze_gpu_leaks(struct vze_gpu *gpu);
int vze_figures_read(const struct vze_gpu *gpu, const char *file, struct vze_figures *figures);
/* The value of @name, ~0 when there is none. */
unsigned long long vze_figure(const struct vze_gpu *gpu, const char *file, const char *name);
/* Waits until the figure has the value; returns the last value seen. */
unsigned long long vze_figure_wait(const struct vze_gpu *gpu, const char *file, const char *name,
				   unsigned long long value);
/* A parameter of the module, -errno when it cannot be read. */
long vze_param_get(const char *name);
int vze_param_set(const char *name, const char *value);
int vze_param_set_number(const char *name, long value);
/* Writes a string to a file (sysfs). */
int vze_write_file(const char *path, const char *text);

/* -------------------------------------------------------------- processes -- */

/* Pinned memory of the calling process (VmPin) in bytes. */
long vze_vmpin(void);
/* VmPin of a process in bytes, -errno when it is gone. */
long vze_vmpin_of(pid_t pid);
/* Runs @fn in a child: its return value (0..255), or -signal. */
int vze_in_child(int (*fn)(void *arg), void *arg);
/* Collects a child of fork(): exit status, or -signal. */
int vze_reap(pid_t pid);
/* Gives up root and all capabilities for good. */
int vze_become_nobody(void);
/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t vze_now_ms(void);
void vze_sleep_ms(unsigned int ms);
/* Does the kernel check each of its memory accesses (KASAN and the like)? It is ten times slower. */
bool vze_kernel_is_checked(void);
/* How often to repeat what is wanted @rounds times: there, an eighth of it says as much. */
unsigned int vze_rounds(unsigned int rounds);
/* Absolute CLOCK_MONOTONIC time @ms from now, in ns. */
int64_t vze_deadline(unsigned int ms);

/* ----------------------------------------------------------------- ioctls -- */

/* ioctl(2) as -errno; every other function here goes through it. */
int vze_ioctl(int fd, unsigned long request, void *arg);
/* When set, does the system call instead (compat). Returns 0 or -errno. */
extern int (*vze_ioctl_entry)(int fd, unsigned long request, void *arg);
int vze_query(int fd, uint32_t query, void *data, uint32_t *size);
int vze_gem_create(int fd, uint64_t size, uint32_t placement, uint32_t flags, uint32_t *handle);
int vze_userptr(int fd, const void *addr, uint64_t size, uint32_t flags, uint32_t *handle);
int vze_gem_close(int fd, uint32_t handle);
int vze_gem_info(int fd, uint32_t handle, struct drm_vze_gem_info *info);
int vze_gem_mmap_offset(int fd, uint32_t handle, uint64_t *offset);
/* CPU mapping of an object, MAP_FAILED with errno. */
void *vze_gem_mmap(int fd, uint32_t handle, uint64_t size, int prot);
int vze_vm_create(int fd, uint32_t *vm);
int vze_vm_destroy(int fd, uint32_t vm);
int vze_vm_info(int fd, uint32_t vm, struct drm_vze_vm_info *info);
int vze_vm_bind(int fd, uint32_t vm, const struct drm_vze_bind_op *ops, uint32_t num_ops);
int vze_vm_bind_syncs(int fd, uint32_t vm, uint32_t flags, const struct drm_vze_bind_op *ops,
		      uint32_t num_ops, const struct drm_vze_sync *syncs, uint32_t num_syncs);
int vze_map(int fd, uint32_t vm, uint32_t handle, uint64_t offset, uint64_t range, uint64_t addr,
	    uint32_t flags);
int vze_unmap(int fd, uint32_t vm, uint64_t addr, uint64_t range);
int vze_protect(int fd, uint32_t vm, uint64_t addr, uint64_t range, uint32_t flags);
int vze_queue_create(int fd, uint32_t vm, uint32_t *queue);
int vze_queue_destroy(int fd, uint32_t queue);
int vze_queue_state(int fd, uint32_t queue, struct drm_vze_queue_state *state);
/* Waits until the queue is in @state; returns the last state seen or -errno. */
int vze_queue_wait_state(int fd, uint32_t queue, uint32_t state);
int vze_fence_wait(int fd, const void *addr, uint32_t op, uint64_t value, uint32_t queue,
		   int64_t timeout_ns);
int vze_fence_wake(int fd);
int vze_share_create(int fd, uint32_t handle, uint32_t flags, struct drm_vze_share_create *share);
int vze_share_open(int fd, const struct drm_vze_share_token *token, uint32_t *handle,
		   uint64_t *size);
int vze_share_put(int fd, uint64_t id);

/* --------------------------------------------------------------- syncobjs -- */

int vze_syncobj_create(int fd, bool signaled, uint32_t *handle);
int vze_syncobj_destroy(int fd, uint32_t handle);
int vze_syncobj_reset(int fd, uint32_t handle);
int vze_syncobj_signal(int fd, uint32_t handle);
/* -ETIME when it is not signalled in time. */
int vze_syncobj_wait(int fd, uint32_t handle, unsigned int ms);
int vze_timeline_signal(int fd, uint32_t handle, uint64_t point);
int vze_timeline_wait(int fd, uint32_t handle, uint64_t point, unsigned int ms);
int vze_timeline_query(int fd, uint32_t handle, uint64_t *point);
/* 1: its fence has signalled well, 0: not yet, negative: the error of its fence. */
int vze_syncobj_status(int fd, uint32_t handle);

/* --------------------------------------------------- commands and their jobs -- */

int vze_cs_create(struct vze_gpu *gpu, struct vze_cs *cs, uint64_t va, uint64_t size);
void vze_cs_destroy(struct vze_gpu *gpu, struct vze_cs *cs);
void vze_cs_reset(struct vze_cs *cs);
/* Raw words; every emitter below is built on it. */
void vze_cs_words(struct vze_cs *cs, const void *words, uint32_t count);
/* A header with nothing behind it: NOP, BARRIER, HANG. */
void vze_cs_plain(struct vze_cs *cs, uint16_t opcode);
void vze_cs_copy(struct vze_cs *cs, uint64_t dst, uint64_t src, uint64_t size);
void vze_cs_fill(struct vze_cs *cs, uint64_t dst, uint64_t size, const void *pattern,
		 uint32_t pattern_size);
void vze_cs_region(struct vze_cs *cs, const struct vze_hw_cmd_copy_region *region);
void vze_cs_signal(struct vze_cs *cs, uint64_t addr, uint64_t value, uint32_t flags);
void vze_cs_add(struct vze_cs *cs, uint64_t addr, uint64_t value, uint32_t flags);
void vze_cs_wait(struct vze_cs *cs, uint64_t addr, uint32_t op, uint64_t value);
void vze_cs_timestamp(struct vze_cs *cs, uint64_t addr, uint32_t flags);

/* One batch, @cs as it stands (NULL: none). @seqno may be NULL. */
int vze_exec(int fd, uint32_t queue, const struct vze_cs *cs, const struct drm_vze_sync *syncs,
	     uint32_t num_syncs, uint64_t *seqno);
/* Submits with @syncobj as out-sync. */
int vze_submit(int fd, uint32_t queue, const struct vze_cs *cs, uint32_t syncobj);
/* Submits, waits, and returns what the job came to: 0, or the error of its fence. */
int vze_run(int fd, uint32_t queue, const struct vze_cs *cs);
/* Copies and fills by the device on the file's own queue. */
int vze_gpu_copy(struct vze_gpu *gpu, uint64_t dst, uint64_t src, uint64_t size);
int vze_gpu_fill(struct vze_gpu *gpu, uint64_t dst, uint64_t size, uint64_t value);
/* Replaces a stopped queue of the file by a new one. */
int vze_gpu_new_queue(struct vze_gpu *gpu);

/* ------------------------------------------------------------------ memory -- */

/* Fills with values that depend on position and @seed; a multiple of 8 bytes. */
void vze_pattern_fill(void *mem, size_t size, uint64_t seed);
/* Offset of the first byte that differs from vze_pattern_fill(), -1: none. */
ssize_t vze_pattern_check(const void *mem, size_t size, uint64_t seed);
/* Offset of the first 64-bit word that is not @value, -1: none. */
ssize_t vze_words_check(const void *mem, size_t size, uint64_t value);
/* Private anonymous memory, aligned to @align; NULL on failure. */
void *vze_anon(size_t size, size_t align);
/*
 * @size bytes of address space that show the same @memfd_size bytes again and
 * again, so that huge imports need little memory. MAP_FAILED with errno.
 */
void *vze_alias(int memfd, size_t memfd_size, size_t size);
int vze_memfd(size_t size);
/* Load and store of one word: 0, or the signal that it raised as -SIGBUS, -SIGSEGV. */
int vze_peek(const volatile void *addr, uint64_t *value);
int vze_poke(volatile void *addr, uint64_t value);
/* Names the test in the kernel log, so that a report there can be told from which test it came. */
void vze_log_test(const char *fixture, const char *name);
/* VMAs of this process that lie in a range of addresses. */
int vze_count_vmas(const void *start, size_t size);

/* ------------------------------------------------------- with the harness -- */

#define VZE_SETUP_GPUS(gpu, index, gpus) do {				\
	const char *reason = vze_cannot_run(gpus);			\
									\
	vze_log_test(_metadata->fixture->name, _metadata->name);	\
	if (reason)							\
		SKIP(return, "%s", reason);				\
	ASSERT_EQ(0, vze_gpu_open(gpu, index));				\
} while (0)

#define VZE_SETUP(gpu)		VZE_SETUP_GPUS(gpu, 0, 1)

/* Ends what the fixture made and proves that nothing stays behind. */
#define VZE_TEARDOWN(gpu) do {						\
	vze_gpu_close(gpu);						\
	EXPECT_STREQ("", vze_gpu_leaks(gpu));				\
} while (0)

#define VZE_TEST(fixture, name)	TEST_F_TIMEOUT(fixture, name, VZE_TEST_SECONDS)

#endif /* VZE_TEST_H */
