// BT, a pseudo-application: implicit time steps of a compressible flow by
// block-tridiagonal systems of 5 x 5 blocks along each axis (RNR-94-007,
// section 3.3.2).

#include "npb/adi_problem.hpp"
#include "npb/adi_run.hpp"
#include "npb/bt_lines.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_bt(ProblemClass problem, int threads);

Outcome run_bt(ProblemClass problem, int threads) {
    return run_adi<BtLines>(bt_problem(problem), threads);
}

}  // namespace aferir::npb::AFERIR_ISA
