#pragma once

#include <omp.h>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/adi_problem.hpp"
#include "npb/adi_step.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Runs and verifies BT or SP. Errors: OutOfMemory.
template <typename Solver>
Outcome run_adi(const AdiProblem& problem, int threads) {
    require_memory(AdiFields::bytes(problem.size));
    const ExactField exact(problem.size);
    const AdiFields fields(problem.size);
    Meeting meeting(threads);
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = problem.operations;
#pragma omp parallel num_threads(threads)
    {
        Member member(meeting);
        AdiStep<Solver> step(fields, exact, problem.time_step, member);
        step.set_forcing();
        step.set_state();
        step.run();  // untimed, to touch all code and data
        step.set_state();
        const double start = omp_get_wtime();
        for (int iteration = 0; iteration < problem.iterations; ++iteration) {
            step.run();
        }
#pragma omp master
        outcome.seconds = omp_get_wtime() - start;
    }
    const auto field = [&](const Place& place) { return fields.state.state(place); };
    verify_norms(norms_of(field, exact, threads), problem.reference, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
