// SPDX-License-Identifier: MIT
#include "run_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace vgpu::test {
namespace {

class RunQueueTest : public ::testing::Test {
protected:
    RunQueueTest() {
        for (uint32_t i = 0; i < queues.size(); i++)
            queues[i].id = i;
    }
    Queue& with(uint32_t id, uint32_t priority) {
        queues[id].priority = priority;
        return queues[id];
    }
    /** Takes @p turns queues, which go back at once, and names them in their order. */
    std::string take_and_put(uint32_t turns) {
        std::string order;
        for (uint32_t i = 0; i < turns; i++) {
            Queue& queue = ready.take();
            order += static_cast<char>('0' + queue.id);
            ready.push(queue);
        }
        return order;
    }

    std::array<Queue, 6> queues;
    RunQueue ready;
};

TEST_F(RunQueueTest, OnePriorityIsFirstInFirstOut) {
    for (const uint32_t id : {2, 0, 1})
        ready.push(with(id, VZE_HW_PRIORITY_NORMAL));
    EXPECT_EQ(ready.size(), 3u);
    EXPECT_EQ(take_and_put(7), "2012012");
}

TEST_F(RunQueueTest, TheHighestPriorityGoesFirst) {
    ready.push(with(0, VZE_HW_PRIORITY_LOW));
    ready.push(with(1, VZE_HW_PRIORITY_NORMAL));
    ready.push(with(2, VZE_HW_PRIORITY_HIGH));
    ready.push(with(3, VZE_HW_PRIORITY_HIGH));
    for (const uint32_t id : {2, 3, 1, 0})
        EXPECT_EQ(ready.take().id, id);
    EXPECT_TRUE(ready.empty());
}

TEST_F(RunQueueTest, ALowerPriorityGetsATurnAfterSixteen) {
    ready.push(with(1, VZE_HW_PRIORITY_LOW));
    ready.push(with(2, VZE_HW_PRIORITY_HIGH));
    static_assert(VZE_HW_PRIORITY_PATIENCE == 16);
    EXPECT_EQ(take_and_put(35), "2222222222222222"
                                "1"
                                "2222222222222222"
                                "1"
                                "2");
}

TEST_F(RunQueueTest, OfTwoThatWaitedTooLongTheLowerGoesFirst) {
    ready.push(with(0, VZE_HW_PRIORITY_LOW));
    ready.push(with(1, VZE_HW_PRIORITY_NORMAL));
    ready.push(with(2, VZE_HW_PRIORITY_HIGH));
    EXPECT_EQ(take_and_put(19), "2222222222222222"
                                "01"
                                "2");
}

TEST_F(RunQueueTest, WhoComesLateHasNotWaited) {
    ready.push(with(0, VZE_HW_PRIORITY_HIGH));
    take_and_put(100);
    ready.push(with(1, VZE_HW_PRIORITY_LOW));
    EXPECT_EQ(take_and_put(17), "0000000000000000"
                                "1");
}

TEST_F(RunQueueTest, WhatIsRemovedIsNotServed) {
    ready.push(with(0, VZE_HW_PRIORITY_LOW));
    ready.push(with(1, VZE_HW_PRIORITY_HIGH));
    ready.push(with(2, VZE_HW_PRIORITY_HIGH));
    ready.remove(queues[1]);
    EXPECT_EQ(ready.size(), 2u);
    EXPECT_EQ(ready.take().id, 2u);
    ready.remove(queues[0]);
    EXPECT_TRUE(ready.empty());
}

} // namespace
} // namespace vgpu::test
