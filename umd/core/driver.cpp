// SPDX-License-Identifier: MIT
#include "core/driver.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/context.h"
#include "core/log.h"
#include "core/queue.h"
#include "core/result.h"

namespace vze {

namespace {

std::atomic<Driver*> theDriver{nullptr};
std::mutex initMutex;

bool isSet(const char* name) noexcept {
    const char* value = getenv(name);
    return value != nullptr && strcmp(value, "1") == 0;
}

// ZE_AFFINITY_MASK: a comma-separated list of devices ("0,2"); entries that name a tile ("0.1")
// select none, there are no tiles. Unset or empty: every device.
bool isSelected(size_t index) {
    const char* mask = getenv("ZE_AFFINITY_MASK");
    if (mask == nullptr || *mask == '\0')
        return true;
    const std::string list(mask);
    for (size_t begin = 0; begin <= list.size();) {
        const size_t end = std::min(list.find(',', begin), list.size());
        if (list.compare(begin, end - begin, std::to_string(index)) == 0)
            return true;
        begin = end + 1;
    }
    return false;
}

// Why no device could be opened although none failed.
ze_result_t noDevice(size_t found, bool denied) {
    if (found != 0)
        return fail(ZE_RESULT_ERROR_UNINITIALIZED,
                    "ZE_AFFINITY_MASK=%s selects none of %zu device(s)", getenv("ZE_AFFINITY_MASK"),
                    found);
    if (denied)
        return fail(ZE_RESULT_ERROR_UNINITIALIZED,
                    "this user may not open the render node of any vze device");
    return fail(ZE_RESULT_ERROR_UNINITIALIZED, "there is no vze device");
}

} // namespace

Driver* Driver::instance() noexcept {
    return theDriver.load(std::memory_order_acquire);
}

ze_result_t Driver::init() {
    std::lock_guard lock(initMutex);
    if (instance() != nullptr)
        return ZE_RESULT_SUCCESS;
    std::unique_ptr<Driver> driver;
    const ze_result_t result = open(driver);
    if (result == ZE_RESULT_SUCCESS)
        theDriver.store(driver.release(), std::memory_order_release);
    return result;
}

ze_result_t Driver::open(std::unique_ptr<Driver>& out) {
    std::unique_ptr<Driver> driver(new Driver(isSet("VZE_STRICT_OVERLAP")));
    bool denied = false;
    const std::vector<kmd::NodeInfo> nodes = kmd::DeviceFile::enumerate(denied);
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (!isSelected(i))
            continue;
        std::unique_ptr<kmd::DeviceFile> file;
        int error = kmd::DeviceFile::open(nodes[i], file);
        if (error == EPROTO) {
            result = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE; // the reason has been reported
            continue;
        }
        drm_vze_query_device info{};
        if (error == 0)
            error = file->queryDevice(info);
        if (error != 0) {
            result = fail(resultFromErrno(error), "%s: %s", nodes[i].path.c_str(), strerror(error));
            continue;
        }
        const auto index = static_cast<uint32_t>(driver->m_devices.size());
        driver->m_devices.push_back(
            std::make_unique<Device>(*driver, index, std::move(file), info));
        log(LogLevel::Info, "device %u: %s (%s), %llu MiB", index, driver->m_devices.back()->name(),
            nodes[i].path.c_str(), static_cast<unsigned long long>(info.vram_size >> 20));
    }
    if (driver->m_devices.empty()) {
        if (result == ZE_RESULT_SUCCESS)
            result = noDevice(nodes.size(), denied);
        return result;
    }
    out = std::move(driver);
    return ZE_RESULT_SUCCESS;
}

Device* Driver::findDevice(ze_device_handle_t handle) const noexcept {
    Device* device = Device::from(handle);
    return device != nullptr && &device->driver() == this ? device : nullptr;
}

ze_result_t Driver::defaultContext(Context*& out) {
    std::lock_guard lock(m_defaultMutex);
    if (m_defaultContext == nullptr) {
        std::vector<Device*> all;
        for (const auto& device : m_devices)
            all.push_back(device.get());
        const ze_result_t result = Context::create(*this, all, m_defaultContext);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    out = m_defaultContext;
    return ZE_RESULT_SUCCESS;
}

bool Driver::isDefaultContext(const Context& context) {
    std::lock_guard lock(m_defaultMutex);
    return m_defaultContext == &context;
}

void Driver::addContext(Context& context) {
    std::lock_guard lock(m_mutex);
    m_contexts.push_back(&context);
}

void Driver::removeContext(Context& context) noexcept {
    std::lock_guard lock(m_mutex);
    std::erase(m_contexts, &context);
}

// The lock keeps the contexts, and with them the queues, from going meanwhile.
std::vector<WorkTracker::Job> Driver::jobsTouching(const Context& context, uint64_t base,
                                                   uint64_t size) {
    std::vector<WorkTracker::Job> jobs;
    std::lock_guard lock(m_mutex);
    for (Context* each : m_contexts)
        each->work().jobsTouching(base, size, jobs);
    std::erase_if(jobs,
                  [&](const WorkTracker::Job& job) { return !context.contains(*job.device); });
    return jobs;
}

void Driver::returnBorrowed(const Context& owner, uint64_t base, uint64_t size,
                            bool whenDone) noexcept {
    std::lock_guard lock(m_mutex);
    for (Context* each : m_contexts)
        if (each != &owner)
            each->returnBorrowed(base, size, whenDone);
}

std::unique_ptr<ContextUse> Driver::ownerOf(const void* ptr, AllocationView& view) {
    std::lock_guard lock(m_mutex);
    for (Context* each : m_contexts)
        if (each->lookup(ptr, view))
            return std::make_unique<ContextUse>(*each);
    return nullptr;
}

ze_result_t Driver::synchronize(Device& device) {
    struct Wait {
        std::shared_ptr<Queue> queue;
        uint64_t number;
    };
    // Copied: waiting must keep nobody from making a context.
    std::vector<Wait> waits;
    {
        std::lock_guard lock(m_mutex);
        for (Context* context : m_contexts) {
            if (!context->contains(device))
                continue;
            for (auto& queue : context->work().queuesOf(device)) {
                const uint64_t number = queue->lastSubmitted();
                waits.push_back({std::move(queue), number});
            }
        }
    }
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (const Wait& wait : waits) {
        const ze_result_t one = wait.queue->wait(wait.number, UINT64_MAX);
        if (one != ZE_RESULT_SUCCESS)
            result = one;
    }
    return result;
}

} // namespace vze
