/* SPDX-License-Identifier: MIT */
/*
 * dma-bufs for the selftests: of vze objects, and of the drivers that every kernel has
 * (udmabuf, the system heap, vgem). Functions return 0, a descriptor, or -errno.
 */
#ifndef PRIME_BUF_H
#define PRIME_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handle to descriptor, and back, on any DRM file. */
int prime_export(int fd, uint32_t handle, uint32_t flags);
int prime_import(int fd, int buf, uint32_t *handle);

/* Is the device file there, or -errno; udmabuf gets a limit that is high enough. */
int prime_udmabuf_open(void);
int prime_heap_open(void);
/* The primary node of vgem, whose module is loaded if need be. */
int prime_vgem_open(void);

/* dma-bufs of @size bytes. */
int prime_udmabuf_create(int fd, size_t size);
int prime_heap_alloc(int fd, size_t size);
/* An object of vgem, in whole pages of a line. */
int prime_vgem_create(int fd, size_t size, uint32_t *handle);
/* CPU mapping of an object of vgem, MAP_FAILED with errno. */
void *prime_vgem_mmap(int fd, uint32_t handle, size_t size);

/*
 * A fence of a foreign driver on the reservation of an object of vgem, which signals it by
 * itself after 10 s. Attaching is -EBUSY when a fence is there already that it would have
 * to wait for. Signalling is -ETIMEDOUT when vgem has been faster.
 */
int prime_vgem_fence(int fd, uint32_t handle, bool write, uint32_t *fence);
int prime_vgem_signal(int fd, uint32_t fence);

/* DMA_BUF_IOCTL_SYNC, _EXPORT_SYNC_FILE and _IMPORT_SYNC_FILE; flags are DMA_BUF_SYNC_*. */
int prime_sync(int buf, uint64_t flags);
int prime_export_sync_file(int buf, uint32_t flags);
int prime_import_sync_file(int buf, uint32_t flags, int sync_file);
/* Is it ready for reading (no writer) or for writing (nobody): 1, 0, -errno. */
int prime_poll(int buf, short events);

/* Identity of a dma-buf: descriptors of one have the same. */
uint64_t prime_inode(int buf);
/* Open descriptors of this process. */
int prime_count_fds(void);

#endif /* PRIME_BUF_H */
