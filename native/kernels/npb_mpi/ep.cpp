// EP by message passing: each rank draws every n-th batch, and the sums are added at the end.

#include <array>
#include <cstddef>
#include <cstdint>

#include "npb/ep_batch.hpp"
#include "npb/ep_reference.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_ep(ProblemClass problem, Ranks& ranks);

// NOLINTNEXTLINE(misc-const-correctness): all kernels are entered in the same way
Outcome run_mpi_ep(ProblemClass problem, Ranks& ranks) {
    const auto pairs = ep_pairs(problem);
    ranks.wait();

    const double start = Ranks::seconds();
    Tally tally;
    for (std::int64_t batch = ranks.id(); batch < pairs / kBatchPairs; batch += ranks.count()) {
        run_batch(batch, tally);
    }
    std::array<double, 2> sums{tally.sx, tally.sy};
    ranks.sum(sums);
    ranks.sum(tally.counts);
    Outcome outcome;
    outcome.seconds = Ranks::seconds() - start;

    outcome.operations = 2 * static_cast<double>(pairs);
    tally.sx = sums[0];
    tally.sy = sums[1];
    verify_ep(problem, tally.sums(), outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
