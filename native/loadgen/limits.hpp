#pragma once

#include <cstddef>

namespace aferir::loadgen {

/// CPU time of this process, user and system.
double cpu_seconds();

/// Raises the limit of open files to allow so many connections. Errors: UsageError if the system
/// does not permit it.
void allow_files(std::size_t connections);

}  // namespace aferir::loadgen
