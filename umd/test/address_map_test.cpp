// SPDX-License-Identifier: MIT
#include "core/address_map.h"

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

using namespace vze;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMiB = 1ULL << 20;
constexpr uint64_t kGiB = 1ULL << 30;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kMany = 20000;
constexpr int kStressRounds = 4000;
#else
constexpr size_t kMany = 1000000;
constexpr int kStressRounds = 40000;
#endif

AllocationView make(uint64_t base, uint64_t size, uint64_t id) {
    AllocationView view;
    view.base = base;
    view.size = size;
    view.id = id;
    view.type = AllocationType::HostImported;
    view.device = static_cast<uint32_t>(id % 7);
    view.readOnly = id % 2 != 0;
    view.allocation = reinterpret_cast<Allocation*>(id << 4);
    return view;
}

uint64_t idAt(const AddressMap& map, uint64_t address) {
    AllocationView view;
    return map.find(address, view) ? view.id : 0;
}

TEST(AddressMap, Empty) {
    AddressMap map;
    EXPECT_EQ(idAt(map, 0), 0u);
    EXPECT_EQ(idAt(map, 0x7fffdeadb000), 0u);
    EXPECT_EQ(idAt(map, UINT64_MAX), 0u);
    EXPECT_FALSE(map.overlaps(0, 1ULL << 47));
    EXPECT_EQ(map.newestWithBase(0x1000), nullptr);
}

TEST(AddressMap, WholeViewComesBack) {
    AddressMap map;
    const AllocationView in = make(0x7f0000001000, 3 * kPage, 9);
    AddressMap::Record* record = map.insert(in);
    AllocationView out;
    ASSERT_TRUE(map.find(0x7f0000002abc, out));
    EXPECT_EQ(out.base, in.base);
    EXPECT_EQ(out.size, in.size);
    EXPECT_EQ(out.id, in.id);
    EXPECT_EQ(out.type, in.type);
    EXPECT_EQ(out.device, in.device);
    EXPECT_EQ(out.readOnly, in.readOnly);
    EXPECT_EQ(out.allocation, in.allocation);
    EXPECT_EQ(idAt(map, in.base - 1), 0u);
    EXPECT_EQ(idAt(map, in.base + in.size), 0u);
    EXPECT_EQ(map.newestWithBase(in.base), record);
    EXPECT_EQ(map.newestWithBase(in.base + kPage), nullptr);
    map.erase(record);
    EXPECT_EQ(idAt(map, in.base), 0u);
}

// Sizes and alignments on both sides of every level's page size.
TEST(AddressMap, EdgesOfLargePages) {
    const uint64_t anchors[] = {0x7f0000000000, 0x7f0000000000 + 2 * kMiB, 0x7e8040201000,
                                512 * kGiB};
    const uint64_t sizes[] = {kPage, 2 * kMiB - kPage, 2 * kMiB, 2 * kMiB + kPage, kGiB - kPage,
                              kGiB,  kGiB + kPage,     6 * kGiB, 513 * kGiB};
    for (uint64_t anchor : anchors) {
        for (uint64_t size : sizes) {
            for (uint64_t shift : {uint64_t{0}, kPage, 2 * kMiB - kPage}) {
                AddressMap map;
                const uint64_t base = anchor + shift;
                AddressMap::Record* record = map.insert(make(base, size, 5));
                EXPECT_EQ(idAt(map, base - 1), 0u);
                EXPECT_EQ(idAt(map, base), 5u);
                EXPECT_EQ(idAt(map, base + size / 2), 5u);
                EXPECT_EQ(idAt(map, base + size - 1), 5u);
                EXPECT_EQ(idAt(map, base + size), 0u);
                EXPECT_TRUE(map.overlaps(base + size - kPage, kPage));
                EXPECT_FALSE(map.overlaps(base + size, kPage));
                EXPECT_FALSE(map.overlaps(base - kPage, kPage));
                map.erase(record);
                EXPECT_FALSE(map.overlaps(base, size));
            }
        }
    }
}

TEST(AddressMap, TopOfAddressSpace) {
    AddressMap map;
    const uint64_t base = (1ULL << 47) - kPage;
    map.insert(make(base, kPage, 3));
    EXPECT_EQ(idAt(map, (1ULL << 47) - 1), 3u);
    EXPECT_EQ(idAt(map, 1ULL << 47), 0u);
}

// Overlapping allocations against a plain model: the newest live one answers for each page.
TEST(AddressMap, OverlapsLikeTheModel) {
    AddressMap map;
    constexpr uint64_t kBase = 0x7f1000000000;
    constexpr uint64_t kPages = 1536; // three large pages
    std::mt19937 random(7);
    struct Entry {
        uint64_t first, count;
        AddressMap::Record* record;
    };
    std::map<uint64_t, Entry> live; // by id: oldest first
    uint64_t nextId = 1;
    for (int round = 0; round < 600; ++round) {
        if (live.size() < 12 && random() % 2 == 0) {
            const uint64_t first = random() % kPages;
            const uint64_t count = 1 + random() % (kPages - first);
            const auto view = make(kBase + first * kPage, count * kPage, nextId);
            live[nextId] = {first, count, map.insert(view)};
            nextId++;
        } else if (!live.empty()) {
            auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
            map.erase(it->second.record);
            live.erase(it);
        }
        for (uint64_t page = 0; page < kPages; page += 1 + random() % 7) {
            uint64_t expected = 0;
            for (const auto& [id, entry] : live)
                if (page >= entry.first && page < entry.first + entry.count)
                    expected = id;
            ASSERT_EQ(idAt(map, kBase + page * kPage + 5), expected) << round << " " << page;
            AddressMap::Record* newest = nullptr;
            for (const auto& [id, entry] : live)
                if (entry.first == page)
                    newest = entry.record;
            ASSERT_EQ(map.newestWithBase(kBase + page * kPage), newest);
        }
    }
}

TEST(AddressMap, SameRangeTwiceIsFreedNewestFirst) {
    AddressMap map;
    AddressMap::Record* first = map.insert(make(0x10000, kPage, 1));
    AddressMap::Record* second = map.insert(make(0x10000, kPage, 2));
    EXPECT_EQ(idAt(map, 0x10000), 2u);
    EXPECT_EQ(map.newestWithBase(0x10000), second);
    map.erase(second);
    EXPECT_EQ(idAt(map, 0x10000), 1u);
    EXPECT_EQ(map.newestWithBase(0x10000), first);
    map.erase(first);
    EXPECT_EQ(map.newestWithBase(0x10000), nullptr);
}

TEST(AddressMap, Many) {
    AddressMap map;
    constexpr uint64_t kBase = 0x7e0000000000;
    std::vector<AddressMap::Record*> records;
    for (size_t i = 0; i < kMany; ++i)
        records.push_back(map.insert(make(kBase + i * 2 * kPage, kPage, i + 1)));
    std::mt19937_64 random(3);
    for (int i = 0; i < 100000; ++i) {
        const uint64_t k = random() % kMany;
        ASSERT_EQ(idAt(map, kBase + k * 2 * kPage + random() % kPage), k + 1);
        ASSERT_EQ(idAt(map, kBase + k * 2 * kPage + kPage), 0u);
    }
    for (AddressMap::Record* record : records)
        map.erase(record);
    EXPECT_FALSE(map.overlaps(kBase, kMany * 2 * kPage));
}

// Readers beside a writer: an address that is always allocated is always found with its own values;
// one that comes and goes is found with the values of one of its lives or not at all.
TEST(AddressMap, ReadersBesideAWriter) {
    AddressMap map;
    constexpr uint64_t kStable = 0x7d0000000000;
    constexpr uint64_t kBusy = 0x7d0000200000;
    constexpr uint64_t kBusyPages = 1024;
    for (uint64_t i = 0; i < 64; ++i)
        map.insert(make(kStable + i * 2 * kPage, kPage, 1000 + i));

    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0};
    auto read = [&](unsigned seed) {
        std::mt19937 random(seed);
        while (!stop.load(std::memory_order_relaxed)) {
            const uint64_t i = random() % 64;
            AllocationView view;
            if (!map.find(kStable + i * 2 * kPage + 7, view) || view.id != 1000 + i ||
                view.base != kStable + i * 2 * kPage)
                wrong.fetch_add(1);
            const uint64_t address = kBusy + (random() % kBusyPages) * kPage;
            if (map.find(address, view)) {
                // All fields belong together: they were computed from the id.
                const AllocationView expected = make(view.base, view.size, view.id);
                if (!view.contains(address, 1) || view.device != expected.device ||
                    view.readOnly != expected.readOnly || view.allocation != expected.allocation)
                    wrong.fetch_add(1);
            }
        }
    };
    std::thread first(read, 1);
    std::thread second(read, 2);
    std::mt19937 random(3);
    std::vector<AddressMap::Record*> live;
    for (int round = 0; round < kStressRounds; ++round) {
        if (live.size() < 40 && random() % 2 == 0) {
            const uint64_t page = random() % kBusyPages;
            const uint64_t count = 1 + random() % (kBusyPages - page);
            live.push_back(map.insert(
                make(kBusy + page * kPage, count * kPage, 2000 + static_cast<uint64_t>(round))));
        } else if (!live.empty()) {
            const size_t i = random() % live.size();
            map.erase(live[i]);
            live.erase(live.begin() + static_cast<long>(i));
        }
    }
    stop = true;
    first.join();
    second.join();
    EXPECT_EQ(wrong.load(), 0u);
}

} // namespace
