// SPDX-License-Identifier: MIT
#include "core/command_encoder.h"

#include <cstring>
#include <numeric>
#include <vector>

#include <drm/vze_hw.h>
#include <gtest/gtest.h>

namespace vze {
namespace {

constexpr uint64_t kMax = 4096;

/// Keeps commands apart as the device would find them; stops giving room after a number of them.
class ListSink final : public CommandSink {
public:
    explicit ListSink(size_t limit = SIZE_MAX) : m_limit(limit) {}

    uint64_t* reserve(size_t words) override {
        if (commands.size() == m_limit)
            return nullptr;
        // Old contents must not shine through.
        commands.emplace_back(words, 0xa5a5a5a5a5a5a5a5ULL);
        return commands.back().data();
    }

    template <typename Command>
    Command at(size_t i) const {
        Command command;
        std::memcpy(&command, commands.at(i).data(), sizeof(command));
        EXPECT_EQ(command.cmd.len, commands[i].size());
        return command;
    }

    std::vector<std::vector<uint64_t>> commands;

private:
    const size_t m_limit;
};

TEST(CommandEncoder, CopyIsSplitAtTheLargestTransfer) {
    ListSink sink;
    CommandEncoder encoder(sink, kMax);
    ASSERT_TRUE(encoder.copy(0x10003, 0x20005, 2 * kMax + 1));
    ASSERT_EQ(sink.commands.size(), 3u);
    uint64_t done = 0;
    for (size_t i = 0; i < 3; i++) {
        const auto command = sink.at<vze_hw_cmd_copy>(i);
        EXPECT_EQ(command.cmd.opcode, VZE_HW_CMD_COPY);
        EXPECT_EQ(command.cmd.flags, 0u);
        EXPECT_EQ(command.dst, 0x10003 + done);
        EXPECT_EQ(command.src, 0x20005 + done);
        done += command.size;
    }
    EXPECT_EQ(done, 2 * kMax + 1);
}

TEST(CommandEncoder, NothingForNoBytes) {
    ListSink sink;
    CommandEncoder encoder(sink, kMax);
    const std::byte pattern[1] = {};
    EXPECT_TRUE(encoder.copy(0x1000, 0x2000, 0));
    EXPECT_TRUE(encoder.fill(0x1000, 0, pattern));
    EXPECT_TRUE(encoder.copyRegion({.dst = 1, .src = 2, .width = 0, .height = 4, .depth = 4}));
    EXPECT_TRUE(encoder.copyRegion({.dst = 1, .src = 2, .width = 4, .height = 0, .depth = 4}));
    EXPECT_TRUE(encoder.copyRegion({.dst = 1, .src = 2, .width = 4, .height = 4, .depth = 0}));
    EXPECT_TRUE(sink.commands.empty());
}

TEST(CommandEncoder, FillPiecesStartWithThePattern) {
    for (size_t patternSize : {size_t{1}, size_t{3}, size_t{8}, size_t{100}, size_t{128}}) {
        ListSink sink;
        CommandEncoder encoder(sink, kMax);
        std::vector<std::byte> pattern(patternSize);
        for (size_t i = 0; i < patternSize; i++)
            pattern[i] = static_cast<std::byte>(i + 1);
        const uint64_t size = 3 * kMax + 7;
        ASSERT_TRUE(encoder.fill(0x1000, size, pattern));
        uint64_t done = 0;
        for (size_t i = 0; i < sink.commands.size(); i++) {
            const auto command = sink.at<vze_hw_cmd_fill>(i);
            EXPECT_EQ(command.cmd.opcode, VZE_HW_CMD_FILL);
            EXPECT_EQ(command.pad, 0u);
            EXPECT_EQ(command.pattern_size, patternSize);
            EXPECT_EQ(command.dst, 0x1000 + done);
            EXPECT_EQ(done % patternSize, 0u);
            EXPECT_LE(command.size, kMax);
            const auto* bytes =
                reinterpret_cast<const std::byte*>(sink.commands[i].data()) + sizeof(command);
            EXPECT_EQ(std::memcmp(bytes, pattern.data(), patternSize), 0);
            for (size_t b = patternSize; b < (patternSize + 7) / 8 * 8; b++)
                EXPECT_EQ(bytes[b], std::byte{0}) << "padding of pattern " << patternSize;
            done += command.size;
        }
        EXPECT_EQ(done, size);
    }
}

/// Runs COPY and COPY_REGION commands on a byte array, as the device does.
void run(const ListSink& sink, std::vector<uint8_t>& memory) {
    for (size_t i = 0; i < sink.commands.size(); i++) {
        vze_hw_cmd header;
        std::memcpy(&header, sink.commands[i].data(), sizeof(header));
        if (header.opcode == VZE_HW_CMD_COPY) {
            const auto c = sink.at<vze_hw_cmd_copy>(i);
            ASSERT_GE(c.size, 1u);
            ASSERT_LE(c.size, kMax);
            std::memcpy(memory.data() + c.dst, memory.data() + c.src, c.size);
            continue;
        }
        ASSERT_EQ(header.opcode, VZE_HW_CMD_COPY_REGION);
        const auto c = sink.at<vze_hw_cmd_copy_region>(i);
        ASSERT_EQ(c.pad, 0u);
        ASSERT_LE(c.width * c.height * c.depth, kMax);
        ASSERT_GE(c.width * c.height * c.depth, 1u);
        for (uint32_t z = 0; z < c.depth; z++) {
            for (uint32_t y = 0; y < c.height; y++)
                std::memcpy(memory.data() + c.dst + z * c.dst_slice + y * c.dst_pitch,
                            memory.data() + c.src + z * c.src_slice + y * c.src_pitch, c.width);
        }
    }
}

TEST(CommandEncoder, RegionsOfEveryShapeMoveTheirBytesOnly) {
    struct Shape {
        uint64_t width, height, depth, dstPitch, srcPitch, dstGap, srcGap;
    };
    const Shape shapes[] = {
        {1, 1, 1, 1, 1, 0, 0},          // one byte
        {64, 16, 1, 64, 64, 0, 0},      // 2D without gaps
        {64, 16, 4, 64, 64, 0, 0},      // 3D without gaps
        {64, 16, 4, 80, 64, 0, 0},      // gap on one side
        {64, 16, 4, 64, 64, 32, 0},     // gap between slices
        {5000, 3, 2, 5001, 5003, 7, 9}, // row longer than a transfer
        {4096, 3, 2, 4096, 5000, 0, 0}, // row exactly a transfer
        {700, 20, 3, 701, 703, 5, 0},   // several rows in a transfer
        {30, 10, 40, 31, 30, 3, 0},     // several slices in a transfer
        {1, 300, 30, 2, 1, 0, 0},       // a column
        {4095, 2, 2, 4095, 4095, 1, 1}, // slices that are longer rows
    };
    for (const Shape& s : shapes) {
        SCOPED_TRACE(testing::Message() << s.width << "x" << s.height << "x" << s.depth);
        RegionCopy region;
        region.width = s.width;
        region.height = s.height;
        region.depth = s.depth;
        region.dstPitch = s.dstPitch;
        region.srcPitch = s.srcPitch;
        region.dstSlice = s.dstPitch * s.height + s.dstGap;
        region.srcSlice = s.srcPitch * s.height + s.srcGap;
        region.dst = 11;
        region.src = 11 + region.dstSlice * s.depth + 13;
        std::vector<uint8_t> memory(region.src + region.srcSlice * s.depth + 17);
        for (size_t i = 0; i < memory.size(); i++)
            memory[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
        std::vector<uint8_t> expected = memory;
        for (uint64_t z = 0; z < s.depth; z++) {
            for (uint64_t y = 0; y < s.height; y++)
                std::memcpy(expected.data() + region.dst + z * region.dstSlice +
                                y * region.dstPitch,
                            memory.data() + region.src + z * region.srcSlice + y * region.srcPitch,
                            s.width);
        }
        ListSink sink;
        CommandEncoder encoder(sink, kMax);
        ASSERT_TRUE(encoder.copyRegion(region));
        run(sink, memory);
        EXPECT_TRUE(memory == expected);
    }
}

TEST(CommandEncoder, WordsCarryFlagsAndOperands) {
    ListSink sink;
    CommandEncoder encoder(sink, kMax);
    ASSERT_TRUE(encoder.signal(0x1000, 7, true));
    ASSERT_TRUE(encoder.signal(0x1008, 8, false));
    ASSERT_TRUE(encoder.wait(0x1010, VZE_HW_WAIT_GE, 9));
    ASSERT_TRUE(encoder.atomicAdd(0x1018, 1, true));
    ASSERT_TRUE(encoder.timestamp(0x1020));
    ASSERT_TRUE(encoder.barrier());
    ASSERT_EQ(sink.commands.size(), 6u);

    auto word = sink.at<vze_hw_cmd_sem>(0);
    EXPECT_EQ(word.cmd.opcode, VZE_HW_CMD_SEM_SIGNAL);
    EXPECT_EQ(word.cmd.flags, VZE_HW_CMD_NOTIFY);
    EXPECT_EQ(word.addr, 0x1000u);
    EXPECT_EQ(word.value, 7u);
    EXPECT_EQ(sink.at<vze_hw_cmd_sem>(1).cmd.flags, 0u);
    word = sink.at<vze_hw_cmd_sem>(2);
    EXPECT_EQ(word.cmd.opcode, VZE_HW_CMD_SEM_WAIT);
    EXPECT_EQ(word.cmd.flags, VZE_HW_CMD_WAIT_OP(VZE_HW_WAIT_GE));
    EXPECT_EQ(word.value, 9u);
    EXPECT_EQ(sink.at<vze_hw_cmd_sem>(3).cmd.opcode, VZE_HW_CMD_ATOMIC_ADD);
    EXPECT_EQ(sink.at<vze_hw_cmd_timestamp>(4).addr, 0x1020u);
    EXPECT_EQ(sink.commands[5].size(), 1u);
}

TEST(CommandEncoder, SaysWhenThereIsNoRoom) {
    ListSink sink(2);
    CommandEncoder encoder(sink, kMax);
    EXPECT_FALSE(encoder.copy(0, kMax * 8, kMax * 3));
    EXPECT_FALSE(encoder.signal(0x1000, 1, true));
    EXPECT_FALSE(encoder.barrier());
    EXPECT_EQ(sink.commands.size(), 2u);
}

} // namespace
} // namespace vze
