#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loadgen/client.hpp"

namespace aferir::loadgen {

/// One line of the schedule.
struct Arrival {
    Nanoseconds after_start = 0;
    /// Time for which the client watches; 0: to the end of the video.
    Nanoseconds watch = 0;
};

/// Delays of the load generator itself: on a machine that is too slow, the server would be blamed
/// for them.
struct Health {
    /// Longest time between an event's notification and the end of its processing.
    Nanoseconds worst_turn = 0;
    /// Largest delay of an arrival behind its intended time.
    Nanoseconds worst_start = 0;
    /// CPU time of this process, user and system.
    double cpu_s = 0.0;
};

struct Run {
    std::vector<Client> clients;
    Nanoseconds began = 0;
    Nanoseconds ended = 0;
    Health health;
    /// Video bytes that arrived in each second, and clients streaming at its end.
    std::vector<std::int64_t> bytes;
    std::vector<int> streaming;
};

/// Starts all clients at their times, in one thread, and waits until the last one has left.
///
/// Times count from `begin`, or from now. A client whose time has passed already starts at once;
/// its times still count from when it was due. Errors: UsageError if the machine does not permit so
/// many open connections.
Run run_clients(const Settings& settings, std::span<const Arrival> arrivals,
                std::optional<Nanoseconds> begin = std::nullopt);

}  // namespace aferir::loadgen
