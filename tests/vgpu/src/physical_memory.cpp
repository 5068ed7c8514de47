// SPDX-License-Identifier: MIT
#include "physical_memory.h"

namespace vgpu {
namespace {

constexpr uint64_t kSplitFrom = 0xb0000000; // 2.75 GiB
constexpr uint64_t kLowWhenSplit = 2ULL << 30;
constexpr uint64_t kHighBase = 4ULL << 30;

std::byte* within(std::span<std::byte> memory, uint64_t offset, uint64_t size) {
    if (offset > memory.size() || size > memory.size() - offset)
        return nullptr;
    return memory.data() + offset;
}

} // namespace

void PhysicalMemory::attach_ram(std::span<std::byte> ram) {
    if (ram.size() < kSplitFrom) {
        low_ = ram;
        high_ = {};
    } else {
        low_ = ram.first(kLowWhenSplit);
        high_ = ram.subspan(kLowWhenSplit);
    }
}

std::byte* PhysicalMemory::ram(uint64_t address, uint64_t size) const {
    if (address >= kHighBase)
        return within(high_, address - kHighBase, size);
    return within(low_, address, size);
}

std::byte* PhysicalMemory::vram(uint64_t offset, uint64_t size) const {
    return within(vram_, offset, size);
}

} // namespace vgpu
