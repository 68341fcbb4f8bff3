#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aferir {

/// Counts of durations in nanoseconds: exact below 256, above that in 128 steps per doubling, so
/// that a value is known to 0.4 %. Its size is constant, and histograms can be added.
class Histogram {
  public:
    Histogram() : counts_(kBuckets) {}

    void add(std::uint64_t nanoseconds) { ++counts_[bucket(nanoseconds)]; }
    void merge(const Histogram& other);
    /// Adds the counts of another histogram. Errors: std::invalid_argument unless there are
    /// `kBuckets` of them.
    void merge(std::span<const std::uint64_t> counts);

    [[nodiscard]] std::uint64_t total() const;
    /// Quantile `q` (0 to 1): the smallest value for which at least a share `q` of all values is
    /// not larger; 0 when empty.
    [[nodiscard]] double quantile(double q) const;
    [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }

    static constexpr std::size_t kSteps = 128;
    /// 64 - 8 doublings above the first 256 values.
    static constexpr std::size_t kBuckets = kSteps * 56 + 2 * kSteps;

  private:
    static std::size_t bucket(std::uint64_t value) {
        const auto width = static_cast<unsigned>(std::bit_width(value));
        const unsigned shift = width > 8 ? width - 8 : 0;
        return kSteps * shift + static_cast<std::size_t>(value >> shift);
    }

    std::vector<std::uint64_t> counts_;
};

}  // namespace aferir
