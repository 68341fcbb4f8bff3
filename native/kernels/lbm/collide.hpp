#pragma once

#include <array>

#include "lbm/lattice.hpp"

namespace aferir::lbm {

/// All factors of a collision that do not depend on the cell.
template <typename Number>
struct Constants {
    Number rest_keep, rest_take;      ///< 1 - even, even w0
    Number even_keep, odd_keep;       ///< (1 - even) / 2, (1 - odd) / 2
    Number face_even, edge_even;      ///< even w
    Number face_square, edge_square;  ///< 9/2 even w
    Number face_linear, edge_linear;  ///< 3 odd w
    Number face_force, edge_force;    ///< 3 (1 - odd/2) w force
    Number half_force, three_halves;
};

template <typename Number, typename Make>
Constants<Number> constants(Relaxation rates, double force, Make make) {
    const double forced = 3 * (1 - rates.odd / 2) * force;
    return {make(1 - rates.even),
            make(rates.even * kRestWeight),
            make((1 - rates.even) / 2),
            make((1 - rates.odd) / 2),
            make(rates.even * kFaceWeight),
            make(rates.even * kEdgeWeight),
            make(4.5 * rates.even * kFaceWeight),
            make(4.5 * rates.even * kEdgeWeight),
            make(3 * rates.odd * kFaceWeight),
            make(3 * rates.odd * kEdgeWeight),
            make(forced * kFaceWeight),
            make(forced * kEdgeWeight),
            make(force / 2),
            make(1.5)};
}

/// Collides the populations `f` of one cell, or of one cell a lane, in place. They are stored less
/// their weights, so that small differences keep their digits; the equilibrium is that of an
/// incompressible fluid (X. He and L.-S. Luo, J. Stat. Phys. 88, 1997), the force Z. Guo's.
///
/// Even and odd part of a pair of opposite populations relax each at its own rate; with their sum s
/// and difference d, the pair becomes a + b and a - b.
template <typename Number>
[[gnu::always_inline]] inline void collide(std::array<Number, kDirections>& f,
                                           const Constants<Number>& k) {
    constexpr int kPairs = kDirections / 2;
    std::array<Number, kPairs> s;
    std::array<Number, kPairs> d;
#pragma GCC unroll 9
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
        s[pair] = f[2 * pair + 1] + f[2 * pair + 2];
        d[pair] = f[2 * pair + 1] - f[2 * pair + 2];
    }
    const Number density =
        f[0] + (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + ((s[6] + s[7]) + s[8])));
    const Number x = ((d[0] + d[3]) + (d[4] + d[5])) + (d[6] + k.half_force);
    const Number y = (d[1] + d[3] - d[4]) + (d[7] + d[8]);
    const Number z = (d[2] + d[5] - d[6]) + (d[7] - d[8]);
    const Number common = density - k.three_halves * (x * x + y * y + z * z);
    f[0] = k.rest_keep * f[0] + k.rest_take * common;

    const auto relax = [&](std::size_t pair, Number along, Number even, Number square,
                           Number linear) __attribute__((always_inline)) {
        const Number a = k.even_keep * s[pair] + (square * (along * along) + even);
        const Number b = k.odd_keep * d[pair] + linear * along;
        f[2 * pair + 1] = a + b;
        f[2 * pair + 2] = a - b;
    };
    const auto push = [&](std::size_t pair, Number along, Number even, Number square, Number linear,
                          Number force) __attribute__((always_inline)) {
        const Number a = k.even_keep * s[pair] + (square * (along * along) + even);
        const Number b = k.odd_keep * d[pair] + (linear * along + force);
        f[2 * pair + 1] = a + b;
        f[2 * pair + 2] = a - b;
    };
    const Number face = k.face_even * common;
    push(0, x, face, k.face_square, k.face_linear, k.face_force);
    relax(1, y, face, k.face_square, k.face_linear);
    relax(2, z, face, k.face_square, k.face_linear);
    const Number edge = k.edge_even * common;
    push(3, x + y, edge, k.edge_square, k.edge_linear, k.edge_force);
    push(4, x - y, edge, k.edge_square, k.edge_linear, k.edge_force);
    push(5, x + z, edge, k.edge_square, k.edge_linear, k.edge_force);
    push(6, x - z, edge, k.edge_square, k.edge_linear, k.edge_force);
    relax(7, y + z, edge, k.edge_square, k.edge_linear);
    relax(8, y - z, edge, k.edge_square, k.edge_linear);
}

}  // namespace aferir::lbm
