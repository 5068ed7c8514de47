// SPDX-License-Identifier: MIT
#include "core/fault_text.h"

#include <drm/vze_hw.h>
#include <gtest/gtest.h>

namespace vze {
namespace {

drm_vze_queue_state fault() {
    drm_vze_queue_state state = {};
    state.state = DRM_VZE_QUEUE_STATE_FAULTED;
    state.va = 0x7f0000002003;
    state.batch = 0x7e0000000000;
    state.seqno = 12;
    state.command = 5;
    state.opcode = VZE_HW_CMD_COPY;
    state.reason = VZE_HW_FAULT_NOT_PRESENT;
    state.access = VZE_HW_ACCESS_WRITE;
    state.nearest_kind = DRM_VZE_NEAREST_AFTER;
    state.nearest_placement = DRM_VZE_PLACEMENT_USERPTR;
    state.nearest_addr = 0x7f0000000000;
    state.nearest_size = 0x2000;
    state.nearest_distance = 3;
    return state;
}

TEST(FaultText, NamesCallAddressReasonAndNearestAllocation) {
    EXPECT_EQ(
        faultText(fault(), {.call = "zeCommandListAppendMemoryCopy", .nearest = "import 7"}),
        "zeCommandListAppendMemoryCopy: device write fault at 0x7f0000002003: nothing is mapped "
        "there; 3 bytes past import 7 (0x7f0000000000, 8192 bytes); command 5 of batch "
        "0x7e0000000000, job 12");
}

TEST(FaultText, UsesTheKernelsPlacementWhenTheAllocationIsUnknown) {
    drm_vze_queue_state state = fault();
    state.reason = VZE_HW_FAULT_READ_ONLY;
    state.nearest_kind = DRM_VZE_NEAREST_INSIDE;
    state.nearest_distance = 16;
    const std::string text = faultText(state, {});
    EXPECT_NE(text.find("a command of the queue: "), std::string::npos) << text;
    EXPECT_NE(text.find("the device may only read there; byte 16 of an import ("),
              std::string::npos)
        << text;
}

TEST(FaultText, TellsTheHostAddressBehindATemporaryImport) {
    FaultOrigin origin;
    origin.hostAddress = 0x5500000000ff;
    EXPECT_NE(faultText(fault(), origin).find("0x7f0000002003 (host address 0x5500000000ff): "),
              std::string::npos);
}

TEST(FaultText, SaysWhenNothingIsNear) {
    drm_vze_queue_state state = fault();
    state.nearest_kind = DRM_VZE_NEAREST_NONE;
    EXPECT_NE(faultText(state, {}).find("; no mapping is near; command 5"), std::string::npos);
}

TEST(FaultText, HangAndLossAreNoFaults) {
    drm_vze_queue_state state = {};
    state.state = DRM_VZE_QUEUE_STATE_HUNG;
    EXPECT_EQ(faultText(state, {}),
              "a command of the queue: the queue made no progress and was stopped by the watchdog");
    state.state = DRM_VZE_QUEUE_STATE_LOST;
    EXPECT_EQ(faultText(state, {}), "a command of the queue: the device is lost");
}

} // namespace
} // namespace vze
