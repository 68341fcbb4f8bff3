#include "ocean/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace aferir::ocean {
namespace {

std::vector<double> random_terms(std::size_t count) {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> exponent(-40, 0);
    std::vector<double> terms;
    for (std::size_t i = 0; i < count; ++i) {
        const double sign = generator() % 2 == 0 ? 1 : -1;
        terms.push_back(sign * std::exp2(exponent(generator)));
    }
    return terms;
}

/// The sum as if `processes` processes added their shares, each its own, and then one another's
/// sums.
double sum_of_shares(const std::vector<double>& terms, std::size_t processes) {
    const Cut cut(1, terms.size());
    Cut::Parts all;
    for (std::size_t process = 0; process < processes; ++process) {
        const std::size_t begin = terms.size() * process / processes;
        const std::size_t end = terms.size() * (process + 1) / processes;
        const auto parts = cut.add(std::span(terms).subspan(begin, end - begin));
        all.high += parts.high;
        all.low += parts.low;
        all.beyond += parts.beyond;
    }
    EXPECT_EQ(all.beyond, 0);
    return Cut::sum(all);
}

TEST(ExactSum, HasTheSameBitsForAnyNumberOfProcessesAndAnyOrder) {
    auto terms = random_terms(100003);
    const auto once = std::bit_cast<std::uint64_t>(sum_of_shares(terms, 1));
    for (const std::size_t processes : {2, 3, 7, 48, 1000}) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of_shares(terms, processes)), once);
    }
    std::reverse(terms.begin(), terms.end());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of_shares(terms, 5)), once);
}

TEST(ExactSum, IsWhatExtendedPrecisionFinds) {
    const auto terms = random_terms(100003);
    long double exact = 0;
    for (const double term : terms) {
        exact += term;
    }
    EXPECT_NEAR(sum_of_shares(terms, 3), static_cast<double>(exact), 1e-12);
}

TEST(ExactSum, HoldsForTermsAtTheBound) {
    const std::vector<double> terms(4096, 1.0);
    EXPECT_EQ(sum_of_shares(terms, 3), 4096);
}

TEST(ExactSum, CountsTermsBeyondTheBoundAndWhatIsNoNumber) {
    const std::vector<double> terms{0.5, 2, -3, std::nan("")};
    EXPECT_EQ(Cut(1, 4).add(terms).beyond, 3);
    EXPECT_EQ(largest(std::vector<double>{0.5, 2, -3}), 3);
}

}  // namespace
}  // namespace aferir::ocean
