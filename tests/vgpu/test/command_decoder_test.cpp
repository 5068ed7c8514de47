// SPDX-License-Identifier: MIT
#include "batch.h"
#include "command_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

namespace vgpu::test {
namespace {

constexpr uint64_t kMaxTransfer = 16ULL << 20;
constexpr auto kMalformed = static_cast<uint32_t>(VZE_HW_FAULT_MALFORMED);

/** Decodes from a heap block of exactly the command's length, so that a sanitizer sees any overrun.
 */
Decoded decode(const std::vector<uint64_t>& words) {
    const uint32_t length = command_length(words[0], words.size());
    if (length == 0) {
        Decoded malformed;
        malformed.fault = kMalformed;
        return malformed;
    }
    const auto exact = std::make_unique<uint64_t[]>(length);
    std::copy_n(words.begin(), length, exact.get());
    return decode_command({exact.get(), length}, kMaxTransfer);
}

std::vector<Batch> one_of_each() {
    const std::vector<uint8_t> pattern = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    vze_hw_cmd_copy_region region = {};
    region.dst = 1;
    region.src = 2;
    region.width = 3;
    region.height = 4;
    region.depth = 5;
    return {Batch().nop(),          Batch().copy(1, 2, 3), Batch().fill(4, 5, pattern),
            Batch().region(region), Batch().signal(8, 1),  Batch().wait(8, VZE_HW_WAIT_GE, 1),
            Batch().timestamp(16),  Batch().barrier(),     Batch().add(24, 3),
            Batch().hang()};
}

TEST(Decoder, TakesEveryCommand) {
    const std::vector<Batch> all = one_of_each();
    for (size_t opcode = 0; opcode < all.size(); opcode++) {
        const Decoded decoded = decode(all[opcode].words());
        EXPECT_EQ(decoded.fault, 0u) << opcode;
        EXPECT_EQ(decoded.command.opcode, opcode);
        EXPECT_EQ(decoded.command.words, all[opcode].words().size());
    }
}

TEST(Decoder, FieldsOfTransfers) {
    vze_hw_cmd_copy_region region = {};
    region.dst = 0x11;
    region.src = 0x22;
    region.width = 3;
    region.height = 4;
    region.depth = 5;
    region.dst_pitch = 6;
    region.dst_slice = 7;
    region.src_pitch = 8;
    region.src_slice = 9;
    const Command command = decode(Batch().region(region).words()).command;
    EXPECT_EQ(command.dst, 0x11u);
    EXPECT_EQ(command.src, 0x22u);
    EXPECT_EQ(command.size, 60u);
    EXPECT_EQ(command.width, 3u);
    EXPECT_EQ(command.dst_pitch, 6u);
    EXPECT_EQ(command.dst_slice, 7u);
    EXPECT_EQ(command.src_pitch, 8u);
    EXPECT_EQ(command.src_slice, 9u);
    const std::vector<uint8_t> pattern = {9, 8, 7};
    const Command fill = decode(Batch().fill(0x33, 44, pattern).words()).command;
    EXPECT_EQ(fill.dst, 0x33u);
    EXPECT_EQ(fill.size, 44u);
    EXPECT_EQ(fill.pattern_size, 3u);
    EXPECT_EQ(fill.pattern[2], std::byte{7});
}

TEST(Decoder, EveryTruncationIsMalformed) {
    for (const Batch& batch : one_of_each()) {
        for (size_t available = 0; available < batch.words().size(); available++)
            EXPECT_EQ(command_length(batch.words()[0], available), 0u);
    }
}

TEST(Decoder, EveryOtherLengthIsMalformed) {
    for (const Batch& batch : one_of_each()) {
        const auto right = static_cast<uint16_t>(batch.words()[0] >> 16);
        std::vector<uint64_t> words(batch.words());
        words.resize(0x10000);
        for (uint32_t length = 0; length <= 0xffff; length++) {
            if (length == right)
                continue;
            words[0] = (words[0] & ~0xffff0000ULL) | (uint64_t{length} << 16);
            EXPECT_EQ(decode(words).fault, kMalformed) << length;
        }
    }
}

TEST(Decoder, UnknownOpcodesAreMalformed) {
    for (uint32_t opcode = VZE_HW_CMD_HANG + 1; opcode <= 0xffff; opcode++) {
        for (const size_t length : {1, 2, 3, 4, 10}) {
            Batch batch;
            batch.header(static_cast<uint16_t>(opcode), length);
            std::vector<uint64_t> words(batch.words());
            words.resize(length);
            EXPECT_EQ(decode(words).fault, kMalformed);
        }
    }
}

TEST(Decoder, UnknownFlagsAreMalformed) {
    const std::vector<Batch> all = one_of_each();
    for (size_t opcode = 0; opcode < all.size(); opcode++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            std::vector<uint64_t> words(all[opcode].words());
            words[0] ^= 1ULL << (32 + bit);
            const bool notifies = opcode == VZE_HW_CMD_SEM_SIGNAL ||
                                  opcode == VZE_HW_CMD_ATOMIC_ADD || opcode == VZE_HW_CMD_TIMESTAMP;
            const bool waits = opcode == VZE_HW_CMD_SEM_WAIT && bit >= 4 && bit <= 6;
            if ((notifies && bit == 0) || waits)
                continue;
            EXPECT_EQ(decode(words).fault, kMalformed) << opcode << " bit " << bit;
        }
    }
}

TEST(Decoder, WaitComparisonsEndAtLessThan) {
    for (uint32_t op = 0; op < 8; op++) {
        const Decoded decoded = decode(Batch().wait(8, op, 1).words());
        if (op <= VZE_HW_WAIT_LT)
            EXPECT_EQ(decoded.command.wait_op, op);
        else
            EXPECT_EQ(decoded.fault, kMalformed);
    }
}

TEST(Decoder, SizesAndPadding) {
    const std::vector<uint8_t> pattern(3, 1);
    EXPECT_EQ(decode(Batch().copy(0, 0, 0).words()).fault, kMalformed);
    EXPECT_EQ(decode(Batch().copy(0, 0, kMaxTransfer).words()).fault, 0u);
    EXPECT_EQ(decode(Batch().copy(0, 0, kMaxTransfer + 1).words()).fault,
              static_cast<uint32_t>(VZE_HW_FAULT_TOO_LARGE));
    EXPECT_EQ(decode(Batch().fill(0, 0, pattern).words()).fault, kMalformed);
    EXPECT_EQ(decode(Batch().fill(0, kMaxTransfer + 1, pattern).words()).fault,
              static_cast<uint32_t>(VZE_HW_FAULT_TOO_LARGE));

    std::vector<uint64_t> words(Batch().fill(0, 8, pattern).words());
    words[4] |= 1ULL << 24; // the byte behind the pattern
    EXPECT_EQ(decode(words).fault, kMalformed);
    words = Batch().fill(0, 8, pattern).words();
    words[3] |= 1ULL << 32; // vze_hw_cmd_fill.pad
    EXPECT_EQ(decode(words).fault, kMalformed);
    for (const uint64_t size : {uint64_t{0}, uint64_t{9}, uint64_t{129}, uint64_t{0xffffffff}}) {
        words = Batch().fill(0, 8, pattern).words();
        words[3] = size;
        EXPECT_EQ(decode(words).fault, kMalformed) << size;
    }
}

TEST(Decoder, RegionsThatOverflowAreTooLarge) {
    vze_hw_cmd_copy_region region = {};
    const auto fault = [&](uint64_t width, uint32_t height, uint32_t depth) {
        region.width = width;
        region.height = height;
        region.depth = depth;
        return decode(Batch().region(region).words()).fault;
    };
    const auto too_large = static_cast<uint32_t>(VZE_HW_FAULT_TOO_LARGE);

    EXPECT_EQ(fault(0, 1, 1), kMalformed);
    EXPECT_EQ(fault(1, 0, 1), kMalformed);
    EXPECT_EQ(fault(1, 1, 0), kMalformed);
    EXPECT_EQ(fault(kMaxTransfer, 1, 1), 0u);
    EXPECT_EQ(fault(kMaxTransfer / 2, 2, 1), 0u);
    EXPECT_EQ(fault(kMaxTransfer / 2, 3, 1), too_large);
    EXPECT_EQ(fault(UINT64_MAX, 1, 1), too_large);
    EXPECT_EQ(fault(1ULL << 63, 2, 1), too_large);
    EXPECT_EQ(fault(1ULL << 32, 1u << 31, 2), too_large);
    EXPECT_EQ(fault(16, UINT32_MAX, UINT32_MAX), too_large);
    region.pad = 1;
    EXPECT_EQ(fault(1, 1, 1), kMalformed);
}

TEST(Decoder, WordsMustBeAligned) {
    for (uint64_t offset = 1; offset < 8; offset++) {
        for (const Batch& batch :
             {Batch().signal(0x1000 + offset, 1), Batch().add(0x1000 + offset, 1),
              Batch().wait(0x1000 + offset, 0, 1), Batch().timestamp(0x1000 + offset)}) {
            const Decoded decoded = decode(batch.words());
            EXPECT_EQ(decoded.fault, static_cast<uint32_t>(VZE_HW_FAULT_UNALIGNED));
            EXPECT_EQ(decoded.fault_va, 0x1000 + offset);
        }
    }
}

TEST(Decoder, RandomWordsNeverGetThroughUnchecked) {
    std::mt19937_64 random(20);
    uint64_t good = 0;

    for (int round = 0; round < 300000; round++) {
        std::vector<uint64_t> words(1 + random() % 24);
        for (uint64_t& word : words)
            word = random() >> (random() % 64);
        // Most headers would be refused at once; give them a likely opcode and length.
        words[0] = random() % 11 | (random() % 22) << 16 | (random() % 4 == 0 ? 1ULL << 32 : 0);
        const Decoded decoded = decode(words);
        if (decoded.fault != 0)
            continue;
        good++;
        const Command& command = decoded.command;
        EXPECT_LE(command.words, words.size());
        if (command.is_transfer()) {
            EXPECT_GE(command.size, 1u);
            EXPECT_LE(command.size, kMaxTransfer);
        }
        EXPECT_LE(command.pattern_size, static_cast<uint32_t>(VZE_HW_MAX_PATTERN));
        EXPECT_EQ(command.address % 8, 0u);
    }
    EXPECT_GT(good, 1000u);
}

} // namespace
} // namespace vgpu::test
