// SPDX-License-Identifier: MIT
/* Shares of a list of pieces: their order, their seams, what makes two lists equal. */
#include <errno.h>
#include <stdlib.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define OBJECTS	6
#define PAGES	8
#define SIZE	(PAGES * SZ_4K)
#define SIGNATURE(object, page) (0x11570000ULL | (object) << 8 | (page))

FIXTURE(share_list) {
	struct vze_gpu gpu;
	int importer;
	uint32_t handle[OBJECTS];
	struct drm_vze_share_create share;
};

FIXTURE_SETUP(share_list)
{
	unsigned int i, page;
	uint64_t *map;

	VZE_SETUP(&self->gpu);
	self->importer = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->importer);
	for (i = 0; i < OBJECTS; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_VRAM + i % 2, 0,
					    &self->handle[i]));
		map = vze_gem_mmap(self->gpu.fd, self->handle[i], SIZE, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, map);
		for (page = 0; page < PAGES; page++)
			map[page * 512] = SIGNATURE(i, page);
		munmap(map, SIZE);
	}
}

FIXTURE_TEARDOWN(share_list)
{
	close(self->importer);
	VZE_TEARDOWN(&self->gpu);
}

static struct drm_vze_share_piece piece(uint32_t handle, unsigned int page, unsigned int pages)
{
	return (struct drm_vze_share_piece) {
		.handle = handle, .offset = page * SZ_4K, .size = pages * SZ_4K,
	};
}

VZE_TEST(share_list, in_the_order_given)
{
	/* Object, first page, pages: shuffled, twice the same, neighbours that join. */
	static const unsigned int want[][3] = {
		{ 4, 2, 3 }, { 0, 7, 1 }, { 4, 2, 1 }, { 1, 0, 4 }, { 1, 4, 4 }, { 5, 0, 8 },
		{ 3, 1, 2 }, { 2, 6, 2 },
	};
	struct drm_vze_share_piece pieces[ARRAY_LEN(want)];
	unsigned int i, page, at = 0, pages = 0;
	uint32_t view;
	uint64_t *map, size;

	for (i = 0; i < ARRAY_LEN(want); i++) {
		pieces[i] = piece(self->handle[want[i][0]], want[i][1], want[i][2]);
		pages += want[i][2];
	}
	ASSERT_EQ(0, share_list(self->gpu.fd, pieces, ARRAY_LEN(want), 0, &self->share));
	EXPECT_EQ(pages * SZ_4K, self->share.size);
	EXPECT_EQ(ARRAY_LEN(want) - 1, self->share.segments);
	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, &size));
	ASSERT_EQ(pages * SZ_4K, size);
	map = vze_gem_mmap(self->importer, view, size, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	for (i = 0; i < ARRAY_LEN(want); i++) {
		for (page = 0; page < want[i][2]; page++, at++)
			EXPECT_EQ(SIGNATURE(want[i][0], want[i][1] + page), map[at * 512]);
	}
	/* The third piece is the first page of the first. */
	map[0] = 0x77;
	EXPECT_EQ(0x77, map[4 * 512]);
	munmap(map, size);
}

VZE_TEST(share_list, equal_lists)
{
	struct drm_vze_share_piece pieces[] = {
		piece(self->handle[0], 0, 4), piece(self->handle[0], 4, 4),
		piece(self->handle[3], 1, 2),
	};
	struct drm_vze_share_piece joined[] = {
		piece(self->handle[0], 0, 8), piece(self->handle[3], 1, 2),
	};
	struct drm_vze_share_create first, other;

	ASSERT_EQ(0, share_list(self->gpu.fd, pieces, 3, 0, &first));
	ASSERT_EQ(0, share_list(self->gpu.fd, pieces, 3, 0, &other));
	EXPECT_EQ(0, memcmp(&first.token, &other.token, sizeof(first.token)));
	/* Neighbouring pieces of one object count as one. */
	ASSERT_EQ(0, share_list(self->gpu.fd, joined, 2, 0, &other));
	EXPECT_EQ(first.token.id, other.token.id);
	/* Everything else is something else: */
	ASSERT_EQ(0, share_list(self->gpu.fd, pieces, 3, DRM_VZE_SHARE_READONLY, &other));
	EXPECT_NE(first.token.id, other.token.id);
	joined[1].offset += SZ_4K;
	ASSERT_EQ(0, share_list(self->gpu.fd, joined, 2, 0, &other));
	EXPECT_NE(first.token.id, other.token.id);
	ASSERT_EQ(0, share_list(self->gpu.fd, joined, 1, 0, &other));
	EXPECT_NE(first.token.id, other.token.id);
	/* the same memory as an object, */
	ASSERT_EQ(0, vze_share_create(self->gpu.fd, self->handle[0], 0, &self->share));
	EXPECT_NE(other.token.id, self->share.token.id);
	/* and what the exporter says with it. */
	self->share.flags = DRM_VZE_SHARE_LIST;
	self->share.handle = 0;
	self->share.pieces = (uintptr_t)joined;
	self->share.num_pieces = 1;
	self->share.user_data = 5;
	ASSERT_EQ(0, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &self->share));
	EXPECT_NE(other.token.id, self->share.token.id);
}

VZE_TEST(share_list, refused)
{
	const struct drm_vze_share_piece good = piece(self->handle[0], 0, 4);
	struct drm_vze_share_piece pieces[2] = { good, good };
	void *user = vze_anon(SZ_4K, SZ_4K);
	struct drm_vze_share_create args;
	uint32_t userptr;
	unsigned int i;

	ASSERT_NE(NULL, user);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, user, SZ_4K, 0, &userptr));
	/* The same in the first and in the last piece. */
	for (i = 0; i < 2; i++) {
#define BAD(result, field, value) do {							\
		pieces[i].field = value;						\
		EXPECT_EQ(result, share_list(self->gpu.fd, pieces, 2, 0, &self->share)) {	\
			TH_LOG("piece %u: " #field " = " #value, i);			\
		}									\
		pieces[i] = good;							\
} while (0)
		BAD(-EINVAL, pad, 1);
		BAD(-EINVAL, size, 0);
		BAD(-EINVAL, size, 8);
		BAD(-EINVAL, size, SIZE + SZ_4K);
		BAD(-EINVAL, size, ~0xfffULL);
		BAD(-EINVAL, offset, 8);
		BAD(-EINVAL, offset, SIZE);
		BAD(-EINVAL, offset, SIZE - 3 * SZ_4K);
		BAD(-EINVAL, offset, ~0xfffULL);
		BAD(-ENOENT, handle, 0);
		BAD(-ENOENT, handle, 12345);
		pieces[i].size = SZ_4K;
		BAD(-EOPNOTSUPP, handle, userptr);
#undef BAD
	}
	EXPECT_EQ(-EINVAL, share_list(self->gpu.fd, pieces, 0, 0, &self->share));
	EXPECT_EQ(-EINVAL, share_list(self->gpu.fd, pieces, DRM_VZE_MAX_SHARE_PIECES + 1, 0,
				      &self->share));
	EXPECT_EQ(-EFAULT, share_list(self->gpu.fd, NULL, 2, 0, &self->share));
	EXPECT_EQ(-EFAULT, share_list(self->gpu.fd, (void *)-64, 2, 0, &self->share));
	EXPECT_EQ(-EINVAL, share_list(self->gpu.fd, pieces, 2, DRM_VZE_SHARE_RANGE,
				      &self->share));

	/* What belongs to another form. */
	args = (struct drm_vze_share_create) {
		.flags = DRM_VZE_SHARE_LIST, .pieces = (uintptr_t)pieces, .num_pieces = 2,
	};
	args.handle = self->handle[0];
	EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &args));
	args.handle = 0;
	args.vm_id = 1;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &args));
	args.vm_id = 0;
	args.addr = SZ_4K;
	EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &args));
	args.addr = 0;
	args.flags = 0;
	args.handle = self->handle[0];
	EXPECT_EQ(-EINVAL, vze_ioctl(self->gpu.fd, DRM_IOCTL_VZE_SHARE_CREATE, &args));
	EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, userptr));
}

/* Any object of it that the exporter gives up ends it, first, last or in the middle. */
VZE_TEST(share_list, ends_with_any_object)
{
	struct drm_vze_share_piece pieces[OBJECTS];
	uint32_t view, again;
	unsigned int i, dead;

	for (dead = 0; dead < OBJECTS; dead++) {
		for (i = 0; i < OBJECTS; i++)
			pieces[i] = piece(self->handle[i], 0, PAGES);
		ASSERT_EQ(0, share_list(self->gpu.fd, pieces, OBJECTS, 0, &self->share));
		ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, self->handle[dead]));
		EXPECT_EQ(-ENOENT, vze_share_open(self->importer, &self->share.token, &again,
						  NULL));
		ASSERT_EQ(0, vze_gem_close(self->importer, view));
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &self->handle[dead]));
	}
}

#define CROWD		2048
#define CROWD_SHARES	128

/*
 * Many objects that are in many shares, and many that are not: giving one up ends the
 * shares that it is in, costs what these cost, and leaves the others alone.
 */
VZE_TEST(share_list, objects_in_many_shares)
{
	const unsigned int crowd = CROWD, shares = vze_rounds(CROWD_SHARES);
	struct drm_vze_share_piece *pieces = calloc(crowd + 1, sizeof(*pieces));
	uint32_t *own = calloc(shares, sizeof(*own));
	struct drm_vze_share_token *token = calloc(shares, sizeof(*token));
	unsigned long long live = vze_figure(&self->gpu, "vze_counts", "shares");
	struct drm_vze_share_create single;
	uint32_t handle, view;
	unsigned int i, j;

	ASSERT_TRUE(pieces && own && token);
	for (i = 0; i < crowd; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle));
		pieces[i] = piece(handle, 0, 1);
	}
	for (i = 0; i < shares; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &own[i]));
		pieces[crowd] = piece(own[i], 0, 1);
		ASSERT_EQ(0, share_list(self->gpu.fd, pieces, crowd + 1, 0, &self->share));
		token[i] = self->share.token;
	}
	/* In none of them; in one of its own. */
	for (i = 0; i < crowd; i++) {
		ASSERT_EQ(0, vze_gem_create(self->gpu.fd, SZ_4K, DRM_VZE_PLACEMENT_SYSTEM, 0,
					    &handle));
		ASSERT_EQ(0, vze_share_create(self->gpu.fd, handle, 0, &single));
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, handle));
		ASSERT_EQ(-ENOENT, vze_share_open(self->importer, &single.token, &view, NULL));
	}
	EXPECT_EQ(live + shares, vze_figure(&self->gpu, "vze_counts", "shares"));
	/* In one of them. */
	for (i = 0; i < shares / 2; i++) {
		ASSERT_EQ(0, vze_gem_close(self->gpu.fd, own[i]));
		for (j = 0; j < shares; j += shares / 8) {
			int ret = vze_share_open(self->importer, &token[j], &view, NULL);

			ASSERT_EQ(j <= i ? -ENOENT : 0, ret);
			if (!ret)
				ASSERT_EQ(0, vze_gem_close(self->importer, view));
		}
	}
	EXPECT_EQ(live + shares - shares / 2, vze_figure(&self->gpu, "vze_counts", "shares"));
	/* In all of them. */
	ASSERT_EQ(0, vze_gem_close(self->gpu.fd, pieces[crowd / 2].handle));
	EXPECT_EQ(live, vze_figure(&self->gpu, "vze_counts", "shares"));
	for (i = 0; i < shares; i++)
		ASSERT_EQ(-ENOENT, vze_share_open(self->importer, &token[i], &view, NULL));
	free(pieces);
	free(own);
	free(token);
}

/* A view is an object: pieces of it can stand in a list with others. */
VZE_TEST(share_list, of_views)
{
	struct drm_vze_share_piece pieces[2] = {
		piece(self->handle[0], 0, 4), piece(self->handle[1], 2, 4),
	};
	struct drm_vze_share_create second;
	uint32_t view, own, last;
	uint64_t *map;

	ASSERT_EQ(0, share_list(self->gpu.fd, pieces, 2, 0, &self->share));
	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	ASSERT_EQ(0, vze_gem_create(self->importer, SIZE, DRM_VZE_PLACEMENT_SYSTEM, 0, &own));
	pieces[0] = piece(own, 0, 1);
	pieces[1] = piece(view, 3, 3);
	ASSERT_EQ(0, share_list(self->importer, pieces, 2, 0, &second));
	EXPECT_EQ(3, second.segments);
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &second.token, &last, NULL));
	map = vze_gem_mmap(self->gpu.fd, last, second.size, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, map[0]);
	EXPECT_EQ(SIGNATURE(0, 3), map[512]);
	EXPECT_EQ(SIGNATURE(1, 2), map[2 * 512]);
	EXPECT_EQ(SIGNATURE(1, 3), map[3 * 512]);
	/* Giving the view up ends what was made of it. */
	ASSERT_EQ(0, vze_gem_close(self->importer, view));
	EXPECT_EQ(-ENOENT, vze_share_open(self->gpu.fd, &second.token, &own, NULL));
	EXPECT_EQ(SIGNATURE(1, 3), map[3 * 512]);
	munmap(map, second.size);
}

TEST_HARNESS_MAIN
