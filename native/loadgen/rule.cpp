#include "loadgen/rule.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace aferir::loadgen {

namespace {

constexpr double kSafety = 0.9;
constexpr std::size_t kSamples = 4;
constexpr double kReservoir = 90.0 / 240.0;
constexpr double kFull = 216.0 / 240.0;

constexpr std::array<std::pair<std::string_view, Rule>, 3> kRules{
    {{"throughput", by_throughput}, {"buffer", by_buffer}, {"highest", by_nothing}}};

/// Place of the highest rate that is at most so much, or else of the lowest.
std::size_t at_most(std::span<const double> rates, double most) {
    const auto above = std::ranges::upper_bound(rates, most);
    return above == rates.begin() ? 0 : static_cast<std::size_t>(above - rates.begin()) - 1;
}

}  // namespace

std::size_t by_throughput(const Situation& seen) {
    const auto count = std::min(seen.throughputs.size(), kSamples);
    if (count == 0) {
        return 0;
    }
    const auto latest = seen.throughputs.last(count);
    const double sum = std::accumulate(latest.begin(), latest.end(), 0.0);
    return at_most(seen.rates, kSafety * sum / static_cast<double>(count));
}

std::size_t by_buffer(const Situation& seen) {
    const std::size_t highest = seen.rates.size() - 1;
    const double filled = seen.buffered_s / seen.most_s;
    if (filled <= kReservoir) {
        return 0;
    }
    if (filled >= kFull) {
        return highest;
    }
    const double along = (filled - kReservoir) / (kFull - kReservoir);
    const double mapped = seen.rates.front() + along * (seen.rates.back() - seen.rates.front());
    const std::size_t up = std::min(seen.last + 1, highest);
    const std::size_t down = seen.last == 0 ? 0 : seen.last - 1;
    if (mapped >= seen.rates[up]) {
        return at_most(seen.rates, mapped);
    }
    if (mapped <= seen.rates[down]) {
        const auto least = std::ranges::lower_bound(seen.rates, mapped);
        return static_cast<std::size_t>(least - seen.rates.begin());
    }
    return seen.last;
}

std::size_t by_nothing(const Situation& seen) { return seen.rates.size() - 1; }

std::optional<Rule> rule_named(std::string_view name) {
    const auto* found = std::ranges::find(kRules, name, &std::pair<std::string_view, Rule>::first);
    return found == kRules.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace aferir::loadgen
