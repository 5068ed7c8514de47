// SPDX-License-Identifier: MIT
#include "core/event.h"

#include <algorithm>
#include <cerrno>

#include "core/log.h"
#include "core/queue.h"
#include "core/result.h"
#include "core/word_wait.h"
#include "core/work_tracker.h"

namespace vze {

namespace {

// A sleeper is woken by its own device only. When another device of the context may be the one that
// signals, it looks again after this time.
constexpr int64_t kOtherDeviceNs = 2'000'000;

} // namespace

bool Event::signalled() const noexcept {
    return loadWord(&m_slot.words()->state) == kEventSignalled;
}

ze_result_t Event::hostSignal() {
    storeWord(&m_slot.words()->state, kEventSignalled);
    for (Device* device : context().devices()) {
        if (const int error = device->file().fenceWake(); error != 0)
            return failErrno(error, "FENCE_WAKE");
    }
    return ZE_RESULT_SUCCESS;
}

void Event::hostReset() noexcept {
    m_slot.memory->clearSignaller(m_slot.index);
    storeWord(&m_slot.words()->state, kEventReset);
}

ze_result_t Event::hostWait(uint64_t timeout) {
    const int64_t deadline = timeout == 0 ? 0 : kmd::monotonicDeadline(timeout);
    const std::span<Device* const> devices = context().devices();
    const uint64_t* word = &m_slot.words()->state;
    for (;;) {
        const EventMemory::Signaller signaller = m_slot.memory->signaller(m_slot.index);
        uint32_t queueId = signaller.queueId;
        Device* device = devices.front();
        if (queueId != 0) {
            for (Device* candidate : devices) {
                if (candidate->index() == signaller.device)
                    device = candidate;
            }
        }
        int64_t until = deadline;
        if (devices.size() > 1 && deadline != 0) {
            const int64_t slice = kmd::monotonicNow() + kOtherDeviceNs;
            until = deadline < 0 ? slice : std::min(slice, deadline);
        }
        int error =
            waitForWord(device->file(), word, VZE_HW_WAIT_EQ, kEventSignalled, queueId, until);
        if (error == ENOENT && queueId != 0) {
            // That queue is gone: somebody else may still signal the event.
            m_slot.memory->clearSignaller(m_slot.index);
            continue;
        }
        if (error == 0) {
            context().work().reap();
            return ZE_RESULT_SUCCESS;
        }
        if (error == ETIME) {
            if (until != deadline && (deadline < 0 || kmd::monotonicNow() < deadline))
                continue;
            return ZE_RESULT_NOT_READY;
        }
        if (error == ECANCELED || error == ENODEV || error == EIO) {
            if (const std::shared_ptr<Queue> queue = context().work().find(*device, queueId))
                return queue->failed(error, "FENCE_WAIT");
            return fail(ZE_RESULT_ERROR_DEVICE_LOST, "the device is lost");
        }
        return failErrno(error, "FENCE_WAIT");
    }
}

ze_result_t Event::timestamps(ze_kernel_timestamp_data_t& out) const {
    if (!hasTimestamps())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hEvent: its pool was created without a timestamp flag");
    if (!signalled())
        return ZE_RESULT_NOT_READY;
    out = {.kernelStart = loadWord(&m_slot.words()->start),
           .kernelEnd = loadWord(&m_slot.words()->end)};
    return ZE_RESULT_SUCCESS;
}

ze_result_t toHostTime(Device& device, const ze_kernel_timestamp_data_t& ticks,
                       ze_synchronized_timestamp_data_ext_t& out) {
    drm_vze_query_clock clock = {};
    if (const int error = device.file().queryClock(clock); error != 0)
        return failErrno(error, "QUERY_CLOCK");
    const double nsPerTick = 1e9 / static_cast<double>(device.info().timestamp_hz);
    const auto convert = [&](uint64_t tick) {
        const auto distance = static_cast<int64_t>(tick - clock.device);
        return clock.cpu + static_cast<uint64_t>(
                               static_cast<int64_t>(static_cast<double>(distance) * nsPerTick));
    };
    out = {.kernelStart = convert(ticks.kernelStart), .kernelEnd = convert(ticks.kernelEnd)};
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
