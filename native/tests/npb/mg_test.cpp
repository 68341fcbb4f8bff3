#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "internals.hpp"
#include "npb/mg_problem.hpp"
#include "npb/random.hpp"

namespace aferir::npb {
namespace {

using Weights = std::array<double, 4>;  // by the number of coordinates in which a neighbour differs

constexpr Weights kOperator{-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
constexpr Weights kRestriction{0.5, 0.25, 0.125, 0.0625};
constexpr std::array<double, 3> kSmoother{-3.0 / 17, 1.0 / 33, -1.0 / 61};
constexpr Weights kSmootherWeights{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

Cube random_cube(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    Cube cube(size);
    for (auto& point : cube.points) {
        point = std::uniform_real_distribution<double>(-1, 1)(random);
    }
    return cube;
}

template <typename PerPoint>
void for_points(std::size_t size, const PerPoint& per_point) {
    const auto edge = static_cast<std::ptrdiff_t>(size);
    for (std::ptrdiff_t i = 0; i < edge * edge * edge; ++i) {
        per_point(i / (edge * edge), i / edge % edge, i % edge);
    }
}

double stencil(const Cube& cube, const Weights& weights, std::ptrdiff_t plane, std::ptrdiff_t row,
               std::ptrdiff_t column) {
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < 27; ++i) {
        const std::ptrdiff_t p = i / 9 - 1;
        const std::ptrdiff_t r = i / 3 % 3 - 1;
        const std::ptrdiff_t c = i % 3 - 1;
        const auto differing = static_cast<std::size_t>(p * p + r * r + c * c);
        sum += weights[differing] * cube.points[cube.place(plane + p, row + r, column + c)];
    }
    return sum;
}

Cube naive_residual(const Cube& v, const Cube& u) {
    Cube out(v);
    for_points(v.size, [&](auto p, auto r, auto c) {
        out.points[out.place(p, r, c)] -= stencil(u, kOperator, p, r, c);
    });
    return out;
}

Cube naive_smoothing(const Cube& u, const Cube& r) {
    Cube out(u);
    for_points(u.size, [&](auto plane, auto row, auto column) {
        out.points[out.place(plane, row, column)] +=
            stencil(r, kSmootherWeights, plane, row, column);
    });
    return out;
}

Cube naive_restriction(const Cube& fine) {
    Cube out(fine.size / 2);
    for_points(out.size, [&](auto p, auto r, auto c) {
        out.points[out.place(p, r, c)] =
            stencil(fine, kRestriction, 2 * p + 1, 2 * r + 1, 2 * c + 1);
    });
    return out;
}

/// Trilinear interpolation: a coarse point contributes to the 27 fine ones around it, halved for
/// each direction in which they are displaced.
Cube naive_interpolation(const Cube& u, const Cube& coarse) {
    Cube out(u);
    for_points(coarse.size, [&](auto p, auto r, auto c) {
        for (std::ptrdiff_t i = 0; i < 27; ++i) {
            const std::array<std::ptrdiff_t, 3> d{i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
            const auto reach = std::abs(d[0]) + std::abs(d[1]) + std::abs(d[2]);
            out.points[out.place(2 * p + 1 + d[0], 2 * r + 1 + d[1], 2 * c + 1 + d[2])] +=
                std::ldexp(coarse.points[coarse.place(p, r, c)], -static_cast<int>(reach));
        }
    });
    return out;
}

void expect_same(const Cube& computed, const Cube& expected, std::string_view what) {
    ASSERT_EQ(computed.size, expected.size);
    for (std::size_t i = 0; i < expected.points.size(); ++i) {
        ASSERT_NEAR(computed.points[i], expected.points[i], 1e-13)
            << what << ", size " << expected.size << ", point " << i;
    }
}

TEST(Mg, OperatorsAreTheNaiveOnes) {
    for (const std::size_t size : {2U, 4U, 8U, 16U, 32U}) {
        const auto u = random_cube(size, 1);
        const auto v = random_cube(size, 2);
        for (const auto& internals : usable_internals()) {
            expect_same(internals.residual(v, u), naive_residual(v, u), internals.isa);
            expect_same(internals.smooth(u, v, kSmoother), naive_smoothing(u, v), internals.isa);
        }
    }
}

TEST(Mg, TransfersBetweenGridsAreTheNaiveOnes) {
    for (const std::size_t size : {4U, 8U, 16U, 32U}) {
        const auto fine = random_cube(size, 3);
        const auto coarse = random_cube(size / 2, 4);
        for (const auto& internals : usable_internals()) {
            expect_same(internals.restricted(fine), naive_restriction(fine), internals.isa);
            expect_same(internals.interpolated(fine, coarse), naive_interpolation(fine, coarse),
                        internals.isa);
        }
    }
}

TEST(Mg, SweepIsTheStepsOneByOne) {
    for (const std::size_t size : {16U, 64U}) {
        const auto u = random_cube(size, 5);
        const auto z = random_cube(size / 2, 6);
        const auto v = random_cube(size, 7);
        const auto corrected = naive_interpolation(u, z);
        const auto smoothed = naive_smoothing(corrected, naive_residual(v, corrected));
        const auto residual = naive_residual(v, smoothed);
        double squares = 0;
        for (const auto point : residual.points) {
            squares += point * point;
        }
        for (const auto& internals : usable_internals()) {
            for (const int cuts : {1, 2, 3, 8}) {
                const auto result = internals.sweep(u, z, v, kSmoother, cuts);
                expect_same(result.u, smoothed, internals.isa);
                expect_same(result.s, naive_restriction(residual), internals.isa);
                EXPECT_NEAR(result.squares / squares, 1, 1e-12) << internals.isa << ' ' << cuts;
            }
        }
    }
}

TEST(Mg, ChargesAreTheExtremesOfTheSequence) {
    constexpr std::size_t kSize = 32;
    std::vector<double> numbers(kSize * kSize * kSize);
    std::uint64_t seed = 314159265;
    vranlc(seed, kMultiplier, numbers);
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const auto charges = find_charges(kSize, 3);
    const auto expect_numbers = [&](std::vector<Point> points, auto first) {
        std::vector<double> found;
        for (const auto& point : points) {
            found.push_back(numbers[(point.plane * kSize + point.row) * kSize + point.column]);
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, std::vector<double>(first, first + 10));
    };
    expect_numbers(charges.negative, sorted.begin());
    expect_numbers(charges.positive, sorted.end() - 10);
}

TEST(Mg, VerificationRefusesWrongNorm) {
    const auto problem = mg_problem(ProblemClass::A);
    const auto accepts = [&](double norm) {
        Outcome outcome;
        verify_mg(problem, norm, outcome);
        return outcome.verified;
    };
    EXPECT_TRUE(accepts(0.2433365309069e-05));
    EXPECT_FALSE(accepts(0.2433365309069e-05 * (1 + 2e-8)));
    EXPECT_FALSE(accepts(std::nan("")));
}

}  // namespace
}  // namespace aferir::npb
