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
    /// For how long the client looks; 0: to the end of the video.
    Nanoseconds watch = 0;
};

/// Whether the figures can be trusted: a client machine that is too slow blames the server.
struct Health {
    /// Longest time between being told of something and having seen to all of it.
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

/// Lets all clients come at their times and waits until the last one has gone; one thread. Times
/// count from `begin`, or from now; who was to come before now comes at once, and its times count
/// from when it was to come.
/// Errors: UsageError where the machine does not let so many connections be open.
Run run_clients(const Settings& settings, std::span<const Arrival> arrivals,
                std::optional<Nanoseconds> begin = std::nullopt);

}  // namespace aferir::loadgen
