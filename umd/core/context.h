// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/address_map.h"
#include "core/allocation.h"
#include "core/device.h"
#include "core/driver.h"
#include "core/handle.h"
#include "core/internal_slab.h"
#include "core/physical_memory.h"
#include "core/va_reservation.h"
#include "core/work_tracker.h"

namespace vze {

class Context;
struct ExportedObject;
struct IpcHandle;

/// Driver-owned memory that the CPU and every device of the context see at one address: command
/// buffers, event words. Zeroed when it is allocated.
struct HostVisibleBlock {
    void* cpu = nullptr;
    uint64_t address = 0; ///< device address, equal to cpu
    size_t size = 0;
    InternalSlab* slab = nullptr; ///< where it was cut from

    explicit operator bool() const noexcept { return cpu != nullptr; }
};

/// A block of another process, as Context::openInternal() is to find it.
struct SharedBlock {
    drm_vze_share_token token{};
    /// Share descriptor, -1: none. It proves the right that the token alone does not; without a
    /// secret in the token it is all there is.
    int fd = -1;
    uint64_t userData = 0; ///< of shareInternal(); another one is a forged handle
    size_t size = 0;
};

/// A device's view of a piece of the application's memory for as long as this object lives: the
/// pages are pinned and bound at an address of the driver's own, never at the CPU address, so that
/// it neither disturbs nor depends on imports that overlap it. Must be gone before its context.
class TransientImport {
public:
    TransientImport() = default;
    TransientImport(TransientImport&& other) noexcept { *this = std::move(other); }
    TransientImport& operator=(TransientImport&& other) noexcept;
    ~TransientImport() { reset(); }

    /// Unbinds and unpins at once; work that still uses it faults.
    void reset() noexcept;
    explicit operator bool() const noexcept { return m_context != nullptr; }

    /// Device address of a host pointer inside the imported range.
    uint64_t deviceAddress(const void* ptr) const noexcept {
        return m_address + (reinterpret_cast<uintptr_t>(ptr) - m_hostBase);
    }
    /// The host address behind a device address of the imported range, 0 when it is outside.
    uint64_t hostAddress(uint64_t address) const noexcept {
        return m_context != nullptr && address - m_address < m_size
                   ? m_hostBase + (address - m_address)
                   : 0;
    }

private:
    friend class Context;
    Context* m_context = nullptr;
    Device* m_device = nullptr;
    uint32_t m_gem = 0;
    uint64_t m_address = 0;
    uint64_t m_size = 0;
    uintptr_t m_hostBase = 0;
};

/// Where a device finds a range that an API call named by a CPU or device pointer.
struct ResolvedRange {
    uint64_t address = 0;
    TransientImport
        import; ///< set when the pages had to be pinned for the command; keep it that long
};

/// An address space on each of its devices, and everything that is allocated there.
///
/// Locking: m_virtualMutex (reservations and what is mapped there) is taken before m_mutex
/// (everything else). Neither is held across a call that pins pages or waits for work. Look-ups
/// take no lock.
class Context : public Handle<Context, ze_context_handle_t, HandleKind::Context> {
public:
    static ze_result_t create(Driver& driver, std::span<Device* const> devices, Context*& out);
    /// Frees everything that was left, like the kernel does at the end of a process. The address
    /// spaces stay for the queues, lists and event pools that are left, until the last of them is
    /// destroyed, too (see ContextUse).
    void destroy() noexcept;

    Driver& driver() const noexcept { return m_driver; }
    std::span<Device* const> devices() const noexcept { return m_devices; }
    bool contains(const Device& device) const noexcept;
    /// Address space of a device of this context.
    uint32_t vmId(const Device& device) const noexcept { return m_vms[device.index()]; }

    // ---- queues: frees with a policy must know what may still use memory

    /// The queues on the context's address spaces with what their unfinished work touches: a free
    /// asks it for the work to wait for.
    WorkTracker& work() noexcept { return m_work; }

    /// [base, base + size) of another context is being freed there: what commands of this context
    /// have bound of it goes at once, and work that still uses it faults; or (@p whenDone) it goes
    /// by itself when the work that was submitted so far has ended.
    void returnBorrowed(uint64_t base, uint64_t size, bool whenDone) noexcept;

    // ---- look-up

    /// The allocation that an address belongs to; lock-free.
    bool lookup(const void* ptr, AllocationView& out) const noexcept {
        return m_map.find(reinterpret_cast<uintptr_t>(ptr), out);
    }

    /// Whether a page of the range belongs to an import that the device may only read: no other way
    /// to the same page may let it write.
    bool meetsReadOnlyImport(const void* ptr, size_t size) const;

    /// Where @p device reaches [ptr, ptr + size): the same address for memory of this context (USM,
    /// imports, reservations), otherwise a transient import. INVALID_ARGUMENT when it is neither
    /// (not user memory, VRAM of another device); OUT_OF_HOST_MEMORY at the locked-memory limit.
    ze_result_t resolve(Device& device, const void* ptr, size_t size, bool deviceWrites,
                        ResolvedRange& out);
    /// resolve() for memory of another context of this process: it is bound here, at another
    /// address, for as long as @p out lives. Falls back to resolve() for memory that is not the
    /// source's.
    ze_result_t resolveFrom(Context& source, Device& device, const void* ptr, size_t size,
                            bool deviceWrites, ResolvedRange& out);

    /// Imports a host range for one device regardless of what else is at that address. A host range
    /// that lies in memory of the driver's own cannot be pinned: INVALID_ARGUMENT.
    ze_result_t importTransient(Device& device, const void* ptr, size_t size, bool deviceWrites,
                                TransientImport& out);

    // ---- driver memory

    /// 64-byte aligned, zeroed. @p dedicated: an object of its own, page aligned, that
    /// shareInternal() can hand to other processes.
    ze_result_t allocInternal(size_t size, HostVisibleBlock& out, bool dedicated = false);
    void freeInternal(HostVisibleBlock& block) noexcept;
    /// Token of a dedicated block; counted, given back with unshareInternal(). @p userData is kept
    /// with the share for its openers.
    ze_result_t shareInternal(const HostVisibleBlock& block, uint64_t userData,
                              drm_vze_share_token& token);
    ze_result_t unshareInternal(const HostVisibleBlock& block, const drm_vze_share_token& token);
    /// Maps a block of another process (or of this one) into this context.
    ze_result_t openInternal(const SharedBlock& shared, HostVisibleBlock& out);

    // ---- zeMem*

    ze_result_t allocDevice(Device& device, size_t size, size_t alignment,
                            const AllocOptions& options, void*& out);
    /// @p device: the device of a shared allocation, null for host memory.
    ze_result_t allocHost(Device* device, size_t size, size_t alignment, AllocationType type,
                          const AllocOptions& options, void*& out);
    /// Pins the application's memory and gives every device of the context access at its own
    /// address.
    ze_result_t importHost(void* memory, size_t size, bool readOnly, void*& out);
    /// Frees the allocation that begins at @p ptr (the newest, when several imports do).
    ze_result_t free(void* ptr, FreePolicy policy);
    /// Base and size as zeMemGetAddressRange gives them; false when there is no allocation.
    bool addressRange(const void* ptr, uint64_t& base, uint64_t& size) const;

    // ---- dma-buf and IPC

    /// The one dma-buf descriptor of an allocation; stays the driver's.
    ze_result_t exportFd(const void* ptr, int& fd);
    /// @p ptr: memory of this context, or a ze_physical_mem_handle_t of it cast to a pointer.
    ze_result_t getIpcHandle(const void* ptr, const IpcOptions& options, ze_ipc_mem_handle_t& out);
    ze_result_t openIpcHandle(Device& device, const ze_ipc_mem_handle_t& handle, void*& out);
    /// Closes what openIpcHandle() gave.
    ze_result_t closeIpcHandle(const void* ptr);

    /// A share descriptor of a handle, or of what was opened at @p ptr; becomes the caller's.
    ze_result_t ipcShareFd(const ze_ipc_mem_handle_t& handle, int& fd) const;
    ze_result_t ipcShareFdOf(const void* ptr, int& fd) const;
    /// The processes that have opened a handle of this process; @p num is how many there are.
    ze_result_t ipcImporters(const ze_ipc_mem_handle_t& handle,
                             std::span<drm_vze_share_importer> importers, uint32_t& num) const;
    /// Ends a handle of this process whatever its Gets; @p unmap: and takes away what is open.
    ze_result_t revokeIpcHandle(const ze_ipc_mem_handle_t& handle, bool unmap,
                                drm_vze_share_revoke& out) const;

    // ---- zeVirtualMem*, zePhysicalMem*

    /// @p device null: system memory.
    ze_result_t createPhysical(Device* device, size_t size, const AllocOptions& options,
                               PhysicalMemory*& out);
    /// What is mapped stays mapped; the memory goes back with the last mapping.
    ze_result_t destroyPhysical(ze_physical_mem_handle_t handle);
    /// The object behind a handle if it is this context's; null otherwise.
    std::shared_ptr<PhysicalMemory> findPhysical(const void* handle) const;
    ze_result_t reserve(const void* hint, size_t size, void*& out);
    ze_result_t unreserve(const void* ptr, size_t size);
    ze_result_t map(const void* ptr, size_t size, const std::shared_ptr<PhysicalMemory>& memory,
                    size_t offset, ze_memory_access_attribute_t access);
    ze_result_t unmap(const void* ptr, size_t size);
    ze_result_t setAccess(const void* ptr, size_t size, ze_memory_access_attribute_t access);
    ze_result_t getAccess(const void* ptr, size_t size, ze_memory_access_attribute_t& access,
                          size_t& sameFor) const;

private:
    friend class TransientImport;
    friend class ContextUse;

    Context(Driver& driver, std::span<Device* const> devices);
    ~Context();
    void releaseUse() noexcept;
    void freeMemory() noexcept;

    // Address spaces and objects on all devices.
    int createVms();
    size_t positionOf(const Device& device) const noexcept;
    GemHandles noHandles() const { return GemHandles(m_devices.size(), 0); }
    int bindObjects(const GemHandles& gem, uint64_t address, uint64_t size, uint64_t offset,
                    uint32_t flags);
    int unbindObjects(const GemHandles& gem, uint64_t address, uint64_t size) noexcept;
    int createSystemObjects(uint64_t size, bool exportable, GemHandles& gem);
    int spreadSystemObject(size_t from, GemHandles& gem);
    void closeObjects(GemHandles& gem) noexcept;

    // Allocations.
    VaArena& arenaOf(AllocationType type) noexcept;
    int takeAddresses(AllocationType type, uint64_t size, uint64_t alignment, uint64_t& address);
    void giveAddresses(AllocationType type, uint64_t address, uint64_t size) noexcept;
    bool hasOwnCpuView(const Allocation& allocation) const noexcept;
    int makeCpuView(const Allocation& allocation) noexcept;
    int restoreCpuView(uint64_t base, uint64_t size) noexcept;
    ze_result_t importDmaBuf(Device* device, size_t size, int fd, GemHandles& gem, bool& readOnly);
    ze_result_t place(std::unique_ptr<Allocation> allocation, uint64_t alignment, void*& out);
    ze_result_t publish(std::unique_ptr<Allocation> allocation, void*& out);
    std::unique_ptr<Allocation> unpublish(Allocation& allocation) noexcept;
    void releaseMemory(Allocation& allocation) noexcept;
    void release(TransientImport& import) noexcept;
    bool ownsAddress(uint64_t address) const;
    ze_result_t bindTransient(Device& device, uint32_t gem, uint64_t offset, uint64_t size,
                              uintptr_t hostBase, bool readOnly, TransientImport& out);
    ze_result_t beginImport(uint64_t base, uint64_t size);
    void endTransit(uint64_t base, uint64_t size) noexcept;
    ze_result_t failNotBase(const void* ptr) const;
    ze_result_t failPinning(int error, const void* memory, uint64_t size, bool readOnly) const;
    ze_result_t failMemory(int error, const Device* device, uint64_t size) const;

    // Driver memory.
    ze_result_t createSlab(uint64_t size, bool dedicated, std::list<InternalSlab>& out);
    ze_result_t bindSlab(InternalSlab& slab);
    void dropSlab(InternalSlab& slab) noexcept;

    // Free policies.
    void waitTouching(uint64_t base, uint64_t size);
    void waitWithoutMemory(uint64_t base, uint64_t size) noexcept;
    int deferUnbind(const Allocation& allocation, Device& device, uint32_t& done) noexcept;
    bool deferFree(Allocation& allocation, FreePolicy& instead);
    void collectDeferred() noexcept;
    void waitDeferred(uint64_t base, uint64_t size) noexcept;

    // IPC.
    ze_result_t getRangeHandle(const void* ptr, size_t size, ze_ipc_mem_handle_t& out);
    ze_result_t getObjectHandle(const ExportedObject& object, ze_ipc_mem_handle_t& out);
    ze_result_t createIpcShare(Device& device, drm_vze_share_create& args, IpcHandle& handle);
    ze_result_t openShare(Device& device, const IpcHandle& handle, int fd, void*& out);
    ze_result_t openDescriptor(Device& device, int fd, void*& out);
    ze_result_t openDmaBuf(Device& device, int fd, void*& out);
    ze_result_t findExported(const void* ptr, ExportedObject& out);
    struct RangePiece {
        uint64_t end = 0;         ///< first address behind it
        Device* device = nullptr; ///< the one that reaches it; null: all
        bool cpuAccess = false;
    };
    ze_result_t findRangePiece(uint64_t at, RangePiece& out);
    /// Opened memory that has the whole range, or null. Caller holds m_virtualMutex, and as long as
    /// it does nobody closes it.
    Allocation* findOpened(const void* ptr, size_t size) const;
    ze_result_t setOpenedAccess(Allocation& opened, const void* ptr, size_t size,
                                ze_memory_access_attribute_t access);

    // Reservations. Callers hold m_virtualMutex.
    ze_result_t findReservation(const void* ptr, size_t size, ReservationTable::Map::iterator& out);
    void recordPiece(uint64_t address, MappedPiece& piece) noexcept;
    bool hasReadOnlyPage(uint64_t base, uint64_t count) const;
    bool splitPiece(Reservation& reservation, uint64_t address);
    void joinPieces(Reservation& reservation, uint64_t address) noexcept;
    class SplitRange;
    void erasePieces(Reservation& reservation, uint64_t begin, uint64_t end) noexcept;
    int unbindPieces(const Reservation& reservation, uint64_t begin, uint64_t end);
    int bindPieces(Device& device, const Reservation& reservation, uint64_t begin, uint64_t end,
                   const ze_memory_access_attribute_t* access);

    /// Addresses of a deferred free: kept until the kernel has undone the mapping.
    struct Deferred {
        AllocationType type;
        uint64_t base;
        uint64_t size;
        bool ownCpuView; // see hasOwnCpuView()
        struct Done {
            Device* device;
            uint32_t syncobj;
        };
        std::vector<Done> done; // one per device
        uint32_t waiters = 0;   // in waitDeferred(): the syncobjs stay as long as there are any
        ImportedRange imported{};
    };
    /// Memory of another context that is bound for commands; see resolveFrom().
    struct Borrowed {
        uint64_t base; ///< in the other context
        uint64_t size;
        Device* device;
        bool returned = false; ///< its mapping is gone, or will go without another call
    };
    /// An import that is being bound or unbound: another one of the same pages has to wait, because
    /// a late unbind would take its mapping.
    struct Transit {
        uint64_t base;
        uint64_t size;
    };

    Driver& m_driver;
    std::atomic<uint32_t> m_uses{1}; // of the handle, and of each ContextUse
    const std::vector<Device*> m_devices;
    std::vector<uint32_t> m_vms; // by Device::index(), 0: not in this context

    mutable std::mutex m_virtualMutex;
    ReservationTable m_reservations;

    mutable std::mutex m_mutex;
    AddressMap m_map;
    VaArena m_deviceArena; // no CPU access
    VaArena m_hostArena;   // the CPU sees what the first device's address space maps
    std::unordered_map<Allocation*, std::unique_ptr<Allocation>> m_allocations;
    std::list<InternalSlab> m_slabs;
    std::unordered_map<const void*, std::shared_ptr<PhysicalMemory>> m_physical;
    std::list<Deferred> m_deferred;
    size_t m_sinceCollected = 0; // calls that could have looked which of m_deferred are over
    std::vector<Transit> m_transit;
    std::condition_variable m_transitEnded;
    WorkTracker m_work;

    // Held while something of it is unbound, so that its address is nobody else's meanwhile. No
    // other lock is taken under it.
    std::mutex m_borrowedMutex;
    std::unordered_map<uint64_t, Borrowed> m_borrowed; // by the address here
};

/// A part of every object that needs a context's address spaces or its driver memory: the handle
/// may be destroyed before that object, which then has no memory of the application to work on.
class ContextUse {
public:
    explicit ContextUse(Context& context) noexcept : m_context(context) {
        m_context.m_uses.fetch_add(1, std::memory_order_relaxed);
    }
    ~ContextUse() { m_context.releaseUse(); }
    ContextUse(const ContextUse&) = delete;
    Context& context() const noexcept { return m_context; }
    ContextUse& operator=(const ContextUse&) = delete;

private:
    Context& m_context;
};

} // namespace vze
