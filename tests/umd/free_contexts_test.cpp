// SPDX-License-Identifier: MIT
// Free policies where one context's work uses another one's memory, and where contexts end.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "commands.h"
#include "free_policy.h"

using namespace vze::test;

namespace {

class FreeContexts : public FreePolicyTest {};

/* Memory of one context that a list of another copies from. */
TEST_F(FreeContexts, WorkOfAnotherContextCounts) {
    ze_context_handle_t other = makeContext();
    {
        Buffer target = Buffer::device(other, device_, kSize);
        ImmediateList worker(other, device_);
        for (const uint32_t policy : {kBlocking, kDefer}) {
            SCOPED_TRACE(policy);
            Events events(other, 1);
            ze_event_handle_t go = events[0];
            Buffer buffer = make(Device);
            EXPECT_OK(list().fill(buffer.get(), 0x66, kSize));
            const int64_t used = count("vram_used");
            EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(
                worker.get(), target.get(), context_, buffer.get(), kSize, nullptr, 1, &go));
            std::atomic<bool> going{false};
            std::thread later([&] {
                pauseMs(policy == kBlocking ? 200 : 1);
                going = true;
                EXPECT_OK(zeEventHostSignal(go));
            });
            EXPECT_OK(freeExt(buffer.release(), policy));
            if (policy == kBlocking) {
                EXPECT_TRUE(going);
            }
            // DEFER: without another call to either context.
            EXPECT_TRUE(eventually([&] { return count("vram_used") == used - int64_t{kSize}; }));
            later.join();
            EXPECT_OK(worker.wait());
            Buffer host = Buffer::host(other, kSize);
            EXPECT_OK(worker.copy(host.get(), target.get(), kSize));
            EXPECT_EQ(-1, firstDifferent(host.get(), kSize, 0x66));
        }
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* The default policy takes the memory from another context's work, too: at once, and that faults.
 */
TEST_F(FreeContexts, DefaultFreeIsAtOnceForAnotherContext) {
    ze_context_handle_t other = makeContext();
    {
        Buffer target = Buffer::device(other, device_, kSize);
        ImmediateList bystander(other, device_);
        for (const bool host : {false, true}) {
            SCOPED_TRACE(host);
            const char* figure = host ? "objects" : "vram_used";
            EXPECT_OK(bystander.fill(target.get(), 0x11, kSize));
            Events events(other, 1);
            ze_event_handle_t go = events[0];
            const int64_t before = count(figure);
            Buffer buffer = make(host ? Host : Device);
            const int64_t own = count(figure) - before;
            EXPECT_LT(0, own);
            ImmediateList worker(other, device_);
            EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(
                worker.get(), target.get(), context_, buffer.get(), kSize, nullptr, 1, &go));
            const int64_t with = count(figure);
            EXPECT_OK(freeExt(buffer.release(), kNow));
            EXPECT_EQ(with - own, count(figure)) << "without another call, while the work waits";
            EXPECT_OK(zeEventHostSignal(go));
            EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, worker.wait());
            Buffer seen = Buffer::host(other, kSize);
            EXPECT_OK(bystander.copy(seen.get(), target.get(), kSize));
            EXPECT_EQ(-1, firstDifferent(seen.get(), kSize, 0x11)) << "read after the free";
        }
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* A list of another context that was recorded, and perhaps run, holds nothing back either. */
TEST_F(FreeContexts, RecordedListsOfAnotherContextHoldNothingBack) {
    ze_context_handle_t other = makeContext();
    {
        Buffer target = Buffer::device(other, device_, kSize);
        ImmediateList warm(other, device_);
        EXPECT_OK(warm.fill(target.get(), 0x11, kSize));
        for (const uint32_t policy : {kNow, kBlocking, kDefer}) {
            for (const bool runs : {false, true}) {
                SCOPED_TRACE(std::to_string(policy) + (runs ? ", ran" : ", recorded"));
                const int64_t used = count("vram_used");
                Buffer buffer = make(Device);
                CommandList recorded(other, device_);
                Queue queue(other, device_);
                EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(recorded.get(), target.get(),
                                                                   context_, buffer.get(), kSize,
                                                                   nullptr, 0, nullptr));
                EXPECT_OK(zeCommandListClose(recorded.get()));
                if (runs) {
                    EXPECT_OK(queue.execute(recorded));
                    EXPECT_OK(queue.wait());
                }
                EXPECT_OK(freeExt(buffer.release(), policy));
                EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
                EXPECT_OK(queue.execute(recorded));
                EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, queue.wait());
            }
        }
    }
    EXPECT_OK(zeContextDestroy(other));
}

/* So does the end of the context that the memory is of. */
TEST_F(FreeContexts, ContextDestroyedUnderAnotherContextsWork) {
    const int64_t used = count("vram_used");
    ze_context_handle_t own = makeContext();
    {
        Buffer buffer = Buffer::device(own, device_, kSize);
        Events events(context_, 1);
        ze_event_handle_t go = events[0];
        ImmediateList worker(context_, device_);
        EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(
            worker.get(), memory_.get(), own, buffer.release(), kSize, nullptr, 1, &go));
        EXPECT_OK(zeContextDestroy(own));
        EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
        EXPECT_OK(zeEventHostSignal(go));
        EXPECT_ZE(ZE_RESULT_ERROR_DEVICE_LOST, worker.wait());
    }
    EXPECT_EQ(-1, firstDifferent(memory_.get(), kSize, 0));
}

TEST_F(FreeContexts, ContextDestroyedWhileAFreeIsDeferred) {
    const int64_t used = count("vram_used");
    ze_context_handle_t own = makeContext();
    ze_context_handle_t other = makeContext();
    {
        Buffer target = Buffer::device(other, device_, kSize);
        ImmediateList worker(other, device_);
        Events events(other, 1);
        ze_event_handle_t go = events[0];
        Buffer buffer = Buffer::device(own, device_, kSize);
        EXPECT_OK(zeCommandListAppendMemoryCopyFromContext(worker.get(), target.get(), own,
                                                           buffer.get(), kSize, nullptr, 1, &go));
        EXPECT_OK(vze::test::freeExt(own, buffer.release(), kDefer));
        EXPECT_LE(int64_t{kSize}, count("deferred_vram"));
        EXPECT_OK(zeContextDestroy(own));
        EXPECT_LE(int64_t{kSize}, count("deferred_vram"));
        EXPECT_OK(zeEventHostSignal(go));
        EXPECT_TRUE(eventually([&] { return deferred() == 0; }));
        EXPECT_OK(worker.wait());
    }
    EXPECT_OK(zeContextDestroy(other));
    EXPECT_TRUE(eventually([&] { return count("vram_used") == used; }));
}

} // namespace
