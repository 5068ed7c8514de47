// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

namespace vgpu {

/**
 * Who is using translations right now.
 *
 * A thread announces a section before it looks up the first translation and ends it when it uses
 * none of them any more; a section lies in one address space and moves at most 2 MiB. drain() waits
 * for the sections that began before it was called, and for no others, so that a busy device cannot
 * hold up an invalidation, and an invalidation holds up nobody.
 */
class InFlight {
public:
    /** One thread's announcement. */
    class alignas(64) Slot {
    public:
        void enter(const std::atomic<uint64_t>& epoch, uint32_t asid) {
            // seq_cst: either drain() sees this section, or this section sees what was changed
            // before drain().
            word_.store((epoch.load(std::memory_order_relaxed) << kAsidBits) | (asid + 1),
                        std::memory_order_seq_cst);
        }
        void leave() { word_.store(0, std::memory_order_release); }

    private:
        friend class InFlight;
        std::atomic<uint64_t> word_{0};
    };

    /** A slot for one more thread. Not to be called once the device runs. */
    Slot& new_slot() { return slots_.emplace_back(); }
    const std::atomic<uint64_t>& epoch() const { return epoch_; }

    /**
     * Waits until every section of @p asid that began before the call has ended. The caller must
     * not be inside a section itself.
     */
    void drain(uint32_t asid);

private:
    static constexpr unsigned kAsidBits = 16;

    std::deque<Slot> slots_;
    std::atomic<uint64_t> epoch_{1};
};

} // namespace vgpu
