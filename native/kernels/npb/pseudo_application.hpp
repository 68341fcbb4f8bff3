#pragma once

// Common parts of the pseudo-applications BT, SP and LU (RNR-94-007, chapter 3): the synthetic
// equation dU/dt = R(U) + H of a compressible flow on a cube, its exact steady solution U*, the
// forcing H = -R(U*), the initial field, and the norms that verify a run. One point at a time, in
// plain arithmetic, since set-up and verification are not timed.

#include <array>
#include <cstddef>
#include <vector>

#include "npb/npb.hpp"

namespace aferir::npb {

/// Density, momentum along x, y and z, and energy, each per volume.
using State = std::array<double, 5>;

/// i, j and k of a grid point, counted from 0.
using Place = std::array<int, 3>;

/// Half-open range of grid points along an axis.
struct GridRange {
    int begin;
    int end;

    [[nodiscard]] int size() const { return end - begin; }
    [[nodiscard]] bool has(int index) const { return index >= begin && index < end; }
    friend bool operator==(const GridRange&, const GridRange&) = default;
};

// The constants c1 to c4 of the specification; its c5 is c1.
inline constexpr double kC1 = 1.4;
inline constexpr double kC2 = 0.4;
inline constexpr double kC3C4 = 0.1 * 1.0;
inline constexpr double kDissipation = 0.25;                         ///< dssp
inline constexpr std::array<double, 3> kDiffusion{0.75, 0.75, 1.0};  ///< dx, dy, dz

/// The factors of R on a cube of `size` points along an edge of length 1. They are the same for
/// all axes, but for the artificial diffusion.
struct Coefficients {
    explicit Coefficients(int size)
        : first((size - 1) / 2.0), second((size - 1.0) * (size - 1.0)) {}

    double first;                                             ///< tx2 = 1 / 2h
    double second;                                            ///< tx1 = 1 / h^2
    double shear = kC3C4 * second;                            ///< xxcon2: other velocities
    double compression = 4.0 / 3.0 * shear;                   ///< xxcon1: velocity along the axis
    double kinetic = (1.0 - kC1 * kC1) * shear;               ///< xxcon3: half squared velocity
    double dilation = shear / 6.0;                            ///< xxcon4: squared normal velocity
    double conduction = kC1 * kC1 * shear;                    ///< xxcon5: energy per mass
    std::array<double, 3> diffusion{kDiffusion[0] * second,   ///< dx1tx1 to dx5tx1
                                    kDiffusion[1] * second,   ///< dy1ty1 ...
                                    kDiffusion[2] * second};  ///< dz1tz1 ...
};

/// Contribution of a point to the differences along one axis.
struct Flux {
    State convective;  ///< in first differences
    State viscous;     ///< in second differences
};

Flux flux(const State& u, const Coefficients& factors, int axis);

/// One axis of R at a point from the five states of its line around it; `position` on the line is
/// 1 to size - 2. States that lie on or beyond the boundary take no part in the dissipation.
State axis_operator(const std::array<State, 5>& line, const Coefficients& factors, int axis,
                    int position, int size);

/// R(U) at an inner point; `field(Place)` gives the state of any point of the cube.
template <typename Field>
State spatial_operator(const Field& field, const Coefficients& factors, const Place& place,
                       int size) {
    State total{};
    for (int axis = 0; axis < 3; ++axis) {
        std::array<State, 5> line{};
        const auto along = static_cast<std::size_t>(axis);
        for (int step = -2; step <= 2; ++step) {
            auto neighbour = place;
            neighbour[along] += step;
            if (neighbour[along] >= 0 && neighbour[along] < size) {
                line[static_cast<std::size_t>(step + 2)] = field(neighbour);
            }
        }
        const auto part = axis_operator(line, factors, axis, place[along], size);
        for (std::size_t m = 0; m < total.size(); ++m) {
            total[m] += part[m];
        }
    }
    return total;
}

/// Exact solution on a cube of `size` points along an edge, and the fields derived from it.
class ExactField {
  public:
    explicit ExactField(int size);

    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const Coefficients& factors() const { return factors_; }

    /// The exact solution; a sum of one polynomial for each axis, all tabulated.
    [[nodiscard]] State at(const Place& place) const;

    /// Exact on the boundary, inside interpolated between the six faces.
    [[nodiscard]] State initial(const Place& place) const;

    /// H of the specification (`forcing`; LU's `frct` is -H): 0 on the boundary.
    [[nodiscard]] State forcing(const Place& place) const;

  private:
    [[nodiscard]] bool inside(const Place& place) const;

    int size_;
    Coefficients factors_;
    std::array<std::vector<State>, 3> polynomials_;
};

/// Root mean squares over the inner points of R(U) + H and of U - U*.
struct Norms {
    State residual{};
    State error{};
};

/// Root mean square from the sum of squares over all inner points.
State root_mean_square(const State& squares, int size);

/// The inner points of a cube, or those that a process has: ranges along i, j and k.
using Box = std::array<GridRange, 3>;

inline Box inner_box(int size) { return {{{1, size - 1}, {1, size - 1}, {1, size - 1}}}; }

/// Sums of squares over a box; `field(Place)` gives the state of its points and of those up to two
/// away, and is asked by several threads.
template <typename Field>
Norms squares_of(const Field& field, const ExactField& exact, const Box& box, int threads) {
    // Sums by plane, so that they do not depend on the number of threads.
    std::vector<Norms> planes(static_cast<std::size_t>(exact.size()));
#pragma omp parallel for num_threads(threads)
    for (int k = box[2].begin; k < box[2].end; ++k) {
        auto& plane = planes[static_cast<std::size_t>(k)];
        for (int j = box[1].begin; j < box[1].end; ++j) {
            for (int i = box[0].begin; i < box[0].end; ++i) {
                const Place place{i, j, k};
                const auto change = spatial_operator(field, exact.factors(), place, exact.size());
                const auto forcing = exact.forcing(place);
                const auto right = exact.at(place);
                const auto state = field(place);
                for (std::size_t m = 0; m < state.size(); ++m) {
                    const double residual = change[m] + forcing[m];
                    const double error = state[m] - right[m];
                    plane.residual[m] += residual * residual;
                    plane.error[m] += error * error;
                }
            }
        }
    }
    Norms sums;
    for (const auto& plane : planes) {
        for (std::size_t m = 0; m < sums.error.size(); ++m) {
            sums.residual[m] += plane.residual[m];
            sums.error[m] += plane.error[m];
        }
    }
    return sums;
}

/// Norms of a field. `exact` and `field` are as in squares_of().
template <typename Field>
Norms norms_of(const Field& field, const ExactField& exact, int threads) {
    const auto sums = squares_of(field, exact, inner_box(exact.size()), threads);
    return {root_mean_square(sums.residual, exact.size()),
            root_mean_square(sums.error, exact.size())};
}

/// Adds the ten checks to the outcome; `verified` is that all its checks are within 1e-8.
void verify_norms(const Norms& computed, const Norms& reference, Outcome& outcome);

}  // namespace aferir::npb
