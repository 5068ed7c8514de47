// SPDX-License-Identifier: MIT
#include "test_device.h"

namespace vgpu::test {
namespace {

constexpr uint64_t kVa = 0x2000'0000;
constexpr uint64_t kTwoMiB = 2ULL << 20;

class Strict : public TestDevice {
protected:
    Strict() {
        create_space(1);
        map_data(1);
        queue = &create_queue(0, 1);
        scramble({data(kOld), kTwoMiB}, 1);
        scramble({data(kNew), kTwoMiB}, 2);
        space(1).map(kVa, kDataAt + kOld, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE);
        read_it();
    }

    static constexpr uint64_t kOld = 8ULL << 20;
    static constexpr uint64_t kNew = 12ULL << 20;

    /** Makes the device read the page at @p va into offset 0 of the data. */
    void read_it(uint64_t va = kVa) { run(*queue, Batch().copy(kDataVa, va, VZE_HW_PAGE_SIZE)); }
    bool got(uint64_t offset) { return std::memcmp(data(0), data(offset), VZE_HW_PAGE_SIZE) == 0; }
    uint64_t stale() { return counter(VZE_HW_COUNTER_STALE_USES); }
    void remap() { space(1).map(kVa, kDataAt + kNew, VZE_HW_PAGE_SIZE, VZE_HW_PTE_WRITABLE); }

    DriverQueue* queue = nullptr;
};

TEST_F(Strict, TheTlbKeepsATranslationUntilItIsTold) {
    ASSERT_TRUE(got(kOld));
    const uint64_t misses = counter(VZE_HW_COUNTER_TLB_MISSES);
    read_it();
    // Its ring entry, its batch and both pages: only the batch lies in a page never seen before.
    EXPECT_EQ(counter(VZE_HW_COUNTER_TLB_MISSES), misses + 1);
    change(1, kVa, kVa + VZE_HW_PAGE_SIZE, [this] { remap(); });
    read_it();
    EXPECT_TRUE(got(kNew));
    EXPECT_EQ(stale(), 0u);
    EXPECT_EQ(counter(VZE_HW_COUNTER_TLB_INVALIDATIONS), 1u);
}

TEST_F(Strict, AForgottenInvalidationIsCounted) {
    remap();
    EXPECT_EQ(stale(), 0u);
    read_it();
    EXPECT_TRUE(got(kOld)) << "a TLB that must be told uses what it has";
    EXPECT_GE(stale(), 1u);
}

TEST_F(Strict, AForgottenInvalidationOfARemovedPageIsCounted) {
    space(1).unmap(kVa, VZE_HW_PAGE_SIZE);
    read_it();
    EXPECT_GE(stale(), 1u);
}

TEST_F(Strict, AForgottenWriteProtectionIsCounted) {
    run(*queue, Batch().copy(kVa, kDataVa, 8));
    space(1).map(kVa, kDataAt + kOld, VZE_HW_PAGE_SIZE, 0);
    EXPECT_EQ(stale(), 0u);
    run(*queue, Batch().copy(kVa, kDataVa, 8));
    EXPECT_GE(stale(), 1u);
}

TEST_F(Strict, AWindowWithoutTheInvalidationIsCounted) {
    const uint32_t slot = open_window(1, kVa, kVa + VZE_HW_PAGE_SIZE);
    remap();
    close_window(slot);
    read_it();
    EXPECT_GE(stale(), 1u);
}

TEST_F(Strict, InsideAWindowOldTranslationsAreLegal) {
    const uint32_t slot = open_window(1, kVa, kVa + VZE_HW_PAGE_SIZE);
    remap();
    read_it();
    EXPECT_TRUE(got(kOld));
    EXPECT_EQ(stale(), 0u);
    EXPECT_EQ(control(VZE_HW_CTRL_TLB_INVALIDATE, 1, {kVa, kVa + VZE_HW_PAGE_SIZE, slot}).result,
              VZE_HW_RESULT_OK);
    close_window(slot);
    read_it();
    EXPECT_TRUE(got(kNew));
    EXPECT_EQ(stale(), 0u);
}

TEST_F(Strict, AWindowElsewhereDoesNotExcuse) {
    const uint32_t before = open_window(1, kVa - VZE_HW_PAGE_SIZE, kVa);
    const uint32_t after = open_window(1, kVa + VZE_HW_PAGE_SIZE, kVa + 2 * VZE_HW_PAGE_SIZE);
    const uint32_t other = open_window(2, 0, 1ULL << 48);
    remap();
    read_it();
    EXPECT_GE(stale(), 1u);
    for (const uint32_t slot : {before, after, other})
        close_window(slot);
}

TEST_F(Strict, AbsentToPresentNeedsNoInvalidation) {
    const uint64_t va = kVa + 4 * VZE_HW_PAGE_SIZE;
    submit(*queue, Batch().copy(kDataVa, va, 16));
    EXPECT_EQ(next_fault().reason, static_cast<uint32_t>(VZE_HW_FAULT_NOT_PRESENT));
    control(VZE_HW_CTRL_QUEUE_RESET, queue->id);
    space(1).map(va, kDataAt + kNew, VZE_HW_PAGE_SIZE, 0);
    read_it(va);
    EXPECT_TRUE(got(kNew));
    EXPECT_EQ(stale(), 0u);
}

TEST_F(Strict, SplittingALeafWithAWindowOverThePartThatChangesIsLegal) {
    const uint64_t va = 0x4000'0000;
    const uint64_t memory = kDataAt + (16 << 20);
    scramble({data(16 << 20), kTwoMiB}, 3);
    space(1).map(va, memory, kTwoMiB, VZE_HW_PTE_WRITABLE, 1);
    read_it(va);
    // The 4 KiB leaves are ready before the table takes the place of the 2 MiB leaf.
    const uint64_t table = pages->take();
    for (uint64_t i = 1; i < VZE_HW_ENTRIES; i++)
        store_release(reinterpret_cast<uint64_t*>(ram(table))[i],
                      (memory + i * VZE_HW_PAGE_SIZE) | VZE_HW_PTE_WRITABLE | VZE_HW_PTE_PRESENT);
    const uint32_t slot = open_window(1, va, va + VZE_HW_PAGE_SIZE);
    space(1).set(va, table | VZE_HW_PTE_PRESENT, 1);
    run(*queue, Batch().copy(kDataVa, va, kTwoMiB));
    EXPECT_EQ(stale(), 0u);
    EXPECT_EQ(control(VZE_HW_CTRL_TLB_INVALIDATE, 1, {va, va + VZE_HW_PAGE_SIZE, slot}).result,
              VZE_HW_RESULT_OK);
    close_window(slot);
    read_it(va + VZE_HW_PAGE_SIZE);
    EXPECT_TRUE(got((16 << 20) + VZE_HW_PAGE_SIZE));
    EXPECT_EQ(stale(), 0u);
    submit(*queue, Batch().copy(kDataVa, va, 1));
    EXPECT_EQ(next_fault().va, va);
}

TEST_F(Strict, SplittingALeafWithoutAWindowIsCounted) {
    const uint64_t va = 0x4000'0000;
    space(1).map(va, kDataAt + (16 << 20), kTwoMiB, VZE_HW_PTE_WRITABLE, 1);
    read_it(va);
    const uint64_t table = pages->take();
    for (uint64_t i = 0; i < VZE_HW_ENTRIES; i++)
        store_release(reinterpret_cast<uint64_t*>(ram(table))[i],
                      (kDataAt + (16 << 20) + i * VZE_HW_PAGE_SIZE) | VZE_HW_PTE_WRITABLE |
                          VZE_HW_PTE_PRESENT);
    space(1).set(va, table | VZE_HW_PTE_PRESENT, 1);
    read_it(va);
    EXPECT_GE(stale(), 1u);
}

TEST_F(Strict, TheRingsOfAddressSpace0AreChecked) {
    const uint64_t ring_va = 0x100000; // the first ring of the fixture
    const uint64_t copy = pages->take();
    std::memcpy(ram(copy), ram(queue->ring_gpa), VZE_HW_PAGE_SIZE);
    space(0).map(ring_va, copy, VZE_HW_PAGE_SIZE, 0);
    submit(*queue, Batch().nop());
    EXPECT_TRUE(eventually([this] { return stale() >= 1; }));
}

TEST_F(Strict, DestroyingAnAddressSpaceForgetsItsTranslations) {
    EXPECT_EQ(control(VZE_HW_CTRL_QUEUE_DESTROY, queue->id).result, VZE_HW_RESULT_OK);
    EXPECT_EQ(control(VZE_HW_CTRL_AS_DESTROY, 1).result, VZE_HW_RESULT_OK);
    create_space(1);
    map_data(1);
    space(1).map(kVa, kDataAt + kNew, VZE_HW_PAGE_SIZE, 0);
    queue = &create_queue(0, 1);
    read_it();
    EXPECT_TRUE(got(kNew));
    EXPECT_EQ(stale(), 0u);
}

TEST(NotStrict, TheDeviceUsesWhatItHasAndDoesNotLook) {
    class Plain : public TestDevice {
    public:
        Plain() : TestDevice({.vram_size = kVramSize, .num_queues = 4, .pool_engines = 2}) {}
        void TestBody() override {
            EXPECT_EQ(device->bar().ident().features & VZE_HW_FEATURE_STRICT, 0u);
            create_space(1);
            map_data(1);
            DriverQueue& queue = create_queue(0, 1);
            word(0) = 11;
            word(4096) = 22;
            space(1).map(kVa, kDataAt, VZE_HW_PAGE_SIZE, 0);
            run(queue, Batch().copy(kDataVa + 8192, kVa, 8));
            space(1).map(kVa, kDataAt + 4096, VZE_HW_PAGE_SIZE, 0);
            run(queue, Batch().copy(kDataVa + 8192, kVa, 8));
            EXPECT_EQ(word(8192), 11u);
            EXPECT_EQ(counter(VZE_HW_COUNTER_STALE_USES), 0u);
        }
    };
    Plain().TestBody();
}

} // namespace
} // namespace vgpu::test
