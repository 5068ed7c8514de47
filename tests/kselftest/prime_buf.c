// SPDX-License-Identifier: MIT
/* dma-bufs of vze and of other drivers, see prime_buf.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>

#include "prime_buf.h"
#include "vze_test.h"

int prime_export(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags, .fd = -1 };
	int ret = vze_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

int prime_import(int fd, int buf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = buf };
	int ret = vze_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	if (!ret)
		*handle = args.handle;
	return ret;
}

static int open_path(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int prime_udmabuf_open(void)
{
	/* Absent where the module is not loaded; then open says what is wrong. */
	vze_write_file("/sys/module/udmabuf/parameters/size_limit_mb", "1024");
	return open_path("/dev/udmabuf");
}

int prime_heap_open(void)
{
	return open_path("/dev/dma_heap/system");
}

static int vgem_find(void)
{
	unsigned int minor;

	for (minor = 0; minor < 64; minor++) {
		char path[32], name[16] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%u", minor);
		fd = open_path(path);
		if (fd < 0)
			continue;
		if (!vze_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int prime_vgem_open(void)
{
	unsigned int tries;
	int fd = vgem_find();

	if (fd != -ENODEV || system("modprobe vgem 2>/dev/null"))
		return fd;
	/* The node appears a little later where a daemon makes it. */
	for (tries = 0; fd == -ENODEV && tries < 100; tries++) {
		vze_sleep_ms(50);
		fd = vgem_find();
	}
	return fd;
}

int prime_udmabuf_create(int fd, size_t size)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int memfd = memfd_create("vze-udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int buf;

	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		buf = -errno;
	} else {
		create.memfd = memfd;
		buf = ioctl(fd, UDMABUF_CREATE, &create);
		if (buf < 0)
			buf = -errno;
	}
	close(memfd);
	return buf;
}

int prime_heap_alloc(int fd, size_t size)
{
	struct dma_heap_allocation_data data = {
		.len = size,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};
	int ret = vze_ioctl(fd, DMA_HEAP_IOCTL_ALLOC, &data);

	return ret ? ret : (int)data.fd;
}

int prime_vgem_create(int fd, size_t size, uint32_t *handle)
{
	struct drm_mode_create_dumb create = {
		.width = 1024,
		.height = size / SZ_4K,
		.bpp = 32,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);

	if (ret)
		return ret;
	*handle = create.handle;
	return create.size == size ? 0 : -EINVAL;
}

void *prime_vgem_mmap(int fd, uint32_t handle, size_t size)
{
	struct drm_mode_map_dumb map = { .handle = handle };
	int ret = vze_ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &map);

	if (ret) {
		errno = -ret;
		return MAP_FAILED;
	}
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
}

int prime_vgem_fence(int fd, uint32_t handle, bool write, uint32_t *fence)
{
	struct drm_vgem_fence_attach attach = {
		.handle = handle,
		.flags = write ? VGEM_FENCE_WRITE : 0,
	};
	int ret = vze_ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach);

	if (!ret)
		*fence = attach.out_fence;
	return ret;
}

int prime_vgem_signal(int fd, uint32_t fence)
{
	struct drm_vgem_fence_signal signal = { .fence = fence };

	return vze_ioctl(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
}

int prime_sync(int buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return vze_ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync);
}

int prime_export_sync_file(int buf, uint32_t flags)
{
	struct dma_buf_export_sync_file args = { .flags = flags, .fd = -1 };
	int ret = vze_ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &args);

	return ret ? ret : args.fd;
}

int prime_import_sync_file(int buf, uint32_t flags, int sync_file)
{
	struct dma_buf_import_sync_file args = { .flags = flags, .fd = sync_file };

	return vze_ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &args);
}

int prime_poll(int buf, short events)
{
	struct pollfd fd = { .fd = buf, .events = events };
	int ret = poll(&fd, 1, 0);

	if (ret < 0)
		return -errno;
	return (fd.revents & events) == events;
}

uint64_t prime_inode(int buf)
{
	struct stat st;

	return fstat(buf, &st) ? 0 : st.st_ino;
}

int prime_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	if (!dir)
		return -errno;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}
