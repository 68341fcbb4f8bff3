#pragma once

// The implicit factor of one axis in SP: the flux Jacobian is diagonalised, which leaves five
// scalar pentadiagonal systems with three different matrices (RNR-94-007, section 3.3.3), for
// kLanes lines at once.

#include <algorithm>
#include <array>
#include <cstddef>
#include <numbers>
#include <type_traits>

#include "npb/adi_field.hpp"
#include "npb/adi_right_side.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

class SpLines {
  public:
    /// Doubles of scratch memory for each point of kLanes lines.
    static constexpr std::size_t kScratch = std::size_t{13} * kLanes;

    SpLines(const RightSide& right_side, double time_step)
        : right_side_(right_side),
          size_(right_side.size()),
          convection_(time_step * right_side.factors().first),
          diffusion_(time_step * right_side.factors().second),
          dissipation_(time_step * kDissipation) {}

    /// Solves in place along an axis, and transforms the result to the variables of the next axis.
    /// Along x it first completes the right-hand side; along z it adds the change to the state
    /// instead.
    template <int Axis, typename AnyLines = Lines>
    void solve(const AnyLines& lines, double* scratch) const {
        eliminate<Axis>(lines, scratch);
        Values next{};
        Values next_but_one{};
        for (int point = size_ - 2; point > 0; --point) {
            const double* const kept = at(scratch, point);
            auto value = load_values(kept);
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                constexpr int kMatrix = matrix_of(m);
                value[m] -= load(kept + (5 + kMatrix) * kLanes) * next[m] +
                            load(kept + (8 + kMatrix) * kLanes) * next_but_one[m];
            });
            next_but_one = next;
            next = value;
            finish<Axis>(lines, point, value, kept);
        }
    }

  private:
    static constexpr double kHalfRoot = 0.5 * std::numbers::sqrt2;

    /// Elements that a point contributes to the rows of its neighbours.
    struct Wave {
        Vector convection;
        Vector diffusion;
        Vector sound;
    };

    struct PlainPoint {
        Wave wave;
    };

    /// A point with what the right-hand side and its characteristic variables need.
    struct FullPoint {
        Wave wave;
        Medium medium;
        Vector sound;  ///< its speed
    };

    template <int Axis>
    using Point = std::conditional_t<Axis == 0, FullPoint, PlainPoint>;

    /// Index of a component's matrix: 0, 1, 2 for the eigenvalues u, u + c, u - c (c is the speed
    /// of sound).
    static constexpr int matrix_of(int component) { return component < 3 ? 0 : component - 2; }

    /// Keeps the reciprocal of the density and the speed of sound, which finish<2> needs again.
    template <int Axis, typename AnyLines>
    [[gnu::always_inline]] void look_at(const AnyLines& lines, int index, double* scratch,
                                        Point<Axis>& point) const {
        const auto medium = medium_of(load_values(lines.state(index)));
        const Vector sound = square_root(kC1 * medium.pressure * medium.inverse);
        if constexpr (Axis == 2) {
            double* const kept = at(scratch, index);
            store(kept + 11 * kLanes, medium.inverse);
            store(kept + 12 * kLanes, sound);
        } else if constexpr (Axis == 0) {
            point.medium = medium;
            point.sound = sound;
        }
        // The specification takes the largest of four viscous terms. Artificial diffusion is the
        // same for all components, so that it is this one for any positive density.
        const Vector spread = kDiffusion[Axis] + kC1 * kC1 * kC3C4 * medium.inverse;
        point.wave = {convection_ * medium.velocity[Axis], diffusion_ * spread,
                      convection_ * sound};
    }

    /// Scratch memory of a point. Its first two places belong to points -1 and 0, so that the
    /// elimination can look two points back from point 1.
    static double* at(double* scratch, int index) {
        return scratch + static_cast<std::size_t>(index + 1) * kScratch;
    }

    template <int Axis, typename AnyLines>
    void eliminate(const AnyLines& lines, double* scratch) const {
        constexpr int kAhead = 6;
        std::fill(scratch, scratch + 2 * kScratch, 0.0);
        Window<Point<Axis>> points;
        look_at<Axis>(lines, 0, scratch, points.before());
        look_at<Axis>(lines, 1, scratch, points.here());
        for (int index = 1; index < size_ - 1; ++index) {
            if constexpr (Axis == 2) {
                lines.prefetch(std::min(index + kAhead, size_ - 1));
            }
            const auto& before = points.before();
            const auto& here = points.here();
            auto& after = points.after();
            look_at<Axis>(lines, index + 1, scratch, after);
            // NOLINTNEXTLINE(misc-const-correctness): along one axis it is changed
            auto given = load_values(lines.change(index));
            if constexpr (Axis == 0) {
                right_side_.complete(given, lines, index, before.medium, here.medium, after.medium);
                given = characteristic(given, here);
            }
            const bool outermost = index == 1 || index == size_ - 2;
            reduce(before.wave, here.wave, after.wave, given, outermost, at(scratch, index));
            points.advance();
        }
    }

    /// The change in the characteristic variables of the x axis (the specification's T_x^-1).
    [[gnu::always_inline]] static Values characteristic(const Values& change,
                                                        const FullPoint& here) {
        const auto& [x, y, z] = here.medium.velocity;
        const Vector inverse = here.medium.inverse;
        const Vector energy = here.medium.kinetic * change[0] - x * change[1] - y * change[2] -
                              z * change[3] + change[4];
        const Vector entropy = kC2 * energy / (here.sound * here.sound);
        const Vector scale = kHalfRoot * inverse;
        const Vector shear = scale * (x * change[0] - change[1]);
        const Vector acoustic = scale * here.sound * entropy;
        return {change[0] - entropy, inverse * (change[3] - z * change[0]),
                inverse * (y * change[0] - change[2]), acoustic - shear, acoustic + shear};
    }

    /// Eliminates the elements to the left of the diagonal in one row of the three matrices, and
    /// scales the diagonal to 1. Stores in `kept` the right-hand side ([0] to [4]), the elements
    /// next to the diagonal ([5] to [7]) and those after them ([8] to [10]). The rows above are in
    /// front of `kept`.
    [[gnu::always_inline]] void reduce(const Wave& before, const Wave& here, const Wave& after,
                                       const Values& given, bool outermost, double* kept) const {
        const double* const above = kept - kScratch;
        const double* const above_but_one = above - kScratch;
        const Vector lower = -4.0 * dissipation_ - before.convection - before.diffusion;
        const Vector upper = -4.0 * dissipation_ + after.convection - after.diffusion;
        const Vector diagonal = 1.0 + (outermost ? 5.0 : 6.0) * dissipation_ + 2.0 * here.diffusion;
        std::array<Vector, 3> left;
        std::array<Vector, 3> inverse;
        unroll<3>([&](auto matrix) __attribute__((always_inline)) {
            constexpr double kSign = std::array{0.0, 1.0, -1.0}[matrix];
            const Vector low = matrix == 0 ? lower : lower - kSign * before.sound;
            const Vector high = matrix == 0 ? upper : upper + kSign * after.sound;
            const auto next = (5 + matrix) * kLanes;
            const auto behind = (8 + matrix) * kLanes;
            left[matrix] = low - dissipation_ * load(above_but_one + next);
            inverse[matrix] = 1.0 / (diagonal - dissipation_ * load(above_but_one + behind) -
                                     left[matrix] * load(above + next));
            store(kept + next, (high - left[matrix] * load(above + behind)) * inverse[matrix]);
            store(kept + behind, dissipation_ * inverse[matrix]);
        });
        unroll<5>([&](auto m) __attribute__((always_inline)) {
            constexpr int kMatrix = matrix_of(m);
            store(kept + m * kLanes, (given[m] - dissipation_ * load(above_but_one + m * kLanes) -
                                      left[kMatrix] * load(above + m * kLanes)) *
                                         inverse[kMatrix]);
        });
    }

    template <int Axis, typename AnyLines>
    [[gnu::always_inline]] static void finish(const AnyLines& lines, int point, const Values& value,
                                              const double* kept) {
        const Vector mean = 0.5 * (value[3] + value[4]);
        const Vector difference = kHalfRoot * (value[3] - value[4]);
        if constexpr (Axis == 0) {  // T_x to T_y
            const Vector turned = kHalfRoot * value[2];
            store_values(lines.change(point),
                         {-value[1], value[0], difference, mean - turned, mean + turned});
        } else if constexpr (Axis == 1) {  // T_y to T_z
            const Vector turned = kHalfRoot * value[0];
            store_values(lines.change(point),
                         {difference, -value[2], value[1], mean - turned, mean + turned});
        } else {
            add_conserved(lines.state(point), value, load(kept + 11 * kLanes),
                          load(kept + 12 * kLanes));
        }
    }

    /// Adds to a state a change in the characteristic variables of the z axis.
    [[gnu::always_inline]] static void add_conserved(double* state, const Values& value,
                                                     Vector inverse, Vector sound) {
        auto u = load_values(state);
        const Vector scale = kHalfRoot * u[0];
        const Vector acoustic = scale / sound * (value[3] + value[4]);
        const Vector along_z = scale * (value[3] - value[4]);
        const Vector mass = value[2] + acoustic;
        const Vector x = u[1] * inverse;
        const Vector y = u[2] * inverse;
        const Vector z = u[3] * inverse;
        const Vector kinetic = 0.5 * (x * x + y * y + z * z);
        const Vector turn = y * value[0] - x * value[1];
        const Vector enthalpy = sound * sound * acoustic / kC2;
        const Vector density = u[0];
        u[0] += mass;
        u[1] += x * mass - density * value[1];
        u[2] += y * mass + density * value[0];
        u[3] += z * mass + along_z;
        u[4] += density * turn + kinetic * mass + enthalpy + z * along_z;
        store_values(state, u);
    }

    const RightSide& right_side_;
    int size_;
    double convection_;   ///< dt / 2h
    double diffusion_;    ///< dt / h^2
    double dissipation_;  ///< dt dssp
};

}  // namespace aferir::npb::AFERIR_ISA
