#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "internals.hpp"
#include "npb/is_problem.hpp"
#include "npb/random.hpp"

namespace aferir::npb {
namespace {

void expect_ranks_of(const std::vector<std::uint32_t>& keys, std::size_t key_range) {
    auto sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> expected(key_range);
    for (std::uint32_t key = 0; key < key_range; ++key) {
        expected[key] = static_cast<std::uint32_t>(
            std::upper_bound(sorted.begin(), sorted.end(), key) - sorted.begin());
    }
    for (const auto& internals : usable_internals()) {
        for (const int threads : {1, 2, 3, 7}) {
            EXPECT_EQ(internals.rank(keys, key_range, threads), expected)
                << internals.isa << ", threads " << threads;
        }
    }
}

TEST(Is, RanksRandomKeysAsSortingDoes) {
    std::mt19937 random(1);
    for (const std::size_t count : {1U, 3U, 1000U, 100001U}) {
        std::vector<std::uint32_t> keys(count);
        for (auto& key : keys) {
            key = static_cast<std::uint32_t>(random() % 5000);
        }
        expect_ranks_of(keys, 5000);
    }
}

TEST(Is, RanksKeysThatComeMoreOftenThanAByteCounts) {
    std::vector<std::uint32_t> keys(10000, 17);
    keys.resize(20000, 4999);
    keys.resize(20255, 0);
    keys.resize(20511, 63);  // exactly 256 of them
    expect_ranks_of(keys, 5000);
}

TEST(Is, PartsOfTheSequenceAreTheSequence) {
    const auto& problem = is_problem(ProblemClass::S);
    std::vector<std::uint32_t> all(1000);
    make_keys(problem, 0, all);
    std::vector<std::uint32_t> part(100);
    make_keys(problem, 333, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 333));
    std::uint64_t seed = 314159265;
    for (const auto key : all) {
        double sum = randlc(seed);
        sum += randlc(seed);
        sum += randlc(seed);
        sum += randlc(seed);
        ASSERT_EQ(key, static_cast<std::uint32_t>(512 * sum));
    }
}

TEST(Is, VerificationRefusesWrongRanks) {
    for (const auto letter :
         {ProblemClass::S, ProblemClass::W, ProblemClass::A, ProblemClass::B, ProblemClass::C}) {
        const auto& problem = is_problem(letter);
        for (int iteration = 1; iteration <= kIsIterations; ++iteration) {
            std::array<std::int64_t, kTestKeys> ranks{};
            std::transform(problem.tests.begin(), problem.tests.end(), ranks.begin(),
                           [&](const auto& test) { return expected_rank(test, iteration); });
            EXPECT_EQ(count_right(problem, iteration, ranks), 5);
            ++ranks[3];
            EXPECT_EQ(count_right(problem, iteration, ranks), 4);
        }
    }
}

TEST(Is, VerificationWantsEveryPass) {
    Outcome outcome;
    verify_is(51, outcome);
    EXPECT_TRUE(outcome.verified);
    verify_is(50, outcome);
    EXPECT_FALSE(outcome.verified);
}

}  // namespace
}  // namespace aferir::npb
