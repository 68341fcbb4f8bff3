#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "common/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// First index of thread `id` of `count` when `size` elements are distributed in contiguous parts;
/// rounded to cache lines of 32-bit numbers.
inline std::size_t part_begin(std::size_t size, int id, int count) {
    constexpr std::size_t kLine = 16;
    return id == count ? size
                       : size * static_cast<std::size_t>(id) / static_cast<std::size_t>(count) /
                             kLine * kLine;
}

/// Result of a histogram.
struct Counted {
    const std::uint8_t* counts = nullptr;
    std::span<const std::uint32_t> carries;
};

/// One thread's histogram of its keys, in memory that other threads may read.
///
/// Counters are bytes, because cache misses determine their cost: the 2^19 counters of class A take
/// 512 KiB and stay in L2, as 32-bit ones would not. If a key comes for the 256th time, its counter
/// wraps to 0 and the key is added to a list of carries, which needs at most one place per 256
/// keys.
class Histogram {
  public:
    /// `counts`: one for each possible key; `carries`: room for carries_for(largest number of
    /// keys).
    Histogram(std::uint8_t* counts, std::uint32_t* carries) : counts_(counts), carries_(carries) {}

    [[nodiscard]] static std::size_t carries_for(std::size_t most_keys) {
        return most_keys / 256 + 1;
    }

    /// Starts again, with counters for keys below `key_range`.
    void clear(std::size_t key_range) {
        std::fill_n(counts_, key_range, std::uint8_t{0});
        carried_ = 0;
    }

    /// Reads up to kAhead keys past the end of `keys`, which must be in range.
    void count(std::span<const std::uint32_t> keys) {
        const std::uint32_t* const key = keys.data();
        std::size_t i = 0;
        for (; i + kTogether <= keys.size(); i += kTogether) {
            // Keys are streamed past the caches, which the counters occupy.
            __builtin_prefetch(key + i + kStream, 0, 0);
            for (std::size_t j = 0; j < kTogether; ++j) {
                __builtin_prefetch(counts_ + key[i + kAhead + j], 1);
            }
            for (std::size_t j = 0; j < kTogether; ++j) {
                count_one(key[i + j]);
            }
        }
        for (; i < keys.size(); ++i) {
            count_one(key[i]);
        }
    }

    [[nodiscard]] Counted counted() const { return {counts_, {carries_, carried_}}; }

    static constexpr std::size_t kTogether = 4;
    static constexpr std::size_t kAhead = 32;

  private:
    static constexpr std::size_t kStream = 512;

    void count_one(std::uint32_t key) {
        if (++counts_[key] == 0) [[unlikely]] {
            carries_[carried_++] = key;
        }
    }

    std::uint8_t* counts_;
    std::uint32_t* carries_;
    std::size_t carried_ = 0;
};

/// Adds up the histograms' counts of the keys from `begin` on, as many as `sums` has room for.
inline void merge_counts(std::span<const Counted> histograms, std::span<std::uint32_t> sums,
                         std::size_t begin) {
    // The sums of a chunk stay in L1 while the counts of all threads are added.
    constexpr std::size_t kChunk = 2048;
    for (std::size_t first = 0; first < sums.size(); first += kChunk) {
        const auto chunk = sums.subspan(first, std::min(kChunk, sums.size() - first));
        std::copy_n(histograms[0].counts + begin + first, chunk.size(), chunk.begin());
        for (const auto& histogram : histograms.subspan(1)) {
            const std::uint8_t* const counts = histogram.counts + begin + first;
            for (std::size_t i = 0; i < chunk.size(); ++i) {
                chunk[i] += counts[i];
            }
        }
    }
    for (const auto& histogram : histograms) {
        for (const auto key : histogram.carries) {
            if (key >= begin && key - begin < sums.size()) {
                sums[key - begin] += 256;
            }
        }
    }
}

/// Makes counts cumulative, beginning at `total`; returns the last.
inline std::uint32_t cumulate(std::span<std::uint32_t> counts, std::uint32_t total = 0) {
    for (auto& count : counts) {
        total += count;
        count = total;
    }
    return total;
}

/// The ranks of integer keys, by all threads together.
class Ranking {
  public:
    Ranking(std::size_t key_range, int threads)
        : ranks_(key_range),
          parts_(static_cast<std::size_t>(threads)),
          counted_(static_cast<std::size_t>(threads)),
          totals_(static_cast<std::size_t>(threads)) {}

    /// Each thread calls it once, before the first rank(), with the largest number of keys that it
    /// will receive.
    void prepare(const Member& member, std::size_t most_keys) {
        parts_[static_cast<std::size_t>(member.id())] =
            std::make_unique<Part>(ranks_.size(), most_keys);
    }

    /// Afterwards ranks()[k] is the number of keys <= k: key k's copies have the ranks from
    /// ranks()[k - 1] to ranks()[k] - 1. Each thread passes its own part of the keys.
    void rank(Member& member, std::span<const std::uint32_t> part) {
        const auto id = static_cast<std::size_t>(member.id());
        auto& histogram = parts_[id]->histogram;
        histogram.clear(ranks_.size());
        histogram.count(part);
        counted_[id] = histogram.counted();
        member.wait();
        const auto begin = part_begin(ranks_.size(), member.id(), member.count());
        const auto end = part_begin(ranks_.size(), member.id() + 1, member.count());
        const auto own = ranks_.span().subspan(begin, end - begin);
        merge_counts(counted_, own, begin);
        totals_[id] = cumulate(own);
        member.wait();
        std::uint32_t before = 0;
        for (std::size_t other = 0; other < id; ++other) {
            before += totals_[other];
        }
        if (before != 0) {
            for (auto& rank : own) {
                rank += before;
            }
        }
        member.wait();
    }

    [[nodiscard]] std::span<std::uint32_t> ranks() const { return ranks_.span(); }

  private:
    struct Part {
        Part(std::size_t key_range, std::size_t most_keys)
            : counts(key_range), carries(Histogram::carries_for(most_keys)) {}

        HugeArray<std::uint8_t> counts;
        HugeArray<std::uint32_t> carries;
        Histogram histogram{counts.data(), carries.data()};
    };

    HugeArray<std::uint32_t> ranks_;
    std::vector<std::unique_ptr<Part>> parts_;
    std::vector<Counted> counted_;
    std::vector<std::uint32_t> totals_;
};

}  // namespace aferir::npb::AFERIR_ISA
