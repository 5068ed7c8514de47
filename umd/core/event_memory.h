// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/context.h"

namespace vze {

/// One event in memory, written by devices and CPUs of every process that has the pool.
struct EventWords {
    uint64_t state; ///< kEventReset or kEventSignalled
    uint64_t start; ///< device clock when the work began
    uint64_t end;   ///< device clock when the work ended
    uint64_t pad[5];
};
static_assert(sizeof(EventWords) == 64, "an event has its own cache line");

inline constexpr uint64_t kEventReset = 0;
inline constexpr uint64_t kEventSignalled = 1;

/// What a command does to an event.
enum class EventEffect { Wait, Signal, Reset };

/// The memory of an event pool. Shared by the pool, its events and the recordings that name them,
/// so that a list whose pool is gone does not make the device write to someone else's memory.
class EventMemory {
public:
    /// @p shareable: another process can map it by a share of the block.
    static ze_result_t create(Context& context, uint32_t count, bool shareable,
                              std::shared_ptr<EventMemory>& out);
    /// Maps the memory of another process's pool of @p count events. shared.size is filled in.
    static ze_result_t open(Context& context, SharedBlock shared, uint32_t count,
                            std::shared_ptr<EventMemory>& out);
    ~EventMemory();
    EventMemory(const EventMemory&) = delete;
    EventMemory& operator=(const EventMemory&) = delete;

    Context& context() const noexcept { return m_context; }
    uint32_t count() const noexcept { return m_count; }
    const HostVisibleBlock& block() const noexcept { return m_block; }

    EventWords* words(uint32_t index) const noexcept {
        return static_cast<EventWords*>(m_block.cpu) + index;
    }
    /// Device address of the event's words.
    uint64_t address(uint32_t index) const noexcept {
        return m_block.address + index * sizeof(EventWords);
    }

    /// The queue that was last given a command that signals the event: who waits for the event on
    /// the host gives up when that queue stops. A hint, per process.
    struct Signaller {
        uint32_t queueId = 0; ///< 0: unknown
        uint32_t device = 0;  ///< Device::index()
    };
    void setSignaller(uint32_t index, const Device& device, uint32_t queueId) noexcept {
        m_signallers[index].store(uint64_t{device.index()} << 32 | queueId,
                                  std::memory_order_relaxed);
    }
    void clearSignaller(uint32_t index) noexcept {
        m_signallers[index].store(0, std::memory_order_relaxed);
    }
    Signaller signaller(uint32_t index) const noexcept {
        const uint64_t value = m_signallers[index].load(std::memory_order_relaxed);
        return {.queueId = static_cast<uint32_t>(value),
                .device = static_cast<uint32_t>(value >> 32)};
    }

private:
    EventMemory(Context& context, uint32_t count) : m_context(context), m_count(count) {}
    void makeSignallers();

    Context& m_context;
    const ContextUse m_use{m_context}; // goes after what is declared below
    const uint32_t m_count;
    HostVisibleBlock m_block;
    std::unique_ptr<std::atomic<uint64_t>[]> m_signallers;
};

/// An event as recordings and events refer to it.
struct EventSlot {
    std::shared_ptr<EventMemory> memory;
    uint32_t index = 0;

    EventWords* words() const noexcept { return memory->words(index); }
    uint64_t address() const noexcept { return memory->address(index); }
};

} // namespace vze
