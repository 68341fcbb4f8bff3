#pragma once

#include <string>

#include "launch/options.hpp"

namespace aferir::launch {

/// Carries a job out, and ends whatever it left running; one line of JSON that tells what came of
/// it, however badly it went. Errors: Interrupted.
std::string run(const Job& job);

}  // namespace aferir::launch
