#pragma once

#include <cstdio>
#include <span>
#include <string_view>

#include "common/arguments.hpp"
#include "common/isa.hpp"
#include "common/json.hpp"
#include "npb/npb.hpp"
#include "npb/program.hpp"

namespace aferir::npb {

/// The value of --class. Errors: UsageError.
ProblemClass read_class(const Arguments& arguments);

/// Writes the figures, or, if the run did not verify, that and the reason instead.
JsonObject& add_outcome(JsonObject& json, const Outcome& outcome);

/// The whole program except `main`: reads the command line, runs the best variant that this
/// processor can, and prints one JSON line to `out`. Returns the exit code: 0, 1 (unverified),
/// 2 (command line), 3 (not enough memory).
int drive(std::string_view program, std::span<const Variant> variants,
          std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir::npb
