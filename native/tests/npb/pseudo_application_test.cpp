#include "npb/pseudo_application.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace aferir::npb {
namespace {

constexpr int kSize = 12;

TEST(PseudoApplication, ExactSolutionIsThePolynomialOfTheSpecification) {
    const ExactField exact(kSize);
    EXPECT_EQ(exact.at({0, 0, 0}), (State{2, 1, 2, 2, 5}));
    const State far{2 + 5.52 + 3.41 + 4.83, 1 + 1.41 + 2.33 + 3.52, 2 + 2.34 + 2.53 + 3.45,
                    2 + 2.23 + 2.15 + 3.34, 5 + 4.25 + 3.74 + 2.53};
    const auto corner = exact.at({kSize - 1, kSize - 1, kSize - 1});
    for (std::size_t m = 0; m < far.size(); ++m) {
        EXPECT_NEAR(corner[m], far[m], 1e-14);
    }
}

TEST(PseudoApplication, InitialFieldIsExactOnTheBoundaryAndContinuous) {
    const ExactField exact(kSize);
    EXPECT_EQ(exact.initial({0, 3, 4}), exact.at({0, 3, 4}));
    EXPECT_EQ(exact.initial({5, kSize - 1, 4}), exact.at({5, kSize - 1, 4}));
    EXPECT_NE(exact.initial({5, 5, 5}), exact.at({5, 5, 5}));
    // a + b + c - ab - ac - bc + abc of the interpolations along the three axes.
    const auto along = [&](std::size_t axis) {
        Place low{4, 5, 6};
        Place high{4, 5, 6};
        const double part = low[axis] / (kSize - 1.0);
        low[axis] = 0;
        high[axis] = kSize - 1;
        return part * exact.at(high)[2] + (1 - part) * exact.at(low)[2];
    };
    const double a = along(0);
    const double b = along(1);
    const double c = along(2);
    EXPECT_NEAR(exact.initial({4, 5, 6})[2], a + b + c - a * b - a * c - b * c + a * b * c, 1e-10);
}

TEST(PseudoApplication, UniformFlowDoesNotChangeFarFromTheBoundary) {
    const auto uniform = [](const Place& /*place*/) { return State{2, 1, -3, 0.5, 7}; };
    for (const auto value : spatial_operator(uniform, Coefficients(kSize), {5, 6, 4}, kSize)) {
        EXPECT_NEAR(value, 0, 1e-11);
    }
    // For a uniform state, the weights of dissipation left next to the boundary add up to 5 - 4 + 1
    // = 2, one point further to 6 - 4 - 4 + 1 = -1.
    EXPECT_NEAR(spatial_operator(uniform, Coefficients(kSize), {1, 5, 5}, kSize)[4],
                -kDissipation * 2 * 7, 1e-11);
    EXPECT_NEAR(spatial_operator(uniform, Coefficients(kSize), {5, 5, kSize - 3}, kSize)[4],
                -kDissipation * -1 * 7, 1e-11);
}

TEST(PseudoApplication, NormsOfTheExactSolutionAreZeroAndOfKnownErrorsKnown) {
    const ExactField exact(kSize);
    const auto none = norms_of([&](const Place& place) { return exact.at(place); }, exact, 2);
    for (std::size_t m = 0; m < none.error.size(); ++m) {
        EXPECT_EQ(none.error[m], 0);
        EXPECT_NEAR(none.residual[m], 0, 1e-12);
    }
    const auto shifted = [&](const Place& place) {
        auto state = exact.at(place);
        state[1] += 0.5;
        state[4] -= place[0] == 3 ? 2.0 : 0.0;
        return state;
    };
    const auto norms = norms_of(shifted, exact, 1);
    EXPECT_NEAR(norms.error[1], 0.5, 1e-12);
    EXPECT_NEAR(norms.error[4], 2 / std::sqrt(10.0), 1e-12);  // one plane of ten
    EXPECT_EQ(norms.error[0], 0);
    EXPECT_EQ(norms.residual, norms_of(shifted, exact, 5).residual);
}

TEST(PseudoApplication, VerificationRefusesAnyWrongNorm) {
    const Norms right{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
    const auto accepts = [&](const Norms& norms) {
        Outcome outcome;
        verify_norms(norms, right, outcome);
        EXPECT_EQ(outcome.checks.size(), 10U);
        return outcome.verified;
    };
    EXPECT_TRUE(accepts(right));
    for (std::size_t m = 0; m < right.error.size(); ++m) {
        auto wrong = right;
        wrong.residual[m] *= 1 + 2e-8;
        EXPECT_FALSE(accepts(wrong));
        wrong = right;
        wrong.error[m] *= 1 - 2e-8;
        EXPECT_FALSE(accepts(wrong));
        wrong.error[m] = std::nan("");
        EXPECT_FALSE(accepts(wrong));
    }
}

}  // namespace
}  // namespace aferir::npb
