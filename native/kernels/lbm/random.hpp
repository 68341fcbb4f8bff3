#pragma once

#include <cstdint>

namespace aferir::lbm {

/// SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014): the same numbers everywhere.
class Random {
  public:
    explicit Random(std::uint64_t number) : state_(number) {}

    std::uint64_t bits() {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
        return z ^ (z >> 31U);
    }

    /// Number from 0 to just below 1.
    double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

}  // namespace aferir::lbm
