// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/**
 * @file
 * 64-bit words in guest memory on which programs, other queues and the device synchronise: real
 * atomic operations of the host on memory that is 8-byte aligned. Sequentially consistent, because
 * a signaller stores and then looks for waits, and a waiter announces itself and then loads.
 */
namespace vgpu {

inline std::atomic_ref<uint64_t> semaphore(std::byte* word) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(word));
}

inline uint64_t load_semaphore(std::byte* word) {
    return semaphore(word).load(std::memory_order_seq_cst);
}

inline void store_semaphore(std::byte* word, uint64_t value) {
    semaphore(word).store(value, std::memory_order_seq_cst);
}

inline void add_semaphore(std::byte* word, uint64_t value) {
    semaphore(word).fetch_add(value, std::memory_order_seq_cst);
}

} // namespace vgpu
