// SPDX-License-Identifier: MIT
#include "core/address_map.h"

#include <algorithm>

namespace vze {

namespace {

constexpr unsigned kTopLevel = 3;
constexpr unsigned kPageShift = 12;
constexpr unsigned kLevelBits = 9;
constexpr unsigned kSlots = 1u << kLevelBits;
constexpr uint64_t kAddressEnd = 1ULL << 47;
// An insertion splits at most one entry per level at either end of its range.
constexpr size_t kNodesPerInsert = 2 * kTopLevel;

constexpr uint64_t slotSize(unsigned level) noexcept {
    return 1ULL << (kPageShift + kLevelBits * level);
}

constexpr unsigned slotIndex(uint64_t address, unsigned level) noexcept {
    return static_cast<unsigned>(address >> (kPageShift + kLevelBits * level)) & (kSlots - 1);
}

constexpr uintptr_t kNodeTag = 1;

} // namespace

// Fields that readers copy are atomic: a reader may look while the record is filled for another
// allocation, sees by the counter that it did, and drops what it read.
struct AddressMap::Record {
    std::atomic<uint64_t> sequence{1}; // odd: free
    std::atomic<uint64_t> base{0};
    std::atomic<uint64_t> size{0};
    std::atomic<uint64_t> id{0};
    std::atomic<uint64_t> attributes{0}; // device << 32 | read-only << 8 | type
    std::atomic<Allocation*> allocation{nullptr};

    // Writers only.
    uint64_t age = 0;
    bool overlapping = false;
    Record* next = nullptr;

    void fill(const AllocationView& from) noexcept {
        // Release: whoever reads one of these sees that the counter is odd, or has moved on.
        base.store(from.base, std::memory_order_release);
        size.store(from.size, std::memory_order_release);
        id.store(from.id, std::memory_order_release);
        attributes.store(uint64_t{from.device} << 32 | uint64_t{from.readOnly} << 8 |
                             static_cast<uint64_t>(from.type),
                         std::memory_order_release);
        allocation.store(from.allocation, std::memory_order_release);
    }

    AllocationView copy() const noexcept {
        AllocationView to;
        to.base = base.load(std::memory_order_acquire);
        to.size = size.load(std::memory_order_acquire);
        to.id = id.load(std::memory_order_acquire);
        const uint64_t packed = attributes.load(std::memory_order_acquire);
        to.device = static_cast<uint32_t>(packed >> 32);
        to.readOnly = (packed >> 8 & 1) != 0;
        to.type = static_cast<AllocationType>(packed & 0xff);
        to.allocation = allocation.load(std::memory_order_acquire);
        return to;
    }

    uint64_t start() const noexcept { return base.load(std::memory_order_relaxed); }
    uint64_t end() const noexcept { return start() + size.load(std::memory_order_relaxed); }
    bool meets(uint64_t from, uint64_t to) const noexcept { return start() < to && from < end(); }
};

// An entry is 0, a record, or a node of the next level with kNodeTag.
struct AddressMap::Node {
    std::atomic<Entry> slots[kSlots] = {};

    static Node* ofEntry(Entry entry) noexcept {
        return (entry & kNodeTag) != 0 ? reinterpret_cast<Node*>(entry & ~kNodeTag) : nullptr;
    }
};

AddressMap::AddressMap() : m_root(std::make_unique<Node>()) {}

AddressMap::~AddressMap() = default;

bool AddressMap::find(uint64_t address, AllocationView& out) const noexcept {
    if (address >= kAddressEnd)
        return false;
    for (;;) {
        const Node* node = m_root.get();
        Entry entry = 0;
        for (unsigned level = kTopLevel;; --level) {
            entry = node->slots[slotIndex(address, level)].load(std::memory_order_acquire);
            if ((entry & kNodeTag) == 0)
                break;
            node = Node::ofEntry(entry);
        }
        if (entry == 0)
            return false;
        const auto* record = reinterpret_cast<const Record*>(entry);
        const uint64_t before = record->sequence.load(std::memory_order_acquire);
        if ((before & 1) != 0)
            continue;
        out = record->copy();
        if (record->sequence.load(std::memory_order_relaxed) == before && out.contains(address, 1))
            return true;
        // The record was given to another allocation meanwhile: the entry has changed, too.
    }
}

AllocationView AddressMap::view(const Record& record) noexcept {
    return record.copy();
}

void AddressMap::reserveNodes() {
    m_spareNodes.reserve(kNodesPerInsert);
    while (m_spareNodes.size() < kNodesPerInsert) {
        m_nodes.push_back(std::make_unique<Node>());
        m_spareNodes.push_back(m_nodes.back().get());
    }
}

// The node below an entry; an entry that is none becomes one, with its old content everywhere.
AddressMap::Node& AddressMap::childOf(std::atomic<Entry>& slot) noexcept {
    const Entry entry = slot.load(std::memory_order_relaxed);
    if (Node* node = Node::ofEntry(entry))
        return *node;
    Node* node = m_spareNodes.back();
    m_spareNodes.pop_back();
    for (std::atomic<Entry>& child : node->slots)
        child.store(entry, std::memory_order_relaxed);
    slot.store(reinterpret_cast<Entry>(node) | kNodeTag, std::memory_order_release);
    return *node;
}

void AddressMap::paint(Node& node, unsigned level, uint64_t nodeBase, uint64_t base, uint64_t end,
                       Entry value, Where where, const Record* record) noexcept {
    const uint64_t step = slotSize(level);
    const uint64_t first = std::max(base, nodeBase);
    const uint64_t last = std::min(end, nodeBase + step * kSlots);
    for (uint64_t start = first / step * step; start < last; start += step) {
        std::atomic<Entry>& slot = node.slots[slotIndex(start, level)];
        const Entry entry = slot.load(std::memory_order_relaxed);
        const bool whole = start >= base && start + step <= end;
        if (Node::ofEntry(entry) == nullptr) {
            if (where == Where::WhereRecord && entry != reinterpret_cast<Entry>(record))
                continue;
            if (where == Where::WhereEmpty && entry != 0)
                continue;
            if (whole) {
                slot.store(value, std::memory_order_release);
                continue;
            }
        }
        paint(childOf(slot), level - 1, start, base, end, value, where, record);
    }
}

const AddressMap::Record* AddressMap::firstIn(const Node& node, unsigned level, uint64_t nodeBase,
                                              uint64_t base, uint64_t end) const noexcept {
    const uint64_t step = slotSize(level);
    const uint64_t last = std::min(end, nodeBase + step * kSlots);
    for (uint64_t start = std::max(base, nodeBase) / step * step; start < last; start += step) {
        const Entry entry = node.slots[slotIndex(start, level)].load(std::memory_order_relaxed);
        if (const Node* child = Node::ofEntry(entry)) {
            if (const Record* found = firstIn(*child, level - 1, start, base, end))
                return found;
        } else if (entry != 0) {
            return reinterpret_cast<const Record*>(entry);
        }
    }
    return nullptr;
}

bool AddressMap::overlaps(uint64_t base, uint64_t size, AllocationView* other) const noexcept {
    const uint64_t end = std::min(base + size, kAddressEnd);
    if (base >= end)
        return false;
    const Record* found = firstIn(*m_root, kTopLevel, 0, base, end);
    if (found != nullptr && other != nullptr)
        *other = found->copy();
    return found != nullptr;
}

void AddressMap::addOverlapping(Record& record) {
    if (record.overlapping)
        return;
    auto at = std::lower_bound(m_overlapping.begin(), m_overlapping.end(), record.age,
                               [](const Record* r, uint64_t age) { return r->age < age; });
    m_overlapping.insert(at, &record);
    record.overlapping = true;
}

void AddressMap::noteOverlaps(const Node& node, unsigned level, uint64_t nodeBase, uint64_t base,
                              uint64_t end) {
    const uint64_t step = slotSize(level);
    const uint64_t last = std::min(end, nodeBase + step * kSlots);
    for (uint64_t start = std::max(base, nodeBase) / step * step; start < last; start += step) {
        const Entry entry = node.slots[slotIndex(start, level)].load(std::memory_order_relaxed);
        if (const Node* child = Node::ofEntry(entry))
            noteOverlaps(*child, level - 1, start, base, end);
        else if (entry != 0)
            addOverlapping(*reinterpret_cast<Record*>(entry));
    }
}

AddressMap::Record* AddressMap::insert(const AllocationView& view) {
    const uint64_t end = view.base + view.size;
    // All that can fail comes first. A record noted as overlapping without being so costs time
    // only.
    reserveNodes();
    if (m_freeRecords == nullptr) {
        constexpr size_t kBlock = 64;
        m_recordBlocks.push_back(std::make_unique<Record[]>(kBlock));
        for (size_t i = 0; i < kBlock; ++i) {
            Record& fresh = m_recordBlocks.back()[i];
            fresh.next = m_freeRecords;
            m_freeRecords = &fresh;
        }
    }
    Record* record = m_freeRecords;
    record->age = m_nextAge;
    record->overlapping = false;
    if (firstIn(*m_root, kTopLevel, 0, view.base, end) != nullptr) {
        noteOverlaps(*m_root, kTopLevel, 0, view.base, end);
        addOverlapping(*record);
    }

    m_freeRecords = record->next;
    ++m_nextAge;
    record->fill(view);
    record->sequence.store(record->sequence.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release);
    paint(*m_root, kTopLevel, 0, view.base, end, reinterpret_cast<Entry>(record), Where::Everywhere,
          nullptr);
    return record;
}

void AddressMap::erase(Record* record) noexcept {
    const uint64_t base = record->start();
    const uint64_t end = record->end();
    paint(*m_root, kTopLevel, 0, base, end, 0, Where::WhereRecord, record);
    if (record->overlapping) {
        std::erase(m_overlapping, record);
        // The newest of the others answers where this one did. No entry has to be split for that:
        // the ends of every live record have been split by its own insertion, or by this one's.
        for (auto it = m_overlapping.rbegin(); it != m_overlapping.rend(); ++it) {
            Record& other = **it;
            if (other.meets(base, end))
                paint(*m_root, kTopLevel, 0, std::max(base, other.start()),
                      std::min(end, other.end()), reinterpret_cast<Entry>(&other),
                      Where::WhereEmpty, nullptr);
        }
    }
    record->sequence.store(record->sequence.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
    record->next = m_freeRecords;
    m_freeRecords = record;
}

AddressMap::Record* AddressMap::newestWithBase(uint64_t base) const noexcept {
    if (base >= kAddressEnd)
        return nullptr;
    const Node* node = m_root.get();
    Entry entry = 0;
    for (unsigned level = kTopLevel;; --level) {
        entry = node->slots[slotIndex(base, level)].load(std::memory_order_relaxed);
        if ((entry & kNodeTag) == 0)
            break;
        node = Node::ofEntry(entry);
    }
    auto* record = reinterpret_cast<Record*>(entry);
    if (record == nullptr || record->start() == base)
        return record;
    if (!record->overlapping)
        return nullptr;
    for (auto it = m_overlapping.rbegin(); it != m_overlapping.rend(); ++it)
        if ((*it)->start() == base)
            return *it;
    return nullptr;
}

} // namespace vze
