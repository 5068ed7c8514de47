// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <drm/vze_drm.h>

#include "core/command_encoder.h"
#include "core/context.h"
#include "core/event_memory.h"

namespace vze {

/// Commands in memory that the device fetches, and everything they need to stay alive: chunks of
/// driver memory, temporary imports of the application's memory, event words.
///
/// While commands are appended it belongs to one thread. Once it is submitted it does not change
/// any more and is shared by the command list and by every queue that runs it; the last of them
/// frees it.
class Recording final : public CommandSink {
public:
    explicit Recording(Context& context) noexcept : m_context(context) {}
    ~Recording() { clear(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// A place to return to, so that an append that fails in its middle leaves nothing.
    struct Mark {
        size_t chunks, used, commands, calls, touched, imports, events, scratch;
    };
    Mark mark() const noexcept;
    void rollBack(const Mark& mark) noexcept;

    /// Names the API call (a string literal) of the commands that follow. Before mark(): it tidies
    /// up.
    void beginCall(const char* name);
    uint64_t* reserve(size_t words) override;

    /// Notes that the commands may touch the allocation [base, base + size).
    void touch(uint64_t base, uint64_t size);
    bool touches(uint64_t base, uint64_t size) const noexcept;

    void keep(TransientImport import) { m_imports.push_back(std::move(import)); }
    /// Keeps the memory of an event that the commands use, and notes how.
    void keepEvent(EventSlot slot, EventEffect effect) { m_events.push_back({slot, effect}); }
    /// Tells the events who will signal them; see EventMemory::setSignaller(). Any thread.
    void announceEvents(const Device& device, uint32_t queueId) const noexcept;

    /// Driver memory for @p size bytes that lives as long as the recording. Null without a result
    /// text when there is none.
    HostVisibleBlock* scratch(size_t size);

    /// Appends what the device has to run. Nothing when the recording is empty.
    void appendBatches(std::vector<drm_vze_batch>& out) const;
    bool empty() const noexcept;

    /// Name of the call that appended a command, null when the batch is not one of these.
    const char* callOf(uint64_t batch, uint32_t command) const noexcept;
    /// Host address behind a device address in a temporary import, else 0.
    uint64_t hostAddressOf(uint64_t deviceAddress) const noexcept;
    bool hasImports() const noexcept { return !m_imports.empty(); }

    /// Back to empty, for another use. Keeps the first chunk and a small scratch block.
    void recycle() noexcept;

private:
    struct Call {
        uint32_t firstCommand;
        const char* name;
    };
    struct Chunk {
        HostVisibleBlock block;
        size_t used = 0; // bytes
        uint32_t commands = 0;
        std::vector<Call> calls; // ascending by firstCommand
    };
    struct Range {
        uint64_t base, size;
        auto operator<=>(const Range&) const = default;
    };
    struct EventUse {
        EventSlot slot;
        EventEffect effect;
    };

    void clear() noexcept;
    bool addChunk(size_t words);

    Context& m_context;
    const ContextUse m_use{m_context}; // goes after what is declared below
    std::vector<Chunk> m_chunks;
    const char* m_call = nullptr;
    std::vector<Range> m_touched;
    size_t m_compactAt = 64;
    std::vector<TransientImport> m_imports;
    std::vector<EventUse> m_events;
    std::vector<HostVisibleBlock> m_scratch;
    HostVisibleBlock m_spareScratch; // kept by recycle()
};

} // namespace vze
