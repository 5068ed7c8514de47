// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include <level_zero/ze_ipc_phys_mem_handle_range_ext.h>
#include <vze/vze_ext.h>

#include "gpu.h"

namespace vze::test {

/** Bytes 0-3 of a handle: what today's clients take for a descriptor. */
inline int32_t descriptorIn(const ze_ipc_mem_handle_t& handle) {
    int32_t fd = -1;
    std::memcpy(&fd, handle.data, sizeof fd);
    return fd;
}

inline void setDescriptor(ze_ipc_mem_handle_t& handle, int32_t fd) {
    std::memcpy(handle.data, &fd, sizeof fd);
}

/** A handle as clients make it that pass the descriptor only. */
inline ze_ipc_mem_handle_t handleOfDescriptor(int32_t fd) {
    ze_ipc_mem_handle_t handle{};
    setDescriptor(handle, fd);
    return handle;
}

inline ze_ipc_phys_mem_handle_range_ext_desc_t rangeDesc(size_t size, const void* next = nullptr) {
    ze_ipc_phys_mem_handle_range_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC;
    desc.pNext = next;
    desc.size = size;
    return desc;
}

/** Exports [pointer, pointer + size). */
inline ze_result_t getRange(ze_context_handle_t context, const void* pointer, size_t size,
                            ze_ipc_mem_handle_t* handle) {
    auto range = rangeDesc(size);
    return zeMemGetIpcHandleWithProperties(context, pointer, &range, handle);
}

/** An extension function by name; a test failure and null when the driver has none. */
template <typename Function>
Function extensionFunction(const char* name) {
    void* function = nullptr;
    EXPECT_OK(zeDriverGetExtensionFunctionAddress(driver(), name, &function)) << name;
    return reinterpret_cast<Function>(function);
}
#define VZE_EXTENSION(name) ::vze::test::extensionFunction<name##_fn>(#name)

/** The identity in a handle. */
inline uint64_t identityOf(ze_context_handle_t context, const ze_ipc_mem_handle_t& handle) {
    uint64_t identity = 0;
    if (auto function = VZE_EXTENSION(zexVzeMemGetIpcIdentity)) {
        EXPECT_OK(function(context, handle, &identity));
    }
    return identity;
}

/** Memory opened from a handle; closed with the object, which must succeed. */
class Opened {
public:
    Opened(ze_context_handle_t context, ze_device_handle_t device,
           const ze_ipc_mem_handle_t& handle)
        : context_(context), result_(zeMemOpenIpcHandle(context, device, handle, 0, &pointer_)) {}
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() { close(); }

    ze_result_t result() const { return result_; }
    void* get() const { return pointer_; }
    uint8_t* bytes() const { return static_cast<uint8_t*>(pointer_); }
    void close() {
        if (result_ == ZE_RESULT_SUCCESS) {
            EXPECT_OK(zeMemCloseIpcHandle(context_, pointer_));
        }
        result_ = ZE_RESULT_ERROR_UNINITIALIZED;
        pointer_ = nullptr;
    }

private:
    ze_context_handle_t context_;
    void* pointer_ = nullptr;
    ze_result_t result_;
};

} // namespace vze::test
