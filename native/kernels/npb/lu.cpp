// LU, the pseudo-application that solves by symmetric successive over-relaxation (RNR-94-007,
// section 3.4).

#include "common/memory.hpp"
#include "npb/lu_fronts.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_run.hpp"
#include "npb/lu_sweep.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_lu(ProblemClass problem_class, int threads);

Outcome run_lu(ProblemClass problem_class, int threads) {
    const auto problem = lu_problem(problem_class);
    require_memory(LuFields::bytes(Fronts(problem.size, kLanes)));
    const ExactField exact(problem.size);
    const LuPlan plan{problem.size, problem.time_step, problem.iterations, threads};
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = lu_operations(problem);
    run_plan(plan, exact, [&](const LuResult& result, const auto& field) {
        outcome.seconds = result.seconds;
        auto norms = norms_of(field, exact, threads);
        norms.residual = result.residual;
        verify_lu(problem, norms, surface_integral(field, problem.size), outcome);
    });
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
