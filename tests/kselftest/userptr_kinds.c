// SPDX-License-Identifier: MIT
/*
 * Which kinds of memory can be imported, and how: one variant for each kind, the
 * four combinations of the mapping's and the import's access as tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>

#include "../kselftest_harness.h"
#include "vze_test.h"

#define SIZE	SZ_2M
#define READONLY DRM_VZE_USERPTR_READONLY

enum kind { ANON, THP, HUGETLB, MEMFD, TMPFS, PRIVATE_FILE, SHARED_FILE };

FIXTURE(kinds) {
	struct vze_gpu gpu;
	long pinned;
	/* descriptor behind the memory, -1: none */
	int file;
	char *mem;
	char *target;
	uint32_t target_handle;
	long huge_pages;
};

FIXTURE_VARIANT(kinds) {
	enum kind kind;
	/* a device write reaches the file behind it */
	bool shared;
	/* the kernel pins such memory for writing */
	bool write_pin;
};

FIXTURE_VARIANT_ADD(kinds, anonymous) { .kind = ANON, .write_pin = true };
FIXTURE_VARIANT_ADD(kinds, thp) { .kind = THP, .write_pin = true };
FIXTURE_VARIANT_ADD(kinds, hugetlb) { .kind = HUGETLB, .write_pin = true };
FIXTURE_VARIANT_ADD(kinds, memfd) { .kind = MEMFD, .shared = true, .write_pin = true };
FIXTURE_VARIANT_ADD(kinds, tmpfs) { .kind = TMPFS, .shared = true, .write_pin = true };
FIXTURE_VARIANT_ADD(kinds, private_file) { .kind = PRIVATE_FILE, .write_pin = true };
/* Write-back of the file would race with the device: long-term write pins are refused. */
FIXTURE_VARIANT_ADD(kinds, shared_file) { .kind = SHARED_FILE, .shared = true };

#define NR_HUGE	"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

static long nr_huge_pages(void)
{
	FILE *in = fopen(NR_HUGE, "re");
	long pages = -1;

	if (in) {
		if (fscanf(in, "%ld", &pages) != 1)
			pages = -1;
		fclose(in);
	}
	return pages;
}

static void set_huge_pages(long pages)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", pages);
	vze_write_file(NR_HUGE, text);
}

/* An unlinked file in @dir. */
static int file_in(const char *dir)
{
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s/vze-kinds-XXXXXX", dir);
	fd = mkstemp(name);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* A file on a file system that writes back, in a place where tests may write. */
static int file_with_writeback(void)
{
	static const char * const dirs[] = { ".", "/var/tmp", "/mnt/share", "/mnt/files" };
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_LEN(dirs); i++) {
		struct statfs fs;

		fd = file_in(dirs[i]);
		if (fd < 0)
			continue;
		/* An overlay may lie over anything: only what is surely written back. */
		if (!fstatfs(fd, &fs) && fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC &&
		    fs.f_type != OVERLAYFS_SUPER_MAGIC)
			return fd;
		close(fd);
	}
	return -1;
}

/* NULL, or why this kind cannot be had here. */
static const char *make(FIXTURE_DATA(kinds) *self, enum kind kind)
{
	int flags = kind == PRIVATE_FILE ? MAP_PRIVATE : MAP_SHARED;

	switch (kind) {
	case ANON:
		self->mem = vze_anon(SIZE, SZ_2M);
		if (self->mem)
			madvise(self->mem, SIZE, MADV_NOHUGEPAGE);
		return self->mem ? NULL : "no memory";
	case THP:
		self->mem = vze_anon(SIZE, SZ_2M);
		if (!self->mem || madvise(self->mem, SIZE, MADV_HUGEPAGE))
			return "no transparent huge pages";
		return NULL;
	case HUGETLB:
		self->huge_pages = nr_huge_pages();
		if (self->huge_pages < 0)
			return "no hugetlb";
		set_huge_pages(self->huge_pages + 2);
		self->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
		if (self->mem == MAP_FAILED) {
			self->mem = NULL;
			return "no free huge page";
		}
		return NULL;
	case MEMFD:
		self->file = memfd_create("vze-kinds", MFD_CLOEXEC);
		break;
	case TMPFS:
		self->file = file_in("/dev/shm");
		break;
	case PRIVATE_FILE:
		self->file = file_with_writeback();
		if (self->file < 0)
			self->file = file_in("/tmp");
		break;
	case SHARED_FILE:
		self->file = file_with_writeback();
		break;
	}
	if (self->file < 0)
		return "no file of this kind can be made here";
	if (ftruncate(self->file, SIZE))
		return "file cannot grow";
	self->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, self->file, 0);
	if (self->mem == MAP_FAILED) {
		self->mem = NULL;
		return "file cannot be mapped";
	}
	return NULL;
}

FIXTURE_SETUP(kinds)
{
	const char *reason;

	self->file = -1;
	self->huge_pages = -1;
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
	reason = make(self, variant->kind);
	if (reason) {
		if (self->huge_pages >= 0)
			set_huge_pages(self->huge_pages);
		SKIP(return, "%s", reason);
	}
	vze_pattern_fill(self->mem, SIZE, variant->kind);
	self->target = vze_anon(SIZE, SZ_4K);
	ASSERT_NE(NULL, self->target);
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, self->target, SIZE, 0, &self->target_handle));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, self->target_handle, 0, SIZE,
			     VZE_VA + SZ_1G, 0));
	self->pinned = vze_vmpin();
}

FIXTURE_TEARDOWN(kinds)
{
	VZE_TEARDOWN(&self->gpu);
	EXPECT_EQ(self->pinned - SIZE, vze_vmpin());
	munmap(self->mem, SIZE);
	if (self->file >= 0)
		close(self->file);
	if (self->huge_pages >= 0)
		set_huge_pages(self->huge_pages);
}

static int import(FIXTURE_DATA(kinds) *self, uint32_t flags, uint32_t *handle)
{
	int ret = vze_userptr(self->gpu.fd, self->mem, SIZE, flags, handle);

	if (!ret)
		ret = vze_map(self->gpu.fd, self->gpu.vm, *handle, 0, SIZE, VZE_VA,
			      flags ? DRM_VZE_BIND_READONLY : 0);
	return ret;
}

static int device_reads(FIXTURE_DATA(kinds) *self)
{
	return vze_gpu_copy(&self->gpu, VZE_VA + SZ_1G, VZE_VA, SIZE);
}

/* Import for reading: works for every kind, with either access of the mapping. */
static void read_only_import(struct __test_metadata *_metadata, FIXTURE_DATA(kinds) *self,
			     enum kind kind)
{
	uint32_t handle;

	ASSERT_EQ(0, import(self, READONLY, &handle));
	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());
	ASSERT_EQ(0, device_reads(self));
	EXPECT_EQ(-1, vze_pattern_check(self->target, SIZE, kind));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0));
	EXPECT_EQ(-1, vze_pattern_check(self->mem, SIZE, kind));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

VZE_TEST(kinds, writable_mapping_for_reading)
{
	read_only_import(_metadata, self, variant->kind);
}

VZE_TEST(kinds, read_only_mapping_for_reading)
{
	ASSERT_EQ(0, mprotect(self->mem, SIZE, PROT_READ));
	read_only_import(_metadata, self, variant->kind);
}

/* What may be written can be read, by the CPU too, whether or not a page is there yet. */
VZE_TEST(kinds, write_only_mapping_for_reading)
{
	uint32_t handle;

	ASSERT_EQ(0, mprotect(self->mem, SIZE, PROT_WRITE));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, self->mem, SIZE, READONLY, &handle));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));

	ASSERT_EQ(0, madvise(self->mem, SIZE, MADV_DONTNEED));
	if (!variant->write_pin) {
		/* No page, no right to read, and none that may be pinned for writing. */
		EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, self->mem, SIZE, READONLY, &handle));
		EXPECT_EQ(self->pinned, vze_vmpin());
		return;
	}
	ASSERT_EQ(0, import(self, READONLY, &handle));
	ASSERT_EQ(0, device_reads(self));
	if (variant->shared) {
		EXPECT_EQ(-1, vze_pattern_check(self->target, SIZE, variant->kind));
	} else {
		EXPECT_EQ(-1, vze_words_check(self->target, SIZE, 0));
	}
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
}

VZE_TEST(kinds, read_only_mapping_for_writing)
{
	uint32_t handle;

	ASSERT_EQ(0, mprotect(self->mem, SIZE, PROT_READ));
	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, self->mem, SIZE, 0, &handle));
	EXPECT_EQ(self->pinned, vze_vmpin());
}

VZE_TEST(kinds, writable_mapping_for_writing)
{
	uint64_t *content;
	uint32_t handle;

	if (!variant->write_pin) {
		EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, self->mem, SIZE, 0, &handle));
		EXPECT_EQ(self->pinned, vze_vmpin());
		return;
	}
	ASSERT_EQ(0, import(self, 0, &handle));
	EXPECT_EQ(self->pinned + SIZE, vze_vmpin());
	ASSERT_EQ(0, device_reads(self));
	EXPECT_EQ(-1, vze_pattern_check(self->target, SIZE, variant->kind));
	ASSERT_EQ(0, vze_gpu_fill(&self->gpu, VZE_VA, SIZE, 0xd0d0));
	EXPECT_EQ(-1, vze_words_check(self->mem, SIZE, 0xd0d0));
	ASSERT_EQ(0, vze_unmap(self->gpu.fd, self->gpu.vm, VZE_VA, SIZE));
	EXPECT_EQ(0, vze_gem_close(self->gpu.fd, handle));
	/* The pages were dirtied: the content is there after the release. */
	EXPECT_EQ(-1, vze_words_check(self->mem, SIZE, 0xd0d0));
	if (self->file >= 0) {
		content = malloc(SIZE);
		ASSERT_NE(NULL, content);
		ASSERT_EQ(SIZE, pread(self->file, content, SIZE, 0));
		/* A private mapping got pages of its own: the file is what it was. */
		EXPECT_EQ(-1, vze_words_check(content, SIZE, variant->shared ? 0xd0d0 : 0));
		free(content);
	}
}

FIXTURE(read_only_file) {
	struct vze_gpu gpu;
};

FIXTURE_SETUP(read_only_file)
{
	VZE_SETUP(&self->gpu);
	ASSERT_EQ(0, vze_gpu_start(&self->gpu));
}

FIXTURE_TEARDOWN(read_only_file)
{
	VZE_TEARDOWN(&self->gpu);
}

/* Case 2: a file that was opened for reading only. Its bytes never change. */
VZE_TEST(read_only_file, stays_as_it_is)
{
	char name[] = "/dev/shm/vze-ro-XXXXXX";
	uint64_t *content = malloc(SZ_64K);
	uint32_t handle;
	int file;
	void *mem;

	ASSERT_NE(NULL, content);
	file = mkstemp(name);
	ASSERT_LE(0, file);
	vze_pattern_fill(content, SZ_64K, 12);
	ASSERT_EQ(SZ_64K, write(file, content, SZ_64K));
	close(file);
	file = open(name, O_RDONLY | O_CLOEXEC);
	unlink(name);
	ASSERT_LE(0, file);
	mem = mmap(NULL, SZ_64K, PROT_READ, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, mem);

	EXPECT_EQ(-EFAULT, vze_userptr(self->gpu.fd, mem, SZ_64K, 0, &handle));
	ASSERT_EQ(0, vze_userptr(self->gpu.fd, mem, SZ_64K, READONLY, &handle));
	EXPECT_EQ(-EACCES, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_64K, VZE_VA, 0));
	ASSERT_EQ(0, vze_map(self->gpu.fd, self->gpu.vm, handle, 0, SZ_64K, VZE_VA,
			     DRM_VZE_BIND_READONLY));
	EXPECT_EQ(-EACCES, vze_protect(self->gpu.fd, self->gpu.vm, VZE_VA, SZ_64K, 0));
	EXPECT_EQ(-EFAULT, vze_gpu_fill(&self->gpu, VZE_VA, SZ_64K, 0));
	ASSERT_EQ(SZ_64K, pread(file, content, SZ_64K, 0));
	EXPECT_EQ(-1, vze_pattern_check(content, SZ_64K, 12));
	free(content);
	munmap(mem, SZ_64K);
	close(file);
}

TEST_HARNESS_MAIN
