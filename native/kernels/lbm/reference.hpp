#pragma once

#include <span>
#include <vector>

#include "lbm/solver.hpp"

namespace aferir::lbm {

/// Textbook form of the method: two arrays over the whole box, a test for a wall at each link, no
/// vectors. The fast kernels are checked against it, and share no line with it.
class Reference {
  public:
    /// `f`: populations, less their weights, at cell * kDirections + q.
    Reference(const Geometry& geometry, const Physics& physics, std::vector<double> f);

    void advance(int steps);
    [[nodiscard]] std::span<const double> populations() const { return f_; }

  private:
    void collide(std::size_t cell);
    void stream(std::size_t cell, int x, int y, int z);

    const Geometry& geometry_;
    Relaxation rates_;
    Drive drive_;
    std::vector<double> f_;
    std::vector<double> next_;
};

/// Largest difference of the solver's kernels from the reference in small boxes with random walls,
/// periodic and with pressure at the ends, relative to the populations that they start with. All
/// ranks call it.
double check_kernels(const Execution& chosen, const World& world);

inline constexpr double kKernelTolerance = 1e-12;

}  // namespace aferir::lbm
