// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_QUERY and what /proc/PID/fdinfo says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(query) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(query)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(query)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(query, device)
{
	struct drm_vze_query_device device;
	uint32_t size = sizeof(device);
	char pci[32];

	memset(&device, 0xee, sizeof(device));
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_DEVICE, &device, &size));
	EXPECT_EQ(sizeof(device), size);
	EXPECT_EQ(VZE_HW_VERSION_MAJOR, device.hw_version >> 16);
	EXPECT_LE(256, device.num_queues);
	EXPECT_EQ(0, device.vram_size % SZ_2M);
	EXPECT_LE(SZ_2M, device.vram_size);
	EXPECT_NE(0, device.max_transfer);
	EXPECT_EQ(0, device.max_transfer & (device.max_transfer - 1));
	EXPECT_TRUE(device.page_sizes & SZ_4K);
	EXPECT_TRUE(device.page_sizes & SZ_2M);
	EXPECT_EQ(VZE_HW_VA_BITS, device.va_bits);
	EXPECT_NE(0, device.timestamp_hz);
	EXPECT_LE(1, device.num_engines);
	EXPECT_EQ(VZE_HW_PCI_VENDOR, device.pci_vendor_id);
	EXPECT_EQ(VZE_HW_PCI_DEVICE, device.pci_device_id);
	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", device.pci_domain, device.pci_bus,
		 device.pci_device, device.pci_function);
	EXPECT_STREQ(self->gpu.pci, pci);
	EXPECT_NE(NULL, memchr(device.name, 0, sizeof(device.name)));
	EXPECT_NE(0, device.name[0]);
}

VZE_TEST(query, sizes)
{
	static const uint32_t whole[] = {
		[DRM_VZE_QUERY_DEVICE] = sizeof(struct drm_vze_query_device),
		[DRM_VZE_QUERY_MEMORY] = sizeof(struct drm_vze_query_memory),
		[DRM_VZE_QUERY_CLOCK] = sizeof(struct drm_vze_query_clock),
		[DRM_VZE_QUERY_COUNTERS] = VZE_HW_COUNTER_COUNT * 8,
	};
	uint32_t query, size;
	uint8_t data[1024];

	for (query = 0; query < ARRAY_LEN(whole); query++) {
		size = 0;
		EXPECT_EQ(0, vze_query(self->gpu.fd, query, NULL, &size));
		EXPECT_EQ(whole[query], size);

		/* A smaller buffer gets the beginning and nothing behind it. */
		memset(data, 0xee, sizeof(data));
		size = 8;
		EXPECT_EQ(0, vze_query(self->gpu.fd, query, data, &size));
		EXPECT_EQ(0xee, data[8]);

		/* A larger one is written as far as the answer goes. */
		memset(data, 0xee, sizeof(data));
		size = sizeof(data);
		EXPECT_EQ(0, vze_query(self->gpu.fd, query, data, &size));
		EXPECT_EQ(whole[query], size);
		EXPECT_EQ(0xee, data[whole[query]]);

		size = 8;
		EXPECT_EQ(-EFAULT, vze_query(self->gpu.fd, query, (void *)16, &size));
		size = 8;
		EXPECT_EQ(-EFAULT, vze_query(self->gpu.fd, query, (void *)~7UL, &size));
	}
	for (query = ARRAY_LEN(whole); query < 64; query++) {
		size = sizeof(data);
		EXPECT_EQ(-EINVAL, vze_query(self->gpu.fd, query, data, &size));
	}
	size = sizeof(data);
	EXPECT_EQ(-EINVAL, vze_query(self->gpu.fd, ~0U, data, &size));
}

static struct drm_vze_query_memory memory_now(int fd)
{
	struct drm_vze_query_memory memory = {};
	uint32_t size = sizeof(memory);

	vze_query(fd, DRM_VZE_QUERY_MEMORY, &memory, &size);
	return memory;
}

VZE_TEST(query, memory)
{
	struct drm_vze_query_memory before, with, after;
	uint32_t handle;

	before = memory_now(self->gpu.fd);
	EXPECT_NE(0, before.vram_size);
	EXPECT_LE(before.vram_free, before.vram_size);
	EXPECT_LE(before.vram_largest, before.vram_free);
	EXPECT_LE(SZ_2M, before.vram_largest);
	EXPECT_NE(0, before.system_size);
	EXPECT_LE(before.system_free, before.system_size);
	EXPECT_EQ(0, before.vram_pending);
	EXPECT_EQ(0, before.system_pending);

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, 8 * SZ_1M, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	with = memory_now(self->gpu.fd);
	EXPECT_EQ(before.vram_size, with.vram_size);
	EXPECT_EQ(before.vram_free - 8 * SZ_1M, with.vram_free);
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", 0));
	after = memory_now(self->gpu.fd);
	EXPECT_EQ(before.vram_free, after.vram_free);
	EXPECT_EQ(before.vram_largest, after.vram_largest);
}

VZE_TEST(query, clock)
{
	struct drm_vze_query_clock clock, last = {};
	struct timespec ts;
	uint64_t before, after;
	uint32_t size;
	int i;

	for (i = 0; i < 20; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		before = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
		size = sizeof(clock);
		ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_CLOCK, &clock, &size));
		clock_gettime(CLOCK_MONOTONIC, &ts);
		after = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
		EXPECT_LE(before, clock.cpu);
		EXPECT_LE(clock.cpu, after);
		EXPECT_LT(last.device, clock.device);
		last = clock;
		vze_sleep_ms(2);
	}
}

VZE_TEST(query, counters)
{
	uint64_t before[VZE_HW_COUNTER_COUNT], after[VZE_HW_COUNTER_COUNT];
	uint32_t size = sizeof(before), handle;
	int i;

	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_1M, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_1M, VZE_VA, 0));
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_COUNTERS, before, &size));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_1M, 1));
	/* The unmapping's invalidation is a control command: the figures are fresh after it. */
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_1M));
	size = sizeof(after);
	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_COUNTERS, after, &size));
	EXPECT_LE(before[VZE_HW_COUNTER_JOBS] + 1, after[VZE_HW_COUNTER_JOBS]);
	EXPECT_LE(before[VZE_HW_COUNTER_COMMANDS] + 1, after[VZE_HW_COUNTER_COMMANDS]);
	EXPECT_LE(before[VZE_HW_COUNTER_BYTES_WRITTEN] + SZ_1M,
		  after[VZE_HW_COUNTER_BYTES_WRITTEN]);
	EXPECT_LT(before[VZE_HW_COUNTER_TLB_INVALIDATIONS],
		  after[VZE_HW_COUNTER_TLB_INVALIDATIONS]);
	EXPECT_LT(before[VZE_HW_COUNTER_INTERRUPTS], after[VZE_HW_COUNTER_INTERRUPTS]);
	EXPECT_EQ(before[VZE_HW_COUNTER_STALE_USES], after[VZE_HW_COUNTER_STALE_USES]);
	EXPECT_EQ(before[VZE_HW_COUNTER_FAULTS], after[VZE_HW_COUNTER_FAULTS]);
	for (i = 0; i < VZE_HW_COUNTER_COUNT; i++)
		EXPECT_LE(before[i], after[i]);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

/* A line of this process' fdinfo for @fd: the text behind "key:", "" when absent. */
static void fdinfo(int fd, const char *key, char *value, size_t size)
{
	char path[64], line[256];
	size_t len = strlen(key);
	FILE *in;

	value[0] = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	in = fopen(path, "re");
	if (!in)
		return;
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, key, len) || line[len] != ':')
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(value, size, "%s", line + len + 1 + strspn(line + len + 1, " \t"));
	}
	fclose(in);
}

static uint64_t fdinfo_bytes(int fd, const char *key)
{
	unsigned long long number;
	char value[128], unit[8] = "";

	fdinfo(fd, key, value, sizeof(value));
	if (sscanf(value, "%llu %7s", &number, unit) < 1)
		return ~0ULL;
	return !strcmp(unit, "MiB") ? number << 20 : !strcmp(unit, "KiB") ? number << 10 : number;
}

VZE_TEST(query, fdinfo)
{
	char value[128], other[128];
	uint32_t vram, system;
	int fd2;

	fdinfo(self->gpu.fd, "drm-driver", value, sizeof(value));
	EXPECT_STREQ("vze", value);
	fdinfo(self->gpu.fd, "drm-pdev", value, sizeof(value));
	EXPECT_STREQ(self->gpu.pci, value);

	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	fdinfo(self->gpu.fd, "drm-client-id", value, sizeof(value));
	fdinfo(fd2, "drm-client-id", other, sizeof(other));
	EXPECT_NE(0, value[0]);
	EXPECT_STRNE(value, other);

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, 4 * SZ_1M, DRM_VZE_PLACEMENT_VRAM, 0, &vram));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_64K, DRM_VZE_PLACEMENT_SYSTEM, 0, &system));
	EXPECT_EQ(4 * SZ_1M, fdinfo_bytes(self->gpu.fd, "drm-total-vram"));
	EXPECT_EQ(SZ_64K, fdinfo_bytes(self->gpu.fd, "drm-total-system"));
	/* What one file has is not counted for another. */
	EXPECT_NE(4 * SZ_1M, fdinfo_bytes(fd2, "drm-total-vram"));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, vram));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, system));
	close(fd2);
}

FIXTURE(two_gpus) {
	struct vze_gpu gpu[2];
};

FIXTURE_SETUP(two_gpus)
{
	VZE_SETUP_GPUS(&self->gpu[0], 0, 2);
	VZE_SETUP_GPUS(&self->gpu[1], 1, 2);
}

FIXTURE_TEARDOWN(two_gpus)
{
	VZE_TEARDOWN(&self->gpu[0]);
	VZE_TEARDOWN(&self->gpu[1]);
}

VZE_TEST(two_gpus, differ)
{
	struct drm_vze_query_device device[2];
	uint32_t size;
	int i;

	for (i = 0; i < 2; i++) {
		size = sizeof(device[i]);
		ASSERT_EQ(0, vze_query(self->gpu[i].fd, DRM_VZE_QUERY_DEVICE, &device[i], &size));
	}
	EXPECT_NE(0, memcmp(device[0].uuid, device[1].uuid, sizeof(device[0].uuid)));
	EXPECT_STRNE(self->gpu[0].pci, self->gpu[1].pci);
}

TEST_HARNESS_MAIN
