// SPDX-License-Identifier: MIT
/*
 * Implicit fences of dma-bufs, both ways: jobs wait for what others do with the memory, others
 * wait for jobs of PUBLISH queues, and never for a job that may park.
 *
 * The foreign driver is vgem. Its fences signal by themselves after 10 s; a machine that stands
 * still for so long proves nothing, and says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/types.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "prime_buf.h"
#include "vze_test.h"

#define SIZE		SZ_64K
/* Long enough for a job that waits for nothing. */
#define A_WHILE		200
/* Where the two buffers of vgem, and memory of ours, are mapped. */
#define VA_BUF		VZE_VA
#define VA_HOLD		(VZE_VA + SZ_1G)
#define VA_OURS		(VZE_VA + 2 * SZ_1G)

/** struct vgem_buf - an object of vgem, mapped by its client, imported into vze */
struct vgem_buf {
	uint32_t vgem;
	uint32_t handle;
	int buf;
	char *mem;
};

FIXTURE(sync) {
	struct vze_gpu gpu;
	int vgem;
	/* what is copied from and to, and what only holds jobs up */
	struct vgem_buf data;
	struct vgem_buf hold;
	uint32_t ours;
	char *mem;
	uint32_t done;
	uint32_t publish;
};

static int buf_create(FIXTURE_DATA(sync) *self, struct vgem_buf *b)
{
	int ret = prime_vgem_create(self->vgem, SIZE, &b->vgem);

	if (ret)
		return ret;
	b->mem = prime_vgem_mmap(self->vgem, b->vgem, SIZE);
	if (b->mem == MAP_FAILED)
		return -errno;
	b->buf = prime_export(self->vgem, b->vgem, DRM_CLOEXEC | DRM_RDWR);
	if (b->buf < 0)
		return b->buf;
	return prime_import(self->gpu.fd, b->buf, &b->handle);
}

static int queue_create(int fd, uint32_t vm, uint32_t flags, uint32_t *queue)
{
	struct drm_vze_queue_create args = {
		.vm_id = vm,
		.priority = DRM_VZE_PRIORITY_NORMAL,
		.flags = flags,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_QUEUE_CREATE, &args);

	if (!ret)
		*queue = args.queue_id;
	return ret;
}

FIXTURE_SETUP(sync)
{
	self->vgem = -1;
	self->data.buf = self->hold.buf = -1;
	self->data.mem = self->hold.mem = self->mem = MAP_FAILED;
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	self->vgem = prime_vgem_open();
	if (self->vgem == -ENODEV)
		SKIP(return, "the kernel has no vgem");
	ASSERT_LE(0, self->vgem);
	ASSERT_EQ(0, buf_create(self, &self->data));
	ASSERT_EQ(0, buf_create(self, &self->hold));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &self->ours));
	self->mem = vze_gem_mmap(self->gpu.fd, self->ours, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->ours, 0, SIZE, VA_OURS, 0));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &self->done));
	ASSERT_EQ(0, queue_create(self->gpu.fd, self->gpu.vm, DRM_VZE_QUEUE_PUBLISH,
				  &self->publish));
}

static void buf_destroy(struct vgem_buf *b)
{
	if (b->mem != MAP_FAILED)
		munmap(b->mem, SIZE);
	if (b->buf >= 0)
		close(b->buf);
}

FIXTURE_TEARDOWN(sync)
{
	if (self->mem != MAP_FAILED)
		munmap(self->mem, SIZE);
	buf_destroy(&self->data);
	buf_destroy(&self->hold);
	if (self->vgem >= 0)
		close(self->vgem);
	if (self->publish)
		vze_queue_destroy(self->gpu.fd, self->publish);
	VZE_TEARDOWN(&self->gpu);
}

static int map_buf(FIXTURE_DATA(sync) *self, const struct vgem_buf *b, uint64_t va, uint32_t flags)
{
	return vze_map(self->gpu.fd, self->gpu.vm, b->handle, 0, SIZE, va, flags);
}

/* A copy, with self->done as its out-fence. */
static int copy(FIXTURE_DATA(sync) *self, uint32_t queue, uint64_t dst, uint64_t src)
{
	vze_cs_reset(&self->gpu.cs);
	vze_cs_copy(&self->gpu.cs, dst, src, SIZE);
	return vze_submit(self->gpu.fd, queue, &self->gpu.cs, self->done);
}

/*
 * Ends vgem's fence, and gives the test up when vgem was faster: what was expected while the
 * fence was pending says nothing then.
 */
#define SIGNAL(fence) do {							\
	int signal_ret = prime_vgem_signal(self->vgem, fence);			\
										\
	if (signal_ret == -ETIMEDOUT)						\
		SKIP(return, "the machine stood still for longer than vgem waits");	\
	ASSERT_EQ(0, signal_ret);						\
} while (0)

#define EXPECT_WAITS() \
	EXPECT_EQ(-ETIME, vze_syncobj_wait(self->gpu.fd, self->done, A_WHILE))
#define EXPECT_DONE() do {							\
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));	\
	ASSERT_EQ(1, vze_syncobj_status(self->gpu.fd, self->done));		\
} while (0)

/* ------------------------------------------------------------- jobs wait -- */

VZE_TEST(sync, copy_after_a_writer)
{
	uint32_t fence;

	vze_pattern_fill(self->data.mem, SIZE, 1);
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &fence));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_WAITS();
	/* The writer writes until its fence signals. */
	vze_pattern_fill(self->data.mem, SIZE, 2);
	SIGNAL(fence);
	EXPECT_DONE();
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, 2));
}

/* Readers are in nobody's way but a writer's. */
VZE_TEST(sync, readers)
{
	uint32_t fence;

	vze_pattern_fill(self->data.mem, SIZE, 3);
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, false, &fence));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_DONE();
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, 3));
	SIGNAL(fence);

	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, false, &fence));
	ASSERT_EQ(0, vze_protect(self->gpu.fd, self->gpu.vm, VA_BUF, SIZE, 0));
	vze_pattern_fill(self->mem, SIZE, 4);
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_BUF, VA_OURS));
	EXPECT_WAITS();
	EXPECT_EQ(-1, vze_pattern_check(self->data.mem, SIZE, 3));
	SIGNAL(fence);
	EXPECT_DONE();
	EXPECT_EQ(-1, vze_pattern_check(self->data.mem, SIZE, 4));
}

/* The unit is what is mapped: only while it is, and only where the device gets at it. */
VZE_TEST(sync, only_what_is_mapped)
{
	uint32_t fence, queue;

	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &fence));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_OURS));
	EXPECT_DONE();
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, DRM_VZE_BIND_NO_ACCESS));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_OURS));
	EXPECT_DONE();
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, 0));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_OURS));
	EXPECT_WAITS();
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VA_BUF, SIZE));
	/* Submitted after: on a queue of its own, for the first job still waits. */
	ASSERT_EQ(0, vze_queue_create(self->gpu.fd, self->gpu.vm, &queue));
	ASSERT_EQ(0, vze_run(self->gpu.fd, queue, &self->gpu.cs));
	ASSERT_EQ(0, vze_queue_destroy(self->gpu.fd, queue));
	EXPECT_WAITS();
	SIGNAL(fence);
	EXPECT_DONE();
}

/* Killing the queue does not wait for the fence, and the fence does not mind. */
VZE_TEST(sync, queue_goes_meanwhile)
{
	uint32_t fence;

	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, 0));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &fence));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_WAITS();
	ASSERT_EQ(0, vze_gpu_new_queue(&self->gpu));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
	EXPECT_EQ(-ECANCELED, vze_syncobj_status(self->gpu.fd, self->done));
	SIGNAL(fence);
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_DONE();
}

/*
 * A fence that user space puts on a dma-buf of ours; the object was mapped, and used by jobs,
 * before it was exported.
 */
static void our_object(struct __test_metadata *_metadata, FIXTURE_DATA(sync) *self,
		       uint32_t create_flags)
{
	uint32_t object, fence;
	int buf, file;
	char *mem;

	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, create_flags,
				    &object));
	mem = vze_gem_mmap(self->gpu.fd, object, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	vze_pattern_fill(mem, SIZE, 5);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, object, 0, SIZE, VA_BUF, 0));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_DONE();

	buf = prime_export(self->gpu.fd, object, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->hold.vgem, true, &fence));
	file = prime_export_sync_file(self->hold.buf, DMA_BUF_SYNC_READ);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, prime_import_sync_file(buf, DMA_BUF_SYNC_WRITE, file));
	close(file);
	EXPECT_EQ(0, prime_poll(buf, POLLIN));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	if (create_flags & DRM_VZE_GEM_EXPLICIT) {
		EXPECT_DONE();
		EXPECT_EQ(0, prime_poll(buf, POLLIN));
		SIGNAL(fence);
	} else {
		EXPECT_WAITS();
		vze_pattern_fill(mem, SIZE, 6);
		SIGNAL(fence);
		EXPECT_DONE();
		EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, 6));
	}
	EXPECT_EQ(1, prime_poll(buf, POLLIN));
	munmap(mem, SIZE);
	close(buf);
}

VZE_TEST(sync, fence_on_our_object)
{
	our_object(_metadata, self, 0);
}

VZE_TEST(sync, explicit_object)
{
	our_object(_metadata, self, DRM_VZE_GEM_EXPLICIT);
}

/* vgem imports an object of ours, and writes to it. */
VZE_TEST(sync, writer_of_our_object)
{
	int buf = prime_export(self->gpu.fd, self->ours, DRM_CLOEXEC | DRM_RDWR);
	uint32_t there, fence;

	ASSERT_LE(0, buf);
	ASSERT_EQ(0, prime_import(self->vgem, buf, &there));
	close(buf);
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, 0));
	vze_pattern_fill(self->mem, SIZE, 10);
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, there, true, &fence));
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_BUF, VA_OURS));
	EXPECT_WAITS();
	vze_pattern_fill(self->mem, SIZE, 11);
	SIGNAL(fence);
	EXPECT_DONE();
	EXPECT_EQ(-1, vze_pattern_check(self->data.mem, SIZE, 11));
}

/* Timelines of user space, where the kernel has them: no driver behind the fence at all. */
VZE_TEST(sync, sw_sync)
{
	struct sw_sync_create_fence_data {
		__u32 value;
		char name[32];
		__s32 fence;
	} create = { .value = 1, .name = "vze" };
	__u32 step = 1;
	int sw = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);

	if (sw < 0)
		SKIP(return, "the kernel has no sw_sync");
	ASSERT_EQ(0, vze_ioctl(sw, _IOWR('W', 0, struct sw_sync_create_fence_data), &create));
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, prime_import_sync_file(self->data.buf, DMA_BUF_SYNC_WRITE, create.fence));
	close(create.fence);
	ASSERT_EQ(0, copy(self, self->gpu.queue, VA_OURS, VA_BUF));
	EXPECT_WAITS();
	vze_pattern_fill(self->data.mem, SIZE, 7);
	ASSERT_EQ(0, vze_ioctl(sw, _IOW('W', 1, __u32), &step));
	EXPECT_DONE();
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, 7));
	close(sw);
}

/* ------------------------------------------------------------ others wait -- */

/*
 * A job of @queue that writes self->data and is held up by vgem's fence on self->hold.
 */
static int held_up(FIXTURE_DATA(sync) *self, uint32_t queue, uint32_t data_flags, uint32_t *fence)
{
	int ret = map_buf(self, &self->data, VA_BUF, data_flags);

	if (!ret)
		ret = map_buf(self, &self->hold, VA_HOLD, DRM_VZE_BIND_READONLY);
	if (!ret)
		ret = prime_vgem_fence(self->vgem, self->hold.vgem, true, fence);
	if (ret)
		return ret;
	return data_flags ? copy(self, queue, VA_OURS, VA_BUF) : copy(self, queue, VA_BUF, VA_OURS);
}

VZE_TEST(sync, writer_publishes)
{
	uint32_t fence, other;
	int file;

	vze_pattern_fill(self->mem, SIZE, 8);
	ASSERT_EQ(0, held_up(self, self->publish, 0, &fence));
	EXPECT_WAITS();
	/* vgem has to wait for us, be it to read or to write. */
	EXPECT_EQ(-EBUSY, prime_vgem_fence(self->vgem, self->data.vgem, false, &other));
	EXPECT_EQ(-EBUSY, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	EXPECT_EQ(0, prime_poll(self->data.buf, POLLIN));
	EXPECT_EQ(0, prime_poll(self->data.buf, POLLOUT));
	file = prime_export_sync_file(self->data.buf, DMA_BUF_SYNC_READ);
	ASSERT_LE(0, file);
	EXPECT_EQ(0, prime_poll(file, POLLIN));
	SIGNAL(fence);
	EXPECT_DONE();
	EXPECT_EQ(1, prime_poll(file, POLLIN));
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLIN));
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLOUT));
	close(file);
	EXPECT_EQ(-1, vze_pattern_check(self->data.mem, SIZE, 8));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(other);
}

VZE_TEST(sync, reader_publishes)
{
	uint32_t fence, other;

	ASSERT_EQ(0, held_up(self, self->publish, DRM_VZE_BIND_READONLY, &fence));
	EXPECT_WAITS();
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLIN));
	EXPECT_EQ(0, prime_poll(self->data.buf, POLLOUT));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, false, &other));
	SIGNAL(other);
	EXPECT_EQ(-EBUSY, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(fence);
	EXPECT_DONE();
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(other);
}

/* An ordinary queue, held up in the same way, makes nobody wait. */
VZE_TEST(sync, ordinary_queue_does_not_publish)
{
	uint32_t fence, other;

	ASSERT_EQ(0, held_up(self, self->gpu.queue, 0, &fence));
	EXPECT_WAITS();
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLIN));
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLOUT));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(other);
	SIGNAL(fence);
	EXPECT_DONE();
}

/* Nor does one whose job parks, for however long. */
VZE_TEST(sync, parked_job_does_not_publish)
{
	volatile uint64_t *word = (void *)self->mem;
	uint32_t other;

	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, 0));
	vze_cs_wait(&self->gpu.cs, VA_OURS, VZE_HW_WAIT_EQ, 77);
	vze_cs_copy(&self->gpu.cs, VA_BUF, VA_OURS, SIZE);
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, &self->gpu.cs, self->done));
	EXPECT_WAITS();
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLOUT));
	ASSERT_EQ(0, prime_sync(self->data.buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, prime_sync(self->data.buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(other);
	*word = 77;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_DONE();
	EXPECT_EQ(77, *(uint64_t *)self->data.mem);
}

/* A PUBLISH queue that parks counts as hanging, also when hangs are tolerated. */
static void parks(struct __test_metadata *_metadata, FIXTURE_DATA(sync) *self, const char *timeout)
{
	char before[32];
	uint32_t other;

	snprintf(before, sizeof(before), "%ld", vze_param_get("hang_timeout_ms"));
	ASSERT_EQ(0, vze_param_set("hang_timeout_ms", timeout));
	ASSERT_EQ(0, map_buf(self, &self->data, VA_BUF, 0));
	vze_cs_wait(&self->gpu.cs, VA_OURS, VZE_HW_WAIT_EQ, 77);
	EXPECT_EQ(0, vze_submit(self->gpu.fd, self->publish, &self->gpu.cs, self->done));
	EXPECT_EQ(-EBUSY, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	EXPECT_EQ(0, vze_syncobj_wait(self->gpu.fd, self->done, VZE_WAIT_MS));
	EXPECT_EQ(-ETIME, vze_syncobj_status(self->gpu.fd, self->done));
	ASSERT_EQ(0, vze_param_set("hang_timeout_ms", before));
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_HUNG,
		  vze_queue_wait_state(self->gpu.fd, self->publish, DRM_VZE_QUEUE_STATE_HUNG));
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLOUT));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->data.vgem, true, &other));
	SIGNAL(other);
}

VZE_TEST(sync, parking_is_hanging)
{
	parks(_metadata, self, "1000");
}

VZE_TEST(sync, parking_is_hanging_without_timeout)
{
	parks(_metadata, self, "0");
}

/* What others wait for must not depend on what may park: directly, by a timeline, by a bind. */
VZE_TEST(sync, no_wait_for_what_may_park)
{
	struct drm_vze_sync sync = { .flags = DRM_VZE_SYNC_SIGNAL | DRM_VZE_SYNC_TIMELINE };
	struct drm_vze_bind_op op = { .op = DRM_VZE_BIND_UNMAP, .addr = VA_BUF, .range = SIZE };
	volatile uint64_t *word = (void *)self->mem;
	struct drm_vze_sync bind[2];
	uint32_t timeline, bound;

	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &timeline));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &bound));
	vze_cs_wait(&self->gpu.cs, VA_OURS, VZE_HW_WAIT_EQ, 77);
	sync.handle = timeline;
	sync.point = 5;
	ASSERT_EQ(0, vze_exec(self->gpu.fd, self->gpu.queue, &self->gpu.cs, &sync, 1, NULL));
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, NULL, self->done));
	sync.flags = DRM_VZE_SYNC_TIMELINE;
	bind[0] = sync;
	bind[1] = (struct drm_vze_sync) { .flags = DRM_VZE_SYNC_SIGNAL, .handle = bound };
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       bind, 2));

	EXPECT_EQ(-EDEADLK, vze_exec(self->gpu.fd, self->publish, NULL, &sync, 1, NULL));
	bind[0] = (struct drm_vze_sync) { .handle = self->done };
	EXPECT_EQ(-EDEADLK, vze_exec(self->gpu.fd, self->publish, NULL, bind, 1, NULL));
	bind[0].handle = bound;
	EXPECT_EQ(-EDEADLK, vze_exec(self->gpu.fd, self->publish, NULL, bind, 1, NULL));
	*word = 77;
	ASSERT_EQ(0, vze_fence_wake(self->gpu.fd));
	EXPECT_DONE();
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, bound, VZE_WAIT_MS));
	EXPECT_EQ(0, vze_exec(self->gpu.fd, self->publish, NULL, &sync, 1, NULL));
	EXPECT_EQ(0, vze_exec(self->gpu.fd, self->publish, NULL, bind, 1, NULL));

	/* A bind that waits for nothing that parks is no obstacle. */
	bind[0] = (struct drm_vze_sync) { .flags = DRM_VZE_SYNC_SIGNAL, .handle = bound };
	ASSERT_EQ(0, vze_vm_bind_syncs(self->gpu.fd, self->gpu.vm, DRM_VZE_VM_BIND_ASYNC, &op, 1,
				       bind, 1));
	bind[0].flags = 0;
	EXPECT_EQ(0, vze_exec(self->gpu.fd, self->publish, NULL, bind, 1, NULL));
	EXPECT_EQ(-EINVAL, queue_create(self->gpu.fd, self->gpu.vm, DRM_VZE_QUEUE_PUBLISH << 1,
					&(uint32_t){ 0 }));
}

/* Jobs of one address space do not wait for each other, whatever their queues publish. */
VZE_TEST(sync, not_within_an_address_space)
{
	uint32_t fence, word;

	ASSERT_EQ(0, held_up(self, self->publish, 0, &fence));
	EXPECT_WAITS();
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VA_HOLD, SIZE));
	ASSERT_EQ(0, vze_syncobj_create(self->gpu.fd, false, &word));
	ASSERT_EQ(0, vze_submit(self->gpu.fd, self->gpu.queue, NULL, word));
	ASSERT_EQ(0, vze_syncobj_wait(self->gpu.fd, word, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(self->gpu.fd, word));
	EXPECT_WAITS();
	SIGNAL(fence);
	EXPECT_DONE();
}

static int begin_access(void *arg)
{
	int buf = *(int *)arg;

	return -prime_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
}

/*
 * An object of ours that another file (@index 0: same device, the same object; 1: the second
 * device) uses in its own address space. Its copy reads what the PUBLISH job writes, and
 * the CPU access begins after that.
 */
static void across(struct __test_metadata *_metadata, FIXTURE_DATA(sync) *self,
		   unsigned int index)
{
	uint32_t object, handle, fence, out, ordinary;
	struct vze_gpu other;
	int buf, status;
	char *mem, *map;
	pid_t child;

	ASSERT_EQ(0, vze_gpu_open(&other, index));
	ASSERT_EQ(0, vze_gpu_start(&other));
	ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &object));
	buf = prime_export(self->gpu.fd, object, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, buf);
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(0, prime_import(other.fd, buf, &handle));
	ASSERT_EQ(0, vze_map(other.fd, other.vm, handle, 0, SIZE, VA_BUF, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, vze_gem_create(other.fd, SIZE, DRM_VZE_PLACEMENT_VRAM, 0, &handle));
	ASSERT_EQ(0, vze_map(other.fd, other.vm, handle, 0, SIZE, VA_OURS, 0));
	ASSERT_EQ(0, vze_syncobj_create(other.fd, false, &out));

	vze_pattern_fill(self->mem, SIZE, 9);
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, object, 0, SIZE, VA_BUF, 0));
	ASSERT_EQ(0, map_buf(self, &self->hold, VA_HOLD, DRM_VZE_BIND_READONLY));
	ASSERT_EQ(0, prime_vgem_fence(self->vgem, self->hold.vgem, true, &fence));
	ASSERT_EQ(0, copy(self, self->publish, VA_BUF, VA_OURS));

	vze_cs_copy(&other.cs, VA_OURS, VA_BUF, SIZE);
	ordinary = other.queue;
	ASSERT_EQ(0, vze_submit(other.fd, ordinary, &other.cs, out));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(begin_access(&buf));
	EXPECT_WAITS();
	EXPECT_EQ(-ETIME, vze_syncobj_wait(other.fd, out, A_WHILE));
	EXPECT_EQ(0, waitpid(child, &status, WNOHANG));
	status = prime_vgem_signal(self->vgem, fence);
	EXPECT_DONE();
	EXPECT_EQ(0, vze_reap(child));
	ASSERT_EQ(0, vze_syncobj_wait(other.fd, out, VZE_WAIT_MS));
	EXPECT_EQ(1, vze_syncobj_status(other.fd, out));
	map = vze_gem_mmap(other.fd, handle, SIZE, PROT_READ);
	ASSERT_NE(MAP_FAILED, (void *)map);
	EXPECT_EQ(-1, vze_pattern_check(map, SIZE, 9));
	EXPECT_EQ(-1, vze_pattern_check(mem, SIZE, 9));
	munmap(map, SIZE);
	munmap(mem, SIZE);
	close(buf);
	/* Not the leak check: the first device is still in use. */
	vze_gpu_close(&other);
	if (status == -ETIMEDOUT)
		SKIP(return, "the machine stood still for longer than vgem waits");
	ASSERT_EQ(0, status);
}

VZE_TEST(sync, across_files)
{
	across(_metadata, self, 0);
}

VZE_TEST(sync, across_devices)
{
	if (vze_num_gpus() < 2)
		SKIP(return, "needs 2 devices");
	across(_metadata, self, 1);
}

/*
 * Two files, each a PUBLISH queue, both buffers mapped by both: every EXEC locks both
 * reservations, in whatever order they were mapped. All jobs end.
 */
VZE_TEST(sync, many_publishers)
{
	enum { JOBS = 60 };
	pid_t child[4];
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		child[i] = fork();
		ASSERT_LE(0, child[i]);
		if (!child[i]) {
			struct vze_gpu gpu;
			uint32_t a, b, queue, out;

			if (vze_gpu_open(&gpu, 0) || vze_gpu_start(&gpu) ||
			    prime_import(gpu.fd, i % 2 ? self->data.buf : self->hold.buf, &a) ||
			    prime_import(gpu.fd, i % 2 ? self->hold.buf : self->data.buf, &b) ||
			    vze_map(gpu.fd, gpu.vm, a, 0, SIZE, VA_BUF, 0) ||
			    vze_map(gpu.fd, gpu.vm, b, 0, SIZE, VA_HOLD, 0) ||
			    queue_create(gpu.fd, gpu.vm, DRM_VZE_QUEUE_PUBLISH, &queue) ||
			    vze_syncobj_create(gpu.fd, false, &out))
				_exit(1);
			/* The buffers in the order of the process that is odd. */
			vze_cs_add(&gpu.cs, i % 2 ? VA_BUF : VA_HOLD, 1, 0);
			for (k = 0; k < JOBS; k++) {
				if (vze_submit(gpu.fd, queue, &gpu.cs, out))
					_exit(2);
			}
			if (vze_syncobj_wait(gpu.fd, out, 3 * VZE_WAIT_MS) ||
			    vze_syncobj_status(gpu.fd, out) != 1)
				_exit(3);
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, vze_reap(child[i]));
	EXPECT_EQ(4 * JOBS, *(uint64_t *)self->data.mem);
	EXPECT_EQ(1, prime_poll(self->data.buf, POLLOUT));
}

TEST_HARNESS_MAIN
