// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fixture.h"
#include "physical.h"

namespace vze::test {

/** The first word of page k of a range. */
inline uint64_t pageSignature(uint64_t page) {
    return 0x5167000000000000ULL | page;
}

/**
 * Physical objects side by side in a reservation: in shuffled order, each mapped from an offset
 * inside it, so that neighbours in the range are strangers in memory. Page k of the range begins
 * with pageSignature(k).
 */
class Seams {
public:
    /**
     * @p host: for each object, whether it is system memory; @p pages: of each object, of which the
     * middle half is mapped.
     */
    Seams(ze_context_handle_t context, ze_device_handle_t device, ImmediateList& list,
          const std::vector<bool>& host, size_t pages = 8)
        : reservation_(context, host.size() * pages / 2 * kPage), objectPages_(pages) {
        // 5 has no common factor with the numbers of objects that the tests use.
        for (size_t i = 0; i < host.size(); i++)
            objects_.push_back(std::make_unique<PhysicalMemory>(
                context, host[i] ? deviceOfHostObjects() : device, pages * kPage,
                host[i] ? ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
                        : ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE));
        for (size_t i = 0; i < host.size(); i++) {
            const size_t object = order(i);
            EXPECT_OK(zeVirtualMemMap(context, bytes() + i * mappedPages() * kPage,
                                      mappedPages() * kPage, objects_[object]->get(),
                                      offset() * kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        }
        std::vector<uint64_t> content(size() / sizeof(uint64_t), 0);
        for (size_t page = 0; page < size() / kPage; page++)
            content[page * kPage / sizeof(uint64_t)] = pageSignature(page);
        EXPECT_OK(list.copy(bytes(), content.data(), size()));
    }

    size_t order(size_t i) const { return i * 5 % objects_.size(); }
    size_t mappedPages() const { return objectPages_ / 2; }
    /** Pages of each object before what is mapped. */
    size_t offset() const { return objectPages_ / 4; }
    uint8_t* bytes() const { return reservation_.bytes(); }
    size_t size() const { return reservation_.size(); }
    PhysicalMemory& object(size_t index) { return *objects_[index]; }
    size_t count() const { return objects_.size(); }

private:
    std::vector<std::unique_ptr<PhysicalMemory>> objects_; // outlive the mappings
    Reservation reservation_;
    size_t objectPages_;
};

} // namespace vze::test
