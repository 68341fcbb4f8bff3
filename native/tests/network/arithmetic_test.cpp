#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "common/arguments.hpp"
#include "common/histogram.hpp"
#include "network/options.hpp"
#include "network/pattern.hpp"
#include "network/schedule.hpp"

namespace aferir::network {
namespace {

// The sizes that NPopenmpi 3.7.2 prints with -u 200, and with -p 0 -u 100.
TEST(Schedule, SizesAreNetpipes) {
    const std::vector<std::uint64_t> perturbed{1,  2,  3,  4,   6,   8,   12,  13,  16, 19, 21,
                                               24, 27, 29, 32,  35,  45,  48,  51,  61, 64, 67,
                                               93, 96, 99, 125, 128, 131, 189, 192, 195};
    EXPECT_EQ(message_sizes(1, 200, 3), perturbed);
    const std::vector<std::uint64_t> plain{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    EXPECT_EQ(message_sizes(1, 100, 0), plain);
}

TEST(Schedule, SizesRiseAndStayWithinBounds) {
    for (const std::uint64_t least : {1U, 2U, 5U, 100U, 4096U}) {
        for (const std::uint64_t perturbation : {0U, 1U, 3U, 64U, 1000U}) {
            const auto sizes = message_sizes(least, 100'000, perturbation);
            ASSERT_FALSE(sizes.empty());
            EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
            EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
            EXPECT_GE(sizes.front(), 1U);
            EXPECT_LE(sizes.back(), 100'000 + perturbation);
        }
    }
    EXPECT_EQ(message_sizes(64, 64, 3).size(), 3U);
}

TEST(Schedule, RoundsFillATrialWithinBounds) {
    const TrialRule rule{0.1, 0, 3, 1000};
    EXPECT_EQ(rounds_of_trial(rule, 1e-3), 100U);
    EXPECT_EQ(rounds_of_trial(rule, 1.0), 3U);
    EXPECT_EQ(rounds_of_trial(rule, 1e-9), 1000U);
    EXPECT_EQ(rounds_of_trial(rule, 0), 3U);
    EXPECT_EQ(rounds_of_warm_up(rule, 1e-3), 10U);
    EXPECT_EQ(rounds_of_warm_up(rule, 1.0), 1U);
    const TrialRule fixed{0.1, 70, 3, 1000};
    EXPECT_EQ(rounds_of_trial(fixed, 1.0), 70U);
    EXPECT_EQ(rounds_of_warm_up(fixed, 1.0), 7U);
}

TEST(Histogram, QuantilesAreThoseOfTheSortedValuesWithinHalfAPercent) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> values(9, 2);
    Histogram histogram;
    std::vector<double> all;
    for (int i = 0; i < 20'000; ++i) {
        const auto value = static_cast<std::uint64_t>(values(random));
        histogram.add(value);
        all.push_back(static_cast<double>(value));
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(histogram.total(), all.size());
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto place =
            static_cast<std::size_t>(std::max(1.0, std::ceil(q * static_cast<double>(all.size()))));
        EXPECT_NEAR(histogram.quantile(q), all[place - 1], 0.004 * all[place - 1] + 0.01) << q;
    }
}

TEST(Histogram, EveryValueHasAPlace) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256},
                                      std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
        Histogram histogram;
        histogram.add(value);
        const auto exact = static_cast<double>(value);
        EXPECT_NEAR(histogram.quantile(0.5), exact, 0.004 * exact);
    }
    EXPECT_EQ(Histogram().quantile(0.5), 0);
}

TEST(Histogram, MergedCountsAreSums) {
    Histogram one;
    Histogram other;
    one.add(10);
    other.add(20);
    other.add(30);
    one.merge(other);
    EXPECT_EQ(one.total(), 3U);
    EXPECT_EQ(one.quantile(0.5), 20);
    EXPECT_THROW(one.merge(std::vector<std::uint64_t>(3)), std::invalid_argument);
}

TEST(Pattern, EveryChangedByteIsFoundWhereItIs) {
    for (const std::size_t size : {1U, 7U, 8U, 9U, 1000U}) {
        std::vector<std::byte> data(size);
        fill_pattern(data, 42);
        EXPECT_EQ(first_difference(data, 42), std::nullopt);
        EXPECT_NE(first_difference(data, 43), std::nullopt);
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            data[at] ^= std::byte{1};
            EXPECT_EQ(first_difference(data, 42), at);
            data[at] ^= std::byte{1};
        }
    }
}

TEST(Pattern, MovedDataIsWrong) {
    std::vector<std::byte> data(4096);
    fill_pattern(data, 42);
    std::rotate(data.begin(), data.begin() + 8, data.end());
    EXPECT_EQ(first_difference(data, 42), 0U);
}

SweepOptions options_of(std::vector<std::string_view> given) {
    return sweep_options(Arguments(given, kSweepNames, {}));
}

TEST(Options, WhatCannotBeIsRefused) {
    EXPECT_EQ(options_of({}).most_bytes, std::uint64_t{1} << 20U);
    EXPECT_EQ(options_of({"--mode", "stream"}).mode, Mode::kStream);
    EXPECT_EQ(options_of({"--rounds=9"}).rule.fixed_rounds, 9U);
    EXPECT_EQ(room_bytes(options_of({"--most-bytes", "64"})), 67U);
    EXPECT_THROW(options_of({"--mode", "quick"}), UsageError);
    EXPECT_THROW(options_of({"--pairs", "0"}), UsageError);
    EXPECT_THROW(options_of({"--least-bytes", "100", "--most-bytes", "10"}), UsageError);
}

}  // namespace
}  // namespace aferir::network
