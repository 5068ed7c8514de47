// SPDX-License-Identifier: MIT
#pragma once

#include "engine.h"
#include "in_flight.h"
#include "page_compression.h"
#include "page_walker.h"
#include "tlb.h"

#include <drm/vze_hw.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace vgpu {

/** How the device uses an address; the values are those of fault records. */
enum class Access : uint32_t {
    kRead = VZE_HW_ACCESS_READ,
    kWrite = VZE_HW_ACCESS_WRITE,
    kFetch = VZE_HW_ACCESS_FETCH,
};

/** Why an access was refused, as fault records tell it. Reason 0: it was not. */
struct Fault {
    uint32_t reason = 0; ///< VZE_HW_FAULT_*
    Access access = Access::kRead;
    uint64_t va = 0; ///< first byte that could not be accessed

    explicit operator bool() const { return reason != 0; }
};

/**
 * The address spaces of the device and everything that translates in them.
 *
 * create(), destroy() and invalidate() are the control ring's thread's alone; sections may be
 * opened by any thread at any time.
 */
class AddressSpaces {
public:
    AddressSpaces(const PhysicalMemory& memory, PageCompression& compression,
                  std::span<const vze_hw_window> windows, uint64_t features);

    /** Makes @p asid translate by the table at @p root. False when the root cannot be one. */
    bool create(uint32_t asid, uint64_t root);
    /** Forgets @p asid, drops its translations and waits for their last use. */
    void destroy(uint32_t asid, Engine& engine);
    bool exists(uint32_t asid) const { return spaces_[asid].live.load(std::memory_order_acquire); }

    /**
     * Drops every cached translation of [@p start, @p end) and waits for the transfers that use
     * one. The caller is in no section. In strict mode what is cached then, which can only have
     * been walked since, must be what the tables say; @p window is the slot of the change and no
     * excuse any more.
     */
    void invalidate(uint32_t asid, uint64_t start, uint64_t end, uint32_t window, Engine& engine);

    InFlight& in_flight() { return in_flight_; }

private:
    friend class Section;

    struct Space {
        std::atomic<bool> live{false};
        std::atomic<uint64_t> root{0};
        /** Changed by every invalidation; never 0, and never the same again. */
        std::atomic<uint64_t> generation{1};
    };

    void verify(uint32_t asid, uint64_t root, uint64_t va, uint64_t size, const Leaf& cached,
                uint32_t except, Engine& engine) const;
    void report_stale(uint32_t asid, uint64_t va, const Leaf& cached, const Walk& found) const;

    PageWalker walker_;
    PageCompression& compression_;
    std::span<const vze_hw_window> windows_;
    bool strict_;
    Tlb tlb_;
    InFlight in_flight_;
    std::unique_ptr<Space[]> spaces_;
    mutable std::atomic<uint32_t> reports_{0};
};

/** Memory that a section may touch until it ends. */
struct Run {
    std::byte* host = nullptr;
    uint64_t size = 0; ///< contiguous bytes from there, 0 when @ref fault says why not
    uint64_t pte = 0;
    Fault fault;

    /** Whether the state of the pages decides what the bytes mean: see memory_access.h. */
    bool vram() const { return (pte & VZE_HW_PTE_VRAM) != 0; }
    /** Whether what is written may leave the pages compressed. */
    bool compressible() const { return (pte & VZE_HW_PTE_COMPRESSIBLE) != 0; }
};

/**
 * The time in which a thread uses translations of one address space: no pointer from translate()
 * may be used after it, and no section may move more than kMaxBytes or wait for anything.
 */
class Section {
public:
    static constexpr uint64_t kMaxBytes = 2ULL << 20;

    Section(AddressSpaces& spaces, Engine& engine, uint32_t asid);
    ~Section() { engine_.slot.leave(); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

    /**
     * Finds the memory behind @p va: as much of @p size bytes as one leaf covers. Any address may
     * be given; @p size is at least 1.
     */
    Run translate(uint64_t va, uint64_t size, Access access);

    Engine& engine() const { return engine_; }
    PageCompression& compression() const { return spaces_.compression_; }

private:
    AddressSpaces& spaces_;
    Engine& engine_;
    uint32_t asid_;
    uint64_t generation_;
    uint64_t root_;
    bool live_;
};

} // namespace vgpu
