// EP, the embarrassingly parallel kernel: Gaussian deviates by Marsaglia's polar method from
// 2^(m+1) uniform random numbers (RNR-94-007, section 2.2).

#include <omp.h>

#include <cstdint>

#include "npb/ep_batch.hpp"
#include "npb/ep_reference.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_ep(ProblemClass problem, int threads);

namespace {

Tally run_batches(std::int64_t batches, int threads) {
    Tally total;
#pragma omp parallel num_threads(threads)
    {
        Tally mine;
#pragma omp for schedule(dynamic, 4) nowait
        for (std::int64_t batch = 0; batch < batches; ++batch) {
            run_batch(batch, mine);
        }
#pragma omp critical
        {
            total.sx += mine.sx;
            total.sy += mine.sy;
            for (std::size_t annulus = 0; annulus < kAnnuli; ++annulus) {
                total.counts[annulus] += mine.counts[annulus];
            }
        }
    }
    return total;
}

}  // namespace

Outcome run_ep(ProblemClass problem, int threads) {
    const auto pairs = ep_pairs(problem);

    const double start = omp_get_wtime();
    const auto tally = run_batches(pairs / kBatchPairs, threads);
    Outcome outcome;
    outcome.seconds = omp_get_wtime() - start;

    outcome.operations = 2 * static_cast<double>(pairs);
    verify_ep(problem, tally.sums(), outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
