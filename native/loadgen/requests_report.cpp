#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "common/json.hpp"
#include "loadgen/requests.hpp"

namespace aferir::loadgen {

namespace {

constexpr std::array kShares{0.01, 0.05, 0.1, 0.2,  0.3,  0.4,  0.5,   0.6,   0.7,
                             0.75, 0.8,  0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0};
/// Delays of our own, in s, below which they cannot be seen in any result.
constexpr double kUnnoticed = 1e-3;
/// Share of the 95th percentile of latency that our own delays may make up.
constexpr double kTolerated = 0.1;

std::string text_of(double value) { return JsonObject().number("", value).str(); }

/// Formats a number as JSON does, by cutting it out of an object such as `{"":1.5}`.
std::string bare(double value) {
    const std::string framed = text_of(value);
    const std::size_t colon = framed.find(':');
    return framed.substr(colon + 1, framed.size() - colon - 2);
}

}  // namespace

std::string summary(const Measured& measured, const Plan& plan) {
    std::uint64_t failed = 0;
    JsonObject reasons;
    for (const auto& [reason, count] : measured.failures) {
        reasons.integer(reason, count);
        failed += count;
    }
    std::string shares;
    std::string values;
    for (const double share : kShares) {
        shares += (shares.empty() ? "" : ",") + bare(share);
        values += (values.empty() ? "" : ",") + bare(measured.latencies.quantile(share) * 1e-9);
    }
    const double p95 = measured.latencies.quantile(0.95) * 1e-9;
    const double own = measured.own_delays.quantile(0.99) * 1e-9;
    const double seconds =
        static_cast<double>(plan.duration - plan.warm_up - plan.ramp_down) * 1e-9;
    const auto all = static_cast<double>(std::max<std::uint64_t>(measured.intended, 1));
    JsonObject made;
    made.text("program", "request-clients")
        .boolean("verified", measured.answered + failed == measured.intended)
        .boolean("healthy", own <= kUnnoticed || own <= kTolerated * p95)
        .number("duration_s", measured.duration_s)
        .number("counted_s", seconds)
        .integer("requests", measured.intended)
        .integer("answered", measured.answered)
        .integer("failed", failed)
        .raw("reasons", reasons.str())
        .integer("users", plan.users)
        .number("intended_per_s", static_cast<double>(measured.intended) / seconds)
        .number("answered_per_s", static_cast<double>(measured.answered) / seconds)
        .number("latency_least_s", measured.latencies.quantile(0.0) * 1e-9)
        .number("latency_mean_s", measured.latencies_s / all)
        .number("latency_p50_s", measured.latencies.quantile(0.5) * 1e-9)
        .number("latency_p90_s", measured.latencies.quantile(0.9) * 1e-9)
        .number("latency_p95_s", p95)
        .number("latency_p99_s", measured.latencies.quantile(0.99) * 1e-9)
        .number("latency_max_s", measured.latencies.quantile(1.0) * 1e-9)
        .raw("shares", "[" + shares + "]")
        .raw("latency_s", "[" + values + "]")
        .number("sent_late_p99_s", measured.delays.quantile(0.99) * 1e-9)
        .number("own_late_p99_s", own)
        .number("own_late_max_s", measured.own_delays.quantile(1.0) * 1e-9)
        .integer("connections", measured.most_connections)
        .number("cpu_s", measured.cpu_s);
    return made.str();
}

}  // namespace aferir::loadgen
