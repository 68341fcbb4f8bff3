#pragma once

#include "npb/npb.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb {

/// A problem that is stepped in time by alternating-direction implicit solves (BT and SP).
struct AdiProblem {
    int size = 0;  ///< grid points along an edge of the cube
    int iterations = 0;
    double time_step = 0;
    double operations = 0;  ///< floating-point operations of all iterations, as NPB 3 counts them
    Norms reference;        ///< published norms after the last iteration
};

AdiProblem bt_problem(ProblemClass problem);
AdiProblem sp_problem(ProblemClass problem);

}  // namespace aferir::npb
