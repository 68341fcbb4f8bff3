#pragma once

#include <cstddef>

#include "npb/npb.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb {

/// RNR-94-007, section 3.4, and NPB 3: symmetric successive over-relaxation on a cube.
struct LuProblem {
    int size;  ///< grid points along an edge
    int iterations;
    double time_step;
    Norms norms;              ///< published
    double surface_integral;  ///< published
};

inline constexpr double kRelaxation = 1.2;  ///< omega

LuProblem lu_problem(ProblemClass problem);

/// Floating-point operations as NPB counts them.
double lu_operations(const LuProblem& problem);

/// Adds the eleven checks; `verified` is that all are within 1e-8.
void verify_lu(const LuProblem& problem, const Norms& norms, double surface_integral,
               Outcome& outcome);

/// (gamma - 1) times the internal energy.
double pressure(const State& state);

/// Integral of the pressure over the surface of a box one or two points inside the cube's boundary.
/// Only points in `part` contribute; `field(Place)` returns their states.
template <typename Field>
double surface_integral(const Field& field, int size, const Box& part) {
    // The specification's box, whose ends differ from axis to axis.
    const Place low{1, 1, 2};
    const Place high{size - 2, size - 3, size - 2};
    double total = 0;
    for (std::size_t normal = 0; normal < 3; ++normal) {
        const auto first = normal == 0 ? 1U : 0U;
        const auto second = normal == 2 ? 1U : 2U;
        // The trapezoidal rule: half at an edge, a quarter at a corner.
        const auto weight = [&](std::size_t axis, int index) {
            return index == low[axis] || index == high[axis] ? 0.5 : 1.0;
        };
        Place place{};
        for (const int end : {low[normal], high[normal]}) {
            place[normal] = end;
            for (int a = low[first]; a <= high[first]; ++a) {
                place[first] = a;
                for (int b = low[second]; b <= high[second]; ++b) {
                    place[second] = b;
                    if (!(part[0].has(place[0]) && part[1].has(place[1]) &&
                          part[2].has(place[2]))) {
                        continue;
                    }
                    total += weight(first, a) * weight(second, b) * pressure(field(place));
                }
            }
        }
    }
    const double intervals = size - 1.0;
    return total / (intervals * intervals);
}

template <typename Field>
double surface_integral(const Field& field, int size) {
    return surface_integral(field, size, inner_box(size));
}

}  // namespace aferir::npb
