// SPDX-License-Identifier: MIT
/* The exporter sees who has opened a share, and takes it back. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <drm/drm.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define SIZE	(SZ_2M + SZ_64K)
#define SEED	0xbeefUL
#define OUT	(VZE_VA + SZ_1G)
#define UNMAP	DRM_VZE_SHARE_REVOKE_UNMAP

FIXTURE(share_revoke) {
	struct vze_gpu gpu;
	int exporter;
	uint32_t handle;
	struct drm_vze_share_create share;
	struct drm_vze_share_revoke revoke;
};

FIXTURE_VARIANT(share_revoke) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(share_revoke, vram) { .placement = DRM_VZE_PLACEMENT_VRAM };
FIXTURE_VARIANT_ADD(share_revoke, system) { .placement = DRM_VZE_PLACEMENT_SYSTEM };

FIXTURE_SETUP(share_revoke)
{
	VZE_SETUP(&self->gpu);
	/* The importer's side. */
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->exporter = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->exporter);
	ASSERT_EQ(0, vze_gem_create(self->exporter, SIZE, variant->placement, 0, &self->handle));
	ASSERT_EQ(0, share_fill(self->exporter, self->handle, SIZE, SEED));
	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0, &self->share));
}

FIXTURE_TEARDOWN(share_revoke)
{
	if (self->exporter >= 0)
		close(self->exporter);
	VZE_TEARDOWN(&self->gpu);
}

static int open_view(FIXTURE_DATA(share_revoke) *self, uint32_t *view)
{
	return vze_share_open(self->gpu.fd, &self->share.token, view, NULL);
}

static int take_back(FIXTURE_DATA(share_revoke) *self, uint32_t flags)
{
	return share_revoke(self->exporter, self->share.token.id, flags, &self->revoke);
}

/* One page of the importer's own, for the device to copy to. */
static int make_out(FIXTURE_DATA(share_revoke) *self, uint32_t *out)
{
	int ret = vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0, out);

	return ret ? ret : vze_map(self->gpu.fd, self->gpu.vm, *out, 0, SZ_4K, OUT, 0);
}

/* Without UNMAP: nobody opens it any more, what is open stays. */
VZE_TEST(share_revoke, further_opens_fail)
{
	uint32_t view, other, out;

	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0, &self->share));
	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, make_out(self, &out));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA, 0));
	/* Two puts are due. */
	ASSERT_EQ(0, take_back(self, 0));
	EXPECT_EQ(0, self->revoke.views);
	EXPECT_EQ(-ENOENT, open_view(self, &other));
	EXPECT_EQ(-ENOENT, vze_share_put(self->exporter, self->share.token.id));
	EXPECT_EQ(-1, share_check(self->gpu.fd, view, SIZE, SEED));
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT, VZE_VA + SZ_2M, SZ_4K));
	/* Nobody passes it on either. */
	EXPECT_EQ(-EACCES, vze_share_create(self->gpu.fd, view, 0, &self->share));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
	/* An equal request afterwards is a new share. */
	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0, &self->share));
	EXPECT_LT(self->revoke.id, self->share.token.id);
	EXPECT_EQ(0, open_view(self, &other));
}

/* With UNMAP: the device faults in the importer's queue only, and the CPU gets SIGBUS. */
VZE_TEST(share_revoke, open_views_are_unmapped)
{
	struct drm_vze_vm_info before, after;
	uint32_t view, own, out, queue;
	uint64_t word;
	char *as_object, *as_vm;

	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, make_out(self, &out));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &own));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, own, 0, SIZE, VZE_VA - SIZE, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, SZ_64K, SZ_64K, VZE_VA + SIZE,
			     DRM_VZE_BIND_READONLY));
	as_object = vze_gem_mmap(self->gpu.fd, view, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, as_object);
	as_vm = mmap((void *)VZE_VA, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     self->gpu.fd, DRM_VZE_VM_MMAP_OFFSET(self->gpu.vm, VZE_VA));
	ASSERT_EQ((void *)VZE_VA, as_vm);
	EXPECT_EQ(-1, vze_pattern_check(as_object, SIZE, SEED));
	EXPECT_EQ(-1, vze_pattern_check(as_vm, SIZE, SEED));
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT, VZE_VA + SIZE, SZ_4K));

	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(0, self->revoke.exported);

	EXPECT_EQ(-SIGBUS, vze_peek(as_object, &word));
	EXPECT_EQ(-SIGBUS, vze_poke(as_object + SIZE - 8, 1));
	EXPECT_EQ(-SIGBUS, vze_peek(as_vm + SZ_2M, &word));
	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT, VZE_VA, SZ_4K));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA + SIZE - 8, 8, 1));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT, VZE_VA + SIZE, 8));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	/* What is mapped right beside it works, and so do other queues. */
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA - 8, 8, 1));
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT, VZE_VA - SZ_4K, SZ_4K));
	vze_cs_reset(&self->gpu.cs);
	vze_cs_copy(&self->gpu.cs, OUT, VZE_VA - SZ_4K, SZ_4K);
	EXPECT_EQ(0, vze_run(self->gpu.fd, queue, &self->gpu.cs));
	/* The exporter has lost nothing, and nobody wrote. */
	EXPECT_EQ(-1, share_check(self->exporter, self->handle, SIZE, SEED));

	/* Nothing gives it back: no bind, no mmap, no dma-buf, no change of access. */
	EXPECT_EQ(-EACCES, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA + SZ_1G / 2,
				   0));
	EXPECT_EQ(-EACCES, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA + SZ_1G / 2,
				   DRM_VZE_BIND_READONLY));
	EXPECT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE,
				 DRM_VZE_BIND_READONLY));
	EXPECT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE, 0));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT, VZE_VA, SZ_4K));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	munmap(as_object, SIZE);
	as_object = vze_gem_mmap(self->gpu.fd, view, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, as_object);
	EXPECT_EQ(-SIGBUS, vze_peek(as_object, &word));

	/* The addresses are the importer's: it unmaps, or maps something else. */
	EXPECT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, own, 0, SZ_64K, VZE_VA, 0));
	EXPECT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, 8, 2));
	EXPECT_EQ(0, vze_peek(as_vm, &word));
	EXPECT_EQ(2, word);
	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA - SIZE, 3 * SIZE));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &after));
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.pte_4k, after.pte_4k);
	EXPECT_EQ(before.pte_2m, after.pte_2m);
	EXPECT_EQ(before.pt_pages, after.pt_pages);
	munmap(as_object, SIZE);
	munmap(as_vm, SIZE);
	EXPECT_EQ(0, vze_queue_destroy(self->gpu.fd, queue));
}

/* Two steps, and again: each is said as it is. */
VZE_TEST(share_revoke, step_by_step)
{
	uint32_t view;

	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, take_back(self, 0));
	EXPECT_EQ(-1, share_check(self->gpu.fd, view, SIZE, SEED));
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, view));
	EXPECT_EQ(-ENOENT, take_back(self, UNMAP));
	/* Without views it is over with the first. */
	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0, &self->share));
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(0, self->revoke.views);
	EXPECT_EQ(-ENOENT, take_back(self, 0));
}

VZE_TEST(share_revoke, refused)
{
	struct drm_vze_share_revoke args = { .id = self->share.token.id, .pad = 1 };
	uint32_t view;

	EXPECT_EQ(-EINVAL, vze_ioctl(self->exporter, DRM_IOCTL_VZE_SHARE_REVOKE, &args));
	EXPECT_EQ(-EINVAL, take_back(self, 2));
	EXPECT_EQ(-EINVAL, take_back(self, 1U << 31));
	/* The importer, or anybody else, is not the exporter. */
	EXPECT_EQ(-ENOENT, share_revoke(self->gpu.fd, self->share.token.id, 0, &args));
	EXPECT_EQ(-ENOENT, share_revoke(self->exporter, 0, 0, &args));
	EXPECT_EQ(-ENOENT, share_revoke(self->exporter, ~0ULL, UNMAP, &args));
	EXPECT_EQ(0, open_view(self, &view));
}

/* After the free of the object, too: the exporter gets rid of who still looks at it. */
VZE_TEST(share_revoke, of_what_was_freed)
{
	uint32_t view;
	uint64_t word;
	char *map;

	ASSERT_EQ(0, open_view(self, &view));
	map = vze_gem_mmap(self->gpu.fd, view, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, vze_gem_close(self->exporter, self->handle));
	EXPECT_EQ(0, vze_peek(map, &word));
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(-SIGBUS, vze_peek(map, &word));
	munmap(map, SIZE);
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, view));
	EXPECT_EQ(-ENOENT, take_back(self, UNMAP));
}

/* What the importer passed on goes with it, through any number of hands. */
VZE_TEST(share_revoke, what_was_made_of_views)
{
	struct drm_vze_share_create second, third;
	struct drm_vze_share_piece pieces[2] = {};
	uint32_t own, view, view2, view3, other;
	int fd2 = vze_gpu_reopen(&self->gpu), fd3 = vze_gpu_reopen(&self->gpu), watch;
	uint64_t word;
	char *map;

	ASSERT_LE(0, fd2);
	ASSERT_LE(0, fd3);
	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, view, 0, &second));
	ASSERT_EQ(0, vze_share_open(fd2, &second.token, &view2, NULL));
	/* A list with memory of one's own in front. */
	ASSERT_EQ(0, vze_gem_create(fd2, SZ_4K, variant->placement, 0, &own));
	pieces[0].handle = own;
	pieces[0].size = SZ_4K;
	pieces[1].handle = view2;
	pieces[1].offset = SZ_64K;
	pieces[1].size = SZ_64K;
	ASSERT_EQ(0, share_list(fd2, pieces, 2, 0, &third));
	ASSERT_EQ(0, vze_share_open(fd3, &third.token, &view3, NULL));
	map = vze_gem_mmap(fd3, view3, third.size, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, vze_peek(map + SZ_4K, &word));
	watch = share_fd(fd3, &third.token);
	ASSERT_LE(0, watch);
	/* Those in the middle are gone. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, view));
	close(fd2);

	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_LE(1, self->revoke.views);
	EXPECT_EQ(-SIGBUS, vze_peek(map + SZ_4K, &word));
	EXPECT_EQ(POLLIN | POLLHUP | POLLERR, share_events(watch, VZE_WAIT_MS));
	EXPECT_EQ(-ENOENT, vze_share_open(fd3, &third.token, &other, NULL));
	EXPECT_EQ(-1, share_check(self->exporter, self->handle, SIZE, SEED));
	munmap(map, third.size);
	close(watch);
	close(fd3);
}

/* A share that was passed on can be taken back by who passed it on; the first stays. */
VZE_TEST(share_revoke, only_what_was_passed_on)
{
	struct drm_vze_share_create second;
	uint32_t view, view2;
	uint64_t word;
	int fd2 = vze_gpu_reopen(&self->gpu);
	char *map;

	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, view, 0, &second));
	ASSERT_EQ(0, vze_share_open(fd2, &second.token, &view2, NULL));
	map = vze_gem_mmap(fd2, view2, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, vze_peek(map, &word));
	ASSERT_EQ(0, share_revoke(self->gpu.fd, second.token.id, UNMAP, &self->revoke));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(-SIGBUS, vze_peek(map, &word));
	EXPECT_EQ(-1, share_check(self->gpu.fd, view, SIZE, SEED));
	munmap(map, SIZE);
	close(fd2);
}

/* ---------------------------------------------------- asynchronous binds -- */

static int bind_async(FIXTURE_DATA(share_revoke) *self, uint32_t op, uint32_t handle,
		      uint64_t addr, uint64_t range, uint32_t wait, uint32_t signal)
{
	const struct drm_vze_bind_op ops = {
		.op = op, .handle = handle, .range = range, .addr = addr,
	};
	const struct drm_vze_sync syncs[] = {
		{ .handle = wait }, { .flags = DRM_VZE_SYNC_SIGNAL, .handle = signal },
	};

	return vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &ops, 1,
				 syncs, 2);
}

/* A syncobj with a fence that a queue gives when the word at OUT + 8 * @slot is set. */
static int make_gate(FIXTURE_DATA(share_revoke) *self, uint32_t queue, unsigned int slot,
		     struct vze_cs *cs, uint32_t *syncobj)
{
	int ret = vze_syncobj_create(self->gpu.fd, false, syncobj);

	if (ret)
		return ret;
	vze_cs_reset(cs);
	vze_cs_wait(cs, OUT + 8 * slot, VZE_HW_WAIT_EQ, 1);
	return vze_submit(self->gpu.fd, queue, cs, *syncobj);
}

/*
 * Three binds wait while the share is taken back: one that removes a mapping of the view,
 * one that makes one, one that maps something else where the view is. The device has none of
 * the view afterwards, neither before nor after they are carried out.
 */
VZE_TEST(share_revoke, binds_that_wait)
{
	uint32_t view, own, out, queue, gate, done[3];
	struct drm_vze_vm_info before, after;
	volatile uint64_t *out_map;
	struct vze_cs cs;
	int i;

	ASSERT_EQ(0, open_view(self, &view));
	ASSERT_EQ(0, make_out(self, &out));
	out_map = vze_gem_mmap(self->gpu.fd, out, SZ_4K, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)out_map);
	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue));
	ASSERT_EQ(0, vze_cs_create(&self->gpu, &cs, VZE_VA_CS + SZ_1G, SZ_4K));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, variant->placement, 0, &own));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &before));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, view, 0, SIZE, VZE_VA + 2 * SZ_2M, 0));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &done[i]));
	ASSERT_EQ(0, make_gate(self, queue, 0, &cs, &gate));
	/* A part of the first; leaves of 2 MiB are cut when that is carried out. */
	ASSERT_EQ(0, bind_async(self, DRM_VZE_BIND_UNMAP, 0, VZE_VA + SZ_4K, SZ_64K, gate,
				done[0]));
	ASSERT_EQ(0, bind_async(self, DRM_VZE_BIND_MAP, own, VZE_VA + 2 * SZ_2M, SZ_2M, gate,
				done[1]));
	ASSERT_EQ(0, bind_async(self, DRM_VZE_BIND_MAP, view, VZE_VA + 4 * SZ_2M, SIZE, gate,
				done[2]));
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + SZ_4K, 64));
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + 2 * SZ_2M, 64));

	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, done[0], 10));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + SZ_4K, 64));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + 2 * SZ_2M, 64));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + SZ_2M, 64));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));

	out_map[0] = 1;
	EXPECT_EQ(0, vze_fence_wake(self->gpu.fd));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, done[i], VZE_WAIT_MS));
	/* The object of the importer's own is there, the view is not. */
	EXPECT_EQ(0, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + 2 * SZ_2M, 64));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + 4 * SZ_2M, 64));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	EXPECT_EQ(-EFAULT, vze_gpu_copy(&self->gpu, OUT + 64, VZE_VA + 3 * SZ_2M, 64));
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));

	EXPECT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, 8 * SZ_2M));
	ASSERT_EQ(0, vze_vm_info(self->gpu.fd, self->gpu.vm, &after));
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.pte_4k, after.pte_4k);
	EXPECT_EQ(before.pte_2m, after.pte_2m);
	EXPECT_EQ(before.pt_pages, after.pt_pages);
	munmap((void *)out_map, SZ_4K);
	EXPECT_EQ(0, vze_queue_destroy(self->gpu.fd, queue));
	vze_cs_destroy(&self->gpu, &cs);
}

/* -------------------------------------------------------------- dma-bufs -- */

VZE_TEST(share_revoke, dma_buf_of_a_view)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	struct drm_prime_handle again = prime;
	uint64_t word;
	char *map;

	ASSERT_EQ(0, open_view(self, &prime.handle));
	ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, prime.fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, SEED));
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(1, self->revoke.views);
	EXPECT_EQ(1, self->revoke.exported);
	EXPECT_EQ(-SIGBUS, vze_peek(map, &word));
	EXPECT_EQ(-SIGBUS, vze_poke(map + SIZE - 8, 1));
	munmap(map, SIZE);
	close(prime.fd);
	/* One that was not exported before is not exported now. */
	ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0, &self->share));
	ASSERT_EQ(0, open_view(self, &again.handle));
	ASSERT_EQ(0, take_back(self, UNMAP));
	EXPECT_EQ(0, self->revoke.exported);
	EXPECT_EQ(-EACCES, vze_ioctl(self->gpu.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &again));
}

/* ------------------------------------------------------------- importers -- */

struct importer {
	FIXTURE_DATA(share_revoke) *self;
	unsigned int views;
	struct share_pipe ready, done;
};

static int importer(struct importer *importer)
{
	int fd = vze_gpu_reopen(&importer->self->gpu);
	uint32_t view;
	unsigned int i;

	REQUIRE(1, fd >= 0);
	for (i = 0; i < importer->views; i++)
		REQUIRE(2, !vze_share_open(fd, &importer->self->share.token, &view, NULL));
	REQUIRE(3, !share_tell(&importer->ready));
	pause();
	return 4;
}

VZE_TEST(share_revoke, importers)
{
	struct drm_vze_share_importer list[4], one;
	struct drm_vze_share_importers args;
	struct importer children[3] = { { .views = 1 }, { .views = 5 }, { .views = 2 } };
	uint64_t id = self->share.token.id;
	pid_t pids[3];
	int i, k;

	ASSERT_EQ(0, share_importers(self->exporter, id, list, 4, &args));
	EXPECT_EQ(0, args.num);
	EXPECT_EQ(DRM_VZE_SHARE_STATE_LIVE, args.state);
	EXPECT_EQ(1, args.puts);
	for (i = 0; i < 3; i++) {
		children[i].self = self;
		ASSERT_EQ(0, pipe(children[i].ready.fds));
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(importer(&children[i]));
		}
		close(children[i].ready.fds[1]);
		ASSERT_EQ(0, share_hear(&children[i].ready));
		close(children[i].ready.fds[0]);
	}
	ASSERT_EQ(0, share_importers(self->exporter, id, list, 4, &args));
	ASSERT_EQ(3, args.num);
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 3 && list[k].pid != pids[i]; k++)
			;
		ASSERT_LT(k, 3);
		EXPECT_EQ(children[i].views, list[k].views);
		EXPECT_EQ(children[i].views * SIZE, list[k].bytes);
	}
	/* Less room gets as many; none asks for the number. */
	memset(&one, 0xaa, sizeof(one));
	ASSERT_EQ(0, share_importers(self->exporter, id, &one, 1, &args));
	EXPECT_EQ(3, args.num);
	EXPECT_NE(0xaaaaaaaa, one.pid);
	ASSERT_EQ(0, share_importers(self->exporter, id, NULL, 0, &args));
	EXPECT_EQ(3, args.num);
	EXPECT_EQ(-EFAULT, share_importers(self->exporter, id, NULL, 1, &args));
	EXPECT_EQ(-ENOENT, share_importers(self->gpu.fd, id, list, 4, &args));
	EXPECT_EQ(-ENOENT, share_importers(self->exporter, id + 1, list, 4, &args));

	/* Killed ones are gone from the list. */
	for (i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		EXPECT_EQ(-SIGKILL, vze_reap(pids[i]));
	}
	ASSERT_EQ(0, share_importers(self->exporter, id, list, 4, &args));
	ASSERT_EQ(1, args.num);
	EXPECT_EQ(pids[2], list[0].pid);
	/* Put, it is known as long as somebody has it open. */
	ASSERT_EQ(0, vze_share_put(self->exporter, id));
	ASSERT_EQ(0, share_importers(self->exporter, id, list, 4, &args));
	EXPECT_EQ(1, args.num);
	EXPECT_EQ(DRM_VZE_SHARE_STATE_PUT, args.state);
	EXPECT_EQ(0, args.puts);
	kill(pids[2], SIGKILL);
	EXPECT_EQ(-SIGKILL, vze_reap(pids[2]));
	EXPECT_EQ(-ENOENT, share_importers(self->exporter, id, list, 4, &args));
}

/* ------------------------------------------------------------------ races -- */

/* Seen by all processes of a race. */
struct race {
	struct drm_vze_share_token token;
	int stop;
	unsigned int index;
	unsigned long opened;
};

/* Opens, maps, touches by CPU, closes, whatever the exporter does meanwhile. */
static int keep_opening(volatile struct race *race)
{
	struct vze_gpu gpu;
	uint32_t view;
	uint64_t word;

	REQUIRE(1, !vze_gpu_open(&gpu, race->index) && !vze_gpu_start(&gpu));
	while (!race->stop) {
		/* It may be half of one and half of another: that one does not exist. */
		struct drm_vze_share_token token = race->token;
		int ret = share_open_at(gpu.fd, &token, gpu.vm, VZE_VA, SIZE, &view);
		char *map;

		if (ret) {
			REQUIRE(2, ret == -ENOENT || ret == -EACCES);
			continue;
		}
		race->opened++;
		map = vze_gem_mmap(gpu.fd, view, SIZE, PROT_READ);
		REQUIRE(3, map != MAP_FAILED);
		ret = vze_peek(map + SZ_1M, &word);
		REQUIRE(4, ret == 0 || ret == -SIGBUS);
		munmap(map, SIZE);
		REQUIRE(5, !vze_unmap(gpu.fd, gpu.vm, VZE_VA, SIZE));
		REQUIRE(6, !vze_gem_close(gpu.fd, view));
	}
	vze_gpu_close(&gpu);
	return 0;
}

static pid_t start_opening(volatile struct race *race)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(keep_opening(race));
}

/*
 * Against processes that open and close, and such that are killed. Every revocation ends
 * with a share that nobody can read.
 */
VZE_TEST(share_revoke, races)
{
	volatile struct race *race = mmap(NULL, SZ_4K, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t end = vze_now_ms() + 5000;
	pid_t stayer, mortal;
	int rounds = 0, i;

	ASSERT_NE(MAP_FAILED, (void *)race);
	race->index = self->gpu.index;
	stayer = start_opening(race);
	ASSERT_LE(0, stayer);
	while (vze_now_ms() < end) {
		mortal = start_opening(race);
		ASSERT_LE(0, mortal);
		for (i = 0; i < 10; i++, rounds++) {
			ASSERT_EQ(0, vze_share_create(self->exporter, self->handle, 0,
						      &self->share));
			race->token = self->share.token;
			vze_sleep_ms(i);
			EXPECT_EQ(0, take_back(self, i % 3 ? UNMAP : 0));
			if (i == 5)
				kill(mortal, SIGKILL);
		}
		EXPECT_EQ(-SIGKILL, vze_reap(mortal));
	}
	race->stop = 1;
	EXPECT_EQ(0, vze_reap(stayer));
	TH_LOG("%d revocations against %lu opens", rounds, race->opened);
	EXPECT_EQ(-1, share_check(self->exporter, self->handle, SIZE, SEED));
	munmap((void *)race, SZ_4K);
}

TEST_HARNESS_MAIN
