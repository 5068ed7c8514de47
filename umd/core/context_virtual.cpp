// SPDX-License-Identifier: MIT
//
// Reservations and physical objects mapped into them.
//
// The kernel's mappings and the pieces of a reservation are the same at every moment that
// m_virtualMutex is free. A piece may be split by a call that names a part of it; all its parts
// then share the physical object.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"
#include "kmd/fork.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargePage = 2ULL << 20;

uint64_t toAddress(const void* ptr) noexcept {
    return reinterpret_cast<uintptr_t>(ptr);
}

} // namespace

// ---- physical objects

ze_result_t Context::createPhysical(Device* device, size_t size, const AllocOptions& options,
                                    PhysicalMemory*& out) {
    GemHandles gem = noHandles();
    bool readOnly = false;
    if (options.importFd) {
        const ze_result_t result = importDmaBuf(device, size, *options.importFd, gem, readOnly);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    } else if (device != nullptr) {
        if (size > device->info().vram_size)
            return failMemory(ENOSPC, device, size);
        const uint32_t flags = (options.compressible ? DRM_VZE_GEM_COMPRESSIBLE : 0) |
                               (options.exportable ? 0 : DRM_VZE_GEM_EXPLICIT);
        if (int error = device->file().createGem(size, DRM_VZE_PLACEMENT_VRAM, flags,
                                                 gem[positionOf(*device)]))
            return failMemory(error, device, size);
    } else {
        if (int error = createSystemObjects(size, options.exportable, gem))
            return failMemory(error, nullptr, size);
    }
    std::shared_ptr<PhysicalMemory> memory;
    try {
        memory = std::make_shared<PhysicalMemory>(m_devices, device, size, gem);
    } catch (...) {
        closeObjects(gem);
        throw;
    }
    out = memory.get();
    std::lock_guard lock(m_mutex);
    m_physical.emplace(memory->handle(), std::move(memory));
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::destroyPhysical(ze_physical_mem_handle_t handle) {
    if (kmd::openedBeforeFork())
        return failErrno(EPERM, "the process was forked after the driver was opened");
    std::shared_ptr<PhysicalMemory> memory;
    {
        std::lock_guard lock(m_mutex);
        auto it = m_physical.find(handle);
        if (it != m_physical.end()) {
            memory = std::move(it->second);
            m_physical.erase(it);
            // Mappings may keep the object, but its handles end with it.
            if (memory.use_count() > 1)
                ExportTable::instance().forget(memory->exported());
        }
    }
    if (memory == nullptr)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hPhysicalMemory: %p is not a physical object of this context",
                    static_cast<void*>(handle));
    return ZE_RESULT_SUCCESS;
}

std::shared_ptr<PhysicalMemory> Context::findPhysical(const void* handle) const {
    std::lock_guard lock(m_mutex);
    auto it = m_physical.find(handle);
    return it != m_physical.end() ? it->second : nullptr;
}

// ---- reservations

ze_result_t Context::reserve(const void* hint, size_t size, void*& out) {
    std::lock_guard virtualLock(m_virtualMutex);
    uint64_t address = 0;
    const uint64_t alignment = size >= kLargePage ? kLargePage : kPage;
    const int error = hint != nullptr
                          ? reserveAddressesAt(toAddress(hint), size, alignment, address)
                          : reserveAddresses(size, alignment, address);
    if (error != 0)
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                    "the process has no 0x%zx bytes of address space left", size);
    try {
        m_reservations.map()[address].size = size;
    } catch (...) {
        unreserveAddresses(address, size);
        throw;
    }
    out = reinterpret_cast<void*>(address);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::findReservation(const void* ptr, size_t size,
                                     ReservationTable::Map::iterator& out) {
    out = m_reservations.containing(toAddress(ptr), size);
    if (out == m_reservations.map().end())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) is not inside a reservation of this context", ptr, size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::unreserve(const void* ptr, size_t size) {
    if (kmd::openedBeforeFork())
        return failErrno(EPERM, "the process was forked after the driver was opened");
    std::lock_guard virtualLock(m_virtualMutex);
    auto it = m_reservations.map().find(toAddress(ptr));
    if (it == m_reservations.map().end())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is not the start of a reservation",
                    ptr);
    if (it->second.size != size)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "size: 0x%zx is not the 0x%llx bytes that were reserved at %p", size,
                    static_cast<unsigned long long>(it->second.size), ptr);
    if (!it->second.pieces.empty()) {
        if (int error = unbindPieces(it->second, it->first, it->first + size))
            return failErrno(error, "VM_BIND");
        erasePieces(it->second, it->first, it->first + size);
    }
    m_reservations.map().erase(it);
    unreserveAddresses(toAddress(ptr), size);
    return ZE_RESULT_SUCCESS;
}

// ---- pieces

// The look-up entry of a piece. When there is no memory for it the piece works and is not found.
void Context::recordPiece(uint64_t address, MappedPiece& piece) noexcept {
    AllocationView view;
    view.base = address;
    view.size = piece.size;
    view.id = piece.memory->id();
    view.type = piece.memory->device() != nullptr ? AllocationType::Device : AllocationType::Host;
    view.device = piece.memory->device() != nullptr ? piece.memory->device()->index()
                                                    : AllocationView::kNoDevice;
    view.readOnly = piece.access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY;
    std::lock_guard lock(m_mutex);
    if (piece.record != nullptr)
        m_map.erase(std::exchange(piece.record, nullptr));
    try {
        piece.record = m_map.insert(view);
    } catch (const std::bad_alloc&) {
        log(LogLevel::Error, "%s: no memory to note the mapping at 0x%llx", ApiCall::current(),
            static_cast<unsigned long long>(address));
    }
}

// Makes an address the start of a piece, if it lies inside one: then true.
bool Context::splitPiece(Reservation& reservation, uint64_t address) {
    auto it = reservation.pieces.upper_bound(address);
    if (it == reservation.pieces.begin())
        return false;
    --it;
    const uint64_t inside = address - it->first;
    if (inside == 0 || inside >= it->second.size)
        return false;
    MappedPiece tail = it->second;
    tail.offset += inside;
    tail.size -= inside;
    tail.record = nullptr;
    auto second = reservation.pieces.emplace(address, std::move(tail)).first;
    it->second.size = inside;
    recordPiece(it->first, it->second);
    recordPiece(second->first, second->second);
    return true;
}

// Makes the two pieces that splitPiece() made of one at an address one again.
void Context::joinPieces(Reservation& reservation, uint64_t address) noexcept {
    auto second = reservation.pieces.find(address);
    auto first = std::prev(second);
    first->second.size += second->second.size;
    erasePieces(reservation, address, address + 1);
    recordPiece(first->first, first->second);
}

// Splits the pieces at both ends of a range. They are whole again afterwards, unless keep() is
// called: what fails leaves them as they were.
class Context::SplitRange {
public:
    SplitRange(Context& context, Reservation& reservation, uint64_t begin, uint64_t end)
        : m_context(context), m_reservation(reservation), m_begin(begin), m_end(end),
          m_joinBegin(context.splitPiece(reservation, begin)) {
        try {
            m_joinEnd = context.splitPiece(reservation, end);
        } catch (...) {
            join();
            throw;
        }
    }
    ~SplitRange() { join(); }
    SplitRange(const SplitRange&) = delete;
    SplitRange& operator=(const SplitRange&) = delete;

    void keep() noexcept { m_joinBegin = m_joinEnd = false; }

private:
    void join() noexcept {
        if (m_joinEnd)
            m_context.joinPieces(m_reservation, m_end);
        if (m_joinBegin)
            m_context.joinPieces(m_reservation, m_begin);
    }

    Context& m_context;
    Reservation& m_reservation;
    const uint64_t m_begin;
    const uint64_t m_end;
    bool m_joinBegin;
    bool m_joinEnd = false;
};

// Forgets the pieces that begin in [begin, end).
void Context::erasePieces(Reservation& reservation, uint64_t begin, uint64_t end) noexcept {
    auto first = reservation.pieces.lower_bound(begin);
    auto last = reservation.pieces.lower_bound(end);
    {
        std::lock_guard lock(m_mutex);
        for (auto it = first; it != last; ++it)
            if (it->second.record != nullptr)
                m_map.erase(it->second.record);
    }
    reservation.pieces.erase(first, last); // may close objects whose handle is gone
}

// Unmaps [begin, end) of a reservation on every device, or on none. A device that is lost or gone
// is not what keeps it mapped on the others.
int Context::unbindPieces(const Reservation& reservation, uint64_t begin, uint64_t end) {
    int lost = 0;
    for (size_t i = 0; i < m_devices.size(); ++i) {
        drm_vze_bind_op op{};
        op.op = DRM_VZE_BIND_UNMAP;
        op.range = end - begin;
        op.addr = begin;
        const int error = m_devices[i]->file().bind(vmId(*m_devices[i]), {&op, 1});
        if (error == EIO || error == ENODEV) {
            lost = error;
        } else if (error != 0) {
            for (size_t undo = 0; undo < i; ++undo)
                bindPieces(*m_devices[undo], reservation, begin, end, nullptr);
            return error;
        }
    }
    return lost;
}

// Maps the pieces of [begin, end) anew with an access (null: their own) on one device.
int Context::bindPieces(Device& device, const Reservation& reservation, uint64_t begin,
                        uint64_t end, const ze_memory_access_attribute_t* access) {
    const size_t position = positionOf(device);
    std::vector<drm_vze_bind_op> ops;
    for (auto it = reservation.pieces.lower_bound(begin);
         it != reservation.pieces.end() && it->first < end; ++it) {
        const MappedPiece& piece = it->second;
        if (piece.memory->gem()[position] == 0)
            continue;
        drm_vze_bind_op op{};
        op.op = DRM_VZE_BIND_MAP;
        op.flags = bindFlags(access != nullptr ? *access : piece.access);
        op.handle = piece.memory->gem()[position];
        op.offset = piece.offset;
        op.range = piece.size;
        op.addr = it->first;
        ops.push_back(op);
    }
    for (size_t done = 0; done < ops.size();) {
        const size_t count = std::min<size_t>(ops.size() - done, DRM_VZE_MAX_BIND_OPS);
        if (int error = device.file().bind(vmId(device), {ops.data() + done, count}))
            return error;
        done += count;
    }
    return 0;
}

ze_result_t Context::map(const void* ptr, size_t size,
                         const std::shared_ptr<PhysicalMemory>& memory, size_t offset,
                         ze_memory_access_attribute_t access) {
    std::lock_guard virtualLock(m_virtualMutex);
    ReservationTable::Map::iterator it;
    ze_result_t result = findReservation(ptr, size, it);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (offset > memory->size() || size > memory->size() - offset)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "offset 0x%zx + size 0x%zx is beyond the 0x%llx bytes of the physical object",
                    offset, size, static_cast<unsigned long long>(memory->size()));
    Reservation& reservation = it->second;
    const uint64_t address = toAddress(ptr);
    auto next = reservation.pieces.lower_bound(address);
    const bool occupied = (next != reservation.pieces.end() && next->first < address + size) ||
                          (next != reservation.pieces.begin() &&
                           std::prev(next)->first + std::prev(next)->second.size > address);
    if (occupied)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) has a part that is mapped already", ptr, size);

    const bool host = memory->device() == nullptr;
    if (host && !reservation.cpuMapped) {
        Device& first = *m_devices.front();
        if (int error = first.file().mmapVm(vmId(first), reinterpret_cast<void*>(it->first),
                                            reservation.size))
            return failErrno(error, "CPU mapping of the reservation");
        reservation.cpuMapped = true;
    }
    MappedPiece piece;
    piece.size = size;
    piece.memory = memory;
    piece.offset = offset;
    piece.access = access;
    auto inserted = reservation.pieces.emplace(address, std::move(piece)).first;
    if (int error = bindObjects(memory->gem(), address, size, offset, bindFlags(access))) {
        reservation.pieces.erase(inserted);
        if (error == EACCES)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "access: the physical object is read-only");
        return failMemory(error, memory->device(), size);
    }
    recordPiece(address, inserted->second);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::unmap(const void* ptr, size_t size) {
    if (kmd::openedBeforeFork())
        return failErrno(EPERM, "the process was forked after the driver was opened");
    std::lock_guard virtualLock(m_virtualMutex);
    ReservationTable::Map::iterator it;
    const ze_result_t result = findReservation(ptr, size, it);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    Reservation& reservation = it->second;
    const uint64_t begin = toAddress(ptr);
    SplitRange split(*this, reservation, begin, begin + size);
    auto first = reservation.pieces.lower_bound(begin);
    if (first == reservation.pieces.end() || first->first >= begin + size) {
        log(LogLevel::Info, "%s: nothing is mapped in [%p, +0x%zx)", ApiCall::current(), ptr, size);
        return ZE_RESULT_SUCCESS; // like holes beside mapped parts
    }
    if (int error = unbindPieces(reservation, begin, begin + size))
        return failErrno(error, "VM_BIND");
    split.keep();
    erasePieces(reservation, begin, begin + size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::setAccess(const void* ptr, size_t size, ze_memory_access_attribute_t access) {
    std::lock_guard virtualLock(m_virtualMutex);
    if (Allocation* opened = findOpened(ptr, size))
        return setOpenedAccess(*opened, ptr, size, access);
    ReservationTable::Map::iterator it;
    const ze_result_t result = findReservation(ptr, size, it);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    Reservation& reservation = it->second;
    const uint64_t begin = toAddress(ptr);
    const uint64_t end = begin + size;
    SplitRange split(*this, reservation, begin, end);
    uint64_t covered = begin;
    for (auto piece = reservation.pieces.lower_bound(begin);
         piece != reservation.pieces.end() && piece->first == covered && covered < end; ++piece)
        covered += piece->second.size;
    if (covered < end)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "nothing is mapped at 0x%llx",
                    static_cast<unsigned long long>(covered));
    for (size_t i = 0; i < m_devices.size(); ++i) {
        int error = bindPieces(*m_devices[i], reservation, begin, end, &access);
        if (error == 0)
            continue;
        for (size_t undo = 0; undo <= i; ++undo)
            bindPieces(*m_devices[undo], reservation, begin, end, nullptr);
        if (error == EACCES)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "access: a physical object in the range is read-only");
        return failErrno(error, "VM_BIND");
    }
    split.keep();
    for (auto piece = reservation.pieces.lower_bound(begin);
         piece != reservation.pieces.end() && piece->first < end; ++piece) {
        piece->second.access = access;
        recordPiece(piece->first, piece->second);
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::getAccess(const void* ptr, size_t size, ze_memory_access_attribute_t& access,
                               size_t& sameFor) const {
    std::lock_guard virtualLock(m_virtualMutex);
    const uint64_t begin = toAddress(ptr);
    const uint64_t end = begin + size;
    if (const Allocation* opened = findOpened(ptr, size)) {
        uint64_t until = 0;
        access = opened->access.at(begin, end, until);
        sameFor = until - begin;
        return ZE_RESULT_SUCCESS;
    }
    auto it = m_reservations.containing(begin, size);
    if (it == m_reservations.map().end())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "[%p, +0x%zx) is not inside a reservation of this context", ptr, size);
    // What is not mapped is not accessible.
    const auto& pieces = it->second.pieces;
    auto attributeAt = [&](uint64_t address, uint64_t& until) {
        auto next = pieces.upper_bound(address);
        if (next != pieces.begin()) {
            auto piece = std::prev(next);
            if (address < piece->first + piece->second.size) {
                until = piece->first + piece->second.size;
                return piece->second.access;
            }
        }
        until = next != pieces.end() ? next->first : end;
        return ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
    };
    uint64_t at = begin;
    access = attributeAt(begin, at);
    while (at < end) {
        uint64_t until = at;
        if (attributeAt(at, until) != access)
            break;
        at = until;
    }
    sameFor = std::min(at, end) - begin;
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
