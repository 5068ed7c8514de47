/* SPDX-License-Identifier: MIT */
/*
 * Extension functions of the vze driver. A program gets them by name from
 * zeDriverGetExtensionFunctionAddress; their having an address is also how a driver handle is
 * recognised as one of vze.
 */
#ifndef VZE_EXT_H
#define VZE_EXT_H

#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Figures of a context's address space on one device, of the moment. */
typedef struct _vze_context_statistics_t {
    ze_structure_type_t stype; /**< [in] not looked at */
    void *pNext;               /**< [in] not looked at */
    uint64_t pte_4k;           /**< [out] page table leaves of 4 KiB */
    uint64_t pte_2m;           /**< [out] page table leaves of 2 MiB */
    uint64_t pte_1g;           /**< [out] page table leaves of 1 GiB */
    uint64_t pt_pages;         /**< [out] pages that the page tables take */
    uint64_t mappings;         /**< [out] mappings in the address space, the driver's own included */
    uint64_t tlb_invalidations; /**< [out] invalidations that were sent to the device for it */
    uint64_t stale_uses;       /**< [out] of the whole device: translations used after they were invalidated */
    uint64_t faults;           /**< [out] of the whole device: faults */
} vze_context_statistics_t;

/**
 * zexVzeContextGetStatistics: fills *pStatistics.
 *
 * Results: INVALID_NULL_HANDLE (hContext, hDevice), INVALID_NULL_POINTER (pStatistics),
 * INVALID_ARGUMENT (the device is not one of the context's), DEVICE_LOST.
 */
typedef ze_result_t(ZE_APICALL *zexVzeContextGetStatistics_fn)(ze_context_handle_t hContext,
                                                               ze_device_handle_t hDevice,
                                                               vze_context_statistics_t *pStatistics);

/*
 * IPC memory handles: their end, their importers, taking them back.
 *
 * What zeMemGetIpcHandle(WithProperties) makes openable is a share. It is live until the last Put, the
 * exporter's free, close or end, or a revocation; then it is over for good and cannot be opened. A share
 * descriptor tells of that moment: an importer that caches what it opened by identity polls one
 * descriptor for each entry, and evicts the entry when it becomes readable.
 */

/**
 * zexVzeMemGetIpcIdentity: the identity in a handle, a number that is never used twice while the
 * kernel module is loaded. Exports of unchanged memory have the same identity while one of them is
 * live. It says nothing about whether the handle is genuine or can be opened.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER (pIdentity), INVALID_ARGUMENT (not the bytes of a
 * whole handle).
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemGetIpcIdentity_fn)(ze_context_handle_t hContext,
                                                            ze_ipc_mem_handle_t handle,
                                                            uint64_t *pIdentity);

/**
 * zexVzeMemGetIpcShareFd: a share descriptor of a handle that can be opened.
 *
 * The descriptor belongs to the caller, who closes it; it is close-on-exec. poll(2) reports nothing
 * while the share is live, POLLIN and POLLHUP from then on, and POLLERR too when open memory is being
 * taken away (zexVzeMemRevokeIpcHandle). It keeps neither the share nor memory alive. It may be passed
 * to other processes, and opens like a handle: a ze_ipc_mem_handle_t of the number in the first four
 * bytes and zeros.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER (pFd), INVALID_ARGUMENT (no handle, over, of a
 * device that is not open here, a dma-buf), INSUFFICIENT_PERMISSIONS (another user's), NOT_AVAILABLE
 * (out of descriptors).
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemGetIpcShareFd_fn)(ze_context_handle_t hContext,
                                                           ze_ipc_mem_handle_t handle, int *pFd);

/**
 * zexVzeMemGetIpcShareFdOfPointer: the same for memory that zeMemOpenIpcHandle gave; also of a share
 * that is over.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER (ptr, pFd), INVALID_ARGUMENT (not opened by
 * handle, or by dma-buf descriptor), NOT_AVAILABLE.
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemGetIpcShareFdOfPointer_fn)(ze_context_handle_t hContext,
                                                                    const void *ptr, int *pFd);

/** States of a share; a share only goes forward. */
typedef enum _vze_ipc_share_state_t {
    VZE_IPC_SHARE_STATE_LIVE = 0,    /**< can be opened */
    VZE_IPC_SHARE_STATE_PUT = 1,     /**< put back; the exporter's memory may live on */
    VZE_IPC_SHARE_STATE_REVOKED = 2, /**< taken back by zexVzeMemRevokeIpcHandle */
    VZE_IPC_SHARE_STATE_DEAD = 3,    /**< the exporter freed the memory, or has ended */
    VZE_IPC_SHARE_STATE_FORCE_UINT32 = 0x7fffffff
} vze_ipc_share_state_t;

/** vze_ipc_share_info_t.flags */
#define VZE_IPC_SHARE_FLAG_READ_ONLY (1u << 0) /**< can only be opened for reading */
#define VZE_IPC_SHARE_FLAG_UNMAPPED (1u << 1)  /**< what was open has been taken away */

/** What a share descriptor is of. */
typedef struct _vze_ipc_share_info_t {
    ze_structure_type_t stype; /**< [in] not looked at */
    void *pNext;               /**< [in] not looked at */
    uint64_t identity;         /**< [out] see zexVzeMemGetIpcIdentity */
    uint64_t size;             /**< [out] bytes, whole pages */
    uint32_t state;            /**< [out] vze_ipc_share_state_t */
    uint32_t flags;            /**< [out] VZE_IPC_SHARE_FLAG_* */
    uint32_t segments;         /**< [out] pieces of objects that it consists of */
    uint32_t reserved;         /**< [out] 0 */
} vze_ipc_share_info_t;

/**
 * zexVzeMemGetIpcShareInfo: fills *pInfo from a share descriptor, in any state.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER (pInfo), INVALID_ARGUMENT (not a share
 * descriptor).
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemGetIpcShareInfo_fn)(ze_context_handle_t hContext, int fd,
                                                             vze_ipc_share_info_t *pInfo);

/** A process that has opened a handle. */
typedef struct _vze_ipc_importer_t {
    uint32_t pid;   /**< in the caller's PID namespace; 0: not visible there */
    uint32_t views; /**< opens that are not closed */
    uint64_t bytes; /**< of all of them */
} vze_ipc_importer_t;

/**
 * zexVzeMemGetIpcImporters: who has a handle of this process open; *pCount as usual (0: asks for the
 * number). Works while the handle can be opened or is open. Memory that was opened by dma-buf
 * descriptor, and handles that an importer made of what it opened, are not listed.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER (pCount), INVALID_ARGUMENT (not of this process).
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemGetIpcImporters_fn)(ze_context_handle_t hContext,
                                                             ze_ipc_mem_handle_t handle,
                                                             uint32_t *pCount,
                                                             vze_ipc_importer_t *pImporters);

/** zexVzeMemRevokeIpcHandle.flags: take away what is open, too */
#define VZE_IPC_REVOKE_FLAG_UNMAP (1u << 0)

/** What a revocation with UNMAP met. */
typedef struct _vze_ipc_revoke_result_t {
    ze_structure_type_t stype; /**< [in] not looked at */
    void *pNext;               /**< [in] not looked at */
    uint32_t views;            /**< [out] opens that were taken away */
    uint32_t exported;         /**< [out] those of them of which an importer made a dma-buf: what
                                    another driver has mapped of it stays */
} vze_ipc_revoke_result_t;

/**
 * zexVzeMemRevokeIpcHandle: ends a handle of this process, however many Gets are not put. Handles
 * that importers made of what they opened end with it. A new Get gives a handle of another identity.
 *
 * With UNMAP, also what is open is taken away before the call returns: there device accesses of the
 * importers fault (DEVICE_LOST on their queues), CPU accesses are SIGBUS, and the pointers are still to
 * be closed. Memory opened by dma-buf descriptor is not reached. Without it, what is open stays.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_ENUMERATION (flags), INVALID_ARGUMENT (not of this process, or
 * over and not open), DEVICE_LOST. pResult may be null.
 */
typedef ze_result_t(ZE_APICALL *zexVzeMemRevokeIpcHandle_fn)(ze_context_handle_t hContext,
                                                             ze_ipc_mem_handle_t handle,
                                                             uint32_t flags,
                                                             vze_ipc_revoke_result_t *pResult);

/*
 * Import of host memory by a driver call, as clients know it from before
 * ze_external_memmap_sysmem_ext_desc_t. The memory is imported into the driver's default context;
 * command lists of every context reach it, as they do any host memory.
 */

/**
 * zexDriverImportExternalPointer: imports [ptr, ptr + size), widened to whole pages.
 *
 * Results: INVALID_NULL_HANDLE, INVALID_NULL_POINTER, UNSUPPORTED_SIZE (0), and those of the import.
 */
typedef ze_result_t(ZE_APICALL *zex_pfnDriverImportExternalPointer_t)(ze_driver_handle_t hDriver,
                                                                      void *ptr, size_t size);

/** zexDriverReleaseImportedPointer: releases the import that ptr lies in. INVALID_ARGUMENT: none does. */
typedef ze_result_t(ZE_APICALL *zex_pfnDriverReleaseImportedPointer_t)(ze_driver_handle_t hDriver,
                                                                       void *ptr);

/** zexDriverGetHostPointerBaseAddress: base of the import that ptr lies in. INVALID_ARGUMENT: none does. */
typedef ze_result_t(ZE_APICALL *zex_pfnDriverGetHostPointerBaseAddress_t)(
    ze_driver_handle_t hDriver, void *ptr, void **baseAddress);

#ifdef __cplusplus
}
#endif

#endif /* VZE_EXT_H */
