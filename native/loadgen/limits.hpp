#pragma once

#include <cstddef>

namespace aferir::loadgen {

/// CPU time of this process, user and system.
double cpu_seconds();

/// Permits so many open connections. Errors: UsageError if the system does not allow that.
void allow_files(std::size_t connections);

}  // namespace aferir::loadgen
