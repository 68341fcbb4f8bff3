#pragma once

#include <string_view>

#include "common/json.hpp"
#include "io/cpu.hpp"
#include "io/file.hpp"

namespace aferir::io {

/// Results that every I/O program prints for a verified run.
struct Outcome {
    Counts counts;           ///< of the timed region
    double duration_s = 0;   ///< of it
    CpuTime cpu;             ///< of it, of all processes
    std::uint64_t hash = 0;  ///< of the data set: equal for equal seeds and sizes
};

/// Adds duration, volume, operations and the data's hash to `line`, and prints it. `wrong` is what
/// the check found, empty if nothing: an incorrect result has no figures. Returns the exit code.
int print_outcome(JsonObject& line, const Outcome& outcome, std::string_view wrong);

}  // namespace aferir::io
