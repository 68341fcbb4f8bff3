// MG, the multigrid kernel: V-cycles for the Poisson equation with 20 point charges on a periodic
// cube (RNR-94-007, section 2.3).

#include <omp.h>

#include <cstddef>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/mg_cycle.hpp"
#include "npb/mg_problem.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mg(ProblemClass problem, int threads);

namespace {

std::size_t bytes_needed(std::size_t size) {
    // u, v and a spare u, and the coarser levels of u and r: 3 and 2/7 grids.
    return size * size * (size + 2 * kGhosts) * sizeof(double) * 10 / 3;
}

}  // namespace

Outcome run_mg(ProblemClass problem_class, int threads) {
    const auto problem = mg_problem(problem_class);
    require_memory(bytes_needed(problem.size));
    const auto charges = find_charges(problem.size, threads);
    Levels levels(problem.size);
    Meeting meeting(threads);
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = mg_operations(problem);
#pragma omp parallel num_threads(threads)
    {
        Member member(meeting);
        Cycle cycle(levels, problem.smoother, member);
        cycle.set_up(charges);
        (void)cycle.first_residual();
        (void)cycle.iterate(false);  // untimed, to touch all code and data
        cycle.set_up(charges);
        const double start = omp_get_wtime();
        double norm = cycle.first_residual();
        for (int iteration = 1; iteration <= problem.iterations; ++iteration) {
            norm = cycle.iterate(iteration == problem.iterations);
        }
#pragma omp master
        {
            outcome.seconds = omp_get_wtime() - start;
            verify_mg(problem, norm, outcome);
        }
    }
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
