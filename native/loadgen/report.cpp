#include "loadgen/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "common/json.hpp"

namespace aferir::loadgen {

namespace {

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

template <typename Number>
std::string array(const std::vector<Number>& values) {
    std::string text = "[";
    for (const Number value : values) {
        text += (text.size() > 1 ? "," : "") + std::to_string(value);
    }
    return text + "]";
}

struct Sums {
    std::array<std::int64_t, kOutcomes.size()> outcomes{};
    std::int64_t bytes = 0;
    std::int64_t violated = 0;
    std::int64_t violations = 0;
    std::int64_t own_violations = 0;
    std::int64_t unheard = 0;
    Nanoseconds stalled = 0;
    Nanoseconds longest = 0;
    std::vector<Nanoseconds> startups;
    std::map<std::string, int> reasons;
    /// Of videos in segments: seconds that came at each rate in bit/s.
    std::map<double, double> seconds_at;
    std::int64_t switches = 0;
    double gained_s = 0.0;

    void add(const Client& client) {
        ++outcomes[static_cast<std::size_t>(client.outcome())];
        unheard += client.left_unheard() ? 1 : 0;
        if (!client.reason().empty()) {
            ++reasons[client.reason()];
        }
        if (const Playback* seen = client.playback()) {
            bytes += client.received();
            violated += seen->violations() > 0 ? 1 : 0;
            violations += seen->violations();
            own_violations += seen->own_violations();
            stalled += seen->stalled();
            longest = std::max(longest, seen->longest_stall());
        }
        if (const std::optional<Nanoseconds> startup = client.startup()) {
            startups.push_back(*startup);
        }
        if (const Segments* seen = client.segments()) {
            for (std::size_t k = 0; k < seen->rates().size(); ++k) {
                seconds_at[seen->rates()[k]] += seen->seconds_at()[k];
            }
            switches += seen->switches();
            gained_s += client.gained_s();
        }
    }
};

/// Quantile of sorted values by nearest rank.
double quantile(const std::vector<Nanoseconds>& values, double share) {
    if (values.empty()) {
        return 0.0;
    }
    const auto last = static_cast<double>(values.size() - 1);
    return seconds(values[static_cast<std::size_t>(std::lround(share * last))]);
}

}  // namespace

std::string summary(const Run& run) {
    Sums sums;
    for (const Client& client : run.clients) {
        sums.add(client);
    }
    std::ranges::sort(sums.startups);
    std::vector<double> rates;
    std::vector<double> seconds_at;
    for (const auto& [rate, came_s] : sums.seconds_at) {
        rates.push_back(rate);
        seconds_at.push_back(came_s);
    }
    JsonObject reasons;
    for (const auto& [reason, count] : sums.reasons) {
        reasons.integer(reason, count);
    }
    JsonObject made;
    made.text("program", "video-clients")
        .boolean("verified", sums.outcomes[static_cast<std::size_t>(Outcome::kNone)] == 0)
        .number("duration_s", seconds(run.ended - run.began))
        .integer("clients", run.clients.size());
    for (std::size_t k = 1; k < kOutcomes.size(); ++k) {
        made.integer(kOutcomes[k], sums.outcomes[k]);
    }
    made.raw("reasons", reasons.str())
        .integer("clients_with_violations", sums.violated)
        .integer("violations", sums.violations)
        .integer("own_violations", sums.own_violations)
        .number("stalled_s", seconds(sums.stalled))
        .number("longest_stall_s", seconds(sums.longest))
        .integer("leaves_unheard", sums.unheard)
        .integer("received_bytes", sums.bytes)
        .number("startup_median_s", quantile(sums.startups, 0.5))
        .number("startup_p95_s", quantile(sums.startups, 0.95))
        .number("startup_max_s", quantile(sums.startups, 1.0))
        .number("cpu_s", run.health.cpu_s)
        .number("worst_turn_s", seconds(run.health.worst_turn))
        .number("worst_start_s", seconds(run.health.worst_start))
        .raw("bytes_by_second", array(run.bytes))
        .raw("streaming_by_second", array(run.streaming))
        .raw("rates_bps", array(rates))
        .raw("seconds_at_rate", array(seconds_at))
        .integer("switches", sums.switches)
        .number("gained_s", sums.gained_s);
    return made.str();
}

std::string client_line(const Client& client, Nanoseconds began) {
    JsonObject made;
    made.number("intended_s", seconds(client.intended() - began))
        .text("outcome", outcome_name(client.outcome()))
        .text("reason", client.reason());
    if (const std::optional<Nanoseconds> startup = client.startup()) {
        made.number("startup_s", seconds(*startup));
    }
    if (const Playback* seen = client.playback()) {
        made.integer("received_bytes", client.received())
            .integer("violations", seen->violations())
            .integer("own_violations", seen->own_violations())
            .number("stalled_s", seconds(seen->stalled()));
    }
    if (const Segments* seen = client.segments()) {
        made.raw("seconds_at_rate", array(seen->seconds_at()))
            .integer("switches", seen->switches());
    }
    return made.str();
}

}  // namespace aferir::loadgen
