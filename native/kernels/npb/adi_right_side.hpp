#pragma once

// The right-hand side dt (R(U) + H) of BT and SP, kLanes points at a time; pseudo_application.hpp
// has the same operator in plain form. Vectors hold neighbours in i for the differences along y and
// z, and neighbours in j for those along x, as the solves do: no difference crosses lanes.

#include <array>
#include <cstddef>

#include "npb/adi_field.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// What the fluxes along all axes need beside the state itself.
struct Flow {
    std::array<Vector, 3> velocity;
    Vector pressure;
    Vector heat;  ///< part of the viscous energy flux that all axes share
};

/// What the implicit factors need too.
struct Medium : Flow {
    Vector inverse;  ///< of the density
    Vector kinetic;  ///< energies per mass
    Vector energy;
};

[[gnu::always_inline]] inline Medium medium_of(const Values& u, const Coefficients& factors) {
    Medium medium;
    medium.inverse = 1.0 / u[0];
    medium.velocity = {u[1] * medium.inverse, u[2] * medium.inverse, u[3] * medium.inverse};
    const auto& [x, y, z] = medium.velocity;
    const Vector square = 0.5 * (u[1] * x + u[2] * y + u[3] * z);
    medium.kinetic = square * medium.inverse;
    medium.energy = u[4] * medium.inverse;
    medium.pressure = kC2 * (u[4] - square);
    medium.heat = factors.kinetic * medium.kinetic + factors.conduction * medium.energy;
    return medium;
}

/// Three of something, by turns those of one point, the one before and the one after. They stay in
/// memory: to move them on would cost more than to read them.
template <typename Item>
class Window {
  public:
    Item& operator[](int point) { return items_[static_cast<std::size_t>(point + 3) % 3]; }

  private:
    std::array<Item, 3> items_;
};

/// Adds the differences of the fluxes along one axis at `centre`, whose neighbours are `step` away.
template <int Axis>
[[gnu::always_inline]] inline void add_fluxes(Values& sum, const Flow& before, const Flow& here,
                                              const Flow& after, const double* centre,
                                              std::ptrdiff_t step, std::size_t pitch,
                                              const Coefficients& factors) {
    constexpr int kNormal = Axis + 1;
    const auto state_before = load_values(centre - step, pitch);
    const auto state_after = load_values(centre + step, pitch);
    const Vector onward = factors.first * after.velocity[Axis];
    const Vector back = factors.first * before.velocity[Axis];
    sum[0] -= factors.first * (state_after[kNormal] - state_before[kNormal]);
    unroll<3>([&](auto axis) __attribute__((always_inline)) {
        const double viscosity = axis == Axis ? factors.compression : factors.shear;
        sum[axis + 1] +=
            viscosity * (after.velocity[axis] + before.velocity[axis] - 2.0 * here.velocity[axis]) -
            onward * state_after[axis + 1] + back * state_before[axis + 1];
    });
    sum[kNormal] -= factors.first * (after.pressure - before.pressure);
    const auto viscous = [&](const Flow& flow) __attribute__((always_inline)) {
        return flow.heat + factors.dilation * flow.velocity[Axis] * flow.velocity[Axis];
    };
    sum[4] += viscous(after) + viscous(before) - 2.0 * viscous(here) -
              onward * (state_after[4] + after.pressure) +
              back * (state_before[4] + before.pressure);
}

/// What the five states of a line around a point count: diffusion less dissipation.
struct Stencil {
    Stencil(int position, int size, double diffusion)
        : back(position > 2 ? 2 : 1), onward(position < size - 3 ? 2 : 1) {
        const int last = size - 2;
        const bool outermost = position == 1 || position == last;
        far_back = position > 2 ? -kDissipation : 0.0;
        near_back = diffusion + (position > 1 ? 4.0 * kDissipation : 0.0);
        centre = -2.0 * diffusion - (outermost ? 5.0 : 6.0) * kDissipation;
        near_onward = diffusion + (position < last ? 4.0 * kDissipation : 0.0);
        far_onward = position < last - 1 ? -kDissipation : 0.0;
    }

    double far_back;
    double near_back;
    double centre;
    double near_onward;
    double far_onward;
    std::ptrdiff_t back;  ///< steps to the far states, or to others where those count nothing
    std::ptrdiff_t onward;
};

/// Adds the stencil applied to each component of the states around `centre`, `step` apart.
[[gnu::always_inline]] inline void add_stencil(Values& sum, const Stencil& stencil,
                                               const double* centre, std::ptrdiff_t step,
                                               std::size_t pitch) {
    unroll<5>([&](auto m) __attribute__((always_inline)) {
        const double* const place = centre + static_cast<std::size_t>(m) * pitch;
        sum[m] += stencil.far_back * load(place - stencil.back * step) +
                  stencil.near_back * load(place - step) + stencil.centre * load(place) +
                  stencil.near_onward * load(place + step) +
                  stencil.far_onward * load(place + stencil.onward * step);
    });
}

/// The right-hand side of a cube's inner points, in two parts.
class RightSide {
  public:
    RightSide(int size, double time_step) : size_(size), time_step_(time_step), factors_(size) {}

    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const Coefficients& factors() const { return factors_; }

    /// Calls sink(row, sum) for `rows` rows of plane k from row j on: the forcing and the
    /// differences along y and z of kLanes points, the first being 1 + chunk kLanes.
    template <typename Sink>
    void run(const Field& u, const Field& forcing, int k, int j, int rows, int chunk,
             const Sink& sink) const {
        const auto offset = static_cast<std::size_t>(chunk) * kLanes;
        const auto pitch = u.pitch();
        const auto step = static_cast<std::ptrdiff_t>(u.row_step());
        const auto plane = static_cast<std::ptrdiff_t>(u.plane_step());
        const auto flow_at = [&](const double* place) __attribute__((always_inline)) {
            return static_cast<Flow>(medium_of(load_values(place, pitch), factors_));
        };
        const Stencil z_stencil(k, size_, factors_.diffusion[2]);
        const double* place = u.row(k, j) + offset;
        const double* given = forcing.row(k, j) + offset;
        Window<Flow> flows;
        flows[-1] = flow_at(place - step);
        flows[0] = flow_at(place);
        for (int row = 0; row < rows; ++row) {
            const Flow& here = flows[row];
            flows[row + 1] = flow_at(place + step);
            auto sum = load_values(given, forcing.pitch());
            add_fluxes<2>(sum, flow_at(place - plane), here, flow_at(place + plane), place, plane,
                          pitch, factors_);
            add_stencil(sum, z_stencil, place, plane, pitch);
            add_fluxes<1>(sum, flows[row - 1], here, flows[row + 1], place, step, pitch, factors_);
            add_stencil(sum, Stencil(j + row, size_, factors_.diffusion[1]), place, step, pitch);
            sink(row, sum);
            place += step;
            given += forcing.row_step();
        }
    }

    /// Adds the differences along x to what `run` gave for a point of kLanes lines along x, and
    /// multiplies by the time step.
    [[gnu::always_inline]] void complete(Values& sum, const Lines& lines, int point,
                                         const Flow& before, const Flow& here,
                                         const Flow& after) const {
        const double* const centre = lines.state_at(point);
        const auto step = static_cast<std::ptrdiff_t>(lines.state_step);
        add_fluxes<0>(sum, before, here, after, centre, step, lines.state_pitch, factors_);
        add_stencil(sum, Stencil(point, size_, factors_.diffusion[0]), centre, step,
                    lines.state_pitch);
        for (auto& value : sum) {
            value *= time_step_;
        }
    }

  private:
    int size_;
    double time_step_;
    Coefficients factors_;
};

}  // namespace aferir::npb::AFERIR_ISA
