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
