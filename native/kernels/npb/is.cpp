// IS, the integer sort kernel: ranks integer keys ten times (RNR-94-007, section 2.6). As in NPB 3,
// the ranks are the cumulated counts of the keys, complete after every iteration; moving the keys
// into order is part of the untimed full verification only.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/is_problem.hpp"
#include "npb/is_ranking.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_is(ProblemClass problem, int threads);

namespace {

struct Sort {
    Sort(const IsProblem& what, int threads)
        : problem(what),
          keys(what.keys() + Histogram::kAhead + Histogram::kTogether),
          ranking(what.key_range(), threads) {}

    const IsProblem& problem;
    HugeArray<std::uint32_t> keys;
    Ranking ranking;
    std::array<std::uint32_t, kTestKeys> test_keys{};
    int passed = 0;
};

std::span<std::uint32_t> part_of_keys(const Sort& sort, const Member& member) {
    const auto begin = part_begin(sort.problem.keys(), member.id(), member.count());
    const auto end = part_begin(sort.problem.keys(), member.id() + 1, member.count());
    return sort.keys.span().subspan(begin, end - begin);
}

void prepare(Sort& sort, Member& member) {
    const auto part = part_of_keys(sort, member);
    make_keys(sort.problem, static_cast<std::size_t>(part.data() - sort.keys.data()), part);
    sort.ranking.prepare(member, part.size());
    member.wait();
}

/// Sets this iteration's two keys, and looks up the keys whose ranks will be tested.
void plant_keys(Sort& sort, int iteration) {
    const auto step = static_cast<std::size_t>(iteration);
    sort.keys[step] = static_cast<std::uint32_t>(iteration);
    sort.keys[step + kIsIterations] = static_cast<std::uint32_t>(sort.problem.key_range()) -
                                      static_cast<std::uint32_t>(iteration);
    for (std::size_t i = 0; i < kTestKeys; ++i) {
        sort.test_keys[i] = sort.keys[sort.problem.tests[i].index];
    }
}

void verify_ranks(Sort& sort, int iteration) {
    std::array<std::int64_t, kTestKeys> ranks{};
    for (std::size_t i = 0; i < kTestKeys; ++i) {
        const auto key = sort.test_keys[i];
        ranks[i] = key == 0 ? 0 : sort.ranking.ranks()[key - 1];
    }
    sort.passed += count_right(sort.problem, iteration, ranks);
}

void iterate(Sort& sort, Member& member, int iteration) {
    if (member.id() == 0) {
        plant_keys(sort, iteration);
    }
    member.wait();
    sort.ranking.rank(member, part_of_keys(sort, member));
    if (member.id() == 0) {
        verify_ranks(sort, iteration);
    }
}

/// Moves every key to its rank and returns whether they are in order then. Decreases the ranks.
/// Each thread moves the keys of its part of the key range.
bool verify_order(const Sort& sort, int threads) {
    const auto size = sort.problem.keys();
    const HugeArray<std::uint32_t> sorted(size);
    const auto ranks = sort.ranking.ranks();
    std::size_t wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        const auto low = part_begin(ranks.size(), omp_get_thread_num(), omp_get_num_threads());
        const auto high = part_begin(ranks.size(), omp_get_thread_num() + 1, omp_get_num_threads());
        for (const auto key : sort.keys.span().first(size)) {
            if (key < low || key >= high) {
                continue;
            }
            const std::size_t place = --ranks[key];
            if (place < size) {
                sorted[place] = key;
            } else {
                ++wrong;
            }
        }
#pragma omp barrier
#pragma omp for
        for (std::size_t i = 1; i < size; ++i) {
            wrong += sorted[i - 1] > sorted[i] ? 1U : 0U;
        }
    }
    return wrong == 0;
}

std::size_t bytes_needed(const IsProblem& problem, int threads) {
    return 8 * problem.keys() + (4 + static_cast<std::size_t>(threads)) * problem.key_range();
}

}  // namespace

Outcome run_is(ProblemClass problem_class, int threads) {
    const auto& problem = is_problem(problem_class);
    require_memory(bytes_needed(problem, threads));
    Sort sort(problem, threads);
    Meeting meeting(threads);
    Outcome outcome;
    outcome.iterations = kIsIterations;
    outcome.operations = static_cast<double>(problem.keys()) * kIsIterations;
#pragma omp parallel num_threads(threads)
    {
        Member member(meeting);
        prepare(sort, member);
        iterate(sort, member, 1);  // untimed, to touch all code and data
        member.wait();
#pragma omp master
        sort.passed = 0;
        const double start = omp_get_wtime();
        for (int iteration = 1; iteration <= kIsIterations; ++iteration) {
            iterate(sort, member, iteration);
        }
#pragma omp master
        outcome.seconds = omp_get_wtime() - start;
    }
    sort.passed += verify_order(sort, threads) ? 1 : 0;
    outcome.variant = "cumulated counts without buckets";
    verify_is(sort.passed, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
