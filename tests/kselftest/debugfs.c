// SPDX-License-Identifier: MIT
/* Seeing inside: debugfs names what lives, a fault leaves a device coredump. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(inside) {
	struct vze_gpu gpu;
	uint32_t vram, queue2;
	struct drm_vze_share_create share;
	char text[65536];
};

FIXTURE_SETUP(inside)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, 2 * SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->vram, SZ_2M, SZ_2M, VZE_VA,
			     DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, vze_share_create(gpu->fd, self->vram, 0, &self->share));
}

FIXTURE_TEARDOWN(inside)
{
	VZE_TEARDOWN(&self->gpu);
}

static int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t len;

	if (fd < 0)
		return -errno;
	while (used < size - 1 && (len = read(fd, text + used, size - 1 - used)) > 0)
		used += len;
	text[used] = 0;
	close(fd);
	return used;
}

/* Whether a file of the device's debugfs folder holds the text. */
static bool holds(FIXTURE_DATA(inside) *self, const char *file, const char *format, ...)
{
	char path[128], expected[128];
	va_list args;

	va_start(args, format);
	vsnprintf(expected, sizeof(expected), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/%s", self->gpu.debugfs, file);
	return read_text(path, self->text, sizeof(self->text)) > 0 &&
	       strstr(self->text, expected);
}

VZE_TEST(inside, files_name_what_lives)
{
	EXPECT_TRUE(holds(self, "vze_vms", "0x%012llx-0x%012llx", VZE_VA, VZE_VA + SZ_2M));
	EXPECT_TRUE(holds(self, "vze_vms", "0x%012llx-0x%012llx", VZE_VA_CS, VZE_VA_CS + SZ_1M));
	EXPECT_TRUE(holds(self, "vze_vms", "vram"));
	EXPECT_TRUE(holds(self, "vze_vms", "system"));
	EXPECT_TRUE(holds(self, "vze_queues", "idle"));
	EXPECT_TRUE(holds(self, "vze_vram", "size "));
	EXPECT_TRUE(holds(self, "vze_shares", "share %llu ",
			  (unsigned long long)self->share.token.id));
	/* What is secret stays so. */
	EXPECT_EQ(NULL, memmem(self->text, strlen(self->text), self->share.token.secret, 16));
	EXPECT_NE(~0ULL, vze_figure(&self->gpu, "vze_hw_counters", "jobs"));

	ASSERT_EQ(0, vze_share_put(self->gpu.fd, self->share.token.id));
	EXPECT_FALSE(holds(self, "vze_shares", "share %llu ",
			   (unsigned long long)self->share.token.id));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_2M));
	EXPECT_FALSE(holds(self, "vze_vms", "0x%012llx-0x%012llx", VZE_VA, VZE_VA + SZ_2M));
}

/* Who shares what, who has opened it, and what became of it. */
VZE_TEST(inside, shares)
{
	unsigned long long id = self->share.token.id;
	struct drm_vze_share_create read_only;
	int pid = getpid(), fd2 = vze_gpu_reopen(&self->gpu);
	uint32_t views[3];
	int i;

	ASSERT_LE(0, fd2);
	EXPECT_TRUE(holds(self, "vze_shares", "share %llu uid 0 pid %d (debugfs) live rw: %llu bytes",
			  id, pid, (unsigned long long)self->share.size));
	EXPECT_TRUE(holds(self, "vze_shares", "1 puts due, 0 views"));
	EXPECT_FALSE(holds(self, "vze_shares", "importer"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vze_share_open(fd2, &self->share.token, &views[i], NULL));
	EXPECT_TRUE(holds(self, "vze_shares", "  importer pid %d (debugfs): 3 views, %llu bytes\n",
			  pid, 3 * (unsigned long long)self->share.size));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->vram, DRM_VZE_SHARE_READONLY,
				      &read_only));
	EXPECT_TRUE(holds(self, "vze_shares", "share %llu uid 0 pid %d (debugfs) live r-: ",
			  (unsigned long long)read_only.token.id, pid));
	ASSERT_EQ(0, vze_share_put(self->gpu.fd, id));
	EXPECT_TRUE(holds(self, "vze_shares", "share %llu uid 0 pid %d (debugfs) put rw: ", id,
			  pid));
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->vram));
	EXPECT_TRUE(holds(self, "vze_shares", "share %llu uid 0 pid %d (debugfs) dead rw: ", id,
			  pid));
	EXPECT_FALSE(holds(self, "vze_shares", "share %llu ",
			   (unsigned long long)read_only.token.id));
	close(fd2);
	EXPECT_FALSE(holds(self, "vze_shares", "share %llu ", id));
}

VZE_TEST(inside, parked_queue)
{
	struct vze_cs cs = self->gpu.cs;

	vze_cs_wait(&cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &cs, NULL, 0, NULL));
	vze_sleep_ms(200);
	EXPECT_TRUE(holds(self, "vze_queues", "parked"));
}

/*
 * Looks for @expected in every coredump; writing to one makes the kernel drop it, a moment later.
 * Returns whether it was found, and in @seen how many dumps there were.
 */
static bool take_dumps(FIXTURE_DATA(inside) *self, const char *expected, int *seen)
{
	DIR *dir = opendir("/sys/class/devcoredump");
	struct dirent *entry;
	bool found = false;
	char path[320];

	*seen = 0;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "devcd", 5))
			continue;
		++*seen;
		snprintf(path, sizeof(path), "/sys/class/devcoredump/%s/data", entry->d_name);
		if (read_text(path, self->text, sizeof(self->text)) > 0 &&
		    strstr(self->text, expected))
			found = true;
		vze_write_file(path, "0");
	}
	if (dir)
		closedir(dir);
	return found;
}

VZE_TEST(inside, fault_leaves_a_coredump)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;
	bool found = false;
	int seen;

	if (access("/sys/class/devcoredump", F_OK))
		SKIP(return, "the kernel has no device coredumps");
	/* One at a time for each device: what an earlier test left would hide this one's. */
	for (take_dumps(self, "none", &seen); seen && vze_now_ms() < end;
	     take_dumps(self, "none", &seen))
		vze_sleep_ms(20);
	ASSERT_EQ(0, seen);
	vze_cs_plain(&self->gpu.cs, VZE_HW_CMD_NOP);
	vze_cs_fill(&self->gpu.cs, VZE_VA + SZ_2M + 0x123, 8, "x", 1);
	ASSERT_EQ(-EFAULT, vze_run(self->gpu.fd, self->gpu.queue, &self->gpu.cs));
	/* It is written after the fences. */
	while (!found && vze_now_ms() < end) {
		found = take_dumps(self, "va: 0x2000200123\n", &seen);
		if (!found)
			vze_sleep_ms(20);
	}
	EXPECT_TRUE(found);
	EXPECT_NE(NULL, strstr(self->text, "command: 1\n"));
	EXPECT_NE(NULL, strstr(self->text, "vze: fault\n"));
}

TEST_HARNESS_MAIN
