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

/// A URL, and how often it is asked for relative to the others.
struct Weighted {
    Target target;
    double weight = 1.0;
    Protocol protocol = Protocol::kHttp;
};

/// From `after` on, so many requests a second.
struct Step {
    Nanoseconds after = 0;
    double rate = 0.0;
};

/// An open loop: requests come at exponential distances whatever became of those before. Or a
/// closed one: each of `users` asks again when it has its answer and has thought, as Faban's do.
struct Plan {
    std::vector<Weighted> targets;
    /// That HTTP servers are asked for; empty: what stands in the URL.
    std::string host;
    /// All addresses of that host, of which the first that answers is kept to; empty: the URL's.
    std::vector<Target> addresses;
    std::vector<Step> steps;
    /// Of a closed loop, which begin one after another during the warm-up; 0: an open loop.
    std::size_t users = 0;
    /// Mean time that a user thinks before it asks again, which is exponential.
    Nanoseconds think = 0;
    Nanoseconds duration = 0;
    /// Requests that are intended before are sent and not counted.
    Nanoseconds warm_up = 0;
    /// Nor are those that are intended so shortly before the end.
    Nanoseconds ramp_down = 0;
    /// A request without an answer by then has failed.
    Nanoseconds patience = 0;
    std::size_t connections = 0;
    /// Requests that one connection carries at most; 0: as many as the server lets it.
    std::uint64_t reuse = 0;
    std::uint64_t seed = 0;
};

/// One request that was counted.
struct Asked {
    Nanoseconds intended = 0;
    /// From the intended moment to the last byte, by the kernel's stamp; of one that failed, at
    /// least the patience.
    Nanoseconds latency = 0;
    int status = 0;
    std::uint32_t target = 0;
};

struct Measured {
    std::uint64_t intended = 0;
    std::uint64_t answered = 0;
    /// By what was wrong; together with `answered` they make `intended`.
    std::map<std::string, std::uint64_t> failures;
    /// Of all, the failed ones with the patience: a quick failure is no quick answer.
    Histogram latencies;
    /// Their sum.
    double latencies_s = 0.0;
    /// By how much requests were sent after their moments; of those that had to wait for a
    /// connection too, which is the service's doing.
    Histogram delays;
    /// By how much we ourselves looked too late.
    Histogram own_delays;
    std::size_t most_connections = 0;
    double cpu_s = 0.0;
    double duration_s = 0.0;
};

/// Told of each counted request when it has ended, and why it failed; empty: it did not.
using Tell = std::function<void(const Asked& asked, std::string_view failure)>;

/// Sends them all and waits for the last answer, or its patience; one thread.
/// Errors: UsageError where so many connections are not allowed here.
Measured send_requests(const Plan& plan, const Tell& tell = {});

/// One JSON object about all of it.
std::string summary(const Measured& measured, const Plan& plan);

}  // namespace aferir::loadgen
