// SPDX-License-Identifier: MIT
#include "core/access_map.h"

#include <algorithm>
#include <iterator>

#include <drm/vze_drm.h>

namespace vze {

uint32_t bindFlags(ze_memory_access_attribute_t access) noexcept {
    switch (access) {
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE:
        return 0;
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY:
        return DRM_VZE_BIND_READONLY;
    default:
        return DRM_VZE_BIND_NO_ACCESS;
    }
}

void AccessMap::set(uint64_t begin, uint64_t end, ze_memory_access_attribute_t access) {
    auto changed = m_from;
    uint64_t until = 0;
    const ze_memory_access_attribute_t after = at(end, end, until);
    changed.erase(changed.lower_bound(begin), changed.upper_bound(end));
    changed[begin] = access;
    changed[end] = after;
    m_from.swap(changed);
}

ze_memory_access_attribute_t AccessMap::at(uint64_t address, uint64_t end,
                                           uint64_t& until) const noexcept {
    const auto next = m_from.upper_bound(address);
    const auto access = next == m_from.begin() ? m_whole : std::prev(next)->second;
    auto other = next;
    while (other != m_from.end() && other->second == access)
        ++other;
    until = other != m_from.end() ? std::min(other->first, end) : end;
    return access;
}

} // namespace vze
