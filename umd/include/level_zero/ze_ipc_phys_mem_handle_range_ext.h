/* SPDX-License-Identifier: MIT */
/*
 * The extension "IPC physical memory handle range" of specification 1.18, for ze_api.h headers that do
 * not have it yet. Declares nothing when they do.
 */
#ifndef LEVEL_ZERO_ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_H
#define LEVEL_ZERO_ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_H

#include <stddef.h>

#include <level_zero/ze_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

#ifndef ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_NAME
#define ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_NAME "ZE_extension_ipc_phys_mem_handle_range"

#define ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC ((ze_structure_type_t)0x0002004b)

/* Versions of the extension. */
typedef enum _ze_ipc_phys_mem_handle_range_ext_version_t {
    ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_VERSION_1_0 = ZE_MAKE_VERSION(1, 0),
    ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_VERSION_CURRENT = ZE_MAKE_VERSION(1, 0),
    ZE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_VERSION_FORCE_UINT32 = 0x7fffffff
} ze_ipc_phys_mem_handle_range_ext_version_t;

/*
 * In the chain of zeMemGetIpcHandleWithProperties: the handle is of [ptr, ptr + size), which may be
 * made of any number of physical objects mapped side by side.
 */
typedef struct _ze_ipc_phys_mem_handle_range_ext_desc_t {
    ze_structure_type_t stype; /* [in] ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC */
    const void* pNext;         /* [in][optional] */
    size_t size;               /* [in] bytes, not 0 */
} ze_ipc_phys_mem_handle_range_ext_desc_t;
#endif

#if defined(__cplusplus)
}
#endif

#endif
