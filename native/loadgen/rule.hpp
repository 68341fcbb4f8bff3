#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace aferir::loadgen {

/// What a viewer knows when it chooses the rate of its next segment.
struct Situation {
    /// Rates at which the video can be had in bit/s, ascending; at least one.
    std::span<const double> rates;
    /// Place of the latest segment's rate; 0 before the first.
    std::size_t last = 0;
    /// Seconds of video in the buffer, and the most that it holds.
    double buffered_s = 0.0;
    double most_s = 0.0;
    /// Throughput of each segment so far in bit/s, from its request to its last byte.
    std::span<const double> throughputs;
};

/// Chooses the place of a rate.
using Rule = std::size_t (*)(const Situation&);

/// The highest rate that is at most 0.9 times the mean throughput of the last four segments: the
/// ThroughputRule of dash.js 4 without its other rules. The lowest as long as nothing is known.
std::size_t by_throughput(const Situation& seen);

/// BBA-0 of Huang and others (SIGCOMM 2014, Algorithm 1): from the buffer alone. The lowest rate up
/// to a reservoir of 0.375 of the buffer, the highest from 0.9 of it on (90 and 216 s of 240
/// there). Between them a line leads from one to the other, and a rate is changed when the line
/// passes the next one.
std::size_t by_buffer(const Situation& seen);

/// Always the highest rate: a viewer who does not adapt.
std::size_t by_nothing(const Situation& seen);

/// The rule of that name: `throughput`, `buffer` or `highest`.
std::optional<Rule> rule_named(std::string_view name);

}  // namespace aferir::loadgen
