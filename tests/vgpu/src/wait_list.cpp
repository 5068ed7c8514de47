// SPDX-License-Identifier: MIT
#include "wait_list.h"

#include "memory_access.h"
#include "semaphore_word.h"

#include <algorithm>

namespace vgpu {

bool wait_fulfilled(uint32_t op, uint64_t word, uint64_t operand) {
    switch (op) {
    case VZE_HW_WAIT_EQ:
        return word == operand;
    case VZE_HW_WAIT_NE:
        return word != operand;
    case VZE_HW_WAIT_GE:
        return word >= operand;
    case VZE_HW_WAIT_GT:
        return word > operand;
    case VZE_HW_WAIT_LE:
        return word <= operand;
    default:
        return word < operand;
    }
}

template <typename Select>
void WaitList::evaluate_if(Select&& select, Engine& engine) {
    std::vector<Woken> woken;

    if (size_.load(std::memory_order_seq_cst) == 0)
        return;
    {
        const std::lock_guard lock(mutex_);
        const auto leaves = [&](Wait& wait) {
            if (!select(wait))
                return false;
            Section section(spaces_, engine, wait.asid);
            const Run word = section.translate(wait.address, sizeof(uint64_t), Access::kRead);
            bool fulfilled = false;
            if (!word.fault) {
                make_plain(section, word);
                fulfilled = wait_fulfilled(wait.op, load_semaphore(word.host), wait.operand);
            }
            wait.host = word.host;
            if (word.fault || fulfilled)
                woken.push_back({wait.queue, wait.park, fulfilled});
            return word.fault || fulfilled;
        };
        waits_.erase(std::remove_if(waits_.begin(), waits_.end(), leaves), waits_.end());
        size_.store(waits_.size(), std::memory_order_seq_cst);
    }
    if (!woken.empty())
        wake_(woken);
}

void WaitList::add(const Wait& wait, Engine& engine) {
    {
        const std::lock_guard lock(mutex_);
        waits_.push_back(wait);
        size_.store(waits_.size(), std::memory_order_seq_cst);
    }
    evaluate_if([&](const Wait& other) { return other.queue == wait.queue; }, engine);
}

void WaitList::remove(const Queue* queue) {
    const std::lock_guard lock(mutex_);

    std::erase_if(waits_, [queue](const Wait& wait) { return wait.queue == queue; });
    size_.store(waits_.size(), std::memory_order_seq_cst);
}

void WaitList::signalled(const std::byte* host, Engine& engine) {
    evaluate_if([host](const Wait& wait) { return wait.host == host; }, engine);
}

void WaitList::evaluate_all(Engine& engine) {
    evaluate_if([](const Wait&) { return true; }, engine);
}

void WaitList::evaluate(uint32_t asid, Engine& engine) {
    evaluate_if([asid](const Wait& wait) { return wait.asid == asid; }, engine);
}

} // namespace vgpu
