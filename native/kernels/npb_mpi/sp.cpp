// SP, a pseudo-application (see npb/sp.cpp), by message passing.

#include "npb/adi_problem.hpp"
#include "npb/npb.hpp"
#include "npb/sp_lines.hpp"
#include "npb_mpi/adi_share.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_sp(ProblemClass problem, Ranks& ranks);

// NOLINTNEXTLINE(misc-const-correctness): all kernels are entered in the same way
Outcome run_mpi_sp(ProblemClass problem, Ranks& ranks) {
    return run_adi<SpLines>("SP", sp_problem(problem), ranks);
}

}  // namespace aferir::npb::AFERIR_ISA
