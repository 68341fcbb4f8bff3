#pragma once

#include "ocean/model.hpp"

namespace aferir::ocean {

/// How fast the error against a solution that is known falls when the cells' edge is halved.
struct Convergence {
    double coarse_error = 0;  ///< root mean square, m, of an elevation of 1 m at most
    double fine_error = 0;

    [[nodiscard]] double order() const;
};

/// One implicit step from rest with a source that makes a known elevation the exact answer: the
/// elliptic operator, over a bottom that is not even. Second order.
Convergence elliptic_convergence(MPI_Comm comm, Method method, Shape coarse);

/// A standing wave over the same bottom, kept up by a source, followed for a quarter of its period
/// with steps as many as cells: the whole time step. Second order.
Convergence wave_convergence(MPI_Comm comm, Method method, Shape coarse);

/// The smallest grid, a power of two times 128 x 64, that gives every process a part.
Shape coarse_shape(int processes);

}  // namespace aferir::ocean
