#pragma once

#include "lbm/solver.hpp"

namespace aferir::lbm {

/// Largest difference, relative to the populations, between a solver that will be timed and one
/// that advances the same cells in one thread, one step at a time. Both start with the same random
/// populations and advance by two blocks and a pair of steps; then `timed` is at rest again. Rows
/// are compared, each by one sum with random weights, so that no second copy of the populations is
/// needed. All ranks call it. Errors: as for Solver.
class BlockingCheck {
  public:
    /// Advances the unblocked solver, and frees it.
    BlockingCheck(const Geometry& geometry, const Physics& physics, const Execution& execution,
                  const World& world);

    [[nodiscard]] double error_of(Solver& timed) const;

  private:
    const World& world_;
    std::vector<double> expected_;
};

inline constexpr double kBlockingTolerance = 1e-12;

}  // namespace aferir::lbm
