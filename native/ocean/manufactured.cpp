#include "ocean/manufactured.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace aferir::ocean {
namespace {

constexpr int kWavesEast = 3;
constexpr double kMeanDepth = 4000;
constexpr double kEastSlope = 0.3;
constexpr double kNorthSlope = 0.2;
constexpr double kRadiusSquared = kEarthRadius * kEarthRadius;

/// E = cos(3 longitude) cos(k (latitude - south)), flat at both walls; the depth has no land.
class Exact {
  public:
    Exact() : south_(Geometry::south()), k_(2 * std::numbers::pi / (Geometry::north() - south_)) {}

    static double depth(double x, double y) {
        return kMeanDepth * (1 + kEastSlope * std::cos(x) + kNorthSlope * std::sin(y));
    }
    [[nodiscard]] double elevation(double x, double y) const {
        return std::cos(kWavesEast * x) * std::cos(k_ * (y - south_));
    }
    [[nodiscard]] double eastward_slope(double x, double y) const {
        return -kWavesEast * std::sin(kWavesEast * x) * std::cos(k_ * (y - south_)) /
               (kEarthRadius * std::cos(y));
    }
    [[nodiscard]] double northward_slope(double x, double y) const {
        return -k_ * std::cos(kWavesEast * x) * std::sin(k_ * (y - south_)) / kEarthRadius;
    }
    /// div(depth grad E) at a place on the sphere.
    [[nodiscard]] double spread(double x, double y) const {
        const double wave = std::cos(kWavesEast * x);
        const double along = std::cos(k_ * (y - south_));
        const double across = std::sin(k_ * (y - south_));
        const double cosine = std::cos(y);
        const double laplace = -kWavesEast * kWavesEast * wave * along / (cosine * cosine) -
                               k_ * k_ * wave * along + std::tan(y) * k_ * wave * across;
        const double east = -kMeanDepth * kEastSlope * std::sin(x) * -kWavesEast *
                            std::sin(kWavesEast * x) * along / (cosine * cosine);
        const double north = kMeanDepth * kNorthSlope * cosine * -k_ * wave * across;
        return (depth(x, y) * laplace + east + north) / kRadiusSquared;
    }

  private:
    double south_;
    double k_;
};

Messages messages_of(MPI_Comm comm, Shape shape) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    const auto split = split_of(shape, ranks);
    if (!split) {
        throw std::invalid_argument("more processes than tiles");
    }
    return {comm, shape, *split};
}

constexpr double kTolerance = 1e-12;

double elliptic_error(MPI_Comm comm, Method method, Shape shape) {
    const Geometry geometry(shape);
    const Exact exact;
    // Waves travel a tenth of the Earth's radius in this step.
    const double step = 0.1 * kEarthRadius / std::sqrt(kGravity * kMeanDepth);
    Physics physics;
    physics.depth = Exact::depth;
    physics.step_s = step;
    physics.theta = 1;
    physics.source = [&](double x, double y) {
        return exact.elevation(x, y) / step - kGravity * step * exact.spread(x, y);
    };
    Messages messages = messages_of(comm, shape);
    Model model(messages, geometry, physics, {.method = method, .tolerance = kTolerance});
    const bool converged = model.step().converged;
    const double error =
        model.error_against([&](double x, double y) { return exact.elevation(x, y); });
    return converged ? error : std::numeric_limits<double>::quiet_NaN();
}

double wave_error(MPI_Comm comm, Method method, Shape shape) {
    const Geometry geometry(shape);
    const Exact exact;
    constexpr double kPeriod = 24 * 3600.0;
    constexpr double kFrequency = 2 * std::numbers::pi / kPeriod;
    const int steps = shape.nx / 4;
    Physics physics;
    physics.depth = Exact::depth;
    physics.step_s = kPeriod / 4 / steps;
    physics.theta = 0.5;
    physics.elevation = [&](double x, double y) { return exact.elevation(x, y); };
    physics.source = [&](double x, double y) {
        return -(kFrequency * exact.elevation(x, y) + kGravity / kFrequency * exact.spread(x, y));
    };
    physics.source_at = [](double time) { return std::sin(kFrequency * time); };
    Messages messages = messages_of(comm, shape);
    Model model(messages, geometry, physics, {.method = method, .tolerance = kTolerance});
    bool converged = true;
    for (int step = 0; step < steps; ++step) {
        converged = model.step().converged && converged;
    }
    const double now = std::cos(kFrequency * model.time_s());
    const double error =
        model.error_against([&](double x, double y) { return now * exact.elevation(x, y); });
    return converged ? error : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double Convergence::order() const { return std::log2(coarse_error / fine_error); }

Convergence elliptic_convergence(MPI_Comm comm, Method method, Shape coarse) {
    const Shape fine{coarse.nx * 2, coarse.ny * 2};
    return {elliptic_error(comm, method, coarse), elliptic_error(comm, method, fine)};
}

Convergence wave_convergence(MPI_Comm comm, Method method, Shape coarse) {
    const Shape fine{coarse.nx * 2, coarse.ny * 2};
    return {wave_error(comm, method, coarse), wave_error(comm, method, fine)};
}

Shape coarse_shape(int processes) {
    Shape shape{128, 64};
    while (!split_of(shape, processes)) {
        shape = {shape.nx * 2, shape.ny * 2};
    }
    return shape;
}

}  // namespace aferir::ocean
