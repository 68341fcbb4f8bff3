// BT, a pseudo-application (see npb/bt.cpp), by message passing.

#include "npb/adi_problem.hpp"
#include "npb/bt_lines.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/adi_share.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_bt(ProblemClass problem, Ranks& ranks);

// NOLINTNEXTLINE(misc-const-correctness): all kernels are entered in the same way
Outcome run_mpi_bt(ProblemClass problem, Ranks& ranks) {
    return run_adi<BtLines>("BT", bt_problem(problem), ranks);
}

}  // namespace aferir::npb::AFERIR_ISA
