#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/is_problem.hpp"
#include "npb/is_ranking.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/ranks.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace aferir::npb::AFERIR_ISA {

/// Which rank has which keys: each a range of buckets of neighbouring keys, chosen by a sample so
/// that all get about as many.
class KeyRanges {
  public:
    KeyRanges(const IsProblem& problem, const Ranks& ranks)
        : ranks_(ranks),
          shift_(static_cast<unsigned>(problem.key_range_log2) - buckets_log2(problem, ranks)),
          counts_((problem.key_range() >> shift_) + kTestKeys),
          owners_(problem.key_range() >> shift_),
          first_keys_(static_cast<std::size_t>(ranks.count()) + 1) {}

    /// Chooses anew for these keys of all ranks, and tells each the keys to be tested, of which
    /// every rank brings those that it has and 0 for the others.
    void choose(std::span<const std::uint32_t> keys, std::array<std::uint32_t, kTestKeys>& tests) {
        const auto samples = std::span(counts_).first(owners_.size());
        const auto others = std::span(counts_).last(kTestKeys);
        std::fill(samples.begin(), samples.end(), 0);
        std::copy(tests.begin(), tests.end(), others.begin());
        if (ranks_.count() > 1) {
            take_sample(keys, samples);
        }
        ranks_.sum(std::span(counts_));
        std::transform(others.begin(), others.end(), tests.begin(),
                       [](std::int64_t key) { return static_cast<std::uint32_t>(key); });
        const auto bounds = split_buckets(samples, ranks_.count());
        for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
            std::fill(owners_.begin() + static_cast<std::ptrdiff_t>(bounds[rank]),
                      owners_.begin() + static_cast<std::ptrdiff_t>(bounds[rank + 1]),
                      static_cast<std::uint16_t>(rank));
        }
        std::transform(bounds.begin(), bounds.end(), first_keys_.begin(), [&](std::size_t bucket) {
            return static_cast<std::uint32_t>(bucket << shift_);
        });
    }

    [[nodiscard]] std::size_t owner(std::uint32_t key) const { return owners_[key >> shift_]; }
    /// The least key of a rank; of one past the last, the range of all keys.
    [[nodiscard]] std::uint32_t first_key(std::size_t rank) const { return first_keys_[rank]; }
    [[nodiscard]] const std::uint32_t* first_keys() const { return first_keys_.data(); }

  private:
    static unsigned buckets_log2(const IsProblem& problem, const Ranks& ranks) {
        const auto wanted =
            6U + static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks.count()) - 1U));
        return std::min({wanted, 12U, static_cast<unsigned>(problem.key_range_log2)});
    }

    /// Short runs of keys from all over.
    void take_sample(std::span<const std::uint32_t> keys, std::span<std::int64_t> samples) const {
        constexpr std::size_t kRuns = 64;
        constexpr std::size_t kRun = 64;
        const auto step = std::max(keys.size() / kRuns, std::size_t{kRun});
        for (std::size_t first = 0; first + kRun <= keys.size(); first += step) {
            for (const auto key : keys.subspan(first, kRun)) {
                ++samples[key >> shift_];
            }
        }
    }

    const Ranks& ranks_;
    unsigned shift_;
    std::vector<std::int64_t> counts_;
    std::vector<std::uint16_t> owners_;
    std::vector<std::uint32_t> first_keys_;
};

/// Sends every key to the rank that has its range, a chunk at a time: a chunk is sorted out while
/// the one before is under way, and what comes is used while it is in cache.
class KeyExchange {
  public:
    KeyExchange(std::size_t keys, const Ranks& ranks)
        : ranks_(static_cast<std::size_t>(ranks.count())),
          id_(static_cast<std::size_t>(ranks.id())),
          chunk_(std::min(keys, kMessageKeys * ranks_)),
          pitch_(kHeader + chunk_ + Histogram::kAhead + Histogram::kTogether),
          sent_(std::clamp(kOutgoing / (ranks_ * pitch_), std::size_t{2}, std::size_t{64})),
          outgoing_(sent_.size() * ranks_ * pitch_),
          incoming_(2 * ranks_ * pitch_),
          cursors_(ranks_) {}

    /// Calls `use(keys)` with this rank's keys of all ranks, counted from the first of its range,
    /// in parts; up to Histogram::kAhead numbers past their end may be read. All ranks call it with
    /// as many keys.
    template <typename Use>
    void run(std::span<const std::uint32_t> keys, const KeyRanges& ranges, const Use& use) {
        std::size_t turn = 0;
        for (std::size_t first = 0; first < keys.size(); first += chunk_, ++turn) {
            const auto slot = turn % sent_.size();
            sent_[slot].wait();
            for (std::size_t rank = 0; rank < ranks_; ++rank) {
                if (rank != id_) {
                    coming_[turn % 2].receive(static_cast<int>(rank),
                                              at(incoming_, turn % 2, rank));
                }
            }
            sort_out(keys.subspan(first, std::min(chunk_, keys.size() - first)), ranges, slot);
            for (std::size_t next = 1; next < ranks_; ++next) {
                const auto rank = (id_ + next) % ranks_;
                const auto message = at(outgoing_, slot, rank).first(kHeader + cursors_[rank]);
                message[0] = static_cast<std::uint32_t>(cursors_[rank]);
                sent_[slot].send(static_cast<int>(rank), std::span<const std::uint32_t>(message));
            }
            use(std::span<const std::uint32_t>(
                at(outgoing_, slot, id_).subspan(kHeader, cursors_[id_])));
            if (turn > 0) {
                use_incoming((turn - 1) % 2, use);
            }
        }
        use_incoming((turn - 1) % 2, use);
        for (auto& messages : sent_) {
            messages.wait();
        }
    }

  private:
    static constexpr std::size_t kMessageKeys = 16384;
    // Lines that another core has just read are slow to write again (measured between two cores of
    // one host: three times the whole ranking), so a buffer rests until the caches have let it go.
    static constexpr std::size_t kOutgoing = std::size_t{4} << 20U;
    static constexpr std::size_t kHeader = 16;  // the number of keys, alone in a cache line

    [[nodiscard]] std::span<std::uint32_t> at(const HugeArray<std::uint32_t>& buffers,
                                              std::size_t slot, std::size_t rank) const {
        return buffers.span().subspan((slot * ranks_ + rank) * pitch_, pitch_);
    }

    void sort_out(std::span<const std::uint32_t> keys, const KeyRanges& ranges, std::size_t slot) {
        if (ranks_ == 2) {
            sort_out_two(keys, ranges.first_key(1), slot);
            return;
        }
        std::uint32_t* const first = at(outgoing_, slot, 0).data() + kHeader;
        std::fill(cursors_.begin(), cursors_.end(), 0);
        std::size_t* const cursors = cursors_.data();
        const std::uint32_t* const first_keys = ranges.first_keys();
        for (const auto key : keys) {
            const auto rank = ranges.owner(key);
            first[rank * pitch_ + cursors[rank]++] = key - first_keys[rank];
        }
    }

    /// Between two ranks no cursor need be in memory.
    void sort_out_two(std::span<const std::uint32_t> keys, std::uint32_t bound, std::size_t slot) {
        std::uint32_t* low = at(outgoing_, slot, 0).data() + kHeader;
        std::uint32_t* high = at(outgoing_, slot, 1).data() + kHeader;
        const std::uint32_t* const first_low = low;
        const std::uint32_t* const first_high = high;
#if defined(__AVX512F__)
        constexpr std::size_t kTogether = 16;
        const auto bounds = _mm512_set1_epi32(static_cast<int>(bound));
        for (; keys.size() >= kTogether; keys = keys.subspan(kTogether)) {
            const auto some = _mm512_loadu_si512(keys.data());
            const auto is_low = _mm512_cmplt_epu32_mask(some, bounds);
            const auto is_high = static_cast<__mmask16>(~is_low);
            // In registers: a compressing store is slow on Zen 4. What it writes past its keys is
            // overwritten by the next, or lies in the room for reading ahead.
            _mm512_storeu_si512(low, _mm512_maskz_compress_epi32(is_low, some));
            _mm512_storeu_si512(high, _mm512_maskz_compress_epi32(
                                          is_high, _mm512_maskz_sub_epi32(is_high, some, bounds)));
            low += std::popcount(static_cast<unsigned>(is_low));
            high += std::popcount(static_cast<unsigned>(is_high));
        }
#endif
        for (const auto key : keys) {
            const std::uint32_t is_low = (key - bound) >> 31U;  // keys take less than 31 bits
            *low = key;
            *high = key - bound;
            low += is_low;
            high += 1U - is_low;
        }
        cursors_[0] = static_cast<std::size_t>(low - first_low);
        cursors_[1] = static_cast<std::size_t>(high - first_high);
    }

    template <typename Use>
    void use_incoming(std::size_t slot, const Use& use) {
        coming_[slot].wait();
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            if (rank != id_) {
                const auto message = at(incoming_, slot, rank);
                use(std::span<const std::uint32_t>(message.subspan(kHeader, message[0])));
            }
        }
    }

    std::size_t ranks_;
    std::size_t id_;
    std::size_t chunk_;
    std::size_t pitch_;
    std::vector<Messages> sent_;  // by slot
    HugeArray<std::uint32_t> outgoing_;
    HugeArray<std::uint32_t> incoming_;
    std::vector<std::size_t> cursors_;
    std::array<Messages, 2> coming_;
};

}  // namespace aferir::npb::AFERIR_ISA
