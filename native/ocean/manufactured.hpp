#pragma once

#include "ocean/model.hpp"

namespace aferir::ocean {

/// Decrease of the error against a known solution when the cells' edge is halved.
struct Convergence {
    double coarse_error = 0;  ///< root mean square, m, of an elevation of 1 m at most
    double fine_error = 0;

    [[nodiscard]] double order() const;
};

/// Convergence of one implicit step from rest, with a source for which a known elevation is the
/// exact answer: tests the elliptic operator over an uneven bottom. Second order.
Convergence elliptic_convergence(MPI_Comm comm, Method method, Shape coarse);

/// Convergence of a standing wave over the same bottom, maintained by a source, over a quarter of
/// its period with as many steps as cells: tests the whole time step. Second order.
Convergence wave_convergence(MPI_Comm comm, Method method, Shape coarse);

/// Smallest grid, a power of two times 128 x 64, that has a part for every process.
Shape coarse_shape(int processes);

}  // namespace aferir::ocean
