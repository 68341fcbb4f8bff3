#pragma once

#include <string>

#include "launch/options.hpp"

namespace aferir::launch {

/// Runs a job, and ends all processes that it left. Returns a report as one line of JSON, even if
/// the job failed. Errors: Interrupted.
std::string run(const Job& job);

}  // namespace aferir::launch
