// SPDX-License-Identifier: MIT
#include "core/queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <drm/vze_hw.h>

#include "core/fault_text.h"
#include "core/log.h"
#include "core/result.h"
#include "core/word_wait.h"
#include "core/work_tracker.h"

namespace vze {

namespace {

// The words of m_block. The device writes the first, so the other has its own cache line.
constexpr size_t kTailOffset = 64;
constexpr size_t kBlockSize = 128;
constexpr size_t kSpareRecordings = 8;

std::string nearestName(const AllocationView& view) {
    const char* kind = "allocation";
    switch (view.type) {
    case AllocationType::Device:
        kind = "device allocation";
        break;
    case AllocationType::Host:
        kind = "host allocation";
        break;
    case AllocationType::Shared:
        kind = "shared allocation";
        break;
    case AllocationType::HostImported:
        kind = view.readOnly ? "read-only import" : "import";
        break;
    case AllocationType::IpcDevice:
    case AllocationType::IpcHost:
        kind = "opened IPC handle";
        break;
    }
    return std::string(kind) + " " + std::to_string(view.id);
}

} // namespace

ze_result_t Queue::create(Context& context, Device& device, uint32_t priority,
                          std::shared_ptr<Queue>& out) {
    std::shared_ptr<Queue> queue(new Queue(context, device));
    ze_result_t result = context.allocInternal(kBlockSize, queue->m_block);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    // The same few bytes end every submission: completed submissions are counted, not numbered.
    const vze_hw_cmd_sem tail = {.cmd = {.opcode = VZE_HW_CMD_ATOMIC_ADD,
                                         .len = sizeof(vze_hw_cmd_sem) / 8,
                                         .flags = VZE_HW_CMD_NOTIFY},
                                 .addr = queue->m_block.address,
                                 .value = 1};
    std::memcpy(static_cast<std::byte*>(queue->m_block.cpu) + kTailOffset, &tail, sizeof(tail));
    queue->m_tailAddress = queue->m_block.address + kTailOffset;

    if (const int error = device.file().createQueue(context.vmId(device), priority, queue->m_id);
        error == ENOSPC)
        return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                    "all %u hardware queues of the device are in use", device.info().num_queues);
    else if (error != 0)
        return failErrno(error, "QUEUE_CREATE");
    context.work().add(queue);
    out = std::move(queue);
    return ZE_RESULT_SUCCESS;
}

Queue::~Queue() {
    stop();
    for (const std::shared_ptr<Recording>& recording : m_spare)
        recording->recycle();
    m_spare.clear();
    if (m_block)
        m_context.freeInternal(m_block);
}

void Queue::stop() noexcept {
    std::deque<Work> dropped;
    bool unfinished = false;
    {
        const std::lock_guard lock(m_mutex);
        if (m_stopped || m_id == 0)
            return;
        m_stopped = true;
        unfinished = !m_lost && !idle();
        dropped.swap(m_pending);
        m_hasPending.store(false, std::memory_order_relaxed);
    }
    if (unfinished)
        log(LogLevel::Info, "queue %u is destroyed with unfinished work, which is stopped", m_id);
    m_context.work().remove(*this);
    // Once this returns the device touches nothing for this queue: the memory of the work can go.
    m_device.file().destroyQueue(m_id);
}

uint64_t Queue::completed() const noexcept {
    return loadWord(static_cast<const uint64_t*>(m_block.cpu));
}

// @p seqno: of the last job that was submitted, unchanged when none was.
int Queue::execAll(const std::vector<drm_vze_batch>& batches, uint64_t& seqno) noexcept {
    const std::span<const drm_vze_batch> all(batches);
    for (size_t done = 0; done < all.size();) {
        const size_t count = std::min<size_t>(all.size() - done, DRM_VZE_MAX_BATCHES);
        uint64_t job = 0;
        int error;
        do {
            error = m_device.file().exec(m_id, all.subspan(done, count), {}, job);
        } while (error == EINTR);
        if (error != 0)
            return error;
        seqno = job;
        done += count;
    }
    return 0;
}

bool Queue::encodeCount(CommandEncoder& encoder) const {
    return encoder.atomicAdd(m_block.address, 1, true);
}

ze_result_t Queue::submit(std::span<const std::shared_ptr<Recording>> recordings, uint64_t& number,
                          bool counts) {
    std::vector<std::shared_ptr<Recording>> finished;
    int error = 0;
    {
        const std::lock_guard lock(m_mutex);
        if (m_lost || m_stopped)
            return fail(ZE_RESULT_ERROR_DEVICE_LOST, "%s",
                        m_lost ? m_lostText.c_str() : "the queue was destroyed");
        takeFinished(finished);
        m_batches.clear();
        number = m_submitted.load(std::memory_order_relaxed) + 1;
        for (const std::shared_ptr<Recording>& recording : recordings) {
            if (recording->empty())
                continue;
            recording->appendBatches(m_batches);
            m_pending.push_back({number, recording});
            // Before the device can run it: who then waits for the event sees which queue to watch.
            recording->announceEvents(m_device, m_id);
        }
        if (!counts)
            m_batches.push_back({.addr = m_tailAddress, .size = sizeof(vze_hw_cmd_sem), .pad = 0});
        m_hasPending.store(!m_pending.empty(), std::memory_order_relaxed);
        uint64_t seqno = 0;
        error = execAll(m_batches, seqno);
        for (auto work = m_pending.rbegin(); work != m_pending.rend() && work->number == number;
             ++work)
            work->seqno = seqno;
        // When EXEC fails nothing ran, except for a submission of more than one job: then what ran
        // is kept until the next submission completes, which is what its number says.
        if (error == 0)
            m_submitted.store(number, std::memory_order_release);
        else if (m_batches.size() <= DRM_VZE_MAX_BATCHES)
            std::erase_if(m_pending, [&](const Work& work) { return work.number == number; });
    }
    release(finished);
    return error == 0 ? ZE_RESULT_SUCCESS : failed(error, "EXEC");
}

ze_result_t Queue::wait(uint64_t number, uint64_t timeout) {
    const int error =
        waitForWord(m_device.file(), static_cast<const uint64_t*>(m_block.cpu), VZE_HW_WAIT_GE,
                    number, m_id, timeout == 0 ? 0 : kmd::monotonicDeadline(timeout));
    switch (error) {
    case 0:
        reap();
        return ZE_RESULT_SUCCESS;
    case ETIME:
        return ZE_RESULT_NOT_READY;
    default:
        return failed(error, "FENCE_WAIT");
    }
}

ze_result_t Queue::failed(int error, const char* step) {
    if (error != ECANCELED && error != ENODEV && error != EIO && error != ENOENT)
        return failErrno(error, step);
    std::vector<std::shared_ptr<Recording>> finished;
    std::string text;
    {
        const std::lock_guard lock(m_mutex);
        if (m_stopped && !m_lost)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command queue was destroyed");
        if (!m_lost) {
            m_lostText = describeStop();
            m_lost = true;
            // A stopped queue touches no memory any more.
            for (Work& work : m_pending)
                finished.push_back(std::move(work.recording));
            m_pending.clear();
            m_hasPending.store(false, std::memory_order_relaxed);
        }
        text = m_lostText;
    }
    finished.clear();
    return fail(ZE_RESULT_ERROR_DEVICE_LOST, "%s", text.c_str());
}

std::string Queue::describeStop() {
    drm_vze_queue_state state = {};
    if (m_device.file().queueState(m_id, state) != 0)
        state.state = DRM_VZE_QUEUE_STATE_LOST;
    FaultOrigin origin;
    if (state.state == DRM_VZE_QUEUE_STATE_FAULTED) {
        for (const Work& work : m_pending) {
            if (origin.call == nullptr)
                origin.call = work.recording->callOf(state.batch, state.command);
            if (origin.hostAddress == 0)
                origin.hostAddress = work.recording->hostAddressOf(state.va);
        }
        AllocationView view;
        if (state.nearest_kind != DRM_VZE_NEAREST_NONE &&
            m_context.lookup(reinterpret_cast<const void*>(state.nearest_addr), view))
            origin.nearest = nearestName(view);
    }
    return faultText(state, origin);
}

bool Queue::lastTouching(uint64_t base, uint64_t size, uint64_t& seqno) {
    if (!m_hasPending.load(std::memory_order_relaxed))
        return false;
    const std::lock_guard lock(m_mutex);
    const uint64_t done = completed();
    for (auto work = m_pending.rbegin(); work != m_pending.rend() && work->number > done; ++work) {
        if (!work->recording->touches(base, size))
            continue;
        seqno = work->seqno;
        return true;
    }
    return false;
}

void Queue::takeFinished(std::vector<std::shared_ptr<Recording>>& finished) {
    const uint64_t done = completed();
    while (!m_pending.empty() && m_pending.front().number <= done) {
        finished.push_back(std::move(m_pending.front().recording));
        m_pending.pop_front();
    }
    m_hasPending.store(!m_pending.empty(), std::memory_order_relaxed);
}

void Queue::release(std::vector<std::shared_ptr<Recording>>& finished) noexcept {
    for (std::shared_ptr<Recording>& recording : finished)
        takeBack(std::move(recording));
    finished.clear();
}

void Queue::takeBack(std::shared_ptr<Recording> recording) noexcept {
    if (recording.use_count() != 1)
        return; // a command list, or a submitter that still reads from it, has it too
    recording->recycle();
    const std::lock_guard lock(m_mutex);
    if (m_spare.size() < m_spare.capacity())
        m_spare.push_back(std::move(recording));
}

void Queue::reap() noexcept {
    if (!m_hasPending.load(std::memory_order_relaxed))
        return;
    try {
        std::vector<std::shared_ptr<Recording>> finished;
        {
            const std::lock_guard lock(m_mutex);
            takeFinished(finished);
        }
        release(finished);
    } catch (const std::bad_alloc&) {
        // The next call lets go of them.
    }
}

std::shared_ptr<Recording> Queue::acquireRecording() {
    {
        const std::lock_guard lock(m_mutex);
        m_spare.reserve(kSpareRecordings);
        if (!m_spare.empty()) {
            std::shared_ptr<Recording> recording = std::move(m_spare.back());
            m_spare.pop_back();
            return recording;
        }
    }
    return std::make_shared<Recording>(m_context);
}

} // namespace vze
