// SPDX-License-Identifier: MIT
/* Failure injection of the kernel: /proc/thread-self/fail-nth and the fault attributes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail_nth.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define MAKE_IT_FAIL	"/proc/thread-self/make-it-fail"
/* More than a test injects; an attribute counts it down by one with each failure. */
#define TIMES		"1000000000"

/*
 * What the attributes need. By default allocations that may sleep, and pages of a large
 * order or of order 0, are left alone. Reports stay out of the kernel log, where their call
 * traces would look like bugs.
 */
static struct {
	const char *path;
	const char *value;
	char old[32];
} settings[] = {
	{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ DEBUGFS "fail_page_alloc/min-order", "0" },
	{ DEBUGFS "failslab/verbose", "0" },
	{ DEBUGFS "fail_page_alloc/verbose", "0" },
	{ DEBUGFS "fail_usercopy/verbose", "0" },
	/* Copies of this task use up the space by one each; none fails while there is some. */
	{ DEBUGFS "fail_usercopy/task-filter", "Y" },
	{ DEBUGFS "fail_usercopy/probability", "100" },
	{ DEBUGFS "fail_usercopy/space", TIMES },
	/* Those that say which kind failed, in the order of enum vze_fail_kind. */
	{ DEBUGFS "failslab/times", TIMES },
	{ DEBUGFS "fail_page_alloc/times", TIMES },
	{ DEBUGFS "fail_usercopy/times", TIMES },
};

#define NUM_KINDS	3
#define FIRST_TIMES	(ARRAY_LEN(settings) - NUM_KINDS)
#define SPACE		(FIRST_TIMES - 1)

static int nth = -1;
static long times_left[NUM_KINDS];
/* Space before a call, and how much of it reading and writing here take. */
static long space_before, space_own;

const char *vze_fail_unavailable(void)
{
	static char missing[96];
	unsigned int i;

	if (access(FAIL_NTH, W_OK))
		return "the kernel has no " FAIL_NTH " (CONFIG_FAULT_INJECTION)";
	for (i = 0; i < ARRAY_LEN(settings); i++) {
		if (!access(settings[i].path, R_OK | W_OK))
			continue;
		snprintf(missing, sizeof(missing), "the kernel has no %s", settings[i].path);
		return missing;
	}
	return NULL;
}

static int read_setting(unsigned int i, char *text, size_t size)
{
	int fd = open(settings[i].path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	close(fd);
	if (len <= 0)
		return -EIO;
	text[len] = 0;
	return 0;
}

static int read_number(unsigned int i, long *number)
{
	char text[32];
	int ret = read_setting(i, text, sizeof(text));

	if (!ret)
		*number = strtol(text, NULL, 10);
	return ret;
}

int vze_inject_begin(void)
{
	unsigned int copies = 0, i;
	int ret;

	for (i = 0; i < ARRAY_LEN(settings); i++) {
		ret = read_setting(i, settings[i].old, sizeof(settings[i].old));
		if (!ret)
			ret = vze_write_file(settings[i].path, settings[i].value);
		if (ret)
			return ret;
	}
	for (i = 0; i < NUM_KINDS; i++)
		times_left[i] = strtol(TIMES, NULL, 10);
	nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth < 0)
		return -errno;
	ret = vze_write_file(MAKE_IT_FAIL, "1");
	/*
	 * With nothing to fail and no call between, all that is used up is our own. The number is
	 * zero then without a failure, which is the error to be expected.
	 */
	space_own = 0;
	if (!ret)
		ret = vze_inject_arm(0);
	if (!ret)
		ret = vze_inject_disarm(&copies);
	space_own = copies;
	return ret == -EPROTO ? 0 : ret ? ret : -EPROTO;
}

void vze_inject_end(void)
{
	unsigned int i;

	close(nth);
	nth = -1;
	vze_write_file(MAKE_IT_FAIL, "0");
	for (i = 0; i < ARRAY_LEN(settings); i++)
		vze_write_file(settings[i].path, settings[i].old);
}

int vze_inject_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);
	int ret = read_number(SPACE, &space_before);

	if (ret)
		return ret;
	return pwrite(nth, text, len, 0) == len ? 0 : -errno;
}

static int kind_of_failure(void)
{
	int kind = VZE_FAIL_NONE, ret;
	unsigned int i;
	long left;

	for (i = 0; i < NUM_KINDS; i++) {
		ret = read_number(FIRST_TIMES + i, &left);
		if (ret)
			return ret;
		if (left != times_left[i])
			kind = VZE_FAIL_SLAB + i;
		times_left[i] = left;
	}
	return kind;
}

/*
 * Reading and writing the number are calls with copies, too, that count and can be the ones
 * to fail: then nothing has failed before.
 */
int vze_inject_disarm(unsigned int *copies)
{
	char text[16] = "";
	long space = 0;
	bool hit;
	ssize_t len;
	int kind;

	*copies = 0;
	len = pread(nth, text, sizeof(text) - 1, 0);
	if (len < 0 && errno != EFAULT)
		return -errno;
	hit = len > 0 && !strtoul(text, NULL, 10);
	while (pwrite(nth, "0", 1, 0) < 0) {
		if (errno != EFAULT)
			return -errno;
	}
	kind = read_number(SPACE, &space);
	if (!kind)
		kind = kind_of_failure();
	if (!hit || kind < 0)
		return kind < 0 ? kind : VZE_FAIL_NONE;
	*copies = space_before - space - space_own;
	/* The number is zero, so one of the three has failed. */
	return kind == VZE_FAIL_NONE ? -EPROTO : kind;
}
