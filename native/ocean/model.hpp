#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ocean/messages.hpp"
#include "ocean/solver.hpp"

namespace aferir::ocean {

/// A function of longitude and latitude, radians.
using Place = std::function<double(double longitude, double latitude)>;

/// The linear shallow-water equations with an implicit free surface, as the barotropic mode of
/// ocean models has it (J. K. Dukowicz and R. D. Smith, "Implicit free-surface method for the
/// Bryan-Cox-Semtner ocean model", J. Geophys. Res. 99(C4), 1994), without rotation:
///
///     du/dt = -g grad(eta) - drag u + wind          deta/dt = -div(depth u) + source
struct Physics {
    Depth depth = world_depth;
    double step_s = 0;
    double theta = 0.5;  ///< share of the new time level; 0.5: second order in time
    double drag = 0;     ///< 1/s
    double wind = 0;     ///< largest eastward acceleration times depth, m^2/s^2
    Place elevation;     ///< at the start, m
    Place eastward;      ///< velocity at the start, m/s; none: at rest
    Place northward;
    Place source;                             ///< m/s, at the time of its maximum
    std::function<double(double)> source_at;  ///< factor of the source at a time in s
};

struct Solving {
    Method method = Method::kChronopoulosGear;
    double tolerance = 1e-10;
    int most_iterations = 10000;
};

/// One process's part of the sea, on a C grid: elevations in the middle of cells, velocities on
/// their eastern and northern sides.
class Model {
  public:
    Model(Messages& messages, const Geometry& geometry, Physics physics, const Solving& solving);
    static constexpr int kArrays = 11 + Solver::kArrays;

    Solved step();
    void restart();

    [[nodiscard]] double time_s() const { return time_s_; }
    /// Sum of elevation times area in m^3, and the sum of its magnitudes; the last bits may depend
    /// on the number of processes.
    struct Volume {
        double sum;
        double magnitude;
    };
    [[nodiscard]] Volume volume();
    /// Hash of all elevations' bits, the same for any number of processes.
    [[nodiscard]] std::uint64_t fingerprint();
    /// Norm of (right-hand side - operator * solution) of the last solve, relative to the
    /// right-hand side's; computed from depths and areas, not from the solver's own arrays.
    [[nodiscard]] double true_residual();
    /// Root of the mean square difference to `exact`, weighted by area, over wet cells.
    [[nodiscard]] double error_against(const Place& exact);

  private:
    [[nodiscard]] double gravity_factor() const;
    [[nodiscard]] double east_joint(int i, int j) const;
    [[nodiscard]] double north_joint(int i, int j) const;
    [[nodiscard]] double diagonal(int i, int j) const;
    [[nodiscard]] double outflow(int i, int j) const;
    [[nodiscard]] std::size_t index(int i, int j) const {
        return static_cast<std::size_t>(layout_.at(i, j));
    }
    /// Column of a cell that may be a neighbour's; the grid is periodic from west to east.
    [[nodiscard]] int column(int i) const {
        return (part_.x0 + i + geometry_.shape().nx) % geometry_.shape().nx;
    }
    [[nodiscard]] int row(int j) const { return part_.y0 + j; }
    void build_depths();
    void build_couplings();
    void provisional_velocities();
    void build_right_side();
    void correct_velocities();
    void correct_elevations();

    Messages& messages_;
    const Geometry& geometry_;
    const Physics physics_;
    const Solving solving_;
    const Part& part_;
    const Layout& layout_;
    Arena arena_;
    std::span<double> elevation_;
    std::span<double> eastward_;
    std::span<double> northward_;
    std::span<double> known_;       ///< m^3: a cell's new volume but for its new outflow
    std::span<double> east_depth_;  ///< on the eastern side; 0 if either cell is land
    std::span<double> north_depth_;
    std::span<double> east_coupling_;
    std::span<double> north_coupling_;
    std::span<double> root_;        ///< of the operator's diagonal, m
    std::span<double> right_side_;  ///< divided by the root
    std::span<double> solution_;    ///< elevation times the root
    Solver solver_;
    double time_s_ = 0;
};

}  // namespace aferir::ocean
