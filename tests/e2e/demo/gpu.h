// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <level_zero/ze_api.h>

#include "vze/vze_ext.h"

namespace vze::demo {

/** The first vze device behind the Level Zero loader, with one context. */
class Gpu {
public:
    Gpu();
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    ze_driver_handle_t driver() const { return driver_; }
    ze_device_handle_t device() const { return device_; }
    ze_context_handle_t context() const { return context_; }

    /** "name, driver library": for the first line. */
    std::string description() const;
    /** The driver's words for this thread's last error. */
    std::string lastError() const;
    /** Throws Failure when the result is not SUCCESS, with the driver's words. */
    void check(ze_result_t result, const char* what) const;

    vze_context_statistics_t statistics() const;

private:
    ze_driver_handle_t driver_ = nullptr;
    ze_device_handle_t device_ = nullptr;
    ze_context_handle_t context_ = nullptr;
    zexVzeContextGetStatistics_fn getStatistics_ = nullptr;
};

/** A queue for copies: an in-order immediate command list. */
class CopyQueue {
public:
    explicit CopyQueue(const Gpu& gpu);
    ~CopyQueue();
    CopyQueue(const CopyQueue&) = delete;
    CopyQueue& operator=(const CopyQueue&) = delete;

    /** Copies and waits; throws Failure. Returns the seconds it took. */
    double copy(void* dst, const void* src, size_t size);
    /** Fills and waits; gives the result of the wait, and what the append answered if it failed. */
    ze_result_t tryFill(void* dst, uint8_t value, size_t size);
    ze_result_t tryCopy(void* dst, const void* src, size_t size);

private:
    ze_result_t wait();

    const Gpu& gpu_;
    ze_command_list_handle_t list_ = nullptr;
};

} // namespace vze::demo
