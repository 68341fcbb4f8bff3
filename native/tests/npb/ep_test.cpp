#include <gtest/gtest.h>

#include "npb/ep_reference.hpp"

namespace aferir::npb {
namespace {

constexpr GaussianSums kClassS{
    -3.247834652034740e+3, -6.958407078382297e+3, {6140517, 5865300, 1100361, 68546, 1648, 17}};

bool is_verified(const GaussianSums& sums) {
    Outcome outcome;
    verify_ep(ProblemClass::S, sums, outcome);
    EXPECT_EQ(outcome.checks.size(), 3 + kAnnuli);
    return outcome.verified;
}

TEST(Ep, IsVerifiedByItsSumsAndByEachOfItsTenCounts) {
    EXPECT_TRUE(is_verified(kClassS));
    for (std::size_t annulus = 0; annulus < kAnnuli; ++annulus) {
        auto moved = kClassS;  // one pair in the wrong annulus: neither sums nor their number tell
        ++moved.counts[annulus];
        --moved.counts[annulus == 0 ? 1 : 0];
        EXPECT_FALSE(is_verified(moved)) << annulus;
    }
    auto other = kClassS;
    other.sx *= 1 + 1e-7;
    EXPECT_FALSE(is_verified(other));
}

}  // namespace
}  // namespace aferir::npb
