// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace vze {

struct Allocation;

/// What kind of memory an address belongs to.
enum class AllocationType : uint32_t {
    Device,       ///< VRAM; no CPU access
    Host,         ///< system memory of the driver
    Shared,       ///< likewise, allocated by zeMemAllocShared
    HostImported, ///< the application's own memory
    IpcDevice,    ///< another process's memory without CPU access, opened by handle
    IpcHost,      ///< another process's memory that the CPU reaches too
};

/// The answer of a look-up: a copy, valid whatever happens to the allocation afterwards.
struct AllocationView {
    uint64_t base = 0;
    uint64_t size = 0;
    uint64_t id = 0; ///< never used twice in a process
    AllocationType type = AllocationType::Host;
    uint32_t device = 0;   ///< index of the device that owns it, kNoDevice when none does
    bool readOnly = false; ///< the device may only read it
    /// To be dereferenced only while the caller keeps the allocation from being freed.
    Allocation* allocation = nullptr;

    static constexpr uint32_t kNoDevice = UINT32_MAX;

    bool contains(uint64_t address, uint64_t length) const noexcept {
        return address >= base && length <= size && address - base <= size - length;
    }
};

/// Finds the allocation that any address belongs to, in a time that does not depend on how many
/// there are.
///
/// A radix tree over 47-bit addresses with 512-way nodes, like a page table: an allocation occupies
/// one entry per 4 KiB, 2 MiB or 1 GiB page, the largest that fit. Readers take no lock and write
/// nothing. That is safe because nodes and records live as long as the map (both are reused,
/// neither is given back), and because a record is read like a seqlock: changed counter, other
/// answer, try again.
///
/// Writers (insert, erase and the functions that say so) must be serialised by the caller.
///
/// Allocations may overlap (imports of the application's memory); the newest answers for an
/// address.
class AddressMap {
public:
    struct Record;

    AddressMap();
    ~AddressMap();
    AddressMap(const AddressMap&) = delete;
    AddressMap& operator=(const AddressMap&) = delete;

    /// Looks an address up. False when no allocation has it. Any thread, any time.
    bool find(uint64_t address, AllocationView& out) const noexcept;

    /// Adds an allocation. @p view: base and size are multiples of 4096, size is not 0 and the end
    /// at most 2^47. Throws std::bad_alloc and has then changed nothing. Writers only.
    Record* insert(const AllocationView& view);

    /// Removes it; what it hid is found again. Writers only.
    void erase(Record* record) noexcept;

    /// The newest allocation whose base is @p base, or null. Writers only.
    Record* newestWithBase(uint64_t base) const noexcept;

    /// Whether any allocation has a byte in the range; @p other then is one of them. Writers only.
    bool overlaps(uint64_t base, uint64_t size, AllocationView* other = nullptr) const noexcept;

    /// Content of a record. Writers only.
    static AllocationView view(const Record& record) noexcept;

private:
    struct Node;
    using Entry = uintptr_t;

    /// Which entries of a range paint() changes.
    enum class Where { Everywhere, WhereRecord, WhereEmpty };

    void reserveNodes();
    void noteOverlaps(const Node& node, unsigned level, uint64_t nodeBase, uint64_t base,
                      uint64_t end);
    void addOverlapping(Record& record);
    Node& childOf(std::atomic<Entry>& slot) noexcept;
    void paint(Node& node, unsigned level, uint64_t nodeBase, uint64_t base, uint64_t end,
               Entry value, Where where, const Record* record) noexcept;
    const Record* firstIn(const Node& node, unsigned level, uint64_t nodeBase, uint64_t base,
                          uint64_t end) const noexcept;

    std::unique_ptr<Node> m_root;
    std::vector<std::unique_ptr<Node>> m_nodes; // every node below the root
    std::vector<Node*> m_spareNodes;            // reserved by insert() before it changes anything
    std::vector<std::unique_ptr<Record[]>> m_recordBlocks;
    Record* m_freeRecords = nullptr;
    std::vector<Record*> m_overlapping; // records that met another one, oldest first
    uint64_t m_nextAge = 1;
};

} // namespace vze
