#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace aferir {

/// A time stamp of the processor's counter (TSC; virtual counter on aarch64), and when it was
/// taken: seconds of CLOCK_MONOTONIC_RAW since an origin that is the same for all readings.
struct CounterReading {
    std::uint64_t ticks = 0;
    double seconds = 0;
};

/// Takes the tightest of a few readings between two readings of the clock: an interruption inside
/// one would look like a wrong rate.
CounterReading read_counter();

/// Ticks a second between two readings.
double counter_rate(const CounterReading& first, const CounterReading& last);

struct Frequencies {
    double highest_hz = 0;
    double median_hz = 0;
};

/// Dependent instructions, each of which waits for the one before.
enum class Chain {
    /// Integer multiplications, 3 cycles each on x86-64: they determine the frequency.
    multiply,
    /// Additions, 1 cycle each: their different latency checks the first.
    add,
};

/// Runs one window of a chain: `window_cycles()` cycles if the latencies are as assumed.
void run_chain(Chain chain);
double window_cycles();

/// Seconds of CLOCK_MONOTONIC_RAW that one window takes.
double time_window(Chain chain);

/// Frequencies from the seconds that windows of `cycles` core cycles took. An interruption only
/// ever lengthens a window, so the shortest one shows the core's own speed. Needs at least one
/// window.
Frequencies frequencies(std::span<const double> seconds, double cycles);

/// The whole program except `main`; returns the exit code.
int core_frequency(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir
