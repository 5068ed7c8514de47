// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include <level_zero/ze_api.h>

namespace vze {

/// Beginning that every extension structure shares.
struct DescriptorHeader {
    ze_structure_type_t stype;
    const void* pNext;
};

/// One structure that a call understands in its chain, and where to store what was found.
struct DescriptorSlot {
    ze_structure_type_t stype;
    const void** found; ///< set to null, then to the structure
};

/// Walks an input chain. The rules for all descriptors:
///
///  - a structure of @p slots is found at any place, among others in any order;
///  - the same structure twice, or one that the driver knows but that does not belong to this call,
///  is
///    INVALID_ARGUMENT; so is a chain of more than 64 structures, which is a cycle in practice;
///  - a structure that the driver has never heard of is skipped.
///
/// Does not report: @p why gets the reason, for the caller's fail().
ze_result_t walkChain(const void* pNext, std::span<const DescriptorSlot> slots,
                      const char*& why) noexcept;

/// walkChain() with the report.
ze_result_t parseChain(const void* pNext, std::initializer_list<DescriptorSlot> slots) noexcept;

/// Whether the driver knows a structure as an input descriptor of some call.
bool isKnownDescriptor(ze_structure_type_t stype) noexcept;

/// Next structure of an output chain (properties), to be filled by stype.
struct PropertyHeader {
    ze_structure_type_t stype;
    void* pNext;
};

/// Calls @p visit for each structure of an output chain; stops after 64, and at the first error.
template <typename Visit>
ze_result_t forEachProperty(void* pNext, Visit&& visit) {
    auto* header = static_cast<PropertyHeader*>(pNext);
    for (unsigned n = 0; header != nullptr && n < 64; ++n) {
        ze_result_t result = visit(*header);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        header = static_cast<PropertyHeader*>(header->pNext);
    }
    return ZE_RESULT_SUCCESS;
}

} // namespace vze
