#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace aferir::loadgen {

/// Nanoseconds of CLOCK_MONOTONIC.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kSecond = 1'000'000'000;
/// Moment of what never comes.
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

/// What a viewer sees of a video that arrives over a network. It counts in bytes; of a video in
/// segments, which differ in size, in equal parts of its time instead. Playback starts when the
/// start-up buffer is full; from then on every byte is due at a certain time. Bytes that arrive
/// later stop the picture until then: a violation of real time (Dutra 2015, 4.3.3).
class Playback {
  public:
    /// All arguments are above 0. A start-up buffer longer than the video is filled by the whole
    /// video.
    Playback(double bytes_per_second, std::int64_t startup_bytes, std::int64_t total_bytes);

    /// Records that `received` bytes, counted from the first, have arrived by `at`. `empty_at`:
    /// time of the last check at which nothing more had arrived. The bytes were late for certain
    /// only if that is not before the deadline; otherwise the check was late.
    void arrived(std::int64_t received, Nanoseconds at, Nanoseconds empty_at);

    /// Records that everything has arrived, for a video of unknown length.
    void ends(Nanoseconds at);

    /// Time at which the picture stops unless more arrives; nothing before the start and after the
    /// last byte.
    [[nodiscard]] std::optional<Nanoseconds> deadline() const;

    /// Seconds of video that have arrived and are not yet played at `now`.
    [[nodiscard]] double buffered_s(Nanoseconds now) const;

    [[nodiscard]] bool complete() const { return received_ >= total_; }
    [[nodiscard]] bool playing() const { return start_.has_value(); }
    [[nodiscard]] std::int64_t received() const { return received_; }
    /// Time at which playback began; later stalls do not change it.
    [[nodiscard]] std::optional<Nanoseconds> began() const { return began_; }
    [[nodiscard]] int violations() const { return violations_; }
    [[nodiscard]] int own_violations() const { return own_; }
    /// Time for which the picture stood still because bytes were late, not because this program
    /// was.
    [[nodiscard]] Nanoseconds stalled() const { return stalled_; }
    [[nodiscard]] Nanoseconds longest_stall() const { return longest_; }

  private:
    double rate_;
    std::int64_t startup_;
    std::int64_t total_;
    std::int64_t received_ = 0;
    std::optional<Nanoseconds> start_;
    std::optional<Nanoseconds> began_;
    int violations_ = 0;
    int own_ = 0;
    Nanoseconds stalled_ = 0;
    Nanoseconds longest_ = 0;
};

}  // namespace aferir::loadgen
