#include "beff/definition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace aferir::beff {
namespace {

constexpr std::size_t kDoubled = 12;  // sizes that are reached by doubling
constexpr double kDoubledBytes = 4096;

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

// Effective bandwidths from `best`, the mean over message sizes for each pattern: the geometric
// means over ring patterns, over random ones, and of these two.
template <typename Best>
Effective over_patterns(const Best& best) {
    std::array<double, kPatterns> patterns{};
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
        patterns[pattern] = best(pattern);
    }
    const std::span<const double> all(patterns);
    Effective found{log_average(all.first(kRings)), log_average(all.subspan(kRings)), 0};
    const std::array<double, 2> both{found.rings, found.random};
    found.all = log_average(both);
    return found;
}

double best_method(const std::array<BySize, kMethods>& methods, std::size_t size) {
    double best = 0;
    for (const BySize& method : methods) {
        best = std::max(best, method[size]);
    }
    return best;
}

}  // namespace

std::array<std::int64_t, kSizes> message_sizes(std::int64_t largest) {
    std::array<std::int64_t, kSizes> sizes{};
    const auto steps = static_cast<double>(kSizes - 1 - kDoubled);
    for (std::size_t size = 0; size < kSizes; ++size) {
        if (size <= kDoubled) {
            sizes[size] = std::int64_t{1} << size;
        } else {
            const double share = static_cast<double>(size - kDoubled) / steps;
            const double ratio = static_cast<double>(largest) / kDoubledBytes;
            sizes[size] = std::llround(kDoubledBytes * std::pow(ratio, share));
        }
    }
    return sizes;
}

std::vector<int> ring_lengths(std::size_t pattern, int processes) {
    const std::array<int, kRings> near{
        2, 4, 8, std::max(16, processes / 4), std::max(32, processes / 2), processes};
    const double wished = std::min(near[pattern], processes);
    const int fitting = static_cast<int>(static_cast<double>(processes) / wished + 0.4);
    const int rings = std::max(1, std::min(fitting, processes / 2));
    const int shorter = processes / rings;
    const int longer_rings = processes % rings;
    std::vector<int> lengths(static_cast<std::size_t>(rings), shorter);
    // Rings of even length come first, so that rings of two consist of ranks 0 and 1, 2 and 3, ...,
    // as do pairs of ranks that share hardware.
    const bool longer_first = shorter % 2 == 1;
    const auto first = longer_first ? lengths.begin() : lengths.end() - longer_rings;
    std::fill_n(first, longer_rings, shorter + 1);
    return lengths;
}

Neighbours neighbours(int position, std::span<const int> lengths) {
    int start = 0;
    for (const int length : lengths) {
        if (position < start + length) {
            const int place = position - start;
            return {start + (place + length - 1) % length, start + (place + 1) % length};
        }
        start += length;
    }
    return {position, position};
}

std::vector<int> random_order(int processes, std::uint64_t seed) {
    std::vector<int> order(static_cast<std::size_t>(processes));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[next_random(seed) % left]);
    }
    return order;
}

double log_average(std::span<const double> values) {
    if (values.empty()) {
        return 0;
    }
    double sum = 0;
    for (const double value : values) {
        sum += std::log(value);
    }
    return std::exp(sum / static_cast<double>(values.size()));
}

Effective effective_bandwidth(const Measured& measured) {
    return over_patterns([&](std::size_t pattern) {
        double sum = 0;
        for (std::size_t size = 0; size < kSizes; ++size) {
            sum += best_method(measured[pattern], size);
        }
        return sum / static_cast<double>(kSizes);
    });
}

Effective by_method(const Measured& measured, std::size_t method) {
    return over_patterns([&](std::size_t pattern) {
        const BySize& sizes = measured[pattern][method];
        return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(kSizes);
    });
}

Effective by_size(const Measured& measured, std::size_t size) {
    return over_patterns([&](std::size_t pattern) { return best_method(measured[pattern], size); });
}

std::int64_t next_loops(const LoopLength& known) {
    const auto previous = static_cast<double>(known.previous);
    double loops = previous / known.size_ratio;
    if (known.took_s > 0) {
        loops *= std::max(1.0, known.budget_s / known.took_s);
    }
    return std::clamp(static_cast<std::int64_t>(std::min(loops, 1e15)), std::int64_t{1},
                      std::max(std::int64_t{1}, known.most));
}

}  // namespace aferir::beff
