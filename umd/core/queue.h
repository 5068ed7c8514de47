// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/recording.h"

namespace vze {

/// A kernel queue and what was submitted to it. Command queues and immediate lists own one each.
///
/// Every submission ends with a command that adds one to the completion word, so that the word
/// counts completed submissions and submission n has completed once the word is at least n.
///
/// Thread-safe. m_mutex protects everything but the completion word; it is held over EXEC, which
/// does not wait for the device, and never while waiting.
class Queue {
public:
    /// @p priority: DRM_VZE_PRIORITY_*.
    static ze_result_t create(Context& context, Device& device, uint32_t priority,
                              std::shared_ptr<Queue>& out);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    Context& context() const noexcept { return m_context; }
    Device& device() const noexcept { return m_device; }
    uint32_t id() const noexcept { return m_id; }

    /// Stops the queue: nothing of it runs afterwards. Work that had not finished is dropped.
    void stop() noexcept;

    /// Runs recordings in order after everything submitted before. @p number: of this submission,
    /// for wait(). DEVICE_LOST when the queue was stopped by a fault or hang. @p counts: the last
    /// recording ends with encodeCount(), which saves the device a batch.
    ze_result_t submit(std::span<const std::shared_ptr<Recording>> recordings, uint64_t& number,
                       bool counts = false);
    /// The command that ends a submission, for a recording that is submitted to this queue once.
    bool encodeCount(CommandEncoder& encoder) const;

    uint64_t lastSubmitted() const noexcept { return m_submitted.load(std::memory_order_acquire); }
    uint64_t completed() const noexcept;
    bool idle() const noexcept { return completed() >= lastSubmitted(); }

    /// Waits for a submission. @p timeout in ns as the API has it: 0 only looks, UINT64_MAX for
    /// ever. SUCCESS, NOT_READY, DEVICE_LOST (with the full reason as the last error's text).
    ze_result_t wait(uint64_t number, uint64_t timeout);

    /// The result for an error that waiting for this queue, or EXEC, gave: DEVICE_LOST with its
    /// reason for ECANCELED and ENODEV.
    ze_result_t failed(int error, const char* step);

    /// Whether unfinished work can touch the range; @p seqno: the kernel's number of the last job
    /// of it, 0 when any job so far may be.
    bool lastTouching(uint64_t base, uint64_t size, uint64_t& seqno);

    /// Lets go of finished work.
    void reap() noexcept;

    /// An empty recording for one submission to this queue; it comes back when that has completed.
    std::shared_ptr<Recording> acquireRecording();
    /// Returns a recording whose submission has completed and that its submitter kept until now.
    void takeBack(std::shared_ptr<Recording> recording) noexcept;

private:
    struct Work {
        uint64_t number;
        std::shared_ptr<Recording> recording;
        uint64_t seqno = 0; // of the submission's last job
    };

    Queue(Context& context, Device& device) noexcept : m_context(context), m_device(device) {}
    /// Moves finished work from m_pending to @p finished. Caller holds m_mutex.
    void takeFinished(std::vector<std::shared_ptr<Recording>>& finished);
    /// Drops recordings, or keeps them for acquireRecording(). Caller holds no lock: it unpins
    /// memory.
    void release(std::vector<std::shared_ptr<Recording>>& finished) noexcept;
    int execAll(const std::vector<drm_vze_batch>& batches, uint64_t& seqno) noexcept;
    std::string describeStop();

    Context& m_context;
    const ContextUse m_use{m_context}; // goes after what is declared below
    Device& m_device;
    uint32_t m_id = 0;
    HostVisibleBlock m_block; // completion word, then the command that counts
    uint64_t m_tailAddress = 0;

    std::mutex m_mutex;
    std::atomic<uint64_t> m_submitted{0};
    std::deque<Work> m_pending;
    std::vector<drm_vze_batch> m_batches; // for one submission at a time
    std::vector<std::shared_ptr<Recording>> m_spare;
    bool m_stopped = false;
    bool m_lost = false;
    std::string m_lostText;
    std::atomic<bool> m_hasPending{false};
};

} // namespace vze
