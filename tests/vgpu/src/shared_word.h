// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

/**
 * @file
 * Access to words that the driver or the guest's programs share with the device.
 *
 * Everything that both sides may touch at the same time goes through these functions, so that the
 * memory order that the hardware manual asks for stands at every use.
 */
namespace vgpu {

template <typename T>
T load_acquire(const T& word) {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}

template <typename T>
T load_relaxed(const T& word) {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
}

template <typename T, typename V>
void store_release(T& word, V value) {
    std::atomic_ref<T>(word).store(static_cast<T>(value), std::memory_order_release);
}

template <typename T, typename V>
void store_relaxed(T& word, V value) {
    std::atomic_ref<T>(word).store(static_cast<T>(value), std::memory_order_relaxed);
}

} // namespace vgpu
