// SPDX-License-Identifier: MIT
#include "core/context.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/log.h"
#include "core/result.h"

namespace vze {

Context::Context(Driver& driver, std::span<Device* const> devices)
    : m_driver(driver), m_devices(devices.begin(), devices.end()),
      m_vms(driver.devices().size(), 0), m_hostArena([this](uint64_t address, uint64_t size) {
          Device& first = *m_devices.front();
          return first.file().mmapVm(vmId(first), reinterpret_cast<void*>(address), size);
      }) {}

ze_result_t Context::create(Driver& driver, std::span<Device* const> devices, Context*& out) {
    std::unique_ptr<Context, void (*)(Context*)> context(new Context(driver, devices),
                                                         [](Context* c) { delete c; });
    if (int error = context->createVms()) {
        if (error == ENOSPC)
            return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                        "every address space of the device is in use");
        return failErrno(error, "VM_CREATE");
    }
    driver.addContext(*context);
    out = context.release();
    return ZE_RESULT_SUCCESS;
}

int Context::createVms() {
    for (Device* device : m_devices)
        if (int error = device->file().createVm(m_vms[device->index()]))
            return error;
    return 0;
}

void Context::destroy() noexcept {
    m_driver.removeContext(*this);
    retire();
    if (m_uses.load(std::memory_order_acquire) > 1)
        freeMemory();
    releaseUse();
}

void Context::releaseUse() noexcept {
    if (m_uses.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
}

// All that the application has in the context. An address that may still be mapped is not given to
// anyone else.
void Context::freeMemory() noexcept {
    returnBorrowed(0, UINT64_MAX, false); // nobody comes to ask for it any more
    {
        std::lock_guard virtualLock(m_virtualMutex);
        for (auto& [start, reservation] : m_reservations.map()) {
            drm_vze_bind_op op{};
            op.op = DRM_VZE_BIND_UNMAP;
            op.range = reservation.size;
            op.addr = start;
            int mapped = 0;
            for (Device* device : m_devices) {
                if (reservation.pieces.empty())
                    break;
                const int error = device->file().bind(vmId(*device), {&op, 1});
                if (error != 0 && error != EIO && error != ENODEV)
                    mapped = error;
            }
            erasePieces(reservation, start, start + reservation.size);
            if (mapped == 0)
                unreserveAddresses(start, reservation.size);
        }
        m_reservations.map().clear();
    }
    std::unordered_map<const void*, std::shared_ptr<PhysicalMemory>> physical;
    {
        std::lock_guard lock(m_mutex);
        physical.swap(m_physical);
    }
    for (auto& [handle, memory] : physical)
        ExportTable::instance().forget(memory->exported());
    for (;;) {
        std::unique_ptr<Allocation> owned;
        {
            std::lock_guard lock(m_mutex);
            if (m_allocations.empty())
                break;
            owned = unpublish(*m_allocations.begin()->first);
        }
        m_driver.returnBorrowed(*this, owned->base, owned->size, false);
        releaseMemory(*owned);
    }
}

// Objects go before address spaces, so that each unbind finds its own; what the arenas reserved
// goes last, when nothing can be mapped there any more.
Context::~Context() {
    freeMemory();
    for (InternalSlab& slab : m_slabs) {
        unbindObjects(slab.gem, slab.base, slab.size);
        closeObjects(slab.gem);
    }
    for (Deferred& deferred : m_deferred)
        for (const Deferred::Done& done : deferred.done)
            done.device->file().destroySyncobj(done.syncobj);
    for (Device* device : m_devices)
        if (uint32_t vm = vmId(*device); vm != 0)
            device->file().destroyVm(vm);
}

bool Context::contains(const Device& device) const noexcept {
    return &device.driver() == &m_driver && m_vms[device.index()] != 0;
}

size_t Context::positionOf(const Device& device) const noexcept {
    return static_cast<size_t>(std::find(m_devices.begin(), m_devices.end(), &device) -
                               m_devices.begin());
}

// ---- objects on all devices

int Context::bindObjects(const GemHandles& gem, uint64_t address, uint64_t size, uint64_t offset,
                         uint32_t flags) {
    for (size_t i = 0; i < gem.size(); ++i) {
        if (gem[i] == 0)
            continue;
        drm_vze_bind_op op{};
        op.op = DRM_VZE_BIND_MAP;
        op.flags = flags;
        op.handle = gem[i];
        op.offset = offset;
        op.range = size;
        op.addr = address;
        if (int error = m_devices[i]->file().bind(vmId(*m_devices[i]), {&op, 1})) {
            GemHandles bound(gem.begin(), gem.begin() + static_cast<std::ptrdiff_t>(i));
            unbindObjects(bound, address, size);
            return error;
        }
    }
    return 0;
}

int Context::unbindObjects(const GemHandles& gem, uint64_t address, uint64_t size) noexcept {
    int result = 0;
    for (size_t i = 0; i < gem.size(); ++i) {
        if (gem[i] == 0)
            continue;
        drm_vze_bind_op op{};
        op.op = DRM_VZE_BIND_UNMAP;
        op.range = size;
        op.addr = address;
        if (int error = m_devices[i]->file().bind(vmId(*m_devices[i]), {&op, 1})) {
            log(LogLevel::Error, "%s: unbinding 0x%llx + 0x%llx: %s", ApiCall::current(),
                static_cast<unsigned long long>(address), static_cast<unsigned long long>(size),
                strerror(error));
            result = error;
        }
    }
    return result;
}

// What goes to other devices of the context only needs no fences on its dma-buf.
int Context::createSystemObjects(uint64_t size, bool exportable, GemHandles& gem) {
    const uint32_t flags = exportable ? 0 : DRM_VZE_GEM_EXPLICIT;
    if (int error =
            m_devices.front()->file().createGem(size, DRM_VZE_PLACEMENT_SYSTEM, flags, gem[0]))
        return error;
    if (int error = spreadSystemObject(0, gem)) {
        closeObjects(gem);
        return error;
    }
    return 0;
}

// Gives the other devices handles of an object that one has: the same pages, by dma-buf.
int Context::spreadSystemObject(size_t from, GemHandles& gem) {
    if (m_devices.size() == 1)
        return 0;
    kmd::UniqueFd fd;
    if (int error = m_devices[from]->file().exportDmaBuf(gem[from], fd))
        return error;
    for (size_t i = 0; i < gem.size(); ++i) {
        if (i == from)
            continue;
        if (int error = m_devices[i]->file().importDmaBuf(fd.get(), gem[i]))
            return error;
    }
    return 0;
}

void Context::closeObjects(GemHandles& gem) noexcept {
    for (size_t i = 0; i < gem.size(); ++i)
        m_devices[i]->file().closeGem(std::exchange(gem[i], 0));
}

} // namespace vze
