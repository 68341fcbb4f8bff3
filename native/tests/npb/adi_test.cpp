#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "internals.hpp"
#include "npb/adi_problem.hpp"

namespace aferir::npb {
namespace {

/// Sizes of which some fill no level's vectors, some those of a few levels, and some those of all.
constexpr std::array kSizes{7, 10, 12, 19};

/// Random states, smooth enough for stable solves, and different at every point.
Flows random_states(int size, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> some(-0.1, 0.1);
    Flows flows(size);
    for (std::size_t place = 0; place < flows.points.size(); ++place) {
        flows.points[place] = {1.5 + some(random), 0.4 + some(random), -0.3 + some(random),
                               0.2 + some(random), 3 + some(random)};
    }
    return flows;
}

/// Uniform random changes in [-1, 1) at inner points; 0 on the boundary.
Flows random_changes(int size, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> any(-1, 1);
    Flows flows(size);
    for (int k = 1; k < size - 1; ++k) {
        for (int j = 1; j < size - 1; ++j) {
            for (int i = 1; i < size - 1; ++i) {
                for (auto& value : flows.at({i, j, k})) {
                    value = any(random);
                }
            }
        }
    }
    return flows;
}

template <typename PerPlace>
void for_inner(int size, const PerPlace& per_place) {
    for (int k = 1; k < size - 1; ++k) {
        for (int j = 1; j < size - 1; ++j) {
            for (int i = 1; i < size - 1; ++i) {
                per_place(Place{i, j, k});
            }
        }
    }
}

Place moved(Place place, int axis, int steps) {
    place[static_cast<std::size_t>(axis)] += steps;
    return place;
}

TEST(Adi, RightSideIsThePlainOperator) {
    constexpr double kTimeStep = 0.01;
    for (const int size : kSizes) {
        const auto states = random_states(size, 1);
        const auto forcing = random_changes(size, 2);
        for (const auto& internals : usable_internals()) {
            const auto computed = internals.right_side(states, forcing, kTimeStep);
            for_inner(size, [&](const Place& place) {
                const auto change = spatial_operator([&](const Place& at) { return states.at(at); },
                                                     Coefficients(size), place, size);
                for (std::size_t m = 0; m < change.size(); ++m) {
                    const double expected = kTimeStep * (change[m] + forcing.at(place)[m]);
                    ASSERT_NEAR(computed.at(place)[m], expected, 1e-11)
                        << internals.isa << ' ' << size << ' ' << m;
                }
            });
        }
    }
}

/// The Jacobian of a flux times a vector, by central differences.
Flux along(const State& state, const State& direction, const Coefficients& factors, int axis) {
    constexpr double kStep = 1e-5;
    auto more = state;
    auto less = state;
    for (std::size_t m = 0; m < state.size(); ++m) {
        more[m] += kStep * direction[m];
        less[m] -= kStep * direction[m];
    }
    auto result = flux(more, factors, axis);
    const auto low = flux(less, factors, axis);
    for (std::size_t m = 0; m < state.size(); ++m) {
        result.convective[m] = (result.convective[m] - low.convective[m]) / (2 * kStep);
        result.viscous[m] = (result.viscous[m] - low.viscous[m]) / (2 * kStep);
    }
    return result;
}

/// The block-tridiagonal matrix of BT times the changes x, at a point.
State bt_product(const Flows& states, const Flows& x, double time_step, int axis,
                 const Place& place) {
    const Coefficients factors(states.size);
    const double diffusion = factors.diffusion[static_cast<std::size_t>(axis)];
    auto sum = x.at(place);
    for (const int side : {-1, 0, 1}) {
        const auto at = moved(place, axis, side);
        const auto product = along(states.at(at), x.at(at), factors, axis);
        const double weight = side == 0 ? -2 : 1;
        for (std::size_t m = 0; m < sum.size(); ++m) {
            sum[m] += time_step * (side * factors.first * product.convective[m] -
                                   weight * (product.viscous[m] + diffusion * x.at(at)[m]));
        }
    }
    return sum;
}

TEST(Adi, BtSolvesTheLinearisedEquations) {
    constexpr double kTimeStep = 0.01;
    for (const int size : kSizes) {
        const auto states = random_states(size, 3);
        const auto changes = random_changes(size, 4);
        for (const auto& internals : usable_internals()) {
            const auto y = internals.solve_bt(states, changes, kTimeStep, 1);
            auto z = internals.solve_bt(states, changes, kTimeStep, 2);
            for (std::size_t place = 0; place < z.points.size(); ++place) {
                for (std::size_t m = 0; m < 5; ++m) {
                    z.points[place][m] -= states.points[place][m];
                }
            }
            for_inner(size, [&](const Place& place) {
                const auto along_y = bt_product(states, y, kTimeStep, 1, place);
                const auto along_z = bt_product(states, z, kTimeStep, 2, place);
                for (std::size_t m = 0; m < 5; ++m) {
                    ASSERT_NEAR(along_y[m], changes.at(place)[m], 1e-8) << internals.isa << size;
                    ASSERT_NEAR(along_z[m], changes.at(place)[m], 1e-8) << internals.isa << size;
                }
            });
        }
    }
}

/// Row `place` of SP's matrix for the y axis and component m, times x.
double sp_product(const Flows& states, const Flows& x, double time_step, std::size_t m,
                  const Place& place) {
    const int size = states.size;
    const Coefficients factors(size);
    const auto wave = [&](const State& u) {
        const double pressure =
            kC2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
        const double sound = std::sqrt(kC1 * pressure / u[0]);
        return u[2] / u[0] + (m == 3 ? sound : 0) - (m == 4 ? sound : 0);
    };
    const auto spread = [&](const State& u) {
        return factors.diffusion[1] + factors.second * kC1 * kC1 * kC3C4 / u[0];
    };
    const auto value = [&](int steps) { return x.at(moved(place, 1, steps))[m]; };
    const auto& before = states.at(moved(place, 1, -1));
    const auto& after = states.at(moved(place, 1, 1));
    const int j = place[1];
    double change = -factors.first * wave(before) * value(-1) - spread(before) * value(-1) +
                    2 * spread(states.at(place)) * value(0) +
                    factors.first * wave(after) * value(1) - spread(after) * value(1);
    change +=
        kDissipation * ((j == 1 || j == size - 2 ? 5 : 6) * value(0) - 4 * value(-1) -
                        4 * value(1) + (j > 1 ? value(-2) : 0) + (j < size - 2 ? value(2) : 0));
    return value(0) + time_step * change;
}

TEST(Adi, SpSolvesThePentadiagonalEquations) {
    constexpr double kTimeStep = 0.01;
    const double root = std::sqrt(0.5);
    for (const int size : kSizes) {
        const auto states = random_states(size, 5);
        const auto changes = random_changes(size, 6);
        for (const auto& internals : usable_internals()) {
            auto x = internals.solve_sp(states, changes, kTimeStep, 1);
            for (auto& point : x.points) {  // from the variables of the z axis back to those of y
                const double sum = point[3] + point[4];
                const double difference = point[0] / root;
                point = {(point[4] - point[3]) / (2 * root), point[2], -point[1],
                         (sum + difference) / 2, (sum - difference) / 2};
            }
            for_inner(size, [&](const Place& place) {
                for (std::size_t m = 0; m < 5; ++m) {
                    ASSERT_NEAR(sp_product(states, x, kTimeStep, m, place), changes.at(place)[m],
                                1e-12)
                        << internals.isa << size;
                }
            });
        }
    }
}

TEST(Adi, ResultsDoNotDependOnThreads) {
    for (const auto& internals : usable_internals()) {
        for (const auto& run : {internals.run_bt, internals.run_sp}) {
            const auto one = run(ProblemClass::S, 1);
            EXPECT_TRUE(one.verified);
            const auto three = run(ProblemClass::S, 3);
            ASSERT_EQ(one.checks.size(), three.checks.size());
            for (std::size_t i = 0; i < one.checks.size(); ++i) {
                EXPECT_EQ(one.checks[i].computed, three.checks[i].computed) << one.checks[i].name;
            }
        }
    }
}

TEST(Adi, ClassesAreThoseOfTheSpecification) {
    EXPECT_EQ(bt_problem(ProblemClass::W).size, 24);
    EXPECT_EQ(sp_problem(ProblemClass::W).size, 36);
    EXPECT_EQ(bt_problem(ProblemClass::C).iterations, 200);
    EXPECT_EQ(sp_problem(ProblemClass::B).time_step, 0.001);
    // NPB 3 prints 168.3 Gop for BT.A and 85.0 Gop for SP.A.
    EXPECT_NEAR(bt_problem(ProblemClass::A).operations, 168.3e9, 0.05e9);
    EXPECT_NEAR(sp_problem(ProblemClass::A).operations, 85.0e9, 0.05e9);
}

}  // namespace
}  // namespace aferir::npb
