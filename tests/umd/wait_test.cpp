// SPDX-License-Identifier: MIT
// Waiting on the host: for an event, a fence, a queue, a list. A thread that waits sleeps: of a
// second it may take half for itself and be far from spinning.
#include <atomic>
#include <thread>

#include <time.h>

#include "commands.h"
#include "fixture.h"

using namespace vze::test;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

uint64_t now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

class Waits : public GpuTest {
protected:
    enum Kind { OnEvent, OnFence, OnQueue, OnList, OnDevice, Kinds };

    void SetUp() override {
        GpuTest::SetUp();
        events_ = std::make_unique<Events>(context_, 2);
        ze_event_handle_t go = (*events_)[0];
        queue_ = std::make_unique<Queue>(context_, device_);
        fence_ = std::make_unique<Fence>(*queue_);
        recorded_ = std::make_unique<CommandList>(context_, device_);
        immediate_ = std::make_unique<ImmediateList>(context_, device_);
        EXPECT_OK(zeCommandListAppendBarrier(recorded_->get(), (*events_)[1], 1, &go));
        EXPECT_OK(zeCommandListClose(recorded_->get()));
        EXPECT_OK(queue_->execute(*recorded_, fence_->get()));
        EXPECT_OK(zeCommandListAppendBarrier(immediate_->get(), nullptr, 1, &go));
    }
    void TearDown() override {
        go();
        EXPECT_OK(queue_->wait());
        EXPECT_OK(immediate_->wait());
        fence_.reset();
        queue_.reset();
        recorded_.reset();
        immediate_.reset();
        events_.reset();
        GpuTest::TearDown();
    }

    void go() { EXPECT_OK(zeEventHostSignal((*events_)[0])); }

    ze_result_t wait(int kind, uint64_t timeout) {
        switch (kind) {
        case OnEvent:
            return zeEventHostSynchronize((*events_)[1], timeout);
        case OnFence:
            return zeFenceHostSynchronize(fence_->get(), timeout);
        case OnQueue:
            return zeCommandQueueSynchronize(queue_->get(), timeout);
        case OnList:
            return zeCommandListHostSynchronize(immediate_->get(), timeout);
        default:
            return zeDeviceSynchronize(device_);
        }
    }

    struct Outcome {
        ze_result_t result;
        uint64_t elapsed, cpu;
    };
    /* The wait in a thread of its own, with the time of that thread. */
    void start(int kind, uint64_t timeout, Outcome& out) {
        waiting_++;
        threads_.emplace_back([this, kind, timeout, &out] {
            const uint64_t start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
            out.result = wait(kind, timeout);
            out.cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
            out.elapsed = now(CLOCK_MONOTONIC) - start;
            waiting_--;
        });
    }
    void join() {
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }

    std::atomic<int> waiting_{0};
    std::vector<std::thread> threads_;
    std::unique_ptr<Events> events_;
    std::unique_ptr<Queue> queue_;
    std::unique_ptr<Fence> fence_;
    std::unique_ptr<CommandList> recorded_;
    std::unique_ptr<ImmediateList> immediate_;
};

TEST_F(Waits, SleepUntilTheTimeIsOver) {
    Outcome outcomes[OnDevice] = {}; // that has no time
    for (int kind = 0; kind < OnDevice; kind++)
        start(kind, kSecond, outcomes[kind]);
    join();
    for (int kind = 0; kind < OnDevice; kind++) {
        SCOPED_TRACE(kind);
        EXPECT_EQ(Result{ZE_RESULT_NOT_READY}, Result{outcomes[kind].result});
        EXPECT_LE(kSecond, outcomes[kind].elapsed);
        EXPECT_LT(outcomes[kind].cpu, kSecond / 2);
    }
}

TEST_F(Waits, SleepUntilTheWorkIsDone) {
    Outcome outcomes[Kinds] = {};
    for (int kind = 0; kind < Kinds; kind++)
        start(kind, UINT64_MAX, outcomes[kind]);
    timespec pause{1, 0};
    nanosleep(&pause, nullptr);
    EXPECT_EQ(int{Kinds}, waiting_) << "a wait ended before there was anything to end it";
    go();
    join();
    for (int kind = 0; kind < Kinds; kind++) {
        SCOPED_TRACE(kind);
        EXPECT_EQ(Result{ZE_RESULT_SUCCESS}, Result{outcomes[kind].result});
        EXPECT_LT(outcomes[kind].cpu, kSecond / 2);
    }
}

/* The device is done long before; the event is what only the host can signal. */
TEST_F(Waits, SleepUntilTheHostSignals) {
    Events own(context_, 1);
    uint64_t cpu = 0;
    ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
    std::thread waiter([&] {
        const uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
        result = zeEventHostSynchronize(own[0], UINT64_MAX);
        cpu = now(CLOCK_THREAD_CPUTIME_ID) - before;
    });
    timespec pause{1, 0};
    nanosleep(&pause, nullptr);
    EXPECT_OK(zeEventHostSignal(own[0]));
    waiter.join();
    EXPECT_EQ(Result{ZE_RESULT_SUCCESS}, Result{result});
    EXPECT_LT(cpu, kSecond / 2);
}

} // namespace
