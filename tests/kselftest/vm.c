// SPDX-License-Identifier: MIT
/* DRM_IOCTL_VZE_VM_CREATE, _VM_DESTROY and _VM_INFO. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

FIXTURE(vm) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(vm)
{
	VZE_SETUP(&self->gpu);
}

FIXTURE_TEARDOWN(vm)
{
	VZE_TEARDOWN(&self->gpu);
}

VZE_TEST(vm, ids)
{
	struct drm_vze_vm_info info;
	uint32_t vm[8], other;
	int i, k, fd2;

	for (i = 0; i < ARRAY_LEN(vm); i++) {
		ASSERT_EQ(0, vze_vm_create(self->gpu.fd, &vm[i]));
		EXPECT_NE(0, vm[i]);
		EXPECT_LT(vm[i], DRM_VZE_MAX_VM_ID);
		for (k = 0; k < i; k++)
			EXPECT_NE(vm[k], vm[i]);
	}
	EXPECT_EQ(ARRAY_LEN(vm), vze_figure(&self->gpu, "vze_counts", "vms"));

	/* Another file's ids mean nothing here. */
	fd2 = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, fd2);
	EXPECT_EQ(-ENOENT, vze_vm_info(fd2, vm[0], &info));
	EXPECT_EQ(-ENOENT, vze_vm_destroy(fd2, vm[0]));
	EXPECT_EQ(-ENOENT, vze_unmap(fd2, vm[0], VZE_VA, SZ_4K));
	EXPECT_EQ(-ENOENT, vze_queue_create(fd2, vm[0], &other));
	close(fd2);

	for (i = 0; i < ARRAY_LEN(vm); i++) {
		EXPECT_EQ(0, vze_vm_destroy(self->gpu.fd, vm[i]));
		EXPECT_EQ(-ENOENT, vze_vm_destroy(self->gpu.fd, vm[i]));
		EXPECT_EQ(-ENOENT, vze_vm_info(self->gpu.fd, vm[i], &info));
		EXPECT_EQ(-ENOENT, vze_queue_create(self->gpu.fd, vm[i], &other));
	}
	EXPECT_EQ(-ENOENT, vze_vm_destroy(self->gpu.fd, 0));
	EXPECT_EQ(-ENOENT, vze_vm_destroy(self->gpu.fd, ~0U));
	EXPECT_EQ(-ENOENT, vze_vm_info(self->gpu.fd, 0, &info));
	EXPECT_EQ(-ENOENT, vze_vm_info(self->gpu.fd, DRM_VZE_MAX_VM_ID, &info));
}

VZE_TEST(vm, info)
{
	struct drm_vze_vm_info info;
	uint32_t vm;

	ASSERT_EQ(0, vze_vm_create(self->gpu.fd, &vm));
	memset(&info, 0, sizeof(info));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, vm, &info));
	EXPECT_EQ(vm, info.vm_id);
	EXPECT_EQ(0, info.mappings);
	EXPECT_EQ(0, info.pte_4k);
	EXPECT_EQ(0, info.pte_2m);
	EXPECT_EQ(0, info.pte_1g);
	EXPECT_EQ(1, info.pt_pages);
	EXPECT_EQ(0, info.tlb_invalidations);
	EXPECT_EQ(0, vze_vm_destroy(self->gpu.fd, vm));
}

/* The hardware has so many address spaces, and all of them come back. */
VZE_TEST(vm, run_out)
{
	static uint32_t vm[VZE_HW_MAX_ADDRESS_SPACES + 1];
	int count[2], round, i, ret = 0;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_LEN(vm); i++) {
			ret = vze_vm_create(self->gpu.fd, &vm[i]);
			if (ret)
				break;
		}
		EXPECT_EQ(-ENOSPC, ret);
		count[round] = i;
		while (i-- > 0)
			EXPECT_EQ(0, vze_vm_destroy(self->gpu.fd, vm[i]));
		EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vms", 0));
	}
	EXPECT_EQ(count[0], count[1]);
	EXPECT_LE(64, count[0]);
}

VZE_TEST(vm, lives_as_long_as_its_queues)
{
	uint32_t handle;
	volatile uint64_t *mem;

	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, &handle));
	mem = vze_gem_mmap(self->gpu.fd, handle, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_4K, VZE_VA, 0));
	ASSERT_EQ(0, vze_vm_destroy(self->gpu.fd, self->gpu.vm));
	/* No id any more, but the queue still works on it. */
	EXPECT_EQ(-ENOENT, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_4K));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 8, 0x42));
	EXPECT_EQ(0x42, mem[0]);
	EXPECT_EQ(1, vze_figure(&self->gpu, "vze_counts", "vms"));
	ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, self->gpu.queue));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vms", 0));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vmas", 0));
	munmap((void *)mem, SZ_4K);
	self->gpu.queue = 0;
	self->gpu.vm = 0;
}

VZE_TEST(vm, destroyed_with_mappings)
{
	uint32_t handle, vm;
	int i;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_2M, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vze_vm_create(self->gpu.fd, &vm));
		ASSERT_EQ(0, vze_map(self->gpu.fd, vm, handle, 0, SZ_2M, VZE_VA + i * SZ_64K, 0));
		ASSERT_EQ(0, vze_map(self->gpu.fd, vm, handle, 0, SZ_64K, VZE_VA_END - SZ_64K, 0));
		ASSERT_EQ(0, vze_vm_destroy(self->gpu.fd, vm));
	}
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vmas", 0));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

/* An address space sees only what was bound in it. */
VZE_TEST(vm, separate)
{
	uint32_t handle, vm2, queue2;

	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	ASSERT_EQ(0, vze_vm_create(self->gpu.fd, &vm2));
	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, vm2, &queue2));
	ASSERT_EQ(0, vze_map(self->gpu.fd, vm2, self->gpu.cs.handle, 0, SZ_1M, VZE_VA_CS,
			     DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_4K, VZE_VA, 0));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_4K, 1));
	EXPECT_EQ(-EFAULT, vze_run(self->gpu.fd, queue2, &self->gpu.cs));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SZ_4K, 2));
	EXPECT_EQ(0, vze_queue_destroy(self->gpu.fd, queue2));
	EXPECT_EQ(0, vze_vm_destroy(self->gpu.fd, vm2));
}

TEST_HARNESS_MAIN
