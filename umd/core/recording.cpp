// SPDX-License-Identifier: MIT
#include "core/recording.h"

#include <algorithm>
#include <utility>

#include "core/copy_geometry.h"

namespace vze {

namespace {

// A list of a few commands fits into the first chunk; a long one needs few of the others, because
// one job takes at most DRM_VZE_MAX_BATCHES of them.
constexpr size_t kFirstChunk = 4096;
constexpr size_t kChunk = 65536;
constexpr size_t kKeptScratch = 65536;
constexpr size_t kCompactTouched = 64;

} // namespace

Recording::Mark Recording::mark() const noexcept {
    const bool any = !m_chunks.empty();
    return {.chunks = m_chunks.size(),
            .used = any ? m_chunks.back().used : 0,
            .commands = any ? m_chunks.back().commands : 0,
            .calls = any ? m_chunks.back().calls.size() : 0,
            .touched = m_touched.size(),
            .imports = m_imports.size(),
            .events = m_events.size(),
            .scratch = m_scratch.size()};
}

void Recording::rollBack(const Mark& mark) noexcept {
    for (size_t i = std::max<size_t>(mark.chunks, 1); i < m_chunks.size(); i++)
        m_context.freeInternal(m_chunks[i].block);
    if (m_chunks.size() > std::max<size_t>(mark.chunks, 1))
        m_chunks.resize(std::max<size_t>(mark.chunks, 1));
    if (!m_chunks.empty()) {
        Chunk& last = m_chunks.back();
        last.used = mark.used;
        last.commands = static_cast<uint32_t>(mark.commands);
        last.calls.resize(mark.calls);
    }
    m_touched.resize(mark.touched);
    m_imports.resize(mark.imports);
    m_events.resize(mark.events);
    for (size_t i = mark.scratch; i < m_scratch.size(); i++)
        m_context.freeInternal(m_scratch[i]);
    m_scratch.resize(mark.scratch);
}

void Recording::beginCall(const char* name) {
    m_call = name;
}

bool Recording::addChunk(size_t words) {
    const size_t size = std::max(m_chunks.empty() ? kFirstChunk : kChunk, words * 8);
    m_chunks.emplace_back();
    if (m_context.allocInternal(size, m_chunks.back().block) == ZE_RESULT_SUCCESS)
        return true;
    m_chunks.pop_back();
    return false;
}

uint64_t* Recording::reserve(size_t words) {
    if ((m_chunks.empty() || m_chunks.back().block.size - m_chunks.back().used < words * 8) &&
        !addChunk(words))
        return nullptr;
    Chunk& chunk = m_chunks.back();
    if (chunk.calls.empty() || chunk.calls.back().name != m_call)
        chunk.calls.push_back({chunk.commands, m_call});
    auto* out = reinterpret_cast<uint64_t*>(static_cast<std::byte*>(chunk.block.cpu) + chunk.used);
    chunk.used += words * 8;
    chunk.commands++;
    return out;
}

void Recording::touch(uint64_t base, uint64_t size) {
    // Lists use few allocations again and again: looking at the last ones keeps the set small.
    const size_t recent = std::min<size_t>(m_touched.size(), 8);
    for (size_t i = 0; i < recent; i++) {
        const Range& range = m_touched[m_touched.size() - 1 - i];
        if (range.base == base && range.size == size)
            return;
    }
    m_touched.push_back({base, size});
}

bool Recording::touches(uint64_t base, uint64_t size) const noexcept {
    return std::any_of(m_touched.begin(), m_touched.end(), [&](const Range& range) {
        return rangesOverlap(range.base, range.size, base, size);
    });
}

void Recording::announceEvents(const Device& device, uint32_t queueId) const noexcept {
    for (const EventUse& use : m_events) {
        if (use.effect == EventEffect::Signal)
            use.slot.memory->setSignaller(use.slot.index, device, queueId);
        else if (use.effect == EventEffect::Reset)
            use.slot.memory->clearSignaller(use.slot.index);
    }
}

HostVisibleBlock* Recording::scratch(size_t size) {
    HostVisibleBlock& block = m_scratch.emplace_back();
    if (m_spareScratch && m_spareScratch.size >= size) {
        block = std::exchange(m_spareScratch, {});
    } else if (m_context.allocInternal(size, block) != ZE_RESULT_SUCCESS) {
        m_scratch.pop_back();
        return nullptr;
    }
    return &block;
}

void Recording::appendBatches(std::vector<drm_vze_batch>& out) const {
    for (const Chunk& chunk : m_chunks) {
        if (chunk.used != 0)
            out.push_back(
                {.addr = chunk.block.address, .size = static_cast<uint32_t>(chunk.used), .pad = 0});
    }
}

bool Recording::empty() const noexcept {
    return m_chunks.empty() || m_chunks.front().used == 0;
}

const char* Recording::callOf(uint64_t batch, uint32_t command) const noexcept {
    for (const Chunk& chunk : m_chunks) {
        if (chunk.block.address != batch || command >= chunk.commands)
            continue;
        const auto after = std::upper_bound(
            chunk.calls.begin(), chunk.calls.end(), command,
            [](uint32_t wanted, const Call& call) { return wanted < call.firstCommand; });
        return after == chunk.calls.begin() ? nullptr : std::prev(after)->name;
    }
    return nullptr;
}

uint64_t Recording::hostAddressOf(uint64_t deviceAddress) const noexcept {
    for (const TransientImport& import : m_imports) {
        if (const uint64_t host = import.hostAddress(deviceAddress); host != 0)
            return host;
    }
    return 0;
}

void Recording::recycle() noexcept {
    if (m_chunks.size() > 1) {
        for (size_t i = 1; i < m_chunks.size(); i++)
            m_context.freeInternal(m_chunks[i].block);
        m_chunks.resize(1);
    }
    if (!m_chunks.empty()) {
        m_chunks.front().used = 0;
        m_chunks.front().commands = 0;
        m_chunks.front().calls.clear();
    }
    for (HostVisibleBlock& block : m_scratch) {
        if (!m_spareScratch && block.size <= kKeptScratch)
            m_spareScratch = std::exchange(block, {});
        else
            m_context.freeInternal(block);
    }
    m_scratch.clear();
    m_touched.clear();
    m_compactAt = kCompactTouched;
    m_imports.clear();
    m_events.clear();
    m_call = nullptr;
}

void Recording::clear() noexcept {
    recycle();
    for (Chunk& chunk : m_chunks)
        m_context.freeInternal(chunk.block);
    m_chunks.clear();
    if (m_spareScratch)
        m_context.freeInternal(m_spareScratch);
}

} // namespace vze
