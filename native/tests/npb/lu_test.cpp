#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "internals.hpp"
#include "npb/lu_problem.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb {
namespace {

using Matrix = std::array<State, 5>;  // rows

/// SSOR as the specification writes it: blocks are formed (here by differencing the fluxes), not
/// stored, and solved by Gaussian elimination; points are visited in the order k, j, i.
class PlainSsor {
  public:
    PlainSsor(int size, double time_step) : exact_(size), time_step_(time_step) {
        for_all([&](const Place& place) { u_.push_back(exact_.initial(place)); });
    }

    void step() {
        std::vector<State> v(u_.size());
        for_all([&](const Place& place) {
            if (inner(place)) {
                v[index(place)] = solve(diagonal(place), lower_right(place, v));
            }
        });
        for (auto place = static_cast<int>(u_.size()) - 1; place >= 0; --place) {
            const int n = exact_.size();
            const Place at{place % n, place / n % n, place / n / n};
            if (inner(at)) {
                const auto change = solve(diagonal(at), neighbours(at, v, 1));
                subtract(v[index(at)], change, 1);
            }
        }
        for (std::size_t i = 0; i < u_.size(); ++i) {
            subtract(u_[i], v[i], -1 / (kRelaxation * (2 - kRelaxation)));
        }
    }

    [[nodiscard]] const std::vector<State>& field() const { return u_; }
    [[nodiscard]] Norms norms() const {
        return norms_of([&](const Place& place) { return u_[index(place)]; }, exact_, 1);
    }

  private:
    template <typename Work>
    void for_all(const Work& work) const {
        for (int k = 0; k < exact_.size(); ++k) {
            for (int j = 0; j < exact_.size(); ++j) {
                for (int i = 0; i < exact_.size(); ++i) {
                    work(Place{i, j, k});
                }
            }
        }
    }

    [[nodiscard]] std::size_t index(const Place& place) const {
        return static_cast<std::size_t>((place[2] * exact_.size() + place[1]) * exact_.size() +
                                        place[0]);
    }

    [[nodiscard]] bool inner(const Place& place) const {
        for (const int i : place) {
            if (i < 1 || i > exact_.size() - 2) {
                return false;
            }
        }
        return true;
    }

    static void subtract(State& from, const State& what, double factor) {
        for (std::size_t m = 0; m < from.size(); ++m) {
            from[m] -= factor * what[m];
        }
    }

    /// Derivative of a point's change in one time step by the state of its neighbour on the +1 or
    /// -1 side of an axis.
    [[nodiscard]] Matrix derivative(const State& u, int axis, double convection) const {
        Matrix result{};
        for (std::size_t column = 0; column < u.size(); ++column) {
            constexpr double kSmall = 1e-5;
            auto more = u;
            auto less = u;
            more[column] += kSmall;
            less[column] -= kSmall;
            const auto high = flux(more, exact_.factors(), axis);
            const auto low = flux(less, exact_.factors(), axis);
            for (std::size_t row = 0; row < u.size(); ++row) {
                const double convective = (high.convective[row] - low.convective[row]);
                const double viscous = (high.viscous[row] - low.viscous[row]);
                result[row][column] = time_step_ * (convection * convective + viscous) / kSmall / 2;
            }
            result[column][column] +=
                time_step_ * exact_.factors().diffusion[static_cast<std::size_t>(axis)];
        }
        return result;
    }

    /// Identity plus, summed over the axes, twice the viscous and dissipative part of
    /// `derivative()` (convection 0).
    [[nodiscard]] Matrix diagonal(const Place& place) const {
        Matrix result{};
        for (std::size_t row = 0; row < result.size(); ++row) {
            result[row][row] = 1;
        }
        for (int axis = 0; axis < 3; ++axis) {
            const auto part = derivative(u_[index(place)], axis, 0);
            for (std::size_t row = 0; row < result.size(); ++row) {
                subtract(result[row], part[row], -2);
            }
        }
        return result;
    }

    /// Sum over the three neighbours on one side: omega times the neighbour's block times its v.
    [[nodiscard]] State neighbours(const Place& place, const std::vector<State>& v,
                                   int side) const {
        State sum{};
        for (int axis = 0; axis < 3; ++axis) {
            auto neighbour = place;
            neighbour[static_cast<std::size_t>(axis)] += side;
            const auto block =
                derivative(u_[index(neighbour)], axis, -side * exact_.factors().first);
            for (std::size_t row = 0; row < sum.size(); ++row) {
                for (std::size_t column = 0; column < sum.size(); ++column) {
                    sum[row] -= kRelaxation * block[row][column] * v[index(neighbour)][column];
                }
            }
        }
        return sum;
    }

    [[nodiscard]] State lower_right(const Place& place, const std::vector<State>& v) const {
        auto right = spatial_operator([&](const Place& at) { return u_[index(at)]; },
                                      exact_.factors(), place, exact_.size());
        subtract(right, exact_.forcing(place), -1);
        for (auto& value : right) {
            value *= time_step_;
        }
        subtract(right, neighbours(place, v, -1), 1);
        return right;
    }

    static State solve(Matrix matrix, State right) {
        for (std::size_t pivot = 0; pivot < right.size(); ++pivot) {
            for (std::size_t row = 0; row < right.size(); ++row) {
                if (row != pivot) {
                    const double factor = matrix[row][pivot] / matrix[pivot][pivot];
                    subtract(matrix[row], matrix[pivot], factor);
                    right[row] -= factor * right[pivot];
                }
            }
        }
        for (std::size_t row = 0; row < right.size(); ++row) {
            right[row] /= matrix[row][row];
        }
        return right;
    }

    ExactField exact_;
    double time_step_;
    std::vector<State> u_;
};

double largest_difference(const std::vector<State>& left, const std::vector<State>& right) {
    double largest = left.size() == right.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
        for (std::size_t m = 0; m < left[i].size(); ++m) {
            largest = std::max(largest, std::abs(left[i][m] - right[i][m]));
        }
    }
    return largest;
}

TEST(Lu, StepsAreThoseOfPlainSsor) {
    constexpr double kTimeStep = 0.05;
    constexpr int kSteps = 3;
    for (const int size : {6, 10, 17}) {
        PlainSsor plain(size, kTimeStep);
        for (int step = 0; step < kSteps; ++step) {
            plain.step();
        }
        const auto norms = plain.norms();
        for (const auto& internals : usable_internals()) {
            for (const int lanes : {2, 4, 8}) {
                const auto run = internals.relax(size, kTimeStep, kSteps, 1, lanes);
                // The plain blocks are computed by differences, whose error shows in energies of
                // about 40.
                EXPECT_LT(largest_difference(run.field, plain.field()), 1e-7)
                    << internals.isa << ", size " << size << ", lanes " << lanes;
                for (std::size_t m = 0; m < run.residual.size(); ++m) {
                    EXPECT_NEAR(run.residual[m] / norms.residual[m], 1, 1e-7) << m;
                }
            }
        }
    }
}

TEST(Lu, ResultDoesNotDependOnTheNumberOfThreads) {
    for (const auto& internals : usable_internals()) {
        for (const int lanes : {2, 4, 8}) {
            const auto alone = internals.relax(19, 0.5, 4, 1, lanes);
            for (const int threads : {2, 3, 7, 12}) {
                const auto together = internals.relax(19, 0.5, 4, threads, lanes);
                EXPECT_EQ(together.field, alone.field) << threads << ' ' << internals.isa;
                EXPECT_EQ(together.residual, alone.residual) << threads << ' ' << internals.isa;
            }
        }
    }
}

TEST(Lu, SurfaceIntegralOfEvenPressureIsItsValueTimesTheArea) {
    // Along x, y and z the specification's box has 11, 10 and 10 intervals of 1/13.
    const State still{1, 0, 0, 0, 5};
    const double area = 2.0 * (11 * 10 + 11 * 10 + 10 * 10) / (13.0 * 13.0);
    EXPECT_NEAR(surface_integral([&](const Place&) { return still; }, 14), kC2 * 5 * area, 1e-12);
    const State moving{2, 1, 2, 3, 5};
    EXPECT_NEAR(pressure(moving), kC2 * (5 - 0.25 * 14), 1e-15);
}

TEST(Lu, VerificationRefusesWrongValues) {
    const auto problem = lu_problem(ProblemClass::A);
    const auto accepts = [&](const Norms& norms, double surface) {
        Outcome outcome;
        verify_lu(problem, norms, surface, outcome);
        EXPECT_EQ(outcome.checks.size(), 11U);
        return outcome.verified;
    };
    EXPECT_TRUE(accepts(problem.norms, problem.surface_integral));
    EXPECT_FALSE(accepts(problem.norms, problem.surface_integral * (1 + 2e-8)));
    EXPECT_FALSE(accepts(problem.norms, std::nan("")));
    auto wrong = problem.norms;
    wrong.residual[4] *= 1 - 2e-8;
    EXPECT_FALSE(accepts(wrong, problem.surface_integral));
}

}  // namespace
}  // namespace aferir::npb
