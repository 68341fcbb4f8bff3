#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/intrinsics.hpp"
#include "common/memory.hpp"
#include "npb/is_problem.hpp"
#include "npb/is_ranking.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Distribution of keys over ranks: each rank has a range of buckets of neighbouring keys. Ranks
/// are numbered here in the order of their hosts ("places"), so that a host's keys are one range,
/// too.
class KeyRanges {
  public:
    KeyRanges(const IsProblem& problem, const Ranks& ranks)
        : ranks_(ranks),
          shift_(static_cast<unsigned>(problem.key_range_log2) - buckets_log2(problem, ranks)),
          samples_(problem.key_range() >> shift_, 1),
          bounds_(split_buckets(samples_, ranks.count())) {}

    /// If there are several hosts, chooses new ranges from a sample of all ranks' keys, so that all
    /// ranks get about the same number of them.
    void choose(std::span<const std::uint32_t> keys) {
        if (ranks_.hosts().members.size() > 1) {
            std::fill(samples_.begin(), samples_.end(), 0);
            take_sample(keys, samples_);
            ranks_.sum(std::span(samples_));
            bounds_ = split_buckets(samples_, ranks_.count());
        }
    }

    /// Smallest key of a place; for the number of places, the range of all keys.
    [[nodiscard]] std::uint32_t first_key(std::size_t place) const {
        return static_cast<std::uint32_t>(bounds_[place] << shift_);
    }
    [[nodiscard]] bool has(std::size_t place, std::uint32_t key) const {
        return first_key(place) <= key && key < first_key(place + 1);
    }

    [[nodiscard]] unsigned shift() const { return shift_; }  ///< from a key to its bucket
    [[nodiscard]] std::size_t buckets() const { return samples_.size(); }

  private:
    static unsigned buckets_log2(const IsProblem& problem, const Ranks& ranks) {
        const auto wanted =
            6U + static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks.count()) - 1U));
        return std::min({wanted, 12U, static_cast<unsigned>(problem.key_range_log2)});
    }

    /// Counts a sample of keys by bucket: runs of 64 neighbouring keys, about 64 of them at equal
    /// distances.
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
    std::vector<std::int64_t> samples_;  ///< by bucket
    std::vector<std::size_t> bounds_;    ///< by place, in buckets
};

/// Sends every key to the group of ranks that has its range, a chunk at a time: a chunk is divided
/// while the one before is being sent, and received keys are used while they are in cache. Each
/// rank sends to one partner in each other group.
class KeyExchange {
  public:
    /// `groups` in order of place: those of `hosts`, or groups of one rank each.
    KeyExchange(std::size_t keys, const Hosts& groups)
        : groups_(groups.members.size()),
          own_(groups.own),
          chunk_(std::min(keys, kMessageKeys * groups_)),
          pitch_(kHeader + chunk_ + Histogram::kAhead + Histogram::kTogether),
          places_(groups_ + 1),
          first_keys_(groups_ + 1),
          cursors_(groups_) {
        const auto mates = groups.mates().size();
        for (std::size_t group = 0; group < groups_; ++group) {
            const auto& members = groups.members[group];
            places_[group + 1] = places_[group] + members.size();
            partners_.push_back(members[groups.place % members.size()]);
            for (std::size_t place = groups.place; group != own_ && place < members.size();
                 place += mates) {
                senders_.push_back(members[place]);
            }
        }
        sent_.resize(std::clamp(kOutgoing / (groups_ * pitch_), std::size_t{2}, std::size_t{64}));
        outgoing_ = HugeArray<std::uint32_t>(sent_.size() * groups_ * pitch_);
        incoming_ = HugeArray<std::uint32_t>(2 * senders_.size() * pitch_);
    }

    /// Exchanges `keys` and calls `use` with each part that arrives here, each key minus the first
    /// key of the group's range. `use` may read up to Histogram::kAhead numbers past a part's end.
    /// Collective: all ranks pass the same number of keys.
    template <typename Use>
    void run(std::span<const std::uint32_t> keys, const KeyRanges& ranges, const Use& use) {
        find_owners(ranges);
        std::size_t turn = 0;
        for (std::size_t first = 0; first < keys.size(); first += chunk_, ++turn) {
            const auto slot = turn % sent_.size();
            sent_[slot].wait();
            for (std::size_t i = 0; i < senders_.size(); ++i) {
                coming_[turn % 2].receive(senders_[i], incoming(turn % 2, i));
            }
            sort_out(keys.subspan(first, std::min(chunk_, keys.size() - first)), slot);
            for (std::size_t next = 1; next < groups_; ++next) {
                const auto group = (own_ + next) % groups_;
                const auto message = outgoing(slot, group).first(kHeader + cursors_[group]);
                message[0] = static_cast<std::uint32_t>(cursors_[group]);
                sent_[slot].send(partners_[group], std::span<const std::uint32_t>(message));
            }
            use(std::span<const std::uint32_t>(
                outgoing(slot, own_).subspan(kHeader, cursors_[own_])));
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
    // Keys in all outgoing buffers together, enough that the caches have evicted a buffer before it
    // is reused: writing to lines that another core has just read is slow (between two cores of one
    // host it took three times as long as the whole ranking).
    static constexpr std::size_t kOutgoing = std::size_t{4} << 20U;
    static constexpr std::size_t kHeader = 16;  // the number of keys, alone in a cache line

    [[nodiscard]] std::span<std::uint32_t> outgoing(std::size_t slot, std::size_t group) const {
        return outgoing_.span().subspan((slot * groups_ + group) * pitch_, pitch_);
    }
    [[nodiscard]] std::span<std::uint32_t> incoming(std::size_t slot, std::size_t sender) const {
        return incoming_.span().subspan((slot * senders_.size() + sender) * pitch_, pitch_);
    }

    void find_owners(const KeyRanges& ranges) {
        shift_ = ranges.shift();
        owners_.resize(ranges.buckets());
        for (std::size_t group = 0; group <= groups_; ++group) {
            first_keys_[group] = ranges.first_key(places_[group]);
        }
        for (std::size_t group = 0; group < groups_; ++group) {
            std::fill(owners_.begin() + (first_keys_[group] >> shift_),
                      owners_.begin() + (first_keys_[group + 1] >> shift_),
                      static_cast<std::uint16_t>(group));
        }
    }

    void sort_out(std::span<const std::uint32_t> keys, std::size_t slot) {
        if (groups_ == 2) {
            sort_out_two(keys, first_keys_[1], slot);
            return;
        }
        std::uint32_t* const first = outgoing(slot, 0).data() + kHeader;
        std::fill(cursors_.begin(), cursors_.end(), 0);
        std::size_t* const cursors = cursors_.data();
        const std::uint32_t* const first_keys = first_keys_.data();
        const std::uint16_t* const owners = owners_.data();
        for (const auto key : keys) {
            const std::size_t group = owners[key >> shift_];
            first[group * pitch_ + cursors[group]++] = key - first_keys[group];
        }
    }

    /// Divides keys between two groups, with the cursors in registers.
    void sort_out_two(std::span<const std::uint32_t> keys, std::uint32_t bound, std::size_t slot) {
        std::uint32_t* low = outgoing(slot, 0).data() + kHeader;
        std::uint32_t* high = outgoing(slot, 1).data() + kHeader;
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
        for (std::size_t i = 0; i < senders_.size(); ++i) {
            const auto message = incoming(slot, i);
            use(std::span<const std::uint32_t>(message.subspan(kHeader, message[0])));
        }
    }

    std::size_t groups_;
    std::size_t own_;
    std::size_t chunk_;
    std::size_t pitch_;
    std::vector<std::size_t> places_;  ///< by group, the first
    std::vector<int> partners_;        ///< by group
    std::vector<int> senders_;
    unsigned shift_ = 0;
    std::vector<std::uint16_t> owners_;      ///< by bucket, the group
    std::vector<std::uint32_t> first_keys_;  ///< by group
    std::vector<std::size_t> cursors_;
    std::vector<Messages> sent_;  ///< by slot
    HugeArray<std::uint32_t> outgoing_{1};
    HugeArray<std::uint32_t> incoming_{1};
    std::array<Messages, 2> coming_;
};

}  // namespace aferir::npb::AFERIR_ISA
