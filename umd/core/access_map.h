// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>

#include <level_zero/ze_api.h>

namespace vze {

/// DRM_VZE_BIND_* of a mapping with this access.
uint32_t bindFlags(ze_memory_access_attribute_t access) noexcept;

/// The device's access to each page of a range that is mapped as one: what
/// zeVirtualMemSetAccessAttribute made of opened memory. Costs nothing until the first change.
class AccessMap {
public:
    /// @p whole: the access where nothing was set.
    explicit AccessMap(ze_memory_access_attribute_t whole = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
        : m_whole(whole) {}

    /// Changes [begin, end). Throws std::bad_alloc and has then changed nothing.
    void set(uint64_t begin, uint64_t end, ze_memory_access_attribute_t access);

    /// The access at an address; it is the same up to @p until, which is at most @p end.
    ze_memory_access_attribute_t at(uint64_t address, uint64_t end, uint64_t& until) const noexcept;

private:
    ze_memory_access_attribute_t m_whole;
    std::map<uint64_t, ze_memory_access_attribute_t> m_from; // from an address to the next entry's
};

} // namespace vze
