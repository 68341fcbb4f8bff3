#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/histogram.hpp"
#include "loadgen/http.hpp"
#include "loadgen/playback.hpp"

namespace aferir::loadgen {

enum class Protocol { kHttp, kMemcached, kRedis };

/// A URL, and its frequency relative to the others.
struct Weighted {
    Target target;
    double weight = 1.0;
    Protocol protocol = Protocol::kHttp;
};

/// Rate in requests per second from time `after` on.
struct Step {
    Nanoseconds after = 0;
    double rate = 0.0;
};

/// A load to generate: an open or a closed loop.
///
/// In an open loop, intervals between requests are exponential, whatever the outcome of earlier
/// ones. In a closed loop, each of `users` sends its next request when it has its answer and has
/// thought, as Faban's users do.
struct Plan {
    std::vector<Weighted> targets;
    /// Value of HTTP's header Host; empty: the host in the URL.
    std::string host;
    /// All addresses of that host, of which the first that answers is used; empty: the URL's.
    std::vector<Target> addresses;
    std::vector<Step> steps;
    /// Users of a closed loop, who begin one after another during the warm-up; 0: an open loop.
    std::size_t users = 0;
    /// Mean of the exponential time that a user thinks before the next request.
    Nanoseconds think = 0;
    Nanoseconds duration = 0;
    /// Requests that are due before this time are sent and not counted.
    Nanoseconds warm_up = 0;
    /// Requests that are due in this time before the end are not counted either.
    Nanoseconds ramp_down = 0;
    /// A request that is not answered within this time has failed.
    Nanoseconds patience = 0;
    std::size_t connections = 0;
    /// Largest number of requests per connection; 0: as many as the server permits.
    std::uint64_t reuse = 0;
    std::uint64_t seed = 0;
};

/// One request that was counted.
struct Asked {
    Nanoseconds intended = 0;
    /// Time from when the request was due until its last byte arrived, by the kernel's stamp; at
    /// least the patience if the request failed.
    Nanoseconds latency = 0;
    int status = 0;
    std::uint32_t target = 0;
};

struct Measured {
    std::uint64_t intended = 0;
    std::uint64_t answered = 0;
    /// Number of failed requests by reason. With `answered`, these add up to all that were due.
    std::map<std::string, std::uint64_t> failures;
    /// Latencies of all requests. Failed ones count with the patience, so that quick failures do
    /// not look like quick answers.
    Histogram latencies;
    /// Sum of all latencies.
    double latencies_s = 0.0;
    /// Time from when each request was due until it was sent, including waits for a connection,
    /// which the service causes.
    Histogram delays;
    /// Delays that the load generator itself caused.
    Histogram own_delays;
    std::size_t most_connections = 0;
    double cpu_s = 0.0;
    double duration_s = 0.0;
};

/// Called for each counted request that has ended, with the reason if it failed, else an empty
/// text.
using Tell = std::function<void(const Asked& asked, std::string_view failure)>;

/// Sends all requests, in one thread, until the last one is answered or exceeds `Plan::patience`.
/// Errors: UsageError if the system does not permit so many connections.
Measured send_requests(const Plan& plan, const Tell& tell = {});

/// One JSON object about the whole load.
std::string summary(const Measured& measured, const Plan& plan);

}  // namespace aferir::loadgen
