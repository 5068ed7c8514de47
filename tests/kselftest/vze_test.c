// SPDX-License-Identifier: MIT
/* Devices, figures and processes of the vze selftests. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vze_test.h"

#define FIRST_RENDER	128
#define LAST_RENDER	191

static int open_node(unsigned int index, char *node, size_t size)
{
	unsigned int minor, found = 0;

	for (minor = FIRST_RENDER; minor <= LAST_RENDER; minor++) {
		char name[16] = "";
		struct drm_version version = {
			.name = name,
			.name_len = sizeof(name) - 1,
		};
		int fd;

		snprintf(node, size, "/dev/dri/renderD%u", minor);
		fd = open(node, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, VZE_DRIVER_NAME) &&
		    found++ == index)
			return fd;
		close(fd);
	}
	return -ENODEV;
}

unsigned int vze_num_gpus(void)
{
	unsigned int count = 0;
	char node[32];
	int fd;

	while ((fd = open_node(count, node, sizeof(node))) >= 0) {
		close(fd);
		count++;
	}
	return count;
}

static char cannot_run[128];

const char *vze_cannot_run(unsigned int gpus)
{
	unsigned int found = vze_num_gpus();

	if (geteuid()) {
		snprintf(cannot_run, sizeof(cannot_run), "must run as root");
	} else if (!found) {
		snprintf(cannot_run, sizeof(cannot_run), "no render node of the vze module");
	} else if (found < gpus) {
		snprintf(cannot_run, sizeof(cannot_run), "needs %u devices, found %u", gpus, found);
	} else {
		return NULL;
	}
	return cannot_run;
}

static int find_debugfs(struct vze_gpu *gpu)
{
	const char *minor = gpu->node + strlen("/dev/dri/renderD");
	const char *names[] = { minor, gpu->pci };
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(gpu->debugfs, sizeof(gpu->debugfs), "/sys/kernel/debug/dri/%s", names[i]);
		snprintf(path, sizeof(path), "%s/vze_counts", gpu->debugfs);
		if (!access(path, R_OK))
			return 0;
	}
	return -ENOENT;
}

static int find_pci(struct vze_gpu *gpu)
{
	char link[64], target[256];
	struct stat st;
	ssize_t len;

	if (fstat(gpu->fd, &st))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = 0;
	snprintf(gpu->pci, sizeof(gpu->pci), "%s", strrchr(target, '/') + 1);
	return 0;
}

int vze_gpu_open(struct vze_gpu *gpu, unsigned int index)
{
	int ret;

	memset(gpu, 0, sizeof(*gpu));
	gpu->index = index;
	gpu->fd = open_node(index, gpu->node, sizeof(gpu->node));
	if (gpu->fd < 0)
		return gpu->fd;
	ret = find_pci(gpu);
	if (!ret)
		ret = find_debugfs(gpu);
	if (!ret)
		ret = vze_figures_read(gpu, "vze_counts", &gpu->before);
	if (ret) {
		close(gpu->fd);
		return ret;
	}
	gpu->stale_before = vze_figure(gpu, "vze_hw_counters", "stale_uses");
	return 0;
}

int vze_gpu_reopen(const struct vze_gpu *gpu)
{
	int fd = open(gpu->node, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int vze_gpu_start(struct vze_gpu *gpu)
{
	int ret = vze_vm_create(gpu->fd, &gpu->vm);

	if (!ret)
		ret = vze_queue_create(gpu->fd, gpu->vm, &gpu->queue);
	if (!ret)
		ret = vze_cs_create(gpu, &gpu->cs, VZE_VA_CS, SZ_1M);
	return ret;
}

int vze_gpu_new_queue(struct vze_gpu *gpu)
{
	int ret = vze_queue_destroy(gpu->fd, gpu->queue);

	return ret ? ret : vze_queue_create(gpu->fd, gpu->vm, &gpu->queue);
}

void vze_gpu_close(struct vze_gpu *gpu)
{
	if (gpu->queue)
		vze_queue_destroy(gpu->fd, gpu->queue);
	if (gpu->cs.handle)
		vze_cs_destroy(gpu, &gpu->cs);
	if (gpu->vm)
		vze_vm_destroy(gpu->fd, gpu->vm);
	close(gpu->fd);
	gpu->fd = -1;
}

int vze_figures_read(const struct vze_gpu *gpu, const char *file, struct vze_figures *figures)
{
	char path[128], line[128];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", gpu->debugfs, file);
	in = fopen(path, "re");
	if (!in)
		return -errno;
	figures->count = 0;
	while (figures->count < VZE_MAX_FIGURES && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%31s %llu", figures->entry[figures->count].name,
			   &figures->entry[figures->count].value) == 2)
			figures->count++;
	}
	fclose(in);
	return figures->count ? 0 : -ENODATA;
}

unsigned long long vze_figure(const struct vze_gpu *gpu, const char *file, const char *name)
{
	struct vze_figures figures;
	int i;

	if (vze_figures_read(gpu, file, &figures))
		return ~0ULL;
	for (i = 0; i < figures.count; i++)
		if (!strcmp(figures.entry[i].name, name))
			return figures.entry[i].value;
	return ~0ULL;
}

unsigned long long vze_figure_wait(const struct vze_gpu *gpu, const char *file, const char *name,
				   unsigned long long value)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;
	unsigned long long seen;

	while ((seen = vze_figure(gpu, file, name)) != value && vze_now_ms() < end)
		vze_sleep_ms(10);
	return seen;
}

/* Appends what @now has beyond @before; returns whether there is anything. */
static bool compare(struct vze_gpu *gpu, const struct vze_figures *now)
{
	size_t used = 0;
	int i;

	gpu->leaks[0] = 0;
	for (i = 0; i < now->count; i++) {
		if (i < gpu->before.count && now->entry[i].value == gpu->before.entry[i].value)
			continue;
		used += snprintf(gpu->leaks + used, sizeof(gpu->leaks) - used, "%s%s %llu (was %llu)",
				 used ? ", " : "", now->entry[i].name, now->entry[i].value,
				 gpu->before.entry[i].value);
		if (used >= sizeof(gpu->leaks))
			break;
	}
	return used;
}

const char *vze_gpu_leaks(struct vze_gpu *gpu)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS / 2;
	unsigned long long stale;
	struct vze_figures now;

	do {
		if (vze_figures_read(gpu, "vze_counts", &now)) {
			snprintf(gpu->leaks, sizeof(gpu->leaks), "vze_counts cannot be read");
			return gpu->leaks;
		}
		if (!compare(gpu, &now))
			break;
		vze_sleep_ms(20);
	} while (vze_now_ms() < end);

	stale = vze_figure(gpu, "vze_hw_counters", "stale_uses");
	if (!gpu->leaks[0] && stale != gpu->stale_before)
		snprintf(gpu->leaks, sizeof(gpu->leaks), "stale_uses %llu (was %llu)", stale,
			 gpu->stale_before);
	return gpu->leaks;
}

long vze_param_get(const char *name)
{
	char path[128], text[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/vze/parameters/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -EIO;
	text[len] = 0;
	if (text[0] == 'Y' || text[0] == 'N')
		return text[0] == 'Y';
	return strtol(text, NULL, 10);
}

int vze_param_set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/vze/parameters/%s", name);
	return vze_write_file(path, value);
}

int vze_param_set_number(const char *name, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return vze_param_set(name, text);
}

int vze_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

long vze_vmpin_of(pid_t pid)
{
	char path[64], line[256];
	long kib = -ENODATA;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	in = fopen(path, "re");
	if (!in)
		return -errno;
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "VmPin: %ld kB", &kib) == 1)
			break;
	fclose(in);
	return kib < 0 ? kib : kib * 1024;
}

long vze_vmpin(void)
{
	return vze_vmpin_of(getpid());
}

int vze_in_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid;

	/* The child must not write what the parent has buffered. */
	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (pid < 0)
		return 255;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg) & 0xff);
	}
	return vze_reap(pid);
}

int vze_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int vze_become_nobody(void)
{
	const unsigned int nobody = 65534;

	if (setgroups(0, NULL) || setresgid(nobody, nobody, nobody) ||
	    setresuid(nobody, nobody, nobody))
		return -errno;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t vze_now_ms(void)
{
	return now_ns() / 1000000;
}

void vze_sleep_ms(unsigned int ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

bool vze_kernel_is_checked(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

unsigned int vze_rounds(unsigned int rounds)
{
	return vze_kernel_is_checked() ? (rounds + 7) / 8 : rounds;
}

int64_t vze_deadline(unsigned int ms)
{
	return now_ns() + ms * 1000000LL;
}

void vze_log_test(const char *fixture, const char *name)
{
	FILE *log = fopen("/dev/kmsg", "w");

	if (!log)
		return;
	fprintf(log, "vze-test: %s %s.%s\n", program_invocation_short_name, fixture, name);
	fclose(log);
}
