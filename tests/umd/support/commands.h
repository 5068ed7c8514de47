// SPDX-License-Identifier: MIT
#pragma once

#include "gpu.h"

namespace vze::test {

/** A regular command list; destroyed with the object. */
class CommandList {
public:
    CommandList(ze_context_handle_t context, ze_device_handle_t device, uint32_t flags = 0) {
        ze_command_list_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
        desc.flags = flags;
        EXPECT_OK(zeCommandListCreate(context, device, &desc, &list_));
    }
    ~CommandList() {
        if (list_) {
            EXPECT_OK(zeCommandListDestroy(list_));
        }
    }
    CommandList(const CommandList&) = delete;
    CommandList& operator=(const CommandList&) = delete;

    ze_command_list_handle_t get() const { return list_; }
    ze_command_list_handle_t* address() { return &list_; }

private:
    ze_command_list_handle_t list_ = nullptr;
};

/** A command queue; destroyed with the object. */
class Queue {
public:
    Queue(ze_context_handle_t context, ze_device_handle_t device,
          ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
          ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL) {
        ze_command_queue_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
        desc.mode = mode;
        desc.priority = priority;
        EXPECT_OK(zeCommandQueueCreate(context, device, &desc, &queue_));
    }
    ~Queue() {
        if (queue_) {
            EXPECT_OK(zeCommandQueueDestroy(queue_));
        }
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    ze_command_queue_handle_t get() const { return queue_; }
    ze_result_t execute(CommandList& list, ze_fence_handle_t fence = nullptr) {
        return zeCommandQueueExecuteCommandLists(queue_, 1, list.address(), fence);
    }
    ze_result_t wait(uint64_t timeout = kLongWait) {
        return zeCommandQueueSynchronize(queue_, timeout);
    }

private:
    ze_command_queue_handle_t queue_ = nullptr;
};

/** A fence of a queue; destroyed with the object. */
class Fence {
public:
    explicit Fence(const Queue& queue, uint32_t flags = 0) {
        ze_fence_desc_t desc{};
        desc.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
        desc.flags = flags;
        EXPECT_OK(zeFenceCreate(queue.get(), &desc, &fence_));
    }
    ~Fence() {
        if (fence_) {
            EXPECT_OK(zeFenceDestroy(fence_));
        }
    }
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;
    ze_fence_handle_t get() const { return fence_; }

private:
    ze_fence_handle_t fence_ = nullptr;
};

} // namespace vze::test
