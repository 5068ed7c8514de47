/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * vze: interface between the kernel module and user space.
 *
 * Rules that hold for every ioctl:
 *
 *  - Structures are multiples of 8 bytes without holes and have one layout for
 *    32 and 64 bit user space. Pointers travel as __u64.
 *  - Flags not defined here and every field called pad must be zero (-EINVAL).
 *  - A call that fails has changed nothing; output fields are then undefined.
 *  - Ids of VMs and queues and GEM handles belong to the file that made them; an
 *    id of another file is -ENOENT.
 *  - Addresses and sizes of memory are multiples of 4096 unless stated otherwise.
 *  - Structures grow only at the end, with the minor version; the DRM core fills
 *    what an older caller did not pass with zeros.
 */
#ifndef _UAPI_DRM_VZE_DRM_H_
#define _UAPI_DRM_VZE_DRM_H_

#include <drm/drm.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define VZE_DRIVER_NAME			"vze"
/*
 * Reported by DRM_IOCTL_VERSION. User space refuses another major version, and a
 * minor version below the one it was built for.
 */
#define VZE_UAPI_VERSION_MAJOR		1
#define VZE_UAPI_VERSION_MINOR		3

#define DRM_VZE_QUERY			0x00
#define DRM_VZE_GEM_CREATE		0x01
#define DRM_VZE_GEM_USERPTR		0x02
#define DRM_VZE_GEM_MMAP_OFFSET		0x03
#define DRM_VZE_GEM_INFO		0x04
#define DRM_VZE_VM_CREATE		0x05
#define DRM_VZE_VM_DESTROY		0x06
#define DRM_VZE_VM_BIND			0x07
#define DRM_VZE_VM_INFO			0x08
#define DRM_VZE_QUEUE_CREATE		0x09
#define DRM_VZE_QUEUE_DESTROY		0x0a
#define DRM_VZE_QUEUE_STATE		0x0b
#define DRM_VZE_EXEC			0x0c
#define DRM_VZE_FENCE_WAIT		0x0d
#define DRM_VZE_FENCE_WAKE		0x0e
#define DRM_VZE_SHARE_CREATE		0x0f
#define DRM_VZE_SHARE_OPEN		0x10
#define DRM_VZE_SHARE_PUT		0x11
#define DRM_VZE_SHARE_FD		0x12
#define DRM_VZE_SHARE_INFO		0x13
#define DRM_VZE_SHARE_IMPORTERS		0x14
#define DRM_VZE_SHARE_REVOKE		0x15

/* ------------------------------------------------------------------ query -- */

/* struct drm_vze_query.query */
#define DRM_VZE_QUERY_DEVICE		0 /* struct drm_vze_query_device */
#define DRM_VZE_QUERY_MEMORY		1 /* struct drm_vze_query_memory */
#define DRM_VZE_QUERY_CLOCK		2 /* struct drm_vze_query_clock */
#define DRM_VZE_QUERY_COUNTERS		3 /* array of __u64, see enum vze_hw_counter */

/**
 * struct drm_vze_query - ask for one of the structures below
 *
 * Errors: -EINVAL unknown query, -EFAULT, -EIO/-ENODEV device lost (CLOCK only).
 */
struct drm_vze_query {
	/** @query: DRM_VZE_QUERY_* */
	__u32 query;
	/**
	 * @size: in: bytes at @data, 0 to learn the size; out: bytes of the answer.
	 * A smaller buffer gets the beginning.
	 */
	__u32 size;
	/** @data: pointer to the answer */
	__u64 data;
};

/** struct drm_vze_query_device - what does not change while the device lives */
struct drm_vze_query_device {
	/** @hw_version: major << 16 | minor of the device interface */
	__u32 hw_version;
	/** @num_queues: queues that can exist at once in the whole device */
	__u32 num_queues;
	/** @features: VZE_HW_FEATURE_* that device and driver both support */
	__u64 features;
	/** @vram_size: bytes of VRAM that objects can use */
	__u64 vram_size;
	/** @max_transfer: most bytes that one command moves, see vze_hw_ident */
	__u64 max_transfer;
	/** @page_sizes: bit n set: leaves of 1 << n bytes */
	__u64 page_sizes;
	/** @timestamp_hz: frequency of the device clock */
	__u64 timestamp_hz;
	/** @va_bits: width of device addresses */
	__u32 va_bits;
	/** @num_engines: transfer engines working in parallel */
	__u32 num_engines;
	/** @pci_domain: PCI address */
	__u32 pci_domain;
	/** @pci_bus: PCI address */
	__u32 pci_bus;
	/** @pci_device: PCI address */
	__u32 pci_device;
	/** @pci_function: PCI address */
	__u32 pci_function;
	/** @pci_vendor_id: PCI vendor id */
	__u32 pci_vendor_id;
	/** @pci_device_id: PCI device id */
	__u32 pci_device_id;
	/** @uuid: unique per device while it runs */
	__u8 uuid[16];
	/** @name: NUL-terminated */
	__u8 name[32];
};

/**
 * struct drm_vze_query_memory - memory figures of the moment
 *
 * What is pending is neither free nor can it be made free: its mappings go when the work ends
 * that VM_BIND_DEFER was told to wait for, and the memory with them unless something else
 * holds the object (a handle, another mapping, a dma-buf, a view of a share).
 */
struct drm_vze_query_memory {
	/** @vram_size: bytes of VRAM */
	__u64 vram_size;
	/**
	 * @vram_free: bytes that can be allocated now, also those that are yet to be cleared; 0
	 * when the device is lost
	 */
	__u64 vram_free;
	/** @vram_largest: largest contiguous free block; 0 when the device is lost */
	__u64 vram_largest;
	/** @vram_pending: bytes of VRAM in deferred unmaps that are not over, of all clients */
	__u64 vram_pending;
	/** @system_size: bytes of system memory */
	__u64 system_size;
	/** @system_free: bytes of system memory available without swapping */
	__u64 system_free;
	/** @system_pending: the same as @vram_pending for other memory (since 1.3) */
	__u64 system_pending;
};

/** struct drm_vze_query_clock - both clocks, read as close together as possible */
struct drm_vze_query_clock {
	/** @device: device clock in units of 1/timestamp_hz s */
	__u64 device;
	/** @cpu: CLOCK_MONOTONIC in ns */
	__u64 cpu;
};

/* -------------------------------------------------------------------- GEM -- */

/* struct drm_vze_gem_create.placement, drm_vze_gem_info.placement */
#define DRM_VZE_PLACEMENT_VRAM		1
#define DRM_VZE_PLACEMENT_SYSTEM	2
#define DRM_VZE_PLACEMENT_USERPTR	3 /* only reported */
#define DRM_VZE_PLACEMENT_IMPORTED	4 /* only reported: a dma-buf of another driver */
#define DRM_VZE_PLACEMENT_SHARE		5 /* only reported: an opened share */

/*
 * struct drm_vze_gem_create.flags: the content may be kept compressed, where the device finds
 * that it repeats. VRAM only; a hint, which a device without VZE_HW_FEATURE_COMPRESSION does
 * not take. Nobody can tell by the bytes: what the CPU gets to see is plain from then on.
 */
#define DRM_VZE_GEM_COMPRESSIBLE	(1u << 0)
/* of the same: a dma-buf of it has no implicit fences for jobs, see below (since 1.2) */
#define DRM_VZE_GEM_EXPLICIT		(1u << 1)

/**
 * struct drm_vze_gem_create - allocate an object, filled with zeros
 *
 * Errors: -EINVAL (size 0, not a multiple of 4096, above 2^47; placement; flags),
 * -ENOMEM kernel memory, -ENOSPC VRAM is full, -EIO/-ENODEV (VRAM) device lost.
 */
struct drm_vze_gem_create {
	/** @size: bytes */
	__u64 size;
	/** @placement: DRM_VZE_PLACEMENT_VRAM or _SYSTEM */
	__u32 placement;
	/** @flags: DRM_VZE_GEM_* */
	__u32 flags;
	/** @handle: out */
	__u32 handle;
	/** @pad: zero */
	__u32 pad;
};

/*
 * dma-bufs. DRM_IOCTL_PRIME_HANDLE_TO_FD makes one of an object in system memory or VRAM, or
 * of an opened share: -EOPNOTSUPP for a userptr object, -EACCES for a read-only object,
 * whatever the access asked for, since who attaches to a dma-buf may write. The descriptor
 * can be mmapped over its whole size, takes DMA_BUF_IOCTL_SYNC, and can be polled. Another
 * device can attach to system memory if it reaches the pages without bounce buffers, never
 * to VRAM (-EOPNOTSUPP). DRM_IOCTL_PRIME_FD_TO_HANDLE gives, for a dma-buf of the same
 * device, the object that it was made of; else an object of placement IMPORTED, whose exporter
 * keeps it in place: -EOPNOTSUPP when it does not lie in the machine's RAM. A file has one
 * handle per object, a device one object per dma-buf. The descriptor stays the caller's in any
 * case. Objects have no names: DRM_IOCTL_GEM_FLINK and DRM_IOCTL_GEM_OPEN are -EOPNOTSUPP.
 *
 * Implicit fences. A job waits for the fences that other drivers, and jobs of other address
 * spaces, have on the reservation of an object of which a dma-buf was made, or that was
 * imported, if the object is mapped in the job's VM at the EXEC: those of writers if
 * all its mappings there are READONLY, else those of readers too. Other way round, jobs
 * of a PUBLISH queue, and only these, put their fence there: as a reader or as a writer, by
 * the same rule. Jobs of one VM do not wait for each other implicitly.
 * Objects created EXPLICIT and opened shares take no part. An import takes part as its
 * object of another vze device does; that of another driver always does.
 */

/* struct drm_vze_gem_userptr.flags: the device may only read; required for read-only memory */
#define DRM_VZE_USERPTR_READONLY	(1u << 0)
/* of the same: take the pages of another userptr object, see @source_fd (since 1.1) */
#define DRM_VZE_USERPTR_FROM		(1u << 1)

/**
 * struct drm_vze_gem_userptr - pin the caller's memory as an object
 *
 * Memory that several devices use is pinned and charged once: the first object pins it,
 * the others are made FROM the first. Each keeps the pages; the last one unpins them.
 *
 * The pages are charged to RLIMIT_MEMLOCK of the caller's user (CAP_IPC_LOCK is
 * exempt) and to VmPin of its mm until the object is released, or its device is removed and
 * known to touch nothing any more. A userptr object cannot be exported, shared or mmapped.
 *
 * Errors: -EINVAL (address or size 0, unaligned, wrapping or not user memory; flags),
 * -EFAULT (a page is missing, is not accessible this way, or cannot be pinned),
 * -EPERM (the caller's mm is not the one that opened the file, or that pinned the source),
 * -ENODEV (FROM: the device of the source was removed, and its pages with it),
 * -EBADF, -ENOENT (FROM: no such file, object), -EINVAL (FROM: not a vze file, not a
 * userptr object, or one of another range or access), -ENOMEM (kernel memory), -EDQUOT
 * (RLIMIT_MEMLOCK), -E2BIG (the bookkeeping would take more kernel memory than is sane),
 * -EINTR (fatal signal).
 */
struct drm_vze_gem_userptr {
	/** @addr: first byte */
	__u64 addr;
	/** @size: bytes */
	__u64 size;
	/** @flags: DRM_VZE_USERPTR_* */
	__u32 flags;
	/** @handle: out */
	__u32 handle;
	/** @source_fd: with FROM: DRM file that has the source, of any vze device; else 0 */
	__s32 source_fd;
	/** @source_handle: with FROM: userptr object of equal @addr, @size and READONLY; else 0 */
	__u32 source_handle;
};

/**
 * struct drm_vze_gem_mmap_offset - where to mmap an object on the DRM file
 *
 * Errors: -ENOENT, -EOPNOTSUPP (userptr).
 */
struct drm_vze_gem_mmap_offset {
	/** @handle: object */
	__u32 handle;
	/** @flags: zero */
	__u32 flags;
	/** @offset: out: for mmap(2) */
	__u64 offset;
};

/* struct drm_vze_gem_info.flags */
#define DRM_VZE_GEM_INFO_READONLY	(1u << 0) /* no mapping of it can be writable */
#define DRM_VZE_GEM_INFO_COMPRESSIBLE	(1u << 1)

/** struct drm_vze_gem_info - what an object is. Errors: -ENOENT. */
struct drm_vze_gem_info {
	/** @handle: object */
	__u32 handle;
	/** @placement: out: DRM_VZE_PLACEMENT_* */
	__u32 placement;
	/** @size: out: bytes */
	__u64 size;
	/** @flags: out: DRM_VZE_GEM_INFO_* */
	__u32 flags;
	/** @segments: out: physically contiguous pieces */
	__u32 segments;
	/** @user_addr: out: address at creation of a userptr object, else 0 */
	__u64 user_addr;
};

/* --------------------------------------------------------------------- VM -- */

/**
 * struct drm_vze_vm_create - make an address space
 *
 * Errors: -ENOSPC no hardware address space is free, -EDQUOT the user has as many as it may
 * (module parameter max_vms; CAP_SYS_RESOURCE and CAP_SYS_ADMIN are exempt), -ENOMEM,
 * -EIO/-ENODEV.
 */
struct drm_vze_vm_create {
	/** @flags: zero */
	__u32 flags;
	/** @vm_id: out, never 0 */
	__u32 vm_id;
};

/**
 * struct drm_vze_vm_destroy - drop the id
 *
 * The address space goes when its last queue is gone. Errors: -ENOENT.
 */
struct drm_vze_vm_destroy {
	/** @vm_id: id */
	__u32 vm_id;
	/** @pad: zero */
	__u32 pad;
};

/* struct drm_vze_sync.flags */
#define DRM_VZE_SYNC_WAIT		0 /* wait for it before */
#define DRM_VZE_SYNC_SIGNAL		(1u << 0) /* signal it after */
#define DRM_VZE_SYNC_TIMELINE		(1u << 1) /* @point counts, else binary */
/* alone: wait for a job of a queue, whatever it comes to (since 1.3) */
#define DRM_VZE_SYNC_QUEUE		(1u << 2)

/** struct drm_vze_sync - a syncobj to wait for or to signal, or a job to wait for */
struct drm_vze_sync {
	/** @flags: DRM_VZE_SYNC_* */
	__u32 flags;
	/** @handle: syncobj of this file; with QUEUE: queue of this file (-ENOENT) */
	__u32 handle;
	/**
	 * @point: timeline point, 0 for a binary syncobj; with QUEUE: the job, as EXEC returned it
	 * (-EINVAL: not submitted yet), 0: the last one so far
	 */
	__u64 point;
};

/* struct drm_vze_bind_op.op */
#define DRM_VZE_BIND_MAP		0 /* replaces whatever is mapped in the range */
#define DRM_VZE_BIND_UNMAP		1 /* a range without mappings is no error */
#define DRM_VZE_BIND_PROTECT		2 /* change access; every byte must be mapped (-ENOENT) */

/* struct drm_vze_bind_op.flags of MAP and PROTECT: the device may only read */
#define DRM_VZE_BIND_READONLY		(1u << 0)
/* of MAP: no device access at all; the range is known to the VM (and to mmap) only */
#define DRM_VZE_BIND_NO_ACCESS		(1u << 1)

/** struct drm_vze_bind_op - one operation of VM_BIND */
struct drm_vze_bind_op {
	/** @op: DRM_VZE_BIND_* */
	__u32 op;
	/** @flags: DRM_VZE_BIND_READONLY, _NO_ACCESS */
	__u32 flags;
	/** @handle: object to map; 0 for others */
	__u32 handle;
	/** @pad: zero */
	__u32 pad;
	/** @offset: first byte in the object; 0 for others */
	__u64 offset;
	/** @range: bytes */
	__u64 range;
	/** @addr: device address; addr + range <= 2^47 */
	__u64 addr;
};

/* struct drm_vze_vm_bind.flags: return before the operations are carried out */
#define DRM_VZE_VM_BIND_ASYNC		(1u << 0)
/* struct drm_vze_vm_bind.flags, without ASYNC: a deferred free, see below (since 1.3) */
#define DRM_VZE_VM_BIND_DEFER		(1u << 1)

#define DRM_VZE_MAX_BIND_OPS		65536
#define DRM_VZE_MAX_SYNCS		1024

/**
 * struct drm_vze_vm_bind - change mappings, all or nothing
 *
 * Operations take effect in their order; a later one sees the effects of an
 * earlier one. Without ASYNC the call returns when they are done (after all
 * waits; a signal interrupts the waiting with -EINTR and nothing done). With ASYNC
 * they are done after all waits and after all earlier binds of the VM but deferred ones;
 * everything that can fail has then been done at the call. Replaced and removed translations
 * are gone from the device before the signal.
 *
 * DEFER is for freeing memory that work still uses: UNMAP operations (-EINVAL for others)
 * that are carried out as soon as all waits are over, each such bind by itself, whatever
 * others wait for. What is removed belongs to it from the call on: the CPU loses it at once
 * (see below), the device keeps it until then, and then the mappings' references on the
 * objects go, without any other call, also when nobody is left who could do one. Nothing else
 * gets the addresses before: mapping something there waits, or is ordered behind it with
 * ASYNC or on its own ASYNC way. UNMAP does not wait; where it removes something on both sides of
 * such addresses it takes those translations, too. The pending amount is in
 * struct drm_vze_query_memory, and for a file in its fdinfo (vze-deferred-*).
 *
 * Errors: -ENOENT (VM, object, syncobj; PROTECT of a hole), -EINVAL (range, offset,
 * flags, overflow, counts), -EACCES (writable mapping of a read-only object), -EPERM
 * (userptr object of another mm), -ENOMEM, -EFAULT, -EINTR, -EIO (device lost).
 */
struct drm_vze_vm_bind {
	/** @vm_id: address space */
	__u32 vm_id;
	/** @flags: DRM_VZE_VM_BIND_* */
	__u32 flags;
	/** @num_ops: 0..%DRM_VZE_MAX_BIND_OPS; 0: without flags, for the syncs alone (since 1.3) */
	__u32 num_ops;
	/** @num_syncs: 0..%DRM_VZE_MAX_SYNCS */
	__u32 num_syncs;
	/** @ops: pointer to struct drm_vze_bind_op */
	__u64 ops;
	/** @syncs: pointer to struct drm_vze_sync */
	__u64 syncs;
};

/** struct drm_vze_vm_info - figures of an address space. Errors: -ENOENT. */
struct drm_vze_vm_info {
	/** @vm_id: address space */
	__u32 vm_id;
	/** @pad: zero */
	__u32 pad;
	/** @mappings: out: VMAs */
	__u64 mappings;
	/** @pte_4k: out: present leaves of 4 KiB */
	__u64 pte_4k;
	/** @pte_2m: out: present leaves of 2 MiB */
	__u64 pte_2m;
	/** @pte_1g: out: present leaves of 1 GiB */
	__u64 pte_1g;
	/** @pt_pages: out: page table pages, root included */
	__u64 pt_pages;
	/** @tlb_invalidations: out: invalidations sent to the device */
	__u64 tlb_invalidations;
};

/*
 * CPU mappings of an address space. mmap(2) on the DRM file with
 *
 *	addr   = va (MAP_FIXED),
 *	offset = DRM_VZE_VM_MMAP_OFFSET(vm_id, va),
 *	flags  = MAP_SHARED
 *
 * gives one VMA whose pages are those that the VM maps at the same addresses at
 * the moment of each CPU fault; a hole is SIGBUS. Unmapping or replacing a mapping
 * in the VM takes the CPU's pages away too. One VMA serves any number of objects.
 * A mapping that is read-only or NO_ACCESS for the device is still as accessible to
 * the CPU as the object allows. Only VRAM, system and share objects can be reached
 * like this, userptr pages cannot (SIGBUS).
 */
#define DRM_VZE_VM_MMAP_BASE		(1ULL << 62)
#define DRM_VZE_VM_MMAP_ID_SHIFT	47
#define DRM_VZE_VM_MMAP_OFFSET(vm_id, va) \
	(DRM_VZE_VM_MMAP_BASE | ((__u64)(vm_id) << DRM_VZE_VM_MMAP_ID_SHIFT) | (va))
/* VM ids are below this. */
#define DRM_VZE_MAX_VM_ID		(1u << 14)

/* ----------------------------------------------------------------- queues -- */

/*
 * Which of the queues that have work the device serves first. A higher one goes before
 * a lower one, which still gets a turn now and then; any user may use all three.
 */
#define DRM_VZE_PRIORITY_LOW		0
#define DRM_VZE_PRIORITY_NORMAL		1
#define DRM_VZE_PRIORITY_HIGH		2

/*
 * struct drm_vze_queue_create.flags: let others wait for its jobs implicitly (since 1.2).
 *
 * What others wait for must end by itself: a job of such a queue must not park on a
 * semaphore. One that is parked for longer than a hang takes to be noticed counts
 * as hung; where the module parameter hang_timeout_ms is 0, its default holds. Nor can the job
 * wait for a fence that depends on a job or bind that may park (-EDEADLK).
 */
#define DRM_VZE_QUEUE_PUBLISH		(1u << 0)

/**
 * struct drm_vze_queue_create - make a queue on an address space
 *
 * Jobs of a queue run in order; queues run beside each other.
 * Errors: -ENOENT VM, -ENOSPC no hardware queue is free, -EDQUOT the user has as many as it
 * may (module parameter max_queues), -EINVAL, -ENOMEM, -EIO.
 */
struct drm_vze_queue_create {
	/** @vm_id: address space */
	__u32 vm_id;
	/** @priority: DRM_VZE_PRIORITY_* */
	__u32 priority;
	/** @flags: DRM_VZE_QUEUE_* */
	__u32 flags;
	/** @queue_id: out, never 0 */
	__u32 queue_id;
};

/**
 * struct drm_vze_queue_destroy - stop and drop a queue
 *
 * Work still running is stopped; its fences signal with -ECANCELED. Errors: -ENOENT.
 */
struct drm_vze_queue_destroy {
	/** @queue_id: id */
	__u32 queue_id;
	/** @pad: zero */
	__u32 pad;
};

/* struct drm_vze_queue_state.state */
#define DRM_VZE_QUEUE_STATE_OK		0
#define DRM_VZE_QUEUE_STATE_FAULTED	1 /* stopped by a fault; takes no more work (-ECANCELED) */
#define DRM_VZE_QUEUE_STATE_HUNG	2 /* stopped by the watchdog; likewise */
#define DRM_VZE_QUEUE_STATE_LOST	3 /* the device is lost */

/* struct drm_vze_queue_state.nearest_kind */
#define DRM_VZE_NEAREST_NONE		0 /* nothing is mapped near */
#define DRM_VZE_NEAREST_INSIDE		1 /* the address lies in it */
#define DRM_VZE_NEAREST_BEFORE		2 /* distance bytes before its start */
#define DRM_VZE_NEAREST_AFTER		3 /* distance bytes past its end */

/**
 * struct drm_vze_queue_state - state of a queue and its last fault
 *
 * The fault fields are zero while @state is not FAULTED. Errors: -ENOENT.
 */
struct drm_vze_queue_state {
	/** @queue_id: queue */
	__u32 queue_id;
	/** @state: out: DRM_VZE_QUEUE_STATE_* */
	__u32 state;
	/** @va: out: faulting address */
	__u64 va;
	/** @batch: out: address of the batch */
	__u64 batch;
	/** @seqno: out: job, as EXEC returned it */
	__u64 seqno;
	/** @command: out: index of the command in the batch */
	__u32 command;
	/** @opcode: out: VZE_HW_CMD_* */
	__u32 opcode;
	/** @reason: out: VZE_HW_FAULT_* */
	__u32 reason;
	/** @access: out: VZE_HW_ACCESS_* */
	__u32 access;
	/** @nearest_kind: out: DRM_VZE_NEAREST_* */
	__u32 nearest_kind;
	/** @nearest_placement: out: DRM_VZE_PLACEMENT_* of its object */
	__u32 nearest_placement;
	/** @nearest_addr: out: start of the nearest mapping when the fault came */
	__u64 nearest_addr;
	/** @nearest_size: out: its size */
	__u64 nearest_size;
	/** @nearest_distance: out: bytes from the mapping (or from its start, INSIDE) */
	__u64 nearest_distance;
};

/** struct drm_vze_batch - one command buffer in the queue's address space */
struct drm_vze_batch {
	/** @addr: device address of the commands, 8-byte aligned */
	__u64 addr;
	/** @size: bytes, a multiple of 8 */
	__u32 size;
	/** @pad: zero */
	__u32 pad;
};

#define DRM_VZE_MAX_BATCHES		1024

/**
 * struct drm_vze_exec - submit command buffers
 *
 * One job: the batches run one behind the other. @num_batches 0 makes a job that
 * only orders its syncs behind the queue's earlier work. Besides its syncs a job waits for
 * implicit fences (see dma-bufs above). A failing batch fails the job: its out-syncs
 * signal with an error on their fence (-EFAULT fault, -ETIME hang, -ENODEV device lost,
 * -ECANCELED stopped).
 *
 * Errors: -ENOENT (queue, syncobj), -EINVAL, -ECANCELED (the queue was stopped by a
 * fault or hang), -EDEADLK (PUBLISH: a wait for what may park), -ENODEV (device lost),
 * -ENOMEM, -EFAULT, -EINTR.
 */
struct drm_vze_exec {
	/** @queue_id: queue */
	__u32 queue_id;
	/** @flags: zero */
	__u32 flags;
	/** @num_batches: 0..%DRM_VZE_MAX_BATCHES */
	__u32 num_batches;
	/** @num_syncs: 0..%DRM_VZE_MAX_SYNCS */
	__u32 num_syncs;
	/** @batches: pointer to struct drm_vze_batch */
	__u64 batches;
	/** @syncs: pointer to struct drm_vze_sync */
	__u64 syncs;
	/** @seqno: out: number of the job on this queue, 1, 2, ... */
	__u64 seqno;
};

/* ------------------------------------------------------------ user fences -- */

/**
 * struct drm_vze_fence_wait - sleep until a 64-bit word in memory fulfils a comparison
 *
 * Evaluated at the call, after every NOTIFY of a device command (any queue, any
 * process), after FENCE_WAKE and when a job ends or a queue stops. The word is read
 * by the CPU at @addr. Comparisons are unsigned, as in VZE_HW_WAIT_*.
 *
 * Errors: -ETIME (timeout), -EINTR (restart with the same absolute timeout), -EFAULT,
 * -EINVAL (addr not 8-byte aligned, op), -ENOENT (queue), -ECANCELED (@queue_id was
 * stopped by a fault or hang), -ENODEV (device lost).
 */
struct drm_vze_fence_wait {
	/** @addr: CPU address of the word */
	__u64 addr;
	/** @value: right side of the comparison */
	__u64 value;
	/** @op: VZE_HW_WAIT_* */
	__u32 op;
	/** @queue_id: give up when this queue stops; 0: none */
	__u32 queue_id;
	/** @timeout_ns: absolute, CLOCK_MONOTONIC; negative: for ever; 0: only look */
	__s64 timeout_ns;
};

/**
 * struct drm_vze_fence_wake - the CPU has stored to words that others wait for
 *
 * Lets the device evaluate its parked waits and the kernel its FENCE_WAITs again.
 */
struct drm_vze_fence_wake {
	/** @flags: zero */
	__u32 flags;
	/** @pad: zero */
	__u32 pad;
};

/* ----------------------------------------------------------------- shares -- */

/*
 * A share hands memory to other processes by value: whoever knows the token can open
 * it, without a descriptor and without the exporter's help. It is made from one object,
 * a list of pieces of objects, or a range of a VM, and is a snapshot: what the exporter
 * maps or unmaps later does not change it.
 *
 * An opened share is an object, called a view here. View and share hold references on
 * the objects they consist of: a view stays valid whatever the exporter does, but for
 * SHARE_REVOKE, and memory goes back when no handle, mapping, live share and view holds it
 * any more. A share that is over and has no views holds nothing.
 *
 * States. A share is LIVE when it is made, and can be opened while it is. It moves on
 * to PUT (the last SHARE_PUT), to REVOKED (SHARE_REVOKE) and to DEAD (the exporter gave
 * up its handle of an object in it, its file was closed, it ended, or the device was
 * removed), and never back. What is not LIVE opens with -ENOENT, at once.
 *
 * Permission. By token a share opens for processes whose effective user is the one
 * that the exporter had when it made the share, and for those with CAP_SYS_PTRACE in the
 * exporter's user namespace. PID namespaces, ptrace rules and whether the exporter
 * is dumpable, stopped or busy play no part. By share descriptor (SHARE_FD) it opens for
 * whoever has that.
 *
 * Access. One access holds for all of a share: writing is allowed unless the exporter
 * asked for READONLY or one of the objects is a read-only one. The access of the
 * exporter's own mappings does not matter: it can change that at any time.
 *
 * Limits. A user has at most so many shares (module parameter max_shares), and at most so
 * many segments in its shares and in what was opened of them (max_share_segments; 48 bytes
 * of kernel memory each, 24 once the share is over), -EDQUOT. CAP_SYS_RESOURCE and
 * CAP_SYS_ADMIN are exempt.
 */

/** struct drm_vze_share_token - names a share */
struct drm_vze_share_token {
	/** @id: identity, never used twice while the module is loaded; not a secret */
	__u64 id;
	/** @secret: random */
	__u8 secret[16];
};

/* struct drm_vze_share_create.flags */
#define DRM_VZE_SHARE_READONLY		(1u << 0) /* openers may only read */
#define DRM_VZE_SHARE_RANGE		(1u << 1) /* a range of a VM, else one object */
#define DRM_VZE_SHARE_LIST		(1u << 2) /* pieces of objects (since 1.2) */

/** struct drm_vze_share_piece - a piece of an object in a list */
struct drm_vze_share_piece {
	/** @handle: object */
	__u32 handle;
	/** @pad: zero */
	__u32 pad;
	/** @offset: first byte in the object */
	__u64 offset;
	/** @size: bytes, inside the object */
	__u64 size;
};

#define DRM_VZE_MAX_SHARE_PIECES	(1u << 20)

/**
 * struct drm_vze_share_create - make memory openable
 *
 * Equal requests return the same share and count its puts while it is LIVE. Requests
 * are equal when they come from the same file, with the same flags and @user_data, for the
 * same object, the same list, or the same range of the same VM, and the range consists of
 * the same pieces of the same objects in the same order at both moments. Anything else
 * makes a new share with a new identity.
 *
 * Errors: -ENOENT (handle, VM; a byte of the range is not mapped), -EINVAL, -EFAULT,
 * -EOPNOTSUPP (an object is a userptr or an import of another driver), -EACCES (a view that
 * was revoked), -EPERM (the caller's mm is not the one that opened the file), -ENOMEM,
 * -EDQUOT (a limit of the user, see above), -EINTR.
 */
struct drm_vze_share_create {
	/** @flags: DRM_VZE_SHARE_* */
	__u32 flags;
	/** @handle: object, without RANGE and LIST; else 0 */
	__u32 handle;
	/** @vm_id: address space, with RANGE; else 0 */
	__u32 vm_id;
	/** @segments: out: pieces that the share consists of */
	__u32 segments;
	/** @addr: first byte, with RANGE; else 0 */
	__u64 addr;
	/** @size: bytes: with RANGE in; without it out */
	__u64 size;
	/** @token: out */
	struct drm_vze_share_token token;
	/** @pieces: with LIST: pointer to struct drm_vze_share_piece; else 0 (since 1.2) */
	__u64 pieces;
	/** @num_pieces: with LIST: 1..%DRM_VZE_MAX_SHARE_PIECES; else 0 (since 1.2) */
	__u32 num_pieces;
	/** @pad: zero */
	__u32 pad;
	/** @user_data: anything, for whoever opens the share (since 1.2) */
	__u64 user_data;
};

/* struct drm_vze_share_open.flags */
#define DRM_VZE_SHARE_OPEN_BIND		(1u << 0) /* map it too: vm_id, addr, size */
#define DRM_VZE_SHARE_OPEN_READONLY	(1u << 1) /* map it for reading only */
#define DRM_VZE_SHARE_OPEN_IS_READONLY	(1u << 2) /* out: the share is read-only */
#define DRM_VZE_SHARE_OPEN_FD		(1u << 3) /* by share descriptor (since 1.2) */

/**
 * struct drm_vze_share_open - get a handle for a share
 *
 * The handle is an object of placement SHARE, the view; every open makes its own. With
 * BIND everything is mapped in the same call, all or nothing, as one mapping.
 *
 * Errors: -ENOENT (no live share with this token; VM; FD: the share has another id, or is
 * not live), -EACCES (the share belongs to another user; a writable binding of a read-only
 * share), -EINVAL (FD: not a share descriptor), -EBADF, -EXDEV (a share of another
 * device), -ENOMEM, -EINTR.
 */
struct drm_vze_share_open {
	/**
	 * @token: which. With FD: @token.id is 0 or what the id must be, and receives it,
	 * @token.secret is zero
	 */
	struct drm_vze_share_token token;
	/** @flags: DRM_VZE_SHARE_OPEN_* */
	__u32 flags;
	/** @vm_id: with BIND */
	__u32 vm_id;
	/** @addr: with BIND: device address */
	__u64 addr;
	/** @size: with BIND in: must be the size of the share (-EINVAL); out: that size */
	__u64 size;
	/** @handle: out */
	__u32 handle;
	/** @segments: out */
	__u32 segments;
	/** @fd: with FD: share descriptor, which stays the caller's; else 0 (since 1.2) */
	__s32 fd;
	/** @pad: zero */
	__u32 pad;
	/** @user_data: out: of SHARE_CREATE (since 1.2) */
	__u64 user_data;
};

/**
 * struct drm_vze_share_put - take back one SHARE_CREATE of this file
 *
 * The last one ends the share; what is open stays. Errors: -ENOENT (no live share of this
 * file).
 */
struct drm_vze_share_put {
	/** @id: of the token */
	__u64 id;
};

/* struct drm_vze_share_fd.flags: of the share that @handle is a view of, else by token */
#define DRM_VZE_SHARE_FD_HANDLE		(1u << 0)

/**
 * struct drm_vze_share_fd - get a descriptor of a share (since 1.2)
 *
 * The descriptor opens the share while it is LIVE (SHARE_OPEN with FD) and tells of
 * its end: poll(2) reports nothing while the share is LIVE, %POLLIN and %POLLHUP from the
 * moment it is not, and %POLLERR too once its views are being unmapped by SHARE_REVOKE.
 * It works whichever way the exporter ends. Any number of descriptors can be held, by
 * any process; they hold no memory of the share and do not keep it LIVE. SHARE_INFO says
 * which share a descriptor is of. Close-on-exec is set.
 *
 * With HANDLE it is given for a share in any state, by token only for a LIVE one.
 *
 * Errors: -ENOENT (no live share with this token; handle), -EACCES (the share belongs to
 * another user), -EXDEV (a share of another device), -EINVAL (flags; the object is not
 * a view), -EMFILE, -ENFILE, -ENOMEM.
 */
struct drm_vze_share_fd {
	/** @token: which; zero with HANDLE */
	struct drm_vze_share_token token;
	/** @flags: DRM_VZE_SHARE_FD_* */
	__u32 flags;
	/** @handle: view, with HANDLE; else 0 */
	__u32 handle;
	/** @fd: out */
	__s32 fd;
	/** @pad: zero */
	__u32 pad;
};

/* States of a share; they only grow */
#define DRM_VZE_SHARE_STATE_LIVE	0
#define DRM_VZE_SHARE_STATE_PUT		1
#define DRM_VZE_SHARE_STATE_REVOKED	2
#define DRM_VZE_SHARE_STATE_DEAD	3

/* struct drm_vze_share_info.flags */
#define DRM_VZE_SHARE_INFO_READONLY	(1u << 0) /* openers may only read */
#define DRM_VZE_SHARE_INFO_UNMAPPED	(1u << 1) /* its views were unmapped by SHARE_REVOKE */

/**
 * struct drm_vze_share_info - what a share descriptor is of (since 1.2)
 *
 * In any state, also of a share of another vze device. Errors: -EBADF, -EINVAL (not a share
 * descriptor; pad).
 */
struct drm_vze_share_info {
	/** @fd: share descriptor */
	__s32 fd;
	/** @pad: zero */
	__u32 pad;
	/** @state: out: DRM_VZE_SHARE_STATE_* */
	__u32 state;
	/** @flags: out: DRM_VZE_SHARE_INFO_* */
	__u32 flags;
	/** @id: out: identity */
	__u64 id;
	/** @size: out: bytes */
	__u64 size;
	/** @user_data: out: of SHARE_CREATE */
	__u64 user_data;
	/** @segments: out: pieces that it consists of */
	__u32 segments;
	/** @reserved: out: zero */
	__u32 reserved;
};

/** struct drm_vze_share_importer - a process that has views of a share */
struct drm_vze_share_importer {
	/** @pid: process that opened them, in the caller's PID namespace; 0: not visible there */
	__u32 pid;
	/** @views: how many it has */
	__u32 views;
	/** @bytes: of all of them */
	__u64 bytes;
};

/**
 * struct drm_vze_share_importers - who has opened a share (since 1.2)
 *
 * For the exporter, while the share is LIVE or has views. A view counts until its
 * handles and mappings are gone. Views of a share that an importer made of its view (and so
 * on) are not listed; SHARE_REVOKE reaches them.
 *
 * Errors: -ENOENT (no such share of this file), -EINVAL (pad), -EFAULT, -ENOMEM.
 */
struct drm_vze_share_importers {
	/** @id: of the token */
	__u64 id;
	/** @importers: pointer to struct drm_vze_share_importer, in no order */
	__u64 importers;
	/** @num: in: room at @importers, 0 to learn the number; out: number of importers */
	__u32 num;
	/** @state: out: DRM_VZE_SHARE_STATE_* */
	__u32 state;
	/** @puts: out: SHARE_CREATEs that have not been put */
	__u64 puts;
};

/* struct drm_vze_share_revoke.flags: take what is open away, too */
#define DRM_VZE_SHARE_REVOKE_UNMAP	(1u << 0)

/**
 * struct drm_vze_share_revoke - take a share back (since 1.2)
 *
 * For the exporter, while the share is LIVE or has views. The share can no longer be
 * opened, however many puts are due, and so can no share that was made of a view of it.
 *
 * With UNMAP also the views are taken away, those of such other shares included: when
 * the call returns 0 no translation of a view is left in any VM, and no page of it in a
 * process. Device accesses there fault, which stops their queues; CPU accesses are SIGBUS;
 * new mappings of a view are -EACCES. The addresses stay taken in the VMs until their owners
 * unmap them or map something else there. The objects that the views refer to are held
 * until the importers close the views or end.
 *
 * What other drivers have mapped already of a dma-buf that was made of a view stays with them;
 * they can map no more of it. @exported says of how many views that can be true.
 *
 * What an importer's process has pinned of a view's pages (O_DIRECT under way) stays pinned
 * until that is over.
 *
 * Errors: -ENOENT (no such share of this file), -EINVAL (flags, pad), -EINTR (nothing was
 * done), -EIO, -ENODEV (the share is revoked, but the device did not acknowledge that views
 * are unmapped; the call can be repeated).
 */
struct drm_vze_share_revoke {
	/** @id: of the token */
	__u64 id;
	/** @flags: DRM_VZE_SHARE_REVOKE_* */
	__u32 flags;
	/** @pad: zero */
	__u32 pad;
	/** @views: out: views that were open, 0 without UNMAP */
	__u32 views;
	/** @exported: out: those of them of which a dma-buf was made */
	__u32 exported;
};

/* ----------------------------------------------------------------- ioctls -- */

#define DRM_IOCTL_VZE_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_QUERY, struct drm_vze_query)
#define DRM_IOCTL_VZE_GEM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_GEM_CREATE, struct drm_vze_gem_create)
#define DRM_IOCTL_VZE_GEM_USERPTR \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_GEM_USERPTR, struct drm_vze_gem_userptr)
#define DRM_IOCTL_VZE_GEM_MMAP_OFFSET \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_GEM_MMAP_OFFSET, struct drm_vze_gem_mmap_offset)
#define DRM_IOCTL_VZE_GEM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_GEM_INFO, struct drm_vze_gem_info)
#define DRM_IOCTL_VZE_VM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_VM_CREATE, struct drm_vze_vm_create)
#define DRM_IOCTL_VZE_VM_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_VM_DESTROY, struct drm_vze_vm_destroy)
#define DRM_IOCTL_VZE_VM_BIND \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_VM_BIND, struct drm_vze_vm_bind)
#define DRM_IOCTL_VZE_VM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_VM_INFO, struct drm_vze_vm_info)
#define DRM_IOCTL_VZE_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_QUEUE_CREATE, struct drm_vze_queue_create)
#define DRM_IOCTL_VZE_QUEUE_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_QUEUE_DESTROY, struct drm_vze_queue_destroy)
#define DRM_IOCTL_VZE_QUEUE_STATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_QUEUE_STATE, struct drm_vze_queue_state)
#define DRM_IOCTL_VZE_EXEC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_EXEC, struct drm_vze_exec)
#define DRM_IOCTL_VZE_FENCE_WAIT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_FENCE_WAIT, struct drm_vze_fence_wait)
#define DRM_IOCTL_VZE_FENCE_WAKE \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_FENCE_WAKE, struct drm_vze_fence_wake)
#define DRM_IOCTL_VZE_SHARE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_CREATE, struct drm_vze_share_create)
#define DRM_IOCTL_VZE_SHARE_OPEN \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_OPEN, struct drm_vze_share_open)
#define DRM_IOCTL_VZE_SHARE_PUT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VZE_SHARE_PUT, struct drm_vze_share_put)
#define DRM_IOCTL_VZE_SHARE_FD \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_FD, struct drm_vze_share_fd)
#define DRM_IOCTL_VZE_SHARE_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_INFO, struct drm_vze_share_info)
#define DRM_IOCTL_VZE_SHARE_IMPORTERS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_IMPORTERS, struct drm_vze_share_importers)
#define DRM_IOCTL_VZE_SHARE_REVOKE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VZE_SHARE_REVOKE, struct drm_vze_share_revoke)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_DRM_VZE_DRM_H_ */
