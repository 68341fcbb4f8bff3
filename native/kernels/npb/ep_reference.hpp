#pragma once

#include <cstdint>

#include "npb/npb.hpp"

namespace aferir::npb {

/// What EP computes from its Gaussian deviates.
struct GaussianSums {
    double sx;
    double sy;
    double pairs;
};

/// Pairs of uniform random numbers that the class draws.
std::int64_t ep_pairs(ProblemClass problem);

/// Fills in the checks and the verdict: sums within 1e-8, the number of pairs exact.
void verify_ep(ProblemClass problem, const GaussianSums& computed, Outcome& outcome);

}  // namespace aferir::npb
