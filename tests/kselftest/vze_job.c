// SPDX-License-Identifier: MIT
/* Command streams, jobs and test memory of the vze selftests. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vze_test.h"

int vze_cs_create(struct vze_gpu *gpu, struct vze_cs *cs, uint64_t va, uint64_t size)
{
	void *base;
	int ret;

	memset(cs, 0, sizeof(*cs));
	ret = vze_gem_create(gpu->fd, size, DRM_VZE_PLACEMENT_SYSTEM, 0, &cs->handle);
	if (ret)
		return ret;
	base = vze_gem_mmap(gpu->fd, cs->handle, size, PROT_READ | PROT_WRITE);
	ret = base == MAP_FAILED ? -errno : 0;
	if (!ret) {
		cs->base = base;
		cs->va = va;
		cs->size = size / 8;
		ret = vze_map(gpu->fd, gpu->vm, cs->handle, 0, size, va, DRM_VZE_BIND_READONLY);
	}
	if (ret)
		vze_cs_destroy(gpu, cs);
	return ret;
}

void vze_cs_destroy(struct vze_gpu *gpu, struct vze_cs *cs)
{
	if (cs->base) {
		vze_unmap(gpu->fd, gpu->vm, cs->va, cs->size * 8ULL);
		munmap(cs->base, cs->size * 8ULL);
	}
	vze_gem_close(gpu->fd, cs->handle);
	memset(cs, 0, sizeof(*cs));
}

void vze_cs_reset(struct vze_cs *cs)
{
	cs->used = 0;
}

void vze_cs_words(struct vze_cs *cs, const void *words, uint32_t count)
{
	/* A test that overruns its stream is wrong itself: no value to assert. */
	if (count > cs->size - cs->used)
		abort();
	memcpy(cs->base + cs->used, words, count * 8);
	cs->used += count;
}

void vze_cs_plain(struct vze_cs *cs, uint16_t opcode)
{
	struct vze_hw_cmd cmd = { .opcode = opcode, .len = 1 };

	vze_cs_words(cs, &cmd, 1);
}

void vze_cs_copy(struct vze_cs *cs, uint64_t dst, uint64_t src, uint64_t size)
{
	struct vze_hw_cmd_copy copy = {
		.cmd = { .opcode = VZE_HW_CMD_COPY, .len = sizeof(copy) / 8 },
		.dst = dst,
		.src = src,
		.size = size,
	};

	vze_cs_words(cs, &copy, sizeof(copy) / 8);
}

void vze_cs_fill(struct vze_cs *cs, uint64_t dst, uint64_t size, const void *pattern,
		 uint32_t pattern_size)
{
	uint32_t words = (pattern_size + 7) / 8;
	uint64_t padded[VZE_HW_MAX_PATTERN / 8] = {};
	struct vze_hw_cmd_fill fill = {
		.cmd = { .opcode = VZE_HW_CMD_FILL, .len = sizeof(fill) / 8 + words },
		.dst = dst,
		.size = size,
		.pattern_size = pattern_size,
	};

	memcpy(padded, pattern, pattern_size);
	vze_cs_words(cs, &fill, sizeof(fill) / 8);
	vze_cs_words(cs, padded, words);
}

void vze_cs_region(struct vze_cs *cs, const struct vze_hw_cmd_copy_region *region)
{
	struct vze_hw_cmd_copy_region cmd = *region;

	cmd.cmd.opcode = VZE_HW_CMD_COPY_REGION;
	cmd.cmd.len = sizeof(cmd) / 8;
	vze_cs_words(cs, &cmd, sizeof(cmd) / 8);
}

static void emit_sem(struct vze_cs *cs, uint16_t opcode, uint32_t flags, uint64_t addr,
		     uint64_t value)
{
	struct vze_hw_cmd_sem sem = {
		.cmd = { .opcode = opcode, .len = sizeof(sem) / 8, .flags = flags },
		.addr = addr,
		.value = value,
	};

	vze_cs_words(cs, &sem, sizeof(sem) / 8);
}

void vze_cs_signal(struct vze_cs *cs, uint64_t addr, uint64_t value, uint32_t flags)
{
	emit_sem(cs, VZE_HW_CMD_SEM_SIGNAL, flags, addr, value);
}

void vze_cs_add(struct vze_cs *cs, uint64_t addr, uint64_t value, uint32_t flags)
{
	emit_sem(cs, VZE_HW_CMD_ATOMIC_ADD, flags, addr, value);
}

void vze_cs_wait(struct vze_cs *cs, uint64_t addr, uint32_t op, uint64_t value)
{
	emit_sem(cs, VZE_HW_CMD_SEM_WAIT, VZE_HW_CMD_WAIT_OP(op), addr, value);
}

void vze_cs_timestamp(struct vze_cs *cs, uint64_t addr, uint32_t flags)
{
	struct vze_hw_cmd_timestamp stamp = {
		.cmd = { .opcode = VZE_HW_CMD_TIMESTAMP, .len = sizeof(stamp) / 8, .flags = flags },
		.addr = addr,
	};

	vze_cs_words(cs, &stamp, sizeof(stamp) / 8);
}

int vze_exec(int fd, uint32_t queue, const struct vze_cs *cs, const struct drm_vze_sync *syncs,
	     uint32_t num_syncs, uint64_t *seqno)
{
	struct drm_vze_batch batch = {
		.addr = cs ? cs->va : 0,
		.size = cs ? cs->used * 8 : 0,
	};
	struct drm_vze_exec args = {
		.queue_id = queue,
		.num_batches = cs ? 1 : 0,
		.num_syncs = num_syncs,
		.batches = cs ? (uintptr_t)&batch : 0,
		.syncs = (uintptr_t)syncs,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_EXEC, &args);

	if (!ret && seqno)
		*seqno = args.seqno;
	return ret;
}

int vze_submit(int fd, uint32_t queue, const struct vze_cs *cs, uint32_t syncobj)
{
	struct drm_vze_sync sync = {
		.flags = DRM_VZE_SYNC_SIGNAL,
		.handle = syncobj,
	};

	return vze_exec(fd, queue, cs, &sync, 1, NULL);
}

int vze_run(int fd, uint32_t queue, const struct vze_cs *cs)
{
	uint32_t syncobj;
	int ret = vze_syncobj_create(fd, false, &syncobj);

	if (ret)
		return ret;
	ret = vze_submit(fd, queue, cs, syncobj);
	if (!ret)
		ret = vze_syncobj_wait(fd, syncobj, VZE_WAIT_MS);
	if (!ret) {
		ret = vze_syncobj_status(fd, syncobj);
		/* Waited for and still not signalled: no error of the job says this. */
		ret = ret == 1 ? 0 : ret == 0 ? -EBUSY : ret;
	}
	vze_syncobj_destroy(fd, syncobj);
	return ret;
}

int vze_gpu_copy(struct vze_gpu *gpu, uint64_t dst, uint64_t src, uint64_t size)
{
	vze_cs_reset(&gpu->cs);
	vze_cs_copy(&gpu->cs, dst, src, size);
	return vze_run(gpu->fd, gpu->queue, &gpu->cs);
}

int vze_gpu_fill(struct vze_gpu *gpu, uint64_t dst, uint64_t size, uint64_t value)
{
	vze_cs_reset(&gpu->cs);
	vze_cs_fill(&gpu->cs, dst, size, &value, sizeof(value));
	return vze_run(gpu->fd, gpu->queue, &gpu->cs);
}

static uint64_t pattern_word(uint64_t position, uint64_t seed)
{
	/* Odd multipliers: no two positions of a test share a word. */
	return (position + 1) * 0x9e3779b97f4a7c15ULL ^ seed * 0xc2b2ae3d27d4eb4fULL;
}

void vze_pattern_fill(void *mem, size_t size, uint64_t seed)
{
	uint64_t *word = mem;
	size_t i;

	for (i = 0; i < size / 8; i++)
		word[i] = pattern_word(i, seed);
}

ssize_t vze_pattern_check(const void *mem, size_t size, uint64_t seed)
{
	const volatile uint64_t *word = mem;
	size_t i;

	for (i = 0; i < size / 8; i++)
		if (word[i] != pattern_word(i, seed))
			return i * 8;
	return -1;
}

ssize_t vze_words_check(const void *mem, size_t size, uint64_t value)
{
	const volatile uint64_t *word = mem;
	size_t i;

	for (i = 0; i < size / 8; i++)
		if (word[i] != value)
			return i * 8;
	return -1;
}

void *vze_anon(size_t size, size_t align)
{
	char *raw, *mem;

	raw = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw == MAP_FAILED)
		return NULL;
	mem = (char *)(((uintptr_t)raw + align - 1) & ~(uintptr_t)(align - 1));
	if (mem > raw)
		munmap(raw, mem - raw);
	if (raw + align > mem)
		munmap(mem + size, raw + align - mem);
	return mem;
}

int vze_memfd(size_t size)
{
	int fd = memfd_create("vze", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, size)) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	return fd;
}

void *vze_alias(int memfd, size_t memfd_size, size_t size)
{
	char *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t done;

	if (base == MAP_FAILED)
		return MAP_FAILED;
	for (done = 0; done < size; done += memfd_size) {
		size_t piece = size - done < memfd_size ? size - done : memfd_size;

		if (mmap(base + done, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd,
			 0) == MAP_FAILED) {
			int error = errno;

			munmap(base, size);
			errno = error;
			return MAP_FAILED;
		}
	}
	return base;
}

static sigjmp_buf touch_failed;

static void on_bad_touch(int sig)
{
	siglongjmp(touch_failed, sig);
}

/* Only for a process with one thread that touches: the way back is in one place. */
static int touch(volatile uint64_t *word, uint64_t *value, bool store)
{
	struct sigaction action = { .sa_handler = on_bad_touch }, bus, segv;
	int sig;

	sigaction(SIGBUS, &action, &bus);
	sigaction(SIGSEGV, &action, &segv);
	sig = sigsetjmp(touch_failed, 1);
	if (!sig) {
		if (store)
			*word = *value;
		else
			*value = *word;
	}
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	return -sig;
}

int vze_peek(const volatile void *addr, uint64_t *value)
{
	return touch((volatile uint64_t *)addr, value, false);
}

int vze_poke(volatile void *addr, uint64_t value)
{
	return touch(addr, &value, true);
}

int vze_count_vmas(const void *start, size_t size)
{
	unsigned long first = (unsigned long)start, from, to;
	char line[512];
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from < first + size && to > first)
			count++;
	fclose(maps);
	return count;
}
