#pragma once

#include <filesystem>

#include "common/arguments.hpp"

namespace aferir::checkpoint {

/// Becomes an mpirun of the program for that MPI, which lies beside this one, with the same options
/// and `folder`. Returns only with an error: StorageError where the launcher or the program is
/// missing.
[[noreturn]] void become_mpirun(const Arguments& arguments, const std::filesystem::path& folder);

}  // namespace aferir::checkpoint
