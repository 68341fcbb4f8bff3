#pragma once

// The implicit factor of one axis in SP: the flux Jacobian is diagonalised, which leaves five
// scalar pentadiagonal systems with three different matrices (RNR-94-007, section 3.3.3), for
// kLanes lines at once.

#include <array>
#include <cstddef>
#include <numbers>

#include "npb/adi_field.hpp"
#include "npb/adi_right_side.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

class SpLines {
  public:
    /// Doubles of scratch memory for each point of kLanes lines.
    static constexpr std::size_t kScratch = std::size_t{13} * kLanes;

    SpLines(int size, double time_step)
        : size_(size),
          convection_(time_step * Coefficients(size).first),
          diffusion_(time_step * Coefficients(size).second),
          dissipation_(time_step * kDissipation) {}

    /// To the characteristic variables of the x axis (the specification's T_x^-1).
    [[gnu::always_inline]] static void prepare(Values& change, const Flow& here) {
        const Vector sound_squared = kC1 * here.pressure * here.inverse;
        const Vector sound = square_root(sound_squared);
        const Vector energy = here.square * here.inverse * change[0] -
                              here.velocity[0] * change[1] - here.velocity[1] * change[2] -
                              here.velocity[2] * change[3] + change[4];
        const Vector entropy = kC2 * energy / sound_squared;
        const Vector scale = kHalfRoot * here.inverse;
        const Vector shear = scale * (here.velocity[0] * change[0] - change[1]);
        const Vector acoustic = scale * sound * entropy;
        const Vector along_y = here.inverse * (here.velocity[1] * change[0] - change[2]);
        const Vector along_z = here.inverse * (change[3] - here.velocity[2] * change[0]);
        change = {change[0] - entropy, along_z, along_y, acoustic - shear, acoustic + shear};
    }

    /// Solves in place along an axis and turns to the variables of the next one; along the last
    /// axis the change is added to the state instead.
    template <int Axis>
    void solve(const Lines& lines, double* scratch) const {
        eliminate<Axis>(lines, scratch);
        Values next{};
        Values next_but_one{};
        for (int point = size_ - 2; point > 0; --point) {
            const double* const kept = scratch + static_cast<std::size_t>(point) * kScratch;
            auto value = load_values(kept, kLanes);
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                constexpr int matrix = m < 3 ? 0 : m - 2;
                value[m] -= load(kept + (5 + matrix) * kLanes) * next[m] +
                            load(kept + (8 + matrix) * kLanes) * next_but_one[m];
            });
            next_but_one = next;
            next = value;
            finish<Axis>(lines, point, value, kept);
        }
    }

  private:
    static constexpr double kHalfRoot = 0.5 * std::numbers::sqrt2;

    /// Elements that a point gives to the rows of its neighbours.
    struct Wave {
        Vector convection;
        Vector diffusion;
        Vector sound;
    };

    /// The rows above, after elimination, for the three matrices: the eigenvalue u, u + c, u - c.
    struct Row {
        std::array<Vector, 3> first{};  ///< right of the diagonal
        std::array<Vector, 3> second{};
        Values right{};
    };

    /// Keeps the reciprocal of the density and the speed of sound, which finish<2> needs again.
    template <int Axis>
    [[gnu::always_inline]] Wave wave_at(const Lines& lines, int point, double* scratch) const {
        const auto u = load_values(lines.state_at(point), lines.state_pitch);
        const Vector inverse = 1.0 / u[0];
        const Vector kinetic = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * inverse;
        const Vector sound = square_root(kC1 * kC2 * inverse * (u[4] - kinetic));
        if constexpr (Axis == 2) {
            double* const kept = scratch + static_cast<std::size_t>(point) * kScratch;
            store(kept + 11 * kLanes, inverse);
            store(kept + 12 * kLanes, sound);
        }
        // The specification takes the largest of four viscous terms. Artificial diffusion is the
        // same for all components, so that it is this one for any positive density.
        const Vector spread = kDiffusion[Axis] + kC1 * kC1 * kC3C4 * inverse;
        return {convection_ * u[Axis + 1] * inverse, diffusion_ * spread, convection_ * sound};
    }

    template <int Axis>
    void eliminate(const Lines& lines, double* scratch) const {
        constexpr int kAhead = 6;
        Wave before = wave_at<Axis>(lines, 0, scratch);
        Wave here = wave_at<Axis>(lines, 1, scratch);
        Row above;
        Row above_but_one;
        for (int point = 1; point < size_ - 1; ++point) {
            if constexpr (Axis == 2) {
                lines.prefetch(point + kAhead);
            }
            const Wave after = wave_at<Axis>(lines, point + 1, scratch);
            const auto given = load_values(lines.change_at(point), lines.change_pitch);
            const bool outermost = point == 1 || point == size_ - 2;
            const auto row = reduced(before, here, after, given, outermost, above, above_but_one);
            keep(row, scratch + static_cast<std::size_t>(point) * kScratch);
            above_but_one = above;
            above = row;
            before = here;
            here = after;
        }
    }

    /// A row of the three matrices without what is left of the diagonal, and that made 1.
    [[gnu::always_inline]] Row reduced(const Wave& before, const Wave& here, const Wave& after,
                                       const Values& given, bool outermost, const Row& above,
                                       const Row& above_but_one) const {
        const Vector lower = -4.0 * dissipation_ - before.convection - before.diffusion;
        const Vector upper = -4.0 * dissipation_ + after.convection - after.diffusion;
        const Vector diagonal = 1.0 + (outermost ? 5.0 : 6.0) * dissipation_ + 2.0 * here.diffusion;
        Row row;
        std::array<Vector, 3> left;
        std::array<Vector, 3> inverse;
        unroll<3>([&](auto matrix) __attribute__((always_inline)) {
            constexpr double kSign = matrix == 0 ? 0.0 : (matrix == 1 ? 1.0 : -1.0);
            const Vector low = matrix == 0 ? lower : lower - kSign * before.sound;
            const Vector high = matrix == 0 ? upper : upper + kSign * after.sound;
            left[matrix] = low - dissipation_ * above_but_one.first[matrix];
            inverse[matrix] = 1.0 / (diagonal - dissipation_ * above_but_one.second[matrix] -
                                     left[matrix] * above.first[matrix]);
            row.first[matrix] = (high - left[matrix] * above.second[matrix]) * inverse[matrix];
            row.second[matrix] = dissipation_ * inverse[matrix];
        });
        unroll<5>([&](auto m) __attribute__((always_inline)) {
            constexpr int matrix = m < 3 ? 0 : m - 2;
            row.right[m] =
                (given[m] - dissipation_ * above_but_one.right[m] - left[matrix] * above.right[m]) *
                inverse[matrix];
        });
        return row;
    }

    [[gnu::always_inline]] static void keep(const Row& row, double* kept) {
        store_values(kept, kLanes, row.right);
        unroll<3>([&](auto matrix) __attribute__((always_inline)) {
            store(kept + (5 + matrix) * kLanes, row.first[matrix]);
            store(kept + (8 + matrix) * kLanes, row.second[matrix]);
        });
    }

    template <int Axis>
    [[gnu::always_inline]] static void finish(const Lines& lines, int point, const Values& value,
                                              const double* kept) {
        const Vector mean = 0.5 * (value[3] + value[4]);
        const Vector difference = kHalfRoot * (value[3] - value[4]);
        if constexpr (Axis == 0) {  // T_x to T_y
            const Vector turned = kHalfRoot * value[2];
            store_values(lines.change_at(point), lines.change_pitch,
                         {-value[1], value[0], difference, mean - turned, mean + turned});
        } else if constexpr (Axis == 1) {  // T_y to T_z
            const Vector turned = kHalfRoot * value[0];
            store_values(lines.change_at(point), lines.change_pitch,
                         {difference, -value[2], value[1], mean - turned, mean + turned});
        } else {
            add_conserved(lines.state_at(point), lines.state_pitch, value, load(kept + 11 * kLanes),
                          load(kept + 12 * kLanes));
        }
    }

    /// Adds to a state a change in the characteristic variables of the z axis.
    [[gnu::always_inline]] static void add_conserved(double* state, std::size_t pitch,
                                                     const Values& value, Vector inverse,
                                                     Vector sound) {
        auto u = load_values(state, pitch);
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
        store_values(state, pitch, u);
    }

    int size_;
    double convection_;   ///< dt / 2h
    double diffusion_;    ///< dt / h^2
    double dissipation_;  ///< dt dssp
};

}  // namespace aferir::npb::AFERIR_ISA
