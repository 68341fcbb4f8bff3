#pragma once

#include <string>
#include <vector>

#include "network_stream/counters.hpp"

namespace aferir {

/// Traffic over time: bytes of the program and of each link, interval by interval.
class Sampler {
  public:
    explicit Sampler(double interval_s);

    /// Takes a sample if one is due; `bytes` is the program's total so far.
    void look(double now_s, std::int64_t bytes);
    /// Seconds until the next sample is due.
    [[nodiscard]] double due_in(double now_s) const;

    /// Fields `at_s` (ends of the intervals), `interval_bytes`, `link_names`, `link_received` and
    /// `link_sent` (one array a link), as JSON.
    [[nodiscard]] std::string json() const;

  private:
    double start_s_;
    double interval_s_;
    double next_s_;
    std::int64_t last_bytes_ = 0;
    std::map<std::string, LinkBytes> last_links_;
    std::vector<double> at_s_;
    std::vector<std::int64_t> bytes_;
    std::map<std::string, std::vector<LinkBytes>> links_;
};

/// Seconds of CLOCK_MONOTONIC.
double monotonic_s();

/// Growth of TCP's counters since `before`, as a JSON object.
std::string counted_since(const Counters& before);

}  // namespace aferir
