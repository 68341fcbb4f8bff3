#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "loadgen/requests.hpp"
#include "loadgen/requests_source.hpp"

namespace aferir::loadgen {

/// Counts the requests that are due between the warm-up and the ramp-down.
class Tally {
  public:
    Tally(const Plan& plan, const Tell& tell) : plan_(&plan), tell_(&tell) {}

    /// Records that a request is due; `moment`: ns since the start at which this was noticed.
    void due(const Wanted& wanted, Nanoseconds moment) {
        if (counts(wanted)) {
            measured_.own_delays.add(static_cast<std::uint64_t>(moment - wanted.intended));
        }
    }

    /// Counts how long after its intended time a request was sent; `moment`: ns since the start.
    /// A request that follows a redirect is not counted.
    void sent(const Wanted& wanted, Nanoseconds moment) {
        if (counts(wanted) && !wanted.hop) {
            measured_.delays.add(static_cast<std::uint64_t>(moment - wanted.intended));
        }
    }

    /// Records the end of a request, with its latency in ns and its status; it failed unless
    /// `failure` is empty.
    void ended(const Wanted& wanted, Nanoseconds latency, int status, std::string_view failure) {
        if (!counts(wanted)) {
            return;
        }
        ++measured_.intended;
        if (failure.empty()) {
            ++measured_.answered;
        } else {
            ++measured_.failures[std::string(failure)];
            latency = std::max(latency, plan_->patience);
        }
        latency = std::max<Nanoseconds>(latency, 0);
        measured_.latencies.add(static_cast<std::uint64_t>(latency));
        measured_.latencies_s += static_cast<double>(latency) * 1e-9;
        if (*tell_) {
            (*tell_)({wanted.intended, latency, status, wanted.target}, failure);
        }
    }

    void connected(std::size_t connections) {
        measured_.most_connections = std::max(measured_.most_connections, connections);
    }

    /// Returns all counts, with the duration and the CPU time of the whole load in seconds.
    Measured finish(double duration_s, double cpu_s) {
        measured_.duration_s = duration_s;
        measured_.cpu_s = cpu_s;
        return std::move(measured_);
    }

  private:
    [[nodiscard]] bool counts(const Wanted& wanted) const {
        return wanted.intended >= plan_->warm_up &&
               wanted.intended < plan_->duration - plan_->ramp_down;
    }

    const Plan* plan_;
    const Tell* tell_;
    Measured measured_;
};

}  // namespace aferir::loadgen
