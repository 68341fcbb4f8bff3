// LU, the pseudo-application that solves by symmetric successive over-relaxation (RNR-94-007,
// section 3.4).

#include <cstddef>

#include "common/memory.hpp"
#include "npb/lu_fronts.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_run.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_lu(ProblemClass problem_class, int threads);

namespace {

std::size_t bytes_needed(const LuProblem& problem) {
    const Fronts fronts(problem.size, kLanes);
    const auto points = (fronts.highest() - fronts.lowest()) * fronts.blocks() * fronts.lanes();
    return static_cast<std::size_t>(points) * 16 * sizeof(double);
}

}  // namespace

Outcome run_lu(ProblemClass problem_class, int threads) {
    const auto problem = lu_problem(problem_class);
    require_memory(bytes_needed(problem));
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
