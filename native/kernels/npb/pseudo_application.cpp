#include "npb/pseudo_application.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace aferir::npb {
namespace {

constexpr double kPseudoTolerance = 1e-8;

// RNR-94-007, table 3.1, a row for each component: the constant, then for each axis the
// coefficients of its first to fourth power.
constexpr std::array<double, 5> kConstant{2.0, 1.0, 2.0, 2.0, 5.0};
using Polynomial = std::array<double, 4>;
constexpr std::array<std::array<Polynomial, 5>, 3> kPolynomials{{{{{0.0, 5.0, 0.02, 0.5},
                                                                   {0.0, 1.0, 0.01, 0.4},
                                                                   {2.0, 0.0, 0.04, 0.3},
                                                                   {2.0, 0.0, 0.03, 0.2},
                                                                   {4.0, 0.1, 0.05, 0.1}}},
                                                                 {{{0.0, 3.0, 0.01, 0.4},
                                                                   {0.0, 2.0, 0.03, 0.3},
                                                                   {0.0, 2.0, 0.03, 0.5},
                                                                   {0.0, 2.0, 0.05, 0.1},
                                                                   {3.0, 0.4, 0.04, 0.3}}},
                                                                 {{{4.0, 0.5, 0.03, 0.3},
                                                                   {0.0, 3.0, 0.02, 0.5},
                                                                   {0.0, 3.0, 0.05, 0.4},
                                                                   {0.0, 3.0, 0.04, 0.3},
                                                                   {2.0, 0.3, 0.03, 0.2}}}}};

double evaluate(const Polynomial& power, double x) {
    return x * (power[0] + x * (power[1] + x * (power[2] + x * power[3])));
}

/// The fourth difference at `position` of a line, omitting the states that must not take part.
double dissipation(const std::array<State, 5>& line, std::size_t m, int position, int size) {
    const int last = size - 2;
    double sum = (position == 1 || position == last ? 5.0 : 6.0) * line[2][m];
    sum -= position > 1 ? 4.0 * line[1][m] : 0.0;
    sum -= position < last ? 4.0 * line[3][m] : 0.0;
    sum += position > 2 ? line[0][m] : 0.0;
    sum += position < last - 1 ? line[4][m] : 0.0;
    return sum;
}

}  // namespace

Flux flux(const State& u, const Coefficients& factors, int axis) {
    const auto normal = static_cast<std::size_t>(axis) + 1;
    const std::array velocity{u[1] / u[0], u[2] / u[0], u[3] / u[0]};
    const double speed = velocity[normal - 1];
    const double energy = 0.5 * (u[1] * velocity[0] + u[2] * velocity[1] + u[3] * velocity[2]);
    Flux result{};
    result.convective[0] = u[normal];
    for (std::size_t m = 1; m <= 3; ++m) {
        result.convective[m] = u[m] * speed;
        result.viscous[m] = factors.shear * velocity[m - 1];
    }
    result.convective[normal] += kC2 * (u[4] - energy);
    result.viscous[normal] = factors.compression * speed;
    result.convective[4] = speed * (kC1 * u[4] - kC2 * energy);
    result.viscous[4] = factors.kinetic * energy / u[0] + factors.dilation * speed * speed +
                        factors.conduction * u[4] / u[0];
    return result;
}

State axis_operator(const std::array<State, 5>& line, const Coefficients& factors, int axis,
                    int position, int size) {
    const auto before = flux(line[1], factors, axis);
    const auto here = flux(line[2], factors, axis);
    const auto after = flux(line[3], factors, axis);
    const double diffusion = factors.diffusion[static_cast<std::size_t>(axis)];
    State result{};
    for (std::size_t m = 0; m < result.size(); ++m) {
        result[m] = diffusion * (line[3][m] - 2.0 * line[2][m] + line[1][m]) +
                    (after.viscous[m] - 2.0 * here.viscous[m] + before.viscous[m]) -
                    factors.first * (after.convective[m] - before.convective[m]) -
                    kDissipation * dissipation(line, m, position, size);
    }
    return result;
}

ExactField::ExactField(int size) : size_(size), factors_(size) {
    for (std::size_t axis = 0; axis < polynomials_.size(); ++axis) {
        for (int index = 0; index < size; ++index) {
            State values{};
            for (std::size_t m = 0; m < values.size(); ++m) {
                values[m] = evaluate(kPolynomials[axis][m], index / (size - 1.0));
            }
            polynomials_[axis].push_back(values);
        }
    }
}

State ExactField::at(const Place& place) const {
    State state{};
    for (std::size_t m = 0; m < state.size(); ++m) {
        state[m] = kConstant[m] + polynomials_[0][static_cast<std::size_t>(place[0])][m] +
                   polynomials_[1][static_cast<std::size_t>(place[1])][m] +
                   polynomials_[2][static_cast<std::size_t>(place[2])][m];
    }
    return state;
}

State ExactField::initial(const Place& place) const {
    if (!inside(place)) {
        return at(place);
    }
    // Interpolates linearly between the two faces of each axis, and combines the three results a, b
    // and c as 1 - (1-a)(1-b)(1-c).
    State rest{};
    rest.fill(1.0);
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
        auto low = place;
        auto high = place;
        low[axis] = 0;
        high[axis] = size_ - 1;
        const double part = place[axis] / (size_ - 1.0);
        const auto from = at(low);
        const auto to = at(high);
        for (std::size_t m = 0; m < rest.size(); ++m) {
            rest[m] *= 1.0 - (part * to[m] + (1.0 - part) * from[m]);
        }
    }
    for (auto& value : rest) {
        value = 1.0 - value;
    }
    return rest;
}

State ExactField::forcing(const Place& place) const {
    if (!inside(place)) {
        return {};
    }
    auto change = spatial_operator([this](const Place& at_place) { return at(at_place); }, factors_,
                                   place, size_);
    for (auto& value : change) {
        value = -value;
    }
    return change;
}

bool ExactField::inside(const Place& place) const {
    return std::ranges::none_of(place, [&](int index) { return index == 0 || index == size_ - 1; });
}

State root_mean_square(const State& squares, int size) {
    const double inner = size - 2.0;
    State result{};
    for (std::size_t m = 0; m < result.size(); ++m) {
        result[m] = std::sqrt(squares[m] / (inner * inner * inner));
    }
    return result;
}

void verify_norms(const Norms& computed, const Norms& reference, Outcome& outcome) {
    const auto add = [&](const std::string& name, const State& values, const State& right) {
        for (std::size_t m = 0; m < values.size(); ++m) {
            outcome.checks.push_back(
                compare(name + " " + std::to_string(m + 1), values[m], right[m]));
        }
    };
    add("residual norm", computed.residual, reference.residual);
    add("error norm", computed.error, reference.error);
    outcome.verified = all_within(outcome.checks, kPseudoTolerance);
}

}  // namespace aferir::npb
