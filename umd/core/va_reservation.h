// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <level_zero/ze_api.h>

#include "core/address_map.h"

namespace vze {

class PhysicalMemory;

/// A reserved, inaccessible piece of the process's address space. Returns 0 or an errno.
/// @p alignment: a power of two, at least 4096. The result lies below 2^47.
int reserveAddresses(uint64_t size, uint64_t alignment, uint64_t& address) noexcept;
/// Gives a whole reservation back to the process, with whatever was mapped over it.
void unreserveAddresses(uint64_t address, uint64_t size) noexcept;

/// Whether any byte of the range was reserved by reserveAddresses() and not given back: memory of
/// the driver's, whichever context it belongs to.
bool isDriverAddress(uint64_t address, uint64_t size) noexcept;
/// A reservation at @p hint when that is free, elsewhere otherwise.
int reserveAddressesAt(uint64_t hint, uint64_t size, uint64_t alignment,
                       uint64_t& address) noexcept;

/// Application memory that a device finds at its own address, for as long as it does. The
/// application may have unmapped it meanwhile; what is reserved there would be of two meanings for
/// the device, and end with the import. So reserveAddresses() keeps clear of it.
class ImportedRange {
public:
    ImportedRange() = default;
    ImportedRange(uint64_t start, uint64_t size);
    ImportedRange(ImportedRange&& other) noexcept { *this = std::move(other); }
    ImportedRange& operator=(ImportedRange&& other) noexcept;
    ~ImportedRange();

private:
    std::optional<std::multimap<uint64_t, uint64_t>::iterator> m_entry;
};

/// Hands out ranges of the process's address space so that no two meanings of an address can meet:
/// what is allocated here cannot be the address of anything else in the process.
///
/// Takes the space in chunks (1 GiB, or the size of a larger range), so that a range costs no
/// system call and any number of ranges needs few VMAs. Callers serialise.
class VaArena {
public:
    /// @p prepare is called for each new chunk, which is reserved without access, and may map
    /// something over it; returns 0 or an errno, which the allocation then returns.
    using Prepare = std::function<int(uint64_t address, uint64_t size)>;

    static constexpr uint64_t kChunk = 1ULL << 30;

    explicit VaArena(Prepare prepare = {}) : m_prepare(std::move(prepare)) {}
    VaArena(const VaArena&) = delete;
    VaArena& operator=(const VaArena&) = delete;
    ~VaArena();

    /// @p size: a multiple of 4096; @p alignment: a power of two. ENOMEM when no space is left.
    int allocate(uint64_t size, uint64_t alignment, uint64_t& address);
    /// Gives a range back; never fails.
    void release(uint64_t address, uint64_t size) noexcept;

    /// Whether any byte of the range is the arena's, allocated or not.
    bool meets(uint64_t address, uint64_t size) const noexcept;

private:
    using FreeMap = std::map<uint64_t, uint64_t>; // start -> size

    void addFree(uint64_t start, uint64_t size);
    FreeMap::iterator removeFree(FreeMap::iterator it) noexcept;
    void dropChunkIfWhole(uint64_t start, uint64_t size) noexcept;

    Prepare m_prepare;
    std::map<uint64_t, uint64_t> m_chunks; // start -> size
    FreeMap m_free;
    std::set<std::pair<uint64_t, uint64_t>> m_bySize; // (size, start) of m_free
};

/// What is mapped at one piece of a reservation.
struct MappedPiece {
    uint64_t size = 0;
    std::shared_ptr<PhysicalMemory> memory;
    uint64_t offset = 0; ///< in memory
    ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
    AddressMap::Record* record = nullptr;
};

/// A range of zeVirtualMemReserve and its mapped pieces.
struct Reservation {
    uint64_t size = 0;
    bool cpuMapped = false;                 ///< the CPU sees what the address space maps there
    std::map<uint64_t, MappedPiece> pieces; ///< by start address; disjoint
};

/// All reservations of a context, by start address; disjoint.
class ReservationTable {
public:
    using Map = std::map<uint64_t, Reservation>;

    /// The reservation that has every byte of the range, or end().
    Map::iterator containing(uint64_t address, uint64_t size) noexcept;
    Map::const_iterator containing(uint64_t address, uint64_t size) const noexcept;
    /// Whether any byte of the range is reserved.
    bool meets(uint64_t address, uint64_t size) const noexcept;

    Map& map() noexcept { return m_map; }
    const Map& map() const noexcept { return m_map; }

private:
    Map m_map;
};

} // namespace vze
