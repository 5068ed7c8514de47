// SPDX-License-Identifier: MIT
/*
 * The interface has one layout for 32 and 64 bit. The main path goes through the
 * kernel's 32-bit entry here: a 64-bit program on x86 can use it, too, as long as the
 * argument lies below 4 GiB, so that no 32-bit compiler is needed.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(compat) {
	struct vze_gpu gpu;
};

/* Below 4 GiB: where arguments are put for the call. */
static void *low;

#ifdef __x86_64__
#define NR_GETPID_32	20
#define NR_IOCTL_32	54

static long call_32(long number, long a, long b, long c)
{
	long result;

	asm volatile("int $0x80" : "=a" (result) : "a" (number), "b" (a), "c" (b), "d" (c) :
		     "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}
#else
#define NR_GETPID_32	0
#define NR_IOCTL_32	0

static long call_32(long number, long a, long b, long c)
{
	return -ENOSYS;
}
#endif

static int ioctl_32(int fd, unsigned long request, void *arg)
{
	size_t size = (request >> _IOC_SIZESHIFT) & _IOC_SIZEMASK;
	int ret;

	memcpy(low, arg, size);
	ret = call_32(NR_IOCTL_32, fd, request, (long)low);
	memcpy(arg, low, size);
	return ret;
}

static int probe_32(void *arg)
{
	return call_32(NR_GETPID_32, 0, 0, 0) != getpid();
}

FIXTURE_SETUP(compat)
{
	if (vze_in_child(probe_32, NULL))
		SKIP(return, "the kernel has no 32-bit system calls");
	low = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, low);
	VZE_SETUP(&self->gpu);
	vze_ioctl_entry = ioctl_32;
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
}

FIXTURE_TEARDOWN(compat)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(compat, main_path)
{
	struct drm_vze_query_device device;
	struct drm_vze_share_create share;
	struct drm_vze_queue_state state;
	struct drm_vze_vm_info info;
	uint32_t size = sizeof(device), vram, user, opened;
	uint64_t *mem, *map;

	ASSERT_EQ(0, vze_query(self->gpu.fd, DRM_VZE_QUERY_DEVICE, &device, &size));
	EXPECT_EQ(VZE_HW_VA_BITS, device.va_bits);
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &vram));
	mem = vze_anon(SZ_2M, SZ_2M);
	ASSERT_NE(NULL, mem);
	vze_pattern_fill(mem, SZ_2M, 1);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_2M, 0, &user));
	EXPECT_EQ(SZ_2M, vze_vmpin());
	/* Device addresses are 48 bits wide whatever the program's are. */
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, vram, 0, SZ_2M, VZE_VA_END - SZ_2M, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, user, 0, SZ_2M, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_copy(&self->gpu, VZE_VA_END - SZ_2M, VZE_VA, SZ_2M));
	map = vze_gem_mmap(self->gpu.fd, vram, SZ_2M, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_pattern_check(map, SZ_2M, 1));
	munmap(map, SZ_2M);
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &info));
	EXPECT_EQ(3, info.mappings);

	mem[0] = 7;
	EXPECT_EQ(0, vze_fence_wait(self->gpu.fd, mem, VZE_HW_WAIT_EQ, 7, self->gpu.queue, -1));
	EXPECT_EQ(0, vze_fence_wake(self->gpu.fd));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, vram, 0, &share));
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &share.token, &opened, NULL));
	EXPECT_EQ(0, vze_share_put(self->gpu.fd, share.token.id));

	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + SZ_2M + 5, 8, 1));
	ASSERT_EQ(0, vze_queue_state(self->gpu.fd, self->gpu.queue, &state));
	EXPECT_EQ(VZE_VA + SZ_2M + 5, state.va);
	EXPECT_EQ(5, state.nearest_distance);
}

/* Every ioctl is known to the 32-bit entry as well. */
VZE_TEST(compat, all_are_known)
{
	unsigned int nr;

	for (nr = DRM_VZE_QUERY; nr <= DRM_VZE_SHARE_PUT; nr++)
		EXPECT_EQ(-EFAULT, call_32(NR_IOCTL_32, self->gpu.fd,
					   DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t), 8)) {
			TH_LOG("ioctl 0x%02x", nr);
		}
}

TEST_HARNESS_MAIN
