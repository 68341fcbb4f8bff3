#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aferir::beff {

/// The effective bandwidth benchmark as Koniges, Rabenseifner and Solchenbach define it ("Benchmark
/// Design for Characterization of Balanced High-Performance Architectures", IPDPS 2001; HLRS,
/// b_eff 3.6).
constexpr std::size_t kSizes = 21;
constexpr std::size_t kRings = 6;
constexpr std::size_t kRandomRings = 30;
constexpr std::size_t kPatterns = kRings + kRandomRings;
constexpr std::size_t kMethods = 3;
/// Repetitions of each measurement, of which the best counts. With fewer, the result may not be
/// called b_eff.
constexpr std::size_t kRepetitions = 3;
constexpr std::int64_t kMemoryOverLargest = 128;

/// Message sizes: 1, 2, 4, ..., 4096 bytes, then eight more in geometric progression up to
/// `largest` bytes (at least 4104).
std::array<std::int64_t, kSizes> message_sizes(std::int64_t largest);

/// Lengths of the rings into which a ring pattern (0 to 5) divides the processes in the order of
/// ranks: about 2, 4, 8, max(16, n/4), max(32, n/2) and n. `processes` (n) is 2 at least.
std::vector<int> ring_lengths(std::size_t pattern, int processes);

/// Ranks that a process sends to and receives from at the same time.
struct Neighbours {
    int previous = 0;
    int next = 0;
};

/// Neighbours of the process at `position` if rings of these lengths are laid out one after
/// another.
Neighbours neighbours(int position, std::span<const int> lengths);

/// A permutation of 0 to n-1, the same on any machine for the same seed.
std::vector<int> random_order(int processes, std::uint64_t seed);

/// Geometric mean; 0 if there are no values.
double log_average(std::span<const double> values);

/// Bandwidth in B/s for each message size, in one pattern by one method: that of the best
/// repetition.
using BySize = std::array<double, kSizes>;
/// Bandwidths by pattern and method.
using Measured = std::array<std::array<BySize, kMethods>, kPatterns>;

struct Effective {
    double rings = 0;
    double random = 0;
    double all = 0;
};

/// Effective bandwidth of all processes together in B/s: for each message size the best method
/// counts; these are averaged arithmetically over sizes, then geometrically over patterns.
Effective effective_bandwidth(const Measured& measured);
/// Effective bandwidth if only this method had been measured.
Effective by_method(const Measured& measured, std::size_t method);
/// Effective bandwidth if only this message size had been measured.
Effective by_size(const Measured& measured, std::size_t size);

/// Number of loops over a pattern, such that all patterns of a message size take `budget_s`.
struct LoopLength {
    std::int64_t previous = 0;
    double took_s = 0;
    double size_ratio = 2;
    double budget_s = 0;
    std::int64_t most = 1;
};
std::int64_t next_loops(const LoopLength& known);

}  // namespace aferir::beff
