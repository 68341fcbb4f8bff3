#pragma once

#include <istream>
#include <vector>

#include "loadgen/engine.hpp"

namespace aferir::loadgen {

/// A line for each client, in the order of their coming: seconds after the start, and for how many
/// seconds it looks (0, or nothing: to the end). Errors: UsageError naming the line.
std::vector<Arrival> read_schedule(std::istream& lines);

}  // namespace aferir::loadgen
