// SPDX-License-Identifier: MIT
#include "core/copy_geometry.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace vze {
namespace {

TEST(CopyGeometry, RangesThatTouchDoNotOverlap) {
    EXPECT_FALSE(rangesOverlap(100, 10, 110, 10));
    EXPECT_FALSE(rangesOverlap(110, 10, 100, 10));
    EXPECT_TRUE(rangesOverlap(100, 11, 110, 10));
    EXPECT_TRUE(rangesOverlap(110, 10, 100, 11));
    EXPECT_TRUE(rangesOverlap(100, 10, 100, 1));
    EXPECT_FALSE(rangesOverlap(100, 0, 100, 10));
    EXPECT_FALSE(rangesOverlap(100, 10, 105, 0));
}

TEST(CopyGeometry, ExtentCountsGapsBetweenRowsOnly) {
    const RegionCopy region = {.dst = 1000,
                               .src = 5000,
                               .width = 10,
                               .height = 3,
                               .depth = 2,
                               .dstPitch = 16,
                               .dstSlice = 100,
                               .srcPitch = 10,
                               .srcSlice = 30};
    Extent extent;
    ASSERT_TRUE(destinationExtent(region, extent));
    EXPECT_EQ(extent.start, 1000u);
    EXPECT_EQ(extent.size, 100u + 2 * 16 + 10);
    ASSERT_TRUE(sourceExtent(region, extent));
    EXPECT_EQ(extent.start, 5000u);
    EXPECT_EQ(extent.size, 60u);
}

TEST(CopyGeometry, ExtentBeyondTheAddressSpaceIsRefused) {
    RegionCopy region = {.dst = UINT64_MAX - 9, .src = 0, .width = 10, .height = 1, .depth = 1};
    Extent extent;
    EXPECT_FALSE(destinationExtent(region, extent));
    region.dst = 0;
    region.height = 3;
    region.dstPitch = UINT64_MAX / 2;
    EXPECT_FALSE(destinationExtent(region, extent));
    region.dstPitch = UINT64_MAX;
    EXPECT_FALSE(destinationExtent(region, extent));
}

TEST(CopyGeometry, EmptyBoxHasNoExtent) {
    const RegionCopy region = {
        .dst = UINT64_MAX, .src = 7, .width = 0, .height = 9, .depth = 9, .dstPitch = UINT64_MAX};
    Extent extent;
    ASSERT_TRUE(destinationExtent(region, extent));
    EXPECT_EQ(extent.size, 0u);
    EXPECT_FALSE(regionOverlaps(region));
}

TEST(CopyGeometry, ColumnsOfOneImageDoNotOverlap) {
    RegionCopy region = {.dst = 1000 + 32,
                         .src = 1000,
                         .width = 32,
                         .height = 100,
                         .depth = 5,
                         .dstPitch = 64,
                         .dstSlice = 6400,
                         .srcPitch = 64,
                         .srcSlice = 6400};
    EXPECT_FALSE(regionOverlaps(region));
    region.dst = 1000 + 31;
    EXPECT_TRUE(regionOverlaps(region));
}

/* What takes no time however many slices and rows there are: it would not end if each were looked
 * at. */
TEST(CopyGeometry, AnyNumberOfSlices) {
    RegionCopy region = {.dst = 1 << 20,
                         .src = (1 << 20) + 1,
                         .width = 1,
                         .height = 1,
                         .depth = uint64_t{1} << 32,
                         .dstPitch = 1,
                         .dstSlice = 2,
                         .srcPitch = 1,
                         .srcSlice = 2};
    EXPECT_FALSE(regionOverlaps(region));
    region.src++;
    EXPECT_TRUE(regionOverlaps(region));
    region.height = 1000;
    region.dstPitch = region.srcPitch = 8;
    region.dstSlice = region.srcSlice = 8000;
    region.src = region.dst + 7 * 8000 + 3;
    EXPECT_FALSE(regionOverlaps(region));
    region.src -= 3;
    EXPECT_TRUE(regionOverlaps(region));
}

bool overlapByBytes(const RegionCopy& region) {
    std::set<uint64_t> bytes;
    for (uint64_t z = 0; z < region.depth; z++) {
        for (uint64_t y = 0; y < region.height; y++) {
            for (uint64_t x = 0; x < region.width; x++)
                bytes.insert(region.dst + z * region.dstSlice + y * region.dstPitch + x);
        }
    }
    for (uint64_t z = 0; z < region.depth; z++) {
        for (uint64_t y = 0; y < region.height; y++) {
            for (uint64_t x = 0; x < region.width; x++) {
                if (bytes.contains(region.src + z * region.srcSlice + y * region.srcPitch + x))
                    return true;
            }
        }
    }
    return false;
}

TEST(CopyGeometry, AgreesWithCountingBytes) {
    std::mt19937 random(1);
    const auto below = [&](uint32_t limit) { return random() % limit; };
    unsigned overlapping = 0;
    for (int i = 0; i < 20000; i++) {
        RegionCopy region;
        region.width = 1 + below(6);
        region.height = 1 + below(5);
        region.depth = 1 + below(4);
        region.dstPitch = region.width + below(8);
        region.dstSlice = region.dstPitch * region.height + below(8);
        const bool equalStrides = below(2) == 0;
        region.srcPitch = equalStrides ? region.dstPitch : region.width + below(8);
        region.srcSlice =
            equalStrides ? region.dstSlice : region.srcPitch * region.height + below(8);
        region.dst = 1000;
        region.src = 1000 - 150 + below(300);
        const bool expected = overlapByBytes(region);
        overlapping += expected;
        ASSERT_EQ(regionOverlaps(region), expected)
            << region.width << "x" << region.height << "x" << region.depth << " src " << region.src
            << " pitches " << region.dstPitch << " " << region.srcPitch << " slices "
            << region.dstSlice << " " << region.srcSlice;
    }
    EXPECT_GT(overlapping, 1000u);
    EXPECT_LT(overlapping, 19000u);
}

} // namespace
} // namespace vze
