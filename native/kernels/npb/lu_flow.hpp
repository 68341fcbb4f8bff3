#pragma once

#include <array>
#include <type_traits>

#include "common/simd.hpp"
#include "npb/block.hpp"
#include "npb/pseudo_application.hpp"

// LU's arithmetic on W points at once. The 5 x 5 blocks of the Jacobians are never formed: their
// products with a vector, and the solution with the block on the diagonal, are written out from the
// derivatives of the fluxes, which takes a tenth of the operations.

namespace aferir::npb::AFERIR_ISA {

template <int Value>
using Constant = std::integral_constant<int, Value>;

template <int W>
using Five = std::array<Block<W>, 5>;

/// The factors of the equation, each times the time step; names as in `Coefficients`.
struct LuFactors {
    LuFactors(int size, double time_step, double relaxation);

    double first;
    double pressure;          ///< factor of the energy in `first` times pressure
    double kinetic_pressure;  ///< factor of density times squared speed in the same
    double shear;
    double compression;
    double half_kinetic;
    double dilation;
    double conduction;
    std::array<double, 3> diffusion;
    double dissipation;

    // Factors of the block on the diagonal.
    double diagonal;  ///< of the identity
    double inverse_diagonal;
    double diagonal_shear;
    double diagonal_conduction;

    // Factors of the blocks beside the diagonal, times the relaxation factor.
    double off_first;
    double off_pressure;
    double off_shear;
    double off_compression;
    double off_dilation;
    double off_kinetic;
    double off_conduction;
    std::array<double, 3> off_diffusion;

    double step;  ///< of a correction: 1 / (omega (2 - omega))
};

inline LuFactors::LuFactors(int size, double time_step, double relaxation) {
    const Coefficients factors(size);
    first = time_step * factors.first;
    pressure = kC2 * first;
    kinetic_pressure = kC2 / 2 * first;
    shear = time_step * factors.shear;
    compression = time_step * factors.compression;
    half_kinetic = time_step * factors.kinetic / 2;
    dilation = time_step * factors.dilation;
    conduction = time_step * factors.conduction;
    dissipation = time_step * kDissipation;
    diagonal = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        diffusion[axis] = time_step * factors.diffusion[axis];
        off_diffusion[axis] = relaxation * diffusion[axis];
        diagonal += 2 * diffusion[axis];
    }
    inverse_diagonal = 1 / diagonal;
    diagonal_shear = 2 * (compression + 2 * shear);
    diagonal_conduction = 6 * conduction;
    off_first = relaxation * first;
    off_pressure = relaxation * pressure;
    off_shear = relaxation * shear;
    off_compression = relaxation * compression;
    off_dilation = relaxation * (compression - shear);
    off_kinetic = relaxation * (shear - conduction);
    off_conduction = relaxation * conduction;
    step = 1 / (relaxation * (2 - relaxation));
}

/// States of W points, and the quantities that every use of them needs.
template <int W>
struct LuFlow {
    /// `load(m)` returns a quantity of the W points: component m of the state for m = 0 to 4, and 1
    /// / density for m = 5.
    template <typename Load>
    [[gnu::always_inline]] explicit LuFlow(const Load& load) : volume(load(Constant<5>{})) {
        unroll<5>([&](auto m) { state[m] = load(m); });
        unroll<3>([&](auto m) { velocity[m] = volume * state[m + 1]; });
        motion = state[1] * velocity[0] + state[2] * velocity[1] + state[3] * velocity[2];
    }

    Five<W> state;
    Block<W> volume;  ///< 1 / density
    std::array<Block<W>, 3> velocity;
    Block<W> motion;  ///< density times squared speed
};

/// Adds to the change at a point the contribution of its neighbour at `Side` (-1, +1) along `Axis`;
/// `difference` is the neighbour's coefficient in the second and fourth difference.
template <int Axis, int Side, int W>
[[gnu::always_inline]] inline void add_neighbour(Five<W>& change, const LuFlow<W>& flow,
                                                 Block<W> difference, const LuFactors& factors) {
    const auto& u = flow.state;
    const Block<W> normal = flow.velocity[Axis];
    const double first = Side * factors.first;
    const Block<W> pressure =
        Side * factors.pressure * u[4] - Side * factors.kinetic_pressure * flow.motion;
    const Block<W> transport = difference - first * normal;
    change[0] += difference * u[0] - first * u[Axis + 1];
    unroll<3>([&](auto m) {
        const double viscosity = m == Axis ? factors.compression : factors.shear;
        change[m + 1] += transport * u[m + 1] + viscosity * flow.velocity[m];
    });
    change[Axis + 1] -= pressure;
    change[4] += transport * u[4] + normal * (factors.dilation * normal - pressure);
    change[4] += flow.volume * (factors.half_kinetic * flow.motion + factors.conduction * u[4]);
}

/// Adds the point's own contribution to its change.
template <int W>
[[gnu::always_inline]] inline void add_centre(Five<W>& change, const LuFlow<W>& flow,
                                              Block<W> difference, const LuFactors& factors) {
    unroll<5>([&](auto m) { change[m] += difference * flow.state[m]; });
    unroll<3>([&](auto m) { change[m + 1] -= factors.diagonal_shear * flow.velocity[m]; });
    change[4] -= flow.volume * ((6 * factors.half_kinetic + 2 * factors.dilation) * flow.motion +
                                factors.diagonal_conduction * flow.state[4]);
}

/// Solves for `delta` with the block on the diagonal, D delta = right; 0 if `active` is 0.
template <int W>
[[gnu::always_inline]] inline Five<W> solve_diagonal(const Five<W>& right, const LuFlow<W>& flow,
                                                     Block<W> active, const LuFactors& factors) {
    const Block<W> shear = factors.diagonal_shear * flow.volume;
    const Block<W> conduction = factors.diagonal_conduction * flow.volume;
    const Block<W> momentum = factors.diagonal + shear;
    const Block<W> energy = factors.diagonal + conduction;
    const Block<W> inverse = active / (momentum * energy);  // one division instead of two
    const Block<W> per_momentum = inverse * energy;
    const Block<W> per_energy = inverse * momentum;
    Five<W> delta;
    delta[0] = right[0] * (active * factors.inverse_diagonal);
    Block<W> heating{};
    const Block<W> sheared = shear * delta[0];
    unroll<3>([&](auto m) {
        delta[m + 1] = (right[m + 1] + sheared * flow.velocity[m]) * per_momentum;
        heating += flow.velocity[m] * (delta[m + 1] - flow.velocity[m] * delta[0]);
    });
    const Block<W> specific = flow.volume * flow.state[4] * delta[0];
    delta[4] = (right[4] - (shear - conduction) * heating + conduction * specific) * per_energy;
    return delta;
}

/// The products of a point's three Jacobian blocks with `delta`, which its neighbours along x, y
/// and z need: `Side` +1 is for those after it (the lower triangle), -1 for those before.
template <int Side, int W>
struct Products {
    [[gnu::always_inline]] Products(const Five<W>& delta, const LuFlow<W>& flow,
                                    const LuFactors& factors) {
        const auto& velocity = flow.velocity;
        std::array<Block<W>, 3> slip;  // density times the change of velocity
        unroll<3>([&](auto m) { slip[m] = delta[m + 1] - velocity[m] * delta[0]; });
        const Block<W> work = velocity[0] * slip[0] + velocity[1] * slip[1] + velocity[2] * slip[2];
        const Block<W> energy = flow.volume * flow.state[4];
        const double first = Side * factors.off_first;
        const double gain = Side * factors.off_pressure;
        const Block<W> half_square = 0.5 * flow.volume * flow.motion;
        const Block<W> pressure = gain * (delta[4] - work - half_square * delta[0]);
        const Block<W> enthalpy = first * energy + gain * (energy - half_square);
        const Block<W> heat =
            flow.volume *
            (factors.off_kinetic * work + factors.off_conduction * (delta[4] - energy * delta[0]));
        const Block<W> shear = factors.off_shear * flow.volume;
        const Block<W> dilation = factors.off_dilation * flow.volume;
        unroll<3>([&](auto axis) {
            const Block<W> transport = factors.off_diffusion[axis] + first * velocity[axis];
            const Block<W> carried = first * slip[axis];
            const Block<W> push = dilation * slip[axis] + pressure;
            auto& out = along[axis];
            out[0] = factors.off_diffusion[axis] * delta[0] + first * delta[axis + 1];
            unroll<3>([&](auto m) {
                out[m + 1] = transport * delta[m + 1] + carried * velocity[m] + shear * slip[m];
            });
            out[axis + 1] += push;
            out[4] = heat + transport * delta[4] + push * velocity[axis] + enthalpy * slip[axis];
        });
    }

    std::array<Five<W>, 3> along;
};

}  // namespace aferir::npb::AFERIR_ISA
