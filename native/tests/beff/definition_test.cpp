#include "beff/definition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace aferir::beff {
namespace {

TEST(Sizes, DoubleUpTo4096AndGrowByOneFactorToTheLargest) {
    const auto sizes = message_sizes(16LL << 20);
    EXPECT_EQ(sizes[0], 1);
    EXPECT_EQ(sizes[12], 4096);
    EXPECT_EQ(sizes[20], 16LL << 20);
    EXPECT_NEAR(static_cast<double>(sizes[14]) / static_cast<double>(sizes[13]), 2.828, 0.001);
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
}

TEST(Rings, AreAsLongAsTheDefinitionSays) {
    EXPECT_EQ(ring_lengths(0, 4), (std::vector<int>{2, 2}));
    EXPECT_EQ(ring_lengths(0, 5), (std::vector<int>{2, 3}));
    EXPECT_EQ(ring_lengths(1, 7), (std::vector<int>{4, 3}));
    EXPECT_EQ(ring_lengths(1, 6), (std::vector<int>{6}));
    EXPECT_EQ(ring_lengths(2, 31), (std::vector<int>{8, 8, 8, 7}));
    EXPECT_EQ(ring_lengths(3, 128), (std::vector<int>(4, 32)));
    EXPECT_EQ(ring_lengths(5, 9), (std::vector<int>{9}));
}

TEST(Rings, HoldEveryProcessOnceAndNoneIsAlone) {
    for (int processes = 2; processes <= 300; ++processes) {
        for (std::size_t pattern = 0; pattern < kRings; ++pattern) {
            const auto lengths = ring_lengths(pattern, processes);
            EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), 0), processes);
            EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 2);
        }
    }
}

TEST(Rings, EachNextHasMeAsItsPrevious) {
    const std::vector<int> lengths{2, 5, 3};
    for (int place = 0; place < 10; ++place) {
        EXPECT_EQ(neighbours(neighbours(place, lengths).next, lengths).previous, place);
    }
    EXPECT_EQ(neighbours(6, lengths).next, 2);
    EXPECT_EQ(neighbours(7, lengths).previous, 9);
}

TEST(RandomOrder, IsAPermutationThatTheSeedDecides) {
    auto order = random_order(50, 7);
    EXPECT_EQ(order, random_order(50, 7));
    EXPECT_NE(order, random_order(50, 8));
    std::sort(order.begin(), order.end());
    for (int place = 0; place < 50; ++place) {
        EXPECT_EQ(order[static_cast<std::size_t>(place)], place);
    }
}

TEST(Averages, OfLogarithms) {
    const std::array<double, 3> values{1, 10, 100};
    EXPECT_DOUBLE_EQ(log_average(values), 10);
    EXPECT_EQ(log_average({}), 0);
}

// By their best method, ring patterns have a bandwidth of 4 at every message size and random
// patterns one of 9; so b_eff, the geometric mean, is 6.
TEST(Effective, TakesTheBestMethodAndAveragesAsDefined) {
    Measured measured{};
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
        measured[pattern][0].fill(1);
        measured[pattern][1].fill(pattern < kRings ? 4 : 9);
        measured[pattern][2].fill(2);
    }
    EXPECT_NEAR(effective_bandwidth(measured).all, 6, 1e-12);
    EXPECT_NEAR(effective_bandwidth(measured).rings, 4, 1e-12);
    EXPECT_NEAR(by_method(measured, 2).all, 2, 1e-12);
    measured[0][0][20] = 21 * 4;  // one pattern's average of sizes rises from 4 to 4 - 4/21 + 4
    EXPECT_GT(effective_bandwidth(measured).rings, 4);
    EXPECT_GT(by_size(measured, 20).rings, by_size(measured, 19).rings);
}

TEST(LoopLength, HalvesWithTheSizeAndFillsTheBudget) {
    EXPECT_EQ(next_loops({1000, 0.5, 2, 0.5, 5000}), 500);
    EXPECT_EQ(next_loops({1000, 0.125, 2, 0.5, 5000}), 2000);
    EXPECT_EQ(next_loops({1000, 0.001, 2, 0.5, 5000}), 5000);
    EXPECT_EQ(next_loops({1, 9, 2.8, 0.5, 5000}), 1);
    EXPECT_EQ(next_loops({10, 0, 1, 0.5, 10}), 10);
}

}  // namespace
}  // namespace aferir::beff
