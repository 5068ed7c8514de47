// SPDX-License-Identifier: MIT
/* The runner of failure injection, and what its forms share. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail_nth.h"

/* No call has as many points; more means that it has no end. */
#define MAX_NTH		2000
#define LAST_POINTS	4
#define OUT_SIZE	SZ_64K
#define MAX_FDS		256
/* Handles and ids are the lowest that are free: more are not looked for. */
#define MAX_IDS		48

static struct vze_fail fail;
static bool fd_before[MAX_FDS];

/* What the call under test has asked for, by the number of the ioctl. */
static unsigned int asked;
static bool has_result;
/* Copies from and to user space that it made after the failure. */
static unsigned int copies_since;

/* ----------------------------------------------------------------- forms -- */

const char *vze_fail_why(struct vze_fail *f, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(f->why, sizeof(f->why), format, list);
	va_end(list);
	return f->why;
}

static void *keep_map(struct vze_fail *f, void *at, size_t size)
{
	if (at == MAP_FAILED || !at || f->num_maps == VZE_FAIL_MAX_MAPS)
		return NULL;
	f->maps[f->num_maps].at = at;
	f->maps[f->num_maps++].size = size;
	return at;
}

void *vze_fail_map(struct vze_fail *f, uint32_t handle, size_t size)
{
	return keep_map(f, vze_gem_mmap(f->gpu.fd, handle, size, PROT_READ | PROT_WRITE), size);
}

void *vze_fail_anon(struct vze_fail *f, size_t size, size_t align)
{
	return keep_map(f, vze_anon(size, align), size);
}

static const char *probe_hole(struct vze_fail *f, uint64_t va)
{
	int ret = vze_gpu_copy(&f->gpu, VZE_FAIL_OUT, va, 8);

	if (ret != -EFAULT)
		return vze_fail_why(f, "reading at %#llx gives %d, not a fault",
				    (unsigned long long)va, ret);
	ret = vze_gpu_new_queue(&f->gpu);
	return ret ? vze_fail_why(f, "no new queue: %d", ret) : NULL;
}

const char *vze_fail_probe(struct vze_fail *f, const struct vze_fail_probe *probes,
			   unsigned int num)
{
	const char *why = NULL;
	unsigned int i;
	int ret;

	vze_cs_reset(&f->gpu.cs);
	for (i = 0; i < num; i++) {
		f->out[i] = ~0ULL;
		if (probes[i].word != VZE_FAIL_HOLE)
			vze_cs_copy(&f->gpu.cs, VZE_FAIL_OUT + i * 8, probes[i].va, 8);
	}
	if (f->gpu.cs.used) {
		ret = vze_run(f->gpu.fd, f->gpu.queue, &f->gpu.cs);
		if (ret)
			return vze_fail_why(f, "reading what is mapped: %d", ret);
	}
	for (i = 0; !why && i < num; i++) {
		if (probes[i].word == VZE_FAIL_HOLE)
			why = probe_hole(f, probes[i].va);
		else if (f->out[i] != probes[i].word)
			why = vze_fail_why(f, "at %#llx is %#llx, not %#llx",
					   (unsigned long long)probes[i].va,
					   (unsigned long long)f->out[i],
					   (unsigned long long)probes[i].word);
	}
	return why;
}

void *vze_fail_fresh_map(int fd, size_t size, int prot, uint64_t offset)
{
	void *at = mmap(VZE_FAIL_FRESH, size, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

int vze_fail_kernel_reads(struct vze_fail *f, const void *addr, uint64_t value)
{
	return vze_fence_wait(f->gpu.fd, addr, VZE_HW_WAIT_EQ, value, 0, 0);
}

/* ----------------------------------------------------------------- state -- */

static void state_add(struct vze_figures *state, const char *name, unsigned long long value)
{
	if (state->count == VZE_MAX_FIGURES)
		return;
	snprintf(state->entry[state->count].name, sizeof(state->entry[0].name), "%s", name);
	state->entry[state->count++].value = value;
}

static int count_fds(void)
{
	int fd, count = 0;

	for (fd = 0; fd < MAX_FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Everything that a call may leave behind, of the device and of the process. */
static int state_read(struct vze_fail *f, struct vze_figures *state)
{
	struct drm_vze_vm_info info, sum = {};
	unsigned int handles = 0, vms = 0, queues = 0, id;
	struct drm_vze_query_memory memory;
	uint32_t size = sizeof(memory);
	struct drm_vze_queue_state queue;
	struct drm_vze_gem_info object;
	int ret;

	ret = vze_figures_read(&f->gpu, "vze_counts", state);
	if (!ret)
		ret = vze_query(f->gpu.fd, DRM_VZE_QUERY_MEMORY, &memory, &size);
	if (ret)
		return ret;
	for (id = 1; id < MAX_IDS; id++) {
		handles += !vze_gem_info(f->gpu.fd, id, &object);
		queues += !vze_queue_state(f->gpu.fd, id, &queue);
		if (vze_vm_info(f->gpu.fd, id, &info))
			continue;
		vms++;
		sum.mappings += info.mappings;
		sum.pte_4k += info.pte_4k;
		sum.pte_2m += info.pte_2m;
		sum.pt_pages += info.pt_pages;
	}
	state_add(state, "handles of the file", handles);
	state_add(state, "VMs of the file", vms);
	state_add(state, "queues of the file", queues);
	state_add(state, "mappings of the file", sum.mappings);
	state_add(state, "4K leaves of the file", sum.pte_4k);
	state_add(state, "2M leaves of the file", sum.pte_2m);
	state_add(state, "tables of the file", sum.pt_pages);
	state_add(state, "free VRAM", memory.vram_free);
	state_add(state, "open files", count_fds());
	state_add(state, "pinned bytes", vze_vmpin());
	if (f->other.fd >= 0)
		state_add(state, "objects of device 1",
			  vze_figure(&f->other, "vze_counts", "objects"));
	return 0;
}

static const char *state_compare(struct vze_fail *f, const struct vze_figures *then)
{
	struct vze_figures now;
	int i, ret;

	ret = state_read(f, &now);
	if (ret)
		return vze_fail_why(f, "the state cannot be read: %d", ret);
	for (i = 0; i < then->count; i++)
		if (now.entry[i].value != then->entry[i].value)
			return vze_fail_why(f, "%s: %llu, was %llu", then->entry[i].name,
					    now.entry[i].value, then->entry[i].value);
	return NULL;
}

/* Releases that workers carry out may take a while. */
static const char *state_await(struct vze_fail *f, const struct vze_figures *then)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS / 3;
	const char *why;

	while ((why = state_compare(f, then)) && vze_now_ms() < end)
		vze_sleep_ms(10);
	return why;
}

/* The state when nothing is under way any more. */
static int state_settle(struct vze_fail *f, struct vze_figures *state)
{
	int ret;

	do {
		ret = state_read(f, state);
		if (ret)
			return ret;
		vze_sleep_ms(50);
	} while (state_compare(f, state));
	return 0;
}

/* --------------------------------------------------------------- session -- */

static const char *session_open(struct vze_fail *f, const struct vze_fail_form *form)
{
	uint32_t handle;
	int ret;

	memset(f, 0, sizeof(*f));
	f->fd2 = -1;
	f->buf = -1;
	f->other.fd = -1;
	ret = vze_gpu_open(&f->gpu, 0);
	if (!ret)
		ret = vze_gpu_start(&f->gpu);
	if (!ret)
		ret = vze_gem_create(f->gpu.fd, OUT_SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle);
	if (!ret)
		f->out = vze_fail_map(f, handle, OUT_SIZE);
	if (!ret && !f->out)
		ret = -errno;
	if (!ret)
		ret = vze_map(f->gpu.fd, f->gpu.vm, handle, 0, OUT_SIZE, VZE_FAIL_OUT, 0);
	if (!ret && form->setup)
		ret = form->setup(f);
	return ret ? vze_fail_why(f, "setting up: %d", ret) : NULL;
}

static const char *session_close(struct vze_fail *f)
{
	const char *leaks;
	unsigned int i;
	int fd;

	for (i = 0; i < f->num_maps; i++)
		munmap(f->maps[i].at, f->maps[i].size);
	if (f->map_size)
		munmap(f->map, f->map_size);
	munmap(VZE_FAIL_FRESH, SZ_2M);
	if (f->cs.base)
		munmap(f->cs.base, f->cs.size * 8ULL);
	if (f->other.fd >= 0)
		vze_gpu_close(&f->other);
	vze_gpu_close(&f->gpu);
	for (fd = 0; fd < MAX_FDS; fd++)
		if (!fd_before[fd])
			close(fd);
	leaks = vze_gpu_leaks(&f->gpu);
	return *leaks ? vze_fail_why(f, "after the file was closed: %s", leaks) : NULL;
}

/* ---------------------------------------------------------------- calling -- */

static int watched_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned int nr = _IOC_NR(request);

	if (nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END && _IOC_TYPE(request) == DRM_IOCTL_BASE)
		asked = nr - DRM_COMMAND_BASE;
	has_result = _IOC_DIR(request) & _IOC_READ;
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int call(struct vze_fail *f, const struct vze_fail_form *form)
{
	int ret;

	asked = VZE_FAIL_CORE;
	has_result = false;
	vze_ioctl_entry = watched_ioctl;
	ret = form->call(f);
	vze_ioctl_entry = NULL;
	return ret;
}

/* Returns the kind of failure, or -errno; what the call returned is in @result. */
static int call_injected(struct vze_fail *f, const struct vze_fail_form *form, unsigned int n,
			 int *result)
{
	int ret = vze_inject_arm(n);

	*result = 0;
	if (ret)
		return ret;
	*result = call(f, form);
	return vze_inject_disarm(&copies_since);
}

static const char *prepare(struct vze_fail *f, const struct vze_fail_form *form)
{
	int ret = form->before ? form->before(f) : 0;

	return ret ? vze_fail_why(f, "before the call: %d", ret) : NULL;
}

/* The call returned @ret with nothing failing, or in spite of it. */
static const char *finish(struct vze_fail *f, const struct vze_fail_form *form, int ret)
{
	const char *why;

	if (ret)
		return vze_fail_why(f, "the call without a failure returned %d", ret);
	why = form->done ? form->done(f) : NULL;
	if (why)
		return why;
	ret = form->after ? form->after(f) : 0;
	return ret ? vze_fail_why(f, "after the call: %d", ret) : NULL;
}

static const char *still_the_same(struct vze_fail *f, const struct vze_fail_form *form,
				  const struct vze_figures *state, bool patient)
{
	const char *why = patient ? state_await(f, state) : state_compare(f, state);

	return why || !form->unchanged ? why : form->unchanged(f);
}

/* A new file, on which the call has worked once: what is made only once is there. */
static const char *start(struct vze_fail *f, const struct vze_fail_form *form)
{
	const char *why = session_open(f, form);

	if (!why)
		why = prepare(f, form);
	return why ? why : finish(f, form, call(f, form));
}

static const char *restart(struct vze_fail *f, const struct vze_fail_form *form)
{
	const char *why = session_close(f);

	return why ? why : start(f, form);
}

/*
 * The DRM core copies the ioctl's structure back when the driver is through, and no driver can
 * undo its work if that copy fails. It is the last copy of every ioctl that has come as far
 * as the driver, whatever the driver returned: after a failed copy of the driver's own there is one
 * more, after this one there is none.
 *
 * Is the failed call over? Yes if it was that copy and has left something: what the process
 * got but never was told of goes with its file. @why: what is wrong with that, or NULL.
 */
static bool settle_copy_of_core(struct vze_fail *f, const struct vze_fail_form *form,
				const struct vze_figures *state, const char **why)
{
	*why = NULL;
	if (!has_result || copies_since || !still_the_same(f, form, state, false))
		return false;
	*why = restart(f, form);
	return true;
}

/* One value of n. Returns what is wrong; *@hit: the call was not through before the n-th point. */
static const char *step(struct vze_fail *f, const struct vze_fail_form *form, unsigned int n,
			struct vze_figures *state, bool *settled, bool *hit,
			struct vze_fail_stats *stats)
{
	int result, kind, expected;
	const char *why;

	why = prepare(f, form);
	if (why)
		return why;
	if (*settled && !form->grows) {
		why = state_await(f, state);
	} else {
		kind = state_settle(f, state);
		why = kind ? vze_fail_why(f, "the state cannot be read: %d", kind) : NULL;
		*settled = true;
	}
	if (why)
		return why;

	kind = call_injected(f, form, n, &result);
	if (kind < 0)
		return vze_fail_why(f, "injecting: %d", kind);
	*hit = kind != VZE_FAIL_NONE;
	if (!*hit)
		return finish(f, form, result);
	if (!result) {
		stats->worked++;
		return finish(f, form, 0);
	}

	expected = kind == VZE_FAIL_COPY ? -EFAULT : form->error ? form->error : -ENOMEM;
	if (result != expected)
		return vze_fail_why(f, "the result is %d, not %d", result, expected);
	if (kind == VZE_FAIL_COPY && settle_copy_of_core(f, form, state, &why)) {
		stats->core++;
		*settled = false;
		return why;
	}
	why = still_the_same(f, form, state, true);
	if (why)
		return why;
	stats->failed++;
	/* And the next one works. */
	return finish(f, form, call(f, form));
}

static const char *run(struct vze_fail *f, const struct vze_fail_form *form, unsigned int nr,
		       struct vze_fail_stats *stats, unsigned int *n)
{
	struct vze_figures state;
	bool settled = false, hit = true, ended = false;
	const char *why;

	why = start(f, form);
	if (!why && asked != nr)
		why = vze_fail_why(f, "the form makes ioctl %#x, not %#x", asked, nr);
	if (why)
		return why;
	for (*n = 1; !ended || hit; (*n)++) {
		if (*n > MAX_NTH)
			return vze_fail_why(f, "no end");
		why = step(f, form, *n, &state, &settled, &hit, stats);
		if (why)
			return why;
		/*
		 * A slab that needs a new page moves the points by one. At the end that can hide
		 * the last ones, so they get a second chance.
		 */
		if (!hit && !ended) {
			ended = true;
			hit = true;
			*n -= *n > LAST_POINTS ? LAST_POINTS : *n;
		}
	}
	return session_close(f);
}

/* The DRM core refuses an unknown number before it reads the argument. */
static bool module_knows(int fd, unsigned int nr)
{
	return nr == VZE_FAIL_CORE ||
	       vze_ioctl(fd, DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t), (void *)8) == -EFAULT;
}

const char *vze_fail_cannot(const struct vze_fail_form *form, unsigned int nr, int fd)
{
	const char *reason = form->gpus ? vze_cannot_run(form->gpus) : NULL;

	if (!reason && !(module_knows(fd, nr) && (!form->needs || module_knows(fd, form->needs))))
		reason = "the module does not know the ioctl";
	return reason;
}

const char *vze_fail_run(const struct vze_fail_form *form, unsigned int nr,
			 struct vze_fail_stats *stats)
{
	static char text[320];
	const char *why;
	unsigned int n = 0;
	int fd, ret;

	for (fd = 0; fd < MAX_FDS; fd++)
		fd_before[fd] = fcntl(fd, F_GETFD) >= 0;
	ret = vze_inject_begin();
	if (ret) {
		snprintf(text, sizeof(text), "the attributes of failure injection: %d", ret);
		return text;
	}
	/* Its descriptor stays when the others are closed. */
	for (fd = 0; fd < MAX_FDS; fd++)
		fd_before[fd] |= fcntl(fd, F_GETFD) >= 0;
	text[0] = 0;
	why = run(&fail, form, nr, stats, &n);
	if (why)
		snprintf(text, sizeof(text), "n = %u: %s", n, why);
	vze_inject_end();
	return text;
}
