#include "lbm/flow.hpp"

#include <algorithm>
#include <cmath>

#include "lbm/blocking_check.hpp"

namespace aferir::lbm {
namespace {

constexpr double kForce = 1e-7;
constexpr double kSettled = 2e-4;
constexpr int kMostSteps = 2'000'000;

/// Drive of a cell: force and gradient of pressure (density / 3) together.
double gradient(const Geometry& geometry, const Drive& drive) {
    return drive.force + drive.difference / 3 / geometry.size.x;
}

/// Darcy's law: permeability = viscosity x mean velocity / gradient of pressure. The mean is over
/// the whole box, including walls, where the velocity is zero.
double permeability_of(const Geometry& geometry, const Physics& physics, const Totals& totals) {
    const double velocity = totals.momentum / static_cast<double>(geometry.solid.size());
    return physics.viscosity * velocity / gradient(geometry, physics.drive);
}

/// Steps between two checks: a fraction of the time in which momentum diffuses through the box.
int interval_of(const Geometry& geometry, const Physics& physics) {
    const double across = std::min(geometry.size.y, geometry.size.z);
    const int steps = static_cast<int>(across * across / physics.viscosity / 80);
    return std::clamp(steps / 8 * 8, 48, 2000);
}

double imbalance_of(const Solver& solver, const World& world, std::size_t fluid) {
    const auto mine = static_cast<double>(solver.cells().count);
    return world.largest(mine) * world.count() / static_cast<double>(fluid) - 1;
}

class Watch {
  public:
    explicit Watch(const World& world) : world_(world) {}

    void advance(Solver& solver, int steps) {
        world_.wait();
        const double start = world_.seconds();
        solver.advance(steps);
        world_.wait();
        seconds_ += world_.seconds() - start;
        steps_ += steps;
    }

    [[nodiscard]] double seconds() const { return world_.largest(seconds_); }
    [[nodiscard]] int steps() const { return steps_; }

  private:
    const World& world_;
    double seconds_ = 0;
    int steps_ = 0;
};

}  // namespace

Drive drive_of(const Geometry& geometry) {
    return geometry.ends == Ends::kPeriodic ? Drive{kForce, 0}
                                            : Drive{0, 3 * kForce * geometry.size.x};
}

bool Settling::add(double value, double tolerance) {
    const double change = value - last_;
    const double ratio = change / last_change_;
    const bool decays = count_ >= 2 && ratio > -1 && ratio < 0.999;
    const double rest = std::abs(change * ratio / (1 - ratio));
    const bool exact = count_ >= 2 && std::abs(change) <= 1e-12 * std::abs(value);
    settled_ = exact || (decays && std::max(rest, std::abs(change)) < tolerance * std::abs(value))
                   ? settled_ + 1
                   : 0;
    last_change_ = change;
    last_ = value;
    ++count_;
    return settled_ >= 2;
}

Flow let_flow(const Geometry& geometry, const Physics& physics, const Execution& execution,
              const World& world, int steps) {
    const BlockingCheck check(geometry, physics, execution, world);
    Solver solver(geometry, physics, execution, world);
    Watch watch(world);
    Flow flow;
    flow.blocking_error = check.error_of(solver);
    flow.wanted_steady = steps == 0;
    if (steps > 0) {
        watch.advance(solver, steps);
    } else {
        Settling settling;
        const int interval = interval_of(geometry, physics);
        while (!flow.steady && watch.steps() < kMostSteps) {
            watch.advance(solver, interval);
            flow.steady = settling.add(solver.totals().momentum, kSettled);
        }
    }
    const auto totals = solver.totals();
    const auto fluid = geometry.fluid_cells();
    flow.permeability = permeability_of(geometry, physics, totals);
    flow.mass_error = std::abs(totals.mass) / static_cast<double>(fluid);
    flow.steps = watch.steps();
    flow.seconds = watch.seconds();
    flow.updates = static_cast<double>(fluid) * flow.steps;
    flow.imbalance = imbalance_of(solver, world, fluid);
    flow.block_steps = solver.work().schedule.steps;
    flow.tile = solver.tile();
    const auto& schedule = solver.work().schedule;
    flow.bytes_per_update = kBytesPerUpdate * schedule.passes / schedule.steps;
    return flow;
}

}  // namespace aferir::lbm
