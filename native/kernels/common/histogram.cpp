#include "common/histogram.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace aferir {
namespace {

double middle_of(std::size_t bucket) {
    if (bucket < 2 * Histogram::kSteps) {
        return static_cast<double>(bucket);
    }
    const auto shift = bucket / Histogram::kSteps - 1;
    const auto first = bucket - Histogram::kSteps * shift;
    const double width = std::ldexp(1.0, static_cast<int>(shift));
    return static_cast<double>(first) * width + (width - 1) / 2;
}

}  // namespace

void Histogram::merge(const Histogram& other) { merge(other.counts()); }

void Histogram::merge(std::span<const std::uint64_t> counts) {
    if (counts.size() != counts_.size()) {
        throw std::invalid_argument("a histogram of another size");
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts_[i] += counts[i];
    }
}

std::uint64_t Histogram::total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

double Histogram::quantile(double q) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total())));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        seen += counts_[i];
        if (counts_[i] > 0 && seen >= wanted) {
            return middle_of(i);
        }
    }
    return 0;
}

}  // namespace aferir
