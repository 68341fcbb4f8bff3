#pragma once

#include "lbm/solver.hpp"

namespace aferir::lbm {

struct Roofline {
    double bytes_per_second = 0;
};

/// Memory bandwidth of all ranks' threads together when they scale an array in place, as a time
/// step does its populations: reads and writes are counted once each. The best of several rounds.
Roofline measure_roofline(int threads, const World& world);

}  // namespace aferir::lbm
