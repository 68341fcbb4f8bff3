#pragma once

#include <cstddef>

namespace aferir::loadgen {

/// CPU time of this process, user and system.
double cpu_seconds();

/// Lets so many connections be open. Errors: UsageError where that is not allowed here.
void allow_files(std::size_t connections);

}  // namespace aferir::loadgen
