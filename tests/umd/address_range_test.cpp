// SPDX-License-Identifier: MIT
// zeMemGetAddressRange, for every kind of allocation and for what is none.
#include <atomic>
#include <cstring>
#include <thread>

#include "fixture.h"

using namespace vze::test;

namespace {

class AddressRange : public GpuTest {};

TEST_F(AddressRange, EveryByteOfEveryKind) {
    Mapping memory = Mapping::anonymous(3 * kPage);
    memory.bytes()[0] = 1;
    std::vector<std::pair<Buffer, size_t>> buffers;
    buffers.emplace_back(Buffer::device(context_, device_, 3 * kPage), 3 * kPage);
    buffers.emplace_back(Buffer::host(context_, 3 * kPage), 3 * kPage);
    buffers.emplace_back(Buffer::shared(context_, device_, 3 * kPage), 3 * kPage);
    buffers.emplace_back(Buffer::import(context_, memory.get(), 3 * kPage), 3 * kPage);
    for (auto& [buffer, wanted] : buffers) {
        ASSERT_TRUE(buffer);
        for (size_t offset : {size_t{0}, size_t{1}, kPage - 1, 2 * kPage, wanted - 1}) {
            void* base = nullptr;
            size_t size = 0;
            EXPECT_OK(zeMemGetAddressRange(context_, buffer.bytes() + offset, &base, &size));
            EXPECT_EQ(buffer.get(), base);
            EXPECT_GE(size, wanted);
            EXPECT_LT(size, wanted + 2 * kMiB);
        }
        // Either answer is optional.
        void* base = nullptr;
        EXPECT_OK(zeMemGetAddressRange(context_, buffer.get(), &base, nullptr));
        EXPECT_EQ(buffer.get(), base);
        size_t size = 0;
        EXPECT_OK(zeMemGetAddressRange(context_, buffer.get(), nullptr, &size));
        EXPECT_GE(size, wanted);
        EXPECT_OK(zeMemGetAddressRange(context_, buffer.get(), nullptr, nullptr));
    }
}

TEST_F(AddressRange, SizeIsWhatWasAskedFor) {
    for (size_t wanted : {size_t{1}, size_t{100}, kPage, kPage + 1}) {
        Buffer buffer = Buffer::device(context_, device_, wanted);
        size_t size = 0;
        EXPECT_OK(zeMemGetAddressRange(context_, buffer.get(), nullptr, &size));
        EXPECT_GE(size, wanted);
        EXPECT_LE(size, (wanted + kPage - 1) & ~(kPage - 1));
    }
}

TEST_F(AddressRange, NotFound) {
    int onStack = 0;
    void* base = nullptr;
    size_t size = 0;
    EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
              zeMemGetAddressRange(context_, &onStack, &base, &size));
    EXPECT_ZE(
        ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
        zeMemGetAddressRange(context_, reinterpret_cast<void*>(uintptr_t{0x1000}), &base, &size));
    EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
              zeMemGetAddressRange(context_, reinterpret_cast<void*>(~uintptr_t{0}), &base, &size));
    Mapping memory = Mapping::anonymous(4 * kPage);
    std::memset(memory.get(), 1, memory.size());
    {
        Buffer import = Buffer::import(context_, memory.bytes() + kPage, 2 * kPage);
        EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
                  zeMemGetAddressRange(context_, memory.bytes() + kPage - 1, &base, &size));
        EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
                  zeMemGetAddressRange(context_, memory.bytes() + 3 * kPage, &base, &size));
    }
    EXPECT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
              zeMemGetAddressRange(context_, memory.bytes() + kPage, &base, &size));
    EXPECT_ZE(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
              zeMemGetAddressRange(context_, nullptr, &base, &size));
}

TEST_F(AddressRange, LookUpsWhileOthersComeAndGo) {
    Buffer steady = Buffer::device(context_, device_, 2 * kPage);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; t++) {
        readers.emplace_back([&] {
            while (!stop) {
                void* base = nullptr;
                size_t size = 0;
                if (zeMemGetAddressRange(context_, steady.bytes() + kPage, &base, &size) !=
                        ZE_RESULT_SUCCESS ||
                    base != steady.get())
                    wrong++;
            }
        });
    }
    for (int i = 0; i < 200; i++) {
        Buffer one = Buffer::host(context_, kPage);
        Buffer two = Buffer::device(context_, device_, kPage);
        void* base = nullptr;
        EXPECT_OK(zeMemGetAddressRange(context_, one.get(), &base, nullptr));
        EXPECT_EQ(one.get(), base);
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(0, wrong);
}

TEST_F(AddressRange, AmongThousandsOfAllocations) {
    constexpr size_t kCount = 2000;
    Mapping memory = Mapping::anonymous(kCount * 2 * kPage);
    std::memset(memory.get(), 1, memory.size());
    std::vector<Buffer> imports;
    for (size_t i = 0; i < kCount; i++)
        imports.push_back(Buffer::import(context_, memory.bytes() + i * 2 * kPage, kPage));
    for (size_t i = 0; i < kCount; i++) {
        void* base = nullptr;
        size_t size = 0;
        uint8_t* start = memory.bytes() + i * 2 * kPage;
        ASSERT_OK(zeMemGetAddressRange(context_, start + 77, &base, &size));
        ASSERT_EQ(start, base);
        ASSERT_EQ(kPage, size);
        ASSERT_ZE(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
                  zeMemGetAddressRange(context_, start + kPage, &base, &size));
    }
}

} // namespace
