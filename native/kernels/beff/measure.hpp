#pragma once

#include <cstdint>
#include <vector>

#include "beff/definition.hpp"
#include "beff/exchange.hpp"

namespace aferir::beff {

struct Options {
    std::int64_t largest_bytes = 0;
    /// Time in s to be spent on one message size by one method, for all patterns, in each
    /// repetition.
    double budget_s = 0.5;
    std::uint64_t seed = 1;
    std::size_t repetitions = kRepetitions;
};

struct Outcome {
    Measured measured{};
    bool intact = true;
};

/// Measures all patterns, sizes, methods and repetitions. Collective; rank 0 has the results.
Outcome measure(const Options& options);

/// This process's partners in each of the patterns: the rings, then the random ones.
std::vector<Partners> partners_of(int rank, int processes, std::uint64_t seed);

}  // namespace aferir::beff
