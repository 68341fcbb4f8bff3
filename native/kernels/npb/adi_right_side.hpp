#pragma once

// dt (R(U) + H) of BT and SP for kLanes neighbours in i at a time; pseudo_application.hpp has the
// same operator in plain form.

#include <cstddef>
#include <vector>

#include "npb/adi_field.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// A state and what its fluxes along all axes need.
struct Flow {
    Values u;
    Vector inverse;  ///< of the density
    std::array<Vector, 3> velocity;
    Vector square;  ///< kinetic energy per volume
    Vector pressure;
    Vector heat;  ///< part of the viscous energy flux that all axes share
};

[[gnu::always_inline]] inline Flow flow_of(const Values& u, const Coefficients& factors) {
    Flow flow;
    flow.u = u;
    flow.inverse = 1.0 / u[0];
    flow.velocity = {u[1] * flow.inverse, u[2] * flow.inverse, u[3] * flow.inverse};
    flow.square =
        0.5 * (u[1] * flow.velocity[0] + u[2] * flow.velocity[1] + u[3] * flow.velocity[2]);
    flow.pressure = kC2 * (u[4] - flow.square);
    flow.heat = (factors.kinetic * flow.square + factors.conduction * u[4]) * flow.inverse;
    return flow;
}

/// Adds the differences of the fluxes along one axis.
template <int Axis>
[[gnu::always_inline]] inline void add_fluxes(Values& sum, const Flow& before, const Flow& here,
                                              const Flow& after, const Coefficients& factors) {
    constexpr int kNormal = Axis + 1;
    const Vector onward = factors.first * after.velocity[Axis];
    const Vector back = factors.first * before.velocity[Axis];
    sum[0] -= factors.first * (after.u[kNormal] - before.u[kNormal]);
    unroll<3>([&](auto axis) __attribute__((always_inline)) {
        const double viscosity = axis == Axis ? factors.compression : factors.shear;
        sum[axis + 1] +=
            viscosity * (after.velocity[axis] + before.velocity[axis] - 2.0 * here.velocity[axis]) -
            onward * after.u[axis + 1] + back * before.u[axis + 1];
    });
    sum[kNormal] -= factors.first * (after.pressure - before.pressure);
    const auto viscous = [&](const Flow& flow) __attribute__((always_inline)) {
        return flow.heat + factors.dilation * flow.velocity[Axis] * flow.velocity[Axis];
    };
    sum[4] += viscous(after) + viscous(before) - 2.0 * viscous(here) -
              onward * (after.u[4] + after.pressure) + back * (before.u[4] + before.pressure);
}

/// Factors of the five states of a line around a point: diffusion less dissipation. `Number` is
/// double where all lanes lie alike on their lines, else Vector.
template <typename Number>
using Stencil = std::array<Number, 5>;

inline Stencil<double> stencil_at(int position, int size, double diffusion) {
    const int last = size - 2;
    return {position > 2 ? -kDissipation : 0.0,
            diffusion + (position > 1 ? 4.0 * kDissipation : 0.0),
            -2.0 * diffusion - (position == 1 || position == last ? 5.0 : 6.0) * kDissipation,
            diffusion + (position < last ? 4.0 * kDissipation : 0.0),
            position < last - 1 ? -kDissipation : 0.0};
}

/// Adds the stencil applied to each component of the states at centre + (-2 ... 2) step.
template <typename Number>
[[gnu::always_inline]] inline void add_stencil(Values& sum, const Stencil<Number>& stencil,
                                               const double* centre, std::size_t step,
                                               std::size_t pitch) {
    unroll<5>([&](auto m) __attribute__((always_inline)) {
        const double* const place = centre + static_cast<std::size_t>(m) * pitch;
        sum[m] += stencil[0] * load(place - 2 * step) + stencil[1] * load(place - step) +
                  stencil[2] * load(place) + stencil[3] * load(place + step) +
                  stencil[4] * load(place + 2 * step);
    });
}

/// The right-hand side of a cube's inner points.
class RightSide {
  public:
    RightSide(int size, double time_step)
        : size_(size), factors_(size), layout_(size), tables_(6 * layout_.inner_pitch) {
        for (int i = 1; i < size - 1; ++i) {
            const auto stencil = stencil_at(i, size, factors_.diffusion[0]);
            for (std::size_t part = 0; part < stencil.size(); ++part) {
                table(part)[i - 1] = stencil[part];
            }
            table(5)[i - 1] = time_step;
        }
    }

    [[nodiscard]] const Coefficients& factors() const { return factors_; }

    /// Calls sink(row, here, change) for `rows` rows of plane k from row j on: the flow and the
    /// right-hand side of the inner points from 1 + chunk kLanes on; 0 beyond the last of them.
    template <typename Sink>
    void run(const Field& u, const Field& forcing, int k, int j, int rows, int chunk,
             const Sink& sink) const {
        const auto offset = static_cast<std::size_t>(chunk) * kLanes;
        const auto pitch = u.pitch();
        const auto step = u.row_step();
        const auto plane = u.plane_step();
        const auto flow_at = [&](const double* place) __attribute__((always_inline)) {
            return flow_of(load_values(place, pitch), factors_);
        };
        const auto z_stencil = stencil_at(k, size_, factors_.diffusion[2]);
        const auto x_stencil = x_stencil_at(offset);
        const Vector time_step = load(table(5) + offset);
        const double* place = u.row(k, j) + offset;
        Flow before = flow_at(place - step);
        Flow here = flow_at(place);
        for (int row = 0; row < rows; ++row, place += step) {
            auto sum = load_values(forcing.row(k, j + row) + offset, forcing.pitch());
            add_fluxes<0>(sum, flow_at(place - 1), here, flow_at(place + 1), factors_);
            add_stencil(sum, x_stencil, place, 1, pitch);
            const Flow after = flow_at(place + step);
            add_fluxes<1>(sum, before, here, after, factors_);
            add_stencil(sum, stencil_at(j + row, size_, factors_.diffusion[1]), place, step, pitch);
            add_fluxes<2>(sum, flow_at(place - plane), here, flow_at(place + plane), factors_);
            add_stencil(sum, z_stencil, place, plane, pitch);
            for (auto& value : sum) {
                value *= time_step;
            }
            sink(row, here, sum);
            before = here;
            here = after;
        }
    }

  private:
    [[nodiscard]] double* table(std::size_t part) { return &tables_[part * layout_.inner_pitch]; }
    [[nodiscard]] const double* table(std::size_t part) const {
        return &tables_[part * layout_.inner_pitch];
    }
    [[nodiscard]] Stencil<Vector> x_stencil_at(std::size_t offset) const {
        Stencil<Vector> stencil;
        unroll<5>([&](auto part) __attribute__((always_inline)) {
            stencil[part] = load(table(part) + offset);
        });
        return stencil;
    }

    int size_;
    Coefficients factors_;
    Layout layout_;
    std::vector<double> tables_;  ///< by i: the stencil along x, and the time step; else 0
};

}  // namespace aferir::npb::AFERIR_ISA
