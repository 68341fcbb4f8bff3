#pragma once

#include <atomic>
#include <cstdint>

namespace aferir::ocean {

/// A clock that a daemon steers, as the system clock is by NTP: it reads `base_time + (raw -
/// base_raw) * (1 + oscillator) * (1 + slew)` and is only ever slewed, so it never goes back. It is
/// in memory that the daemon and the ranks of a node share; only the daemon writes. Times in
/// seconds.
struct ClockPage {
    std::atomic<std::uint32_t> version;  ///< odd: is being written
    std::atomic<double> base_raw;
    std::atomic<double> base_time;
    std::atomic<double> slew;
    double oscillator;  ///< error of the node's own rate: 30e-6 is 30 ppm too fast
    std::atomic<std::uint64_t> wake_ups;
    std::atomic<std::uint64_t> messages;
};

/// Reading of a clock at `raw` seconds of CLOCK_MONOTONIC_RAW.
double read_clock(const ClockPage& page, double raw);

/// Changes the clock's rate from `raw` on; its reading at that time does not change.
void slew_clock(ClockPage& page, double raw, double slew);

/// Proportional and integral control of a clock's rate (after D. L. Mills, RFC 5905, section 11.3).
/// Half of the measured offset is corrected until the next measurement; the average of these
/// corrections is kept as a correction of the rate. At most 500 ppm, as for adjtime(3).
class Discipline {
  public:
    /// Slew for an offset in s (positive: the clock is behind) if the next measurement is
    /// `interval_s` later.
    double correct(double offset_s, double interval_s);

  private:
    double rate_ = 0;
};

/// One exchange with a server; times in seconds of the client's and the server's clocks.
struct Exchange {
    double sent;
    double received_there;
    double sent_there;
    double received;

    /// Server minus client, if both ways took the same time (RFC 5905, section 8).
    [[nodiscard]] double offset() const {
        return ((received_there - sent) + (sent_there - received)) / 2;
    }
    [[nodiscard]] double delay() const { return (received - sent) - (sent_there - received_there); }
};

}  // namespace aferir::ocean
