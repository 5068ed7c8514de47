// SPDX-License-Identifier: MIT
#include "core/event_pool.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "core/event.h"
#include "core/export_table.h"
#include "core/ipc_handle.h"
#include "core/log.h"
#include "core/word_wait.h"

namespace vze {

namespace {

// "VZP2" as a little endian number.
constexpr uint32_t kHandleMagic = 0x32505a56;

/// What the 64 opaque bytes of an event pool handle are. The layout is known to other processes of
/// the same driver only, except for the first bytes: clients that pass handles through sockets
/// take them for a descriptor, send that and put the received one there.
struct PoolHandle {
    int32_t fd; ///< of the share, in the exporter or where the sender put it; -1: none
    uint32_t magic;
    drm_vze_share_token token;
    uint32_t count;
    uint32_t flags;
    uint64_t pad[3];
};
static_assert(sizeof(PoolHandle) == sizeof(ze_ipc_event_pool_handle_t));

// What the share says of the pool: the handle cannot say otherwise, and a descriptor alone is
// enough. The mark is none of an IPC memory handle.
constexpr uint64_t kPoolMark = 0x100;

uint64_t poolUserData(uint32_t count, ze_event_pool_flags_t flags) noexcept {
    return (kPoolMark | flags) << 32 | count;
}

/// Handles of this process, each with the pool's memory that it keeps, in order of their gets.
struct OwnHandle {
    uint64_t id;
    drm_vze_share_token token;
    std::weak_ptr<EventMemory> memory;
};
std::mutex g_handlesMutex;
std::vector<OwnHandle>& ownHandles() {
    // Never destroyed: pools may be put while static objects go.
    static auto* handles = new std::vector<OwnHandle>;
    return *handles;
}

IpcForm decode(const ze_ipc_event_pool_handle_t& bytes, PoolHandle& out) noexcept {
    std::memcpy(&out, bytes.data, sizeof(out));
    if (isOnlyDescriptor(bytes.data))
        return out.fd >= 0 ? IpcForm::Descriptor : IpcForm::Invalid;
    const bool whole = out.magic == kHandleMagic && out.count != 0 && out.flags < kPoolMark &&
                       out.pad[0] == 0 && out.pad[1] == 0 && out.pad[2] == 0;
    return whole ? IpcForm::Whole : IpcForm::Invalid;
}

ze_result_t failHandle() {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "hIpc: not a handle that zeEventPoolGetIpcHandle gave");
}

// The rest of a handle of which only the descriptor came.
ze_result_t completeFromDescriptor(const Context& context, PoolHandle& handle) {
    drm_vze_share_info info{};
    if (context.devices().front()->file().shareInfo(handle.fd, info) != 0 ||
        info.user_data >> 40 != kPoolMark >> 8)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hIpc: %d is no descriptor of an event pool",
                    handle.fd);
    handle.token.id = info.id;
    handle.count = static_cast<uint32_t>(info.user_data);
    handle.flags = static_cast<uint32_t>(info.user_data >> 32 & 0xff);
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t EventPool::create(Context& context, ze_event_pool_flags_t flags, uint32_t count,
                              EventPool*& out) {
    std::shared_ptr<EventMemory> memory;
    const ze_result_t result =
        EventMemory::create(context, count, (flags & ZE_EVENT_POOL_FLAG_IPC) != 0, memory);
    if (result == ZE_RESULT_SUCCESS)
        out = new EventPool(std::move(memory), flags, false);
    return result;
}

ze_result_t EventPool::open(Context& context, const ze_ipc_event_pool_handle_t& handle,
                            EventPool*& out) {
    PoolHandle content;
    const IpcForm form = decode(handle, content);
    if (form == IpcForm::Invalid)
        return failHandle();
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (form == IpcForm::Descriptor &&
        (result = completeFromDescriptor(context, content)) != ZE_RESULT_SUCCESS)
        return result;
    std::shared_ptr<EventMemory> memory;
    result = EventMemory::open(context,
                               {.token = content.token,
                                .fd = content.fd,
                                .userData = poolUserData(content.count, content.flags)},
                               content.count, memory);
    if (result == ZE_RESULT_SUCCESS)
        out = new EventPool(std::move(memory), content.flags, true);
    return result;
}

EventPool::~EventPool() {
    if (m_opened || (m_flags & ZE_EVENT_POOL_FLAG_IPC) == 0)
        return;
    // Handles end with the pool. What other processes have open keeps its memory.
    std::vector<drm_vze_share_token> tokens;
    {
        const std::lock_guard lock(g_handlesMutex);
        std::erase_if(ownHandles(), [&](const OwnHandle& own) {
            const bool mine = own.memory.lock() == m_memory;
            if (mine)
                tokens.push_back(own.token);
            return mine;
        });
    }
    for (const drm_vze_share_token& token : tokens)
        context().unshareInternal(m_memory->block(), token);
}

ze_result_t EventPool::createEvent(const ze_event_desc_t& desc, Event*& out) {
    if (desc.index >= m_memory->count())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "desc->index: %u is not below the pool's count of %u", desc.index,
                    m_memory->count());
    auto event = std::make_unique<Event>(handle(), m_flags, EventSlot{m_memory, desc.index}, desc);
    if (!m_opened) {
        EventWords* words = m_memory->words(desc.index);
        storeWord(&words->start, 0);
        storeWord(&words->end, 0);
        event->hostReset();
    }
    out = event.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::getIpcHandle(ze_ipc_event_pool_handle_t& out) {
    if (m_opened || (m_flags & ZE_EVENT_POOL_FLAG_IPC) == 0)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                    "hEventPool: not created in this process with ZE_EVENT_POOL_FLAG_IPC");
    PoolHandle content = {};
    const ze_result_t result = context().shareInternal(
        m_memory->block(), poolUserData(m_memory->count(), m_flags), content.token);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    content.fd = ExportTable::instance().shareDescriptor(content.token);
    content.magic = kHandleMagic;
    content.count = m_memory->count();
    content.flags = m_flags;
    {
        const std::lock_guard lock(g_handlesMutex);
        ownHandles().push_back({content.token.id, content.token, m_memory});
    }
    std::memcpy(out.data, &content, sizeof(content));
    return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::putIpcHandle(const ze_ipc_event_pool_handle_t& handle) {
    PoolHandle content;
    switch (decode(handle, content)) {
    case IpcForm::Whole:
        break;
    case IpcForm::Descriptor: // of the caller's own: there is nothing to put back
        return ZE_RESULT_SUCCESS;
    case IpcForm::Invalid:
        return failHandle();
    }
    std::shared_ptr<EventMemory> memory;
    {
        const std::lock_guard lock(g_handlesMutex);
        std::vector<OwnHandle>& handles = ownHandles();
        for (auto own = handles.begin(); own != handles.end(); ++own) {
            if (own->id == content.token.id && std::memcmp(own->token.secret, content.token.secret,
                                                           sizeof(content.token.secret)) == 0) {
                memory = own->memory.lock();
                handles.erase(own);
                break;
            }
        }
    }
    return memory == nullptr ? ZE_RESULT_SUCCESS
                             : memory->context().unshareInternal(memory->block(), content.token);
}

} // namespace vze
