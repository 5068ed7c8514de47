// SPDX-License-Identifier: MIT
#include "core/va_reservation.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargePage = 2ULL << 20;
constexpr uint64_t kAddressEnd = 1ULL << 47;

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
}

void* toPointer(uint64_t address) noexcept {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

} // namespace

namespace {

// Every reserved range of the process, by start address. Ranges that touch stay separate entries
// unless one is given back in parts.
class ProcessRanges {
public:
    static ProcessRanges& instance() {
        static auto* ranges = new ProcessRanges; // the driver is never unloaded
        return *ranges;
    }

    int add(uint64_t start, uint64_t size) noexcept {
        std::lock_guard lock(m_mutex);
        try {
            m_ranges.emplace(start, size);
        } catch (const std::bad_alloc&) {
            return ENOMEM;
        }
        return 0;
    }

    void remove(uint64_t start) noexcept {
        std::lock_guard lock(m_mutex);
        m_ranges.erase(start);
    }

    bool meets(uint64_t start, uint64_t size) const noexcept {
        std::lock_guard lock(m_mutex);
        auto it = m_ranges.upper_bound(start);
        if (it != m_ranges.begin()) {
            auto before = std::prev(it);
            if (before->first + before->second > start)
                return true;
        }
        return it != m_ranges.end() && it->first - start < size;
    }

private:
    mutable std::mutex m_mutex;
    std::map<uint64_t, uint64_t> m_ranges;
};

// What is imported at its own address, by start address. Imports may overlap.
class ImportedRanges {
public:
    using Map = std::multimap<uint64_t, uint64_t>; // start -> size

    static ImportedRanges& instance() {
        static auto* ranges = new ImportedRanges; // the driver is never unloaded
        return *ranges;
    }

    Map::iterator add(uint64_t start, uint64_t size) {
        std::lock_guard lock(m_mutex);
        auto it = m_ranges.emplace(start, size);
        m_largest = std::max(m_largest, size);
        return it;
    }

    void remove(Map::iterator it) noexcept {
        std::lock_guard lock(m_mutex);
        m_ranges.erase(it);
        if (m_ranges.empty())
            m_largest = 0;
    }

    // The part of the range that the first import in it has.
    bool firstIn(uint64_t start, uint64_t size, uint64_t& from, uint64_t& to) const noexcept {
        const uint64_t end = start + size;
        std::lock_guard lock(m_mutex);
        for (auto it = m_ranges.lower_bound(start - std::min(start, m_largest));
             it != m_ranges.end() && it->first < end; ++it) {
            if (it->first + it->second <= start)
                continue;
            from = std::max(it->first, start);
            to = std::min(it->first + it->second, end);
            return true;
        }
        return false;
    }

private:
    mutable std::mutex m_mutex;
    Map m_ranges;
    uint64_t m_largest = 0; // of all since there were none: how far in front to look
};

// Wherever there is room; noted as a range of the driver's.
int reserveAnywhere(void* hint, uint64_t size, uint64_t alignment, uint64_t& address) noexcept {
    const uint64_t slack = hint == nullptr && alignment > kPage ? alignment : 0;
    const uint64_t total = size + slack;
    void* mapped = mmap(hint, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return errno;
    const auto start = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(mapped));
    const uint64_t aligned = hint == nullptr ? alignUp(start, alignment) : start;
    if (aligned > start)
        munmap(mapped, aligned - start);
    if (aligned + size < start + total)
        munmap(toPointer(aligned + size), start + total - aligned - size);
    if (int error = ProcessRanges::instance().add(aligned, size)) {
        munmap(toPointer(aligned), size);
        return error;
    }
    address = aligned;
    return 0;
}

// What reserve() keeps taken while it looks on, so that it is not offered again.
class Blocked {
public:
    Blocked() = default;
    ~Blocked() {
        for (const auto& [start, size] : m_ranges)
            munmap(toPointer(start), size);
    }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

    // Of a mapping of ours, [from, to) stays and the rest goes. ENOMEM: all of it goes.
    int keepOf(uint64_t start, uint64_t size, uint64_t from, uint64_t to) noexcept {
        try {
            m_ranges.emplace_back(from, to - from);
        } catch (const std::bad_alloc&) {
            munmap(toPointer(start), size);
            return ENOMEM;
        }
        if (start < from)
            munmap(toPointer(start), from - start);
        if (to < start + size)
            munmap(toPointer(to), start + size - to);
        return 0;
    }

private:
    std::vector<std::pair<uint64_t, uint64_t>> m_ranges; // start, size
};

int reserve(void* hint, uint64_t size, uint64_t alignment, uint64_t& address) noexcept {
    if (size == 0 || size > kAddressEnd || alignment > kAddressEnd)
        return ENOMEM;
    Blocked blocked;
    for (;;) {
        if (int error = reserveAnywhere(hint, size, alignment, address))
            return error;
        uint64_t from = 0;
        uint64_t to = 0;
        // Noted before this look: an import notes itself and then looks for ranges of the driver's.
        if (!ImportedRanges::instance().firstIn(address, size, from, to))
            return 0;
        ProcessRanges::instance().remove(address);
        if (int error = blocked.keepOf(address, size, from, to))
            return error;
    }
}

} // namespace

int reserveAddresses(uint64_t size, uint64_t alignment, uint64_t& address) noexcept {
    return reserve(nullptr, size, alignment, address);
}

int reserveAddressesAt(uint64_t hint, uint64_t size, uint64_t alignment,
                       uint64_t& address) noexcept {
    if (hint < kAddressEnd && size <= kAddressEnd - hint) {
        if (int error = reserve(toPointer(hint), size, kPage, address))
            return error;
        if (address == hint)
            return 0;
        unreserveAddresses(address, size);
    }
    return reserve(nullptr, size, alignment, address);
}

void unreserveAddresses(uint64_t address, uint64_t size) noexcept {
    // Forgotten first: from the munmap on, the range may be anyone's.
    ProcessRanges::instance().remove(address);
    munmap(toPointer(address), size);
}

bool isDriverAddress(uint64_t address, uint64_t size) noexcept {
    return ProcessRanges::instance().meets(address, size);
}

ImportedRange::ImportedRange(uint64_t start, uint64_t size)
    : m_entry(ImportedRanges::instance().add(start, size)) {}

ImportedRange& ImportedRange::operator=(ImportedRange&& other) noexcept {
    std::swap(m_entry, other.m_entry);
    return *this;
}

ImportedRange::~ImportedRange() {
    if (m_entry)
        ImportedRanges::instance().remove(*m_entry);
}

VaArena::~VaArena() {
    for (const auto& [start, size] : m_chunks)
        unreserveAddresses(start, size);
}

void VaArena::addFree(uint64_t start, uint64_t size) {
    // Joined with the neighbours, but never across chunks: a chunk goes back as a whole.
    auto after = m_free.lower_bound(start);
    if (after != m_free.end() && after->first == start + size && !m_chunks.contains(after->first)) {
        size += after->second;
        after = removeFree(after);
    }
    if (after != m_free.begin() && !m_chunks.contains(start)) {
        auto before = std::prev(after);
        if (before->first + before->second == start) {
            start = before->first;
            size += before->second;
            removeFree(before);
        }
    }
    auto it = m_free.emplace(start, size).first;
    try {
        m_bySize.emplace(size, start);
    } catch (...) {
        m_free.erase(it);
        throw;
    }
}

VaArena::FreeMap::iterator VaArena::removeFree(FreeMap::iterator it) noexcept {
    m_bySize.erase({it->second, it->first});
    return m_free.erase(it);
}

int VaArena::allocate(uint64_t size, uint64_t alignment, uint64_t& address) {
    if (size == 0 || size > kAddressEnd || alignment > kAddressEnd)
        return ENOMEM;
    alignment = std::max(alignment, kPage);
    const uint64_t worst = alignment > kPage ? size + alignment - kPage : size;

    // The smallest piece that holds the range, where its alignment may need a larger one.
    auto fit = m_bySize.lower_bound({size, 0});
    while (fit != m_bySize.end() &&
           alignUp(fit->second, alignment) + size > fit->second + fit->first)
        ++fit;
    if (fit == m_bySize.end()) {
        const uint64_t chunk = std::max(kChunk, alignUp(worst, kLargePage));
        uint64_t start = 0;
        if (int error = reserveAddresses(chunk, std::max(alignment, kLargePage), start))
            return error;
        if (int error = m_prepare ? m_prepare(start, chunk) : 0) {
            unreserveAddresses(start, chunk);
            return error;
        }
        try {
            m_chunks.emplace(start, chunk);
            addFree(start, chunk);
        } catch (...) {
            m_chunks.erase(start);
            unreserveAddresses(start, chunk);
            throw;
        }
        fit = m_bySize.find({chunk, start});
    }
    const uint64_t pieceStart = fit->second;
    const uint64_t pieceEnd = fit->second + fit->first;
    const uint64_t at = alignUp(pieceStart, alignment);
    removeFree(m_free.find(pieceStart));
    // What is left over in front and behind. Should memory for the book-keeping run out here, the
    // space is lost to the arena until it goes, and the range is good all the same.
    try {
        if (at > pieceStart)
            addFree(pieceStart, at - pieceStart);
        if (at + size < pieceEnd)
            addFree(at + size, pieceEnd - at - size);
    } catch (const std::bad_alloc&) {
    }
    address = at;
    return 0;
}

void VaArena::dropChunkIfWhole(uint64_t start, uint64_t size) noexcept {
    auto chunk = m_chunks.find(start);
    if (chunk == m_chunks.end() || chunk->second != size)
        return;
    // One chunk of the usual size is kept, so that a program that allocates and frees in turn does
    // not map and unmap each time.
    if (size == kChunk && m_chunks.size() == 1)
        return;
    removeFree(m_free.find(start));
    m_chunks.erase(chunk);
    unreserveAddresses(start, size);
}

void VaArena::release(uint64_t address, uint64_t size) noexcept {
    try {
        addFree(address, size);
    } catch (const std::bad_alloc&) {
        return; // stays reserved: safe, and the least that can be lost
    }
    auto piece = m_free.upper_bound(address);
    --piece;
    dropChunkIfWhole(piece->first, piece->second);
}

bool VaArena::meets(uint64_t address, uint64_t size) const noexcept {
    auto it = m_chunks.upper_bound(address);
    if (it != m_chunks.begin()) {
        auto before = std::prev(it);
        if (before->first + before->second > address)
            return true;
    }
    return it != m_chunks.end() && it->first - address < size;
}

// ---- reservations of zeVirtualMemReserve

ReservationTable::Map::iterator ReservationTable::containing(uint64_t address,
                                                             uint64_t size) noexcept {
    auto it = m_map.upper_bound(address);
    if (it == m_map.begin())
        return m_map.end();
    --it;
    const uint64_t inside = address - it->first;
    return inside < it->second.size && size <= it->second.size - inside ? it : m_map.end();
}

ReservationTable::Map::const_iterator ReservationTable::containing(uint64_t address,
                                                                   uint64_t size) const noexcept {
    return const_cast<ReservationTable*>(this)->containing(address, size);
}

bool ReservationTable::meets(uint64_t address, uint64_t size) const noexcept {
    auto it = m_map.upper_bound(address);
    if (it != m_map.begin()) {
        auto before = std::prev(it);
        if (before->first + before->second.size > address)
            return true;
    }
    return it != m_map.end() && it->first - address < size;
}

} // namespace vze
