// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi_common.h>

namespace vze {

/// What an API handle points to. Kept in each object so that a handle of the wrong kind, or one
/// that was destroyed, is refused and not dereferenced as something else.
enum class HandleKind : uint32_t {
    Dead = 0,
    Driver = 0x767a6501,
    Device,
    Context,
    CommandQueue,
    CommandList,
    Fence,
    EventPool,
    Event,
    PhysicalMemory,
};

/// The driver's DDI tables, as every handle carries them. Filled once (ddi_handle.cpp).
const ze_handle_t& handleTables() noexcept;

/// First member of every API object. The loader reads the table pointers at offset 0 of each
/// handle, so no class derived from this may have virtual functions or another base before it.
struct HandleHeader {
    ze_handle_t ddi;
    HandleKind kind;
};

/// Base of the API objects: `class Fence : public Handle<Fence, ze_fence_handle_t,
/// HandleKind::Fence>`.
///
/// The handle is the object's address.
template <typename Object, typename ApiHandle, HandleKind kKind>
class Handle : private HandleHeader {
public:
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    /// The object behind a handle; null when the handle is null or not (any more) of this kind.
    static Object* from(ApiHandle handle) noexcept {
        auto* header = reinterpret_cast<const volatile HandleHeader*>(handle);
        if (header == nullptr || header->kind != kKind)
            return nullptr;
        return static_cast<Object*>(reinterpret_cast<Handle*>(handle));
    }

    ApiHandle handle() noexcept { return reinterpret_cast<ApiHandle>(static_cast<Handle*>(this)); }

protected:
    Handle() noexcept : HandleHeader{handleTables(), kKind} {}
    ~Handle() { retire(); }

    /// from() does not know the handle any more, while the object lives on.
    void retire() noexcept { const_cast<volatile HandleKind&>(kind) = HandleKind::Dead; }
};

} // namespace vze
