// SPDX-License-Identifier: MIT
/*
 * The device itself leaves while a file is open, memory is mapped and work is under way,
 * and another one takes its place. Not part of a run: it needs the host of scripts/vm,
 * which it asks by way of a port of the VM.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define PORT		"/run/port-ctl"
#define ANSWER_SIZE	64

/* QEMU's ACPI registers for PCI hotplug on the q35 machine. */
#define ACPI_EJECT	0xcc8
#define ACPI_SELECT	0xcd0

/* The device gives no sign of life for this long before the driver gives it up. */
#define HEARTBEAT_MS	"2000"

FIXTURE(hot_unplug) {
	struct vze_gpu gpu;
	char name[32];
	int host;
	long pinned, heartbeat_ms;
	uint32_t data, vram, user, syncobj, behind;
	uint64_t *word, *vram_map, *vm_map, *mem;
	pthread_t threads[2];
	long results[2];
};

/* Reads a line of the host: 0 or -errno. */
static int hear(int fd, char *line)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t used = 0;

	while (used < ANSWER_SIZE - 1) {
		if (poll(&poll_fd, 1, VZE_WAIT_MS) != 1)
			return -ETIMEDOUT;
		if (read(fd, line + used, 1) != 1)
			return -EIO;
		if (line[used] == '\n') {
			line[used] = '\0';
			return 0;
		}
		used++;
	}
	return -E2BIG;
}

static int say(int fd, const char *what, const char *name)
{
	char line[ANSWER_SIZE];
	int size = snprintf(line, sizeof(line), "%s %s\n", what, name);

	return write(fd, line, size) == size ? 0 : -EIO;
}

/* Asks for something that is answered at once. */
static int ask(int fd, const char *what, const char *name, char *answer)
{
	int ret = say(fd, what, name);

	return ret ? ret : hear(fd, answer);
}

/* Any device, once there is one again. */
static int wait_for_device(struct vze_gpu *gpu)
{
	uint64_t end = vze_now_ms() + VZE_WAIT_MS;

	do {
		if (vze_num_gpus() && !vze_gpu_open(gpu, 0))
			return 0;
		vze_sleep_ms(20);
	} while (vze_now_ms() < end);
	return -ENODEV;
}

FIXTURE_SETUP(hot_unplug)
{
	struct vze_gpu *gpu = &self->gpu;
	struct drm_vze_query_device device;
	uint32_t size = sizeof(device);

	self->host = open(PORT, O_RDWR | O_CLOEXEC);
	if (self->host < 0)
		SKIP(return, "no host to ask at " PORT);
	VZE_SETUP(gpu);
	ASSERT_EQ(1, vze_num_gpus());
	ASSERT_EQ(0, vze_query(gpu->fd, DRM_VZE_QUERY_DEVICE, &device, &size));
	snprintf(self->name, sizeof(self->name), "%s", (const char *)device.name);
	self->heartbeat_ms = vze_param_get("heartbeat_timeout_ms");
	ASSERT_LT(0, self->heartbeat_ms);

	self->pinned = vze_vmpin();
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->data));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &self->vram));
	self->word = vze_gem_mmap(gpu->fd, self->data, SZ_64K, PROT_READ | PROT_WRITE);
	self->vram_map = vze_gem_mmap(gpu->fd, self->vram, SZ_2M, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->word);
	ASSERT_NE(MAP_FAILED, self->vram_map);
	self->mem = vze_anon(SZ_1M, SZ_4K);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, vze_userptr(gpu->fd, self->mem, SZ_1M, 0, &self->user));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->data, 0, SZ_64K, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->user, 0, SZ_1M, VZE_VA + SZ_1G, 0));
	self->vm_map = mmap(NULL, SZ_2M, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->vm_map);
	ASSERT_EQ(0, vze_map(gpu->fd, gpu->vm, self->vram, 0, SZ_2M, (uintptr_t)self->vm_map, 0));
	ASSERT_EQ(self->vm_map, mmap(self->vm_map, SZ_2M, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED, gpu->fd,
				     DRM_VZE_VM_MMAP_OFFSET(gpu->vm, (uintptr_t)self->vm_map)));
	self->vm_map[0] = 0x77;
	ASSERT_EQ(0x77, self->vram_map[0]);
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->syncobj));
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->behind));
}

/* The old file ends without harm; a device that is put in works, and holds nothing of before. */
FIXTURE_TEARDOWN(hot_unplug)
{
	char answer[ANSWER_SIZE], value[16];
	struct vze_gpu again;

	munmap(self->word, SZ_64K);
	munmap(self->vram_map, SZ_2M);
	munmap(self->vm_map, SZ_2M);
	vze_gpu_close(&self->gpu);
	snprintf(value, sizeof(value), "%ld", self->heartbeat_ms);
	EXPECT_EQ(0, vze_param_set("heartbeat_timeout_ms", value));

	ASSERT_EQ(0, ask(self->host, "plug", self->name, answer));
	ASSERT_EQ(0, strncmp(answer, "plugged ", 8)) {
		TH_LOG("%s", answer);
	}
	ASSERT_EQ(0, wait_for_device(&again));
	/* What the old device might have gone on to use is let go when the new one answers. */
	EXPECT_EQ(self->pinned, vze_vmpin());
	ASSERT_EQ(0, vze_gpu_start(&again));
	vze_cs_plain(&again.cs, VZE_HW_CMD_NOP);
	EXPECT_EQ(0, vze_run(again.fd, again.queue, &again.cs));
	vze_gpu_close(&again);
	EXPECT_STREQ("", vze_gpu_leaks(&again));
	munmap(self->mem, SZ_1M);
	close(self->host);
}

static void *wait_for_word(void *arg)
{
	FIXTURE_DATA(hot_unplug) *self = arg;

	self->results[0] = vze_fence_wait(self->gpu.fd, self->mem, VZE_HW_WAIT_EQ, 99, 0, -1);
	return NULL;
}

static void *wait_for_job(void *arg)
{
	FIXTURE_DATA(hot_unplug) *self = arg;

	self->results[1] = vze_syncobj_wait(self->gpu.fd, self->syncobj, 2 * VZE_WAIT_MS);
	return NULL;
}

/* A job that is parked, one behind it, and two threads that sleep until something happens. */
static void start_work(struct __test_metadata *_metadata, FIXTURE_DATA(hot_unplug) *self)
{
	struct vze_gpu *gpu = &self->gpu;

	vze_cs_wait(&gpu->cs, VZE_VA, VZE_HW_WAIT_EQ, 1);
	vze_cs_fill(&gpu->cs, VZE_VA + SZ_1G, SZ_1M, "\xee", 1);
	ASSERT_EQ(0, vze_submit(gpu->fd, gpu->queue, &gpu->cs, self->syncobj));
	ASSERT_EQ(0, vze_submit(gpu->fd, gpu->queue, &gpu->cs, self->behind));
	ASSERT_EQ(0, pthread_create(&self->threads[0], NULL, wait_for_word, self));
	ASSERT_EQ(0, pthread_create(&self->threads[1], NULL, wait_for_job, self));
	vze_sleep_ms(200);
}

static void expect_work_ended(struct __test_metadata *_metadata, FIXTURE_DATA(hot_unplug) *self)
{
	pthread_join(self->threads[0], NULL);
	pthread_join(self->threads[1], NULL);
	EXPECT_EQ(-ENODEV, self->results[0]);
	/* The wait's ioctl is the DRM core's: woken, or turned away when it came late. */
	EXPECT_TRUE(self->results[1] == 0 || self->results[1] == -ENODEV) {
		TH_LOG("%ld", self->results[1]);
	}
	/* The command behind the wait never wrote. */
	EXPECT_EQ(-1, vze_words_check(self->mem, SZ_1M, 0));
}

static void expect_gone(struct __test_metadata *_metadata, FIXTURE_DATA(hot_unplug) *self)
{
	int fd = self->gpu.fd;
	uint64_t value = 0;
	uint32_t out;
	int ret;

	EXPECT_EQ(-ENODEV, vze_gem_create(fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &out));
	EXPECT_EQ(-ENODEV, vze_userptr(fd, self->mem, SZ_4K, 0, &out));
	EXPECT_EQ(-ENODEV, vze_vm_create(fd, &out));
	EXPECT_EQ(-ENODEV, vze_map(fd, self->gpu.vm, self->data, 0, SZ_4K, VZE_VA, 0));
	EXPECT_EQ(-ENODEV, vze_queue_create(fd, self->gpu.vm, &out));
	EXPECT_EQ(-ENODEV, vze_exec(fd, self->gpu.queue, NULL, NULL, 0, NULL));
	EXPECT_EQ(-ENODEV, vze_fence_wait(fd, self->mem, VZE_HW_WAIT_EQ, 99, 0, -1));
	EXPECT_EQ(MAP_FAILED, vze_gem_mmap(fd, self->data, SZ_4K, PROT_READ));
	/* The device's memory is out of reach, without harm to who still has it mapped. */
	EXPECT_EQ(-SIGBUS, vze_peek(self->vram_map, &value));
	EXPECT_EQ(-SIGBUS, vze_poke(self->vram_map + 512, 1));
	EXPECT_EQ(-SIGBUS, vze_peek(self->vm_map, &value));
	/* System memory is no memory of the device: its content or SIGBUS. */
	ret = vze_peek(self->word, &value);
	EXPECT_TRUE(ret == -SIGBUS || (!ret && !value));
	vze_pattern_fill(self->mem, SZ_1M, 1);
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SZ_1M, 1));
}

/* The guest is asked, the driver is told before the device leaves. */
VZE_TEST(hot_unplug, ejected)
{
	char answer[ANSWER_SIZE], path[64];

	start_work(_metadata, self);
	ASSERT_EQ(0, ask(self->host, "unplug", self->name, answer));
	ASSERT_EQ(0, strncmp(answer, "gone ", 5)) {
		TH_LOG("%s", answer);
	}
	expect_work_ended(_metadata, self);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", self->gpu.pci);
	EXPECT_EQ(-1, access(path, F_OK));
	/* It has said that it touches nothing any more: the file is open, and pins nothing. */
	EXPECT_EQ(self->pinned, vze_vmpin());
	expect_gone(_metadata, self);
}

/* Nobody is asked: the driver finds out by itself, and is told afterwards. */
VZE_TEST(hot_unplug, pulled)
{
	char answer[ANSWER_SIZE], path[64];
	unsigned int bus;
	uint64_t value;

	ASSERT_EQ(0, vze_param_set("heartbeat_timeout_ms", HEARTBEAT_MS));
	ASSERT_EQ(0, ask(self->host, "pull", self->name, answer));
	ASSERT_EQ(1, sscanf(answer, "ready %*s %u", &bus)) {
		TH_LOG("%s", answer);
	}
	start_work(_metadata, self);
	ASSERT_EQ(0, ioperm(ACPI_EJECT, ACPI_SELECT + 4 - ACPI_EJECT, 1));
	outl(bus, ACPI_SELECT);
	outl(1, ACPI_EJECT);
	ASSERT_EQ(0, hear(self->host, answer));
	ASSERT_EQ(0, strncmp(answer, "gone ", 5)) {
		TH_LOG("%s", answer);
	}
	/* Nothing behind the mapping: whatever it reads, it does no harm. */
	EXPECT_EQ(0, vze_peek(self->vram_map, &value));
	expect_work_ended(_metadata, self);
	EXPECT_EQ(-ENODEV, vze_exec(self->gpu.fd, self->gpu.queue, NULL, NULL, 0, NULL));

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", self->gpu.pci);
	ASSERT_EQ(0, vze_write_file(path, "1"));
	/* Nobody knows what its process does: that ends with the next device in its place. */
	EXPECT_EQ(self->pinned + (long)SZ_1M, vze_vmpin());
	expect_gone(_metadata, self);
}

TEST_HARNESS_MAIN
