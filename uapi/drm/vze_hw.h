/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * vze virtual GPU: hardware manual.
 *
 * This header is the only description of the device. The kernel module, the
 * user-mode driver (for command buffers) and the device itself include it.
 *
 * The device is a PCI function (1af4:1110, QEMU's ivshmem-doorbell) with
 *
 *  - BAR0: the doorbell register of ivshmem. A 32-bit write of
 *    (1 << 16 | vector) at %VZE_HW_BAR0_DOORBELL rings doorbell @vector.
 *  - BAR1: the MSI-X table, one vector per VZE_HW_IRQ_*.
 *  - BAR2: the identity page, the registers, the rings and VRAM. BAR2 is plain
 *    memory: a write does not trap and nothing in it is read-only. The device
 *    keeps its own copy of every word that it writes and never reads one back,
 *    and it validates everything it reads.
 *
 * All numbers are little endian. Every structure here has the same layout on
 * 32 and 64 bit.
 *
 * Memory ordering. Whoever publishes something in BAR2 or in memory makes it
 * visible before the index, flag or word that announces it (release), and the
 * other side reads that word before what it announces (acquire). A doorbell is
 * rung after a full barrier. Doorbells and interrupts carry no data and may be
 * merged; the state in BAR2 says what there is to do.
 */
#ifndef _UAPI_DRM_VZE_HW_H_
#define _UAPI_DRM_VZE_HW_H_

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* ------------------------------------------------------------------ PCI -- */

#define VZE_HW_PCI_VENDOR		0x1af4
#define VZE_HW_PCI_DEVICE		0x1110

/* Byte offset of the doorbell register in BAR0 (32 bit, write only). */
#define VZE_HW_BAR0_DOORBELL		12
#define VZE_HW_DOORBELL_VALUE(vector)	((1u << 16) | (vector))

/* Doorbells, driver to device. */
#define VZE_HW_DB_CTRL			0 /* the control ring has new entries */
#define VZE_HW_DB_QUEUE			1 /* see vze_hw_regs.queue_doorbell */
#define VZE_HW_DB_WAKE			2 /* evaluate every parked wait again */
#define VZE_HW_DB_COUNT			3

/* MSI-X vectors, device to driver. */
#define VZE_HW_IRQ_CTRL			0 /* vze_hw_regs.ctrl_head moved */
#define VZE_HW_IRQ_QUEUE		1 /* see vze_hw_regs.queue_irq */
#define VZE_HW_IRQ_FAULT		2 /* vze_hw_regs.fault_head moved */
#define VZE_HW_IRQ_COUNT		3

/* Number of ivshmem vectors that the device asks QEMU for. */
#define VZE_HW_VECTORS			4

/* ----------------------------------------------------------- BAR2 layout -- */

#define VZE_HW_IDENT_OFFSET		0x00000
#define VZE_HW_REGS_OFFSET		0x01000
#define VZE_HW_CTRL_OFFSET		0x02000
#define VZE_HW_FAULT_OFFSET		0x06000
#define VZE_HW_WINDOW_OFFSET		0x08000
#define VZE_HW_COUNTERS_OFFSET		0x09000
#define VZE_HW_QUEUE_OFFSET		0x10000

#define VZE_HW_CTRL_ENTRIES		256  /* a power of two */
#define VZE_HW_FAULT_ENTRIES		128  /* a power of two */
#define VZE_HW_WINDOWS			64
#define VZE_HW_MAX_QUEUES		1024
#define VZE_HW_MAX_ADDRESS_SPACES	1024

/* VRAM starts at vze_hw_ident.vram_offset, at least this far into BAR2. */
#define VZE_HW_VRAM_MIN_OFFSET		0x200000

/* "VZE-GPU1" read as a little endian number. */
#define VZE_HW_MAGIC			0x315550472d455a56ULL
/*
 * A driver refuses a device with another major version, or with a minor version below
 * the one that it was written for.
 */
#define VZE_HW_VERSION_MAJOR		1
#define VZE_HW_VERSION_MINOR		2

/* vze_hw_ident.features */
#define VZE_HW_FEATURE_STRICT		(1ULL << 0) /* strict TLB mode is on */
#define VZE_HW_FEATURE_COMPRESSION	(1ULL << 1) /* %VZE_HW_PTE_COMPRESSIBLE works */

/**
 * struct vze_hw_ident - the identity page
 *
 * Written by the device before it accepts the first doorbell, constant
 * afterwards. The driver copies it at probe and trusts the copy only after it
 * has checked every field against the size of BAR2.
 */
struct vze_hw_ident {
	/** @magic: %VZE_HW_MAGIC */
	__u64 magic;
	/** @version_major: changes when an old driver cannot work any more */
	__u32 version_major;
	/** @version_minor: grows with additions */
	__u32 version_minor;
	/** @features: VZE_HW_FEATURE_* */
	__u64 features;
	/** @bar_size: size of BAR2 in bytes, a power of two */
	__u64 bar_size;
	/** @vram_offset: where VRAM starts in BAR2, 2 MiB aligned */
	__u64 vram_offset;
	/** @vram_size: bytes of VRAM, a multiple of 2 MiB */
	__u64 vram_size;
	/**
	 * @max_transfer: the transfer engine's counter is this wide: no single
	 * copy, fill or region row set moves more bytes, and no allocation that
	 * must be reachable by one transfer may be larger. A power of two.
	 */
	__u64 max_transfer;
	/** @page_sizes: bit n set: leaves of 1 << n bytes are supported */
	__u64 page_sizes;
	/** @timestamp_hz: frequency of the device clock */
	__u64 timestamp_hz;
	/** @epoch: changes whenever the device process starts anew */
	__u64 epoch;
	/** @num_queues: hardware queues, ids 0..num_queues-1 */
	__u32 num_queues;
	/** @num_address_spaces: ids 0..num_address_spaces-1; 0 is the kernel's */
	__u32 num_address_spaces;
	/** @va_bits: width of a device virtual address (48) */
	__u32 va_bits;
	/** @num_engines: threads that move data, a figure for properties only */
	__u32 num_engines;
	/** @uuid: identity of this device, stable for the life of the process */
	__u8 uuid[16];
	/** @name: NUL-terminated model name */
	char name[32];
};

/* vze_hw_regs.device_state */
#define VZE_HW_STATE_STARTING		0
#define VZE_HW_STATE_RUNNING		1
#define VZE_HW_STATE_STOPPED		2 /* the process ended in order */

/**
 * struct vze_hw_regs - the register page
 *
 * Words that the driver writes and words that the device writes never share a
 * cache line.
 */
struct vze_hw_regs {
	/** @device_state: (device) VZE_HW_STATE_* */
	__u32 device_state;
	/** @pad0: zero */
	__u32 pad0;
	/** @heartbeat: (device) grows at least ten times a second while it lives */
	__u64 heartbeat;
	/** @pad1: zero */
	__u64 pad1[6];

	/** @ctrl_tail: (driver) entries ever written to the control ring */
	__u32 ctrl_tail;
	/** @fault_tail: (driver) entries ever taken from the fault ring */
	__u32 fault_tail;
	/** @pad2: zero */
	__u64 pad2[7];

	/** @ctrl_head: (device) entries of the control ring ever completed */
	__u32 ctrl_head;
	/** @fault_head: (device) entries ever written to the fault ring */
	__u32 fault_head;
	/** @faults_dropped: (device) fault records lost because the ring was full */
	__u64 faults_dropped;
	/** @pad3: zero */
	__u64 pad3[6];

	/** @pad4: zero */
	__u64 pad4[40];

	/**
	 * @queue_doorbell: (driver sets, device takes) bit q of word q/64 set:
	 * queue q has new ring entries. Set with an atomic OR, then ring
	 * %VZE_HW_DB_QUEUE; the device takes a word with an atomic exchange.
	 */
	__u64 queue_doorbell[VZE_HW_MAX_QUEUES / 64];
	/**
	 * @queue_irq: (device sets, driver takes) bit set: the status of that
	 * queue moved (a job completed, it stopped, a NOTIFY was executed).
	 */
	__u64 queue_irq[VZE_HW_MAX_QUEUES / 64];
};

/* ----------------------------------------------------- address translation -- */

/*
 * 48-bit virtual addresses, four levels of 512 entries of 8 bytes. Tables are
 * 4 KiB pages in system memory. Level 3 is the root; a leaf may stand at level
 * 0 (4 KiB), level 1 (2 MiB) or level 2 (1 GiB).
 *
 * An entry that is not present may hold anything in its other bits. A present
 * entry with a reserved bit set, a leaf whose address is not aligned to its
 * size, or an address outside guest memory or VRAM is a %VZE_HW_FAULT_BAD_PTE.
 */
#define VZE_HW_PTE_PRESENT		(1ULL << 0)
#define VZE_HW_PTE_WRITABLE		(1ULL << 1) /* leaves only */
#define VZE_HW_PTE_VRAM			(1ULL << 2) /* leaves: address is an offset into VRAM */
#define VZE_HW_PTE_COMPRESSIBLE		(1ULL << 3) /* leaves in VRAM only: see page states */
#define VZE_HW_PTE_LEAF			(1ULL << 7) /* at levels 1 and 2; zero at level 0 */
#define VZE_HW_PTE_ADDR_MASK		0x000ffffffffff000ULL

#define VZE_HW_VA_BITS			48
#define VZE_HW_LEVELS			4
#define VZE_HW_LEVEL_BITS		9
#define VZE_HW_ENTRIES			512
#define VZE_HW_PAGE_SHIFT		12
#define VZE_HW_PAGE_SIZE		(1ULL << VZE_HW_PAGE_SHIFT)
#define VZE_HW_LEVEL_SHIFT(level)	(VZE_HW_PAGE_SHIFT + VZE_HW_LEVEL_BITS * (level))

/*
 * TLB. The device caches leaf translations per address space and page. It does
 * not cache that something is absent: making an absent entry present needs no
 * invalidation. Any other change (removing, replacing, write-protecting,
 * splitting or joining leaves, freeing a table page) is done like this:
 *
 *  1. open a window: write a free slot of the window array (below), state
 *     last, then a full barrier;
 *  2. change the entries;
 *  3. put %VZE_HW_CTRL_TLB_INVALIDATE with the range and the slot into the
 *     control ring and wait for its completion;
 *  4. close the window (state 0). Only now may pages and table pages go back.
 *
 * Inside a window old and new translations may both be used. The completion of
 * the invalidation promises that no cached translation of the range remains
 * and that no transfer that used one is under way (a transfer translates in
 * chunks of at most 2 MiB). In strict mode the device walks the tables on every
 * TLB hit: a difference outside any window, or one left at the completion, is
 * counted in %VZE_HW_COUNTER_STALE_USES.
 */
#define VZE_HW_WINDOW_FREE		0
#define VZE_HW_WINDOW_OPEN		1

/** struct vze_hw_window - one slot of the window array (written by the driver) */
struct vze_hw_window {
	/** @state: VZE_HW_WINDOW_*; written last when opening */
	__u32 state;
	/** @asid: address space */
	__u32 asid;
	/** @start: first byte of the range, 4 KiB aligned */
	__u64 start;
	/** @end: first byte after the range, 4 KiB aligned */
	__u64 end;
	/** @pad: zero; a slot has its own cache line */
	__u64 pad[5];
};

/* ------------------------------------------------------------ page states -- */

/*
 * The device keeps a state for every 4 KiB page of VRAM:
 *
 *  - plain: the bytes are in memory;
 *  - cleared: the page reads as zeros, whatever is in memory;
 *  - compressed: only a pattern of 1 to %VZE_HW_MAX_PATTERN bytes is in memory, and
 *    repeats over the page;
 *  - kept plain: like plain, and nothing but %VZE_HW_CTRL_CLEAR changes that.
 *
 * All accesses of the device itself, through whatever leaf and in whatever address space,
 * see the bytes that the state means. A transfer that overwrites a whole page through a leaf
 * with %VZE_HW_PTE_COMPRESSIBLE leaves it compressed or cleared if that is what it writes: a fill,
 * or a copy from a page in such a state to the same place in a page. Any other write makes
 * its pages plain first.
 *
 * BAR2 shows memory as it stands. Before anybody may look at a page there, the driver has it
 * made plain for good, by %VZE_HW_CTRL_RESOLVE with %VZE_HW_RESOLVE_KEEP: both sides then see
 * each other's bytes, whatever the leaves say and whatever transfers are under way. A page
 * that nobody looks at any more becomes an ordinary one by %VZE_HW_CTRL_CLEAR.
 *
 * The states of a device that has just started are undefined: a driver clears
 * memory before it uses it.
 */

/* ----------------------------------------------------------- control ring -- */

/*
 * The device takes entries in order and completes them in order. For each it
 * writes @result (and @out), then moves vze_hw_regs.ctrl_head and raises
 * %VZE_HW_IRQ_CTRL. At most %VZE_HW_CTRL_ENTRIES entries may be outstanding; a
 * tail that claims more is a %VZE_HW_FAULT_BAD_RING of queue 0xffffffff, and
 * nothing is executed until it is right. Unused ids, arguments and padding are
 * zero, else the result is %VZE_HW_RESULT_BAD_ARGUMENT.
 */
#define VZE_HW_CTRL_NOP			0
/* id = asid, arg[0] = guest-physical address of the root table */
#define VZE_HW_CTRL_AS_CREATE		1
/* id = asid; every queue of it must have been destroyed */
#define VZE_HW_CTRL_AS_DESTROY		2
/*
 * id = asid, arg[0] = start, arg[1] = end (4 KiB aligned), arg[2] = window slot.
 * Parked waits of that address space are evaluated again afterwards, so that one
 * whose memory went away faults.
 */
#define VZE_HW_CTRL_TLB_INVALIDATE	3
/*
 * id = queue, arg[0] = asid, arg[1] = virtual address of the ring in address
 * space 0, 8-byte aligned, arg[2] = number of ring entries (a power of two,
 * 2..4096), arg[3] = VZE_HW_PRIORITY_* (since 1.2; before, zero). The head starts
 * at 0; entries up to the tail that stands in vze_hw_queue.ring_tail are executed
 * at once.
 */
#define VZE_HW_CTRL_QUEUE_CREATE	4
/* id = queue. Stops it like a reset first. */
#define VZE_HW_CTRL_QUEUE_DESTROY	5
/*
 * id = queue. Stops the queue wherever it is (between two chunks), forgets the
 * entries up to the tail that the driver wrote before, and makes it idle with
 * ring_head = ring_tail. After completion it touches no memory any more.
 */
#define VZE_HW_CTRL_QUEUE_RESET		6
/* Destroys every queue and address space, empties the TLB; VRAM is kept. */
#define VZE_HW_CTRL_DEVICE_RESET	7
/*
 * arg[0] = offset in VRAM, arg[1] = size, 4 KiB aligned, arg[2] = flags. Makes
 * cleared and compressed pages plain, with %VZE_HW_RESOLVE_KEEP all pages kept plain.
 */
#define VZE_HW_CTRL_RESOLVE		8
/* out = device clock, in units of 1/timestamp_hz s */
#define VZE_HW_CTRL_READ_CLOCK		9
/*
 * arg[0] = offset in VRAM, arg[1] = size, 4 KiB aligned. Makes the pages cleared,
 * whatever they were. Moves no bytes. Nothing may use the pages meanwhile.
 */
#define VZE_HW_CTRL_CLEAR		10

/*
 * Priorities of queues. An engine that is free, or has given a queue its turn (a few
 * short commands, or one chunk of a long one), goes on with the highest priority that
 * has something to run, and within it with the queue that has waited longest. After
 * %VZE_HW_PRIORITY_PATIENCE such turns a lower priority gets one all the same: nobody
 * starves.
 */
#define VZE_HW_PRIORITY_LOW		0
#define VZE_HW_PRIORITY_NORMAL		1
#define VZE_HW_PRIORITY_HIGH		2
#define VZE_HW_PRIORITY_COUNT		3
#define VZE_HW_PRIORITY_PATIENCE	16

/* Flags of RESOLVE. */
#define VZE_HW_RESOLVE_KEEP		(1ULL << 0)

/* vze_hw_ctrl_entry.result */
#define VZE_HW_RESULT_PENDING		0
#define VZE_HW_RESULT_OK		1
#define VZE_HW_RESULT_BAD_OPCODE	2
#define VZE_HW_RESULT_BAD_ARGUMENT	3
#define VZE_HW_RESULT_BAD_STATE		4

/** struct vze_hw_ctrl_entry - an entry of the control ring */
struct vze_hw_ctrl_entry {
	/** @opcode: VZE_HW_CTRL_* */
	__u32 opcode;
	/** @id: what it is about, see the opcode */
	__u32 id;
	/** @arg: arguments, see the opcode; unused ones are zero */
	__u64 arg[4];
	/** @out: (device) result value */
	__u64 out;
	/** @result: (device) VZE_HW_RESULT_*; the driver writes PENDING */
	__u32 result;
	/** @pad: zero */
	__u32 pad;
	/** @pad2: zero */
	__u64 pad2;
};

/* ----------------------------------------------------------------- queues -- */

/* vze_hw_queue.state */
#define VZE_HW_QUEUE_ABSENT		0
#define VZE_HW_QUEUE_IDLE		1 /* the ring is empty */
#define VZE_HW_QUEUE_RUNNING		2
#define VZE_HW_QUEUE_PARKED		3 /* waits on a semaphore, costs nothing */
#define VZE_HW_QUEUE_FAULTED		4 /* stopped by a fault until reset */

/**
 * struct vze_hw_queue - the registers of one queue
 *
 * Array of %VZE_HW_MAX_QUEUES at %VZE_HW_QUEUE_OFFSET.
 */
struct vze_hw_queue {
	/** @ring_tail: (driver) ring entries ever written */
	__u32 ring_tail;
	/** @pad0: zero */
	__u32 pad0;
	/** @pad1: zero */
	__u64 pad1[7];

	/** @ring_head: (device) ring entries ever completed */
	__u32 ring_head;
	/** @state: (device) VZE_HW_QUEUE_* */
	__u32 state;
	/** @seqno: (device) seqno of the last completed ring entry */
	__u64 seqno;
	/**
	 * @progress: (device) grows with every command and every chunk of a
	 * transfer. A running queue whose progress stands still hangs; a parked
	 * one never does.
	 */
	__u64 progress;
	/** @busy_ns: (device) time spent running, not parked, updated per job and park */
	__u64 busy_ns;
	/** @notifies: (device) executed commands with %VZE_HW_CMD_NOTIFY */
	__u64 notifies;
	/** @pad2: zero */
	__u64 pad2[3];
};

/**
 * struct vze_hw_ring_entry - one job
 *
 * Rings lie in address space 0; the device fetches them through its tables.
 */
struct vze_hw_ring_entry {
	/** @batch: virtual address of the commands in the queue's address space, 8-byte aligned */
	__u64 batch;
	/** @size: bytes of commands, a multiple of 8; 0 completes at once */
	__u32 size;
	/** @flags: zero */
	__u32 flags;
	/** @seqno: written to vze_hw_queue.seqno when the job has completed */
	__u64 seqno;
	/** @pad: zero */
	__u64 pad[5];
};

/* --------------------------------------------------------------- commands -- */

/*
 * A command starts with struct vze_hw_cmd; @len counts 8-byte words with the
 * header. Commands of a batch stand one behind the other and are executed in
 * order: the effects of one are visible before the next starts. Anything not
 * described here (unknown opcode, wrong @len, flag or padding not zero, batch
 * that ends inside a command) is a %VZE_HW_FAULT_MALFORMED.
 *
 * Transfers may have any byte alignment. Source and destination that overlap
 * give undefined contents within the destination.
 */
#define VZE_HW_CMD_NOP			0
#define VZE_HW_CMD_COPY			1
#define VZE_HW_CMD_FILL			2
#define VZE_HW_CMD_COPY_REGION		3
#define VZE_HW_CMD_SEM_SIGNAL		4
#define VZE_HW_CMD_SEM_WAIT		5
#define VZE_HW_CMD_TIMESTAMP		6
#define VZE_HW_CMD_BARRIER		7
#define VZE_HW_CMD_ATOMIC_ADD		8
/* Runs without progress until the queue is reset: provokes a hang. */
#define VZE_HW_CMD_HANG			9

/* vze_hw_cmd.flags of SEM_SIGNAL, ATOMIC_ADD, TIMESTAMP: queue_irq and an interrupt follow */
#define VZE_HW_CMD_NOTIFY		(1u << 0)

/* vze_hw_cmd.flags of SEM_WAIT, bits 4..6: continue when (*addr <op> value), unsigned */
#define VZE_HW_CMD_WAIT_OP(op)		((__u32)(op) << 4)
#define VZE_HW_WAIT_EQ			0
#define VZE_HW_WAIT_NE			1
#define VZE_HW_WAIT_GE			2
#define VZE_HW_WAIT_GT			3
#define VZE_HW_WAIT_LE			4
#define VZE_HW_WAIT_LT			5

/** struct vze_hw_cmd - header of every command; NOP, BARRIER and HANG are only this */
struct vze_hw_cmd {
	/** @opcode: VZE_HW_CMD_* */
	__u16 opcode;
	/** @len: length of the command in 8-byte words, header included */
	__u16 len;
	/** @flags: see the opcode */
	__u32 flags;
};

/** struct vze_hw_cmd_copy - COPY: linear copy */
struct vze_hw_cmd_copy {
	/** @cmd: header, len 4 */
	struct vze_hw_cmd cmd;
	/** @dst: destination */
	__u64 dst;
	/** @src: source */
	__u64 src;
	/** @size: bytes, 1..max_transfer */
	__u64 size;
};

#define VZE_HW_MAX_PATTERN		128

/**
 * struct vze_hw_cmd_fill - FILL: repeats a pattern
 *
 * The pattern follows, padded with zeros to a multiple of 8 bytes. The last
 * repetition is cut when @size is not a multiple of @pattern_size.
 */
struct vze_hw_cmd_fill {
	/** @cmd: header, len 4 + (pattern_size + 7) / 8 */
	struct vze_hw_cmd cmd;
	/** @dst: destination */
	__u64 dst;
	/** @size: bytes, 1..max_transfer */
	__u64 size;
	/** @pattern_size: bytes of the pattern, 1..%VZE_HW_MAX_PATTERN, any number */
	__u32 pattern_size;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct vze_hw_cmd_copy_region - COPY_REGION: box of rows
 *
 * Row y of slice z goes from src + z * src_slice + y * src_pitch to
 * dst + z * dst_slice + y * dst_pitch. width * height * depth is at most
 * max_transfer and must not overflow. Pitches may be anything, zero included.
 */
struct vze_hw_cmd_copy_region {
	/** @cmd: header, len 10 */
	struct vze_hw_cmd cmd;
	/** @dst: first byte of the destination */
	__u64 dst;
	/** @src: first byte of the source */
	__u64 src;
	/** @width: bytes in a row, at least 1 */
	__u64 width;
	/** @height: rows in a slice, at least 1 */
	__u32 height;
	/** @depth: slices, at least 1 */
	__u32 depth;
	/** @dst_pitch: bytes from row to row */
	__u64 dst_pitch;
	/** @dst_slice: bytes from slice to slice */
	__u64 dst_slice;
	/** @src_pitch: bytes from row to row */
	__u64 src_pitch;
	/** @src_slice: bytes from slice to slice */
	__u64 src_slice;
	/** @pad: zero */
	__u64 pad;
};

/** struct vze_hw_cmd_sem - SEM_SIGNAL: *addr = value; SEM_WAIT; ATOMIC_ADD: *addr += value */
struct vze_hw_cmd_sem {
	/** @cmd: header, len 3 */
	struct vze_hw_cmd cmd;
	/** @addr: a 64-bit word, 8-byte aligned */
	__u64 addr;
	/** @value: operand */
	__u64 value;
};

/*
 * A wait that is not fulfilled parks the queue. Parked waits are evaluated
 * again after every SEM_SIGNAL and ATOMIC_ADD of the device, at the doorbell
 * %VZE_HW_DB_WAKE (a CPU that stores to a semaphore rings it), after an
 * invalidation in their address space, and at least once in 20 ms.
 */

/** struct vze_hw_cmd_timestamp - TIMESTAMP: stores the 64-bit device clock */
struct vze_hw_cmd_timestamp {
	/** @cmd: header, len 2 */
	struct vze_hw_cmd cmd;
	/** @addr: where to, 8-byte aligned */
	__u64 addr;
};

/* ----------------------------------------------------------------- faults -- */

/* vze_hw_fault.reason */
#define VZE_HW_FAULT_NOT_PRESENT	1
#define VZE_HW_FAULT_READ_ONLY		2
#define VZE_HW_FAULT_BAD_PTE		3
#define VZE_HW_FAULT_NON_CANONICAL	4 /* address or range beyond 48 bits */
#define VZE_HW_FAULT_MALFORMED		5
#define VZE_HW_FAULT_UNALIGNED		6 /* semaphore, timestamp, batch */
#define VZE_HW_FAULT_TOO_LARGE		7 /* more than max_transfer */
#define VZE_HW_FAULT_BAD_RING		8 /* ring entry or tail out of order */

/* vze_hw_fault.access */
#define VZE_HW_ACCESS_READ		0
#define VZE_HW_ACCESS_WRITE		1
#define VZE_HW_ACCESS_FETCH		2 /* of commands or ring entries */

/** struct vze_hw_fault - an entry of the fault ring (written by the device) */
struct vze_hw_fault {
	/** @queue: the queue that stopped */
	__u32 queue;
	/** @asid: its address space */
	__u32 asid;
	/** @va: first byte that could not be accessed; for MALFORMED the address of the command */
	__u64 va;
	/** @batch: address of the batch */
	__u64 batch;
	/** @seqno: of the ring entry */
	__u64 seqno;
	/** @command: index of the command in the batch, from 0 */
	__u32 command;
	/** @opcode: of that command (0 when not known) */
	__u32 opcode;
	/** @reason: VZE_HW_FAULT_* */
	__u32 reason;
	/** @access: VZE_HW_ACCESS_* */
	__u32 access;
	/** @pad: zero */
	__u64 pad[2];
};

/* --------------------------------------------------------------- counters -- */

/*
 * 64-bit words at %VZE_HW_COUNTERS_OFFSET, written by the device at least once
 * in 100 ms and before every completion of a control command. All only grow.
 * BYTES_* are bytes of transfers and words that really moved. RESOLVES counts pages that
 * became plain because of their state, PAGES_COMPRESSED those that transfers compressed or
 * cleared, PAGES_CLEARED those of CLEAR.
 */
enum vze_hw_counter {
	VZE_HW_COUNTER_BYTES_READ,
	VZE_HW_COUNTER_BYTES_WRITTEN,
	VZE_HW_COUNTER_COMMANDS,
	VZE_HW_COUNTER_JOBS,
	VZE_HW_COUNTER_TLB_HITS,
	VZE_HW_COUNTER_TLB_MISSES,
	VZE_HW_COUNTER_TLB_INVALIDATIONS,
	VZE_HW_COUNTER_STALE_USES,
	VZE_HW_COUNTER_FAULTS,
	VZE_HW_COUNTER_RESOLVES,
	VZE_HW_COUNTER_PARKS,
	VZE_HW_COUNTER_RESETS,
	VZE_HW_COUNTER_INTERRUPTS,
	VZE_HW_COUNTER_PAGES_COMPRESSED,
	VZE_HW_COUNTER_PAGES_CLEARED,
	VZE_HW_COUNTER_COUNT,
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_DRM_VZE_HW_H_ */
