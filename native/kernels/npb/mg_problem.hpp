#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "npb/npb.hpp"

namespace aferir::npb {

/// RNR-94-007, section 2.3: V-cycles for a Poisson equation on a periodic cube.
struct MgProblem {
    std::size_t size;  ///< grid points along an edge, a power of two
    int iterations;
    std::array<double, 3> smoother;  ///< by distance: centre, faces, edges; corners are 0
    double norm;                     ///< published L2 norm of the last residual
};

MgProblem mg_problem(ProblemClass problem);

/// Floating-point operations, as NPB 3 counts them.
double mg_operations(const MgProblem& problem);

/// Compares the last residual's L2 norm with the published one.
void verify_mg(const MgProblem& problem, double norm, Outcome& outcome);

/// A grid point, counted from 0.
struct Point {
    std::size_t plane;
    std::size_t row;
    std::size_t column;
};

/// The right-hand side: +1 if the ten largest of size^3 random numbers fall, -1 if the ten
/// smallest do, 0 elsewhere.
struct Charges {
    std::vector<Point> positive;
    std::vector<Point> negative;
};

Charges find_charges(std::size_t size, int threads);

}  // namespace aferir::npb
