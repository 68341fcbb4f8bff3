// LU, the pseudo-application that solves by symmetric successive over-relaxation (RNR-94-007,
// section 3.4).

#include <omp.h>

#include <cstddef>
#include <vector>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/lu_fronts.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_run.hpp"
#include "npb/lu_sweep.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_lu(ProblemClass problem_class, int threads);

template <int W>
LuResult run_threads(LuFields& fields, const ExactField& exact, const LuPlan& plan) {
    const Relays relays(fields.fronts,
                        HugeArray<double>(Relays::values(fields.fronts, plan.threads)));
    std::vector<double> squares(static_cast<std::size_t>(fields.fronts.inner_blocks()) * 5 * W);
    Meeting meeting(plan.threads);
    LuResult result;
#pragma omp parallel num_threads(plan.threads)
    {
        Member member(meeting);
        LuWorker<W, Member> thread(fields, exact, plan.time_step, member, relays,
                                   patience_of(plan.threads));
        thread.prepare();
        thread.step();  // untimed, to touch all code and data
        thread.set_initial();
        const double start = omp_get_wtime();
        for (int iteration = 0; iteration < plan.iterations; ++iteration) {
            thread.step();
        }
        thread.add_squares(squares);
#pragma omp master
        {
            result.residual =
                residual_of(sum_of_squares(fields.fronts, squares), plan.size, plan.time_step);
            result.seconds = omp_get_wtime() - start;
        }
    }
    return result;
}

template LuResult run_threads<2>(LuFields&, const ExactField&, const LuPlan&);
#if defined(__AVX2__)
template LuResult run_threads<4>(LuFields&, const ExactField&, const LuPlan&);
#endif
#if defined(__AVX512F__)
template LuResult run_threads<8>(LuFields&, const ExactField&, const LuPlan&);
#endif

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
