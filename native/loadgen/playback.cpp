#include "loadgen/playback.hpp"

#include <algorithm>
#include <cmath>

namespace aferir::loadgen {

Playback::Playback(double bytes_per_second, std::int64_t startup_bytes, std::int64_t total_bytes)
    : rate_(bytes_per_second),
      startup_(std::min(startup_bytes, total_bytes)),
      total_(total_bytes) {}

std::optional<Nanoseconds> Playback::deadline() const {
    if (!start_ || complete()) {
        return std::nullopt;
    }
    const double played_s = static_cast<double>(received_) / rate_;
    return *start_ + std::llround(played_s * 1e9);
}

double Playback::buffered_s(Nanoseconds now) const {
    const double arrived_s = static_cast<double>(received_) / rate_;
    const Nanoseconds played = start_ ? now - *start_ : 0;
    return std::max(0.0, arrived_s - static_cast<double>(played) * 1e-9);
}

void Playback::ends(Nanoseconds at) {
    total_ = received_;
    if (!start_ && received_ > 0) {
        start_ = began_ = at;
    }
}

void Playback::arrived(std::int64_t received, Nanoseconds at, Nanoseconds empty_at) {
    if (received <= received_) {
        return;
    }
    const std::optional<Nanoseconds> due = deadline();
    received_ = std::min(received, total_);
    if (!start_) {
        if (received_ >= startup_) {
            start_ = began_ = at;
        }
        return;
    }
    if (!due || at <= *due) {
        return;
    }
    const Nanoseconds late = at - *due;
    *start_ += late;
    if (empty_at < *due) {
        ++own_;
        return;
    }
    ++violations_;
    stalled_ += late;
    longest_ = std::max(longest_, late);
}

}  // namespace aferir::loadgen
