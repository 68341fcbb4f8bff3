// EP, the embarrassingly parallel kernel: Gaussian deviates by Marsaglia's polar method
// (RNR-94-007, section 2.2).

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "npb/npb.hpp"
#include "npb/random.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_ep(ProblemClass problem, int threads);

Outcome run_ep(ProblemClass problem, int threads) {
    constexpr std::array kExponents{24, 25, 28, 30, 32};
    const auto pairs = std::int64_t{1} << kExponents[static_cast<std::size_t>(problem)];
    constexpr std::int64_t kBatch = 1 << 16;
    double sx = 0;
    double sy = 0;
    const double start = omp_get_wtime();
#pragma omp parallel for num_threads(threads) reduction(+ : sx, sy)
    for (std::int64_t batch = 0; batch < pairs / kBatch; ++batch) {
        auto seed = lcg_skip(271828183, static_cast<std::uint64_t>(2 * kBatch * batch));
        for (std::int64_t i = 0; i < kBatch; ++i) {
            const double x = 2 * randlc(seed) - 1;
            const double y = 2 * randlc(seed) - 1;
            const double t = x * x + y * y;
            if (t <= 1) {
                const double factor = std::sqrt(-2 * std::log(t) / t);
                sx += x * factor;
                sy += y * factor;
            }
        }
    }
    Outcome outcome;
    outcome.seconds = omp_get_wtime() - start;
    outcome.operations = 2 * static_cast<double>(pairs);
    constexpr std::array kSx{-3.247834652034740e+3, -2.863319731645753e+3, -4.295875165629892e+3,
                             4.033815542441498e+4, 4.764367927995374e+4};
    constexpr std::array kSy{-6.958407078382297e+3, -6.320053679109499e+3, -1.580732573678431e+4,
                             -2.660669192809235e+4, -8.084072988043731e+4};
    outcome.checks = {compare("sx", sx, kSx[static_cast<std::size_t>(problem)]),
                      compare("sy", sy, kSy[static_cast<std::size_t>(problem)])};
    outcome.verified = all_within(outcome.checks, 1e-8);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
