#pragma once

#include "lbm/solver.hpp"

namespace aferir::lbm {

struct Roofline {
    double bytes_per_second = 0;
};

/// What the memory gives all ranks' threads at once when they scale an array in place, as a time
/// step does its populations: read and written each counted once. The best of several rounds.
Roofline measure_roofline(int threads, const World& world);

}  // namespace aferir::lbm
