#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "npb/ep_reference.hpp"
#include "npb/ft_reference.hpp"

namespace aferir::npb {
namespace {

constexpr GaussianSums kEpS{
    -3.247834652034740e+3, -6.958407078382297e+3, {6140517, 5865300, 1100361, 68546, 1648, 17}};

constexpr GaussianSums kEpC{4.764367927995374e+4,
                            -8.084072988043731e+4,
                            {1572172634, 1501108549, 281805648, 17761221, 424017, 3821, 13}};

bool ep_accepts(const GaussianSums& sums, ProblemClass problem = ProblemClass::S) {
    Outcome outcome;
    verify_ep(problem, sums, outcome);
    EXPECT_EQ(outcome.checks.size(), 3 + kAnnuli);
    return outcome.verified;
}

TEST(Reference, EpRefusesSumsThatAreWrong) {
    EXPECT_TRUE(ep_accepts(kEpS));
    EXPECT_TRUE(ep_accepts({kEpS.sx * (1 + 9e-9), kEpS.sy, kEpS.counts}));
    EXPECT_FALSE(ep_accepts({kEpS.sx * (1 + 2e-8), kEpS.sy, kEpS.counts}));
    EXPECT_FALSE(ep_accepts({kEpS.sx, kEpS.sy * (1 - 2e-8), kEpS.counts}));
    EXPECT_FALSE(ep_accepts({std::numeric_limits<double>::quiet_NaN(), kEpS.sy, kEpS.counts}));
}

TEST(Reference, EpRefusesEachOfItsTenCountsThatIsWrong) {
    EXPECT_TRUE(ep_accepts(kEpC, ProblemClass::C));
    auto more = kEpS;
    ++more.counts[0];
    EXPECT_FALSE(ep_accepts(more));
    for (std::size_t annulus = 0; annulus < kAnnuli; ++annulus) {
        for (const auto problem : {ProblemClass::S, ProblemClass::C}) {
            // Moves one pair to a wrong annulus, which neither the sums nor the number of pairs
            // show.
            auto moved = problem == ProblemClass::S ? kEpS : kEpC;
            ++moved.counts[annulus];
            --moved.counts[annulus == 0 ? 1 : 0];
            EXPECT_FALSE(ep_accepts(moved, problem)) << annulus;
        }
    }
}

std::vector<ComplexNumber> ft_s() {
    return {{5.546087004964e+02, 4.845363331978e+02}, {5.546385409189e+02, 4.865304269511e+02},
            {5.546148406171e+02, 4.883910722336e+02}, {5.545423607415e+02, 4.901273169046e+02},
            {5.544255039624e+02, 4.917475857993e+02}, {5.542683411902e+02, 4.932597244941e+02}};
}

bool ft_accepts(const std::vector<ComplexNumber>& checksums) {
    Outcome outcome;
    verify_ft(ProblemClass::S, checksums, outcome);
    return outcome.verified;
}

TEST(Reference, FtRefusesChecksumsThatAreWrong) {
    EXPECT_TRUE(ft_accepts(ft_s()));
    for (std::size_t i = 0; i < ft_s().size(); ++i) {
        auto wrong = ft_s();
        wrong[i].re *= 1 + 2e-12;
        EXPECT_FALSE(ft_accepts(wrong)) << i;
        wrong = ft_s();
        wrong[i].im *= 1 - 2e-12;
        EXPECT_FALSE(ft_accepts(wrong)) << i;
    }
    auto missing = ft_s();
    missing.pop_back();
    EXPECT_FALSE(ft_accepts(missing));
    EXPECT_FALSE(ft_accepts({}));
}

TEST(Reference, ClassesHaveTheirSizes) {
    EXPECT_EQ(ep_pairs(ProblemClass::S), 1LL << 24);
    EXPECT_EQ(ep_pairs(ProblemClass::C), 1LL << 32);
    EXPECT_EQ(ft_iterations(ProblemClass::A), 6);
    EXPECT_EQ(ft_iterations(ProblemClass::B), 20);
    EXPECT_EQ(ft_iterations(ProblemClass::C), 20);
}

TEST(Reference, ErrorIsRelativeAndAbsoluteAtZero) {
    EXPECT_DOUBLE_EQ(compare("x", 110, 100).relative_error, 0.1);
    EXPECT_DOUBLE_EQ(compare("x", 1e-3, 0).relative_error, 1e-3);
    EXPECT_TRUE(all_within({compare("x", 1, 1)}, 0));
    EXPECT_FALSE(all_within({}, 1));
    EXPECT_FALSE(all_within({compare("x", std::numeric_limits<double>::quiet_NaN(), 1)}, 1));
}

TEST(Reference, ClassLetters) {
    for (const auto* text : {"S", "W", "A", "B", "C", "D"}) {
        const auto problem = parse_class(text);
        ASSERT_TRUE(problem);
        EXPECT_EQ(letter(*problem), *text);
    }
    for (const auto* text : {"", "s", "E", "SW"}) {
        EXPECT_FALSE(parse_class(text)) << text;
    }
}

}  // namespace
}  // namespace aferir::npb
