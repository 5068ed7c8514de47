// SPDX-License-Identifier: MIT
#include "core/fault_text.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include <drm/vze_hw.h>

namespace vze {

namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    text += buffer;
}

const char* reasonText(uint32_t reason) noexcept {
    switch (reason) {
    case VZE_HW_FAULT_NOT_PRESENT:
        return "nothing is mapped there";
    case VZE_HW_FAULT_READ_ONLY:
        return "the device may only read there";
    case VZE_HW_FAULT_BAD_PTE:
        return "bad page table entry";
    case VZE_HW_FAULT_NON_CANONICAL:
        return "beyond the device's address width";
    case VZE_HW_FAULT_MALFORMED:
        return "malformed command";
    case VZE_HW_FAULT_UNALIGNED:
        return "not aligned to 8 bytes";
    case VZE_HW_FAULT_TOO_LARGE:
        return "larger than one transfer may be";
    case VZE_HW_FAULT_BAD_RING:
        return "bad ring entry";
    default:
        return "unknown reason";
    }
}

const char* accessText(uint32_t access) noexcept {
    switch (access) {
    case VZE_HW_ACCESS_READ:
        return "read";
    case VZE_HW_ACCESS_WRITE:
        return "write";
    case VZE_HW_ACCESS_FETCH:
        return "command fetch";
    default:
        return "access";
    }
}

const char* placementText(uint32_t placement) noexcept {
    switch (placement) {
    case DRM_VZE_PLACEMENT_VRAM:
        return "device memory";
    case DRM_VZE_PLACEMENT_SYSTEM:
        return "host memory";
    case DRM_VZE_PLACEMENT_USERPTR:
        return "an import";
    case DRM_VZE_PLACEMENT_IMPORTED:
        return "an imported dma-buf";
    case DRM_VZE_PLACEMENT_SHARE:
        return "an opened IPC handle";
    default:
        return "a mapping";
    }
}

void appendNearest(std::string& text, const drm_vze_queue_state& state, const FaultOrigin& origin) {
    const char* name =
        origin.nearest.empty() ? placementText(state.nearest_placement) : origin.nearest.c_str();
    switch (state.nearest_kind) {
    case DRM_VZE_NEAREST_INSIDE:
        append(text, "; byte %" PRIu64 " of ", static_cast<uint64_t>(state.nearest_distance));
        break;
    case DRM_VZE_NEAREST_BEFORE:
        append(text, "; %" PRIu64 " bytes before ", static_cast<uint64_t>(state.nearest_distance));
        break;
    case DRM_VZE_NEAREST_AFTER:
        append(text, "; %" PRIu64 " bytes past ", static_cast<uint64_t>(state.nearest_distance));
        break;
    default:
        text += "; no mapping is near";
        return;
    }
    text += name;
    append(text, " (0x%" PRIx64 ", %" PRIu64 " bytes)", static_cast<uint64_t>(state.nearest_addr),
           static_cast<uint64_t>(state.nearest_size));
}

} // namespace

std::string faultText(const drm_vze_queue_state& state, const FaultOrigin& origin) {
    std::string text = origin.call != nullptr ? origin.call : "a command of the queue";
    switch (state.state) {
    case DRM_VZE_QUEUE_STATE_FAULTED:
        append(text, ": device %s fault at 0x%" PRIx64, accessText(state.access),
               static_cast<uint64_t>(state.va));
        if (origin.hostAddress != 0)
            append(text, " (host address 0x%" PRIx64 ")", origin.hostAddress);
        append(text, ": %s", reasonText(state.reason));
        if (state.reason != VZE_HW_FAULT_MALFORMED && state.reason != VZE_HW_FAULT_BAD_RING)
            appendNearest(text, state, origin);
        append(text, "; command %u of batch 0x%" PRIx64 ", job %" PRIu64, state.command,
               static_cast<uint64_t>(state.batch), static_cast<uint64_t>(state.seqno));
        break;
    case DRM_VZE_QUEUE_STATE_HUNG:
        text += ": the queue made no progress and was stopped by the watchdog";
        break;
    case DRM_VZE_QUEUE_STATE_LOST:
        text += ": the device is lost";
        break;
    default:
        text += ": the queue was stopped";
        break;
    }
    return text;
}

} // namespace vze
