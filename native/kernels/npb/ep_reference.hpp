#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "npb/npb.hpp"

namespace aferir::npb {

inline constexpr std::size_t kAnnuli = 10;

/// Results of EP from its Gaussian deviates: their sums, and the number of pairs whose larger
/// absolute deviate is from l up to l + 1.
struct GaussianSums {
    double sx;
    double sy;
    std::array<std::int64_t, kAnnuli> counts;
};

/// Pairs of uniform random numbers that the class draws.
std::int64_t ep_pairs(ProblemClass problem);

/// Fills in the checks and the verdict: sums within 1e-8, the counts and the number of pairs exact.
void verify_ep(ProblemClass problem, const GaussianSums& computed, Outcome& outcome);

}  // namespace aferir::npb
