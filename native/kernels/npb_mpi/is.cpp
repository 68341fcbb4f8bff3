// IS by message passing: each key is sent to the host whose range it is in. There each rank counts
// the keys that it gets, and the ranks of a host add up their counts through shared memory, each
// for a part of the host's range; the ranks of the keys are the cumulated counts, as with threads
// (npb/is.cpp).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/is_problem.hpp"
#include "npb/is_ranking.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
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
          counts_(problem.key_range()),
          published_(ranks, ranks.hosts().mates().size() > 1 ? problem.key_range() : 1),
          carries_(ranks, kNotes + Histogram::carries_for(problem.keys())),
          histogram_(counts_.data(), carries_.of(mate()) + kNotes),
          key_ranks_(problem.key_range()),
          totals_(static_cast<std::size_t>(ranks.count()) + kTestKeys) {
        const auto& members = ranks.hosts().members;
        for (const auto& host : members) {
            order_.insert(order_.end(), host.begin(), host.end());
        }
        host_ = static_cast<std::size_t>(
            std::find(order_.begin(), order_.end(), ranks.hosts().mates()[0]) - order_.begin());
        if (members.size() > 1) {
            exchange_.emplace(part_.size(), ranks.hosts());
        }
        make_keys(problem, part_.begin, own_keys());
    }

    /// Ranks all keys; returns how many of this rank's test keys have the right rank.
    int iterate(int iteration) {
        plant(iteration);
        ranges_.choose(own_keys());
        rank();
        std::array<std::int64_t, kTestKeys> found{};
        for (std::size_t i = 0; i < kTestKeys; ++i) {
            found[i] = smaller_keys(static_cast<std::uint32_t>(tests()[i]));
        }
        return count_right(problem_, iteration, found);
    }

    /// Moves every key to its rank and returns whether all are in order then. Decreases the ranks.
    bool verify_order() {
        const auto slices = std::span(totals_).first(totals_.size() - kTestKeys);
        std::vector<std::uint32_t> sorted(static_cast<std::size_t>(slices[id()]), kNoKey);
        std::size_t wrong = 0;
        for_keys_of_slice([&](std::span<const std::uint32_t> keys) {
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
        const bool complete = std::accumulate(slices.begin(), slices.end(), 0.0) ==
                              static_cast<double>(problem_.keys());
        return ranks_.sum(static_cast<double>(wrong)) == 0 && complete;
    }

  private:
    static constexpr std::uint32_t kNoKey = ~std::uint32_t{0};
    static constexpr std::size_t kNotes = 16;

    [[nodiscard]] std::span<std::uint32_t> own_keys() const {
        return keys_.span().first(part_.size());
    }
    [[nodiscard]] std::size_t id() const { return static_cast<std::size_t>(ranks_.id()); }

    [[nodiscard]] std::size_t mate() const { return ranks_.hosts().place; }
    /// This rank's place among all, see KeyRanges.
    [[nodiscard]] std::size_t place() const { return host_ + mate(); }

    /// Sets the specification's two keys of an iteration, at the beginning of the sequence.
    void plant(int iteration) {
        if (id() == 0) {
            const auto step = static_cast<std::size_t>(iteration);
            keys_[step] = static_cast<std::uint32_t>(iteration);
            keys_[step + kIsIterations] = static_cast<std::uint32_t>(problem_.key_range()) -
                                          static_cast<std::uint32_t>(iteration);
        }
    }

    /// Calls `use` with the keys of all ranks that are in this rank's slice, each minus the first
    /// key of the slice.
    template <typename Use>
    void for_keys_of_slice(const Use& use) {
        if (ranks_.count() == 1) {
            use(std::span<const std::uint32_t>(own_keys()));
            return;
        }
        Hosts alone;
        for (const auto rank : order_) {
            alone.members.push_back({rank});
        }
        alone.own = place();
        KeyExchange(part_.size(), alone).run(own_keys(), ranges_, use);
    }

    /// Afterwards key_ranks_[k] is the number of keys not larger than the k-th of this rank's slice
    /// of the key range.
    void rank() {
        const auto mates = ranks_.hosts().mates().size();
        const auto first = ranges_.first_key(host_);
        histogram_.clear(ranges_.first_key(host_ + mates) - first);
        if (exchange_) {
            exchange_->run(own_keys(), ranges_,
                           [&](std::span<const std::uint32_t> keys) { histogram_.count(keys); });
        } else {
            histogram_.count(own_keys());
        }
        const auto begin = ranges_.first_key(place());
        const auto slice = key_ranks_.span().first(ranges_.first_key(place() + 1) - begin);
        publish(ranges_.first_key(host_ + mates) - first,
                {begin - first, begin - first + slice.size()});
        merge_counts(counted_, slice, begin - first);
        add_lower_slices(slice, cumulate(slice));
    }

    /// Copies this rank's first `range` counts to memory that the host's ranks share, except those
    /// of its own slice, which nobody else reads; then lists the counts of all ranks of the host in
    /// `counted_`. Counting in shared memory directly would take a sixth longer, as shared
    /// memory has small pages; copying costs almost nothing.
    void publish(std::size_t range, Part slice) {
        auto* const published = published_.of(mate());
        if (ranks_.hosts().mates().size() > 1) {
            std::copy_n(counts_.data(), slice.begin, published);
            std::copy(counts_.data() + slice.end, counts_.data() + range, published + slice.end);
        }
        carries_.of(mate())[0] = static_cast<std::uint32_t>(histogram_.counted().carries.size());
        ranks_.wait_for_mates();
        counted_.clear();
        for (std::size_t i = 0; i < ranks_.hosts().mates().size(); ++i) {
            counted_.push_back({i == mate() ? counts_.data() : published_.of(i),
                                {carries_.of(i) + kNotes, carries_.of(i)[0]}});
        }
    }

    /// Adds the number of keys in all lower slices to the ranks in `slice`. The sum over ranks also
    /// distributes the test keys found here, which saves a barrier within a host.
    void add_lower_slices(std::span<std::uint32_t> slice, std::uint32_t total) {
        std::fill(totals_.begin(), totals_.end(), 0.0);
        totals_[id()] = total;
        for (std::size_t i = 0; i < kTestKeys; ++i) {
            const auto index = problem_.tests[i].index;
            tests()[i] = part_.begin <= index && index < part_.end ? keys_[index - part_.begin] : 0;
        }
        ranks_.sum(std::span(totals_));
        before_ = 0;
        for (std::size_t i = 0; i < place(); ++i) {
            before_ += static_cast<std::uint32_t>(totals_[static_cast<std::size_t>(order_[i])]);
        }
        if (before_ != 0) {
            for (auto& rank : slice) {
                rank += before_;
            }
        }
    }

    [[nodiscard]] std::span<double> tests() { return std::span(totals_).last(kTestKeys); }

    /// The rank of a key, which is the number of smaller keys; -1 if it is in another rank's slice.
    [[nodiscard]] std::int64_t smaller_keys(std::uint32_t key) const {
        if (!ranges_.has(place(), key)) {
            return -1;
        }
        const auto index = key - ranges_.first_key(place());
        return index == 0 ? before_ : key_ranks_[index - 1];
    }

    const IsProblem& problem_;
    Ranks& ranks_;
    Part part_;
    HugeArray<std::uint32_t> keys_;
    KeyRanges ranges_;
    std::vector<int> order_;  ///< ranks by place
    std::size_t host_ = 0;    ///< this host's first place
    std::optional<KeyExchange> exchange_;
    HugeArray<std::uint8_t> counts_;
    SharedArray<std::uint8_t> published_;
    SharedArray<std::uint32_t> carries_;  ///< their number, then from kNotes on themselves
    Histogram histogram_;
    std::vector<Counted> counted_;
    HugeArray<std::uint32_t> key_ranks_;
    std::vector<double> totals_;  ///< by rank, the keys of its slice; then the keys to be tested
    std::uint32_t before_ = 0;    ///< keys of lower slices
};

/// Memory of one rank: its keys, which the verification stores twice, and their counts, twice. Each
/// rank of a host has a slice of the keys' ranks.
void require_memory_for(const IsProblem& problem, const Ranks& ranks) {
    const auto count = static_cast<std::size_t>(ranks.count());
    ranks.require_memory(12 * problem.keys() / count + 2 * problem.key_range(),
                         sizeof(std::uint32_t) * problem.key_range());
}

}  // namespace

Outcome run_mpi_is(ProblemClass problem_class, Ranks& ranks) {
    constexpr int kMostRanks = 1024;  // class S: 64 keys each
    const auto& problem = is_problem(problem_class);
    require_power_of_two("IS", ranks.count(), kMostRanks);
    require_memory_for(problem, ranks);
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
    outcome.variant = ranks.share_all() ? "cumulated counts without buckets, shared"
                                        : "keys exchanged by ranges, counts without buckets";
    const bool in_order = sort.verify_order();
    verify_is(static_cast<int>(ranks.sum(right)) + (in_order ? 1 : 0), outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
