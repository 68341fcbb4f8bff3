#pragma once

#include <istream>
#include <vector>

#include "loadgen/engine.hpp"

namespace aferir::loadgen {

/// Reads one line per client, in order of arrival: seconds after the start, and seconds for which
/// it watches (0, or nothing: to the end). Errors: UsageError naming the line.
std::vector<Arrival> read_schedule(std::istream& lines);

}  // namespace aferir::loadgen
