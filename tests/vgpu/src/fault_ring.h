// SPDX-License-Identifier: MIT
#pragma once

#include "bar.h"
#include "event_lines.h"

#include <cstdint>
#include <mutex>

namespace vgpu {

/** Writes fault records for the driver; any thread may report. */
class FaultRing {
public:
    FaultRing(Bar& bar, const EventLines& lines) : bar_(bar), lines_(lines) {}

    /** Puts @p record into the ring, or counts it as dropped when the ring is full. */
    void report(const vze_hw_fault& record, Engine& engine);

private:
    Bar& bar_;
    const EventLines& lines_;
    std::mutex mutex_;
    uint32_t head_ = 0;
    uint64_t dropped_ = 0;
};

} // namespace vgpu
