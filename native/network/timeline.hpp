#pragma once

#include <cstdint>
#include <string>

#include "aferir/rvec.h"

namespace aferir::network {

/// Clock that times the rounds: librvec's, calibrated once for the process.
class Timeline {
  public:
    /// Opens the timeline. Errors: std::runtime_error if this machine has no clock at all.
    Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();

    /// Nanoseconds since the timeline was opened, strictly increasing, for one thread.
    class Reader {
      public:
        explicit Reader(const Timeline& timeline);
        std::uint64_t operator()() { return rvec_read(&clock_); }

      private:
        rvec_clock clock_{};
    };

    /// The bare counter, which all processes of one host share if it can be trusted.
    struct Ticks {
        std::uint64_t operator()() const { return rvec_ticks(); }
    };

    /// Whether the kernel itself keeps time by the counter, on all processors.
    [[nodiscard]] bool counter_trusted() const;
    /// Seconds between two readings of the counter.
    [[nodiscard]] double seconds_between(std::uint64_t first, std::uint64_t second) const;
    [[nodiscard]] rvec* handle() const { return rvec_; }

  private:
    rvec* rvec_ = nullptr;
    rvec_rate rate_{};
};

/// A number that all programs of one running kernel share; 0 if the kernel has none (random(4),
/// boot_id).
std::uint64_t host_identity();

}  // namespace aferir::network
