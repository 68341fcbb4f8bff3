#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadgen/manifest.hpp"
#include "loadgen/rule.hpp"

namespace aferir::loadgen {

/// One viewer's way through a video in segments: what it fetches next, and at which rate.
class Segments {
  public:
    /// `most_s`: seconds of video that the viewer buffers at most; at least two segments.
    Segments(Manifest manifest, Rule rule, double most_s);

    /// URL of what is fetched next, relative to the manifest's: a segment, at a rate that the rule
    /// chooses now, or before it the initialisation segment of that rate. `buffered_s`: seconds of
    /// video in the buffer. To be called once for each `arrived`, and not after the last segment.
    std::string next(double buffered_s);

    /// Records that the fetch is complete: its bytes, and the time in s since its request.
    void arrived(std::int64_t bytes, double took_s);

    /// Seconds in the buffer down to which a viewer waits before it fetches the next segment.
    [[nodiscard]] double room_s() const { return most_s_ - manifest_.segment_s; }
    [[nodiscard]] bool complete() const { return count_ == manifest_.segments(); }
    /// Seconds of video that have arrived, from its beginning.
    [[nodiscard]] double arrived_s() const { return end_of(count_); }
    /// Rates in bit/s, ascending, and for each the seconds of video that came at it.
    [[nodiscard]] const std::vector<double>& rates() const { return rates_; }
    [[nodiscard]] const std::vector<double>& seconds_at() const { return seconds_at_; }
    /// Segments at another rate than the segment before.
    [[nodiscard]] int switches() const { return switches_; }
    /// Rate of the segment, or part, that `next` named last, in bit/s.
    [[nodiscard]] double rate() const { return rates_[chosen_]; }

  private:
    [[nodiscard]] double end_of(std::int64_t segments) const;

    Manifest manifest_;
    Rule rule_;
    double most_s_;
    std::vector<double> rates_;
    std::vector<double> seconds_at_;
    std::vector<bool> initialised_;
    std::vector<double> throughputs_;
    std::int64_t count_ = 0;
    std::size_t chosen_ = 0;
    std::size_t last_ = 0;
    int switches_ = 0;
    bool initialising_ = false;
};

}  // namespace aferir::loadgen
