#pragma once

#include <array>
#include <cstdint>

#include "common/simd.hpp"
#include "npb/ep_reference.hpp"
#include "npb/logarithm.hpp"
#include "npb/random.hpp"

// EP's batches of random numbers, which are independent of each other.

namespace aferir::npb::AFERIR_ISA {

inline constexpr std::uint64_t kEpSeed = 271828183;
inline constexpr std::int64_t kBatchPairs = 1 << 16;
inline constexpr int kVectorAnnuli = 4;
// 46 random bits in the upper part of a word: there the modulus is the word's own wrap-around.
inline constexpr unsigned kShift = 64 - 46;

// counts[l] is the number of pairs whose larger deviate is l or more: cheaper to tally than the
// annuli themselves, which are the differences.
struct Tally {
    double sx = 0;
    double sy = 0;
    std::array<std::int64_t, kAnnuli> counts{};

    [[nodiscard]] GaussianSums sums() const {
        GaussianSums sums{sx, sy, counts};
        for (std::size_t annulus = 0; annulus + 1 < kAnnuli; ++annulus) {
            sums.counts[annulus] -= counts[annulus + 1];
        }
        return sums;
    }
};

// Consecutive random numbers in pairs (x, y): lane i has the pairs i, i + kLanes, ...
struct Streams {
    Words x;
    Words y;

    explicit Streams(std::uint64_t seed) {
        for (int lane = 0; lane < kLanes; ++lane) {
            seed = lcg_skip(seed, 1);
            x[lane] = seed << kShift;
            seed = lcg_skip(seed, 1);
            y[lane] = seed << kShift;
        }
    }

    void advance() {
        constexpr auto kJump = lcg_power(kMultiplier, std::uint64_t{2} * kLanes);
        x *= kJump;
        y *= kJump;
    }
};

// 2 r - 1 for the random numbers r in `words`, exactly: their bits become the fraction of a number
// from 1 to 2.
inline Vector symmetric(Words words) {
    constexpr std::uint64_t kOne = 0x3FF0000000000000;
    return 2.0 * as_vector((words >> 12) | kOne) - 3.0;
}

inline void tally_far(Vector distance, std::array<std::int64_t, kAnnuli>& counts) {
    for (int lane = 0; lane < kLanes; ++lane) {
        for (std::size_t annulus = kVectorAnnuli; annulus < kAnnuli; ++annulus) {
            counts[annulus] += distance[lane] >= static_cast<double>(annulus) ? 1 : 0;
        }
    }
}

inline void run_batch(std::int64_t batch, Tally& tally) {
    Streams streams(lcg_skip(kEpSeed, static_cast<std::uint64_t>(2 * kBatchPairs * batch)));
    Vector sx{};
    Vector sy{};
    std::array<Mask, kVectorAnnuli> counts{};
    for (std::int64_t i = 0; i < kBatchPairs; i += kLanes) {
        const Vector x = symmetric(streams.x);
        const Vector y = symmetric(streams.y);
        streams.advance();
        const Vector t = x * x + y * y;
        const Mask accepted = t <= 1.0;
        // Rejected lanes compute with t = 1, where the logarithm and so the deviates are zero.
        const Vector safe = accepted ? t : broadcast(1.0);
        const Vector factor = square_root(-2.0 * logarithm(safe) / safe);
        const Vector gx = x * factor;
        const Vector gy = y * factor;
        sx += gx;
        sy += gy;
        const Vector distance = larger(magnitude(gx), magnitude(gy));
        counts[0] -= accepted;
        counts[1] -= distance >= 1.0;
        counts[2] -= distance >= 2.0;
        counts[3] -= distance >= 3.0;
        if (any(distance >= 4.0)) [[unlikely]] {
            tally_far(distance, tally.counts);
        }
    }
    tally.sx += sum(sx);
    tally.sy += sum(sy);
    for (std::size_t annulus = 0; annulus < kVectorAnnuli; ++annulus) {
        tally.counts[annulus] += sum(counts[annulus]);
    }
}

}  // namespace aferir::npb::AFERIR_ISA
