#pragma once

#include <cstdint>

#include "beff/exchange.hpp"

namespace aferir::beff {

/// Seconds a message, and bytes a second of each process, of the three patterns of the HPC
/// Challenge (Luszczek et al., SC 2006): 8 bytes for the latency, 2,000,000 for the bandwidth.
struct Ring {
    double latency_s = 0;
    double bandwidth_bps = 0;
};
struct PingPong {
    double least = 0;
    double mean = 0;
    double most = 0;
};
struct Challenge {
    Ring natural;
    Ring random;
    PingPong latency_s;
    PingPong bandwidth_bps;
    bool intact = true;
};

/// Collective; rank 0 has the results. As in the original, only the ends of the data sent in
/// ping-pong and to one side of a ring were ever written, so that it comes from the cache. All
/// pairs of processes play ping-pong, one pair after the other; the shortest of repeated
/// measurements counts; random rings are averaged by their geometric mean.
Challenge measure_challenge(std::uint64_t seed);

}  // namespace aferir::beff
