#pragma once

#include "lbm/geometry.hpp"

// Permeabilities that are known from theory, in units of length squared.

namespace aferir::lbm {

/// Permeability of the gap between two plates (plane Poiseuille flow): gap^2 / 12.
double slit_permeability(double gap);

/// Permeability of a rectangular duct, by a series (F. M. White, Viscous Fluid Flow, 3-48).
double duct_permeability(double height, double width);

inline constexpr double kLeastFraction = 0.01;
inline constexpr double kMostFraction = 0.35;

/// Drag on a sphere of a periodic array divided by that of a single sphere, as A. A. Zick and G. M.
/// Homsy (J. Fluid Mech. 115, 1982) define it: force / (6 pi viscosity radius mean velocity).
/// `fraction` is the spheres' share of the volume, from kLeastFraction to kMostFraction.
double drag_coefficient(Packing packing, double fraction);

/// Permeability of a cubic unit cell with this edge.
double spheres_permeability(Packing packing, double edge, double fraction);

int spheres_in_cell(Packing packing);
double closest_fraction(Packing packing);

}  // namespace aferir::lbm
