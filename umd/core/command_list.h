// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "core/command_encoder.h"
#include "core/handle.h"
#include "core/queue.h"

namespace vze {

class Event;

/// The events of an append: what it waits for before it starts, and what it signals when it is
/// done.
struct EventLinks {
    Event* signal = nullptr; ///< may be null
    std::span<Event* const> waits;
};

/// zeCommandList, regular or immediate.
///
/// A regular list collects commands in one recording, which queues run after close(). An append to
/// a closed list is checked like any other and has no effect. An immediate list owns a queue and
/// submits each append as a recording of its own.
///
/// Commands run in the order of their appends on one queue, which is more than lists without the
/// in-order flag promise.
class CommandList : public Handle<CommandList, ze_command_list_handle_t, HandleKind::CommandList> {
public:
    /// The descriptors have been validated.
    static ze_result_t createRegular(Context& context, Device& device, uint32_t ordinal,
                                     ze_command_list_flags_t flags, CommandList*& out);
    static ze_result_t createImmediate(Context& context, Device& device,
                                       const ze_command_queue_desc_t& desc, CommandList*& out);
    ~CommandList();

    Context& context() const noexcept { return m_context; }
    Device& device() const noexcept { return m_device; }
    bool immediate() const noexcept { return m_queue != nullptr; }
    bool closed() const noexcept { return m_closed; }
    uint32_t ordinal() const noexcept { return m_ordinal; }
    ze_command_list_flags_t flags() const noexcept { return m_flags; }
    /// Of an immediate list.
    const ze_command_queue_desc_t& queueDesc() const noexcept { return m_queueDesc; }
    /// Appends wait for their completion. The default mode leaves it to the driver, which gains
    /// nothing.
    bool synchronous() const noexcept {
        return m_queueDesc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    }
    const std::shared_ptr<Queue>& queue() const noexcept { return m_queue; }
    /// Commands of a regular list.
    const std::shared_ptr<Recording>& recording() const noexcept { return m_recording; }

    void close() noexcept { m_closed = !immediate(); }
    void reset();
    /// A closed list with the same commands, which it shares until one of both is reset.
    ze_result_t clone(CommandList*& out) const;
    /// Immediate lists only: waits for everything appended so far.
    ze_result_t hostSynchronize(uint64_t timeout) {
        return m_queue->wait(m_queue->lastSubmitted(), timeout);
    }

    // ---- appends (command_list_sync.cpp)

    ze_result_t appendBarrier(const EventLinks& events);
    ze_result_t appendSignal(Event& event);
    ze_result_t appendWait(std::span<Event* const> events);
    ze_result_t appendEventReset(Event& event);
    /// @p dst is 8-byte aligned.
    ze_result_t appendTimestamp(uint64_t* dst, const EventLinks& events);
    /// Writes ze_kernel_timestamp_result_t of each event; @p offsets (or null: one behind the
    /// other) have been read from the application already.
    ze_result_t appendQueryTimestamps(std::span<Event* const> queried, void* dst,
                                      const size_t* offsets, const EventLinks& events);
    /// Immediate lists only: runs closed regular lists.
    ze_result_t appendLists(std::span<CommandList* const> lists, const EventLinks& events);

    // ---- transfers (command_list_copy.cpp)

    /// @p source: the context that @p src belongs to, null for the list's own; when it is named,
    /// @p dst may be of any context, too.
    ze_result_t appendCopy(void* dst, const void* src, size_t size, Context* source,
                           const EventLinks& events);
    /// @p pattern: 1..VZE_HW_MAX_PATTERN bytes.
    ze_result_t appendFill(void* dst, std::span<const std::byte> pattern, size_t size,
                           const EventLinks& events);
    /// The region's dst and src are the addresses of the boxes' first bytes; both extents fit into
    /// 64 bits.
    ze_result_t appendCopyRegion(const RegionCopy& region, const EventLinks& events);

private:
    friend class Append;

    CommandList(Context& context, Device& device) noexcept : m_context(context), m_device(device) {}

    Context& m_context;
    const ContextUse m_use{m_context}; // goes after what is declared below
    Device& m_device;
    uint32_t m_ordinal = 0;
    ze_command_list_flags_t m_flags = 0;
    ze_command_queue_desc_t m_queueDesc = {};
    bool m_closed = false;
    std::mutex m_mutex; // one append at a time
    std::shared_ptr<Recording> m_recording;
    std::shared_ptr<Queue> m_queue;
};

} // namespace vze
