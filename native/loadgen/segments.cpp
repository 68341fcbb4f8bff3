#include "loadgen/segments.hpp"

#include <algorithm>
#include <utility>

namespace aferir::loadgen {

Segments::Segments(Manifest manifest, Rule rule, double most_s)
    : manifest_(std::move(manifest)),
      rule_(rule),
      most_s_(std::max(most_s, 2.0 * manifest_.segment_s)),
      seconds_at_(manifest_.representations.size(), 0.0) {
    for (const Representation& one : manifest_.representations) {
        rates_.push_back(one.bits_per_second);
        initialised_.push_back(one.initialization.empty());
    }
}

std::string Segments::next(double buffered_s) {
    if (!initialising_) {
        chosen_ = rule_({.rates = rates_,
                         .last = last_,
                         .buffered_s = buffered_s,
                         .most_s = most_s_,
                         .throughputs = throughputs_});
    }
    const Representation& one = manifest_.representations[chosen_];
    initialising_ = !initialised_[chosen_];
    return initialising_ ? one.initialization : one.segment(manifest_.first + count_);
}

void Segments::arrived(std::int64_t bytes, double took_s) {
    if (initialising_) {
        initialised_[chosen_] = true;
        return;
    }
    switches_ += count_ > 0 && chosen_ != last_ ? 1 : 0;
    last_ = chosen_;
    seconds_at_[chosen_] += end_of(count_ + 1) - end_of(count_);
    ++count_;
    throughputs_.push_back(8.0 * static_cast<double>(bytes) / std::max(took_s, 1e-9));
}

double Segments::end_of(std::int64_t segments) const {
    return std::min(static_cast<double>(segments) * manifest_.segment_s, manifest_.seconds);
}

}  // namespace aferir::loadgen
