#pragma once

#include <cstdint>
#include <string>

#include "aferir/rvec.h"

namespace aferir::network {

/// The time by which rounds are measured: librvec's, calibrated once for the process.
class Timeline {
  public:
    /// Errors: std::runtime_error where this machine has no clock at all.
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

    /// The bare counter: processes of one host whose counters can be trusted share it.
    struct Ticks {
        std::uint64_t operator()() const { return rvec_ticks(); }
    };

    /// Whether the kernel itself keeps time by the counter, on all processors.
    [[nodiscard]] bool counter_trusted() const;
    /// Seconds that lie between two readings of the counter.
    [[nodiscard]] double seconds_between(std::uint64_t first, std::uint64_t second) const;
    [[nodiscard]] rvec* handle() const { return rvec_; }

  private:
    rvec* rvec_ = nullptr;
    rvec_rate rate_{};
};

/// A number that programs of one running kernel have in common, 0 where it does not tell
/// (random(4), boot_id).
std::uint64_t host_identity();

}  // namespace aferir::network
