// SPDX-License-Identifier: MIT
#include "core/append.h"

#include <cinttypes>
#include <cstddef>
#include <vector>

#include <drm/vze_hw.h>

#include "core/application_memory.h"
#include "core/event.h"
#include "core/log.h"

namespace vze {

namespace {

// Above this size pinning the application's memory costs less than copying it once more.
constexpr size_t kStageLimit = 65536;

} // namespace

Append::Append(CommandList& list, const EventLinks& events)
    : m_list(list), m_events(events), m_lock(list.m_mutex), m_recording(chooseRecording()),
      m_encoder(*m_recording, list.device().maxTransfer()) {
    m_recording->beginCall(ApiCall::current());
    m_mark = m_recording->mark();
}

std::shared_ptr<Recording> Append::chooseRecording() {
    if (m_list.immediate())
        return m_list.queue()->acquireRecording();
    // What is appended to a closed list is checked like any other and never run.
    if (m_list.closed())
        return std::make_shared<Recording>(m_list.context());
    return m_list.m_recording;
}

Append::~Append() {
    if (!m_finished)
        m_recording->rollBack(m_mark);
}

ze_result_t Append::outOfMemory() {
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for commands");
}

ze_result_t Append::begin() {
    for (Event* event : m_events.waits) {
        m_recording->keepEvent(event->slot(), EventEffect::Wait);
        if (!m_encoder.wait(event->slot().address(), VZE_HW_WAIT_EQ, kEventSignalled))
            return outOfMemory();
    }
    if (m_events.signal != nullptr && m_events.signal->hasTimestamps() &&
        !m_encoder.timestamp(m_events.signal->slot().address() + offsetof(EventWords, start)))
        return outOfMemory();
    return ZE_RESULT_SUCCESS;
}

ze_result_t Append::operand(const char* argument, const void* ptr, size_t size, Access access,
                            uint64_t& address) {
    Context& context = m_list.context();
    const auto start = reinterpret_cast<uint64_t>(ptr);
    if (start + size < start)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: 0x%zx bytes at %p wrap around", argument,
                    size, ptr);
    AllocationView view;
    const bool found = context.lookup(ptr, view);
    if (!found) {
        // Host memory of another context is host memory all the same.
        const std::unique_ptr<ContextUse> owner = ownerOf(ptr, size, false);
        if (owner != nullptr)
            return operandOf(owner->context(), argument, ptr, size, access, address);
    }
    // An import is not checked: what lies around it is the application's memory too.
    if (found && view.type != AllocationType::HostImported && !view.contains(start, size)) {
        // A range of a reservation may go over several mapped pieces, and over holes, which fault.
        AllocationView last;
        const bool piece = view.allocation == nullptr;
        if (!piece || (context.lookup(reinterpret_cast<const void*>(start + size - 1), last) &&
                       last.allocation != nullptr))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "%s: %zu bytes at %p run %" PRIu64
                        " bytes past the end of allocation %" PRIu64 " (0x%" PRIx64 ", %" PRIu64
                        " bytes)",
                        argument, size, ptr, start + size - (view.base + view.size), view.id,
                        view.base, view.size);
    } else if (view.allocation != nullptr) {
        m_recording->touch(view.base, view.size);
    }
    ResolvedRange range;
    const ze_result_t result =
        context.resolve(m_list.device(), ptr, size, access == Access::Write, range);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    // Parts of it may be (or become) imports, whose frees have to know of this work.
    if (range.import)
        m_recording->touch(start, size);
    useRange(range, address);
    return ZE_RESULT_SUCCESS;
}

bool Append::mayStage(const void* ptr, size_t size) const {
    // Only when the command can start at once is its append as good a time as its execution.
    if (!m_list.immediate() || size > kStageLimit || !m_events.waits.empty() ||
        !m_list.queue()->idle() || !canReachApplication())
        return false;
    AllocationView view;
    return !m_list.context().lookup(ptr, view) &&
           !isDriverAddress(reinterpret_cast<uint64_t>(ptr), size);
}

ze_result_t Append::source(const char* argument, const void* ptr, size_t size, uint64_t& address) {
    if (mayStage(ptr, size)) {
        if (HostVisibleBlock* block = m_recording->scratch(size);
            block != nullptr && readApplication(block->cpu, ptr, size)) {
            address = block->address;
            return ZE_RESULT_SUCCESS;
        }
    }
    return operand(argument, ptr, size, Access::Read, address);
}

ze_result_t Append::destination(const char* argument, void* ptr, size_t size, uint64_t& address) {
    // Nobody may see the completion before finish() has written the bytes.
    if (m_list.synchronous() && m_events.signal == nullptr && mayStage(ptr, size) &&
        !m_list.context().meetsReadOnlyImport(ptr, size)) {
        if (HostVisibleBlock* block = m_recording->scratch(size); block != nullptr) {
            m_lateWrite = {.ptr = ptr, .from = block->cpu, .size = size};
            address = block->address;
            return ZE_RESULT_SUCCESS;
        }
    }
    return operand(argument, ptr, size, Access::Write, address);
}

std::unique_ptr<ContextUse> Append::ownerOf(const void* ptr, size_t size, bool onDevice) const {
    AllocationView view;
    if (!isDriverAddress(reinterpret_cast<uint64_t>(ptr), size) ||
        m_list.context().lookup(ptr, view))
        return nullptr;
    std::unique_ptr<ContextUse> owner = m_list.context().driver().ownerOf(ptr, view);
    const bool cpuReaches = view.type == AllocationType::Host ||
                            view.type == AllocationType::Shared ||
                            view.type == AllocationType::IpcHost;
    return onDevice || cpuReaches ? std::move(owner) : nullptr;
}

ze_result_t Append::destinationAnywhere(const char* argument, void* ptr, size_t size,
                                        uint64_t& address) {
    if (const std::unique_ptr<ContextUse> owner = ownerOf(ptr, size, true))
        return operandOf(owner->context(), argument, ptr, size, Access::Write, address);
    return destination(argument, ptr, size, address);
}

ze_result_t Append::operandOf(Context& owner, const char* argument, const void* ptr, size_t size,
                              Access access, uint64_t& address) {
    const auto start = reinterpret_cast<uint64_t>(ptr);
    if (start + size < start)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: 0x%zx bytes at %p wrap around", argument,
                    size, ptr);
    ResolvedRange range;
    const ze_result_t result = m_list.context().resolveFrom(owner, m_list.device(), ptr, size,
                                                            access == Access::Write, range);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    m_recording->touch(start, size);
    useRange(range, address);
    return ZE_RESULT_SUCCESS;
}

void Append::useRange(ResolvedRange& range, uint64_t& address) {
    address = range.address;
    if (range.import)
        m_recording->keep(std::move(range.import));
}

ze_result_t Append::encodeSignal(Recording& recording, CommandEncoder& encoder) {
    Event* event = m_events.signal;
    if (event == nullptr)
        return ZE_RESULT_SUCCESS;
    const uint64_t address = event->slot().address();
    if (event->hasTimestamps() && !encoder.timestamp(address + offsetof(EventWords, end)))
        return outOfMemory();
    // What wakes sleepers at the end of a submission follows at once, except in a regular list.
    if (!encoder.signal(address, kEventSignalled, !m_list.immediate()))
        return outOfMemory();
    recording.keepEvent(event->slot(), EventEffect::Signal);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Append::finish() {
    if (const ze_result_t result = encodeSignal(*m_recording, m_encoder);
        result != ZE_RESULT_SUCCESS)
        return result;
    if (!m_list.immediate()) {
        if (m_list.closed())
            log(LogLevel::Info, "%s: the command list is closed, the command is not recorded",
                ApiCall::current());
        m_finished = true;
        return ZE_RESULT_SUCCESS;
    }
    if (!m_list.queue()->encodeCount(m_encoder))
        return outOfMemory();
    uint64_t number = 0;
    const ze_result_t result = m_list.queue()->submit(std::span(&m_recording, 1), number, true);
    return result == ZE_RESULT_SUCCESS ? submitted(number) : result;
}

ze_result_t Append::finishWith(std::span<const std::shared_ptr<Recording>> recordings) {
    std::vector<std::shared_ptr<Recording>> all;
    all.reserve(recordings.size() + 2);
    all.push_back(m_recording); // the waits
    all.insert(all.end(), recordings.begin(), recordings.end());
    if (m_events.signal != nullptr) {
        const std::shared_ptr<Recording>& last =
            all.emplace_back(m_list.queue()->acquireRecording());
        last->beginCall(ApiCall::current());
        CommandEncoder encoder(*last, m_list.device().maxTransfer());
        if (const ze_result_t result = encodeSignal(*last, encoder); result != ZE_RESULT_SUCCESS)
            return result;
    }
    uint64_t number = 0;
    const ze_result_t result = m_list.queue()->submit(all, number);
    return result == ZE_RESULT_SUCCESS ? submitted(number) : result;
}

ze_result_t Append::submitted(uint64_t number) {
    m_finished = true;
    m_lock.unlock();
    const std::shared_ptr<Queue>& queue = m_list.queue();
    // The queue takes a finished recording back for the next append when nobody else has it. Until
    // the scratch memory has been read below that must not happen.
    if (m_lateWrite.size == 0)
        m_recording.reset();
    if (!m_list.synchronous())
        return ZE_RESULT_SUCCESS;
    ze_result_t result = queue->wait(number, UINT64_MAX);
    if (m_lateWrite.size == 0)
        return result;
    if (result == ZE_RESULT_SUCCESS &&
        !writeApplication(m_lateWrite.ptr, m_lateWrite.from, m_lateWrite.size))
        result = fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "dstptr: %zu bytes at %p cannot be written",
                      m_lateWrite.size, m_lateWrite.ptr);
    queue->takeBack(std::move(m_recording));
    return result;
}

} // namespace vze
