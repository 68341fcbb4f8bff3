#pragma once

// The implicit factor of one axis in BT: block-tridiagonal systems (RNR-94-007, section 3.3.2),
// kLanes lines at once. Blocks are computed from the states when they are needed; only the upper
// blocks are stored, after elimination.

#include <algorithm>
#include <array>
#include <cstddef>

#include "npb/adi_field.hpp"
#include "npb/adi_right_side.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// 5x5 matrix for each lane, stored by columns; rows and columns are density, the momentum along
/// the line's axis, the two other momenta, energy.
using Matrix = std::array<Values, 5>;

/// Elements of the Jacobians of the fluxes that are not 0.
inline constexpr std::array<std::array<bool, 5>, 5> kCoupled{{{true, true, false, false, false},
                                                              {true, true, true, true, true},
                                                              {true, true, true, false, false},
                                                              {true, true, false, true, false},
                                                              {true, true, true, true, true}}};

class BtLines {
  public:
    /// Doubles of scratch memory for each point of kLanes lines.
    static constexpr std::size_t kScratch = std::size_t{30} * kLanes;

    BtLines(const RightSide& right_side, double time_step)
        : right_side_(right_side),
          size_(right_side.size()),
          convection_(time_step * right_side.factors().first),
          diffusion_(time_step * right_side.factors().second) {}

    /// Solves in place along an axis. Along x it first completes the right-hand side; along z it
    /// adds the change to the state instead.
    template <int Axis, typename AnyLines = Lines>
    void solve(const AnyLines& lines, double* scratch) const {
        eliminate<Axis>(lines, scratch);
        Values next{};
        for (int point = size_ - 2; point > 0; --point) {
            const double* const kept = scratch + static_cast<std::size_t>(point) * kScratch;
            auto value = load_values(kept + 25 * kLanes);
            unroll<5>([&](auto n) __attribute__((always_inline)) {
                unroll<5>([&](auto m) __attribute__((always_inline)) {
                    value[m] -= load(kept + (n * 5 + m) * kLanes) * next[n];
                });
            });
            next = value;
            finish<Axis>(lines, point, value);
        }
    }

  private:
    template <int Axis>
    static constexpr std::array<std::size_t, 5> kOrder{0, 1 + Axis, 1 + (Axis + 1) % 3,
                                                       1 + (Axis + 2) % 3, 4};

    /// Quantities of a state that the Jacobians need; velocity[0] is along the line.
    struct Local {
        template <int Axis>
        [[gnu::always_inline]] static Local from(const Medium& medium) {
            return {medium.inverse,
                    {medium.velocity[Axis], medium.velocity[(Axis + 1) % 3],
                     medium.velocity[(Axis + 2) % 3]},
                    medium.kinetic,
                    medium.energy};
        }

        Vector inverse;
        std::array<Vector, 3> velocity;
        Vector kinetic;
        Vector energy;
    };

    template <int Axis, typename AnyLines>
    [[gnu::always_inline]] static void finish(const AnyLines& lines, int point,
                                              const Values& value) {
        unroll<5>([&](auto m) __attribute__((always_inline)) {
            constexpr auto kComponent = kOrder<Axis>[m] * kLanes;
            if constexpr (Axis == 2) {
                double* const place = lines.state(point) + kComponent;
                store(place, load(place) + value[m]);
            } else {
                store(lines.change(point) + kComponent, value[m]);
            }
        });
    }

    /// The Jacobian of the viscous flux times dt / h^2, where it is not 0: its first column, its
    /// diagonal and its last row.
    struct Viscous {
        Values column;    ///< [0] is unused
        Values diagonal;  ///< [0] is unused
        Values row;       ///< [1] to [3]
    };

    [[nodiscard, gnu::always_inline]] static Viscous viscous_of(const Local& at, double diffusion) {
        constexpr double kCompression = 4.0 / 3.0 * kC3C4;
        constexpr double kConduction = kC1 * kC1 * kC3C4;
        const Vector mass = diffusion * at.inverse;
        Viscous jacobian;
        Vector total = kConduction * at.energy;
        unroll<3>([&](auto i) __attribute__((always_inline)) {
            constexpr double kFactor = i == 0 ? kCompression : kC3C4;
            const Vector momentum = mass * at.velocity[i];
            jacobian.column[i + 1] = -kFactor * momentum;
            jacobian.diagonal[i + 1] = kFactor * mass;
            jacobian.row[i + 1] = (kFactor - kConduction) * momentum;
            total += (kFactor - kConduction) * at.velocity[i] * at.velocity[i];
        });
        jacobian.column[4] = -mass * total;
        jacobian.diagonal[4] = kConduction * mass;
        return jacobian;
    }

    /// The block that couples a point to its neighbour with that state: before (-1) or after it.
    template <int Axis, int Side>
    [[nodiscard, gnu::always_inline]] Matrix coupling(const Local& at) const {
        const auto viscous = viscous_of(at, -diffusion_);
        const double side = Side * convection_;
        const Vector normal = side * at.velocity[0];
        const Vector one = at.velocity[1];
        const Vector other = at.velocity[2];
        const Vector diagonal = broadcast(-diffusion_ * kDiffusion[Axis]);
        Matrix block;
        block[0] = {diagonal, side * kC2 * at.kinetic - normal * at.velocity[0] + viscous.column[1],
                    viscous.column[2] - normal * one, viscous.column[3] - normal * other,
                    normal * (2.0 * kC2 * at.kinetic - kC1 * at.energy) + viscous.column[4]};
        block[1] = {broadcast(side), (2.0 - kC2) * normal + viscous.diagonal[1] + diagonal,
                    side * one, side * other,
                    side * (kC1 * at.energy - kC2 * at.kinetic) - kC2 * normal * at.velocity[0] +
                        viscous.row[1]};
        block[2] = {Vector{}, -kC2 * side * one, normal + viscous.diagonal[2] + diagonal, Vector{},
                    viscous.row[2] - kC2 * normal * one};
        block[3] = {Vector{}, -kC2 * side * other, Vector{},
                    normal + viscous.diagonal[3] + diagonal, viscous.row[3] - kC2 * normal * other};
        block[4] = {Vector{}, broadcast(side * kC2), Vector{}, Vector{},
                    kC1 * normal + viscous.diagonal[4] + diagonal};
        return block;
    }

    template <int Axis>
    [[nodiscard, gnu::always_inline]] Matrix diagonal(const Local& at) const {
        const auto viscous = viscous_of(at, 2.0 * diffusion_);
        const Vector unit = broadcast(1.0 + 2.0 * diffusion_ * kDiffusion[Axis]);
        Matrix block{};
        block[0] = {unit, viscous.column[1], viscous.column[2], viscous.column[3],
                    viscous.column[4]};
        unroll<3>([&](auto i) __attribute__((always_inline)) {
            block[i + 1][i + 1] = viscous.diagonal[i + 1] + unit;
            block[i + 1][4] = viscous.row[i + 1];
        });
        block[4][4] = viscous.diagonal[4] + unit;
        return block;
    }

    /// target -= block * vector
    [[gnu::always_inline]] static void subtract_product(Values& target, const Matrix& block,
                                                        const Values& vector) {
        unroll<5>([&](auto n) __attribute__((always_inline)) {
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                if constexpr (kCoupled[m][n]) {
                    target[m] -= block[n][m] * vector[n];
                }
            });
        });
    }

    /// Replaces a block by its factors L (whose unit diagonal is not stored) and U, with the
    /// reciprocals of U's diagonal. The blocks are diagonally dominant, so that no row is
    /// exchanged.
    [[gnu::always_inline]] static void factorize(Matrix& block) {
        unroll<5>([&](auto p) __attribute__((always_inline)) {
            block[p][p] = 1.0 / block[p][p];
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                if constexpr (m > p) {
                    block[p][m] *= block[p][p];
                    unroll<5>([&](auto n) __attribute__((always_inline)) {
                        if constexpr (n > p) {
                            block[n][m] -= block[p][m] * block[n][p];
                        }
                    });
                }
            });
        });
    }

    /// Solves for a right-hand side whose elements before `First` are 0.
    template <int First>
    [[gnu::always_inline]] static void substitute(const Matrix& factors, Values& vector) {
        unroll<5>([&](auto p) __attribute__((always_inline)) {
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                if constexpr (p >= First && m > p) {
                    vector[m] -= factors[p][m] * vector[p];
                }
            });
        });
        unroll<5>([&](auto back) __attribute__((always_inline)) {
            constexpr int p = 4 - back;
            vector[p] *= factors[p][p];
            unroll<5>([&](auto m) __attribute__((always_inline)) {
                if constexpr (m < p) {
                    vector[m] -= factors[p][m] * vector[p];
                }
            });
        });
    }

    /// Eliminates forwards. This leaves, for each point, the upper block and the right-hand side of
    /// a system without lower blocks, whose diagonal blocks are unit matrices.
    template <int Axis, typename AnyLines>
    void eliminate(const AnyLines& lines, double* scratch) const {
        constexpr int kAhead = 4;
        Window<Medium> media;
        media.before() = medium_of(load_values(lines.state(0)));
        media.here() = medium_of(load_values(lines.state(1)));
        for (int point = 1; point < size_ - 1; ++point) {
            if constexpr (Axis == 2) {
                lines.prefetch(std::min(point + kAhead, size_ - 1));
            }
            double* const kept = scratch + static_cast<std::size_t>(point) * kScratch;
            media.after() = medium_of(load_values(lines.state(point + 1)));
            auto given = load_values(lines.change(point));
            if constexpr (Axis == 0) {
                right_side_.complete(given, lines, point, media.before(), media.here(),
                                     media.after());
            }
            Values right;
            unroll<5>([&](auto m)
                          __attribute__((always_inline)) { right[m] = given[kOrder<Axis>[m]]; });
            auto middle = diagonal<Axis>(Local::from<Axis>(media.here()));
            if (point > 1) {
                const double* const last = kept - kScratch;
                const auto lower = coupling<Axis, -1>(Local::from<Axis>(media.before()));
                subtract_product(right, lower, load_values(last + 25 * kLanes));
                unroll<5>([&](auto n) __attribute__((always_inline)) {
                    subtract_product(middle[n], lower, load_values(last + n * 5 * kLanes));
                });
            }
            factorize(middle);
            substitute<0>(middle, right);
            store_values(kept + 25 * kLanes, right);
            auto upper = coupling<Axis, 1>(Local::from<Axis>(media.after()));
            unroll<5>([&](auto n) __attribute__((always_inline)) {
                substitute<(n < 2 ? 0 : 1)>(middle, upper[n]);
                store_values(kept + n * 5 * kLanes, upper[n]);
            });
            media.advance();
        }
    }

    const RightSide& right_side_;
    int size_;
    double convection_;  ///< dt / 2h
    double diffusion_;   ///< dt / h^2
};

}  // namespace aferir::npb::AFERIR_ISA
