#include "npb/is_problem.hpp"

#include "npb/random.hpp"

namespace aferir::npb {
namespace {

constexpr std::array kProblems{
    IsProblem{16,
              11,
              {{{48427, 0, 1, 0},
                {17148, 18, 1, 0},
                {23627, 346, 1, 0},
                {62548, 64917, -1, 0},
                {4431, 65463, -1, 0}}}},
    IsProblem{20,
              16,
              {{{357773, 1249, 1, 2},
                {934767, 11698, 1, 2},
                {875723, 1039987, -1, 0},
                {898999, 1043896, -1, 0},
                {404505, 1048018, -1, 0}}}},
    IsProblem{23,
              19,
              {{{2112377, 104, 1, 1},
                {662041, 17523, 1, 1},
                {5336171, 123928, 1, 1},
                {3642833, 8288932, -1, 1},
                {4250760, 8388264, -1, 1}}}},
    IsProblem{25,
              21,
              {{{41869, 33422937, -1, 0},
                {812306, 10244, 1, 0},
                {5102857, 59149, 1, 0},
                {18232239, 33135281, -1, 0},
                {26860214, 99, 1, 0}}}},
    IsProblem{27,
              23,
              {{{44172927, 61147, 1, 0},
                {72999161, 882988, 1, 0},
                {74326391, 266290, 1, 0},
                {129606274, 133997595, -1, 0},
                {21736814, 133525895, -1, 0}}}},
    IsProblem{31,
              27,
              {{{1317351170, 1, 1, 0},
                {995930646, 36538729, 1, 0},
                {1157283250, 1978098519, -1, 0},
                {1503301535, 2145192618, -1, 0},
                {1453734525, 2147425337, -1, 0}}}},
};

}  // namespace

const IsProblem& is_problem(ProblemClass problem) {
    return kProblems[static_cast<std::size_t>(problem)];
}

std::int64_t expected_rank(const IsProblem::TestKey& test, int iteration) {
    return test.rank + std::int64_t{test.drift} * (iteration - test.origin);
}

int count_right(const IsProblem& problem, int iteration,
                const std::array<std::int64_t, kTestKeys>& ranks) {
    int right = 0;
    for (std::size_t i = 0; i < kTestKeys; ++i) {
        right += ranks[i] == expected_rank(problem.tests[i], iteration) ? 1 : 0;
    }
    return right;
}

void verify_is(int passed, Outcome& outcome) {
    constexpr int kAll = static_cast<int>(kTestKeys) * kIsIterations + 1;
    outcome.checks = {compare("verifications passed", passed, kAll)};
    outcome.verified = passed == kAll;
}

void make_keys(const IsProblem& problem, std::size_t first, std::span<std::uint32_t> keys) {
    constexpr std::uint64_t kDraws = 4;
    const double quarter = static_cast<double>(problem.key_range()) / kDraws;
    auto seed = lcg_skip(314159265, kDraws * first);
    for (auto& key : keys) {
        double sum = 0;
        for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
            sum += randlc(seed);
        }
        key = static_cast<std::uint32_t>(quarter * sum);
    }
}

}  // namespace aferir::npb
