#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lbm/geometry.hpp"

namespace aferir::lbm {

/// Fluid cells of each row along x; row (y, z) is number z * size.y + y.
std::vector<std::uint32_t> fluid_by_row(const Geometry& geometry);

/// Number of the part that owns each row: recursive bisection of y and z, across the longer side,
/// by fluid cells. A cut may go through a plane, between two of its rows, so that the parts differ
/// by a row for each cut. Rows along x stay whole: they are what is vectorised.
std::vector<int> share_rows(const Geometry& geometry, int parts);

/// Cuts a sequence into `parts` of about equal sums: returns parts + 1 bounds.
std::vector<std::size_t> split_evenly(std::span<const std::size_t> amounts, int parts);

}  // namespace aferir::lbm
