#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/isa.hpp"
#include "npb/cg_matrix.hpp"
#include "npb/npb.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb {

/// The points of a periodic cube, row by row and plane by plane.
struct Cube {
    explicit Cube(std::size_t edge) : size(edge), points(edge * edge * edge) {}

    [[nodiscard]] std::size_t place(std::ptrdiff_t plane, std::ptrdiff_t row,
                                    std::ptrdiff_t column) const {
        const auto wrap = [&](std::ptrdiff_t i) {
            return static_cast<std::size_t>(i) & (size - 1);
        };
        return (wrap(plane) * size + wrap(row)) * size + wrap(column);
    }

    std::size_t size;
    std::vector<double> points;
};

struct SweepResult {
    Cube u;
    Cube s;
    double squares = 0;
};

/// States or changes of the points of a cube, in the order [k][j][i].
struct Flows {
    explicit Flows(int edge)
        : size(edge),
          points(static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge) *
                 static_cast<std::size_t>(edge)) {}

    State& at(const Place& place) { return points[index(place)]; }
    [[nodiscard]] const State& at(const Place& place) const { return points[index(place)]; }
    [[nodiscard]] std::size_t index(const Place& place) const {
        return static_cast<std::size_t>((place[2] * size + place[1]) * size + place[0]);
    }

    int size;
    std::vector<State> points;
};

/// A run of LU: the state of all points, i fastest, and the norm of the last residual.
struct LuRun {
    std::vector<State> field;
    State residual{};
};

/// Functions of the kernels that are compiled for one instruction-set level, made accessible to
/// tests.
struct Internals {
    std::string_view isa;

    /// A x, with the rows divided into `parts` parts.
    std::vector<double> (*multiply)(const SparseMatrix& a, int parts, std::vector<double> x);

    /// For each key of the range, the number of keys not larger.
    std::vector<std::uint32_t> (*rank)(std::span<const std::uint32_t> keys, std::size_t key_range,
                                       int threads);

    /// Runs LU in blocks of 2, 4 or 8 columns; narrower if a register holds fewer.
    LuRun (*relax)(int size, double time_step, int iterations, int threads, int lanes);

    Cube (*residual)(const Cube& v, const Cube& u);
    Cube (*smooth)(const Cube& u, const Cube& r, const std::array<double, 3>& smoother);
    Cube (*restricted)(const Cube& fine);
    Cube (*interpolated)(const Cube& u, const Cube& coarse);

    /// A whole sweep, cut into `cuts` parts across planes and as many across rows.
    SweepResult (*sweep)(const Cube& u, const Cube& z, const Cube& v,
                         const std::array<double, 3>& smoother, int cuts);

    /// dt (R(U) + H) of BT and SP at the inner points; 0 elsewhere.
    Flows (*right_side)(const Flows& states, const Flows& forcing, double time_step);

    /// The changes after the solves along one axis, 1 or 2 for y or z (then the new states).
    Flows (*solve_bt)(const Flows& states, const Flows& changes, double time_step, int axis);
    Flows (*solve_sp)(const Flows& states, const Flows& changes, double time_step, int axis);

    Outcome (*run_bt)(ProblemClass problem, int threads);
    Outcome (*run_sp)(ProblemClass problem, int threads);
};

#if defined(__x86_64__)
namespace isa_v2 {
Internals internals();
}
namespace isa_v3 {
Internals internals();
}
namespace isa_v4 {
Internals internals();
}
#else
namespace isa_base {
Internals internals();
}
#endif

/// The internals of all levels that this processor can run.
inline std::vector<Internals> usable_internals() {
    std::vector<Internals> usable;
    for (const auto isa : usable_isas()) {
#if defined(__x86_64__)
        if (isa == "v4") {
            usable.push_back(isa_v4::internals());
        } else if (isa == "v3") {
            usable.push_back(isa_v3::internals());
        } else {
            usable.push_back(isa_v2::internals());
        }
#else
        usable.push_back(isa_base::internals());
#endif
        usable.back().isa = isa;
    }
    return usable;
}

}  // namespace aferir::npb
