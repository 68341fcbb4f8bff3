#pragma once

// The right-hand side dt (R(U) + H) of BT and SP, kLanes points at a time; pseudo_application.hpp
// has the same operator in plain form. Vectors hold neighbours in i for the differences along y and
// z, and neighbours in j for those along x, as the solves do: no difference crosses lanes.

#include <array>
#include <cstddef>

#include "npb/adi_field.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Quantities of a point, besides its state, that the differences along an axis need.
struct Flow {
    Vector inverse;  ///< of the density
    Vector speed;    ///< along the axis
    Vector pressure;
    Vector heat;  ///< viscous energy flux that comes of the kinetic energy
};

/// Quantities of a point that the solves need.
struct Medium {
    Vector inverse;
    std::array<Vector, 3> velocity;
    Vector pressure;
    Vector kinetic;  ///< energies per mass
    Vector energy;
};

[[gnu::always_inline]] inline Medium medium_of(const Values& u) {
    Medium medium;
    medium.inverse = 1.0 / u[0];
    medium.velocity = {u[1] * medium.inverse, u[2] * medium.inverse, u[3] * medium.inverse};
    const auto& [x, y, z] = medium.velocity;
    const Vector square = 0.5 * (u[1] * x + u[2] * y + u[3] * z);
    medium.pressure = kC2 * (u[4] - square);
    medium.kinetic = square * medium.inverse;
    medium.energy = u[4] * medium.inverse;
    return medium;
}

template <int Axis>
[[gnu::always_inline]] inline Flow flow_of(const Medium& medium, const Coefficients& factors) {
    const Vector speed = medium.velocity[Axis];
    return {medium.inverse, speed, medium.pressure,
            factors.kinetic * medium.kinetic + factors.dilation * speed * speed};
}

/// A point and its neighbours on the line. They stay in their places in memory: moving them would
/// cost more than reading them.
template <typename Item>
class Window {
  public:
    Window() = default;
    ~Window() = default;
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Window(Window&&) = delete;
    Window& operator=(Window&&) = delete;

    Item& before() { return *before_; }
    Item& here() { return *here_; }
    Item& after() { return *after_; }

    /// Steps to the next point, whose `after` is not set.
    void advance() {
        auto* const free = before_;
        before_ = here_;
        here_ = after_;
        after_ = free;
    }

  private:
    Item first_;
    Item second_;
    Item third_;
    Item* before_ = &first_;
    Item* here_ = &second_;
    Item* after_ = &third_;
};

/// Weights of the five states of a line around a point: diffusion minus dissipation.
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
    std::ptrdiff_t back;  ///< steps to the far state; 1 if that does not count or exist
    std::ptrdiff_t onward;
};

/// Adds R's differences along one axis at `centre`, whose neighbours are `step` away. All terms
/// with the same component of a neighbour are combined into one factor.
template <int Axis>
[[gnu::always_inline]] inline void add_differences(Values& sum, const Flow& before,
                                                   const Flow& here, const Flow& after,
                                                   const Stencil& stencil, const double* centre,
                                                   std::ptrdiff_t step,
                                                   const Coefficients& factors) {
    constexpr int kNormal = Axis + 1;
    const Vector back = factors.first * before.speed;
    const Vector onward = factors.first * after.speed;
    const Vector near_back = stencil.near_back + back;
    const Vector near_onward = stencil.near_onward - onward;
    unroll<5>([&](auto m) __attribute__((always_inline)) {
        const double* const place = centre + m * kLanes;
        sum[m] += stencil.far_back * load(place - stencil.back * step);
        sum[m] += stencil.far_onward * load(place + stencil.onward * step);
        if constexpr (m == 0) {
            sum[m] += stencil.near_back * load(place - step);
            sum[m] += stencil.near_onward * load(place + step);
            sum[m] += stencil.centre * load(place);
        } else {
            const double viscosity = m == 4 ? factors.conduction : factors.shear;
            sum[m] += (near_back + viscosity * before.inverse) * load(place - step);
            sum[m] += (near_onward + viscosity * after.inverse) * load(place + step);
            sum[m] += (stencil.centre - 2.0 * viscosity * here.inverse) * load(place);
        }
    });
    sum[0] += factors.first * load(centre - step + kNormal * kLanes);
    sum[0] -= factors.first * load(centre + step + kNormal * kLanes);
    const double compression = factors.compression - factors.shear;
    sum[kNormal] += compression * (before.speed + after.speed);
    sum[kNormal] -= 2.0 * compression * here.speed;
    sum[kNormal] += factors.first * (before.pressure - after.pressure);
    sum[4] += before.heat + after.heat;
    sum[4] -= 2.0 * here.heat;
    sum[4] += back * before.pressure;
    sum[4] -= onward * after.pressure;
}

/// The right-hand side of a cube's inner points, in two parts.
class RightSide {
  public:
    RightSide(int size, double time_step) : size_(size), time_step_(time_step), factors_(size) {}

    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const Coefficients& factors() const { return factors_; }

    /// Adds the forcing and the differences along y and z for one block in each of `rows` rows of
    /// plane k from row j on, and writes the sum of each row to target + row kBlock.
    void run(const Field& u, const Field& forcing, int k, int j, int rows, int block,
             double* target) const {
        const auto step = static_cast<std::ptrdiff_t>(u.row_step());
        const auto plane = static_cast<std::ptrdiff_t>(u.plane_step());
        const auto y_flow = [&](const double* place) __attribute__((always_inline)) {
            return flow_of<1>(medium_of(load_values(place)), factors_);
        };
        const auto z_flow = [&](const double* place) __attribute__((always_inline)) {
            return flow_of<2>(medium_of(load_values(place)), factors_);
        };
        const Stencil z_stencil(k, size_, factors_.diffusion[2]);
        const double* place = u.block(k, j, block);
        const double* given = forcing.block(k, j, block);
        Window<Flow> flows;
        flows.before() = y_flow(place - step);
        flows.here() = y_flow(place);
        for (int row = 0; row < rows; ++row) {
            auto sum = load_values(given);
            add_differences<2>(sum, z_flow(place - plane), z_flow(place), z_flow(place + plane),
                               z_stencil, place, plane, factors_);
            flows.after() = y_flow(place + step);
            add_differences<1>(sum, flows.before(), flows.here(), flows.after(),
                               Stencil(j + row, size_, factors_.diffusion[1]), place, step,
                               factors_);
            store_values(target, sum);
            flows.advance();
            place += step;
            given += forcing.row_step();
            target += kBlock;
        }
    }

    /// Adds the differences along x to the results of `run` for a point of kLanes lines along x,
    /// and multiplies by the time step.
    [[gnu::always_inline]] void complete(Values& sum, const Lines& lines, int point,
                                         const Medium& before, const Medium& here,
                                         const Medium& after) const {
        add_differences<0>(sum, flow_of<0>(before, factors_), flow_of<0>(here, factors_),
                           flow_of<0>(after, factors_),
                           Stencil(point, size_, factors_.diffusion[0]), lines.state(point),
                           static_cast<std::ptrdiff_t>(lines.state_step), factors_);
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
