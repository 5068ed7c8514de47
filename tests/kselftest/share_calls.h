/* SPDX-License-Identifier: MIT */
/* The calls of shares beyond those that vze_test.h has, for the programs about shares. */
#ifndef SHARE_CALLS_H
#define SHARE_CALLS_H

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vze_test.h"

static inline int share_range(int fd, uint32_t vm, uint64_t addr, uint64_t size, uint32_t flags,
			      struct drm_vze_share_create *share)
{
	memset(share, 0, sizeof(*share));
	share->flags = DRM_VZE_SHARE_RANGE | flags;
	share->vm_id = vm;
	share->addr = addr;
	share->size = size;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_CREATE, share);
}

static inline int share_list(int fd, const struct drm_vze_share_piece *pieces, uint32_t num,
			     uint32_t flags, struct drm_vze_share_create *share)
{
	memset(share, 0, sizeof(*share));
	share->flags = DRM_VZE_SHARE_LIST | flags;
	share->pieces = (uintptr_t)pieces;
	share->num_pieces = num;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_CREATE, share);
}

static inline int share_open_at(int fd, const struct drm_vze_share_token *token, uint32_t vm,
				uint64_t addr, uint64_t size, uint32_t *handle)
{
	struct drm_vze_share_open open = {
		.token = *token, .flags = DRM_VZE_SHARE_OPEN_BIND, .vm_id = vm, .addr = addr,
		.size = size,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_OPEN, &open);

	if (!ret)
		*handle = open.handle;
	return ret;
}

/* By descriptor, of which the id is @id unless that is 0. */
static inline int share_open_fd(int fd, int share, uint64_t id, uint32_t *handle)
{
	struct drm_vze_share_open open = {
		.token.id = id, .flags = DRM_VZE_SHARE_OPEN_FD, .fd = share,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_OPEN, &open);

	if (!ret)
		*handle = open.handle;
	return ret;
}

/* A descriptor of a share, or -errno. */
static inline int share_fd(int fd, const struct drm_vze_share_token *token)
{
	struct drm_vze_share_fd args = { .token = *token };
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_FD, &args);

	return ret ? ret : args.fd;
}

/* A descriptor of the share that a view is of, or -errno. */
static inline int share_fd_of(int fd, uint32_t handle)
{
	struct drm_vze_share_fd args = { .flags = DRM_VZE_SHARE_FD_HANDLE, .handle = handle };
	int ret = vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_FD, &args);

	return ret ? ret : args.fd;
}

static inline int share_info(int fd, int share, struct drm_vze_share_info *info)
{
	memset(info, 0, sizeof(*info));
	info->fd = share;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_INFO, info);
}

/* DRM_VZE_SHARE_STATE_*, or -errno. */
static inline int share_state(int fd, int share)
{
	struct drm_vze_share_info info;
	int ret = share_info(fd, share, &info);

	return ret ? ret : (int)info.state;
}

/* What poll(2) says about a descriptor within @ms. */
static inline int share_events(int share, int ms)
{
	struct pollfd poll_fd = { .fd = share, .events = POLLIN };

	return poll(&poll_fd, 1, ms) < 0 ? -1 : poll_fd.revents;
}

static inline int share_importers(int fd, uint64_t id, struct drm_vze_share_importer *importers,
				  uint32_t room, struct drm_vze_share_importers *args)
{
	memset(args, 0, sizeof(*args));
	args->id = id;
	args->importers = (uintptr_t)importers;
	args->num = room;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_IMPORTERS, args);
}

static inline int share_revoke(int fd, uint64_t id, uint32_t flags,
			       struct drm_vze_share_revoke *args)
{
	memset(args, 0, sizeof(*args));
	args->id = id;
	args->flags = flags;
	return vze_ioctl(fd, DRM_IOCTL_VZE_SHARE_REVOKE, args);
}

/* Fills an object by the CPU. */
static inline int share_fill(int fd, uint32_t handle, size_t size, uint64_t seed)
{
	void *map = vze_gem_mmap(fd, handle, size, PROT_READ | PROT_WRITE);

	if (map == MAP_FAILED)
		return -1;
	vze_pattern_fill(map, size, seed);
	munmap(map, size);
	return 0;
}

/* Offset of the first wrong byte of what share_fill() wrote, -1: none, -2: cannot be mapped. */
static inline ssize_t share_check(int fd, uint32_t handle, size_t size, uint64_t seed)
{
	void *map = vze_gem_mmap(fd, handle, size, PROT_READ);
	ssize_t ret;

	if (map == MAP_FAILED)
		return -2;
	ret = vze_pattern_check(map, size, seed);
	munmap(map, size);
	return ret;
}

/* What a child and its parent tell each other, one byte at a time. */
struct share_pipe {
	int fds[2];
};

static inline int share_tell(struct share_pipe *p)
{
	return write(p->fds[1], "", 1) == 1 ? 0 : -1;
}

static inline int share_hear(struct share_pipe *p)
{
	char byte;

	return read(p->fds[0], &byte, 1) == 1 ? 0 : -1;
}

#endif /* SHARE_CALLS_H */
