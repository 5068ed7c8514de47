// SPDX-License-Identifier: MIT
//
// Every kind of free.
//
// Which work can touch an allocation is known from the operands of its commands: what was appended
// with a pointer into it, to any context's list, and submitted. The addresses tell, because no two
// allocations of a process have one in common; memory of the application that is imported or
// copied from and to in several ways counts as one thing.
//
// BLOCKING waits until the last such work of each queue has ended. DEFER leaves that to the kernel:
// it undoes the mapping then, and the mapping holds the only reference to the object, so that
// nothing more has to be done by this process. Each deferred free is by itself, however long others
// wait. Its addresses go back to the arena later, when a call finds that the kernel is done; should
// no call come, they stay reserved, and nothing lies behind them.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"
#include "kmd/fork.h"

namespace vze {

namespace {

unsigned long long asULL(uint64_t value) noexcept {
    return value;
}

std::vector<drm_vze_sync> waitsFor(std::span<const WorkTracker::Job> jobs, const Device& device) {
    std::vector<drm_vze_sync> waits;
    for (const WorkTracker::Job& job : jobs)
        if (job.device == &device)
            waits.push_back({DRM_VZE_SYNC_QUEUE, job.queue, job.seqno});
    return waits;
}

} // namespace

ze_result_t Context::failNotBase(const void* ptr) const {
    AllocationView view;
    if (lookup(ptr, view))
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "ptr: %p is 0x%llx bytes into the allocation at 0x%llx, not its base", ptr,
                    asULL(reinterpret_cast<uintptr_t>(ptr) - view.base), asULL(view.base));
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "ptr: %p is not the base of a live allocation of this context", ptr);
}

ze_result_t Context::free(void* ptr, FreePolicy policy) {
    if (kmd::openedBeforeFork())
        return failErrno(EPERM, "the process was forked after the driver was opened");
    Allocation* allocation = nullptr;
    {
        std::lock_guard lock(m_mutex);
        AddressMap::Record* record = m_map.newestWithBase(reinterpret_cast<uintptr_t>(ptr));
        if (record != nullptr)
            allocation = AddressMap::view(*record).allocation;
        if (allocation != nullptr && allocation->freeing)
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr: %p is being freed", ptr);
        if (allocation != nullptr && (allocation->type == AllocationType::IpcDevice ||
                                      allocation->type == AllocationType::IpcHost))
            return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                        "ptr: %p comes from zeMemOpenIpcHandle, close it with zeMemCloseIpcHandle",
                        ptr);
        if (allocation != nullptr)
            allocation->freeing = true;
    }
    if (allocation == nullptr)
        return failNotBase(ptr);

    const bool import = allocation->type == AllocationType::HostImported;
    std::unique_ptr<Allocation> owned;
    try {
        if (policy == FreePolicy::Deferred && deferFree(*allocation, policy))
            return ZE_RESULT_SUCCESS;
        if (policy == FreePolicy::Blocking)
            waitTouching(allocation->base, allocation->size);
        std::lock_guard lock(m_mutex);
        if (import)
            m_transit.push_back({allocation->base, allocation->size});
        owned = unpublish(*allocation);
    } catch (const std::bad_alloc&) {
        std::lock_guard lock(m_mutex);
        allocation->freeing = false;
        throw;
    }
    m_driver.returnBorrowed(*this, owned->base, owned->size, false);
    releaseMemory(*owned);
    if (import)
        endTransit(owned->base, owned->size);
    return ZE_RESULT_SUCCESS;
}

// Waits until no work that was submitted before the call can touch the range. Work of other queues
// does not delay it; work of a stopped queue has ended.
void Context::waitTouching(uint64_t base, uint64_t size) {
    bool again = true;
    while (again) {
        again = false;
        const std::vector<WorkTracker::Job> jobs = m_driver.jobsTouching(*this, base, size);
        for (Device* device : m_devices) {
            const std::vector<drm_vze_sync> waits = waitsFor(jobs, *device);
            if (waits.empty())
                continue;
            // ENOENT: a queue was destroyed in between, and the others were not waited for.
            again |= device->file().bind(vmId(*device), {}, waits) == ENOENT;
        }
    }
    // What finished work still keeps of the memory goes, too.
    m_work.reap();
}

// waitTouching() where giving up is no choice.
void Context::waitWithoutMemory(uint64_t base, uint64_t size) noexcept {
    for (;;) {
        try {
            waitTouching(base, size);
            return;
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

// ---- deferred free

// Has the kernel unbind the allocation from one device when the jobs have ended. @p done: syncobj
// that is signalled then.
int Context::deferUnbind(const Allocation& allocation, Device& device, uint32_t& done) noexcept {
    drm_vze_bind_op op{};
    op.op = DRM_VZE_BIND_UNMAP;
    op.range = allocation.size;
    op.addr = allocation.base;
    int error = device.file().createSyncobj(done);
    if (error != 0)
        return error;
    try {
        do {
            const auto jobs = m_driver.jobsTouching(*this, allocation.base, allocation.size);
            std::vector<drm_vze_sync> syncs = waitsFor(jobs, device);
            syncs.push_back({DRM_VZE_SYNC_SIGNAL, done, 0});
            error = device.file().bind(vmId(device), {&op, 1}, syncs, DRM_VZE_VM_BIND_DEFER);
            // ENOENT with jobs: a queue was destroyed in between, its work is over.
            if (error == ENOENT && syncs.size() == 1)
                break;
        } while (error == ENOENT);
    } catch (const std::bad_alloc&) {
        error = ENOMEM;
    }
    if (error != 0)
        device.file().destroySyncobj(done);
    return error;
}

// False when it could not be arranged or need not be: @p instead is what the caller does then.
bool Context::deferFree(Allocation& allocation, FreePolicy& instead) {
    instead = FreePolicy::Now;
    if (m_driver.jobsTouching(*this, allocation.base, allocation.size).empty())
        return false;
    instead = FreePolicy::Blocking;

    std::list<Deferred> entry;
    entry.push_back(
        {allocation.type, allocation.base, allocation.size, hasOwnCpuView(allocation), {}});
    std::vector<Deferred::Done>& waiting = entry.front().done;
    waiting.reserve(m_devices.size());
    for (size_t i = 0; i < allocation.gem.size(); ++i) {
        if (allocation.gem[i] == 0)
            continue;
        Deferred::Done done{m_devices[i], 0};
        if (int error = deferUnbind(allocation, *done.device, done.syncobj)) {
            log(LogLevel::Info, "%s: deferred free not possible now: %s", ApiCall::current(),
                strerror(error));
            // What is on its way on other devices needs no more care, but there is no way back:
            // the work is waited for, and then the caller unbinds what is left.
            const bool begun = !waiting.empty();
            for (const Deferred::Done& earlier : waiting)
                earlier.device->file().waitSyncobj(earlier.syncobj, 0, -1);
            for (const Deferred::Done& earlier : waiting)
                earlier.device->file().destroySyncobj(earlier.syncobj);
            if (begun)
                waitWithoutMemory(allocation.base, allocation.size);
            instead = begun ? FreePolicy::Now : FreePolicy::Blocking;
            return false;
        }
        waiting.push_back(done);
    }

    // The CPU has lost the memory with the call, and the arena's view of it is as it was.
    std::unique_ptr<Allocation> owned;
    {
        std::lock_guard lock(m_mutex);
        entry.front().imported = std::move(allocation.imported);
        m_deferred.splice(m_deferred.end(), entry);
        owned = unpublish(allocation);
    }
    m_driver.returnBorrowed(*this, owned->base, owned->size, true);
    closeObjects(owned->gem);
    ExportTable::instance().forget(owned->exported);
    return true;
}

// Takes back the addresses of deferred frees that the kernel has finished. Caller holds m_mutex.
void Context::collectDeferred() noexcept {
    m_sinceCollected = 0;
    for (auto it = m_deferred.begin(); it != m_deferred.end();) {
        const bool finished =
            it->waiters == 0 &&
            std::all_of(it->done.begin(), it->done.end(), [](const Deferred::Done& done) {
                return done.device->file().waitSyncobj(done.syncobj, 0, 0) != ETIME;
            });
        if (!finished) {
            ++it;
            continue;
        }
        for (const Deferred::Done& done : it->done)
            done.device->file().destroySyncobj(done.syncobj);
        bool usable = it->type != AllocationType::HostImported;
        if (usable && it->ownCpuView)
            usable = restoreCpuView(it->base, it->size) == 0;
        if (usable)
            arenaOf(it->type).release(it->base, it->size);
        it = m_deferred.erase(it);
    }
}

// Waits until no deferred free of the range is left: its late unmap would take what is mapped there
// now.
void Context::waitDeferred(uint64_t base, uint64_t size) noexcept {
    auto meets = [&](const Deferred& deferred) {
        return deferred.base < base + size && base < deferred.base + deferred.size;
    };
    std::unique_lock lock(m_mutex);
    for (;;) {
        collectDeferred();
        const auto found = std::find_if(m_deferred.begin(), m_deferred.end(), meets);
        if (found == m_deferred.end())
            return;
        ++found->waiters;
        lock.unlock();
        for (const Deferred::Done& done : found->done)
            done.device->file().waitSyncobj(done.syncobj, 0, -1);
        lock.lock();
        --found->waiters;
    }
}

} // namespace vze
