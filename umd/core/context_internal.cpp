// SPDX-License-Identifier: MIT
//
// The driver's own memory: command buffers and event words.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/context.h"
#include "core/log.h"
#include "core/result.h"

namespace vze {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBlockAlignment = 64;
constexpr uint64_t kSlabSize = 1ULL << 20;

constexpr uint64_t roundUp(uint64_t value, uint64_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
}

void join(std::map<uint64_t, uint64_t>& pieces, uint64_t start, uint64_t size) {
    auto after = pieces.lower_bound(start);
    if (after != pieces.end() && after->first == start + size) {
        size += after->second;
        after = pieces.erase(after);
    }
    if (after != pieces.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == start) {
            before->second += size;
            return;
        }
    }
    pieces.emplace(start, size);
}

} // namespace

// A new slab, bound everywhere and visible to the CPU; not yet in the list.
ze_result_t Context::createSlab(uint64_t size, bool dedicated, std::list<InternalSlab>& out) {
    out.emplace_back();
    InternalSlab& slab = out.back();
    slab.size = size;
    slab.dedicated = dedicated;
    slab.gem = noHandles();
    if (int error = createSystemObjects(size, false, slab.gem))
        return failMemory(error, nullptr, size);
    return bindSlab(slab);
}

// Gives a slab with objects its address; closes the objects on failure.
ze_result_t Context::bindSlab(InternalSlab& slab) {
    int error = takeAddresses(AllocationType::Host, slab.size, kPage, slab.base);
    if (error == 0) {
        error = bindObjects(slab.gem, slab.base, slab.size, 0, 0);
        if (error == 0)
            return ZE_RESULT_SUCCESS;
        giveAddresses(AllocationType::Host, slab.base, slab.size);
    }
    closeObjects(slab.gem);
    return failMemory(error, nullptr, slab.size);
}

void Context::dropSlab(InternalSlab& slab) noexcept {
    const int error = unbindObjects(slab.gem, slab.base, slab.size);
    ExportTable::instance().forget(slab.exported);
    closeObjects(slab.gem);
    if (error == 0)
        giveAddresses(AllocationType::Host, slab.base, slab.size);
}

ze_result_t Context::allocInternal(size_t size, HostVisibleBlock& out, bool dedicated) {
    const uint64_t length = roundUp(std::max<size_t>(size, 1), dedicated ? kPage : kBlockAlignment);
    auto cut = [&](InternalSlab& slab) {
        for (auto it = slab.free.begin(); it != slab.free.end(); ++it) {
            if (it->second < length)
                continue;
            const uint64_t start = it->first;
            if (it->second > length)
                slab.free.emplace(start + length, it->second - length);
            slab.free.erase(start);
            slab.used += length;
            out.cpu = reinterpret_cast<void*>(start);
            out.address = start;
            out.size = length;
            out.slab = &slab;
            return true;
        }
        return false;
    };
    auto zeroed = [&] {
        memset(out.cpu, 0, out.size);
        return ZE_RESULT_SUCCESS;
    };
    if (!dedicated) {
        std::lock_guard lock(m_mutex);
        for (InternalSlab& slab : m_slabs)
            if (!slab.dedicated && cut(slab))
                return zeroed();
    }
    std::list<InternalSlab> fresh;
    const uint64_t slabSize = dedicated ? length : std::max(kSlabSize, roundUp(length, kPage));
    const ze_result_t result = createSlab(slabSize, dedicated, fresh);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    fresh.back().free.emplace(fresh.back().base, slabSize);
    std::lock_guard lock(m_mutex);
    m_slabs.splice(m_slabs.begin(), fresh);
    cut(m_slabs.front());
    return ZE_RESULT_SUCCESS; // a new object is zero
}

void Context::freeInternal(HostVisibleBlock& block) noexcept {
    if (!block)
        return;
    std::list<InternalSlab> unused;
    {
        std::lock_guard lock(m_mutex);
        InternalSlab& slab = *block.slab;
        slab.used -= block.size;
        try {
            join(slab.free, block.address, block.size);
        } catch (const std::bad_alloc&) {
            // Lost until the slab goes.
        }
        // One empty slab stays for the next allocation.
        const bool spare = std::any_of(m_slabs.begin(), m_slabs.end(), [&](const InternalSlab& s) {
            return &s != &slab && !s.dedicated && s.used == 0;
        });
        if (slab.used == 0 && (slab.dedicated || spare)) {
            auto it = std::find_if(m_slabs.begin(), m_slabs.end(),
                                   [&](const InternalSlab& s) { return &s == &slab; });
            unused.splice(unused.begin(), m_slabs, it);
        }
    }
    for (InternalSlab& slab : unused)
        dropSlab(slab);
    block = {};
}

// ---- blocks of several processes

ze_result_t Context::shareInternal(const HostVisibleBlock& block, uint64_t userData,
                                   drm_vze_share_token& token) {
    if (block.slab == nullptr || !block.slab->dedicated)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory was not made to be shared");
    Device& device = *m_devices.front();
    drm_vze_share_create args{};
    args.handle = block.slab->gem[0];
    args.user_data = userData;
    if (int error = device.file().createShare(args))
        return failErrno(error, "SHARE_CREATE");
    token = args.token;
    ExportTable::instance().countGet(token.id, device);
    block.slab->exported.share = token.id;
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::unshareInternal(const HostVisibleBlock&, const drm_vze_share_token& token) {
    ExportTable::instance().put(token.id);
    return ZE_RESULT_SUCCESS;
}

ze_result_t Context::openInternal(const SharedBlock& shared, HostVisibleBlock& out) {
    std::list<InternalSlab> fresh;
    fresh.emplace_back();
    InternalSlab& slab = fresh.back();
    slab.size = roundUp(std::max<size_t>(shared.size, 1), kPage);
    slab.dedicated = true;
    slab.gem = noHandles();
    // The share is of one device; the others get the same pages by dma-buf.
    drm_vze_share_open args{};
    size_t home = 0;
    auto open = [&](bool byDescriptor) {
        int error = EXDEV;
        for (size_t i = 0; i < m_devices.size() && error == EXDEV; ++i) {
            args = {};
            args.token = shared.token;
            if (byDescriptor)
                kmd::openByDescriptor(args, shared.fd);
            error = m_devices[i]->file().openShare(args);
            home = i;
        }
        return error;
    };
    constexpr drm_vze_share_token kNothing{};
    const bool onlyDescriptor =
        memcmp(shared.token.secret, kNothing.secret, sizeof(kNothing.secret)) == 0;
    int error = open(onlyDescriptor);
    // The number may name anything in this process: then the first answer stands.
    if (error == EACCES && !onlyDescriptor && shared.fd >= 0 && open(true) == 0)
        error = 0;
    if (error == EACCES)
        return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "the handle is of another user");
    if (error == ENOENT || error == EXDEV || error == EBADF || error == EINVAL)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "the handle is of nothing that exists (any more)");
    if (error != 0)
        return failErrno(error, "SHARE_OPEN");
    slab.gem[home] = args.handle;
    if (args.size != slab.size || args.user_data != shared.userData) {
        closeObjects(slab.gem);
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is damaged");
    }
    error = spreadSystemObject(home, slab.gem);
    if (error != 0) {
        closeObjects(slab.gem);
        return failErrno(error, "dma-buf");
    }
    const ze_result_t result = bindSlab(slab);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    slab.used = slab.size;
    out.cpu = reinterpret_cast<void*>(slab.base);
    out.address = slab.base;
    out.size = slab.size;
    out.slab = &slab;
    std::lock_guard lock(m_mutex);
    m_slabs.splice(m_slabs.begin(), fresh);
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
