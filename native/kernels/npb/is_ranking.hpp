#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Where thread `id` of `count` begins when `size` things are dealt out in contiguous parts;
/// rounded to cache lines of 32-bit numbers.
inline std::size_t part_begin(std::size_t size, int id, int count) {
    constexpr std::size_t kLine = 16;
    return id == count ? size
                       : size * static_cast<std::size_t>(id) / static_cast<std::size_t>(count) /
                             kLine * kLine;
}

/// One thread's histogram of its keys.
///
/// Counters are bytes, because what they cost is cache misses: class A's 2^19 take 512 KiB and stay
/// in L2, where 32-bit ones would not. A key that comes a 256th time is noted in a list of carries,
/// of which a thread can have at most its keys / 256.
class Histogram {
  public:
    Histogram(std::size_t key_range, std::size_t most_keys)
        : counts_(key_range), carries_(most_keys / 256 + 1) {}

    /// Reads up to kAhead keys past the end of `keys`, which must be in range.
    void count(std::span<const std::uint32_t> keys) {
        std::fill_n(counts_.data(), counts_.size(), std::uint8_t{0});
        carried_ = 0;
        const std::uint32_t* const key = keys.data();
        std::size_t i = 0;
        for (; i + kTogether <= keys.size(); i += kTogether) {
            // Streamed past the caches that the counters live in.
            __builtin_prefetch(key + i + kStream, 0, 0);
            for (std::size_t j = 0; j < kTogether; ++j) {
                __builtin_prefetch(counts_.data() + key[i + kAhead + j], 1);
            }
            for (std::size_t j = 0; j < kTogether; ++j) {
                count_one(key[i + j]);
            }
        }
        for (; i < keys.size(); ++i) {
            count_one(key[i]);
        }
    }

    [[nodiscard]] const std::uint8_t* counts() const { return counts_.data(); }
    [[nodiscard]] std::span<const std::uint32_t> carries() const {
        return carries_.span().first(carried_);
    }

    static constexpr std::size_t kTogether = 4;
    static constexpr std::size_t kAhead = 32;

  private:
    static constexpr std::size_t kStream = 512;

    void count_one(std::uint32_t key) {
        if (++counts_[key] == 0) [[unlikely]] {
            carries_[carried_++] = key;
        }
    }

    HugeArray<std::uint8_t> counts_;
    HugeArray<std::uint32_t> carries_;
    std::size_t carried_ = 0;
};

/// The ranks of integer keys, by all threads together.
class Ranking {
  public:
    Ranking(std::size_t key_range, int threads)
        : ranks_(key_range),
          histograms_(static_cast<std::size_t>(threads)),
          totals_(static_cast<std::size_t>(threads)) {}

    /// Each thread calls it once, before the first rank(), with the most keys it will ever be
    /// dealt.
    void prepare(const Member& member, std::size_t most_keys) {
        histograms_[static_cast<std::size_t>(member.id())] =
            std::make_unique<Histogram>(ranks_.size(), most_keys);
    }

    /// Afterwards ranks()[k] is the number of keys <= k: key k's copies have the ranks from
    /// ranks()[k - 1] to ranks()[k] - 1. Each thread passes its own part of the keys.
    void rank(Member& member, std::span<const std::uint32_t> part) {
        const auto id = static_cast<std::size_t>(member.id());
        histograms_[id]->count(part);
        member.wait();
        const auto begin = part_begin(ranks_.size(), member.id(), member.count());
        const auto end = part_begin(ranks_.size(), member.id() + 1, member.count());
        const auto own = ranks_.span().subspan(begin, end - begin);
        merge(own, begin, member.count());
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
    void merge(std::span<std::uint32_t> own, std::size_t begin, int threads) const {
        constexpr std::size_t kChunk = 2048;  // its sums stay in L1 while threads are added
        for (std::size_t first = 0; first < own.size(); first += kChunk) {
            const auto chunk = own.subspan(first, std::min(kChunk, own.size() - first));
            std::copy_n(histograms_[0]->counts() + begin + first, chunk.size(), chunk.begin());
            for (std::size_t thread = 1; thread < static_cast<std::size_t>(threads); ++thread) {
                const std::uint8_t* const counts = histograms_[thread]->counts() + begin + first;
                for (std::size_t i = 0; i < chunk.size(); ++i) {
                    chunk[i] += counts[i];
                }
            }
        }
        for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
            for (const auto key : histograms_[thread]->carries()) {
                if (key >= begin && key - begin < own.size()) {
                    own[key - begin] += 256;
                }
            }
        }
    }

    static std::uint32_t cumulate(std::span<std::uint32_t> own) {
        std::uint32_t total = 0;
        for (auto& count : own) {
            total += count;
            count = total;
        }
        return total;
    }

    HugeArray<std::uint32_t> ranks_;
    std::vector<std::unique_ptr<Histogram>> histograms_;
    std::vector<std::uint32_t> totals_;
};

}  // namespace aferir::npb::AFERIR_ISA
