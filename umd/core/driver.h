// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/handle.h"
#include "core/work_tracker.h"

namespace vze {

class Context;
class ContextUse;
struct AllocationView;

/// The driver: all devices of the process. Made by the first zeInit that finds a device and never
/// destroyed: applications and layers call into it until the process is gone.
class Driver : public Handle<Driver, ze_driver_handle_t, HandleKind::Driver> {
public:
    /// The driver, or null before a successful init.
    static Driver* instance() noexcept;

    /// Opens the devices that ZE_AFFINITY_MASK selects. UNINITIALIZED when there is none,
    /// DEPENDENCY_UNAVAILABLE when the kernel module has another interface version.
    static ze_result_t init();

    std::span<const std::unique_ptr<Device>> devices() const noexcept { return m_devices; }
    Device* findDevice(ze_device_handle_t handle) const noexcept;

    /// The context of zeDriverGetDefaultContext, with every device; made at the first call.
    ze_result_t defaultContext(Context*& out);
    bool isDefaultContext(const Context& context);

    /// Waits until the work submitted so far to a device, by any context, has ended.
    ze_result_t synchronize(Device& device);

    /// The unfinished work of all contexts that can touch [base, base + size), on the devices of
    /// this context: no two allocations of a process have an address in common.
    std::vector<WorkTracker::Job> jobsTouching(const Context& context, uint64_t base,
                                               uint64_t size);
    /// Context::returnBorrowed() of all contexts but the owner.
    void returnBorrowed(const Context& owner, uint64_t base, uint64_t size, bool whenDone) noexcept;

    /// The context that has memory at an address, kept while the answer lives; null: none.
    std::unique_ptr<ContextUse> ownerOf(const void* ptr, AllocationView& view);

    /// VZE_STRICT_OVERLAP=1: an import that overlaps a live one is refused.
    bool strictOverlap() const noexcept { return m_strictOverlap; }

private:
    friend class Context;

    explicit Driver(bool strictOverlap) : m_strictOverlap(strictOverlap) {}
    static ze_result_t open(std::unique_ptr<Driver>& out);
    void addContext(Context& context);
    void removeContext(Context& context) noexcept;

    std::vector<std::unique_ptr<Device>> m_devices;
    std::mutex m_defaultMutex;
    Context* m_defaultContext = nullptr;
    std::mutex m_mutex; // taken before any context's
    std::vector<Context*> m_contexts;
    const bool m_strictOverlap;
};

} // namespace vze
