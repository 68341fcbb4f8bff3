// SP, a pseudo-application: implicit time steps of a compressible flow by
// scalar pentadiagonal systems along each axis (RNR-94-007, section
// 3.3.3).

#include "npb/adi_problem.hpp"
#include "npb/adi_run.hpp"
#include "npb/npb.hpp"
#include "npb/sp_lines.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_sp(ProblemClass problem, int threads);

Outcome run_sp(ProblemClass problem, int threads) {
    return run_adi<SpLines>(sp_problem(problem), threads);
}

}  // namespace aferir::npb::AFERIR_ISA
