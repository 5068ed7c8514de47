// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/command_encoder.h"
#include "core/command_list.h"

namespace vze {

/// One append to a command list: what it waits for, its commands, what it signals. Unless finish()
/// was reached the list is left as it was.
///
///     Append append(list, events);
///     if (ze_result_t r = append.begin(); r != ZE_RESULT_SUCCESS) return r;
///     ... append.operand(), append.encoder() ...
///     return append.finish();
class Append {
public:
    enum class Access { Read, Write };

    /// Holds the list's mutex until finish() has submitted.
    Append(CommandList& list, const EventLinks& events);
    ~Append();
    Append(const Append&) = delete;
    Append& operator=(const Append&) = delete;

    ze_result_t begin();

    /// Where the list's device finds [ptr, ptr + size), size not 0. Memory of the driver is checked
    /// against the end of its allocation; other host memory is imported for as long as the commands
    /// exist. @p argument names it in messages.
    ze_result_t operand(const char* argument, const void* ptr, size_t size, Access access,
                        uint64_t& address);
    /// operand() for a source; the content of a small one is taken at once where nobody can tell.
    ze_result_t source(const char* argument, const void* ptr, size_t size, uint64_t& address);
    /// operand() for a destination; a small one is written by finish() where nobody can tell.
    ze_result_t destination(const char* argument, void* ptr, size_t size, uint64_t& address);
    /// operand() for memory that belongs to another context of the driver.
    ze_result_t operandOf(Context& owner, const char* argument, const void* ptr, size_t size,
                          Access access, uint64_t& address);
    /// destination() for memory of whichever context it belongs to.
    ze_result_t destinationAnywhere(const char* argument, void* ptr, size_t size,
                                    uint64_t& address);

    CommandEncoder& encoder() noexcept { return m_encoder; }
    Recording& recording() noexcept { return *m_recording; }

    /// Signals, and on an immediate list submits, in synchronous mode waits.
    ze_result_t finish();
    /// finish() with recordings that run between the waits and the signal. Immediate lists only.
    ze_result_t finishWith(std::span<const std::shared_ptr<Recording>> recordings);

    /// What an encoder that returns false means.
    static ze_result_t outOfMemory();

private:
    struct LateWrite {
        void* ptr = nullptr;
        const void* from = nullptr;
        size_t size = 0;
    };

    std::shared_ptr<Recording> chooseRecording();
    void useRange(ResolvedRange& range, uint64_t& address);
    /// The other context that has memory at ptr, or null; @p onDevice: memory that the CPU does not
    /// reach counts, too.
    std::unique_ptr<ContextUse> ownerOf(const void* ptr, size_t size, bool onDevice) const;
    bool mayStage(const void* ptr, size_t size) const;
    ze_result_t encodeSignal(Recording& recording, CommandEncoder& encoder);
    ze_result_t submitted(uint64_t number);

    CommandList& m_list;
    const EventLinks m_events;
    std::unique_lock<std::mutex> m_lock;
    std::shared_ptr<Recording> m_recording;
    CommandEncoder m_encoder;
    Recording::Mark m_mark = {};
    LateWrite m_lateWrite;
    bool m_finished = false;
};

} // namespace vze
