#include "lbm/analytic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace aferir::lbm {
namespace {

/// Fractions of the volume at which the drag is tabulated. It is smooth in their cube roots (H.
/// Hasimoto, J. Fluid Mech. 5, 1959).
constexpr std::array kFractions{0.01, 0.027, 0.064, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35};

/// Our own solution of Stokes flow by the method of fundamental solutions: Hasimoto's periodic
/// Stokeslets inside the sphere, so many that the velocity on its surface is zero to 1e-3 and the
/// drag to 1e-4. Zick and Homsy's table has, for simple cubic arrays, 2.008 at 0.027, 2.810 at
/// 0.064, 4.292 at 0.125, 7.442 at 0.216 and 15.4 at 0.343: the same to each of its digits.
constexpr std::array<std::array<double, kFractions.size()>, 3> kDrags{{
    {1.58565, 2.00775, 2.81020, 3.64245, 5.01898, 6.77592, 9.06227, 12.0643, 16.0213},
    {1.60276, 2.04406, 2.88939, 3.76557, 5.20702, 7.04167, 9.44414, 12.6573, 17.0354},
    {1.60269, 2.04387, 2.88875, 3.76459, 5.20782, 7.05318, 9.49014, 12.7928, 17.3797},
}};

/// Polynomial through all points (Neville's algorithm).
double interpolate(const std::array<double, kFractions.size()>& values, double fraction) {
    std::array<double, kFractions.size()> p{};
    std::array<double, kFractions.size()> at{};
    for (std::size_t i = 0; i < p.size(); ++i) {
        at[i] = std::cbrt(kFractions[i]);
        p[i] = std::log(values[i]);
    }
    const double x = std::cbrt(fraction);
    for (std::size_t width = 1; width < p.size(); ++width) {
        for (std::size_t i = 0; i + width < p.size(); ++i) {
            p[i] = ((x - at[i + width]) * p[i] + (at[i] - x) * p[i + 1]) / (at[i] - at[i + width]);
        }
    }
    return std::exp(p[0]);
}

}  // namespace

double slit_permeability(double gap) { return gap * gap / 12; }

double duct_permeability(double height, double width) {
    // The series converges fastest along the shorter side; it has odd terms only, which fall as 1 /
    // n^5.
    const double a = std::min(height, width);
    const double b = std::max(height, width);
    double sum = 0;
    for (int n = 1; n < 200; n += 2) {
        sum += std::tanh(n * std::numbers::pi * b / (2 * a)) / std::pow(n, 5);
    }
    return a * a / 12 * (1 - 192 * a / (std::pow(std::numbers::pi, 5) * b) * sum);
}

int spheres_in_cell(Packing packing) {
    if (packing == Packing::kSimpleCubic) {
        return 1;
    }
    return packing == Packing::kBodyCentred ? 2 : 4;
}

double closest_fraction(Packing packing) {
    switch (packing) {
        case Packing::kSimpleCubic:
            return std::numbers::pi / 6;
        case Packing::kBodyCentred:
            return std::numbers::pi * std::numbers::sqrt3 / 8;
        case Packing::kFaceCentred:
            return std::numbers::pi * std::numbers::sqrt2 / 6;
    }
    return 0;
}

double drag_coefficient(Packing packing, double fraction) {
    return interpolate(kDrags[static_cast<std::size_t>(packing)], fraction);
}

double spheres_permeability(Packing packing, double edge, double fraction) {
    const double volume = edge * edge * edge / spheres_in_cell(packing);
    const double radius = std::cbrt(3 * fraction * volume / (4 * std::numbers::pi));
    return volume / (6 * std::numbers::pi * radius * drag_coefficient(packing, fraction));
}

}  // namespace aferir::lbm
