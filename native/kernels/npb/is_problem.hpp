#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "npb/npb.hpp"

namespace aferir::npb {

inline constexpr int kIsIterations = 10;
inline constexpr std::size_t kTestKeys = 5;

/// RNR-94-007, section 2.6, with the ranks that NPB 3 publishes for five keys. Each iteration
/// plants one small and one large key, so a rank drifts by one an iteration: up (+1) or down (-1),
/// beginning at iteration `origin`.
struct IsProblem {
    struct TestKey {
        std::uint32_t index;
        std::int64_t rank;
        int drift;
        int origin;
    };

    int keys_log2;
    int key_range_log2;
    std::array<TestKey, kTestKeys> tests;

    [[nodiscard]] std::size_t keys() const { return std::size_t{1} << keys_log2; }
    [[nodiscard]] std::size_t key_range() const { return std::size_t{1} << key_range_log2; }
};

const IsProblem& is_problem(ProblemClass problem);

/// The rank that a test key has in `iteration` (from 1).
std::int64_t expected_rank(const IsProblem::TestKey& test, int iteration);

/// Number of test keys that have the right rank in `iteration`.
int count_right(const IsProblem& problem, int iteration,
                const std::array<std::int64_t, kTestKeys>& ranks);

/// `passed`: number of right ones among 5 ranks in each of 10 iterations, plus one if the keys are
/// in order at the end.
void verify_is(int passed, Outcome& outcome);

/// Writes keys [first, first + keys.size()) of the problem's sequence: each is a quarter of the key
/// range times the sum of four random numbers.
void make_keys(const IsProblem& problem, std::size_t first, std::span<std::uint32_t> keys);

}  // namespace aferir::npb
