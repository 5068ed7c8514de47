// SPDX-License-Identifier: MIT
#pragma once

#include <drm/vze_hw.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vgpu::test {

/** Builds the commands of a job, as a driver would. */
class Batch {
public:
    Batch& nop() { return header(VZE_HW_CMD_NOP, 1); }
    Batch& barrier() { return header(VZE_HW_CMD_BARRIER, 1); }
    Batch& hang() { return header(VZE_HW_CMD_HANG, 1); }
    Batch& copy(uint64_t dst, uint64_t src, uint64_t size) {
        return header(VZE_HW_CMD_COPY, 4).word(dst).word(src).word(size);
    }
    Batch& fill(uint64_t dst, uint64_t size, std::span<const uint8_t> pattern) {
        const size_t words = (pattern.size() + 7) / 8;
        header(VZE_HW_CMD_FILL, 4 + words).word(dst).word(size).word(pattern.size());
        const size_t at = words_.size();
        words_.resize(at + words);
        std::memcpy(&words_[at], pattern.data(), pattern.size());
        return *this;
    }
    Batch& region(const vze_hw_cmd_copy_region& region) {
        vze_hw_cmd_copy_region copy = region;
        copy.cmd = {VZE_HW_CMD_COPY_REGION, sizeof(copy) / 8, 0};
        const size_t at = words_.size();
        words_.resize(at + sizeof(copy) / 8);
        std::memcpy(&words_[at], &copy, sizeof(copy));
        return *this;
    }
    Batch& signal(uint64_t addr, uint64_t value, uint32_t flags = 0) {
        return header(VZE_HW_CMD_SEM_SIGNAL, 3, flags).word(addr).word(value);
    }
    Batch& add(uint64_t addr, uint64_t value, uint32_t flags = 0) {
        return header(VZE_HW_CMD_ATOMIC_ADD, 3, flags).word(addr).word(value);
    }
    Batch& wait(uint64_t addr, uint32_t op, uint64_t value) {
        return header(VZE_HW_CMD_SEM_WAIT, 3, VZE_HW_CMD_WAIT_OP(op)).word(addr).word(value);
    }
    Batch& timestamp(uint64_t addr, uint32_t flags = 0) {
        return header(VZE_HW_CMD_TIMESTAMP, 2, flags).word(addr);
    }
    Batch& header(uint16_t opcode, size_t len, uint32_t flags = 0) {
        return word(opcode | (uint64_t{len} << 16) | (uint64_t{flags} << 32));
    }
    Batch& word(uint64_t value) {
        words_.push_back(value);
        return *this;
    }

    const std::vector<uint64_t>& words() const { return words_; }
    uint32_t bytes() const { return static_cast<uint32_t>(words_.size() * 8); }

private:
    std::vector<uint64_t> words_;
};

} // namespace vgpu::test
