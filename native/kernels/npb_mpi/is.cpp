// IS by message passing: keys go to the rank that has their range, which counts them; the ranks are
// the cumulated counts, as with threads (npb/is.cpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/is_problem.hpp"
#include "npb/is_ranking.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/is_exchange.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_is(ProblemClass problem, Ranks& ranks);

namespace {

class Sort {
  public:
    Sort(const IsProblem& problem, Ranks& ranks)
        : problem_(problem),
          ranks_(ranks),
          part_(share_of(problem.keys(), ranks.id(), ranks.count())),
          keys_(part_.size() + Histogram::kAhead + Histogram::kTogether),
          ranges_(problem, ranks),
          exchange_(ranks.count() > 1 ? part_.size() : 1, ranks),
          key_ranks_(problem.key_range()),
          totals_(static_cast<std::size_t>(ranks.count())) {
        histogram_[0] = std::make_unique<Histogram>(problem.key_range(), problem.keys());
        make_keys(problem, part_.begin, own_keys());
    }

    /// Ranks all keys; returns how many of the test keys that are this rank's got the right rank.
    int iterate(int iteration) {
        plant(iteration);
        std::array<std::uint32_t, kTestKeys> tests{};
        for (std::size_t i = 0; i < kTestKeys; ++i) {
            const auto index = problem_.tests[i].index;
            tests[i] = part_.begin <= index && index < part_.end ? keys_[index - part_.begin] : 0;
        }
        ranges_.choose(own_keys(), tests);
        rank();
        std::array<std::int64_t, kTestKeys> found{};
        for (std::size_t i = 0; i < kTestKeys; ++i) {
            found[i] = smaller_keys(tests[i]);
        }
        return count_right(problem_, iteration, found);
    }

    /// Puts every key where its rank says and tells whether all are in order then. Counts the
    /// ranks down.
    bool verify_order() {
        std::vector<std::uint32_t> sorted(total_, kNoKey);
        std::size_t wrong = 0;
        for_own_keys([&](std::span<const std::uint32_t> keys) {
            for (const auto key : keys) {
                const std::size_t place = --key_ranks_[key] - before_;
                if (place < sorted.size()) {
                    sorted[place] = key;
                } else {
                    ++wrong;
                }
            }
        });
        for (std::size_t i = 1; i < sorted.size(); ++i) {
            wrong += sorted[i - 1] > sorted[i] ? 1U : 0U;
        }
        wrong += !sorted.empty() && sorted.back() == kNoKey ? 1U : 0U;
        const bool complete = total_of_all() == problem_.keys();
        return ranks_.sum(static_cast<double>(wrong)) == 0 && complete;
    }

  private:
    static constexpr std::uint32_t kNoKey = ~std::uint32_t{0};

    [[nodiscard]] std::span<std::uint32_t> own_keys() const {
        return keys_.span().first(part_.size());
    }
    [[nodiscard]] std::size_t id() const { return static_cast<std::size_t>(ranks_.id()); }

    [[nodiscard]] std::size_t total_of_all() const {
        return std::accumulate(totals_.begin(), totals_.end(), std::size_t{0});
    }

    /// The specification's two keys of an iteration, at the beginning of the sequence.
    void plant(int iteration) {
        if (id() == 0) {
            const auto step = static_cast<std::size_t>(iteration);
            keys_[step] = static_cast<std::uint32_t>(iteration);
            keys_[step + kIsIterations] = static_cast<std::uint32_t>(problem_.key_range()) -
                                          static_cast<std::uint32_t>(iteration);
        }
    }

    /// Calls `use` with the keys of this rank's range, counted from its first.
    template <typename Use>
    void for_own_keys(const Use& use) {
        if (ranks_.count() == 1) {
            use(std::span<const std::uint32_t>(own_keys()));
        } else {
            exchange_.run(own_keys(), ranges_, use);
        }
    }

    /// Afterwards key_ranks_[k] is the number of keys not larger than the k-th of this range.
    void rank() {
        const auto range = ranges_.first_key(id() + 1) - ranges_.first_key(id());
        auto& histogram = *histogram_[0];
        histogram.clear(range);
        std::size_t own = 0;
        for_own_keys([&](std::span<const std::uint32_t> keys) {
            histogram.count(keys);
            own += keys.size();
        });
        total_ = static_cast<std::uint32_t>(own);
        if (ranks_.count() > 1) {
            ranks_.gather(std::span<const std::uint32_t>(&total_, 1), std::span(totals_));
        } else {
            totals_[0] = total_;
        }
        before_ = std::accumulate(totals_.begin(),
                                  totals_.begin() + static_cast<std::ptrdiff_t>(id()), 0U);
        const auto key_ranks = key_ranks_.span().first(range);
        merge_counts(histogram_, key_ranks, 0);
        (void)cumulate(key_ranks, before_);
    }

    /// The rank of a key; -1 if it is not in this range.
    [[nodiscard]] std::int64_t smaller_keys(std::uint32_t key) const {
        if (ranges_.owner(key) != id()) {
            return -1;
        }
        const auto place = key - ranges_.first_key(id());
        return place == 0 ? before_ : key_ranks_[place - 1];
    }

    const IsProblem& problem_;
    Ranks& ranks_;
    Part part_;
    HugeArray<std::uint32_t> keys_;
    KeyRanges ranges_;
    KeyExchange exchange_;
    std::array<std::unique_ptr<Histogram>, 1> histogram_;
    HugeArray<std::uint32_t> key_ranks_;
    std::vector<std::uint32_t> totals_;
    std::uint32_t total_ = 0;
    std::uint32_t before_ = 0;  ///< keys of lower ranges
};

/// Of one rank; the verification holds its keys twice.
std::size_t bytes_needed(const IsProblem& problem, int ranks) {
    return 12 * problem.keys() / static_cast<std::size_t>(ranks) + 5 * problem.key_range();
}

}  // namespace

Outcome run_mpi_is(ProblemClass problem_class, Ranks& ranks) {
    constexpr int kMostRanks = 1024;  // class S: 64 keys each
    const auto& problem = is_problem(problem_class);
    require_power_of_two("IS", ranks.count(), kMostRanks);
    require_memory(bytes_needed(problem, ranks.count()));
    Sort sort(problem, ranks);
    (void)sort.iterate(1);  // untimed, to touch all code and data
    ranks.wait();
    const double start = Ranks::seconds();
    int right = 0;
    for (int iteration = 1; iteration <= kIsIterations; ++iteration) {
        right += sort.iterate(iteration);
    }
    Outcome outcome;
    outcome.seconds = Ranks::seconds() - start;
    outcome.iterations = kIsIterations;
    outcome.operations = static_cast<double>(problem.keys()) * kIsIterations;
    const bool in_order = sort.verify_order();
    verify_is(static_cast<int>(ranks.sum(right)) + (in_order ? 1 : 0), outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
