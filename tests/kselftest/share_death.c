// SPDX-License-Identifier: MIT
/* How shares end, in every order, and what it means for the memory. Cases 27 to 29. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../kselftest_harness.h"
#include "share_calls.h"

#define SIZE	SZ_2M

FIXTURE(share_death) {
	struct vze_gpu gpu;
	int exporter, importer;
	uint32_t handle;
	struct drm_vze_share_create share;
};

FIXTURE_VARIANT(share_death) {
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(share_death, vram) { .placement = DRM_VZE_PLACEMENT_VRAM };
FIXTURE_VARIANT_ADD(share_death, system) { .placement = DRM_VZE_PLACEMENT_SYSTEM };

FIXTURE_SETUP(share_death)
{
	VZE_SETUP(&self->gpu);
	self->exporter = vze_gpu_reopen(&self->gpu);
	self->importer = vze_gpu_reopen(&self->gpu);
	ASSERT_LE(0, self->exporter);
	ASSERT_LE(0, self->importer);
}

FIXTURE_TEARDOWN(share_death)
{
	if (self->exporter >= 0)
		close(self->exporter);
	close(self->importer);
	VZE_TEARDOWN(&self->gpu);
}

static int export(FIXTURE_DATA(share_death) *self, uint32_t placement, uint64_t seed)
{
	int ret = vze_gem_create(self->exporter, SIZE, placement, 0, &self->handle);

	if (!ret)
		ret = share_fill(self->exporter, self->handle, SIZE, seed);
	if (!ret)
		ret = vze_share_create(self->exporter, self->handle, 0, &self->share);
	return ret;
}

enum step { PUT, FREE, CLOSE };

/*
 * Case 29. Put and free are the exporter's, close is the importer's. Until the importer
 * closes it reads what was there; the memory goes back with the last of free and close.
 */
VZE_TEST(share_death, six_orders)
{
	static const enum step orders[6][3] = {
		{ PUT, FREE, CLOSE }, { PUT, CLOSE, FREE }, { FREE, PUT, CLOSE },
		{ FREE, CLOSE, PUT }, { CLOSE, PUT, FREE }, { CLOSE, FREE, PUT },
	};
	bool vram = variant->placement == DRM_VZE_PLACEMENT_VRAM;
	unsigned int order, i;

	for (order = 0; order < 6; order++) {
		bool freed = false, closed = false, ended = false;
		uint32_t view, again;
		char *map;

		ASSERT_EQ(0, export(self, variant->placement, order));
		ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
		map = vze_gem_mmap(self->importer, view, SIZE, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		for (i = 0; i < 3; i++) {
			switch (orders[order][i]) {
			case PUT:
				/* After the free there is nothing left to put. */
				EXPECT_EQ(freed ? -ENOENT : 0,
					  vze_share_put(self->exporter, self->share.token.id));
				ended = true;
				break;
			case FREE:
				EXPECT_EQ(0, vze_gem_close(self->exporter, self->handle));
				freed = true;
				ended = true;
				break;
			case CLOSE:
				EXPECT_EQ(-1, vze_pattern_check(map, SIZE, order));
				munmap(map, SIZE);
				EXPECT_EQ(0, vze_gem_close(self->importer, view));
				closed = true;
				break;
			}
			if (!closed)
				EXPECT_EQ(-1, vze_pattern_check(map, SIZE, order)) {
					TH_LOG("order %u, step %u", order, i);
				}
			EXPECT_EQ(ended ? -ENOENT : 0,
				  vze_share_open(self->importer, &self->share.token, &again,
						 NULL));
			if (!ended)
				EXPECT_EQ(0, vze_gem_close(self->importer, again));
			EXPECT_EQ(vram && !(freed && closed) ? SIZE : 0,
				  vze_figure_wait(&self->gpu, "vze_counts", "vram_used",
						  vram && !(freed && closed) ? SIZE : 0));
		}
		EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "objects", 0));
		EXPECT_EQ(0, vze_figure(&self->gpu, "vze_counts", "shares"));
	}
}

/* Case 27: the token of memory that was freed never opens what came in its place. */
VZE_TEST(share_death, not_the_next_ones_memory)
{
	struct drm_vze_share_token old;
	uint32_t view, handle;
	int round;

	ASSERT_EQ(0, export(self, variant->placement, 1));
	old = self->share.token;
	ASSERT_EQ(0, vze_share_open(self->importer, &old, &view, NULL));
	for (round = 0; round < 50; round++) {
		ASSERT_EQ(0, vze_gem_close(self->exporter, self->handle));
		ASSERT_EQ(0, export(self, variant->placement, 100 + round));
		EXPECT_LT(old.id, self->share.token.id);
		EXPECT_EQ(-ENOENT, vze_share_open(self->importer, &old, &handle, NULL));
	}
	EXPECT_EQ(-1, share_check(self->importer, view, SIZE, 1));
}

/* The file goes with everything in it: as after put and free, but at once. */
VZE_TEST(share_death, exporter_closes_its_file)
{
	uint32_t view, handle;

	ASSERT_EQ(0, export(self, variant->placement, 3));
	ASSERT_EQ(0, vze_share_open(self->importer, &self->share.token, &view, NULL));
	close(self->exporter);
	self->exporter = -1;
	EXPECT_EQ(-ENOENT, vze_share_open(self->importer, &self->share.token, &handle, NULL));
	EXPECT_EQ(-1, share_check(self->importer, view, SIZE, 3));
	EXPECT_EQ(0, vze_gem_close(self->importer, view));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "objects", 0));
}

/* Who holds the only reference of many shares' memory, one of another: a chain of views. */
VZE_TEST(share_death, chain_of_views)
{
	struct drm_vze_share_create share;
	uint32_t views[200], last;
	int i;

	ASSERT_EQ(0, export(self, variant->placement, 9));
	share = self->share;
	for (i = 0; i < ARRAY_LEN(views); i++) {
		ASSERT_EQ(0, vze_share_open(self->importer, &share.token, &views[i], NULL));
		ASSERT_EQ(0, vze_share_create(self->importer, views[i], 0, &share));
		EXPECT_EQ(SIZE, share.size);
	}
	ASSERT_EQ(0, vze_share_open(self->gpu.fd, &share.token, &last, NULL));
	close(self->exporter);
	self->exporter = -1;
	for (i = 0; i < ARRAY_LEN(views); i++)
		ASSERT_EQ(0, vze_gem_close(self->importer, views[i]));
	EXPECT_EQ(-1, share_check(self->gpu.fd, last, SIZE, 9));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, last));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "objects", 0));
	EXPECT_EQ(0, vze_figure_wait(&self->gpu, "vze_counts", "vram_used", 0));
}

/* Many shares at once; each ends with its own object and no other does. */
VZE_TEST(share_death, each_with_its_own_object)
{
	enum { MANY = 2000 };
	struct drm_vze_share_token *tokens = calloc(MANY, sizeof(*tokens));
	uint32_t *handles = calloc(MANY, sizeof(*handles)), view;
	int i;

	ASSERT_NE(NULL, tokens);
	ASSERT_NE(NULL, handles);
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, vze_gem_create(self->exporter, SZ_4K, variant->placement, 0,
					    &handles[i]));
		ASSERT_EQ(0, vze_share_create(self->exporter, handles[i], 0, &self->share));
		tokens[i] = self->share.token;
	}
	EXPECT_EQ(MANY, vze_figure(&self->gpu, "vze_counts", "shares"));
	for (i = 0; i < MANY; i += 2)
		ASSERT_EQ(0, vze_gem_close(self->exporter, handles[i]));
	EXPECT_EQ(MANY / 2, vze_figure(&self->gpu, "vze_counts", "shares"));
	for (i = 0; i < MANY; i++) {
		int ret = vze_share_open(self->importer, &tokens[i], &view, NULL);

		ASSERT_EQ(i % 2 ? 0 : -ENOENT, ret);
		if (!ret)
			ASSERT_EQ(0, vze_gem_close(self->importer, view));
	}
	free(handles);
	free(tokens);
}

TEST_HARNESS_MAIN
