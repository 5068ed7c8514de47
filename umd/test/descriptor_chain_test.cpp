// SPDX-License-Identifier: MIT
#include "core/descriptor_chain.h"

#include <vector>

#include <gtest/gtest.h>

#include "level_zero/ze_ipc_phys_mem_handle_range_ext.h"

using namespace vze;

namespace {

constexpr auto kRelaxed = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
constexpr auto kHints = ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC;
constexpr auto kSysmem = ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC;
constexpr auto kUnheard = static_cast<ze_structure_type_t>(0x00fedcba);

class DescriptorChain : public testing::Test {
protected:
    // A chain of structures of these types.
    const void* chain(std::initializer_list<ze_structure_type_t> types) {
        m_links.assign(types.size(), DescriptorHeader{});
        size_t i = 0;
        for (ze_structure_type_t type : types) {
            m_links[i].stype = type;
            m_links[i].pNext = i + 1 < types.size() ? &m_links[i + 1] : nullptr;
            ++i;
        }
        return m_links.data();
    }

    ze_result_t walk(const void* pNext) {
        const DescriptorSlot slots[] = {{kRelaxed, &m_relaxed}, {kHints, &m_hints}};
        return walkChain(pNext, slots, m_why);
    }

    std::vector<DescriptorHeader> m_links;
    const void* m_relaxed = &m_links;
    const void* m_hints = &m_links;
    const char* m_why = nullptr;
};

TEST_F(DescriptorChain, EmptyClearsSlots) {
    EXPECT_EQ(walk(nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(m_relaxed, nullptr);
    EXPECT_EQ(m_hints, nullptr);
}

TEST_F(DescriptorChain, FoundAtAnyPlaceInAnyOrder) {
    EXPECT_EQ(walk(chain({kUnheard, kHints, kUnheard, kRelaxed})), ZE_RESULT_SUCCESS);
    EXPECT_EQ(m_hints, &m_links[1]);
    EXPECT_EQ(m_relaxed, &m_links[3]);
}

TEST_F(DescriptorChain, UnheardOfIsSkippedAndMayRepeat) {
    EXPECT_EQ(walk(chain({kUnheard, kUnheard})), ZE_RESULT_SUCCESS);
    EXPECT_EQ(m_relaxed, nullptr);
}

TEST_F(DescriptorChain, TwiceTheSame) {
    EXPECT_EQ(walk(chain({kRelaxed, kHints, kRelaxed})), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(m_why, nullptr);
}

TEST_F(DescriptorChain, KnownButOfAnotherCall) {
    EXPECT_EQ(walk(chain({kRelaxed, kSysmem})), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(walk(chain({ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC})),
              ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(DescriptorChain, Cycle) {
    chain({kUnheard, kUnheard});
    m_links[1].pNext = &m_links[0];
    EXPECT_EQ(walk(m_links.data()), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(DescriptorChain, OfThePropertyKindEndsAtACycle) {
    PropertyHeader a{kUnheard, nullptr};
    a.pNext = &a;
    unsigned visits = 0;
    EXPECT_EQ(forEachProperty(&a,
                              [&](PropertyHeader&) {
                                  ++visits;
                                  return ZE_RESULT_SUCCESS;
                              }),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(visits, 64u);
}

} // namespace
