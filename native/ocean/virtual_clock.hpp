#pragma once

#include <atomic>
#include <cstdint>

namespace aferir::ocean {

/// A clock that a daemon steers, as the system clock is by NTP: it reads
/// `base_time + (raw - base_raw) * (1 + oscillator) * (1 + slew)` and is only ever slewed, so it
/// never goes back. In memory that the daemon and the ranks of a node share; one daemon writes.
/// Times in seconds.
struct ClockPage {
    std::atomic<std::uint32_t> version;  ///< odd: is being written
    std::atomic<double> base_raw;
    std::atomic<double> base_time;
    std::atomic<double> slew;
    double oscillator;  ///< error of the node's own rate: 30e-6 is 30 ppm too fast
    std::atomic<std::uint64_t> wake_ups;
    std::atomic<std::uint64_t> messages;
};

/// What a clock shows at `raw` seconds of CLOCK_MONOTONIC_RAW.
double read_clock(const ClockPage& page, double raw);

/// From `raw` on the clock runs at another rate; what it shows at that moment does not change.
void slew_clock(ClockPage& page, double raw, double slew);

/// A proportional and integral control of a clock's rate (D. L. Mills, RFC 5905, section 11.3, is
/// the model): half of the offset that was found is to be gone by the next look, and what was
/// needed on average is kept as the rate's correction. Never above 500 ppm, as adjtime(3) has it.
class Discipline {
  public:
    /// The slew for an offset in s (positive: the clock is behind), the next look `interval_s` off.
    double correct(double offset_s, double interval_s);

  private:
    double rate_ = 0;
};

/// One exchange with a server: seconds of the client's and the server's clocks.
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
