// SPDX-License-Identifier: MIT
/*
 * The interface as a table: every ioctl of vze_drm.h is known to the module, none
 * is known beyond them, and every flag, pad and reserved field refuses every bit
 * that has no meaning. A new ioctl fails here until it stands in the table, and
 * with it comes the test program that its author owes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../kselftest_harness.h"
#include "fail_nth.h"
#include "share_calls.h"
#include "vze_test.h"

static const struct {
	const char *name;
	unsigned long request;
	unsigned int nr;
	size_t size;
} known[] = {
#define KNOWN(upper, lower) \
	{ #upper, DRM_IOCTL_VZE_##upper, DRM_VZE_##upper, sizeof(struct drm_vze_##lower) }
	KNOWN(QUERY, query),
	KNOWN(GEM_CREATE, gem_create),
	KNOWN(GEM_USERPTR, gem_userptr),
	KNOWN(GEM_MMAP_OFFSET, gem_mmap_offset),
	KNOWN(GEM_INFO, gem_info),
	KNOWN(VM_CREATE, vm_create),
	KNOWN(VM_DESTROY, vm_destroy),
	KNOWN(VM_BIND, vm_bind),
	KNOWN(VM_INFO, vm_info),
	KNOWN(QUEUE_CREATE, queue_create),
	KNOWN(QUEUE_DESTROY, queue_destroy),
	KNOWN(QUEUE_STATE, queue_state),
	KNOWN(EXEC, exec),
	KNOWN(FENCE_WAIT, fence_wait),
	KNOWN(FENCE_WAKE, fence_wake),
	KNOWN(SHARE_CREATE, share_create),
	KNOWN(SHARE_OPEN, share_open),
	KNOWN(SHARE_PUT, share_put),
	KNOWN(SHARE_FD, share_fd),
	KNOWN(SHARE_INFO, share_info),
	KNOWN(SHARE_IMPORTERS, share_importers),
	KNOWN(SHARE_REVOKE, share_revoke),
#undef KNOWN
};

/* One valid request of each kind, ready to have a bit spoiled. */
struct requests {
	struct drm_vze_query query;
	struct drm_vze_query_device device;
	struct drm_vze_gem_create gem_create;
	struct drm_vze_gem_userptr gem_userptr;
	struct drm_vze_gem_mmap_offset gem_mmap_offset;
	struct drm_vze_vm_create vm_create;
	struct drm_vze_vm_destroy vm_destroy;
	struct drm_vze_vm_bind vm_map;
	struct drm_vze_bind_op map_op;
	struct drm_vze_vm_bind vm_unmap;
	struct drm_vze_bind_op unmap_op;
	struct drm_vze_vm_bind vm_protect;
	struct drm_vze_bind_op protect_op;
	struct drm_vze_vm_info vm_info;
	struct drm_vze_queue_create queue_create;
	struct drm_vze_queue_destroy queue_destroy;
	struct drm_vze_exec exec;
	struct drm_vze_batch batch;
	struct drm_vze_sync sync;
	struct drm_vze_fence_wait fence_wait;
	struct drm_vze_fence_wake fence_wake;
	struct drm_vze_share_create share_create;
	struct drm_vze_share_open share_open;
	struct drm_vze_share_fd share_fd;
	struct drm_vze_share_info share_info;
	struct drm_vze_share_revoke share_revoke;
};

#define FIELD(member, request, path, legal) \
	{ #path, DRM_IOCTL_VZE_##request, offsetof(struct requests, member), \
	  offsetof(struct requests, path), sizeof(((struct requests *)0)->path), legal }

static const struct {
	const char *name;
	unsigned long request;
	size_t args;
	size_t field;
	size_t size;
	/* bits that mean something, which other tests cover */
	uint64_t legal;
} fields[] = {
	FIELD(gem_create, GEM_CREATE, gem_create.flags, DRM_VZE_GEM_COMPRESSIBLE |
	      DRM_VZE_GEM_EXPLICIT),
	FIELD(gem_create, GEM_CREATE, gem_create.pad, 0),
	FIELD(gem_create, GEM_CREATE, gem_create.placement, DRM_VZE_PLACEMENT_VRAM |
	      DRM_VZE_PLACEMENT_SYSTEM),
	FIELD(gem_userptr, GEM_USERPTR, gem_userptr.flags, DRM_VZE_USERPTR_READONLY |
	      DRM_VZE_USERPTR_FROM),
	FIELD(gem_userptr, GEM_USERPTR, gem_userptr.source_fd, 0),
	FIELD(gem_userptr, GEM_USERPTR, gem_userptr.source_handle, 0),
	FIELD(gem_mmap_offset, GEM_MMAP_OFFSET, gem_mmap_offset.flags, 0),
	FIELD(vm_create, VM_CREATE, vm_create.flags, 0),
	FIELD(vm_destroy, VM_DESTROY, vm_destroy.pad, 0),
	FIELD(vm_map, VM_BIND, vm_map.flags, DRM_VZE_VM_BIND_ASYNC),
	FIELD(vm_map, VM_BIND, map_op.flags, DRM_VZE_BIND_READONLY | DRM_VZE_BIND_NO_ACCESS),
	FIELD(vm_map, VM_BIND, map_op.op, DRM_VZE_BIND_UNMAP | DRM_VZE_BIND_PROTECT),
	FIELD(vm_map, VM_BIND, map_op.pad, 0),
	FIELD(vm_unmap, VM_BIND, vm_unmap.flags, DRM_VZE_VM_BIND_ASYNC | DRM_VZE_VM_BIND_DEFER),
	FIELD(vm_unmap, VM_BIND, unmap_op.flags, 0),
	FIELD(vm_unmap, VM_BIND, unmap_op.handle, 0),
	FIELD(vm_unmap, VM_BIND, unmap_op.pad, 0),
	FIELD(vm_unmap, VM_BIND, unmap_op.offset, 0),
	FIELD(vm_protect, VM_BIND, protect_op.flags, DRM_VZE_BIND_READONLY),
	FIELD(vm_protect, VM_BIND, protect_op.handle, 0),
	FIELD(vm_protect, VM_BIND, protect_op.pad, 0),
	FIELD(vm_protect, VM_BIND, protect_op.offset, 0),
	FIELD(vm_info, VM_INFO, vm_info.pad, 0),
	FIELD(queue_create, QUEUE_CREATE, queue_create.flags, DRM_VZE_QUEUE_PUBLISH),
	FIELD(queue_create, QUEUE_CREATE, queue_create.priority, 3),
	FIELD(queue_destroy, QUEUE_DESTROY, queue_destroy.pad, 0),
	FIELD(exec, EXEC, exec.flags, 0),
	FIELD(exec, EXEC, batch.pad, 0),
	FIELD(exec, EXEC, sync.flags, DRM_VZE_SYNC_SIGNAL | DRM_VZE_SYNC_TIMELINE),
	FIELD(exec, EXEC, sync.point, 0),
	FIELD(fence_wait, FENCE_WAIT, fence_wait.op, 7),
	FIELD(fence_wake, FENCE_WAKE, fence_wake.flags, 0),
	FIELD(fence_wake, FENCE_WAKE, fence_wake.pad, 0),
	FIELD(share_create, SHARE_CREATE, share_create.flags, DRM_VZE_SHARE_READONLY |
	      DRM_VZE_SHARE_RANGE | DRM_VZE_SHARE_LIST),
	FIELD(share_create, SHARE_CREATE, share_create.vm_id, 0),
	FIELD(share_create, SHARE_CREATE, share_create.addr, 0),
	FIELD(share_create, SHARE_CREATE, share_create.pieces, 0),
	FIELD(share_create, SHARE_CREATE, share_create.num_pieces, 0),
	FIELD(share_create, SHARE_CREATE, share_create.pad, 0),
	FIELD(share_open, SHARE_OPEN, share_open.flags, DRM_VZE_SHARE_OPEN_BIND |
	      DRM_VZE_SHARE_OPEN_READONLY | DRM_VZE_SHARE_OPEN_IS_READONLY |
	      DRM_VZE_SHARE_OPEN_FD),
	FIELD(share_open, SHARE_OPEN, share_open.vm_id, 0),
	FIELD(share_open, SHARE_OPEN, share_open.addr, 0),
	FIELD(share_open, SHARE_OPEN, share_open.fd, 0),
	FIELD(share_open, SHARE_OPEN, share_open.pad, 0),
	FIELD(share_fd, SHARE_FD, share_fd.flags, DRM_VZE_SHARE_FD_HANDLE),
	FIELD(share_fd, SHARE_FD, share_fd.handle, 0),
	FIELD(share_fd, SHARE_FD, share_fd.pad, 0),
	FIELD(share_info, SHARE_INFO, share_info.pad, 0),
	FIELD(share_revoke, SHARE_REVOKE, share_revoke.flags, DRM_VZE_SHARE_REVOKE_UNMAP),
	FIELD(share_revoke, SHARE_REVOKE, share_revoke.pad, 0),
};

FIXTURE(uapi_coverage) {
	struct vze_gpu gpu;
	struct requests r;
	uint32_t handle, syncobj;
	struct drm_vze_share_create share;
	int share_fd;
	uint64_t word;
	void *user;
};

FIXTURE_SETUP(uapi_coverage)
{
	struct vze_gpu *gpu = &self->gpu;

	VZE_SETUP(gpu);
	ASSERT_EQ(0, vze_gpu_start(gpu));
	ASSERT_EQ(0, vze_gem_create(gpu->fd, SZ_4K, DRM_VZE_PLACEMENT_VRAM, 0, &self->handle));
	ASSERT_EQ(0, vze_syncobj_create(gpu->fd, false, &self->syncobj));
	vze_cs_plain(&gpu->cs, VZE_HW_CMD_NOP);
	self->user = vze_anon(SZ_4K, SZ_4K);
	ASSERT_NE(NULL, self->user);
}

FIXTURE_TEARDOWN(uapi_coverage)
{
	VZE_TEARDOWN(&self->gpu);
}

/* Fills every request anew, with ids that the requests may use up. */
static int prepare(FIXTURE_DATA(uapi_coverage) *self)
{
	struct requests *r = &self->r;
	int fd = self->gpu.fd;
	uint32_t vm, queue;
	int ret;

	ret = vze_vm_create(fd, &vm);
	if (!ret)
		ret = vze_queue_create(fd, vm, &queue);
	if (!ret)
		ret = vze_map(fd, self->gpu.vm, self->handle, 0, SZ_4K, VZE_VA, 0);
	if (!ret)
		ret = vze_share_create(fd, self->handle, 0, &self->share);
	if (ret)
		return ret;
	self->share_fd = share_fd(fd, &self->share.token);
	if (self->share_fd < 0)
		return self->share_fd;

	memset(r, 0, sizeof(*r));
	r->query.query = DRM_VZE_QUERY_DEVICE;
	r->query.size = sizeof(r->device);
	r->query.data = (uintptr_t)&r->device;
	r->gem_create.size = SZ_4K;
	r->gem_create.placement = DRM_VZE_PLACEMENT_SYSTEM;
	r->gem_userptr.addr = (uintptr_t)self->user;
	r->gem_userptr.size = SZ_4K;
	r->gem_mmap_offset.handle = self->handle;
	r->vm_destroy.vm_id = vm;
	r->map_op = (struct drm_vze_bind_op) {
		.op = DRM_VZE_BIND_MAP, .handle = self->handle, .range = SZ_4K, .addr = VZE_VA,
	};
	r->vm_map.vm_id = self->gpu.vm;
	r->vm_map.num_ops = 1;
	r->vm_map.ops = (uintptr_t)&r->map_op;
	r->unmap_op = (struct drm_vze_bind_op) {
		.op = DRM_VZE_BIND_UNMAP, .range = SZ_4K, .addr = VZE_VA,
	};
	r->vm_unmap = r->vm_map;
	r->vm_unmap.ops = (uintptr_t)&r->unmap_op;
	r->protect_op = r->unmap_op;
	r->protect_op.op = DRM_VZE_BIND_PROTECT;
	r->vm_protect = r->vm_map;
	r->vm_protect.ops = (uintptr_t)&r->protect_op;
	r->vm_info.vm_id = self->gpu.vm;
	r->queue_create.vm_id = self->gpu.vm;
	r->queue_destroy.queue_id = queue;
	r->batch.addr = self->gpu.cs.va;
	r->batch.size = self->gpu.cs.used * 8;
	r->sync.flags = DRM_VZE_SYNC_SIGNAL;
	r->sync.handle = self->syncobj;
	r->exec.queue_id = self->gpu.queue;
	r->exec.num_batches = 1;
	r->exec.num_syncs = 1;
	r->exec.batches = (uintptr_t)&r->batch;
	r->exec.syncs = (uintptr_t)&r->sync;
	self->word = 1;
	r->fence_wait.addr = (uintptr_t)&self->word;
	r->fence_wait.op = VZE_HW_WAIT_EQ;
	r->fence_wait.value = 1;
	r->share_create.handle = self->handle;
	r->share_open.token = self->share.token;
	r->share_fd.token = self->share.token;
	r->share_info.fd = self->share_fd;
	r->share_revoke.id = self->share.token.id;
	return 0;
}

/* Drops what prepare() made and the request did not use up. */
static void forget(FIXTURE_DATA(uapi_coverage) *self)
{
	if (self->r.share_fd.fd > 0)
		close(self->r.share_fd.fd);
	close(self->share_fd);
	vze_share_put(self->gpu.fd, self->share.token.id);
	vze_queue_destroy(self->gpu.fd, self->r.queue_destroy.queue_id);
	vze_vm_destroy(self->gpu.fd, self->r.vm_destroy.vm_id);
}

VZE_TEST(uapi_coverage, every_reserved_bit)
{
	char *base = (char *)&self->r;
	unsigned int i, bit;

	for (i = 0; i < ARRAY_LEN(fields); i++) {
		/* The unspoiled request works: what follows fails for the one bit. */
		ASSERT_EQ(0, prepare(self));
		EXPECT_EQ(0, vze_ioctl(self->gpu.fd, fields[i].request, base + fields[i].args)) {
			TH_LOG("unspoiled request for %s", fields[i].name);
		}
		forget(self);

		for (bit = 0; bit < fields[i].size * 8; bit++) {
			if (fields[i].legal & 1ULL << bit)
				continue;
			ASSERT_EQ(0, prepare(self));
			base[fields[i].field + bit / 8] ^= 1 << bit % 8;
			EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, fields[i].request,
						     base + fields[i].args)) {
				TH_LOG("bit %u of %s", bit, fields[i].name);
			}
			base[fields[i].field + bit / 8] ^= 1 << bit % 8;
			forget(self);
		}
	}
}

/* The DRM core refuses an unknown number before it reads the argument. */
static int probe(int fd, unsigned int nr)
{
	return vze_ioctl(fd, DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t), (void *)8);
}

VZE_TEST(uapi_coverage, no_ioctl_without_a_test)
{
	bool listed[DRM_COMMAND_END - DRM_COMMAND_BASE] = {};
	unsigned int i, nr;

	for (i = 0; i < ARRAY_LEN(known); i++) {
		ASSERT_LT(known[i].nr, ARRAY_LEN(listed));
		ASSERT_FALSE(listed[known[i].nr]);
		listed[known[i].nr] = true;
		EXPECT_EQ(0, known[i].size % 8) {
			TH_LOG("%s", known[i].name);
		}
		EXPECT_EQ(known[i].size, _IOC_SIZE(known[i].request)) {
			TH_LOG("%s", known[i].name);
		}
	}
	for (nr = 0; nr < ARRAY_LEN(listed); nr++) {
		int ret = probe(self->gpu.fd, nr);

		if (listed[nr]) {
			EXPECT_EQ(-EFAULT, ret) {
				TH_LOG("ioctl 0x%02x is not known to the module", nr);
			}
		} else {
			EXPECT_TRUE(ret == -EINVAL || ret == -ENOTTY) {
				TH_LOG("ioctl 0x%02x has no line here: result %d", nr, ret);
			}
		}
	}
}

/*
 * Nor one without failure injection. The number beside a form is what its program has found it to
 * call, so that a form in the list is one that runs.
 */
VZE_TEST(uapi_coverage, no_ioctl_without_failure_injection)
{
	static const unsigned int forms[] = {
#define NUMBER(form, nr) nr,
		VZE_FAIL_GEM_FORMS(NUMBER)
		VZE_FAIL_VM_FORMS(NUMBER)
		VZE_FAIL_BIND_FORMS(NUMBER)
		VZE_FAIL_EXEC_FORMS(NUMBER)
		VZE_FAIL_SHARE_FORMS(NUMBER)
		VZE_FAIL_PRIME_FORMS(NUMBER)
#undef NUMBER
	};
	unsigned int nr, i;

	for (nr = 0; nr < DRM_COMMAND_END - DRM_COMMAND_BASE; nr++) {
		int ret = probe(self->gpu.fd, nr);

		if (ret == -EINVAL || ret == -ENOTTY)
			continue;
		for (i = 0; i < ARRAY_LEN(forms) && forms[i] != nr; i++)
			;
		EXPECT_NE(ARRAY_LEN(forms), i) {
			TH_LOG("ioctl 0x%02x has no form in fail_nth.h", nr);
		}
	}
}

/* A short structure is one of an older minor version: the rest counts as zero. */
VZE_TEST(uapi_coverage, shorter_and_longer_structures)
{
	struct {
		struct drm_vze_gem_create args;
		uint64_t beyond[4];
	} longer = {
		.args = { .size = SZ_4K, .placement = DRM_VZE_PLACEMENT_SYSTEM },
	};
	struct drm_vze_gem_create shorter = { .size = SZ_4K };
	struct drm_vze_queue_state state = { .queue_id = self->gpu.queue };
	unsigned long request;
	int fd = self->gpu.fd;

	/* Ends before placement, which is 0 then. */
	request = _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
		       DRM_COMMAND_BASE + DRM_VZE_GEM_CREATE, 8);
	EXPECT_EQ(-EINVAL, vze_ioctl(fd, request, &shorter));
	request = _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
		       DRM_COMMAND_BASE + DRM_VZE_GEM_CREATE, sizeof(longer));
	ASSERT_EQ(0, vze_ioctl(fd, request, &longer));
	EXPECT_EQ(0, longer.beyond[0] | longer.beyond[1] | longer.beyond[2] | longer.beyond[3]);
	EXPECT_EQ(0, vze_gem_close(fd, longer.args.handle));

	/* Only the first 8 bytes come back: nothing beyond them is written. */
	state.va = 0x1122334455667788ULL;
	state.nearest_distance = 0x99;
	request = _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
		       DRM_COMMAND_BASE + DRM_VZE_QUEUE_STATE, 8);
	ASSERT_EQ(0, vze_ioctl(fd, request, &state));
	EXPECT_EQ(DRM_VZE_QUEUE_STATE_OK, state.state);
	EXPECT_EQ(0x1122334455667788ULL, state.va);
	EXPECT_EQ(0x99, state.nearest_distance);
}

/* All ones in every structure: an error from each, nothing left behind. */
VZE_TEST(uapi_coverage, all_ones)
{
	uint8_t args[512];
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(known); i++) {
		ASSERT_LE(known[i].size, sizeof(args));
		memset(args, 0xff, sizeof(args));
		EXPECT_GT(0, vze_ioctl(self->gpu.fd, known[i].request, args)) {
			TH_LOG("%s", known[i].name);
		}
	}
}

VZE_TEST(uapi_coverage, version)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
	const struct {
		uint64_t capability;
		uint64_t value;
	} caps[] = {
		{ DRM_CAP_PRIME, DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT },
		{ DRM_CAP_SYNCOBJ, 1 },
		{ DRM_CAP_SYNCOBJ_TIMELINE, 1 },
	};
	unsigned int i;

	ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ(VZE_DRIVER_NAME, name);
	EXPECT_EQ(VZE_UAPI_VERSION_MAJOR, version.version_major);
	EXPECT_EQ(VZE_UAPI_VERSION_MINOR, version.version_minor);
	for (i = 0; i < ARRAY_LEN(caps); i++) {
		struct drm_get_cap cap = { .capability = caps[i].capability };

		ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_GET_CAP, &cap));
		EXPECT_EQ(caps[i].value, cap.value) {
			TH_LOG("capability 0x%llx", (unsigned long long)cap.capability);
		}
	}
}

TEST_HARNESS_MAIN
