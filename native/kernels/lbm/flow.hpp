#pragma once

#include "lbm/solver.hpp"

namespace aferir::lbm {

/// Results of a run.
struct Flow {
    int steps = 0;
    double seconds = 0;         ///< of all time steps, on the slowest rank
    double updates = 0;         ///< of fluid cells
    double imbalance = 0;       ///< cells of the fullest rank over the mean, less 1
    double blocking_error = 0;  ///< of the timed solver before the run: see BlockingCheck
    double mass_error = 0;      ///< change of mass over mass
    bool wanted_steady = false;
    bool steady = false;
    double permeability = 0;  ///< cells^2, by Darcy's law
    int block_steps = 1;
    int tile = 0;
    double bytes_per_update = 0;  ///< between caches and memory, at least
};

inline constexpr double kMassTolerance = 1e-12;
inline constexpr double kPermeabilityTolerance = 0.01;

/// Drive of a flow so slow that only viscosity matters: Reynolds numbers far below 1.
Drive drive_of(const Geometry& geometry);

/// Computes the flow from rest for so many steps (even), or with 0 until it is steady.
Flow let_flow(const Geometry& geometry, const Physics& physics, const Execution& execution,
              const World& world, int steps);

/// Watches a value that decays towards its limit.
class Settling {
  public:
    /// Adds a value. Returns true when the distance to the limit, extrapolated from the last three
    /// values, is below `tolerance` of the value, twice in a row.
    bool add(double value, double tolerance);

  private:
    double last_ = 0;
    double last_change_ = 0;
    int count_ = 0;
    int settled_ = 0;
};

}  // namespace aferir::lbm
